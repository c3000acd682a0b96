//! Reads reports, and finds one of their violations.

use std::path::Path;

use untorn_frontend::seal;
use untorn_report::json;
use untorn_report::model::{CheckSummary, Evidence, Report, Setting};

use crate::exit::{CliError, Result};

/// Reads any report.
pub fn read(path: &Path) -> Result<Report> {
    let fail = |error: String| CliError::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| {
        fail(error.to_string()).way_out("`untorn check` writes untorn-out/report.json")
    })?;
    json::parse(&text).map_err(fail)
}

/// Reads the report of a check.
pub fn read_of_check(path: &Path) -> Result<Report> {
    let fail = |error: String| CliError::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    json::parse(&text).map_err(|error| fail(format!("not a report of untorn check: {error}")))
}

/// Seals a report, so that its command is known to be this user's.
pub fn seal_of(command: &[String], setting: &Setting) -> String {
    seal::seal(&sealed_text(command, setting))
}

/// Whether this user made the report, and nobody changed what it says is run.
pub fn is_made_here(facts: &CheckSummary) -> bool {
    seal::is_sealed(&sealed_text(&facts.command, &facts.setting), &facts.setting.seal)
}

/// What decides which code is run.
fn sealed_text(command: &[String], setting: &Setting) -> Vec<u8> {
    let Setting { main, test, directory, .. } = setting;
    // Texts: that cannot fail.
    serde_json::to_vec(&("report", command, main, test, directory)).unwrap_or_default()
}

/// The evidence of one violation of a report. Without a number there must be only one.
pub fn evidence<'r>(
    report: &'r Report,
    path: &Path,
    number: Option<u32>,
    command: &str,
) -> Result<&'r Evidence> {
    let fail = |error: String| CliError::input(format!("{}: {error}", path.display()));
    let violations = report.findings.iter().map(|finding| finding.number);
    let all: Vec<u32> =
        violations.chain(report.failures.iter().map(|failure| failure.number)).collect();
    let number = match (number, all.as_slice()) {
        (Some(number), _) => number,
        (None, [only]) => *only,
        (None, []) => return Err(fail("it has no violations".to_owned())),
        (None, _) => {
            let way_out = format!("untorn {command} {} NUMBER", path.display());
            return Err(
                fail(format!("it has {} violations: which one?", all.len())).way_out(way_out)
            );
        }
    };
    let found = report.findings.iter().find(|finding| finding.number == number);
    let failed = report.failures.iter().find(|failure| failure.number == number);
    found
        .and_then(|finding| finding.evidence.as_ref())
        .or_else(|| failed.map(|failure| &failure.evidence))
        .ok_or_else(|| fail(format!("it has no violation {number}, only {} of them", all.len())))
}
