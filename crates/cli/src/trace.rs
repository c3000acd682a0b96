//! `untorn trace …`: commands about traces themselves.

mod convert;
mod info;
mod validate;

use crate::args::TraceCommand;
use crate::config;
use crate::console::Console;
use crate::exit::{Exit, Result};

pub fn run(command: TraceCommand) -> Result<Exit> {
    let mut console = Console::plain();
    match command {
        TraceCommand::Info(args) => {
            info::run(&config::input(&args.file, &args.input), &mut console)
        }
        TraceCommand::Validate(args) => {
            validate::run(&config::input(&args.file, &args.input), &mut console)
        }
        TraceCommand::Convert(args) => convert::convert(&args, &console),
        TraceCommand::Cut(args) => convert::cut(&args, &console),
        TraceCommand::Generate(args) => convert::generate(&args, &console),
    }
}
