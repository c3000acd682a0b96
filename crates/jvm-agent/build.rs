//! Compiles the Java half of the agent (`UntornProbe` and the other probe classes) to where the crate includes it
//! from.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "java";
const CLASSES: [&str; 17] = [
    "java/lang/UntornArguments",
    "java/lang/UntornArrays",
    "java/lang/UntornAtomics",
    "java/lang/UntornCalls",
    "java/lang/UntornCollections",
    "java/lang/UntornKeptReferent",
    "java/lang/UntornJUnit",
    "java/lang/UntornLocks",
    "java/lang/UntornOffsets",
    "java/lang/UntornOrders",
    "java/lang/UntornPath",
    "java/lang/UntornProbe",
    "java/lang/UntornResults",
    "java/lang/UntornScenario",
    "java/lang/UntornSequential",
    "java/lang/UntornServer",
    "java/lang/UntornValues",
];

fn main() {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let javac = match std::env::var_os("JAVA_HOME") {
        Some(home) if Path::new(&home).join("bin/javac").exists() => {
            Path::new(&home).join("bin/javac")
        }
        _ => PathBuf::from("javac"),
    };
    // The oldest class file version whose verifier and nest rules suit us; every newer JVM accepts it.
    let result = Command::new(&javac)
        .args(["-nowarn", "-Xlint:none", "-g", "-source", "11", "-target", "11"])
        // Anything else would run the machinery of method handles in the middle of a probe.
        .arg("-XDstringConcat=inline")
        .args(["--patch-module", &format!("java.base={SOURCES}")])
        .arg("-d")
        .arg(&out)
        .args(CLASSES.map(|class| format!("{SOURCES}/{class}.java")))
        .output();
    match result {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            panic!("javac failed:\n{}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => panic!(
            "cannot run {}: {error}. The agent needs a JDK to build (Debian: default-jdk-headless); \
             set JAVA_HOME if it is not on the PATH",
            javac.display()
        ),
    }
}
