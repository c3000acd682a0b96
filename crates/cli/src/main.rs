//! `untorn`: arguments become a config, the config a call, the outcome an exit code.

mod analyze;
mod args;
mod check;
mod checkers;
mod classpath;
mod compare;
mod compose;
mod config;
mod confirm;
mod console;
mod doctor;
mod exit;
mod files;
mod jdk_sources;
mod jvms;
mod merge;
mod methods;
mod predict;
mod processes;
mod program;
mod project;
mod reading;
mod record;
mod replay;
mod report;
mod reports;
mod run;
mod summary;
mod trace;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};
use exit::{Exit, Result};
use project::{Given, Project};

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
    let parsed = Cli::command()
        .try_get_matches_from(program::own_words(std::env::args_os()))
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(answer) => return usage(&answer).map(ExitCode::from),
    };
    let given = Given::of(&matches);
    match cli.command {
        Command::Init => project::init().map(ExitCode::from),
        Command::Record(mut args) => {
            Project::find()?.fill_record(&mut args, given);
            record::run(&config::Record::new(args)?).map(ExitCode::from)
        }
        Command::Check(mut args) => {
            Project::find()?.fill_check(&mut args, given);
            check::run(config::Check::new(args)?).map(ExitCode::from)
        }
        Command::Verify(args) => verify::run(args).map(ExitCode::from),
        Command::Merge(args) => merge::run(&args).map(ExitCode::from),
        Command::Compare(mut args) => {
            Project::find()?.fill_compare(&mut args, given);
            compare::run(&compare::config::Compare::new(args)?).map(ExitCode::from)
        }
        Command::Doctor(args) => doctor::run(args).map(ExitCode::from),
        Command::Compose(args) => compose::run(&compose::Compose::new(args)?).map(ExitCode::from),
        Command::Replay(args) => replay::run(&config::Replay::new(args)?).map(ExitCode::from),
        Command::Analyze(args) => analyze::run(&config::Analyze::new(args)?).map(ExitCode::from),
        Command::Predict(args) => {
            predict::run(&predict::config::Predict::new(args)?).map(ExitCode::from)
        }
        Command::Confirm(args) => confirm::run(&config::Confirm::new(args)?).map(ExitCode::from),
        Command::Report(args) => report::run(&args).map(ExitCode::from),
        Command::Explain(args) => report::run_explain(&args).map(ExitCode::from),
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
