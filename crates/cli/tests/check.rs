//! `untorn check` on real programs: what can be torn is found without any option, and happens again; programs
//! that are right are left alone.

#[path = "support/java.rs"]
mod java;

use std::path::Path;

use java::{Ended, arg, compile_one, example, examples, run, scratch};
use serde_json::Value;

fn check(out: &Path, options: &[&str], command: &[String]) -> Ended {
    let mut args = vec!["check", "--out", arg(out), "--time", "40s"];
    args.extend(options);
    args.push("--");
    args.extend(command.iter().map(String::as_str));
    run(&args)
}

fn report(out: &Path) -> Value {
    let text = std::fs::read(out.join("report.json")).expect("a report was written");
    serde_json::from_slice(&text).expect("the report is JSON")
}

/// The block that the example says is torn is found, proved by values, and the replay prints what the torn run
/// printed.
fn finds(name: &str) {
    let example = example("fail", name);
    let (_, block) = example.key("expect").and_then(|text| text.split_once(' ')).expect("a block");
    let out = scratch(&format!("check-{name}"));
    let done = check(&out, &[], &example.command()).with_code(1);
    let report = report(&out);
    let findings = report["findings"].as_array().expect("findings").iter();
    let named = |finding: &&Value| finding["headline"].as_str().unwrap_or("").contains(block);
    let found = findings.clone().find(named);
    let found = found.unwrap_or_else(|| panic!("{block} was not found: {done}"));
    assert_ne!(found["evidence"]["values"], Value::Array(Vec::new()), "no proof by values: {done}");
    let number = found["number"].to_string();
    let again = run(&["replay", arg(&out.join("report.json")), &number]);
    assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
    // It may be torn in another way than the example describes, but whole it is not.
    let effects = found["evidence"]["effects"].as_array().cloned().unwrap_or_default();
    let printed = effects.iter().any(|effect| effect.as_str().unwrap_or("").starts_with("printed"));
    if let Some(whole) = example.key("whole").filter(|_| printed) {
        assert_ne!(again.stdout.trim(), whole, "nothing is to be seen of it: {again}");
    }
}

#[test]
fn the_bank_account_loses_a_withdrawal() {
    finds("Bank");
}

#[test]
fn a_counter_loses_an_increment() {
    finds("Counter");
}

#[test]
fn a_lazy_initialiser_makes_two() {
    finds("CheckThenAct");
}

#[test]
fn an_order_is_seen_half_done() {
    finds("DirtyRead");
}

#[test]
fn a_string_buffer_appends_what_nobody_wrote() {
    finds("StringBufferAppend");
}

#[test]
fn a_string_buffer_inserts_what_nobody_wrote() {
    finds("StringBufferInsert");
}

#[test]
fn a_set_over_a_vector_holds_an_element_twice() {
    finds("SetOverVector");
}

#[test]
fn the_last_element_is_gone_when_it_is_asked_for() {
    finds("VectorLast");
}

#[test]
fn a_point_is_seen_with_one_new_coordinate() {
    finds("TwoFields");
}

#[test]
fn a_reader_gets_in_beside_the_writer() {
    finds("ReadersWriters");
}

#[test]
fn two_takers_find_one_element() {
    finds("StackPop");
}

/// The JDK's own operations on two collections: each locks one of them.
#[test]
fn collections_of_the_jdk_lock_one_of_two() {
    for name in [
        "HashtablePutAll",
        "SynchronizedListContainsAll",
        "SynchronizedMapPutAll",
        "SynchronizedSetAddAll",
        "VectorContainsAll",
        "VectorEquals",
    ] {
        finds(name);
    }
}

#[test]
fn programs_that_are_right_are_left_alone() {
    for example in examples("pass") {
        let out = scratch(&format!("check-pass-{}", example.name));
        let done = check(&out, &["--runs", "8", "--explore", "3"], &example.command());
        assert_eq!(done.code, Some(0), "{}: a false alarm: {done}", example.name);
    }
}

#[test]
fn a_deadlock_is_not_called_clean() {
    let example = example("fail", "LockOrder");
    let out = scratch("check-deadlock");
    let done = check(&out, &[], &example.command()).with_code(1);
    assert!(done.stdout.contains("DEADLOCK"), "{done}");
    let line =
        done.stdout.lines().find_map(|line| line.trim().strip_prefix("replay: untorn replay "));
    let again = run(&["replay", line.expect("a trace to replay")]).with_code(1);
    assert!(again.stderr.contains("deadlock"), "{again}");
}

#[test]
fn what_cannot_be_torn_is_said_to_be_nothing() {
    let source = "public class Lonely {
        static int x;
        public static void main(String[] args) { x++; System.out.println(x); }
    }";
    let classes = compile_one("Lonely.java", source);
    let out = scratch("check-lonely");
    let done = check(&out, &["--runs", "2"], &java::java(&classes, "Lonely")).with_code(0);
    assert!(done.stdout.contains("only one thread ever ran"), "{done}");
}

#[test]
fn a_class_that_does_not_exist_is_not_a_clean_program() {
    let out = scratch("check-missing");
    let command = ["java", "-cp", "nowhere", "Missing"].map(str::to_owned);
    let done = check(&out, &[], &command).with_code(3);
    assert!(done.stderr.contains("nothing of the application was recorded"), "{done}");
    assert!(done.stderr.contains("ClassNotFoundException"), "{done}");
}

#[test]
fn bad_arguments_say_the_way_out() {
    let time = run(&["check", "--time", "soon", "--", "java", "Main"]).with_code(2);
    assert!(time.stderr.contains("'soon' is not a time"), "{time}");
    let command = run(&["check", "--", "ls"]).with_code(2);
    assert!(command.stderr.contains("not a Java command"), "{command}");
    let number = run(&["replay", "run.utr", "3"]).with_code(2);
    assert!(number.stderr.contains("a number goes with a report"), "{number}");
    let report = scratch("check-report").join("report.json");
    std::fs::write(&report, "{}").expect("a file is written");
    let not_one = run(&["replay", arg(&report)]).with_code(2);
    assert!(not_one.stderr.contains("not a report of untorn check"), "{not_one}");
}
