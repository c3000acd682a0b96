//! The arguments of `untorn predict`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::args::{BlocksName, InputArgs, LabelArgs, OutputArgs};

#[derive(Args, Debug)]
#[command(after_help = "\
Exit codes: 0 nothing predicted, 1 predictions, 2 bad usage or input (also: no blocks in the trace), 3 could
not run. What the labels mean: docs/prediction.md.

Examples:
  untorn predict run.utr
  untorn predict --strength lock --pattern RWW run.utr
  untorn predict --pattern 'w(x)@A < r(x)@B < w(y)@A' run.utr
  untorn predict --strength filtered --filter avfilter run.jsonl
  untorn predict --plans plans run.utr && untorn record --plan plans/1.plan -- java -cp classes Bank")]
#[command(mut_arg("verbose", |arg| arg.help("Also show positions of events, and what the plan changes")))]
#[command(mut_arg("quiet", |arg| arg.help("Print no predictions and no summary, only errors and warnings; the exit code tells")))]
pub struct PredictArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub input: InputArgs,

    /// Report only what holds in this sense; without it, each prediction says how sure it is
    #[arg(long, value_enum, value_name = "STRENGTH")]
    pub strength: Option<StrengthName>,

    /// What filters at strength `filtered`
    #[arg(long, value_enum, value_name = "FILTER", default_value_t = FilterName::Simulation)]
    pub filter: FilterName,

    /// What decides at strengths precise and under
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = EngineName::Sat)]
    pub engine: EngineName,

    /// Which blocks count: those that the trace declares, or activations of methods as well
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = BlocksName::All)]
    pub blocks: BlocksName,

    #[command(flatten)]
    pub labels: LabelArgs,

    /// Only these patterns, separated by commas (RWR, RWW, WWR, WRW, WWW); or events in an order of your own,
    /// as in 'r(x)@A < w(x)@B < r(x)@A' (docs/prediction.md)
    #[arg(long, value_name = "PATTERN")]
    pub pattern: Vec<String>,

    /// Threads that decide candidates; the outcome does not depend on it [default: all processors]
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,

    /// Decisions of the solver for each instance, at strengths precise and under
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub budget: u32,

    /// Predictions to report; all are counted
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,

    /// Write a plan for `untorn record --plan` for each prediction into this folder
    #[arg(long, value_name = "DIR")]
    pub plans: Option<PathBuf>,

    /// Write the questions of the reported predictions for other tools: pddl or smt2, and a folder
    #[arg(long, num_args = 2, value_names = ["FORMAT", "DIR"])]
    pub export: Vec<String>,

    /// Write everything that was found as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StrengthName {
    /// Locks, forks, joins, notifications allow it; values may not
    Lock,
    /// A simulation with values and branches gets there
    Filtered,
    /// Every read returns what it returned: it can happen
    Precise,
    /// Every read reads from the same write
    Under,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FilterName {
    /// Simulated schedules; keeps only what can happen
    Simulation,
    /// AVFilter in its best reading; may be wrong
    Avfilter,
    /// AVFilter as printed; may be wrong
    AvfilterPrinted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum EngineName {
    /// Closures, then a solver
    Sat,
    /// The forward planner
    Planner,
}
