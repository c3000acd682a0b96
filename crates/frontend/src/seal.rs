//! Was a file made here? What this user makes is sealed with a key that is in the user's own state folder.
//!
//! A trace names a command and variables, and a report names a command: whoever made the file chose them. A seal is a
//! message authentication code (HMAC with SHA-256, RFC 2104) over them. A file from elsewhere has none that fits,
//! wherever it lies and whatever it is called.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};

type Key = [u8; 32];

/// The seal of a text; empty if this user has no place for a key.
pub fn seal(text: &[u8]) -> String {
    key().map_or_else(String::new, |key| hex(&code(key, text)))
}

/// Whether this user has sealed the text.
pub fn is_sealed(text: &[u8], seal: &str) -> bool {
    !seal.is_empty() && self::seal(text) == seal
}

fn code(key: &Key, text: &[u8]) -> [u8; 32] {
    const BLOCK: usize = 64;
    let padded = |with: u8| {
        let mut block = [with; BLOCK];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The user's key. It is made when it is first needed.
fn key() -> Option<&'static Key> {
    static KEY: OnceLock<Option<Key>> = OnceLock::new();
    KEY.get_or_init(|| key_in(&state_folder()?).ok()).as_ref()
}

/// Where this user's programs keep what belongs to one machine.
fn state_folder() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("untorn"))
}

fn key_in(folder: &Path) -> io::Result<Key> {
    let path = folder.join("key");
    match read_key(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        known => return known,
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut key = Key::default();
    let mut name = [0; 8];
    getrandom(&mut key[..], GetRandomFlags::empty())?;
    getrandom(&mut name[..], GetRandomFlags::empty())?;
    // Complete before it has its name: others may be looking for it.
    let part = folder.join(format!("key-{}", hex(&name)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    let written = file.write_all(&key).and_then(|()| std::fs::hard_link(&part, &path));
    let _ = std::fs::remove_file(&part);
    match written {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => read_key(&path),
    }
}

/// A key that others could read, or have put there, is none.
fn read_key(path: &Path) -> io::Result<Key> {
    let mut file = File::open(path)?;
    let facts = file.metadata()?;
    let is_own = facts.uid() == rustix::process::getuid().as_raw() && facts.mode() & 0o077 == 0;
    if !is_own || facts.len() != size_of::<Key>() as u64 {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let mut key = Key::default();
    file.read_exact(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// RFC 4231, test case 2, with its key padded as the standard pads it.
    #[test]
    fn a_code_is_that_of_the_standard() {
        let mut key = Key::default();
        key[..4].copy_from_slice(b"Jefe");
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&code(&key, b"what do ya want for nothing?")), expected);
    }

    #[test]
    fn a_key_is_made_once_and_for_its_owner_only() {
        let folder = std::env::temp_dir().join(format!("untorn-seal-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let first = key_in(&folder).expect("a key");
        assert_eq!(key_in(&folder).expect("the same"), first);
        assert_ne!(first, Key::default());
        let path = folder.join("key");
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
        assert_eq!(path.metadata().expect("a file").mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("ours");
        assert!(key_in(&folder).is_err(), "others can read it");
        let _ = std::fs::remove_dir_all(&folder);
    }
}
