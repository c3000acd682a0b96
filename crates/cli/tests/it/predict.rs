//! What `untorn predict` says: help, wrong usage, and every trace of `examples/traces/predict` with its
//! output beside it.

use std::path::{Path, PathBuf};

use crate::support::{compare, root, transcript, untorn};

fn folder() -> PathBuf {
    root().join("examples/traces/predict")
}

/// The examples, and whether something is predicted. The `a` versions can be torn only as far as
/// locks are concerned: that is said as well, and labelled.
const EXAMPLES: [(&str, i32); 7] = [
    ("atom001", 1),
    ("atom001a", 1),
    ("atom002", 1),
    ("atom002a", 1),
    ("bank-av-8", 1),
    ("bank-sav-8", 1),
    ("bank-nav-8", 0),
];

#[test]
fn examples_are_predicted() {
    for (name, code) in EXAMPLES {
        let file = format!("{name}.jsonl");
        let args = ["predict", file.as_str()];
        let output = untorn(&folder(), &args, b"");
        assert_eq!(output.status.code(), Some(code), "{name}: wrong exit code");
        compare(&folder().join(format!("{name}.out")), &transcript(&args, &output));
    }
}

/// How many predictions each way of asking gives: AVFilter's Table 3 and ours.
#[test]
fn every_strength_says_what_it_should() {
    let ways: [&[&str]; 4] = [
        &["--strength", "lock"],
        &["--strength", "filtered", "--filter", "avfilter"],
        &["--strength", "filtered"],
        &["--strength", "precise"],
    ];
    let expected = [
        ("atom001", [1, 1, 1, 1]),
        ("atom001a", [1, 0, 0, 0]),
        // Feasible, because nothing depends on the value that is read: AVFilter cannot tell.
        ("atom002", [1, 0, 1, 0]),
        ("atom002a", [1, 0, 0, 0]),
        ("bank-av-8", [1, 0, 1, 0]),
        ("bank-sav-8", [1, 0, 1, 0]),
        ("bank-nav-8", [0, 0, 0, 0]),
    ];
    for (name, codes) in expected {
        for (way, code) in ways.iter().zip(codes) {
            let file = format!("{name}.jsonl");
            let mut args = vec!["predict", "--quiet"];
            args.extend(*way);
            args.push(&file);
            let output = untorn(&folder(), &args, b"");
            assert_eq!(output.status.code(), Some(code), "{name} {way:?}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for (name, _) in EXAMPLES {
        let file = format!("{name}.jsonl");
        let of = |jobs| untorn(&folder(), &["predict", "--json", "-", "-j", jobs, &file], b"");
        let (one, three) = (of("1"), of("3"));
        assert_eq!(one.stdout, three.stdout, "{name}");
        assert!(!one.stdout.is_empty());
    }
}

#[test]
fn plans_can_be_followed_by_the_recorder() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("predict-plans");
    let _ = std::fs::remove_dir_all(&scratch);
    let plans = scratch.to_str().expect("a plain path");
    let output = untorn(&folder(), &["predict", "--plans", plans, "atom001.jsonl"], b"");
    assert_eq!(output.status.code(), Some(1));
    let plan = std::fs::read_to_string(scratch.join("1.plan")).expect("a plan");
    let steps: Vec<&str> = plan.lines().filter(|line| !line.starts_with("//")).collect();
    assert_eq!(steps, ["T1 @ log.c:11 read", "T2 @ log.c:30 write", "T1 @ log.c:14 write"]);
}

fn golden(name: &str, args: &[&str]) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    compare(&path, &transcript(args, &untorn(&data, args, b"")));
}

#[test]
fn help_and_wrong_usage() {
    golden("help-predict", &["predict", "--help"]);
    golden("predict-no-blocks", &["predict", "no-blocks.std"]);
    golden("predict-missing", &["predict", "no-such-file.std"]);
    golden("predict-ill-formed", &["predict", "ill-formed.std"]);
    golden("predict-no-jobs", &["predict", "--jobs", "0", "two-violations.std"]);
    golden("predict-two-violations", &["predict", "two-violations.std"]);
    golden("predict-pattern", &["predict", "--pattern", "wrw", "--verbose", "two-violations.std"]);
    golden("predict-no-pattern", &["predict", "--pattern", "RWW,RRW", "two-violations.std"]);
}

/// Events in an order of one's own: what is found, what is not there, what cannot be read.
#[test]
fn patterns_of_events() {
    let ask = |name, pattern| {
        golden(name, &["predict", "--pattern", pattern, "two-violations.std"]);
    };
    ask("predict-events", "r(x)@A.b < w(x)@B < w(x)@A.b");
    ask("predict-events-four", "r(x)@A < r(x)@B < w(x)@A < w(x)@B");
    ask("predict-events-none", "acq(l)@A < rel(l)@B");
    ask("predict-events-wrong", "r(x)@A < q(x)@B");
    let both =
        ["predict", "--pattern", "r(x)@A < w(x)@B", "--pattern", "RWW", "two-violations.std"];
    golden("predict-events-mixed", &both);
}

/// Two fields that are set one after the other, and somebody who reads both between.
#[test]
fn two_variables_are_a_row_with_four_places() {
    let args = ["predict", "two-fields.jsonl"];
    let output = untorn(&folder(), &args, b"");
    assert_eq!(output.status.code(), Some(1));
    compare(&folder().join("two-fields.out"), &transcript(&args, &output));
}
