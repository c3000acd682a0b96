//! What the tests share: the JDK, and compiled programs.

use std::path::{Path, PathBuf};

use untorn_compositions::Jdk;
use untorn_testkit::java;

/// Tests that need a JDK must not pass without it.
pub fn jdk() -> Jdk {
    Jdk::open(&java::home()).unwrap_or_else(|error| panic!("{error}"))
}

/// The programs of `examples/java/compose`.
pub fn listings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java/compose")
}

/// The classes of the listings, in a folder of this name.
pub fn compile(name: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    java::compile(&listings(), &out);
    out
}
