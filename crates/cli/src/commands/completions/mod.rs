//! `untorn completions`: what a shell needs to complete commands and options.

pub mod args;

use clap::CommandFactory;

use crate::args::Cli;
use crate::console::Console;
use crate::exit::{Exit, Result};
use args::CompletionsArgs;

pub fn run(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "untorn", &mut script);
    Console::plain().put(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Clean)
}
