//! `untorn replay`: a recorded run happens again, event by event, or it is said where it does not.

use std::fs::File;
use std::path::{Path, PathBuf};

use untorn_trace::formats::utr::{Compression, ExtraKind, Writer};
use untorn_trace::{Sink, Tables};

use crate::support::java::{
    self, CommandResult, Example, Recorded, Running, arg, compile, compile_one, example, record,
    recording, run, scratch, soak, untorn,
};

/// Records a random schedule and replays it: everything that can be seen from outside is the same, and every event.
fn repeats(example: &Example, folder: &Path, policy: &str, seed: u32) -> Result<(), String> {
    let (trace, again) = (folder.join("run.utr"), folder.join("again.utr"));
    let options = ["--policy", policy, "--seed", &seed.to_string()];
    let old = Running::start(&mut recording(&trace, &options, &example.command())).try_finish()?;
    let args = ["replay", "-q", "-o", arg(&again), arg(&trace)];
    let new = Running::start(&mut untorn(&args)).try_finish()?;
    if (new.code, &new.stdout, &new.stderr) != (old.code, &old.stdout, &old.stderr) {
        return Err(format!("recorded {old}\nreplayed {new}"));
    }
    let (old, new) = (Recorded::try_read(&trace)?, Recorded::try_read(&again)?);
    if old.events != new.events || old.events.is_empty() {
        return Err(java::difference(&trace, &again));
    }
    match &new.summary().divergence {
        Some(divergence) => Err(format!("the same events, but {divergence}")),
        None => new.check(),
    }
}

