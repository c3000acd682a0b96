//! `untorn trace convert`, `cut` and `generate`: a source, and a sink for what is kept of it.

use std::ops::Range;

use untorn_report::words::{count, number};
use untorn_testkit::shapes::{Shape, ShapeSource, ShapeSpec, Tear};
use untorn_trace::{BATCH, Lossy, Source, TraceError};

use crate::args::{ConvertArgs, CutArgs, GenerateArgs, ShapeName};
use crate::config;
use crate::console::{Console, Progress};
use crate::exit::{Exit, Failure, Result};
use crate::files::Output;

use super::confess;

pub fn convert(args: &ConvertArgs, console: &Console) -> Result<Exit> {
    let input = config::input(&args.file, &args.input);
    let output = Output::new(&args.out, args.to.map(config::format))?;
    let mut source = input.open()?;
    copy(source.as_mut(), &output, 0..u64::MAX, |error| input.fault(error), console)?;
    confess(&input, source.as_ref(), console);
    Ok(Exit::Clean)
}

pub fn cut(args: &CutArgs, console: &Console) -> Result<Exit> {
    let to = args.to.unwrap_or(u64::MAX);
    if args.from >= to {
        let what =
            format!("nothing lies between event {} and event {to}, --from and --to", args.from);
        return Err(
            Failure::input(what).way_out("the event at --to is not kept; it must be larger")
        );
    }
    let input = config::input(&args.file, &args.input);
    let output = Output::new(&args.out, args.to_format.map(config::format))?;
    let mut source = input.open()?;
    copy(source.as_mut(), &output, args.from..to, |error| input.fault(error), console)?;
    confess(&input, source.as_ref(), console);
    Ok(Exit::Clean)
}

pub fn generate(args: &GenerateArgs, console: &Console) -> Result<Exit> {
    let shape = shape(args.shape);
    let spec = ShapeSpec {
        shape,
        threads: args.threads.unwrap_or_else(|| shape.default_threads()),
        events: args.events,
        seed: args.seed,
        tear: if args.violation { Tear::Late } else { Tear::Never },
    };
    let output = Output::new(&args.out, args.to.map(config::format))?;
    let mut source = ShapeSource::new(spec)
        .map_err(|error| Failure::input(format!("{error}, untorn trace generate")))?;
    let fault = |error: &TraceError| Failure::run(error.to_string());
    copy(&mut source, &output, 0..u64::MAX, fault, console)?;
    Ok(Exit::Clean)
}

/// Writes the events in the range to the output. A range beyond the end is an error, and leaves no
/// file behind.
fn copy(
    source: &mut dyn Source,
    output: &Output,
    range: Range<u64>,
    fault: impl Fn(&TraceError) -> Failure,
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
        return Err(Failure::input(what).way_out("positions are counted from 0"));
    }
    sink.finish(source.tables()).map_err(|error| output.fault(&error))?;
    drop(progress);
    for (what, times) in sink.lossy().into_iter().flat_map(Lossy::entries) {
        let format = output.format().name();
        console.warn(&format!("{format} cannot say everything: {} {what}", number(times)));
    }
    Ok(())
}

fn shape(name: ShapeName) -> Shape {
    match name {
        ShapeName::Mix => Shape::Mix,
        ShapeName::Small => Shape::Small,
        ShapeName::Large => Shape::Large,
        ShapeName::Local => Shape::Local,
        ShapeName::Hold => Shape::Hold,
        ShapeName::Manyvars => Shape::ManyVars,
        ShapeName::Pipe => Shape::Pipe,
    }
}
