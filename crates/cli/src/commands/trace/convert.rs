//! `untorn trace convert`, `cut` and `generate`: a source, and a sink for what is kept of it.

use std::ops::Range;

use untorn_report::phrasing::{count, number};
use untorn_trace::shapes::{ShapeSource, ShapeSpec};
use untorn_trace::{BATCH, Lossy, Source, TraceError};

use crate::console::{Console, Progress};
use crate::exit::{CliError, Exit, Result};
use crate::files::{Input, Output};

use super::warn_of_losses;

/// Writes a part of a trace, maybe in another format.
pub fn copy_part(
    input: &Input,
    output: &Output,
    range: Range<u64>,
    console: &Console,
) -> Result<Exit> {
    let mut source = input.open()?;
    copy(source.as_mut(), output, range, |error| input.fault(error), console)?;
    warn_of_losses(input, source.as_ref(), console);
    Ok(Exit::Clean)
}

pub fn generate(spec: ShapeSpec, output: &Output, console: &Console) -> Result<Exit> {
    let mut source = ShapeSource::new(spec)
        .map_err(|error| CliError::input(format!("{error}, untorn trace generate")))?;
    let fault = |error: &TraceError| CliError::run(error.to_string());
    copy(&mut source, output, 0..u64::MAX, fault, console)?;
    Ok(Exit::Clean)
}

/// Writes the events in the range to the output. A range beyond the end is an error, and leaves no
/// file behind.
fn copy(
    source: &mut dyn Source,
    output: &Output,
    range: Range<u64>,
    fault: impl Fn(&TraceError) -> CliError,
    console: &Console,
) -> Result<()> {
    let mut sink = output.create()?;
    let mut progress = Progress::new("writing", false);
    let mut batch = Vec::with_capacity(BATCH);
    let mut position = 0;
    while position < range.end {
        source.read(&mut batch).map_err(|error| fault(&error))?;
        if batch.is_empty() {
            break;
        }
        let end = position + batch.len() as u64;
        let within = |at: u64| (at.clamp(position, end) - position) as usize;
        let part = &batch[within(range.start)..within(range.end)];
        if !part.is_empty() {
            sink.write(source.tables(), part).map_err(|error| output.fault(&error))?;
        }
        position = end;
        progress.at(position);
    }
    if position <= range.start && range.start > 0 {
        let what =
            format!("the trace has only {}, --from {}", count(position, "event"), range.start);
        return Err(CliError::input(what).way_out("positions are counted from 0"));
    }
    sink.finish(source.tables()).map_err(|error| output.fault(&error))?;
    drop(progress);
    for (what, times) in sink.lossy().into_iter().flat_map(Lossy::entries) {
        let format = output.format().name();
        console.warn(&format!("{format} cannot say everything: {} {what}", number(times)));
    }
    Ok(())
}
