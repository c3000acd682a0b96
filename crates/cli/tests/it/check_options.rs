//! More options never find less: whatever a check finds without them, it finds with a block declared, with every method
//! declared, with compositions, with more programs at once, with more runs. Limits are numbers of runs, never times.
//! Every second program of `examples/java/fail`; `./dev soak` takes all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::support::java::{Example, arg, examples, run, scratch, soak};
use serde_json::Value;

/// Enough for every program to show what it has; the same for every option.
const RUNS: [&str; 4] = ["--runs", "40", "--explore", "9"];
const MORE_RUNS: [&str; 4] = ["--runs", "80", "--explore", "18"];

/// What is wrong with a program: a method with a variable, a way to fail, a deadlock.
type Faults = BTreeSet<String>;

/// The faults that a report tells of. A block that is declared is named after its method, as one that is inferred is.
/// Of one method and variable another pattern may be shown: a declared block is torn between neighbouring accesses, an
/// inferred one between a check and its act. A failure may be told as the effect of a violation.
fn faults(out: &Path) -> Faults {
    let text = std::fs::read(out.join("report.json")).expect("a report was written");
    let report: Value = serde_json::from_slice(&text).expect("the report is JSON");
    let list = |key: &str| report[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = |headline: &str| headline.split(": ").next().unwrap_or_default().to_owned();
    let mut faults = Faults::new();
    for finding in list("findings") {
        if finding["kind"] == "deadlock" {
            faults.insert("deadlock".to_owned());
            continue;
        }
        let evidence = &finding["evidence"];
        let (block, method) = (text(&evidence["block"]), text(&evidence["method"]));
        let method = if method.is_empty() { block.clone() } else { method };
        // The insides of the JDK's objects are one variable.
        let is_inside = text(&evidence["concern"]).ends_with(&block);
        let variables = if is_inside { "inside".to_owned() } else { text(&evidence["variable"]) };
        // Who mends a block for two variables mends it for each of them.
        let variables = variables.split(" and ");
        faults.extend(variables.map(|variable| format!("{method} {variable}")));
        let effects = evidence["effects"].as_array().cloned().unwrap_or_default();
        let uncaught =
            effects.iter().filter_map(|effect| effect.as_str()?.strip_prefix("uncaught: "));
        faults.extend(uncaught.map(|headline| format!("failure {}", kind(headline))));
    }
    let failures = list("failures").into_iter();
    faults.extend(failures.map(|one| format!("failure {}", kind(&text(&one["headline"])))));
    faults
}

fn check(example: &Example, name: &str, options: &[&str]) -> Faults {
    let out = scratch(&format!("options-{name}-{}", example.name));
    let mut args = vec!["check", "--out", arg(&out), "--time", "10m", "--minimise", "0"];
    args.extend(options);
    args.push("--");
    let command = example.command();
    args.extend(command.iter().map(String::as_str));
    let done = run(&args);
    assert!(matches!(done.code, Some(0 | 1)), "{done}");
    faults(&out)
}

/// Methods that a plain check blames for what the tear of another one shows. Not to blame them is no loss.
const WRONGLY_BLAMED: [&str; 2] = ["HeldInside.deposit ", "SpinLock.work "];

/// What is found without options: once for all tests.
fn plain(example: &Example) -> Faults {
    static KNOWN: Mutex<BTreeMap<String, Faults>> = Mutex::new(BTreeMap::new());
    // Held while the program is checked: no two tests check it twice.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(example.name.clone()).or_insert_with(|| check(example, "plain", &RUNS)).clone()
}

/// Whatever is found without the options is found with them.
fn keeps_all(name: &str, runs: &[&str], options: impl Fn(&Example) -> Vec<String>) {
    let all = examples("fail").into_iter();
    let chosen: Vec<Example> = if soak() { all.collect() } else { all.step_by(2).collect() };
    let mut lost = Vec::new();
    for example in &chosen {
        let more = options(example);
        let more: Vec<&str> = runs.iter().copied().chain(more.iter().map(String::as_str)).collect();
        let (before, after) = (plain(example), check(example, name, &more));
        let is_loss = |fault: &&String| !WRONGLY_BLAMED.iter().any(|own| fault.starts_with(own));
        let missing: Vec<&String> = before.difference(&after).filter(is_loss).collect();
        if !missing.is_empty() {
            lost.push(format!("{}: {missing:?} is lost, {after:?} is found", example.name));
        }
    }
    assert!(lost.is_empty(), "{name}: {}", lost.join("\n"));
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The block that the example is about.
fn block(example: &Example) -> Option<&str> {
    example.key("expect")?.strip_prefix("violation ")
}

#[test]
fn soak_declaring_a_block_loses_nothing() {
    keeps_all("atomic", &RUNS, |example| {
        block(example).map_or_else(Vec::new, |block| words(&["--atomic", block]))
    });
}

/// A longer list of declared blocks, most of which have nothing to do with it.
#[test]
fn soak_declaring_many_blocks_loses_nothing() {
    keeps_all("many", &RUNS, |example| {
        let mut options = words(&["--atomic", "*.size", "--atomic", "*.get", "--atomic", "*.add"]);
        options.extend(block(example).into_iter().flat_map(|block| words(&["--atomic", block])));
        options
    });
}

#[test]
fn soak_declaring_every_method_loses_nothing() {
    keeps_all("all-methods", &RUNS, |_| words(&["--all-methods"]));
}

#[test]
fn soak_compositions_lose_nothing() {
    keeps_all("compositions", &RUNS, |_| words(&["--compositions"]));
}

#[test]
fn soak_more_jobs_lose_nothing() {
    keeps_all("jobs", &RUNS, |_| words(&["--jobs", "2"]));
}

#[test]
fn soak_more_runs_lose_nothing() {
    keeps_all("runs", &MORE_RUNS, |_| Vec::new());
}
