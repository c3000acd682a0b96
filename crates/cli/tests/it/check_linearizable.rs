//! `untorn check --linearizable`: faults of data structures are found, correct ones stay clean.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::java::{
    self, CommandResult, Running, arg, compile, compile_one, examples, run, scratch,
};

/// More than the examples need.
const RUNS: &str = "1500";

fn check(out: &Path, classes: &Path, class: &str, operations: &str, runs: &str) -> CommandResult {
    let mut args = vec!["check", "--linearizable", class, "--time", "5m", "--runs", runs];
    if !operations.is_empty() {
        args.extend(["--with-ops", operations]);
    }
    args.extend(["--out", arg(out), "--", "java", "-cp", arg(classes)]);
    Running::start(&mut java::untorn(&args)).within(Duration::from_secs(300)).finish()
}

fn failures(out: &Path) -> Vec<Value> {
    let text = std::fs::read(out.join("report.json")).expect("a report was written");
    let report: Value = serde_json::from_slice(&text).expect("the report is JSON");
    report["failures"].as_array().cloned().unwrap_or_default()
}

#[test]
fn faults_of_the_examples_are_found_and_their_twins_are_clean() {
    let all = examples("linearizable");
    let sources: Vec<(String, String)> = all.iter().map(|example| example.file()).collect();
    let classes = compile("linearizable", &sources);
    for example in &all {
        let operations = example.key("operations").expect("the header names operations");
        let out = scratch(&format!("linearizable-{}", example.name));
        let is_right = match example.key("expect") {
            Some("linearizable") => true,
            Some("not linearizable") => false,
            other => panic!("{}: {other:?}", example.name),
        };
        let operations = operations.replace(' ', "");
        let runs = if is_right { "400" } else { RUNS };
        let done = check(&out, &classes, &example.name, &operations, runs);
        if is_right {
            let done = done.with_code(0);
            assert!(done.stdout.contains("no fault of"), "{}: {done}", example.name);
            continue;
        }
        let done = done.with_code(1);
        let wanted = format!("failure 1: {} is not linearizable", example.name);
        assert!(done.stdout.contains(&wanted), "{done}");
        let first = &failures(&out)[0];
        let rows = first["calls"]["rows"].as_array().expect("a table of calls");
        assert_eq!(rows.iter().filter(|row| row["differs"] == true).count(), 1, "{first}");
        let again = run(&["replay", arg(&out.join("report.json")), "1"]);
        assert!(again.stderr.contains("exactly"), "{again}");
        let result = rows.last().expect("a call")["result"].as_str().unwrap_or_default();
        assert!(again.stderr.contains(result) && again.stderr.contains("thread 1: "), "{again}");
    }
}

#[test]
fn classes_of_the_jdk_are_clean_also_those_that_wait() {
    let classes = scratch("linearizable-jdk");
    // A run in which calls wait for ever takes a second.
    for (class, operations, runs) in [
        ("java.util.concurrent.ConcurrentLinkedQueue", "offer,poll,peek", "120"),
        ("java.util.concurrent.ConcurrentSkipListSet", "add,remove,contains", "120"),
        ("java.util.concurrent.LinkedBlockingDeque", "offerFirst,pollLast,size", "120"),
        ("java.util.concurrent.LinkedBlockingQueue", "put,take", "60"),
        ("java.util.concurrent.SynchronousQueue", "put,take", "40"),
    ] {
        let done = check(&scratch(class), &classes, class, operations, runs).with_code(0);
        assert!(done.stdout.contains("no fault of"), "{class}: {done}");
    }
}

/// `pass` looks at the flag before it takes the lock: `open` fits in between.
const GATE: &str = "public class Gate {
  private volatile boolean isOpen;
  public void pass() throws InterruptedException {
    if (!isOpen) synchronized (this) { wait(); }
  }
  public synchronized void open() { isOpen = true; notifyAll(); }
  public boolean isOpen() { return isOpen; }
}
";

#[test]
fn a_call_that_waits_for_ever_where_no_sequential_order_waits_is_found() {
    let out = scratch("linearizable-gate");
    let classes = compile_one("Gate.java", GATE);
    let done = check(&out, &classes, "Gate", "", "600").with_code(1);
    assert!(done.stdout.contains("in no sequential order do these calls wait"), "{done}");
    assert!(done.stdout.contains("isOpen(), open(), pass()"), "all operations are called: {done}");
}

const MOODY: &str = "public class Moody {
  public long next() { return System.nanoTime(); }
  public boolean meet(Thread who) { return true; }
  private Moody() {}
  public static class Open { public long next() { return System.nanoTime(); } }
}
";

#[test]
fn what_cannot_be_called_or_judged_is_said() {
    let out = scratch("linearizable-errors");
    let classes = compile_one("Moody.java", MOODY);
    let of = |class: &str, operations: &str| check(&out, &classes, class, operations, "20");
    of("Missing", "").with_code(2).saying("the class Missing was not found");
    of("Moody", "").with_code(2).saying("all of its constructors are private");
    of("java.util.ArrayList", "fly").with_code(2).saying("no public method fly");
    of("java.lang.ThreadGroup", "enumerate").with_code(2).saying("no value of java.lang.Thread");
    of("java.util.List", "").with_code(2).saying("it is abstract");
    of("Moody$Open", "").with_code(3).saying("do not always give the same");
    let named = ["check", "--linearizable", "Moody", "--", "java", "-cp", "x", "Main"];
    run(&named).with_code(2).saying("'Main' names a program");
    run(&["check", "--with-ops", "a", "--", "java"]).with_code(2).saying("of which class?");
}

#[test]
fn a_project_may_name_the_class() {
    let folder = scratch("linearizable-project");
    let classes = compile_one("Gate.java", GATE);
    let text = format!(
        "[check]\nlinearizable = \"Gate\"\nwith_ops = [\"open\", \"isOpen\"]\nruns = 40\ncommand = [\"java\", \"-cp\", \"{}\"]\n",
        classes.display()
    );
    std::fs::write(folder.join("untorn.toml"), text).expect("writable");
    let output = java::untorn(&["check"]).current_dir(&folder).output().expect("untorn starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}{errors}");
    assert!(printed.contains("calling open(), isOpen() of Gate"), "{printed}");
}
