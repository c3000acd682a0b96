//! `untorn man`: the help of all commands as manual pages.

pub mod args;

use clap::CommandFactory;

use crate::args::Cli;
use crate::console::Console;
use crate::exit::{CliError, Exit, Result};
use args::ManArgs;

pub fn run(args: &ManArgs) -> Result<Exit> {
    let folder = &args.folder;
    let cannot = |error: std::io::Error| {
        CliError::run(format!("cannot write manual pages to {}: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)?;
    Console::plain().say(&format!("wrote the manual pages to {}\n", folder.display()))?;
    Ok(Exit::Clean)
}
