//! Which class files a program was made of: so that a replay of a program that was compiled again can say what changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use untorn_trace::RunMeta;

use crate::agent_config::own_options;
use crate::class_path::class_path;

/// Class files of which a trace keeps a checksum; the rest of a larger program is not compared.
const MAX_FILES: usize = 4096;

/// Folders below each other, at most: links may lead in circles.
const MAX_DEPTH: usize = 40;

/// Files and folders that are looked at, at most: the class path may be a whole home.
const MAX_ENTRIES: usize = 20_000;

/// The end of an archive that is looked at. It has the checksums of all files in it.
const TAIL: u64 = 1 << 20;

/// The class files and archives of a class path: the name of the class, or the path of the archive, and a checksum.
pub fn checksums(command: &[String], directory: Option<&Path>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = MAX_ENTRIES;
    for entry in class_path(command, directory) {
        if entry.is_dir() {
            let mut search = Search { root: &entry, found: &mut found, left: &mut left };
            search.add_folder(&entry, 0);
        } else if let Some(sum) = of_archive(&entry) {
            // As the command has it: a relative path stays one.
            let name = directory.and_then(|here| entry.strip_prefix(here).ok()).unwrap_or(&entry);
            found.insert(name.display().to_string(), sum);
        }
    }
    found
}

/// What differs now from what a run was recorded with, by name, with what became of it.
pub fn changes(meta: &RunMeta) -> Vec<String> {
    let setup = meta.setup.clone().unwrap_or_default();
    let before = own_options(&setup.front_end).unwrap_or_default().class_files;
    if before.is_empty() {
        return Vec::new();
    }
    let directory = PathBuf::from(&setup.directory);
    let now = checksums(&meta.command, Some(&directory));
    let mut out = Vec::new();
    for (name, sum) in &before {
        match now.get(name) {
            None => out.push(format!("{name} (gone)")),
            Some(other) if other != sum => out.push(name.clone()),
            Some(_) => {}
        }
    }
    // Beyond the limit new ones are only those that did not fit.
    let is_whole = before.len() < MAX_FILES;
    let new = now.keys().filter(|name| is_whole && !before.contains_key(*name));
    out.extend(new.map(|name| format!("{name} (new)")));
    out
}

struct Search<'a> {
    root: &'a Path,
    found: &'a mut BTreeMap<String, String>,
    left: &'a mut usize,
}

impl Search<'_> {
    fn add_folder(&mut self, folder: &Path, depth: usize) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut entries: Vec<PathBuf> = entries.take(*self.left).map(|one| one.path()).collect();
        *self.left -= entries.len();
        // The same ones in every run, if they are too many.
        entries.sort();
        for path in entries {
            if self.found.len() >= MAX_FILES {
                return;
            }
            if path.is_dir() && depth < MAX_DEPTH {
                self.add_folder(&path, depth + 1);
            } else if path.extension().is_some_and(|end| end == "class")
                && let Ok(bytes) = std::fs::read(&path)
            {
                self.found.insert(class_name(self.root, &path), checksum(&[&bytes]));
            }
        }
    }
}

/// `com.acme.Account` of `com/acme/Account.class`.
fn class_name(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path).with_extension("");
    let parts: Vec<String> =
        inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.join(".")
}

fn of_archive(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    Some(checksum(&[&length.to_le_bytes(), &tail]))
}

/// FNV-1a: the same on every machine.
fn checksum(parts: &[&[u8]]) -> String {
    let bytes = parts.iter().flat_map(|part| part.iter());
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{sum:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use untorn_jvm_protocol::config::JvmSetup;
    use untorn_trace::RunSetup;

    #[test]
    fn what_was_compiled_again_is_named() {
        let folder = std::env::temp_dir().join(format!("untorn-classes-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("com/acme")).expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).expect("a file is written");
        };
        write("Main.class", "1");
        write("com/acme/Account.class", "1");
        write("Gone.class", "1");
        write("lib.jar", "1");
        let command: Vec<String> = ["java", "-cp", ".:lib.jar", "Main"].map(str::to_owned).into();
        let class_files = checksums(&command, Some(&folder));
        assert_eq!(
            class_files.keys().collect::<Vec<_>>(),
            ["Gone", "Main", "com.acme.Account", "lib.jar"]
        );
        let own = JvmSetup { class_files, ..JvmSetup::default() };
        let meta = RunMeta {
            command,
            setup: Some(RunSetup {
                directory: folder.display().to_string(),
                front_end: serde_json::to_value(own).expect("JSON"),
                ..RunSetup::default()
            }),
            ..RunMeta::default()
        };
        assert_eq!(changes(&meta), Vec::<String>::new());
        write("com/acme/Account.class", "2");
        write("Another.class", "1");
        std::fs::remove_file(folder.join("Gone.class")).expect("it was there");
        assert_eq!(changes(&meta), ["Gone (gone)", "com.acme.Account", "Another (new)"]);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
