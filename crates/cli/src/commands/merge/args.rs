//! The arguments of `untorn merge`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "\
Takes the folders that `untorn check --shard 1/N`, 2/N and so on wrote, from wherever they ran, and makes one report
of them, with the traces beside it. A violation that several parts found is one finding, with the strongest proof.

Exit codes: 0 nothing found, 1 violations, 2 bad usage or bad input, also if a part is missing; 3 could not run.

Examples:
  untorn merge part-1 part-2 part-3 --out untorn-out
  untorn merge part-*/report.json")]
pub struct MergeArgs {
    /// The folders, or the reports in them
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,

    /// Where the report and the traces go
    #[arg(long, short, value_name = "FOLDER", default_value = "untorn-out")]
    pub out: PathBuf,

    /// Merge what is there, even if a part is missing
    #[arg(long)]
    pub partial: bool,
}
