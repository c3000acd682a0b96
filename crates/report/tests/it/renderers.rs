//! Every renderer against hand-made findings, compared with the files in `golden/`.
//! `UPDATE_GOLDEN=1 cargo test` writes them anew.

use untorn_report::model::Report;
use untorn_report::terminal::{self, Look};
use untorn_report::{Finding, TraceReport, TraceSummary, TraceVerdict, dot, json, svg};

use crate::golden;
use crate::pages;
use crate::samples;

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
        ("tangle", samples::tangle()),
        ("deadlock", pages::more::deadlock()),
        ("philosophers", pages::more::philosophers(3)),
        ("two-fields", pages::more::two_fields()),
    ]
    .into_iter()
    .map(|(name, finding)| (name, Finding { front_end: "jvm".into(), ..finding }))
    .collect()
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
            facts: TraceSummary {
                file: "bank.jsonl".into(),
                events: 11,
                ..TraceSummary::default()
            },
            verdict: TraceVerdict::NotSerializable,
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

/// A text of a picture with the room it takes: left, right, baseline.
fn texts(picture: &str) -> Vec<(String, f64, f64, f64)> {
    let mut found = Vec::new();
    for part in picture.split("<text ").skip(1) {
        let (head, rest) = part.split_once('>').expect("a start tag ends");
        let (inner, _) = rest.split_once("</text>").expect("a text ends");
        let field = |name: &str| {
            let (_, after) = head.split_once(&format!("{name}=\""))?;
            after.split('"').next()
        };
        let number = |name| field(name).and_then(|v| v.parse::<f64>().ok()).expect("a number");
        // A tooltip is not drawn.
        let shown = inner.split("</title>").last().expect("a text has an inside");
        let shown = shown.replace("<tspan class=\"glyph\">", "").replace("</tspan>", "");
        let shown = ["&amp;", "&quot;", "&lt;", "&gt;", "&#39;"]
            .iter()
            .fold(shown, |text, entity| text.replace(entity, "?"));
        let columns = untorn_report::text::width(&shown) as f64;
        let wide = match field("class").expect("a class") {
            "title" => columns * 18.0 * 0.62,
            "thread" => columns * 13.5 * 0.62,
            "name" | "pill-text" | "pill-text-w" => columns * 12.0 * 0.602,
            "place" | "position" => columns * 11.0 * 0.52,
            _ => columns * 12.5 * 0.52,
        };
        let middle = field("text-anchor") == Some("middle");
        let left = number("x") - if middle { wide / 2.0 } else { 0.0 };
        found.push((shown, left, left + wide, number("y")));
    }
    found
}

/// Texts of one picture keep clear of each other, and inside of it.
#[test]
fn no_text_covers_another() {
    let mut pictures: Vec<Finding> = findings().into_iter().map(|(_, finding)| finding).collect();
    for threads in 2..=12 {
        for count in [2, 3, 7, 20] {
            pictures.push(samples::ring(count, threads));
        }
    }
    for finding in pictures {
        let picture = svg::render([&finding]);
        let width: f64 = picture
            .split("width=\"")
            .nth(1)
            .and_then(|w| w.split('"').next()?.parse().ok())
            .expect("a width");
        let texts = texts(&picture);
        for (i, (text, left, right, y)) in texts.iter().enumerate() {
            assert!(*left >= 0.0 && *right <= width, "{text:?} leaves the picture");
            for (other, l, r, other_y) in &texts[..i] {
                let apart = right <= l || r <= left || (y - other_y).abs() >= 10.0;
                assert!(apart, "{text:?} covers {other:?}");
            }
        }
    }
}
