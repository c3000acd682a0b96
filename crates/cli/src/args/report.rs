//! The command line of `untorn report` and `untorn explain`.

use std::path::PathBuf;

use clap::Args;

use crate::console::Color;

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

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,

    /// Also show positions, the extent of blocks, and the operations around a cycle
    #[arg(long, short)]
    pub verbose: bool,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

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

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
}
