//! The arguments of `untorn compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::args::{BlocksName, ColorArgs, ProgramArgs, ScopeArgs};

#[derive(Args, Debug)]
#[command(after_help = "\
Each method has the same time and starts from nothing. A violation is a block and a field; it counts when it
happened in a run, whatever the method, and is judged the same way for all. `new`: no method above it found it.

Exit codes: 0 no method found anything, 1 violations, 2 bad usage, 3 could not run.

Examples:
  untorn compare -- java -cp classes Bank
  untorn compare --time 60s --json methods.json -- java -jar app.jar
  untorn compare --with random,pct,atomchase -- java -cp classes Bank")]
pub struct CompareArgs {
    /// Time for each method, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub time: String,

    /// Methods, separated by commas, in the order of the table [default: all]
    #[arg(long, value_enum, value_name = "METHODS", value_delimiter = ',')]
    pub with: Vec<StrategyName>,

    /// Look at no more than so many events of each run [default: all]
    #[arg(long, value_name = "N")]
    pub events: Option<u64>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Which blocks count
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = BlocksName::All)]
    pub blocks: BlocksName,

    /// Where traces of violations go, a folder for each method
    #[arg(long, short, value_name = "FOLDER", default_value = "untorn-compare")]
    pub out: PathBuf,

    /// Write the table and every violation as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    #[command(flatten)]
    pub scope: ScopeArgs,

    /// These blocks need not be atomic: nothing is said about them; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub not_atomic: Vec<String>,

    #[command(flatten)]
    pub colors: ColorArgs,

    /// Print nothing but the table
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub program: ProgramArgs,
}

impl StrategyName {
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// What the method is called on the command line.
    pub fn id(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// Runs with random turns
    Random,
    /// Runs with random priorities and a few changes (PCT)
    Pct,
    /// Runs with random priorities of events (POS)
    Pos,
    /// Random runs that hold threads about to take a lock again (AtomFuzzer)
    Atomfuzzer,
    /// Random runs that hold threads at suspicious accesses
    Adversarial,
    /// Runs in which all orders of the accesses of one variable, or acquisitions of one lock, are equally likely (SURW)
    Surw,
    /// One directed run for each candidate, by plans that respect locks (PENELOPE)
    Penelope,
    /// One directed run for each candidate, by plans that are sure
    Planning,
    /// Random runs, declared blocks, judged by Velodrome
    Velodrome,
    /// Random runs, declared blocks, judged in two passes (DoubleChecker)
    Doublechecker,
    /// Candidates, plans, directed runs, and again: what `untorn check` does
    Atomchase,
}
