//! The programs of `examples/java` under the agent: they must not notice it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::support::java::{
    self, CommandResult, Example, Recorded, Running, arg, example, examples, recording, scratch,
    try_run,
};

/// Records the example and compares everything that can be seen from outside with a run without the agent.
fn unchanged(
    example: &Example,
    plain: &CommandResult,
    trace: &Path,
    policy: &[&str],
) -> Result<(), String> {
    let run = Running::start(&mut recording(trace, policy, &example.command())).try_finish()?;
    if run.stdout != example.golden() {
        return Err(format!("another output: {run}"));
    }
    if (run.code, &run.stderr) != (plain.code, &plain.stderr) {
        return Err(format!("another exit code or standard error: {run}\nwithout: {plain}"));
    }
    Recorded::try_read(trace)?.check()
}

/// The run without the agent: once for all policies.
fn plain(example: &Example) -> Result<CommandResult, String> {
    static RUNS: Mutex<BTreeMap<String, Result<CommandResult, String>>> =
        Mutex::new(BTreeMap::new());
    let known = |name: &str| RUNS.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
    known(&example.name).unwrap_or_else(|| {
        let run = as_documented(example);
        let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
        runs.entry(example.name.clone()).or_insert(run).clone()
    })
}

/// As its files say: golden output, exit code, and nothing on the standard error but what is announced.
fn as_documented(example: &Example) -> Result<CommandResult, String> {
    let run = try_run(&example.command())?;
    let stderr_fits = match example.key("stderr") {
        Some(line) => run.stderr.lines().any(|said| said.starts_with(line)),
        None => run.stderr.is_empty(),
    };
    if run.stdout == example.golden() && run.code == Some(example.exit()) && stderr_fits {
        Ok(run)
    } else {
        Err(format!("without the agent, not as documented: {run}"))
    }
}

/// Every example of a folder, under one policy; all that fail are named.
fn check_all(kind: &'static str, policy: &[&str]) {
    let folder = scratch(&format!("record-{kind}-{}", policy.join("-")));
    let faults: Vec<String> = examples(kind)
        .iter()
        .filter_map(|example| {
            let trace = folder.join(format!("{}.utr", example.name));
            let checked =
                plain(example).and_then(|plain| unchanged(example, &plain, &trace, policy));
            checked.err().map(|error| format!("{}: {error}", example.name))
        })
        .collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

const RANDOM_1: [&str; 4] = ["--policy", "random", "--seed", "1"];
const RANDOM_2: [&str; 4] = ["--policy", "random", "--seed", "2"];

#[test]
fn pass_is_unchanged_when_each_thread_runs_until_it_blocks() {
    check_all("pass", &["--policy", "run-to-block"]);
}

#[test]
fn pass_is_unchanged_under_a_random_schedule() {
    check_all("pass", &RANDOM_1);
}

#[test]
fn pass_is_unchanged_under_another_random_schedule() {
    check_all("pass", &RANDOM_2);
}

#[test]
fn constructs_are_unchanged_when_each_thread_runs_until_it_blocks() {
    check_all("constructs", &["--policy", "run-to-block"]);
}

#[test]
fn constructs_are_unchanged_under_a_random_schedule() {
    check_all("constructs", &RANDOM_1);
}

#[test]
fn constructs_are_unchanged_under_another_random_schedule() {
    check_all("constructs", &RANDOM_2);
}

fn can_deadlock(example: &Example) -> bool {
    example.key("expect") == Some("deadlock")
}

/// A program that can be torn ends by itself; what it prints is one of the outputs that it knows. One that can fail
/// may print nothing instead, and says why on the standard error.
fn whole_or_torn(example: &Example, trace: &Path, policy: &[&str]) -> Result<(), String> {
    let run = Running::start(&mut recording(trace, policy, &example.command())).try_finish()?;
    let can_fail = example.key("expect").is_some_and(|text| text.starts_with("failure"));
    let failed = run.stdout.is_empty()
        && example.key("stderr").is_some_and(|line| run.stderr.contains(line));
    let is_known = example.outputs().contains(&run.stdout) || (can_fail && failed);
    if run.code != Some(example.exit()) || !is_known {
        return Err(format!("neither whole nor torn: {run}"));
    }
    Recorded::try_read(trace)?.check()
}

#[test]
fn programs_that_can_be_torn_end_whole_or_torn() {
    let folder = scratch("record-fail");
    let mut faults = Vec::new();
    for example in examples("fail").iter().filter(|example| !can_deadlock(example)) {
        let trace = folder.join(format!("{}.utr", example.name));
        for policy in [&["--policy", "run-to-block"][..], &RANDOM_1, &RANDOM_2] {
            if let Err(error) = whole_or_torn(example, &trace, policy) {
                faults.push(format!("{} {policy:?}: {error}", example.name));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

/// Whether the report says what the thread waits for, and in which method of the program it does.
fn names(report: &str, thread: &str, method: &str) -> bool {
    let mut lines = report.lines().map(str::trim);
    let waits = lines.any(|line| line.starts_with(&format!("{thread} waits for ")));
    let stack = lines.take_while(|line| line.starts_with("at "));
    waits && stack.into_iter().any(|line| line.contains(method) && line.contains("line "))
}

/// Runs through, or is reported: which of the two.
fn deadlocks(example: &Example, stuck: &[(&str, &str)], trace: &Path, options: &[&str]) -> bool {
    let args = [&["record", "-o", arg(trace)][..], options, &["--"]].concat();
    let run = Running::start(java::untorn(&args).args(example.command())).finish();
    if run.code == Some(0) {
        let whole = example.key("whole").expect("it can run through");
        assert_eq!(run.stdout.trim_end(), whole, "{run}");
    } else {
        assert_eq!(run.code, Some(1), "{run}");
        assert!(run.stderr.contains("deadlock"), "{run}");
        for (thread, method) in stuck {
            assert!(names(&run.stderr, thread, method), "no stack of {thread}: {run}");
        }
    }
    Recorded::read(trace);
    run.code == Some(1)
}

/// With the same seed it is the same every time, so some of these deadlock in every run of the test, and some do not.
#[test]
fn a_deadlock_of_two_threads_is_reported_with_their_stacks() {
    let example = example("fail", "LockOrder");
    let trace = scratch("record-LockOrder").join("run.utr");
    let stuck = [("Alice", "LockOrder.leftToRight"), ("Bob", "LockOrder.rightToLeft")];
    let seeds: Vec<bool> = (0..8)
        .map(|seed| {
            let options = ["--policy", "random", "--seed", &seed.to_string()];
            deadlocks(&example, &stuck, &trace, &options)
        })
        .collect();
    assert!(seeds.contains(&true), "no seed deadlocks");
    assert!(seeds.contains(&false), "every seed deadlocks");
}

/// Everybody takes the left fork, as the comment of the program describes it.
#[test]
fn a_deadlock_of_three_threads_is_reported_with_their_stacks() {
    let example = example("fail", "DiningPhilosophers");
    let folder = scratch("record-DiningPhilosophers");
    let philosophers = ["philosopher-0", "philosopher-1", "philosopher-2"];
    let line = example.line_of("synchronized (left)");
    let steps =
        philosophers.map(|name| format!("{name} @ DiningPhilosophers.java:{line} acquire\n"));
    let plan = folder.join("left.plan");
    std::fs::write(&plan, steps.concat()).expect("a plan is written");
    let stuck = philosophers.map(|name| (name, "Philosopher.eat"));
    assert!(deadlocks(&example, &stuck, &folder.join("run.utr"), &["--plan", arg(&plan)]));
}
