//! The arguments of `untorn analyze`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::{EXIT_CODES, InputArgs, LabelArgs, OutputArgs, sections};

#[derive(Args, Debug)]
#[command(after_help = sections(
    "\
Without --with, the fast checker decides; if it finds a violation, Velodrome reads the trace once
more and explains each torn block. A trace from standard input is read by Velodrome at once.

Examples:
  untorn analyze run.std
  zstdcat run.std.zst | untorn analyze -
  untorn analyze --atomic 'com.acme.Bank.*' --not-atomic '*.toString' run.jsonl
  untorn analyze --with fast,velodrome,aerodrome,atomizer run.std
  untorn analyze --quiet --json report.json run.utr",
    EXIT_CODES,
))]
#[command(mut_arg("quiet", |arg| arg.help("Print no findings and no summary, only errors and warnings; the exit code tells")))]
pub struct AnalyzeArgs {
    /// Traces to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Checkers to run, separated by commas
    #[arg(long, value_name = "CHECKERS", value_delimiter = ',')]
    pub with: Vec<CheckerName>,

    #[command(flatten)]
    pub input: InputArgs,

    #[command(flatten)]
    pub labels: LabelArgs,

    /// Write the cycles as Graphviz graphs
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,

    /// Draw the cycles as an SVG picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write everything that was found as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CheckerName {
    /// Open-ancestor sets: exact verdict, first violating event, no explanation
    Fast,
    /// Exact, explains every torn block
    Velodrome,
    /// Exact verdict by vector clocks
    Aerodrome,
    /// Warns of blocks that do not acquire, take one step, and release; may be wrong
    Atomizer,
    /// Warns of variables that no lock protects throughout; may be wrong
    Eraser,
    /// Finds suspicious transactions cheaply, then checks only these; reads the trace twice
    TwoPass,
}
