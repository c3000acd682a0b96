//! The forms of a report for people and machines, against files in `golden/` and against what an
//! enemy would put into names. `UPDATE_GOLDEN=1 cargo test` writes the files anew.

use std::path::PathBuf;

use untorn_report::terminal::Look;
use untorn_report::{explain, html, identity, json, junit, markdown, perfetto, sarif};

use crate::golden;
use crate::pages;

#[test]
fn every_form_of_every_kind() {
    let report = pages::all_kinds();
    golden("report.sarif", &sarif::render(&report));
    golden("report.md", &markdown::render(&report));
    golden("report.junit.xml", &junit::render(&report));
    golden("report.perfetto.json", &perfetto::render(&report));
    let words: String = report
        .findings()
        .map(|finding| {
            explain::render(finding, report.check.as_ref(), &Look::default()) + "\n====\n\n"
        })
        .collect();
    golden("report.explain.txt", &words);
    golden("nothing.md", &markdown::render(&pages::nothing()));
    golden("nothing.junit.xml", &junit::render(&pages::nothing()));
}

#[test]
fn additions_to_the_model_survive_a_round_trip() {
    let report = pages::all_kinds();
    assert_eq!(json::parse(&json::render(&report)).as_ref(), Ok(&report));
}

/// The page holds its data in one place, where nothing can end it, and allows itself nothing else.
#[test]
fn a_page_cannot_be_broken_out_of() {
    let page = html::render(&pages::hostile());
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert!(!page.contains("<img") && !page.contains("<svg"));
    assert!(!page.contains('\u{1b}') && !page.contains('\u{202e}'));
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
    assert!(
        !page.contains("http://") || page.matches("http://").count() == 1,
        "the namespace of SVG only"
    );
    assert!(!page.contains("https://"));
    assert!(page.len() < 400_000, "a name of a megabyte was not cut: {}", page.len());
}

#[test]
fn no_other_form_trusts_names_either() {
    let report = pages::hostile();
    let look = Look::default();
    let explained: String =
        report.findings().take(8).map(|finding| explain::render(finding, None, &look)).collect();
    let forms = [
        markdown::render(&report),
        junit::render(&report),
        sarif::render(&report),
        perfetto::render(&report),
        explained,
    ];
    for (index, text) in forms.iter().enumerate() {
        assert!(
            !text.contains('\u{1b}') && !text.contains("\\u001b"),
            "form {index} has a raw escape"
        );
        assert!(!text.contains('\u{202e}'), "form {index} reorders text");
    }
    assert!(!forms[1].contains("<img") && !forms[1].contains("<svg"));
    assert!(!forms[2].contains("\"uri\": \".."), "a path leads out");
    assert!(!forms[2].contains("\"uri\": \"javascript:"));
}

/// A thousand findings are a page of at most 5 MB.
#[test]
fn a_thousand_findings_are_small() {
    let page = html::render(&pages::many());
    assert!(page.len() <= 5 << 20, "{} bytes", page.len());
}

/// A schedule of a hundred thousand steps is folded before it gets into the page.
#[test]
fn a_long_schedule_is_small() {
    let mut report = pages::nothing();
    report.findings = vec![pages::more::long(100_000)];
    let page = html::render(&report);
    assert!(page.len() <= 200_000, "{} bytes", page.len());
}

/// Reports from before there were deadlocks do not contain the kind of a finding.
#[test]
fn old_reports_are_still_read() {
    let text = json::render(&pages::all_kinds());
    let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let first = &mut value["findings"][0];
    assert!(first.get("kind").is_none() && first.get("waiting").is_none(), "torn is the default");
    assert_eq!(value["findings"][9]["kind"], "deadlock");
}

#[test]
fn a_fingerprint_ignores_what_changes() {
    let first = pages::bank();
    let mut again = first.clone();
    for op in &mut again.operations {
        op.at += 1000;
        op.place = "Account.java:999".into();
        op.thread.push('2');
        op.target = "Account#77.balance".into();
    }
    assert_eq!(identity::fingerprint(&first), identity::fingerprint(&again));
    for op in &mut again.operations {
        op.target = "Account#77.limit".into();
    }
    assert_ne!(identity::fingerprint(&first), identity::fingerprint(&again));
    let mut report = pages::all_kinds();
    let known = identity::subtract(&mut report, &{
        let mut old = pages::nothing();
        old.findings = vec![pages::bank()];
        old
    });
    assert_eq!(known, 1);
    assert_eq!(report.findings().count(), 13);
}

/// Writes the pages for those who want to look at them: `UNTORN_PAGES=DIR cargo test -p untorn-report pages_to`.
#[test]
fn pages_to_look_at() {
    let Some(folder) = std::env::var_os("UNTORN_PAGES").map(PathBuf::from) else { return };
    for (name, report) in [
        ("all-kinds", pages::all_kinds()),
        ("nothing", pages::nothing()),
        ("many", pages::many()),
        ("hostile", pages::hostile()),
        ("long", {
            let mut r = pages::nothing();
            r.findings = vec![pages::more::long(100_000)];
            r
        }),
    ] {
        std::fs::write(folder.join(format!("{name}.html")), html::render(&report))
            .expect("writable");
    }
}
