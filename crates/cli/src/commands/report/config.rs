//! What `untorn report` is to do.

use std::path::PathBuf;

use untorn_report::model::Report;
use untorn_report::{dot, html, junit, markdown, perfetto, sarif, svg};

use super::args::ReportArgs;
use crate::config::source_roots;
use crate::console::{Color, Volume};
use crate::exit::{CliError, Result};
use crate::files::is_dash;

#[derive(Debug)]
pub struct ShowReport {
    pub file: PathBuf,
    /// Files to write, and what to write into them.
    pub outputs: Vec<(PathBuf, Render)>,
    /// The page to open when it is written.
    pub open: Option<PathBuf>,
    pub baseline: Option<PathBuf>,
    /// Where sources are looked for.
    pub sources: Vec<PathBuf>,
    pub color: Color,
    pub volume: Volume,
}

/// A form of a report.
pub type Render = fn(&Report) -> String;

impl ShowReport {
    pub fn new(args: ReportArgs) -> Result<Self> {
        let page =
            args.html.clone().or_else(|| args.open.then(|| args.file.with_extension("html")));
        let open = page.clone().filter(|_| args.open);
        if open.as_deref().is_some_and(is_dash) {
            return Err(CliError::input("standard output cannot be opened")
                .way_out("name a file with --html, or leave it out"));
        }
        let outputs = outputs(page, &args);
        let dashes = outputs.iter().filter(|(path, _)| is_dash(path)).count();
        if dashes > 1 {
            return Err(CliError::input(
                "`-` was given twice: only one form can go to standard output",
            ));
        }
        Ok(Self {
            file: args.file,
            outputs,
            open,
            baseline: args.baseline,
            sources: source_roots(args.source),
            color: args.output.color(),
            volume: args.output.volume(dashes > 0),
        })
    }
}

fn outputs(page: Option<PathBuf>, args: &ReportArgs) -> Vec<(PathBuf, Render)> {
    let all: [(Option<PathBuf>, Render); 7] = [
        (page, html::render),
        (args.sarif.clone(), sarif::render),
        (args.markdown.clone(), markdown::render),
        (args.junit.clone(), junit::render),
        (args.dot.clone(), |report| dot::render(report.findings())),
        (args.svg.clone(), |report| svg::render(report.findings())),
        (args.perfetto.clone(), perfetto::render),
    ];
    all.into_iter().filter_map(|(path, render)| Some((path?, render))).collect()
}
