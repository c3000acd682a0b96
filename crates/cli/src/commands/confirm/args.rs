//! The arguments of `untorn confirm`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::{InputArgs, LabelArgs, OutputArgs};

#[derive(Args, Debug)]
#[command(after_help = "\
A trace is atomic by values if its blocks can run one after the other, each thread's in their order, such
that every read returns what it returned. A cycle of conflicts may still be atomic in this sense.

Examples:
  untorn confirm run.utr
  untorn confirm --atomic 'Account.*' run.jsonl
  untorn confirm --events 120,133,140 run.utr     only the blocks around these events
  untorn confirm --window 1000..1500 run.utr

Exit codes:
  0  atomic
  1  not atomic
  2  bad usage or bad input: also a trace without blocks, because nothing was checked
  3  undecided: the budget is used up, values are missing, the trace contradicts itself")]
#[command(mut_arg("verbose", |arg| arg.help("Also show positions, and the serial order of an atomic trace")))]
#[command(mut_arg("quiet", |arg| arg.help("Print no answer, only errors and warnings; the exit code tells")))]
pub struct ConfirmArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// How to decide
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = MethodName::Default)]
    pub with: MethodName,

    /// Judge only these events, as a trace of their own; B is not included
    #[arg(long, value_name = "A..B", conflicts_with = "events")]
    pub window: Option<String>,

    /// Judge only the window around these events and their blocks, separated by commas
    #[arg(long, value_name = "I,J,K", value_delimiter = ',')]
    pub events: Vec<u64>,

    /// Steps to search before giving up
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub budget: u64,

    #[command(flatten)]
    pub input: InputArgs,

    #[command(flatten)]
    pub labels: LabelArgs,

    /// Write the answer as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MethodName {
    /// All stages, cheapest first; exact within the budget
    Default,
    /// Only what one block can prove
    OwnRead,
    /// Only what follows without searching
    Saturation,
    /// Only a greedy search for a serial order
    Serialiser,
    /// The search alone, for comparison
    Exact,
    /// The conditions printed in the AtomChase paper, for comparison; may be wrong
    Printed,
}
