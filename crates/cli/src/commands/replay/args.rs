//! The arguments of `untorn replay`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "\
Command, directory and environment come from the trace; variables that it does not keep come from the current
environment. What a file that was not made here would run is shown first, and is run only if you say so. The exit
code is that of the program; 3 if the run differs from the recorded one, which is then shown at its first point.

Examples:
  untorn replay run.utr
  untorn replay untorn-out/report.json 3
  untorn replay --debug run.utr        waits for a debugger at port 5005")]
pub struct ReplayArgs {
    /// The trace, or the report of `untorn check`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Which violation of the report
    #[arg(value_name = "NUMBER")]
    pub number: Option<u32>,

    /// Keep the trace of the replay
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Wait for a debugger (JDWP) before the program begins
    #[arg(long)]
    pub debug: bool,

    /// Port for the debugger
    #[arg(long, value_name = "PORT", default_value_t = 5005)]
    pub port: u16,

    /// Run what the file says, with all of its variables, although it was not made here
    #[arg(long)]
    pub trust: bool,

    /// Print nothing of our own, except a divergence
    #[arg(long, short)]
    pub quiet: bool,
}
