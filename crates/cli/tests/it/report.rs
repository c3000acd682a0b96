//! `untorn report` and `untorn explain`, on a report that `untorn analyze` makes on the spot.

use std::path::{Path, PathBuf};

use crate::support::{compare, root, transcript, untorn};

/// A folder with the report of the bank example in it.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let trace =
        std::fs::read(root().join("examples/traces/fail/bank.jsonl")).expect("the example exists");
    let made = untorn(&folder, &["analyze", "--json", "report.json", "-"], &trace);
    assert_eq!(made.status.code(), Some(1));
    folder
}

fn check(folder: &Path, name: &str, args: &[&str]) {
    let output = untorn(folder, args, b"");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    compare(&golden.join(format!("{name}.txt")), &transcript(args, &output));
}

#[test]
fn what_it_says() {
    let folder = folder("report-says");
    check(&folder, "help-report", &["report", "--help"]);
    check(&folder, "help-explain", &["explain", "--help"]);
    check(&folder, "report", &["report", "report.json"]);
    check(&folder, "report-markdown", &["report", "report.json", "--markdown", "-"]);
    check(&folder, "report-junit", &["report", "report.json", "--junit", "-"]);
    check(&folder, "report-sarif", &["report", "report.json", "--sarif", "-"]);
    check(&folder, "report-perfetto", &["report", "report.json", "--perfetto", "-"]);
    check(&folder, "report-baseline", &["report", "report.json", "--baseline", "report.json"]);
    check(&folder, "report-two-dashes", &["report", "report.json", "--sarif", "-", "--junit", "-"]);
    check(&folder, "report-missing", &["report", "no-such-report.json"]);
    check(&folder, "explain", &["explain", "report.json"]);
    check(&folder, "explain-number", &["explain", "report.json", "7"]);
}

/// A report is a file: one that contradicts itself is bad input, whoever reads it.
#[test]
fn a_tampered_report_is_refused() {
    let folder = folder("report-tampered");
    let path = folder.join("report.json");
    let mut report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
    report["traces"][0]["findings"][0]["edges"][0]["from"] = (1u64 << 31).into();
    std::fs::write(&path, report.to_string()).expect("writable");
    for command in ["report", "explain", "verify", "replay", "merge"] {
        let output = untorn(&folder, &[command, "report.json"], b"");
        assert_eq!(output.status.code(), Some(2), "{command}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("a report that contradicts itself: finding 1"), "{command}: {said}");
        assert!(!said.contains("panicked"), "{command}: {said}");
    }
}

#[test]
fn files_are_written() {
    let folder = folder("report-files");
    let args = [
        "report",
        "report.json",
        "--html",
        "r.html",
        "--sarif",
        "r.sarif",
        "--markdown",
        "r.md",
        "--junit",
        "r.xml",
        "--dot",
        "r.dot",
        "--svg",
        "r.svg",
        "--perfetto",
        "r.json",
    ];
    assert_eq!(untorn(&folder, &args, b"").status.code(), Some(0));
    for (name, part) in [
        ("r.html", "<!doctype html>"),
        ("r.sarif", "\"version\": \"2.1.0\""),
        ("r.md", "## "),
        ("r.xml", "<testsuites"),
        ("r.dot", "digraph"),
        ("r.svg", "<svg"),
        ("r.json", "traceEvents"),
    ] {
        let text = std::fs::read_to_string(folder.join(name)).expect("written");
        assert!(text.contains(part), "{name} has no {part}");
    }
}

/// Only what is new counts, and only then the exit code is 1.
#[test]
fn a_baseline_hides_what_is_known() {
    let folder = folder("report-baseline");
    let old = untorn(
        &folder,
        &["analyze", "--json", "none.json", "--atomic", "Nothing", "report.json"],
        b"",
    );
    assert_ne!(old.status.code(), Some(0), "a report is no trace");
    let text = std::fs::read_to_string(folder.join("report.json")).expect("written");
    let other = text.replace("balance", "limit");
    std::fs::write(folder.join("other.json"), other).expect("writable");
    let code = |args: &[&str]| untorn(&folder, args, b"").status.code();
    assert_eq!(code(&["report", "report.json"]), Some(0));
    assert_eq!(code(&["report", "report.json", "--baseline", "report.json"]), Some(0));
    assert_eq!(code(&["report", "report.json", "--baseline", "other.json"]), Some(1));
}

/// The page is handed to the system's opener by its whole path; an opener that fails is not passed over.
#[test]
fn a_page_is_opened() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("report-open");
    let open = |script: &str, args: &[&str]| {
        let opener = folder.join("xdg-open");
        std::fs::write(&opener, script).expect("writable");
        let rights = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&opener, rights).expect("its own file");
        std::process::Command::new(env!("CARGO_BIN_EXE_untorn"))
            .args(["report", "report.json"])
            .args(args)
            .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
            .current_dir(&folder)
            .output()
            .expect("it runs")
    };
    let done = open("#!/bin/sh\necho \"$1\" > opened.txt\n", &["--open"]);
    assert_eq!(done.status.code(), Some(0));
    let opened = std::fs::read_to_string(folder.join("opened.txt")).expect("it was called");
    assert_eq!(Path::new(opened.trim()), folder.join("report.html"));
    assert!(folder.join("report.html").is_file());
    let failed = open("#!/bin/sh\nexit 3\n", &["--open"]);
    assert_eq!(failed.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("report.html"), "it says where it is");
    assert_eq!(open("#!/bin/sh\n", &["--open", "--html", "-"]).status.code(), Some(2));
}
