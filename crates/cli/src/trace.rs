//! `untorn trace …`: commands about traces themselves.

mod convert;
mod info;
mod validate;

use untorn_report::words::count;
use untorn_trace::Source;

use crate::args::TraceCommand;
use crate::config;
use crate::console::Console;
use crate::exit::{Exit, Result};
use crate::files::Input;

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

/// Says what was lost on the way in.
fn confess(input: &Input, source: &dyn Source, console: &Console) {
    let notes = source.notes();
    if let Some(cut) = &notes.cut {
        console.warn(&format!("the trace is cut short: {cut}, {}", input.name()));
    }
    if notes.skipped > 0 {
        let first = notes.first_skipped.first().map_or("", String::as_str);
        let what = count(notes.skipped, "malformed line");
        console.warn(&format!("{what} passed over, the first: {first}, {}", input.name()));
    }
}