fn check_all(name: &str, programs: &[(&'static str, &str)], seeds: std::ops::Range<u32>) {
    check_policy("random", name, programs, seeds);
}

fn check_policy(
    policy: &str,
    name: &str,
    programs: &[(&'static str, &str)],
    seeds: std::ops::Range<u32>,
) {
    let folder = scratch(&format!("replay-{name}"));
    let mut faults = Vec::new();
    for &(kind, name) in programs {
        for seed in seeds.clone() {
            if let Err(error) = repeats(&example(kind, name), &folder, policy, seed) {
                faults.push(format!("{name} --policy {policy} --seed {seed}: {error}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n\n"));
}

/// Monitors: of the program, of the JDK's collections, with waits.
#[test]
fn random_schedules_with_monitors_are_repeated_soak() {
    let programs =
        [("fail", "ReadersWriters"), ("fail", "SetOverVector"), ("pass", "BoundedBuffer")];
    check_all("monitors", &programs, if soak() { 0..30 } else { 0..5 });
}

/// No locks of the program's own: volatile fields, permits, queues, locks of `java.util.concurrent`.
#[test]
fn random_schedules_without_monitors_are_repeated_soak() {
    let programs = [("fail", "Counter"), ("pass", "CounterCas"), ("pass", "ProducerConsumer")];
    check_all("others", &programs, if soak() { 0..30 } else { 0..5 });
}

/// POS holds threads before their accesses. What they did inside of the JDK before they came there has no event, and
/// must have happened in the replay, too.
#[test]
fn threads_that_were_held_are_held_again_soak() {
    let programs =
        [("constructs", "Locks"), ("constructs", "Copies"), ("pass", "ProducerConsumer")];
    check_policy("pos", "held", &programs, if soak() { 0..20 } else { 0..2 });
}

/// In the long tests: whatever else a program may do, exit codes and exceptions among it.
#[test]
fn random_schedules_of_constructs_are_repeated_soak() {
    let few = [("constructs", "SystemExit"), ("constructs", "Exceptions")];
    let more = ["Executors", "Locks", "ParkUnpark", "Sleepers", "ThreadNames", "WaitNotify"];
    check_all("few-constructs", &few, if soak() { 0..20 } else { 0..1 });
    if soak() {
        check_all("more-constructs", &more.map(|name| ("constructs", name)), 0..20);
    }
}

/// A thread whose static initialiser threw is not stopped before the error is made of it: once, in the recording.
#[test]
fn initialisers_that_throw_are_repeated_soak() {
    let programs = [("constructs", "UncaughtInClinit")];
    check_all("initialisers", &programs, if soak() { 0..30 } else { 1..6 });
}

#[test]
fn a_run_that_followed_a_plan_is_repeated() {
    let example = example("fail", "Bank");
    let trace = scratch("replay-plan").join("run.utr");
    let plan = example.beside("plan");
    let old = record(&trace, &["--plan", arg(&plan)], &example.command()).with_code(0);
    let new = run(&["replay", "-q", arg(&trace)]).with_code(0);
    assert_eq!((&*old.stdout, &*new.stdout), ("balance 70, expected 20\n", &*old.stdout));
}

#[test]
fn a_deadlock_is_repeated() {
    let example = example("fail", "LockOrder");
    let folder = scratch("replay-deadlock");
    let (trace, plan) = (folder.join("run.utr"), folder.join("test.plan"));
    let left = 1 + example.line_of("static void leftToRight() {");
    let right = 1 + example.line_of("static void rightToLeft() {");
    let steps =
        format!("Alice @ LockOrder.java:{left} acquire\nBob @ LockOrder.java:{right} acquire\n");
    std::fs::write(&plan, steps).expect("a plan is written");
    record(&trace, &["--plan", arg(&plan)], &example.command()).with_code(1);
    run(&["replay", "-q", arg(&trace)]).with_code(1);
}

/// Says what it found in its surroundings, and depends on it: the number of threads, of their steps, a value.
const SURROUNDED: &str = r#"
import java.nio.file.Files;
import java.nio.file.Path;

class Surrounded {
    static int value;
    static int steps;

    static synchronized void step() {
        steps++;
    }

    public static void main(String[] args) throws Exception {
        var words = Files.readString(Path.of("input.txt")).trim().split(" ");
        value = Integer.parseInt(words[0]);
        int count = Integer.parseInt(words[1]);
        var threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(Surrounded::step, "worker-" + i);
            threads[i].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        System.out.println(value + " " + steps + " " + System.getenv("GREETING"));
    }
}
"#;

/// Records it with that input; the folder and the trace.
fn surrounded(name: &str, input: &str) -> (PathBuf, PathBuf) {
    let folder = scratch(&format!("replay-{name}"));
    let trace = folder.join("run.utr");
    std::fs::write(folder.join("input.txt"), input).expect("an input is written");
    let command = java::java(&compile_one("Surrounded.java", SURROUNDED), "Surrounded");
    let options = ["--policy", "random", "--seed", "3", "--env", "GREETING"];
    let mut start = recording(&trace, &options, &command);
    start.current_dir(&folder).env("GREETING", "hello").env("GREETING_TOKEN", "unspeakable");
    let done = Running::start(&mut start).finish().with_code(0);
    let [value, count] = input.split(' ').collect::<Vec<_>>()[..] else { panic!("two words") };
    assert_eq!(done.stdout, format!("{value} {count} hello\n"), "{done}");
    (folder, trace)
}

#[test]
fn the_directory_and_the_environment_come_from_the_trace() {
    let (_, trace) = surrounded("surroundings", "1 2");
    // From another directory, with another environment.
    let mut start = untorn(&["replay", arg(&trace)]);
    start.current_dir("/").env("GREETING", "goodbye");
    let done = Running::start(&mut start).finish().with_code(0).saying("events exactly");
    assert_eq!(done.stdout, "1 2 hello\n");
    let bytes = std::fs::read(&trace).expect("a trace");
    let secret = b"unspeakable";
    assert!(!bytes.windows(secret.len()).any(|piece| piece == secret), "the trace has a secret");
}

/// Replays with another input: that is told, with what was expected and what happened instead.
fn diverges(name: &str, old: &str, new: &str) -> CommandResult {
    let (folder, trace) = surrounded(name, old);
    std::fs::write(folder.join("input.txt"), new).expect("an input is written");
    run(&["replay", "-q", arg(&trace)])
        .with_code(3)
        .saying("DIVERGED at event ")
        .saying("\n  expected ")
        .saying("\n  actual ")
}

#[test]
fn another_value_is_a_divergence() {
    let done = diverges("value", "1 2", "7 2");
    let line = |key| done.stderr.lines().find(|line| line.trim().starts_with(key)).expect("a line");
    assert!(line("expected").contains("Surrounded.value = 1"), "{done}");
    assert!(line("actual").contains("Surrounded.value = 7"), "{done}");
    assert!(line("actual").contains("main"), "{done}");
    assert!(line("actual").contains("Surrounded.java:"), "{done}");
}

#[test]
fn fewer_threads_are_a_divergence() {
    diverges("fewer", "1 3", "1 1");
}

#[test]
fn more_threads_are_a_divergence() {
    diverges("more", "1 2", "1 4");
}

#[test]
fn only_traces_with_a_schedule_can_be_replayed() {
    let folder = scratch("replay-nothing");
    let path = |name: &str| folder.join(name);
    let (made, text, recorded) = (path("made.utr"), path("made.std"), path("run.utr"));
    run(&["trace", "generate", "small", "--events", "100", "-o", arg(&made)]).with_code(0);
    run(&["replay", arg(&made)]).with_code(2).saying("has no schedule");
    run(&["trace", "convert", arg(&made), arg(&text)]).with_code(0);
    run(&["replay", arg(&text)]).with_code(2).saying("made.std");
    let empty = path("empty.utr");
    std::fs::write(&empty, "").expect("a file");
    let refused = run(&["replay", arg(&empty)]).with_code(2).saying("ends inside of its header");
    assert_eq!(refused.stderr.matches("empty.utr").count(), 1, "{refused}");
    // A schedule is of one file: what was converted is another.
    record(&recorded, &[], &example("fail", "Bank").command()).with_code(0);
    let converted = path("converted.utr");
    run(&["trace", "convert", arg(&recorded), arg(&converted)]).with_code(0);
    run(&["replay", arg(&converted)]).with_code(2).saying("has no schedule");
}

#[test]
fn a_missing_file_is_bad_input() {
    run(&["replay", "/no/such/file.utr"]).with_code(2).saying("/no/such/file.utr");
    run(&["replay", env!("CARGO_TARGET_TMPDIR")]).with_code(2);
}

#[test]
fn a_trace_of_a_front_end_that_is_not_there_is_refused_by_name() {
    let trace = scratch("replay-front-end").join("run.utr");
    for (name, words) in
        [("fortran", "the front end 'fortran'"), ("", "does not say which front end")]
    {
        let mut tables = Tables::default();
        tables.meta.command = vec!["a.out".to_owned()];
        tables.meta.front_end = name.to_owned();
        let mut writer = Writer::new(File::create(&trace).expect("writable"), Compression::None);
        writer.extra(ExtraKind::new(b"schd"), &[1, 1]).expect("written");
        writer.finish(&tables).expect("written");
        let refused = run(&["replay", arg(&trace)]).with_code(2).saying(arg(&trace)).saying(words);
        refused.saying("this one has: jvm");
    }
}

/// A program that was compiled again is another program: what changed is named.
#[test]
fn a_program_that_was_compiled_again_is_named() {
    let source = |more: &str| {
        format!(
            "public class Again {{
                static int x;
                static void hit() {{ int seen = x; {more} x = seen + 1; }}
                public static void main(String[] args) throws Exception {{
                    Thread a = new Thread(Again::hit), b = new Thread(Again::hit);
                    a.start(); b.start(); a.join(); b.join();
                }}
            }}"
        )
    };
    let classes = scratch("replay-again-classes");
    let put = |from: &Path| {
        std::fs::copy(from.join("Again.class"), classes.join("Again.class")).expect("it is copied");
    };
    put(&compile("replay-again-1", &[("Again.java".to_owned(), source(""))]));
    let trace = scratch("replay-again").join("run.utr");
    record(&trace, &[], &java::java(&classes, "Again")).with_code(0);
    run(&["replay", arg(&trace)]).with_code(0).saying("events exactly");
    put(&compile("replay-again-2", &[("Again.java".to_owned(), source("x = 7;"))]));
    let other = run(&["replay", arg(&trace)]).with_code(3).saying("DIVERGED");
    let other = other.saying("the program is not the one that was recorded: Again changed since");
    assert!(!other.stderr.contains("the network"), "{other}");
}

/// Who is to attach a debugger reads where, and where to break.
#[test]
fn a_debugger_is_told_where_to_attach_and_to_break() {
    let out = scratch("replay-debug");
    let example = example("fail", "Counter");
    run(&[
        &["check", "--out", arg(&out), "--runs", "20", "--minimise", "0", "--"][..],
        &example.command().iter().map(String::as_str).collect::<Vec<_>>(),
    ]
    .concat())
    .with_code(1);
    let report = out.join("report.json");
    let waiting =
        Running::start(&mut untorn(&["replay", "--debug", "--port", "5917", arg(&report), "1"]));
    assert!(waiting.prints("Listening for transport"), "it does not wait for a debugger");
    waiting.signal("TERM");
    let done = waiting.finish();
    let done = done.saying("jdb -attach 127.0.0.1:5917").saying("break where it is torn");
    assert!(done.stderr.contains("Counter.java:"), "{done}");
}
