//! `untorn`: arguments become a config, the config a call, the outcome an exit code.

mod args;
mod commands;
mod config;
mod console;
mod exit;
mod files;
mod front_ends;
mod program;
mod project;
mod reading;
mod reports;
mod trust;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};
use commands::{
    analyze, build, check, compare, completions, compose, confirm, doctor, explain, init, man, mcp,
    merge, predict, record, replay, report, trace, verify,
};
use exit::{Exit, Result};
use project::{ExplicitArgs, Project};
use untorn_frontend::termination;
use untorn_native::compile::Language;

fn main() -> ExitCode {
    let code = match run() {
        Ok(code) => code,
        Err(failure) => {
            if !failure.is_silent() {
                console::complain(&failure.to_string());
            }
            failure.exit.into()
        }
    };
    // Results so far were printed and saved; the exit code says that the run was interrupted.
    termination::requested().map_or(code, |signal| termination::exit_code(signal).into())
}

fn run() -> Result<ExitCode> {
    let parsed = Cli::command()
        .try_get_matches_from(program::own_words(std::env::args_os()))
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(answer) => return usage(&answer).map(ExitCode::from),
    };
    let explicit = ExplicitArgs::of(&matches);
    match cli.command {
        Command::Init => init::run(),
        Command::Record(mut args) => {
            Project::find()?.fill_record(&mut args, explicit);
            return record::run(&record::config::Record::new(args)?).map(ExitCode::from);
        }
        Command::Check(mut args) => {
            Project::find()?.fill_check(&mut args, explicit);
            check::run(check::config::Check::new(*args)?)
        }
        Command::Verify(args) => verify::run(&verify::config::Verify::new(args)?),
        Command::Merge(args) => merge::run(&merge::config::Merge::new(args)),
        Command::Compare(mut args) => {
            Project::find()?.fill_compare(&mut args, explicit);
            compare::run(&compare::config::Compare::new(args)?)
        }
        Command::Doctor(args) => doctor::run(&doctor::config::Doctor::new(args)?),
        Command::Compose(args) => compose::run(&compose::config::Compose::new(args)?),
        Command::Replay(args) => {
            return replay::run(&replay::config::Replay::new(args)?).map(ExitCode::from);
        }
        Command::Analyze(args) => analyze::run(&analyze::config::Analyze::new(args)?),
        Command::Predict(args) => predict::run(&predict::config::Predict::new(args)?),
        Command::Confirm(args) => confirm::run(&confirm::config::Confirm::new(args)?),
        Command::Report(args) => report::run(&report::config::ShowReport::new(args)?),
        Command::Explain(args) => explain::run(&explain::config::Explain::new(args)),
        Command::Cc(args) => return build::compile(Language::C, &args).map(ExitCode::from),
        Command::Cxx(args) => return build::compile(Language::Cpp, &args).map(ExitCode::from),
        Command::Cargo(args) => return build::cargo(&args).map(ExitCode::from),
        Command::Make(args) => return build::make(&args).map(ExitCode::from),
        Command::Trace(command) => trace::run(&trace::config::TraceTask::new(command)?),
        Command::Mcp => mcp::run(),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
    .map(ExitCode::from)
}

/// What the call should be if it names a program without the two dashes before it.
fn without_dashes(answer: &clap::Error) -> Option<String> {
    let stray = match answer.get(ContextKind::InvalidArg)? {
        ContextValue::String(stray) => stray,
        _ => return None,
    };
    let words: Vec<_> = std::env::args_os().collect();
    program::with_dashes(&words, stray).filter(|_| answer.kind() == ErrorKind::UnknownArgument)
}

/// Messages of clap: help and version are results, the rest are errors of usage.
fn usage(answer: &clap::Error) -> Result<Exit> {
    if answer.use_stderr() {
        let text = answer.to_string();
        let name = if text.starts_with("error:") { "untorn: " } else { "" };
        console::complain(&format!("{name}{}", text.trim_end()));
        if let Some(right) = without_dashes(answer) {
            console::complain(&format!("\n  put `--` before the program: {right}"));
        }
        return Ok(Exit::BadInput);
    }
    console::Console::plain().put(&answer.to_string())?;
    Ok(Exit::Clean)
}
