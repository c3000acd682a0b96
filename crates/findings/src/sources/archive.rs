//! Texts in a ZIP archive: `-sources.jar` of a library, `src.zip` of a JDK.
//!
//! The metadata of an archive may be wrong: sizes are checked before they are used, and what cannot be read is
//! not there.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use zip::{CompressionMethod, ZipArchive};

/// A larger directory than this is not read: the JDK's own archive has 15 000 entries.
const MAX_ENTRIES: usize = 1_000_000;

/// One file of an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub name: String,
    index: usize,
}

#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    zip: ZipArchive<File>,
    pub entries: Vec<Entry>,
}

impl Archive {
    /// `None` if it is no archive that can be read.
    pub fn open(path: &Path) -> Option<Self> {
        let mut zip = ZipArchive::new(File::open(path).ok()?).ok()?;
        if zip.len() > MAX_ENTRIES {
            return None;
        }
        let entries = (0..zip.len()).filter_map(|index| {
            let file = zip.by_index_raw(index).ok()?;
            let is_readable = matches!(
                file.compression(),
                CompressionMethod::Stored | CompressionMethod::Deflated
            );
            let name = std::str::from_utf8(file.name_raw()).ok().filter(|_| is_readable)?;
            Some(Entry { name: name.to_owned(), index })
        });
        let entries = entries.collect();
        Some(Self { path: path.to_owned(), zip, entries })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the entry at this place of `entries`, if it is not longer than `most`.
    pub fn text(&mut self, place: usize, most: u64) -> Option<String> {
        let file = self.zip.by_index(self.entries.get(place)?.index).ok()?;
        if file.size() > most || file.compressed_size() > most {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;

    use untorn_frontend::PrivateFolder;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// An archive with these files, the first of them stored.
    pub fn archive(path: &Path, files: &[(&str, &str)]) {
        let mut writer = ZipWriter::new(File::create(path).expect("writable"));
        for (index, (name, text)) in files.iter().enumerate() {
            let method =
                if index == 0 { CompressionMethod::Stored } else { CompressionMethod::Deflated };
            let options = SimpleFileOptions::default().compression_method(method);
            writer.start_file(*name, options).expect("writable");
            writer.write_all(text.as_bytes()).expect("writable");
        }
        writer.finish().expect("writable");
    }

    #[test]
    fn what_was_put_in_comes_out() {
        let folder = PrivateFolder::create_in(&std::env::temp_dir()).expect("writable");
        let path = folder.path().join("sources.zip");
        let long = "line\n".repeat(1000);
        archive(&path, &[("a/A.java", "class A {}"), ("b/B.java", &long)]);
        let mut open = Archive::open(&path).expect("an archive");
        let texts: Vec<_> = (0..2).map(|place| open.text(place, 10_000)).collect();
        assert_eq!(texts, [Some("class A {}".to_owned()), Some(long)]);
        assert_eq!(open.text(1, 100), None, "longer than wanted");
        // Cut or damaged anywhere: nothing, or less, but never a panic.
        let bytes = std::fs::read(&path).expect("written");
        for cut in 0..bytes.len() {
            let mut damaged = bytes[..cut].to_vec();
            damaged.extend(bytes[cut..].iter().map(|byte| !byte).take(1));
            damaged.extend(&bytes[(cut + 1).min(bytes.len())..]);
            for part in [&bytes[..cut], &damaged] {
                std::fs::write(&path, part).expect("writable");
                if let Some(mut open) = Archive::open(&path) {
                    (0..open.entries.len()).for_each(|place| drop(open.text(place, 10_000)));
                }
            }
        }
    }
}
