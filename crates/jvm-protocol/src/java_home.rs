//! Where a JDK is, and which release it is.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whether a word of a command starts a JVM by itself.
pub fn is_java(word: &str) -> bool {
    Path::new(word).file_name() == Some(OsStr::new("java"))
}

/// The folder of the JDK that a program, `bin/java` of it, belongs to.
pub fn home_of(java: &Path) -> Option<PathBuf> {
    java.canonicalize().ok()?.ancestors().nth(2).map(Path::to_owned)
}

/// Which release of Java a program belongs to, by the file `release` of its JDK: 17 for `JAVA_VERSION="17.0.15"`.
pub fn release_of(java: &Path) -> Option<u32> {
    let text = std::fs::read_to_string(home_of(java)?.join("release")).ok()?;
    let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    version.trim_matches('"').split(['.', '-', '+', '_']).next()?.parse().ok()
}
