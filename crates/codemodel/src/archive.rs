//! Class files in jars, in jars within jars, and in folders.
//!
//! What an archive claims about sizes is not believed: an entry is read up to a limit.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::error::LoadError;

/// No class is larger: its pool and each of its methods have 16-bit counts.
const MAX_CLASS_BYTES: u64 = 64 << 20;
/// No jar within a jar may be larger.
const MAX_JAR_BYTES: u64 = 1 << 30;
/// How deep jars may lie within jars.
const MAX_NESTED: u32 = 3;

/// Where classes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// What is analysed, and what findings are about.
    Application,
    /// Its libraries: analysed as well, but not reported.
    Library,
    /// The JDK: a boundary, of which only the hierarchy is read.
    Jdk,
    /// Only mentioned.
    Missing,
}

/// One class file.
#[derive(Clone, Debug)]
pub struct ClassBytes {
    pub origin: Origin,
    pub bytes: Vec<u8>,
}

/// The classes of archives and folders.
#[derive(Debug, Default)]
pub struct Archives {
    pub classes: Vec<ClassBytes>,
    /// Entries that could not be read.
    pub unreadable: u64,
}

impl Archives {
    /// Adds the classes of a jar, folder or single class file.
    pub fn add(&mut self, path: &Path, origin: Origin) -> Result<(), LoadError> {
        let fail = |reason: String| LoadError::Read { path: path.to_owned(), reason };
        let before = self.classes.len();
        let facts = std::fs::metadata(path).map_err(|error| fail(message(&error)))?;
        if facts.is_dir() {
            self.folder(path, origin).map_err(|error| fail(message(&error)))?;
        } else {
            let bytes = std::fs::read(path).map_err(|error| fail(message(&error)))?;
            if bytes.starts_with(&[0xca, 0xfe, 0xba, 0xbe]) {
                self.classes.push(ClassBytes { origin, bytes });
            } else if !bytes.starts_with(b"PK") {
                return Err(LoadError::Kind { path: path.to_owned() });
            } else {
                self.jar(&bytes, origin, 0).map_err(|error| fail(error.to_string()))?;
            }
        }
        if self.classes.len() == before && origin == Origin::Application {
            return Err(LoadError::Empty { path: path.to_owned() });
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path, origin: Origin) -> std::io::Result<()> {
        let mut files: Vec<PathBuf> = Vec::new();
        let mut open = vec![path.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                // Links are not followed: they may lead round in circles.
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    open.push(entry.path());
                } else if kind.is_file() {
                    files.push(entry.path());
                }
            }
        }
        files.sort();
        for file in files {
            let name = file.to_string_lossy();
            if is_class(&name) {
                self.classes.push(ClassBytes { origin, bytes: std::fs::read(&file)? });
            } else if is_jar(&name) && self.jar(&std::fs::read(&file)?, origin, 1).is_err() {
                self.unreadable += 1;
            }
        }
        Ok(())
    }

    fn jar(&mut self, bytes: &[u8], origin: Origin, depth: u32) -> zip::result::ZipResult<()> {
        let mut archive = ZipArchive::new(Cursor::new(bytes))?;
        for at in 0..archive.len() {
            let Ok(entry) = archive.by_index(at) else {
                self.unreadable += 1;
                continue;
            };
            let name = entry.name().unwrap_or_default().into_owned();
            let (wanted, most) = match (is_class(&name), is_jar(&name)) {
                (true, _) => (true, MAX_CLASS_BYTES),
                (_, jar) => (jar && depth < MAX_NESTED, MAX_JAR_BYTES),
            };
            if !wanted || !entry.is_file() {
                continue;
            }
            let mut content = Vec::new();
            let read = entry.take(most).read_to_end(&mut content);
            if read.is_err() || content.len() as u64 == most {
                self.unreadable += 1;
            } else if is_class(&name) {
                self.classes.push(ClassBytes { origin, bytes: content });
            } else if self.jar(&content, Origin::Library.max(origin), depth + 1).is_err() {
                self.unreadable += 1;
            }
        }
        Ok(())
    }
}

/// A class for every version of Java: other versions of it and module descriptors do not count.
fn is_class(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    name.ends_with(".class")
        && !name.starts_with("META-INF/")
        && !matches!(base, "module-info.class" | "package-info.class")
}

fn is_jar(name: &str) -> bool {
    [".jar", ".war", ".ear"].iter().any(|ending| name.ends_with(ending))
}

/// The message of a system error, without the error's number.
fn message(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}
