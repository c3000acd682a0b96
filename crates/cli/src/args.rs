//! The command line, as clap reads it.

mod program;
mod shared;

use clap::{Parser, Subcommand};

use crate::commands::analyze::args::AnalyzeArgs;
use crate::commands::build::args::BuildArgs;
use crate::commands::check::args::CheckArgs;
use crate::commands::compare::args::CompareArgs;
use crate::commands::completions::args::CompletionsArgs;
use crate::commands::compose::args::ComposeArgs;
use crate::commands::confirm::args::ConfirmArgs;
use crate::commands::doctor::args::DoctorArgs;
use crate::commands::explain::args::ExplainArgs;
use crate::commands::man::args::ManArgs;
use crate::commands::merge::args::MergeArgs;
use crate::commands::predict::args::PredictArgs;
use crate::commands::record::args::RecordArgs;
use crate::commands::replay::args::ReplayArgs;
use crate::commands::report::args::ReportArgs;
use crate::commands::trace::args::TraceCommand;
use crate::commands::verify::args::VerifyArgs;

pub use program::*;
pub use shared::*;

pub const EXIT_CODES: &str = "\
Exit codes:
  0  checked, and nothing found (warnings that may be false alarms do not count)
  1  findings: violations, deadlocks, failures
  2  bad usage or bad input: also a trace without blocks, because nothing was checked
  3  could not run: a file cannot be written, checkers contradict each other
  4  inconclusive: nothing was found, and too little was looked at";

const EXAMPLES: &str = "\
Examples:
  untorn check -- java -cp classes Bank       find, prove and keep what can be torn
  untorn report --open untorn-out/report.json  look at what was found
  untorn replay untorn-out/report.json 1      see the first violation happen again
  untorn verify untorn-out/report.json 1      after a fix: can it still happen?
  untorn record -- java -cp classes Bank      run a program and keep its trace
  untorn replay run.utr                       run it again, the very same way
  untorn analyze run.std                      check a RAPID trace and explain what is torn
  untorn analyze --svg torn.svg run.jsonl     draw it, too
  untorn predict run.utr                      what can be torn if threads run in another order
  untorn compose app.jar                      atomic calls that look meant to be one step
  untorn trace info run.utr                   what is in a trace
  untorn trace convert run.std run.utr        the same trace, smaller and faster to read";

/// Finds the places where code that must run as one step can be torn apart by another thread, and
/// proves it.
#[derive(Parser, Debug)]
#[command(name = "untorn", version, arg_required_else_help = true)]
#[command(after_help = sections(EXAMPLES, EXIT_CODES))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Two sections below each other.
pub fn sections(first: &str, second: &str) -> String {
    format!("{first}\n\n{second}")
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Find what can be torn in a program, make it happen, prove it, keep it for replay
    Check(Box<CheckArgs>),
    /// After a fix: chase one violation of a report again, and nothing else
    Verify(VerifyArgs),
    /// Put the reports of the parts of a check together
    Merge(MergeArgs),
    /// Write a commented untorn.toml for this project
    Init,
    /// Run every method of the field on one program, and print who found what
    Compare(CompareArgs),
    /// List calls in class files that look meant to be one step and are not
    Compose(ComposeArgs),
    /// Run a program, schedule its threads, and keep an exact trace
    Record(RecordArgs),
    /// Tell what of a program can be seen, and what cannot
    Doctor(DoctorArgs),
    /// Repeat a recorded run, event by event
    Replay(ReplayArgs),
    /// Check a recorded trace for blocks that were torn
    Analyze(AnalyzeArgs),
    /// Find blocks that another order of the same events tears
    Predict(PredictArgs),
    /// Decide whether a recorded trace is atomic by its values
    Confirm(ConfirmArgs),
    /// Show a report as a web page, SARIF, Markdown, JUnit XML or pictures
    Report(ReportArgs),
    /// Explain one violation of a report in plain words
    Explain(ExplainArgs),
    /// Compile C so that `untorn check -- ./program` can look into it: CC='untorn cc' ./configure
    #[command(name = "cc")]
    Cc(BuildArgs),
    /// The same for C++: CXX='untorn c++' ./configure
    #[command(name = "c++")]
    Cxx(BuildArgs),
    /// Build Rust: untorn cargo build
    Cargo(BuildArgs),
    /// Run make with these compilers: untorn make -j4
    Make(BuildArgs),
    /// Look at, convert, make, cut and validate traces
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Serve check, explain, replay, verify and doctor to a coding assistant (MCP, on standard input and output)
    Mcp,
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder
    Man(ManArgs),
}
