//! The JDK that tests use: where it is, and how to compile with it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The JDK that `JAVA_HOME` names, or else the one that `java` on the path belongs to.
///
/// # Panics
/// If there is none: a test that needs a JDK must not pass without it.
pub fn home() -> PathBuf {
    if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        return home.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let java = std::env::split_paths(&path)
        .map(|folder| folder.join("java"))
        .find_map(|java| java.canonicalize().ok())
        .expect("this test needs a JDK: set JAVA_HOME or put java on the PATH");
    // From <home>/bin/java.
    java.ancestors().nth(2).expect("java lies in the bin folder of a JDK").to_owned()
}

/// Compiles all programs of a folder, with all debugging tables, into `out`, which is emptied first.
///
/// # Panics
/// If a program does not compile.
pub fn compile(folder: &Path, out: &Path) {
    let _ = std::fs::remove_dir_all(out);
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "java")).collect();
    let status =
        Command::new(home().join("bin/javac")).arg("-g").arg("-d").arg(out).args(files).status();
    assert!(status.expect("javac runs").success());
}
