//! What cannot be recorded: each with its exit code and a word about the way out.

use std::path::Path;
use std::process::Command;

use crate::support::java::{
    self, CommandResult, Recorded, Running, arg, compile_one, example, run, scratch,
};

/// Records `Bank` with further options.
fn bank(options: &[&str]) -> CommandResult {
    let command = example("fail", "Bank").command();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    run(&[&["record"][..], options, &["--"], &command].concat())
}

/// A trace that is there before; it must survive what cannot even start.
fn old_trace(name: &str) -> std::path::PathBuf {
    let trace = scratch(&format!("record-errors-{name}")).join("run.utr");
    std::fs::write(&trace, "precious").expect("a file is written");
    trace
}

#[track_caller]
fn untouched(trace: &Path) {
    assert_eq!(std::fs::read(trace).expect("still there"), b"precious");
}

#[test]
fn what_starts_no_java_program_is_refused() {
    let trace = old_trace("not-java");
    for command in [&["true"][..], &["javac", "-version"], &["/bin/sh", "-c", "java -version"]] {
        let refused = run(&[&["record", "-o", arg(&trace), "--"], command].concat());
        refused.with_code(2).saying("started no Java program").saying("untorn record -- java");
    }
    let missing = run(&["record", "-o", arg(&trace), "--", "/no/such/script"]);
    missing.with_code(3).saying("'/no/such/script' was not found").saying("by its path");
    run(&["record", "-o", arg(&trace), "--"]).with_code(2);
    run(&["record", "-o", arg(&trace)]).with_code(2);
    untouched(&trace);
    let fresh = trace.with_file_name("fresh.utr");
    run(&["record", "-o", arg(&fresh), "--", "true"]).with_code(2);
    assert!(!fresh.exists(), "a trace of nothing");
}

#[test]
fn a_missing_java_is_named() {
    let trace = old_trace("no-java");
    let missing = run(&["record", "-o", arg(&trace), "--", "/no/such/bin/java", "Main"]);
    missing.with_code(3).saying("'/no/such/bin/java' was not found").saying("install a JDK");
    let mut start = java::untorn(&["record", "-o", arg(&trace), "--", "java", "Main"]);
    Running::start(start.env("PATH", "/no/such/bin")).finish().with_code(3).saying("was not found");
    untouched(&trace);
}

#[test]
fn a_missing_output_directory_is_named() {
    bank(&["-o", "/no/such/directory/run.utr"])
        .with_code(3)
        .saying("/no/such/directory: no such directory");
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = scratch("record-errors-unwritable");
    // A directory in its place: nobody can write that, whoever runs the test.
    bank(&["-o", arg(&folder)]).with_code(3).saying(arg(&folder));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let trace = old_trace("options");
    let out = ["-o", arg(&trace)];
    bank(&[&out[..], &["--quantum", "0"]].concat()).with_code(2).saying("--quantum 0");
    bank(&[&out[..], &["--policy", "fair"]].concat()).with_code(2).saying("run-to-block");
    bank(&[&out[..], &["--seed", "-1"]].concat()).with_code(2);
    bank(&[&out[..], &["--plan", "/no/such.plan"]].concat()).with_code(2).saying("/no/such.plan");
    untouched(&trace);
}

#[test]
fn a_plan_with_a_syntax_error_is_refused_with_its_line() {
    let folder = scratch("record-errors-plan");
    let (trace, plan) = (folder.join("run.utr"), folder.join("bad.plan"));
    for (text, error) in [
        ("// a comment\nAlice @ Bank.java:38 read\nBob Bank.java:38\n", "line 3, column 5"),
        ("Alice @ Bank.java:38 raed\n", "line 1, column 22"),
        ("// nothing but a comment\n", "the plan has no steps"),
    ] {
        std::fs::write(&plan, text).expect("a plan is written");
        let refused = bank(&["-o", arg(&trace), "--plan", arg(&plan)]);
        refused.with_code(2).saying(&format!("{}: ", arg(&plan))).saying(error);
    }
    assert!(!trace.exists(), "a trace of nothing");
}

