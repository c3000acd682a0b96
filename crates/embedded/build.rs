//! Builds the libraries that the crate includes, by a cargo of its own with a target folder of its own.
//!
//! Only for an executable that is going to be installed: a development build finds the libraries beside itself, where
//! the same cargo command puts them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages, with the files that they become.
const LIBRARIES: [(&str, &str); 2] = [
    ("untorn-jvm-agent", "libuntorn_jvm_agent.so"),
    ("untorn-native-runtime", "libuntorn_native_runtime.so"),
];

/// The folders of the packages that go into the libraries.
const SOURCES: [&str; 9] = [
    "bytecode",
    "jvm-agent",
    "jvm-protocol",
    "native-protocol",
    "native-runtime",
    "runtime",
    "runtime-protocol",
    "schedule",
    "trace",
];

fn main() {
    println!("cargo::rerun-if-env-changed=UNTORN_EMBED");
    let out = PathBuf::from(variable("OUT_DIR"));
    let mut table = String::new();
    if is_wanted() {
        let built = build(&out.join("libraries"));
        for (_, file) in LIBRARIES {
            let path = built.join(file);
            writeln!(table, "({file:?}, include_bytes!({path:?})),")
                .expect("a String can be written to");
        }
    }
    std::fs::write(out.join("libraries.rs"), format!("&[{table}]"))
        .unwrap_or_else(|error| panic!("cannot write to {}: {error}", out.display()));
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

fn is_wanted() -> bool {
    match std::env::var("UNTORN_EMBED").as_deref() {
        Ok("no") => false,
        Ok("yes") => true,
        _ => variable("PROFILE") == "release",
    }
}

/// Builds the libraries. Where they are.
fn build(target: &Path) -> PathBuf {
    let crates = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", crates.join(source).display());
    }
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--release", "--target-dir"]).arg(target);
    for (package, _) in LIBRARIES {
        cargo.args(["--package", package]);
    }
    // Nobody debugs or profiles what is installed.
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "none").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    // What the outer cargo was told about its own target is not meant for this one.
    cargo
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(crates.join(".."));
    match cargo.status() {
        Ok(status) if status.success() => target.join("release"),
        Ok(_) => {
            panic!("the libraries that go into programs under test cannot be built: see above")
        }
        Err(error) => panic!("cannot run cargo: {error}"),
    }
}
