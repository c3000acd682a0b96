//! The arguments of `untorn trace …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::args::{FormatName, InputArgs};

#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    /// Show what is in a trace
    Info(InfoArgs),
    /// Write a trace in another format
    Convert(ConvertArgs),
    /// Make a trace of a given shape
    Generate(GenerateArgs),
    /// Keep a part of a trace
    Cut(CutArgs),
    /// Write a copy of a trace without values, texts, command and environment, for a public bug report
    Scrub(ScrubArgs),
    /// List the events of a trace that cannot have happened
    Validate(ValidateArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  untorn trace info run.std
  gunzip -c run.std.gz | untorn trace info -")]
pub struct InfoArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
The format of OUT follows from its name (.utr, .std, .jsonl, each also with .gz or .zst), or from
--to. What that format cannot express is left out and counted.

Examples:
  untorn trace convert run.std run.utr
  untorn trace convert run.utr - --to jsonl | less")]
pub struct ConvertArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "IN")]
    pub file: PathBuf,

    /// The file to write; `-` is standard output
    #[arg(value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<FormatName>,

    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Names of classes, methods, fields, threads and source files stay. Values become numbers: equal ones stay equal. The
command, the folder, variables of the environment, standard input, keys of maps and the schedule go, so the copy can be
analysed and not be replayed. Look at it before you publish it: untorn trace convert COPY - --to jsonl

Examples:
  untorn trace scrub run.utr public.utr")]
pub struct ScrubArgs {
    /// The trace
    #[arg(value_name = "IN")]
    pub file: PathBuf,

    /// The file to write
    #[arg(value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<FormatName>,

    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
The same shape, numbers and seed always give the same trace.

Examples:
  untorn trace generate mix --events 5000000 --threads 8 -o mix.std
  untorn trace generate small --violation -o - --to std | untorn analyze -")]
pub struct GenerateArgs {
    /// What the trace looks like
    #[arg(value_enum, value_name = "SHAPE")]
    pub shape: ShapeName,

    /// How many events
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub events: u64,

    /// How many threads [default: 8, for pipe 64]
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,

    /// Chooses one of the traces of this shape
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Put a violation near the end
    #[arg(long)]
    pub violation: bool,

    /// The file to write; `-` is standard output
    #[arg(long, short, value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<FormatName>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ShapeName {
    /// Long, short and nested blocks, shared and local variables
    Mix,
    /// Blocks of one to three accesses
    Small,
    /// Blocks of about two hundred accesses
    Large,
    /// Almost all accesses are to variables of the own thread
    Local,
    /// One block stays open for the whole trace
    Hold,
    /// A million variables
    Manyvars,
    /// Every transaction reads what the still open ones before it wrote
    Pipe,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Events are counted from 0; the one at --to is not kept. Names and places keep their tables. A part
of a trace may be ill-formed: what was begun or acquired before it is missing.

Examples:
  untorn trace cut run.utr --from 1000000 --to 1000500 -o window.jsonl")]
pub struct CutArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "IN")]
    pub file: PathBuf,

    /// The first event to keep
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub from: u64,

    /// The first event not to keep; without it, all up to the end are kept
    #[arg(long, value_name = "M")]
    pub to: Option<u64>,

    /// The file to write; `-` is standard output
    #[arg(long, short, value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to_format: Option<FormatName>,

    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Exits with 0 if the trace is well-formed, and with 2 if it is not.

Examples:
  untorn trace validate run.std")]
pub struct ValidateArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub input: InputArgs,
}
