//! What threads of a JVM computed, as far as a re-execution of their code cannot compute it itself: reader and writer of
//! its files.
//!
//! A folder has the class files that were rewritten, as they were before (`0.class`, `1.class`, …), a line of JSON for
//! each in `sites` ([`ClassSites`]), and `log`. The log is mapped into the memory of the JVM, so that nothing is lost
//! however that ends. It begins with the number of bytes that follow (8 bytes, little endian). A record is the number of
//! its site and what the [`SiteKind`] says; numbers are written with seven bits a byte, the lowest first, and signed ones
//! as zigzag. [`SWITCH`] is not a site: the number of the thread follows whose records come next.
//!
//! All threads share the log, as they share the token: the order of records is the order in which things happened.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// In place of a site: another thread goes on.
pub const SWITCH: u32 = 1;

/// The number of the first site.
pub const FIRST_SITE: u32 = 2;

/// The largest log. What comes later is not recorded.
pub const MAX_LOG: u64 = 1 << 28;

/// Bytes before the first record.
pub const HEADER: u64 = 8;

/// What a record of a site has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteKind {
    /// A method begins: its arguments; those of a constructor without `this`.
    Enter,
    /// A handler begins: the object that was caught.
    Catch,
    /// The instruction has completed, with this result: a signed number.
    Int,
    Long,
    /// The bits of a `float` or `double`.
    Float,
    Double,
    /// Twice the identity of an object; 0 is null. One more if it is a text that comes for the first time: then follow its
    /// length plus one, or 0 if it is too long, and its characters.
    Object,
    /// The instruction has completed.
    Done,
    /// The constructor that was called has completed: its object.
    Made,
}

/// A place in the code of a class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PathSite(
    /// The method, by its position in the class file.
    pub u32,
    pub u32,
    pub SiteKind,
);

/// The sites of a class, numbered from `first`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassSites {
    /// The number of the file.
    pub file: u32,
    pub first: u32,
    pub sites: Vec<PathSite>,
}

/// An empty folder for a log.
///
/// # Errors
/// If it cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// The half that writes classes and sites.
#[derive(Debug)]
pub struct SiteWriter {
    folder: PathBuf,
    lines: File,
    files: u32,
    next: u32,
}

impl SiteWriter {
    /// # Errors
    /// If the folder cannot be written.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let lines = OpenOptions::new().create(true).append(true).open(folder.join("sites"))?;
        Ok(Self { folder: folder.to_owned(), lines, files: 0, next: FIRST_SITE })
    }

    /// The number that the first site of the next class has.
    pub const fn next_site(&self) -> u32 {
        self.next
    }

    /// # Errors
    /// If the folder cannot be written.
    pub fn add(&mut self, class: &[u8], sites: Vec<PathSite>) -> io::Result<()> {
        fs::write(self.folder.join(format!("{}.class", self.files)), class)?;
        let count = sites.len() as u32;
        let mut line =
            serde_json::to_vec(&ClassSites { file: self.files, first: self.next, sites })?;
        line.push(b'\n');
        self.lines.write_all(&line)?;
        self.files += 1;
        self.next += count;
        Ok(())
    }
}

/// The file of the records, ready to be mapped.
///
/// # Errors
/// If it cannot be made.
pub fn create_log(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file =
        options.read(true).write(true).create(true).truncate(true).open(folder.join("log"))?;
    file.set_len(MAX_LOG)?;
    Ok(file)
}

/// All that a folder has.
#[derive(Clone, Debug, Default)]
pub struct PathLog {
    /// The class files with their sites.
    pub classes: Vec<(Vec<u8>, ClassSites)>,
    /// The records.
    pub records: Vec<u8>,
    /// The log was full before the program ended.
    pub is_cut: bool,
}

impl PathLog {
    /// # Errors
    /// If a file cannot be read, or is malformed.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut classes = Vec::new();
        for line in BufReader::new(File::open(folder.join("sites"))?).lines() {
            // A process that is killed may leave half a line.
            let Ok(sites) = serde_json::from_str::<ClassSites>(&line?) else { break };
            let bytes = fs::read(folder.join(format!("{}.class", sites.file)))?;
            classes.push((bytes, sites));
        }
        let mut log = File::open(folder.join("log"))?;
        let mut header = [0; HEADER as usize];
        log.read_exact(&mut header)?;
        let length = u64::from_le_bytes(header).min(MAX_LOG - HEADER);
        let mut records = Vec::new();
        log.take(length).read_to_end(&mut records)?;
        Ok(Self { classes, records, is_cut: length + 4096 >= MAX_LOG })
    }
}

/// Reads records.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub const fn at(&self) -> usize {
        self.at
    }

    /// The next number; `None` at the end, and if there is no number.
    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// The characters of a text, if they follow.
    pub fn text(&mut self) -> Option<Option<String>> {
        let length = self.number()?;
        if length == 0 {
            return Some(None);
        }
        let mut units = Vec::new();
        for _ in 1..length {
            units.push(u16::try_from(self.number()?).ok()?);
        }
        Some(Some(String::from_utf16_lossy(&units)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let bytes = [0x05, 0x80, 0x01, 0x03, 0x02, 0x00, 0x03, 0x68, 0x69];
        let mut cursor = Cursor::new(&bytes);
        assert_eq!((cursor.number(), cursor.number()), (Some(5), Some(128)));
        assert_eq!((cursor.signed(), cursor.signed()), (Some(-2), Some(1)));
        assert_eq!(cursor.text(), Some(None));
        assert_eq!(cursor.text(), Some(Some("hi".to_owned())));
        assert_eq!(cursor.number(), None);
        assert_eq!(Cursor::new(&[0xff; 12]).number(), None);
    }
}
