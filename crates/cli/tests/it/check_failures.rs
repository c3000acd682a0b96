//! Runs that fail are findings: exit code 1, a cause, a replay.

use std::path::Path;

use crate::support::java::{self, CommandResult, arg, compile_one, run, scratch};
use serde_json::Value;

/// Nothing is torn: the consumer is too early.
const ORDER: &str = "public class Order {
  static Object data;
  public static void main(String[] arguments) throws Exception {
    Thread producer = new Thread(() -> { data = new Object(); }, \"producer\");
    Thread consumer = new Thread(() -> { data.hashCode(); }, \"consumer\");
    producer.start(); consumer.start(); producer.join(); consumer.join();
  }
}
";

const ALWAYS: &str = "public class Always {
  public static void main(String[] arguments) { throw new IllegalStateException(\"no settings\"); }
}
";

fn check(out: &Path, options: &[&str], name: &str, source: &str) -> CommandResult {
    let mut args = vec!["check", "--time", "40s", "--runs", "60", "--out", arg(out)];
    args.extend(options);
    args.push("--");
    let command = java::java(&compile_one(&format!("{name}.java"), source), name);
    args.extend(command.iter().map(String::as_str));
    run(&args)
}

fn failures(out: &Path) -> Vec<Value> {
    let text = std::fs::read(out.join("report.json")).expect("a report was written");
    let report: Value = serde_json::from_slice(&text).expect("the report is JSON");
    report["failures"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_crash_without_a_torn_block_is_found_and_replayed() {
    let out = scratch("check-failures-order");
    let done = check(&out, &["--explore", "20"], "Order", ORDER).with_code(1);
    assert!(done.stdout.contains("failure 1: java.lang.NullPointerException"), "{done}");
    assert!(done.stdout.contains("depends on the schedule"), "{done}");
    let all = failures(&out);
    assert_eq!(all.len(), 1, "{done}");
    let steps = all[0]["steps"].as_array().expect("a cause").clone();
    let reads = |step: &Value| step["operation"]["target"] == "Order.data";
    assert!(steps.iter().any(reads), "{steps:?}");
    let again = run(&["replay", arg(&out.join("report.json")), "1"]);
    assert!(again.stderr.contains("exactly"), "{again}");
    assert!(again.stderr.contains("NullPointerException"), "{again}");
}

#[test]
fn a_program_that_always_fails_is_never_clean() {
    let out = scratch("check-failures-always");
    let done = check(&out, &[], "Always", ALWAYS).with_code(1);
    assert!(done.stdout.contains("fails in every schedule tried"), "{done}");
    assert_eq!(failures(&out)[0]["places"][0], "Always.main(Always.java:2)");
    let text = run(&["report", arg(&out.join("report.json")), "--junit", "-"]);
    assert!(text.stdout.contains("failures=\"1\""), "{text}");
}

#[test]
fn the_exit_code_is_the_users_choice() {
    let out = scratch("check-failures-exit");
    let done = check(&out, &["--fail-on", "violations"], "Always", ALWAYS).with_code(4);
    assert!(
        done.stdout.contains("runs failed"),
        "a program that never ends well is not clean: {done}"
    );
    let options = ["--fail-on", "violations", "--allow-inconclusive"];
    let done = check(&out, &options, "Always", ALWAYS).with_code(0);
    assert!(done.stdout.contains("failure 1"), "it is shown all the same: {done}");
}
