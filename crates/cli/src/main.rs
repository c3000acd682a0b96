//! `untorn`: arguments become a config, the config a call, the outcome an exit code.

mod analyze;
mod args;
mod check;
mod checkers;
mod config;
mod confirm;
mod console;
mod context;
mod exit;
mod files;
mod findings;
mod predict;
mod reading;
mod record;
mod replay;
mod run;
mod summary;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use exit::{Exit, Result};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(failure) => {
            if !failure.is_silent() {
                console::complain(&failure.to_string());
            }
            failure.exit.into()
        }
    }
}

fn run() -> Result<ExitCode> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) => return usage(&answer).map(ExitCode::from),
    };
    match cli.command {
        Command::Record(args) => record::run(&config::Record::new(args)?).map(ExitCode::from),
        Command::Check(args) => check::run(&config::Check::new(args)?).map(ExitCode::from),
        Command::Replay(args) => replay::run(&config::Replay::new(args)?).map(ExitCode::from),
        Command::Analyze(args) => analyze::run(&config::Analyze::new(args)?).map(ExitCode::from),
        Command::Predict(args) => {
            predict::run(&predict::config::Predict::new(args)?).map(ExitCode::from)
        }
        Command::Confirm(args) => confirm::run(&config::Confirm::new(args)?).map(ExitCode::from),
        Command::Trace(command) => trace::run(command).map(ExitCode::from),
    }
}

/// What clap wants to say: help and version are results, the rest are errors of usage.
fn usage(answer: &clap::Error) -> Result<Exit> {
    if answer.use_stderr() {
        let text = answer.to_string();
        let name = if text.starts_with("error:") { "untorn: " } else { "" };
        console::complain(&format!("{name}{}", text.trim_end()));
        return Ok(Exit::BadInput);
    }
    console::Console::plain().put(&answer.to_string())?;
    Ok(Exit::Clean)
}
