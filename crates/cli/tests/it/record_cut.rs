//! A run that does not come to its end: what was recorded up to there is kept and can be read.

use std::path::Path;
use std::process::Command;

use crate::support::java::{
    self, Recorded, Running, arg, compile_one, recording, run, scratch, soak, untorn,
};
use untorn_trace::Op;

/// Two threads that take turns in a block, and print after some thousand of them. It ends by itself, but only long
/// after every test is done with it.
const LONG: &str = r#"
class Long {
    static int count;

    static synchronized void step() {
        count++;
    }

    static void work() {
        for (int lines = 0; lines < 2_000; lines++) {
            for (int i = 0; i < 1_000; i++) {
                step();
            }
            System.out.println(Thread.currentThread().getName() + " " + lines);
        }
    }

    public static void main(String[] args) {
        new Thread(Long::work, "Alice").start();
        new Thread(Long::work, "Bob").start();
    }
}
"#;

/// The program; with `-Xlog` the JVM also prints a line for each class that it loads, from its first moments on.
fn long(options: &[&str]) -> Vec<String> {
    let mut command = java::java(&compile_one("Long.java", LONG), "Long");
    command.splice(1..1, options.iter().map(|&option| option.to_owned()));
    command
}

const RANDOM: [&str; 4] = ["--policy", "random", "--seed", "5"];

/// What is left can be read up to its end, and checked. How many events there are.
fn can_be_used(trace: &Path) -> Result<usize, String> {
    let recorded = Recorded::try_read(trace)?;
    let blocks = recorded.events.iter().any(|event| matches!(event.op, Op::Begin { .. }));
    let found = run(&["analyze", arg(trace)]);
    // Without a block there is nothing to check, and that is said.
    let codes = if blocks { [Some(0), Some(1)] } else { [Some(2), Some(2)] };
    let confessed = recorded.cut.is_none() || found.stderr.contains("cut short");
    if codes.contains(&found.code) && confessed {
        Ok(recorded.events.len())
    } else {
        Err(format!("a trace of {} events cannot be checked: {found}", recorded.events.len()))
    }
}

/// Kills the JVM when it has printed that many lines.
fn killed(trace: &Path, lines: usize) -> Result<(), String> {
    let _ = std::fs::remove_file(trace);
    let command = long(&["-Xlog:class+load"]);
    let running = Running::start(&mut recording(trace, &RANDOM, &command));
    assert!(running.prints_lines(lines), "ended too early: {}", running.finish());
    running.signal_children("KILL");
    let done = running.try_finish()?;
    let events = can_be_used(trace).map_err(|error| format!("{error}\n{done}"))?;
    if done.stdout.contains("Alice 20\n") && events <= 10_000 {
        return Err(format!("only {events} events were kept: {done}"));
    }
    // A shell says 128 and the signal. Where nothing at all was recorded, that may be the complaint.
    match (done.code, events) {
        (Some(137), _) | (Some(3), 0) => Ok(()),
        _ => Err(format!("another exit code, after {events} events: {done}")),
    }
}

/// Some instants while the JVM starts, some while the program runs; where in the writer's work, nobody knows.
#[test]
fn a_jvm_that_is_killed_leaves_a_readable_trace_soak() {
    let trace = scratch("record-killed").join("run.utr");
    let mut faults = Vec::new();
    for round in 0..if soak() { 10 } else { 1 } {
        for lines in [1, 150, 420, 450, 480, 520, 600, 900] {
            let lines = lines + round * 7;
            if let Err(error) = killed(&trace, lines) {
                faults.push(format!("after {lines} lines: {error}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn a_killed_run_is_confessed_without_quiet() {
    let trace = scratch("record-killed-said").join("run.utr");
    let running = start(&trace);
    running.signal_children("KILL");
    running.finish().with_code(137).saying("cut short").saying("signal 9");
}

/// Records the program, until both threads have worked for a while.
fn start(trace: &Path) -> Running {
    let mut args = vec!["record", "-o", arg(trace)];
    args.extend(RANDOM);
    let untorn = untorn(&args);
    // A JVM heeds no signal that was ignored when it was started, as it is for background jobs of a shell.
    let mut start = Command::new("env");
    start.arg("--default-signal=INT,TERM,HUP").arg(untorn.get_program()).args(untorn.get_args());
    for (name, value) in untorn.get_envs() {
        start.env(name, value.expect("a variable that is set"));
    }
    let running = Running::start(start.arg("--").args(long(&[])));
    assert!(running.prints_lines(20), "ended too early: {}", running.finish());
    running
}

/// Ends the program by a signal to the whole group, as a terminal does. Its trace is whole, because a JVM ends in order:
/// by the exit code that it has only if the signal ended it. How much it printed says nothing: the thread that has the
/// token runs on, unrecorded, while the agent completes the trace, and on a busy machine that is time enough to finish.
fn ended_by(signal: &str, code: i32) {
    let trace = scratch(&format!("record-signal-{signal}")).join("run.utr");
    let running = start(&trace);
    running.signal_group(signal);
    let done = running.finish().with_code(code).saying("untorn: recorded ");
    let done = done.saying(&format!("the program ended with exit code {code}"));
    let events = can_be_used(&trace);
    assert!(events.as_ref().is_ok_and(|&events| events > 10_000), "{events:?} events\n{done}");
    Recorded::read(&trace);
}

#[test]
fn ctrl_c_leaves_a_whole_trace() {
    ended_by("INT", 130);
}

#[test]
fn a_termination_leaves_a_whole_trace() {
    ended_by("TERM", 143);
}

#[test]
fn a_hang_up_leaves_a_whole_trace() {
    ended_by("HUP", 129);
}
