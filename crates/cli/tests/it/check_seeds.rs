//! `untorn check` does not depend on luck: other seeds find the same, what was found replays again and again, and
//! programs that are right are left alone by every method. Small numbers always; `./dev soak` takes the large ones.

use std::path::{Path, PathBuf};

use crate::support::java::{CommandResult, Example, arg, examples, run, scratch, soak};
use serde_json::Value;

fn check(out: &Path, options: &[&str], example: &Example) -> CommandResult {
    let mut args = vec!["check", "--out", arg(out), "--time", "60s"];
    if !options.contains(&"--explore") {
        args.extend(["--explore", "9"]);
    }
    args.extend(options);
    args.push("--");
    let command = example.command();
    args.extend(command.iter().map(String::as_str));
    run(&args)
}

/// The number of the finding about the block that the example says is torn.
fn expected(out: &Path, example: &Example, done: &CommandResult) -> String {
    let (_, block) = example.key("expect").and_then(|text| text.split_once(' ')).expect("a block");
    let text = std::fs::read(out.join("report.json")).expect("a report was written");
    let report: Value = serde_json::from_slice(&text).expect("the report is JSON");
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let named = |one: &&Value| one["headline"].as_str().unwrap_or("").contains(block);
    let found = findings.iter().find(named);
    found.unwrap_or_else(|| panic!("{}: no {block}: {done}", example.name))["number"].to_string()
}

/// Programs with a block that can be torn; a few of them unless the long tests are wanted.
fn torn() -> Vec<Example> {
    let is_torn =
        |one: &Example| one.key("expect").is_some_and(|text| text.starts_with("violation"));
    let all = examples("fail").into_iter().filter(is_torn);
    if soak() { all.collect() } else { all.step_by(6).collect() }
}

#[test]
fn soak_other_seeds_find_the_same() {
    let seeds: Vec<u64> = if soak() { (0..20).collect() } else { vec![11] };
    for example in torn() {
        for seed in &seeds {
            let out = scratch(&format!("seed-{}", example.name));
            let seed = seed.to_string();
            let options = ["--seed", &seed, "--explore", "0", "--minimise", "0"];
            let done = check(&out, &options, &example);
            expected(&out, &example, &done);
        }
    }
}

#[test]
fn soak_what_was_found_replays_every_time() {
    let times = if soak() { 100 } else { 3 };
    for example in torn() {
        let out = scratch(&format!("replays-{}", example.name));
        let done = check(&out, &["--explore", "0"], &example);
        let number = expected(&out, &example, &done);
        for time in 1..=times {
            let again = run(&["replay", arg(&out.join("report.json")), &number]);
            assert!(
                again.stderr.contains("events exactly"),
                "{}: replay {time} differs: {again}",
                example.name
            );
        }
    }
}

#[test]
fn soak_no_method_blames_a_program_that_is_right() {
    let methods = [
        "random",
        "pct",
        "pos",
        "atomfuzzer",
        "adversarial",
        "surw",
        "penelope",
        "planning",
        "velodrome",
        "doublechecker",
        "atomchase",
    ];
    let all = examples("pass").into_iter();
    let right: Vec<Example> =
        if soak() { all.collect() } else { all.filter(|one| one.name == "BankFixed").collect() };
    for example in right {
        for method in methods {
            let out: PathBuf = scratch(&format!("right-{}-{method}", example.name));
            let options = ["--with", method, "--runs", "6", "--explore", "2"];
            let done = check(&out, &options, &example);
            assert!(
                matches!(done.code, Some(0)),
                "{}: a false alarm of {method}: {done}",
                example.name
            );
        }
    }
}
