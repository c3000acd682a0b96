//! Starting other programs: each either succeeds, or its failure is an error that names it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// A command to be run from the root of the repository.
pub fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Cargo, as if it was started by hand.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = command("cargo", arguments);
    // `cargo run` sets environment variables for what it runs; a second cargo is not to inherit that.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_own = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if is_own || name == "CARGO" {
            cargo.env_remove(&*name);
        }
    }
    cargo
}

/// Runs it; what it prints is seen.
pub fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(&command)))?;
    ensure!(status.success(), "{} failed: {status}", line(&command));
    Ok(())
}

/// The command as it would be typed, without its environment.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs it without showing what it prints.
pub fn run_quietly(mut command: Command) -> Result<()> {
    command.stdout(Stdio::null());
    run(command)
}

/// What it prints.
pub fn output(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", line(&command)))?;
    if !output.status.success() {
        bail!("{} failed: {}", line(&command), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether it can be started and succeeds.
pub fn works(mut command: Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether a program is on the path.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Removes a folder if it is there.
pub fn remove_folder(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(())
}

/// The files of the repository that git knows.
pub fn tracked_files() -> Result<Vec<String>> {
    let listed = output(command("git", &["ls-files", "-z"]))?;
    let files = listed.split_terminator('\0').filter(|file| Path::new(file).is_file());
    Ok(files.map(str::to_owned).collect())
}
