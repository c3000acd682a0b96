//! The arguments of `untorn explain`.

use std::path::PathBuf;

use clap::Args;

use crate::args::ColorArgs;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  untorn explain untorn-out/report.json 3
  untorn explain report.json")]
pub struct ExplainArgs {
    /// A report of `untorn check`, or of `untorn analyze --json`
    #[arg(value_name = "REPORT")]
    pub file: PathBuf,

    /// Which violation; may be left out if there is only one
    #[arg(value_name = "NUMBER")]
    pub number: Option<u32>,

    #[command(flatten)]
    pub colors: ColorArgs,
}
