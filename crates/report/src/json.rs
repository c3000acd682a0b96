//! `report.json`, described in docs/report-json.md.

use crate::model::{Report, VERSION};

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
/// If the text is not a report, or one of a later version.
pub fn parse(text: &str) -> Result<Report, String> {
    let report: Report = serde_json::from_str(text).map_err(|e| format!("not a report: {e}"))?;
    match report {
        Report { format, .. } if format != "untorn-report" => {
            Err(format!("not a report: its format is {format:?}"))
        }
        Report { version, .. } if version > VERSION => Err(format!(
            "written by a later version: it has report version {version}, this tool knows {VERSION}"
        )),
        report => Ok(report),
    }
}
