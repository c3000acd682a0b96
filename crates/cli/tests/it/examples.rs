//! Every trace of `examples/traces` is analysed; what is said, and the picture, stand beside it.

use std::path::{Path, PathBuf};

use crate::support::{compare, root, transcript, untorn};

fn traces(kind: &str) -> Vec<PathBuf> {
    let folder = root().join("examples/traces").join(kind);
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("examples exist")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|end| end == "std" || end == "jsonl"))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no examples of kind {kind}");
    found
}

fn analyse(trace: &Path, code: i32) {
    let folder = trace.parent().expect("a trace lies in a folder");
    let file = trace.file_name().and_then(|name| name.to_str()).expect("a plain name");
    let output = untorn(folder, &["analyze", file], b"");
    assert_eq!(output.status.code(), Some(code), "{file}: wrong exit code");
    compare(&trace.with_extension("out"), &transcript(&["analyze", file], &output));
}

#[test]
fn torn_traces_are_explained() {
    for trace in traces("fail") {
        analyse(&trace, 1);
    }
}

#[test]
fn torn_traces_are_drawn() {
    for trace in traces("fail") {
        let folder = trace.parent().expect("a trace lies in a folder");
        let file = trace.file_name().and_then(|name| name.to_str()).expect("a plain name");
        for (option, end) in [("--svg", "svg"), ("--dot", "dot")] {
            let output = untorn(folder, &["analyze", file, option, "-"], b"");
            assert_eq!(output.status.code(), Some(1), "{file}: wrong exit code");
            compare(&trace.with_extension(end), &String::from_utf8_lossy(&output.stdout));
        }
    }
}

#[test]
fn serializable_traces_are_left_alone() {
    for trace in traces("pass") {
        analyse(&trace, 0);
    }
}

/// Exact checkers agree on every example.
#[test]
fn every_exact_checker_says_the_same() {
    for (kind, code) in [("fail", 1), ("pass", 0)] {
        for trace in traces(kind) {
            for checker in ["fast", "velodrome", "aerodrome", "two-pass"] {
                let path = trace.to_str().expect("a plain path");
                let output = untorn(&root(), &["analyze", "--quiet", "--with", checker, path], b"");
                assert_eq!(output.status.code(), Some(code), "{path} with {checker}");
            }
        }
    }
}