#[test]
fn a_jvm_that_runs_nothing_of_the_application_says_so() {
    let trace = scratch("record-errors-version").join("run.utr");
    let java = java::java(Path::new("."), "NoSuchMain");
    let said = run(&["record", "-o", arg(&trace), "--", &java[0], "-version"]).with_code(0);
    said.saying("version").saying("nothing of the application was recorded");
    assert!(Recorded::read(&trace).events.is_empty());
    let args: Vec<&str> = java.iter().map(String::as_str).collect();
    let said = run(&[&["record", "-o", arg(&trace), "--"], &args[..]].concat()).with_code(1);
    said.saying("NoSuchMain").saying("nothing of the application was recorded");
    assert!(Recorded::read(&trace).events.is_empty());
}

#[test]
fn a_jvm_that_refuses_its_options_is_told_from_a_program_that_fails() {
    let trace = scratch("record-errors-refuses").join("run.utr");
    let java = &java::java(Path::new("."), "Main")[0];
    run(&["record", "-o", arg(&trace), "--", java, "-XX:+NoSuchOption", "Main"])
        .with_code(3)
        .saying("NoSuchOption")
        .saying("did not start with the agent");
}

/// All other tests name the agent that they use.
#[test]
fn the_agent_is_found_beside_the_executable() {
    let trace = scratch("record-errors-agent").join("run.utr");
    let mut start = Command::new(env!("CARGO_BIN_EXE_untorn"));
    start.args(["record", "-q", "-o", arg(&trace), "--"]).args(example("fail", "Bank").command());
    let done = Running::start(start.env_remove("UNTORN_AGENT")).finish().with_code(0);
    assert_eq!(done.stdout, "balance 20\n");
    Recorded::read(&trace);
}

#[test]
fn a_missing_agent_is_named() {
    let mut start = java::untorn(&["record", "--", "java", "Main"]);
    let done = Running::start(start.env("UNTORN_AGENT", "/no/such/agent.so")).finish();
    done.with_code(3).saying("/no/such/agent.so").saying("UNTORN_AGENT");
}

/// Runs long enough for a line that says how far it is.
const SLOW: &str = r#"
class Slow {
    public static void main(String[] args) throws Exception {
        // A sleep of the program itself takes no time under the scheduler.
        new ProcessBuilder("sleep", "3").start().waitFor();
        System.out.println("over");
    }
}
"#;

#[test]
fn quiet_means_no_line_of_progress_on_a_terminal() {
    let trace = scratch("record-quiet").join("run.utr");
    let program = java::java(&compile_one("Slow.java", SLOW), "Slow").join(" ");
    for (options, is_shown) in [("", true), ("-q", false)] {
        let untorn = env!("CARGO_BIN_EXE_untorn");
        let line = format!("{untorn} record {options} -o {} -- {program}", trace.display());
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &line, "/dev/null"]).env("UNTORN_AGENT", java::agent());
        let seen = Running::start(terminal.env("TERM", "xterm")).finish().with_code(0);
        assert!(seen.stdout.contains("over"), "{seen}");
        assert_eq!(seen.stdout.contains("recording: "), is_shown, "{seen}");
    }
}

const MUCH: &str = r#"
public class Much {
    static volatile long sum;

    public static void main(String[] args) throws Exception {
        System.out.println("begun");
        for (int i = 0; i < 400_000; i++) sum += i;
        Thread thread = new Thread(() -> sum++);
        thread.start();
        thread.join();
        System.out.println("done");
    }
}
"#;

/// A file that may not grow is like a full disk.
#[test]
fn a_trace_that_cannot_be_written_is_an_error_whatever_is_printed() {
    let folder = scratch("record-full");
    let command = java::java(&compile_one("Much.java", MUCH), "Much");
    for command_line in [
        "ulimit -f 400; exec \"$1\" record -q -o full/run.utr -- $PROGRAM",
        "ulimit -f 400; exec \"$1\" check -q --explore 2 --out full -- $PROGRAM",
    ] {
        let _ = std::fs::create_dir_all(folder.join("full"));
        let mut shell = Command::new("bash");
        shell.args(["-c", command_line, "-", env!("CARGO_BIN_EXE_untorn")]);
        shell.env("UNTORN_AGENT", java::agent()).env("PROGRAM", command.join(" "));
        let done = Running::start(shell.current_dir(&folder)).finish().with_code(3);
        done.saying("cannot be written").saying("File too large").saying("make room");
    }
}
