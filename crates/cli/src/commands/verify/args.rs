//! The arguments of `untorn verify`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{OutputArgs, ProgramArgs, StopArgs};

#[derive(Args, Debug)]
#[command(after_help = "\
Chases one violation of a report again, and nothing else: after a change of the program, to see whether the same
block can still be torn. What was recorded and how comes from the report, and so does the command; another command
may follow `--`, if the changed program is started in another way.

A method that makes one step now cannot be torn. If the method does not access the variable any more, all of its
variables are looked at; if it was renamed or moved, the methods that access the variable instead are.

Exit codes: 0 it was not torn any more within the budget, 1 it was torn again, 2 bad usage, 3 could not run, or
the method never ran, so that nothing was verified.

Examples:
  untorn verify untorn-out/report.json 1
  untorn verify untorn-out/report.json 1 --time 5m
  untorn verify untorn-out/report.json 1 -- java -cp fixed Bank")]
#[command(mut_arg("verbose", |arg| arg.help("Print each run, and everything that was not reached")))]
#[command(mut_arg("quiet", |arg| arg.help("Print only the verdict")))]
pub struct VerifyArgs {
    /// The report of `untorn check`
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,

    /// Which violation of the report
    #[arg(value_name = "NUMBER")]
    pub number: Option<u32>,

    /// Time for all runs together, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub time: String,

    /// Runs at most
    #[arg(long, value_name = "N", default_value_t = u32::MAX, hide_default_value = true)]
    pub runs: u32,

    /// Directed runs for one candidate
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub per_candidate: u32,

    /// Undirected runs beside the first three [default: until no new order of conflicts is to be expected]
    #[arg(long, value_name = "N")]
    pub explore: Option<u32>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Programs that may run at once
    #[arg(long, short, value_name = "N", default_value_t = 1)]
    pub jobs: usize,

    /// Where the new report, the traces and the program's output go
    #[arg(long, short, value_name = "FOLDER", default_value = "untorn-verify")]
    pub out: PathBuf,

    /// Run the command of the report, although it was not made here
    #[arg(long)]
    pub trust: bool,

    #[command(flatten)]
    pub stop: StopArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub program: ProgramArgs,
}
