//! Every renderer against hand-made findings, compared with the files in `golden/`.
//! `UPDATE_GOLDEN=1 cargo test` writes them anew.

mod samples;

use std::path::PathBuf;

use untorn_report::model::Report;
use untorn_report::terminal::{self, Look};
use untorn_report::{Finding, TraceFacts, TraceReport, Verdict, dot, json, svg};

fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{text}");
}

fn findings() -> Vec<(&'static str, Finding)> {
    vec![
        ("bank", samples::bank()),
        ("set-add", samples::set_add()),
        ("three-threads", samples::three_threads()),
        ("ring-6", samples::ring(6, 6)),
        ("ring-20", samples::ring(20, 12)),
        ("nested", samples::nested()),
        ("long-names", samples::long_names()),
        ("no-blame", samples::no_blame()),
        ("program-order", samples::program_order()),
    ]
}

#[test]
fn pictures() {
    for (name, finding) in findings() {
        golden(&format!("{name}.svg"), &svg::render([&finding]));
    }
    golden("none.svg", &svg::render([]));
}

#[test]
fn graphs() {
    for (name, finding) in findings() {
        golden(&format!("{name}.dot"), &dot::render([&finding]));
    }
    golden("none.dot", &dot::render([]));
}

#[test]
fn terminal_texts() {
    for (name, finding) in findings() {
        let mut text = String::new();
        for look in [
            Look::default(),
            Look { width: 60, ..Look::default() },
            Look { verbose: true, ..Look::default() },
            Look { color: true, ..Look::default() },
        ] {
            text.push_str(&format!(
                "--- width {}, verbose {}, color {}\n",
                look.width, look.verbose, look.color
            ));
            text.push_str(&terminal::finding(&finding, &look).replace('\u{1b}', "␛"));
        }
        golden(&format!("{name}.txt"), &text);
    }
}

#[test]
fn json_survives_a_round_trip() {
    let report = Report::new(
        "untorn 0.0.0",
        vec![TraceReport {
            facts: TraceFacts { file: "bank.jsonl".into(), events: 11, ..TraceFacts::default() },
            verdict: Verdict::NotSerializable,
            checkers: vec![],
            findings: findings().into_iter().map(|(_, finding)| finding).collect(),
            alarms: vec![],
            notes: vec![],
        }],
    );
    let text = json::render(&report);
    assert_eq!(json::parse(&text).as_ref(), Ok(&report));
    assert!(!text.contains('<'), "names must not be able to end a script element");
    let later = text.replacen("\"version\": 1", "\"version\": 99", 1);
    assert!(json::parse(&later).is_err_and(|e| e.contains("later version")));
}

/// Names from the traced program must not become markup or terminal codes.
#[test]
fn names_are_never_trusted() {
    let finding = samples::long_names();
    let picture = svg::render([&finding]);
    assert!(!picture.contains("<script"));
    assert!(!picture.contains('\u{1b}'));
    assert!(!terminal::finding(&finding, &Look::default()).contains('\u{1b}'));
    assert!(!dot::render([&finding]).contains("m & \"quoted\""));
}
