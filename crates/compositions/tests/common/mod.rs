//! What the tests share: the JDK, and compiled programs.
#![allow(dead_code, reason = "each test file uses its share")]

#[path = "../../../bytecode/tests/common/assemble.rs"]
pub mod assemble;

use std::path::{Path, PathBuf};
use std::process::Command;

use untorn_compositions::Jdk;

/// Tests that need a JDK must not pass without it.
pub fn jdk() -> Jdk {
    let home = Jdk::home().expect("this test needs a JDK: set JAVA_HOME or put java on the PATH");
    Jdk::open(&home).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the long tests are wanted.
pub fn soak() -> bool {
    std::env::var_os("UNTORN_SOAK").is_some()
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles all programs of a folder of `examples/java`, and gives the folder of their classes.
pub fn compile(sources: &str, name: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&out);
    let javac = Jdk::home().expect("a JDK").join("bin/javac");
    let folder = root().join("examples/java").join(sources);
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "java")).collect();
    let status = Command::new(javac).arg("-g").arg("-d").arg(&out).args(files).status();
    assert!(status.expect("javac runs").success());
    out
}
