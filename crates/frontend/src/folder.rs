//! A folder for temporary files that nobody else can read, write, or have made before.
//!
//! The agent's configuration and the library that is loaded stand in such a folder. Another user who owned it could
//! have any library loaded with the rights of the one who records, and a link in it could let a file elsewhere be
//! overwritten. So the name cannot be guessed, the folder must not exist, and it is open to its owner only.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};

/// Removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Makes one with a name that cannot be guessed.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let mut random = [0; 16];
        // So few bytes come all at once, or not at all.
        if getrandom(&mut random[..], GetRandomFlags::empty())? != random.len() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        // Always of the same length: the JVM keeps it in its own memory, and what lies behind must not move.
        Self::create(parent.join(format!("untorn-{:032x}", u128::from_le_bytes(random))))
    }

    /// Fails if there is anything of that name, be it a link that leads nowhere.
    fn create(path: PathBuf) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file with that content. One that an earlier run left is replaced, never written into.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(content)?;
        Ok(path)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Left-overs in the directory for temporary files do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn folder() -> PrivateFolder {
        PrivateFolder::create_in(&std::env::temp_dir()).expect("a folder for temporary files")
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("it exists").permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_and_its_files_are_for_their_owner_only() {
        let folder = folder();
        let file = folder.write("config.json", b"{}").expect("writable");
        assert_eq!((mode(folder.path()), mode(&file)), (0o700, 0o600));
        assert_eq!(std::fs::read(file).expect("readable"), b"{}");
    }

    #[test]
    fn names_differ_and_have_one_length() {
        let [one, other] = [folder(), folder()];
        assert_ne!(one.path(), other.path());
        assert_eq!(one.path().as_os_str().len(), other.path().as_os_str().len());
    }

    #[test]
    fn a_folder_that_somebody_planted_is_not_used() {
        let outer = folder();
        let planted = outer.path().join("folder");
        std::fs::create_dir(&planted).expect("writable");
        let error = PrivateFolder::create(planted.clone()).expect_err("it exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(planted.is_dir(), "it is not ours to remove");
    }

    #[test]
    fn a_link_that_somebody_planted_is_not_followed() {
        let outer = folder();
        let elsewhere = outer.path().join("elsewhere");
        for exists in [false, true] {
            if exists {
                std::fs::create_dir(&elsewhere).expect("writable");
            }
            let link = outer.path().join(format!("link-{exists}"));
            symlink(&elsewhere, &link).expect("writable");
            let error = PrivateFolder::create(link).expect_err("it exists");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(std::fs::read_dir(&elsewhere).expect("readable").count(), 0);
    }

    #[test]
    fn a_file_is_replaced_and_what_it_links_to_is_not_written() {
        let folder = folder();
        let victim = folder.write("victim", b"precious").expect("writable");
        symlink(&victim, folder.path().join("config.json")).expect("writable");
        let written = folder.write("config.json", b"{}").expect("writable");
        assert_eq!(std::fs::read(&victim).expect("readable"), b"precious");
        assert!(written.symlink_metadata().expect("it exists").is_file());
        folder.write("config.json", b"[]").expect("a later run");
        assert_eq!(std::fs::read(written).expect("readable"), b"[]");
    }

    #[test]
    fn a_folder_goes_with_its_owner() {
        let folder = folder();
        let path = folder.path().to_owned();
        folder.write("config.json", b"{}").expect("writable");
        drop(folder);
        assert!(!path.exists());
    }
}
