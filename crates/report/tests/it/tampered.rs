//! A report is a file, and files may be damaged or made by an enemy. Whatever number is in one, it is refused when it
//! is read, or every renderer shows it without a panic.

use serde_json::Value;
use untorn_report::model::Report;
use untorn_report::terminal::{self, Look};
use untorn_report::{dot, explain, html, identity, json, junit, markdown, perfetto, sarif, svg};

use crate::pages;

/// Every number is replaced by each of these.
fn wrong_numbers() -> [Value; 4] {
    [0.into(), (1u64 << 31).into(), u32::MAX.into(), u64::MAX.into()]
}

/// The places of all numbers, as pointers into the document.
fn numbers(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Number(_) => out.push(path.to_owned()),
        Value::Array(all) => {
            for (index, inner) in all.iter().enumerate() {
                numbers(inner, &format!("{path}/{index}"), out);
            }
        }
        Value::Object(all) => {
            for (name, inner) in all {
                numbers(inner, &format!("{path}/{name}"), out);
            }
        }
        _ => {}
    }
}

fn render_everything(report: &Report) {
    let looks = [Look::default(), Look { verbose: true, color: true, ..Look::default() }];
    for finding in report.findings() {
        for look in &looks {
            let _ = terminal::finding(finding, look);
        }
        let _ = explain::render(finding, report.check.as_ref(), &looks[0]);
        let _ = identity::fingerprint(finding);
    }
    let _ = (dot::render(report.findings()), svg::render(report.findings()));
    let _ = (html::render(report), sarif::render(report), markdown::render(report));
    let _ = (junit::render(report), perfetto::render(report), json::render(report));
}

#[test]
fn no_number_of_a_report_leads_to_a_panic() {
    let whole = pages::all_kinds();
    let mut refused = 0;
    for finding in &whole.findings {
        let report = Report { findings: vec![finding.clone()], ..whole.clone() };
        let sound: Value = serde_json::from_str(&json::render(&report)).expect("our own JSON");
        let mut places = Vec::new();
        numbers(&sound, "", &mut places);
        for place in places {
            for wrong in wrong_numbers() {
                let mut tampered = sound.clone();
                *tampered.pointer_mut(&place).expect("a number is there") = wrong;
                match json::parse(&tampered.to_string()) {
                    Ok(report) => render_everything(&report),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 100, "indices are checked: {refused}");
}

#[test]
fn what_is_wrong_is_said() {
    let mut report = pages::all_kinds();
    report.findings[2].edges[0].from = 1 << 31;
    let error = json::parse(&json::render(&report)).expect_err("an index leads nowhere");
    assert!(error.starts_with(
        "a report that contradicts itself: finding 3 (number 3): an edge names operation"
    ));
}
