//! What the tests share: finding the JDK and its classes, and ways of instrumenting them.
#![allow(dead_code, reason = "each test file uses its share")]

pub mod assemble;
pub mod instrument;

use std::path::PathBuf;

use untorn_bytecode::jimage::Image;

/// The JDK that `JAVA_HOME` names, or else the one that `java` on the path belongs to. Tests that
/// need one must not pass without it.
pub fn java_home() -> PathBuf {
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

pub fn jdk_image() -> Image {
    let path = java_home().join("lib/modules");
    Image::open(&path).unwrap_or_else(|error| {
        panic!("this test needs the classes of a JDK (9 or newer) in {}: {error}", path.display())
    })
}
