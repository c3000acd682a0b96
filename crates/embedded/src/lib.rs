//! The libraries that go into programs under test, inside of an installed executable.
//!
//! `cargo install` installs executables and nothing else. So an executable that is built to be installed carries the
//! agent and the native runtime, and puts them into the cache of the user when they are needed. A development build
//! carries nothing: there the libraries are beside the executable.
//!
//! **Promise:** a library is loaded into a program only if it is, byte for byte, the one in the executable, and lies in
//! a folder that nobody but the user can write to.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// File names and contents.
static LIBRARIES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/libraries.rs"));

/// Where an executable in `bin` may have its libraries, relative to its folder.
const PLACES: [&str; 4] = [".", "deps", "..", "../lib/untorn"];

/// The path of a library: beside the executable, or unpacked from it.
///
/// # Errors
/// `NotFound` if it is not there and was not built in; otherwise why it could not be unpacked.
pub fn find(name: &str) -> io::Result<PathBuf> {
    let executable = std::env::current_exe().unwrap_or_default();
    let folder = executable.parent().unwrap_or(Path::new(""));
    let beside =
        PLACES.iter().map(|place| folder.join(place).join(name)).find(|path| path.is_file());
    if let Some(path) = beside {
        return path.canonicalize();
    }
    let built_in = LIBRARIES.iter().find(|(own, _)| *own == name);
    let (_, content) = built_in.ok_or(io::ErrorKind::NotFound)?;
    unpack(name, content, &cache()?)
}

/// Whether this executable carries its libraries.
pub fn carries_libraries() -> bool {
    !LIBRARIES.is_empty()
}

/// The cache folder of the user.
fn cache() -> io::Result<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache"))).ok_or_else(|| {
        io::Error::other("neither XDG_CACHE_HOME nor HOME says where files can be kept")
    })
}

/// Writes a library below `cache`, unless it is there.
fn unpack(name: &str, content: &[u8], cache: &Path) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    let folder = cache.join("untorn").join(format!("{:016x}", hasher.finish()));
    let describe = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot write to {}: {error}", folder.display()))
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(describe)?;
    check_owner(&folder)?;
    let path = folder.join(name);
    let is_there = std::fs::symlink_metadata(&path).is_ok_and(|file| {
        file.is_file()
            && file.uid() == rustix::process::geteuid().as_raw()
            && file.len() == content.len() as u64
    });
    if !is_there || std::fs::read(&path)? != content {
        write_whole(&path, content).map_err(describe)?;
    }
    Ok(path)
}

/// Refuses a folder in which others can replace files.
fn check_owner(folder: &Path) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(folder)?;
    let is_own = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    if is_own && metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    let text =
        format!("others can write to {}: remove it, or set XDG_CACHE_HOME", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Never leaves half a file where others may load it.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let written = (|| {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(content)?;
        std::fs::rename(&draft, path)
    })();
    if written.is_err() {
        // The first error says why; a draft that cannot be removed harms nobody.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use untorn_frontend::PrivateFolder;

    use super::*;

    fn folder() -> PrivateFolder {
        PrivateFolder::create_in(&std::env::temp_dir()).unwrap()
    }

    #[test]
    fn what_is_unpacked_is_what_is_in_the_executable() {
        let cache = folder();
        let path = unpack("lib.so", b"one", cache.path()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        std::fs::write(&path, b"eno").unwrap();
        assert_eq!(unpack("lib.so", b"one", cache.path()).unwrap(), path);
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        let other = unpack("lib.so", b"two", cache.path()).unwrap();
        assert_ne!(other, path);
        let names = std::fs::read_dir(other.parent().unwrap()).unwrap().count();
        assert_eq!(names, 1, "a draft was left behind");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let cache = folder();
        let path = unpack("lib.so", b"one", cache.path()).unwrap();
        let folder = path.parent().unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = unpack("lib.so", b"one", cache.path()).unwrap_err();
        assert!(error.to_string().contains("others can write"), "{error}");
    }

    #[test]
    fn a_link_in_place_of_a_library_is_replaced() {
        let cache = folder();
        let path = unpack("lib.so", b"one", cache.path()).unwrap();
        let elsewhere = cache.path().join("elsewhere");
        std::fs::write(&elsewhere, b"one").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        unpack("lib.so", b"one", cache.path()).unwrap();
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert_eq!(find("libuntorn_nothing.so").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
