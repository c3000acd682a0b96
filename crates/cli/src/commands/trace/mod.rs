//! `untorn trace …`: commands about traces themselves.

pub mod args;
pub mod config;
mod convert;
mod info;
mod scrub;
mod validate;

use untorn_report::phrasing::count;
use untorn_trace::Source;

use crate::console::Console;
use crate::exit::{Exit, Result};
use crate::files::Input;
use config::TraceTask;

pub fn run(task: &TraceTask) -> Result<Exit> {
    let mut console = Console::plain();
    match task {
        TraceTask::Info(input) => info::run(input, &mut console),
        TraceTask::Validate(input) => validate::run(input, &mut console),
        TraceTask::Copy { input, output, range } => {
            convert::copy_part(input, output, range.clone(), &console)
        }
        TraceTask::Scrub { input, output } => scrub::run(input, output, &console),
        TraceTask::Generate { spec, output } => convert::generate(*spec, output, &console),
    }
}

/// Reports what was lost while reading.
fn warn_of_losses(input: &Input, source: &dyn Source, console: &Console) {
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
