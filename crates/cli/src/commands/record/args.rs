//! The arguments of `untorn record`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::args::{ProgramArgs, ScopeArgs, StopArgs};

#[derive(Args, Debug)]
#[command(after_help = "\
The exit code is that of the program. Untorn's own failures are 2 (bad usage) and 3 (could not run); a
deadlock is 1. Without --policy each thread runs until it blocks; the same seed gives the same trace.

Examples:
  untorn record -- java -cp classes Bank
  untorn record -o torn.utr --policy random --seed 7 -- java -jar app.jar
  untorn record --plan bank.plan -- java -cp classes Bank
  untorn record --main 'com.acme.*' -- ./run.sh
  untorn record --atomic 'com.acme.*.transfer' --instrument 'java.util.concurrent.*' -- java -cp app Main

A plan has a step a line, THREAD @ PLACE [read|write|acquire|release] [#N]:
  alice @ Bank.java:12 read
  bob   @ Bank.java:15 write")]
pub struct RecordArgs {
    /// The trace to write
    #[arg(long, short, value_name = "FILE", default_value = "run.utr")]
    pub output: PathBuf,

    /// Who runs when
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = PolicyName::RunToBlock)]
    pub policy: PolicyName,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Events after which a thread that never blocks lets others run
    #[arg(long, value_name = "EVENTS", default_value_t = 1_000_000)]
    pub quantum: u64,

    /// A plan to follow: the order in which certain events shall happen
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// An earlier trace of the program, which says where atomfuzzer and adversarial hold threads
    #[arg(long, value_name = "TRACE")]
    pub marks: Option<PathBuf>,

    #[command(flatten)]
    pub scope: ScopeArgs,

    /// Milliseconds that a thread may be blocked outside before others go on
    #[arg(long, value_name = "MS", default_value_t = 200)]
    pub patience: u64,

    /// Let threads use all processors; switches are slower
    #[arg(long)]
    pub no_pin: bool,

    /// Print nothing of our own
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub stop: StopArgs,

    #[command(flatten)]
    pub program: ProgramArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Each thread runs until it blocks
    RunToBlock,
    /// Random thread, random number of events
    Random,
    /// Random priorities with a few changes (PCT)
    Pct,
    /// Random priorities of events, drawn anew where they conflict (POS); slow
    Pos,
    /// Hold threads that are about to take a lock again (AtomFuzzer); needs --marks
    Atomfuzzer,
    /// Hold threads at suspicious accesses; needs --marks
    Adversarial,
}
