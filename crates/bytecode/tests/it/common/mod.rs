//! What the tests share: finding the JDK and its classes, and ways of instrumenting them.
#![allow(dead_code, reason = "each test file uses its share")]

pub mod instrument;

use untorn_bytecode::jimage::Image;
use untorn_testkit::java;

pub fn jdk_image() -> Image {
    let path = java::home().join("lib/modules");
    Image::open(&path).unwrap_or_else(|error| {
        panic!("this test needs the classes of a JDK (9 or newer) in {}: {error}", path.display())
    })
}
