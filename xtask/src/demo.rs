//! `./dev demo`: checks a program that loses money, proves it, and makes it happen again.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::release;
use crate::shell;

const FOLDER: &str = "target/demo";

pub fn run() -> Result<()> {
    release::build()?;
    std::fs::create_dir_all(FOLDER)?;
    let source = Path::new("examples/java/fail/Bank.java");
    let mut javac = shell::command("javac", &["-g:source,lines", "-d", FOLDER]);
    javac.arg(source);
    shell::run(javac)?;
    let out = format!("{FOLDER}/untorn-out");
    // Exit code 1 means that a violation was found, which is the point of the demo.
    show(&["check", "--time", "10s", "--out", &out, "--", "java", "-cp", FOLDER, "Bank"], &[0, 1])?;
    show(&["replay", &format!("{out}/report.json"), "1"], &[0])
}

/// The same with a program in C.
pub fn native() -> Result<()> {
    release::build()?;
    std::fs::create_dir_all(FOLDER)?;
    let (program, out) = (format!("{FOLDER}/bank"), format!("{FOLDER}/untorn-out-native"));
    let source = "examples/native/c/fail/lost_update.c";
    show(&["cc", "-g", "-pthread", source, "-o", &program], &[0])?;
    show(&["check", "--time", "10s", "--out", &out, "--", &program], &[0, 1])?;
    show(&["replay", &format!("{out}/report.json"), "1"], &[0])
}

/// Prints a command and runs it.
fn show(words: &[&str], expected: &[i32]) -> Result<()> {
    println!("\n$ untorn {}", words.join(" "));
    let mut untorn = Command::new(release::untorn()?);
    let status = untorn.args(words).status().with_context(|| format!("cannot start {untorn:?}"))?;
    ensure!(status.code().is_some_and(|code| expected.contains(&code)), "it failed: {status}");
    Ok(())
}
