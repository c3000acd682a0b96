//! `report.json`, described in docs/report-json.md.

use crate::model::{Report, VERSION};
use crate::validate::first_fault;

/// The report as indented JSON, ending in a line break. `<` is escaped, so that the text may stand
/// in a page as it is: names come from the program under test.
///
/// # Panics
/// Never: the model has text keys and finite numbers only.
pub fn render(report: &Report) -> String {
    let text = serde_json::to_string_pretty(report).expect("the model is always valid JSON");
    text.replace('<', "\\u003c") + "\n"
}

/// Reads a report back.
///
/// # Errors
/// If the text is not a report, one of a later version, or one that contradicts itself: renderers rely on its indices.
pub fn parse(text: &str) -> Result<Report, String> {
    let mut report: Report =
        serde_json::from_str(text).map_err(|e| format!("not a report: {e}"))?;
    if report.format != "untorn-report" {
        return Err(format!("not a report: its format is {:?}", report.format));
    }
    if report.version > VERSION {
        return Err(format!(
            "written by a later version: it has report version {}, this tool knows {VERSION}",
            report.version
        ));
    }
    if let Some(fault) = first_fault(&report) {
        return Err(format!("a report that contradicts itself: {fault}"));
    }
    name_front_end(&mut report);
    Ok(report)
}

/// Reports of checks did not name the front end as long as there was only one.
fn name_front_end(report: &mut Report) {
    for finding in &mut report.findings {
        if finding.front_end.is_empty() && finding.evidence.is_some() {
            finding.front_end = "jvm".to_owned();
        }
    }
}
