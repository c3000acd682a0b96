//! `untorn check` on programs that fail in ways of their own: an example for each way in which a tear, or a failure without
//! one, was once overlooked; and programs of kinds that the literature knows.

use crate::check::{check, finds, report};
use crate::support::java::{arg, example, run, scratch};
use serde_json::Value;

/// The failure that the example expects is a finding of its own, and happens again.
fn fails(name: &str, label: &str) {
    let example = example("fail", name);
    let (_, kind) = example.key("expect").and_then(|text| text.split_once(' ')).expect("a failure");
    let out = scratch(&format!("check-{name}"));
    let done = check(&out, &["--runs", "60", "--explore", "40"], &example.command()).with_code(1);
    assert!(done.stdout.contains(label), "{done}");
    let report = report(&out);
    let failures = report["failures"].as_array().cloned().unwrap_or_default();
    let is_kind = |one: &&Value| one["headline"].as_str().unwrap_or("").starts_with(kind);
    let found = failures.iter().find(is_kind).unwrap_or_else(|| panic!("no {kind}: {done}"));
    let again = run(&["replay", arg(&out.join("report.json")), &found["number"].to_string()]);
    assert!(again.stderr.contains("exactly"), "the replay differs: {again}");
    assert!(again.stderr.contains(kind), "{again}");
}

#[test]
fn an_assertion_that_always_fails() {
    fails("WrongTally", "fails in every schedule tried");
}

#[test]
fn a_reader_that_comes_too_early() {
    fails("EarlyReader", "depends on the schedule");
}

#[test]
fn a_buffer_that_does_not_look_again() {
    fails("BufferIf", "depends on the schedule");
}

#[test]
fn effects_on_the_standard_error_alone() {
    for name in ["StandardErrorOnly", "PoolHandler", "LoggedTrace"] {
        finds(name);
    }
}

#[test]
fn a_line_that_is_printed_twice() {
    finds("PrintedTwice");
}

#[test]
fn blocks_over_two_objects() {
    for name in ["PoolCounter", "Transfer", "WriteSkew"] {
        finds(name);
    }
}

#[test]
fn a_check_and_its_act_in_different_activations() {
    finds("CheckDeepInside");
    finds("CheckThenNext");
}

#[test]
fn a_synchronized_check_then_act_over_a_shared_vector() {
    finds("AddOnce");
}

#[test]
fn a_thread_that_must_not_be_held_inside_of_a_lock() {
    finds("HeldInside");
}

#[test]
fn programs_of_published_kinds() {
    for name in ["DoubleChecked", "LostTask", "TornCache", "SharedHits"] {
        finds(name);
    }
}

/// Velodrome's own example, declared by hand, and with every method declared.
#[test]
fn a_set_over_a_vector_is_found_when_it_is_declared() {
    let example = example("fail", "SetOverVector");
    for options in [&["--atomic", "VectorSet.add"][..], &["--all-methods"]] {
        let out = scratch("check-declared-set");
        let done = check(&out, options, &example.command()).with_code(1);
        assert!(done.stdout.contains("VectorSet.add is not atomic"), "{done}");
    }
}

/// Any number of threads that hide what a tear would show: it is seen after three directed runs at most.
#[test]
fn bystanders_hide_nothing() {
    let example = example("fail", "Reopened");
    for bystanders in ["1", "10", "100"] {
        let out = scratch(&format!("check-reopened-{bystanders}"));
        let mut command = example.command();
        command.push(bystanders.to_owned());
        let done = check(&out, &["--verbose", "--runs", "12", "--minimise", "0"], &command);
        let lines = done.stdout.lines().chain(done.stderr.lines());
        let before: Vec<&str> =
            lines.take_while(|line| !line.contains("Reopened.send is not atomic")).collect();
        assert!(done.stdout.contains("Reopened.send is not atomic"), "{bystanders}: {done}");
        let directed =
            before.iter().filter(|line| line.starts_with("run ") && line.contains("; plan,"));
        let directed = directed.count();
        assert!(directed <= 3, "{bystanders} bystanders: {directed} directed runs: {done}");
    }
}
