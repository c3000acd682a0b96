//! A folder for temporary files that nobody else can read, write, or have made before.
//!
//! The agent's configuration and the library that is loaded stand in such a folder. Another user who owned it could
//! have any library loaded with the rights of the one who records, and a link in it could let a file elsewhere be
//! overwritten. So the name cannot be guessed, the folder must not exist, and it is open to its owner only.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use rustix::rand::{GetRandomFlags, getrandom};
use untorn_runtime_protocol::Owner;

use crate::termination;

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
        sweep_once(parent);
        // Always of the same length: the JVM keeps it in its own memory, and what lies behind must not move.
        let folder =
            Self::create(parent.join(format!("{PREFIX}{:032x}", u128::from_le_bytes(random))))?;
        if let Some(owner) = Owner::this_process() {
            folder.write(OWNER, &serde_json::to_vec(&owner)?)?;
        }
        Ok(folder)
    }

    /// Fails if there is anything of that name, be it a link that leads nowhere.
    fn create(path: PathBuf) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(&path)?;
        termination::resources().folders.push(path.clone());
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
        termination::resources().folders.retain(|folder| *folder != self.0);
    }
}

/// How the names of folders begin.
const PREFIX: &str = "untorn-";

/// The file that says whose folder it is.
const OWNER: &str = "owner.json";

/// A program whose owner was killed ends as long as the folder is there (see the agent's watchdog), and while it runs it
/// writes into it. So what has just been written to is left alone.
const SETTLED: Duration = Duration::from_secs(10);

/// Removes what earlier processes left that were killed. Once is enough.
fn sweep_once(parent: &Path) {
    static DONE: Once = Once::new();
    DONE.call_once(|| sweep(parent, SystemTime::now()));
}

fn sweep(parent: &Path, now: SystemTime) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if is_left_over(&path, now) {
            // Links in it are removed, and not followed.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Whether it is a folder that a process of the same user made here, which is gone. Others may have put anything there.
fn is_left_over(path: &Path, now: SystemTime) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_ours = name.and_then(|name| name.strip_prefix(PREFIX)).is_some_and(|rest| {
        rest.len() == 32 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    });
    // A link is not followed. Nobody else can have put a file into a folder of this user with this mode.
    let is_private = |facts: &Metadata| {
        let user = rustix::process::geteuid().as_raw();
        facts.is_dir() && facts.uid() == user && facts.mode() & 0o777 == 0o700
    };
    let is_settled = |facts: &Metadata| {
        let changed = facts.modified().ok();
        changed.and_then(|then| now.duration_since(then).ok()).is_some_and(|age| age >= SETTLED)
    };
    let folder = path.symlink_metadata();
    if !is_ours || !folder.is_ok_and(|facts| is_private(&facts) && is_settled(&facts)) {
        return false;
    }
    let inside = std::fs::read_dir(path).into_iter().flatten().flatten();
    let all_settled = inside.flat_map(|entry| entry.metadata()).all(|facts| is_settled(&facts));
    let owner = std::fs::read(path.join(OWNER)).ok();
    let owner = owner.and_then(|text| serde_json::from_slice::<Owner>(&text).ok());
    all_settled && owner.is_some_and(|owner| owner.is_gone())
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

    /// A folder as a process leaves it that is killed.
    fn abandoned(parent: &Path, digit: char, owner: &str) -> PathBuf {
        let path = parent.join(format!("{PREFIX}{}", digit.to_string().repeat(32)));
        DirBuilder::new().mode(0o700).create(&path).expect("writable");
        std::fs::write(path.join(OWNER), owner).expect("writable");
        path
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        let outer = folder();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
        let mut owner = serde_json::json!(Owner::this_process());
        let own = owner.to_string();
        owner["pid"] = child.id().into();
        let gone = owner.to_string();
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let [alive, left, elsewhere, open] =
            [('a', &own), ('b', &gone), ('c', &gone), ('d', &gone)]
                .map(|(digit, owner)| abandoned(outer.path(), digit, owner));
        // Somebody else's content under a name of ours, behind a link and in a folder that is open to others.
        let link = outer.path().join(format!("{PREFIX}{}", "e".repeat(32)));
        std::fs::rename(&elsewhere, outer.path().join("elsewhere")).expect("writable");
        symlink(outer.path().join("elsewhere"), &link).expect("writable");
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let victim = outer.write("victim", b"precious").expect("writable");
        symlink(&victim, left.join("config.json")).expect("writable");
        sweep(outer.path(), SystemTime::now());
        assert!(left.exists(), "a program may still look at it");
        sweep(outer.path(), SystemTime::now() + SETTLED * 2);
        assert!(!left.exists());
        assert!(alive.exists() && open.exists() && link.join(OWNER).exists());
        assert_eq!(std::fs::read(victim).expect("readable"), b"precious");
    }
}
