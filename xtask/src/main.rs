//! Everything that developers do besides writing code: `./dev` starts it.
//!
//! Setting up ([`setup`]), testing by parts ([`parts`], [`tidy`], [`dependencies`]), and measuring the figures of
//! `docs/dev/results.md`, which it prints as the Markdown that stands there. To measure, it starts itself once for each
//! figure, so that memory is measured in a process that has done nothing else.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is the purpose of this program"
)]

mod confirm;
mod demo;
mod dependencies;
mod filter_quality;
mod filters;
mod healthy;
mod jvm;
mod machine;
mod measure;
mod parts;
mod predict;
mod process;
mod release;
mod setup;
mod shell;
mod soak;
mod table;
mod targets;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, command, run, works};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match perform(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dev: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(words: &[&str]) -> Result<()> {
    match *words {
        [] | ["help" | "-h" | "--help"] => print_usage(),
        ["setup"] => setup::tests(),
        ["test", ref parts @ ..] => parts::test(parts),
        ["quick", ref names @ ..] => parts::quick(names),
        ["lint"] => parts::lint(),
        ["deny", ref checks @ ..] => deny(checks),
        ["demo"] => setup::base().and_then(|()| demo::run()),
        ["demo", "native"] => {
            setup::base().and_then(|()| setup::native()).and_then(|()| demo::native())
        }
        ["fuzz"] => fuzz("60"),
        ["fuzz", seconds] => fuzz(seconds),
        ["bench", ref what @ ..] => {
            setup::base()?;
            setup::need("valgrind", "valgrind")?;
            release::build()?;
            bench(what)
        }
        ["targets", ref chosen @ ..] => {
            setup::base()?;
            let (checks, names) = targets::chosen(chosen)?;
            setup::libraries::each(&names)?;
            release::build()?;
            targets::print_all(checks, &names)
        }
        ["healthy", ref words @ ..] => {
            setup::base()?;
            release::build()?;
            healthy::print_all(words)
        }
        ["soak", "jvm", ref options @ ..] => {
            setup::base()?;
            // Only what was fetched before; compiled again, because drivers change.
            setup::libraries::each(&setup::libraries::fetched()?)?;
            release::build()?;
            soak::run(options)
        }
        ["soak"] => soak_tests(),
        // What it starts itself for.
        ["filters", row] => filters::print_row(row),
        ["predict", row] => predict::print_row(row),
        ["measure", way, file] => measure::print(way, file.as_ref()),
        ["count", way, file] => measure::once(way, file.as_ref()),
        _ => bail!("there is no command '{}'; `./dev` alone lists them", words.join(" ")),
    }
}

fn print_usage() -> Result<()> {
    println!(
        "usage: ./dev COMMAND

  setup     install what the other commands need (they call it themselves)
  demo      find a lost withdrawal in a Java program, prove it, replay it; `demo native`: the same in C
  quick     tests without JVM, browser and solvers, with few random cases: for while you write; `quick CRATE`
  test      everything that CI runs; `test PART…`: a part of it
{}
  lint      format and lints only
  deny      cargo-deny itself, with the database of advisories (needs a network)
  bench     measure the figures of docs/dev/results.md; `bench jvm`: those of recording; `bench confirm`: those of
            confirming; `bench predict`: those of prediction
  targets   run the drivers over real libraries in targets/, with and without the recorder, and check them;
            names choose some, --no-check leaves the checks away
  healthy   check tests of healthy public libraries, where everything found is true or a false alarm; words choose some
  soak      the long tests: 20 million random traces, a billion events, fuzzing by mutation; `soak jvm [RUNS]`:
            Java programs under the recorder, by random policies, 10 000 times (--replay-every N, --seed S,
            --jobs J, --only NAME)
  fuzz      coverage-guided fuzzing of every reader (needs a nightly toolchain and cargo-fuzz); `fuzz SECONDS`",
        parts::usage().trim_end()
    );
    Ok(())
}

fn bench(words: &[&str]) -> Result<()> {
    match words {
        [] => table::print_all(&bench_folder()?),
        ["jvm"] => jvm::print_all(&bench_folder()?),
        ["confirm"] => confirm::print_all(),
        ["predict"] => predict::print_all().and_then(|()| filters::print_all()),
        ["filters"] => filters::print_all(),
        _ => bail!("usage: ./dev bench [jvm | confirm | predict | filters]"),
    }
}

fn soak_tests() -> Result<()> {
    setup::tests()?;
    let mut soak = cargo(&["test", "--workspace", "--locked", "--", "--nocapture", "soak"]);
    soak.env("UNTORN_SOAK", "1");
    run(soak)
}

fn fuzz(seconds: &str) -> Result<()> {
    setup::base()?;
    let nightly =
        |words: &[&str]| command("rustup", &[&["run", "nightly", "cargo", "fuzz"], words].concat());
    if !works(nightly(&["--version"])) {
        run(cargo(&["install", "cargo-fuzz", "--locked"]))?;
    }
    let limit = format!("-max_total_time={seconds}");
    let readers = ["rapid", "rapid_bin", "json_lines", "utr"];
    readers.iter().try_for_each(|reader| run(nightly(&["run", reader, "--", &limit])))
}

/// The full tool; by default everything that it can check.
fn deny(checks: &[&str]) -> Result<()> {
    if !works(cargo(&["deny", "--version"])) {
        run(cargo(&["install", "cargo-deny", "--locked"]))?;
    }
    run(cargo(&[&["deny", "--locked", "check"], checks].concat()))
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
