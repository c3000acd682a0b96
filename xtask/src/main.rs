//! Measures the figures of `docs/results.md` and prints them as the Markdown that stands there.
//!
//! `xtask` generates its traces, then starts itself once for each figure, so that memory is
//! measured in a process that has done nothing else. `xtask measure WAY FILE` is such a process.

#![allow(clippy::print_stdout, reason = "printing the figures is the purpose of this program")]

mod confirm;
mod filter_quality;
mod filters;
mod jvm;
mod machine;
mod measure;
mod predict;
mod process;
mod soak;
mod table;
mod targets;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => table::print_all(&bench_folder()?),
        ["jvm"] => jvm::print_all(&bench_folder()?),
        ["confirm"] => confirm::print_all(),
        ["predict"] => predict::print_all().and_then(|()| filters::print_all()),
        ["filters"] => filters::print_all(),
        ["filters", row] => filters::print_row(row),
        ["predict", row] => predict::print_row(row),
        ["soak", ref words @ ..] => soak::run(words),
        ["targets", ref words @ ..] => targets::print_all(words),
        ["measure", way, file] => measure::print(way, file.as_ref()),
        ["count", way, file] => measure::once(way, file.as_ref()),
        _ => bail!("usage: xtask [confirm | jvm | predict | soak RUNS | targets NAME…]"),
    }
}

/// Where generated traces are kept between runs.
fn bench_folder() -> Result<PathBuf> {
    work_folder("bench-traces")
}

/// A folder beside the compiled programs.
fn work_folder(name: &str) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(|release| release.parent());
    let folder = target.context("the program is not in a target folder")?.join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
