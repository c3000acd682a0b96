//! What the tests share: finding the JDK and its classes, and ways of instrumenting them.
#![allow(dead_code, reason = "each test file uses its share")]

pub mod assemble;
pub mod instrument;

use std::path::{Path, PathBuf};

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
    image_in(&java_home(), "this test needs a JDK, 9 or newer")
}

/// The classes of another release, which `./dev setup` has fetched.
pub fn image_of(release: u32) -> Image {
    let homes = std::env::var_os("UNTORN_JDKS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/jdks"),
        PathBuf::from,
    );
    image_in(&homes.join(release.to_string()), "run `./dev setup`")
}

fn image_in(home: &Path, way_out: &str) -> Image {
    let path = home.join("lib/modules");
    Image::open(&path)
        .unwrap_or_else(|error| panic!("no classes in {}: {error}: {way_out}", path.display()))
}
