//! The arguments of `untorn report`.

use std::path::PathBuf;

use clap::Args;

use crate::args::OutputArgs;

#[derive(Args, Debug)]
#[command(after_help = "\
Without an option that names a file, the findings are printed. `-` is standard output.

Exit codes: 0 done; 1 with --baseline, if there are violations that the old report does not have; 2 bad usage or
input; 3 could not run.

Examples:
  untorn report untorn-out/report.json --open
  untorn report untorn-out/report.json --sarif untorn.sarif --junit untorn.xml
  untorn report untorn-out/report.json --markdown - | gh issue create -F -
  untorn report new.json --baseline old.json")]
pub struct ReportArgs {
    /// A report of `untorn check`, or of `untorn analyze --json`
    #[arg(value_name = "REPORT")]
    pub file: PathBuf,

    /// Write one web page that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write SARIF 2.1.0, for code review tools
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,

    /// Write Markdown, for an issue
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Write JUnit XML, for CI
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Write the cycles as Graphviz graphs
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,

    /// Draw the cycles as an SVG picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write the interleavings for ui.perfetto.dev or chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,

    /// Open the web page; without --html it is written beside the report
    #[arg(long)]
    pub open: bool,

    /// Leave out what this older report has, too
    #[arg(long, value_name = "REPORT")]
    pub baseline: Option<PathBuf>,

    /// Where sources are that the report does not have yet: folders, or archives such as lib-sources.jar; may be
    /// repeated
    #[arg(long, value_name = "PATH")]
    pub source: Vec<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}
