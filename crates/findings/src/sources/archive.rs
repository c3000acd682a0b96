//! Texts in a ZIP archive: `-sources.jar` of a library, `src.zip` of a JDK.
//!
//! Only what such archives need: no ZIP64, stored or deflated entries. Every length is checked before it is
//! believed, and what does not fit is not there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;

const END: u32 = 0x0605_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

/// The end record with the longest comment it may have.
const LONGEST_END: u64 = 22 + 0xffff;

/// The JDK's own has 5 MB of directory.
const MOST_DIRECTORY: u64 = 64 << 20;

/// One file of an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub name: String,
    deflated: bool,
    packed: u64,
    size: u64,
    offset: u64,
}

#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    pub entries: Vec<Entry>,
}

impl Archive {
    /// `None` if it is no archive that can be read.
    pub fn open(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len();
        let tail = part(&mut file, length.saturating_sub(LONGEST_END), LONGEST_END.min(length))?;
        let end =
            (0..=tail.len().checked_sub(22)?).rev().find(|&at| u32_at(&tail, at) == Some(END))?;
        let size = u64::from(u32_at(&tail, end + 12)?);
        let start = u64::from(u32_at(&tail, end + 16)?);
        if size > MOST_DIRECTORY || start.checked_add(size)? > length {
            return None;
        }
        let directory = part(&mut file, start, size)?;
        let mut entries = Vec::new();
        let mut at = 0;
        while let Some((entry, next)) = entry(&directory, at) {
            entries.extend(entry);
            at = next;
        }
        Some(Self { path: path.to_owned(), entries })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of an entry, if it is not longer than `most`.
    pub fn text(&self, entry: &Entry, most: u64) -> Option<String> {
        if entry.size > most || entry.packed > most {
            return None;
        }
        let mut file = File::open(&self.path).ok()?;
        let head = part(&mut file, entry.offset, 30)?;
        let names = u64::from(u16_at(&head, 26)?) + u64::from(u16_at(&head, 28)?);
        if u32_at(&head, 0)? != LOCAL {
            return None;
        }
        let packed = part(&mut file, entry.offset + 30 + names, entry.packed)?;
        let mut bytes = Vec::new();
        if entry.deflated {
            // What an archive says of its sizes need not be true.
            DeflateDecoder::new(packed.as_slice()).take(most).read_to_end(&mut bytes).ok()?;
        } else {
            bytes = packed;
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn part(file: &mut File, from: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}

/// The entry that begins there, if it is of use, and where the next one begins.
fn entry(directory: &[u8], at: usize) -> Option<(Option<Entry>, usize)> {
    if u32_at(directory, at)? != CENTRAL {
        return None;
    }
    let [name, extra, comment] =
        [28, 30, 32].map(|field| u16_at(directory, at + field).map(usize::from));
    let (name, from) = (name?, at + 46);
    let text = std::str::from_utf8(directory.get(from..from + name)?).ok();
    let method = u16_at(directory, at + 10)?;
    let entry = text.filter(|_| matches!(method, 0 | 8)).map(|name| Entry {
        name: name.to_owned(),
        deflated: method == 8,
        packed: u64::from(u32_at(directory, at + 20).unwrap_or(u32::MAX)),
        size: u64::from(u32_at(directory, at + 24).unwrap_or(u32::MAX)),
        offset: u64::from(u32_at(directory, at + 42).unwrap_or(u32::MAX)),
    });
    Some((entry, from + name + extra? + comment?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// An archive with these files, the first of them stored.
    pub fn archive(path: &Path, files: &[(&str, &str)]) {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (index, (name, text)) in files.iter().enumerate() {
            let packed = if index == 0 {
                text.as_bytes().to_vec()
            } else {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(text.as_bytes()).expect("in memory");
                encoder.finish().expect("in memory")
            };
            let method = if index == 0 { 0u16 } else { 8 };
            let sizes = [packed.len() as u32, text.len() as u32];
            let offset = out.len() as u32;
            out.extend(LOCAL.to_le_bytes());
            out.extend([20, 0, 0, 0]);
            out.extend(method.to_le_bytes());
            out.extend([0; 8]);
            out.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
            out.extend((name.len() as u16).to_le_bytes());
            out.extend([0, 0]);
            out.extend(name.as_bytes());
            out.extend(&packed);
            directory.extend(CENTRAL.to_le_bytes());
            directory.extend([20, 0, 20, 0, 0, 0]);
            directory.extend(method.to_le_bytes());
            directory.extend([0; 8]);
            directory.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
            directory.extend((name.len() as u16).to_le_bytes());
            directory.extend([0; 12]);
            directory.extend(offset.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let start = out.len() as u32;
        out.extend(&directory);
        out.extend(END.to_le_bytes());
        out.extend([0; 4]);
        out.extend([files.len() as u16, files.len() as u16].iter().flat_map(|n| n.to_le_bytes()));
        out.extend([directory.len() as u32, start].iter().flat_map(|n| n.to_le_bytes()));
        out.extend([0, 0]);
        std::fs::write(path, out).expect("writable");
    }

    #[test]
    fn what_was_put_in_comes_out() {
        let path = std::env::temp_dir().join(format!("untorn-archive-{}.zip", std::process::id()));
        let long = "line\n".repeat(1000);
        archive(&path, &[("a/A.java", "class A {}"), ("b/B.java", &long)]);
        let open = Archive::open(&path).expect("an archive");
        let texts: Vec<_> = open.entries.iter().map(|entry| open.text(entry, 10_000)).collect();
        assert_eq!(texts, [Some("class A {}".to_owned()), Some(long)]);
        assert_eq!(open.text(&open.entries[1], 100), None, "longer than wanted");
        // Cut or damaged anywhere: nothing, or less, but never a panic.
        let bytes = std::fs::read(&path).expect("written");
        for cut in 0..bytes.len() {
            let mut damaged = bytes[..cut].to_vec();
            damaged.extend(bytes[cut..].iter().map(|byte| !byte).take(1));
            damaged.extend(&bytes[(cut + 1).min(bytes.len())..]);
            for part in [&bytes[..cut], &damaged] {
                std::fs::write(&path, part).expect("writable");
                if let Some(open) = Archive::open(&path) {
                    open.entries.iter().for_each(|entry| drop(open.text(entry, 10_000)));
                }
            }
        }
        let _ = std::fs::remove_file(path);
    }
}
