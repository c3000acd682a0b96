//! What `untorn replay` is to do.

use std::path::{Path, PathBuf};

use untorn_report::Finding;
use untorn_report::scene::split_place;
use untorn_report::text::plain;
use untorn_trace::tables::convention::short as short_name;

use super::args::ReplayArgs;
use crate::exit::{CliError, Result};
use crate::reports;

/// What `untorn replay` is to do.
#[derive(Debug)]
pub struct Replay {
    pub file: PathBuf,
    pub out: Option<PathBuf>,
    pub debug: bool,
    pub port: u16,
    pub quiet: bool,
    /// What the file says is run, whoever made it.
    pub trust: bool,
    /// Where the accesses of the finding are, each with what is done there, in their order. Unknown of a bare trace.
    pub places: Vec<String>,
}

impl Replay {
    pub fn new(args: ReplayArgs) -> Result<Self> {
        let ReplayArgs { file, number, output: out, debug, port, trust, quiet } = args;
        let is_report = file.extension().is_some_and(|end| end == "json");
        let (file, places) = match (is_report, number) {
            (true, number) => of_report(&file, number)?,
            (false, None) => (file, Vec::new()),
            (false, Some(_)) => {
                return Err(CliError::input("a number goes with a report, not with a trace")
                    .way_out("untorn replay untorn-out/report.json 1"));
            }
        };
        Ok(Self { file, out, debug, port, quiet, trust, places })
    }
}

/// The trace that shows a violation of a report, and the places of its accesses.
fn of_report(path: &Path, number: Option<u32>) -> Result<(PathBuf, Vec<String>)> {
    let report = reports::read_of_check(path)?;
    let evidence = reports::evidence(&report, path, number, "replay")?;
    let trace = path.parent().unwrap_or(Path::new("")).join(&evidence.trace);
    let is_this = |finding: &&Finding| finding.evidence.as_ref() == Some(evidence);
    let finding = report.findings.iter().find(is_this);
    Ok((trace, finding.map(places).unwrap_or_default()))
}

/// `Account.java:14 (Alice reads balance)`: the operations of the cycle that have a line, in their order.
fn places(finding: &Finding) -> Vec<String> {
    let operations = finding.operations.iter().enumerate();
    let own = operations.filter(|(index, _)| finding.is_on_edge(*index)).map(|(_, own)| own);
    let mut places: Vec<String> = own
        .filter(|own| split_place(&own.place).is_some())
        .map(|own| {
            let what = format!("{} {}s {}", own.thread, own.action.verb(), short_name(&own.target));
            format!("{} ({})", plain(&own.place), plain(&what))
        })
        .collect();
    places.dedup();
    places
}
