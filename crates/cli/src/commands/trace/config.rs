//! What `untorn trace …` is to do.

use std::ops::Range;

use untorn_trace::shapes::{Shape, ShapeSpec, Tear};

use super::args::{ConvertArgs, CutArgs, GenerateArgs, ShapeName, TraceCommand};
use crate::config::{format, input};
use crate::exit::{CliError, Result};
use crate::files::{Input, Output};

#[derive(Debug)]
pub enum TraceTask {
    Info(Input),
    Validate(Input),
    /// Write the events of the range, maybe in another format.
    Copy {
        input: Input,
        output: Output,
        range: Range<u64>,
    },
    /// Write a copy that can be shown to anybody.
    Scrub {
        input: Input,
        output: Output,
    },
    Generate {
        spec: ShapeSpec,
        output: Output,
    },
}

impl TraceTask {
    pub fn new(command: TraceCommand) -> Result<Self> {
        match command {
            TraceCommand::Info(args) => Ok(Self::Info(input(&args.file, &args.input))),
            TraceCommand::Validate(args) => Ok(Self::Validate(input(&args.file, &args.input))),
            TraceCommand::Convert(args) => convert(&args),
            TraceCommand::Cut(args) => cut(&args),
            TraceCommand::Scrub(args) => Ok(Self::Scrub {
                input: input(&args.file, &args.input),
                output: Output::new(&args.out, args.to.map(format))?,
            }),
            TraceCommand::Generate(args) => generate(&args),
        }
    }
}

fn convert(args: &ConvertArgs) -> Result<TraceTask> {
    Ok(TraceTask::Copy {
        input: input(&args.file, &args.input),
        output: Output::new(&args.out, args.to.map(format))?,
        range: 0..u64::MAX,
    })
}

fn cut(args: &CutArgs) -> Result<TraceTask> {
    let to = args.to.unwrap_or(u64::MAX);
    if args.from >= to {
        let what =
            format!("nothing lies between event {} and event {to}, --from and --to", args.from);
        return Err(
            CliError::input(what).way_out("the event at --to is not kept; it must be larger")
        );
    }
    Ok(TraceTask::Copy {
        input: input(&args.file, &args.input),
        output: Output::new(&args.out, args.to_format.map(format))?,
        range: args.from..to,
    })
}

fn generate(args: &GenerateArgs) -> Result<TraceTask> {
    let shape = shape(args.shape);
    let spec = ShapeSpec {
        shape,
        threads: args.threads.unwrap_or_else(|| shape.default_threads()),
        events: args.events,
        seed: args.seed,
        tear: if args.violation { Tear::Late } else { Tear::Never },
    };
    Ok(TraceTask::Generate { spec, output: Output::new(&args.out, args.to.map(format))? })
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
