//! What is measured or shown is what users have: with everything optimised.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::shell::{cargo, run};

/// Builds what users have.
pub fn build() -> Result<()> {
    ensure!(!cfg!(debug_assertions), "this is to run optimised: start it by ./dev");
    let mut build = cargo(&[
        "build",
        "--release",
        "--locked",
        "--quiet",
        "-p",
        "untorn",
        "-p",
        "untorn-jvm-agent",
        "-p",
        "untorn-native-runtime",
    ]);
    // The libraries lie beside the executable: it need not carry them as well.
    build.env("UNTORN_EMBED", "no");
    run(build)
}

/// The optimised `untorn`, which lies beside this program.
pub fn untorn() -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("untorn"))
}
