//! The arguments of `untorn check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::args::{BlocksName, OutputArgs, ProgramArgs, ScopeArgs, StopArgs};
use crate::commands::compare::args::StrategyName;

#[derive(Args, Debug)]
#[command(after_help = "\
Blocks that are meant to be atomic: synchronized code and what --atomic names (declared); and one call of a
method that touches the same field twice (inferred), which is reported only if the values prove the harm. Every
violation happened in a run; its trace and its schedule are kept. The program runs many times, with an empty
standard input unless there is --stdin; its output is kept beside the report. If it has arguments or properties, others
are looked for that lead to code that no run reached, and a finding says with which inputs it happens.

Exit codes: 0 clean, 1 violations or failed runs (--fail-on), 2 bad usage, 3 could not run, 4 inconclusive: nothing
was found, but too little was looked at; the summary says why and what to do.

Examples:
  untorn check -- java -cp classes Bank
  untorn check --time 5m --atomic 'com.acme.*.transfer' -- java -jar app.jar
  untorn check --blocks declared -- java -cp classes Bank
  untorn check --compositions -- java -cp 'classes:lib/*' com.acme.Main
  untorn check --linearizable com.acme.Stack --with-ops push,pop,size -- java -cp classes
  untorn check --junit com.acme.BankTest -cp 'classes:tests:lib/*'
  untorn check --until 'Started in' --drive 'curl -s localhost:8080/buy' -- java -jar shop.jar
  untorn check --test BankTest -- mvn -o -q test")]
#[command(mut_arg("verbose", |arg| arg.help("Print each run, and everything that was not reached")))]
#[command(mut_arg("quiet", |arg| arg.help("Print only violations")))]
pub struct CheckArgs {
    /// Time for all runs together, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub time: String,

    /// Runs at most
    #[arg(long, value_name = "N", default_value_t = u32::MAX, hide_default_value = true)]
    pub runs: u32,

    /// Directed runs for one candidate
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub per_candidate: u32,

    /// Undirected runs beside the first three [default: until no new order of conflicts is to be expected]
    #[arg(long, value_name = "N")]
    pub explore: Option<u32>,

    /// What makes the exit code 1
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FailOn::Any)]
    pub fail_on: FailOn,

    /// Exit with code 0 if nothing was found, even if little was looked at
    #[arg(long, conflicts_with = "require_complete")]
    pub allow_inconclusive: bool,

    /// Exit with code 4 unless every run, event and candidate was looked at, or something was found
    #[arg(long)]
    pub require_complete: bool,

    /// Time for one run; the default is half of --time for the first, and 20 times that one for the others
    #[arg(long, value_name = "TIME")]
    pub run_time: Option<String>,

    /// Look at no more than so many events of each run [default: all; of a long run, those that threads share]
    #[arg(long, value_name = "N")]
    pub events: Option<u64>,

    /// Another way to look: a method of `untorn compare`, or policies that take turns, as in random,pct
    #[arg(
        long,
        value_enum,
        value_name = "METHODS",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub with: Vec<StrategyName>,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Which blocks count
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = BlocksName::All)]
    pub blocks: BlocksName,

    /// Take every method to be atomic until it is refuted: Velodrome's way to evaluate
    #[arg(long)]
    pub all_methods: bool,

    /// Read the program's class files, too, for calls of thread-safe objects that look meant to be one step (`untorn
    /// compose`), and tear those
    #[arg(long)]
    pub compositions: bool,

    /// Are concurrent calls of an object of this class linearizable? Threads call its public methods, and their results
    /// are compared with those of sequential orders of the same calls; behind `--` there are java and its options
    #[arg(
        long,
        value_name = "CLASS",
        conflicts_with_all = ["junit", "main", "test", "compositions", "all_methods", "shard", "with"]
    )]
    pub linearizable: Option<String>,

    /// The methods that --linearizable calls, such as push,pop,size [default: all that the class declares]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub with_ops: Vec<String>,

    /// Programs that may run at once; each has a processor to itself if there are enough
    #[arg(long, short, value_name = "N", default_value_t = 1)]
    pub jobs: usize,

    /// Do one part of the work, such as 2/8; `untorn merge` puts the reports together
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,

    /// Count three-access violations as the literature does, by their three places: each is tried, even if its block is
    /// known to be torn
    #[arg(long)]
    pub count: bool,

    /// Runs for one violation that look for a schedule with fewer preemptions
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub minimise: u32,

    /// Give each run a JVM of its own, even if the program is seen to behave alike in one that has made runs before
    #[arg(long)]
    pub fresh: bool,

    /// Keep the program's inputs as they are: do not look for others that lead to code that no run reached
    #[arg(long)]
    pub own_inputs: bool,

    /// What every run reads from standard input
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,

    /// Where the report, the traces and the program's output go
    #[arg(long, short, value_name = "FOLDER", default_value = "untorn-out")]
    pub out: PathBuf,

    /// Where the program's sources are: folders, or archives such as lib-sources.jar [default: the current folder]; may
    /// be repeated
    #[arg(long, value_name = "PATH")]
    pub source: Vec<PathBuf>,

    #[command(flatten)]
    pub scope: ScopeArgs,

    /// Look for violations in these classes only, as in 'com.acme.*'; a method is fine, too; may be repeated. Without it,
    /// the project's own classes come first, then libraries
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// These blocks need not be atomic: nothing is said about them; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub not_atomic: Vec<String>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub stop: StopArgs,

    #[command(flatten)]
    pub program: ProgramArgs,
}

/// What makes the exit code 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOn {
    /// Torn blocks and deadlocks
    Violations,
    /// Runs that failed and that no torn block explains, and deadlocks
    Failures,
    /// Either
    Any,
    /// Either, and what is listed below the findings: it did no harm, or depends on timing only
    Folded,
}
