//! `untorn check` on real programs: what can be torn is found without any option, and happens again; programs
//! that are right are left alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::java::{
    self, CommandResult, arg, compile_one, example, examples, run, scratch,
};
use serde_json::Value;

pub fn check(out: &Path, options: &[&str], command: &[String]) -> CommandResult {
    let mut args = vec!["check", "--out", arg(out), "--time", "40s"];
    if !options.contains(&"--explore") {
        args.extend(["--explore", "9"]);
    }
    args.extend(options);
    args.push("--");
    args.extend(command.iter().map(String::as_str));
    run(&args)
}

pub fn report(out: &Path) -> Value {
    let text = std::fs::read(out.join("report.json")).expect("a report was written");
    serde_json::from_slice(&text).expect("the report is JSON")
}

/// The block that the example says is torn is found, proved by values, and the replay prints what the torn run
/// printed.
pub fn finds(name: &str) {
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
        let is_told = example.key("stderr").is_some_and(|line| again.stderr.contains(line));
        assert!(again.stdout.trim() != whole || is_told, "nothing is to be seen of it: {again}");
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
fn a_lock_made_of_a_flag_lets_two_in() {
    finds("SpinLock");
}

/// What was looked at decides what is written, in another critical section.
#[test]
fn a_list_loses_its_last_job() {
    finds("JobListTail");
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

/// Calls of collections of java.util.concurrent, each of them safe.
#[test]
fn safe_calls_are_not_safe_together() {
    finds("QueueRemove");
    finds("RemoveAttribute");
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
        // So few runs may be too few to call it clean.
        let is_quiet = matches!(done.code, Some(0 | 4));
        assert!(is_quiet, "{}: a false alarm: {done}", example.name);
    }
}

/// A deadlock is a finding like any other: one for each circle, however many runs end in it, and it happens again.
fn deadlocks(name: &str, places: &[(&str, &str)]) {
    let example = example("fail", name);
    let out = scratch(&format!("check-{name}"));
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java/fail");
    let done = check(&out, &["--source", arg(&sources)], &example.command()).with_code(1);
    assert!(done.stdout.contains("deadlock 1: "), "{done}");
    let report = report(&out);
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "one circle, one finding: {done}");
    let found = &findings[0];
    assert_eq!(found["kind"], "deadlock");
    let operations = found["operations"].as_array().expect("operations");
    let edges = found["edges"].as_array().expect("edges");
    let mut waits: Vec<(String, String)> = edges
        .iter()
        .map(|edge| {
            let operation = |end: &str| &operations[edge[end].as_u64().expect("an index") as usize];
            let (wants, has) = (operation("from"), operation("to"));
            assert_eq!(wants["target"], has["target"], "the next one has what this one wants");
            assert_ne!(wants["thread"], has["thread"]);
            (wants["place"].to_string(), has["place"].to_string())
        })
        .collect();
    waits.sort();
    let quoted = |(wants, has): &(&str, &str)| (format!("{wants:?}"), format!("{has:?}"));
    assert_eq!(waits, places.iter().map(quoted).collect::<Vec<_>>());
    // The thread that started them waits for their end, and is no part of the circle.
    let waiting = found["waiting"].as_array().expect("others wait, too");
    assert_eq!((waiting.len(), &waiting[0]["thread"]), (1, &Value::from("main")));
    let again = run(&["replay", arg(&out.join("report.json")), "1"]).with_code(1);
    assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
    assert!(again.stderr.contains("a deadlock"), "{again}");
    for form in ["--markdown", "--junit", "--sarif"] {
        let text = run(&["report", arg(&out.join("report.json")), form, "-"]).with_code(0).stdout;
        assert!(text.contains("eadlock"), "{form}: {text}");
    }
    let refused = run(&["verify", arg(&out.join("report.json"))]).with_code(2);
    assert!(refused.stderr.contains("this is a deadlock"), "{refused}");
}

#[test]
fn two_locks_in_opposite_orders_are_a_finding() {
    deadlocks(
        "LockOrder",
        &[("LockOrder.java:19", "LockOrder.java:26"), ("LockOrder.java:27", "LockOrder.java:18")],
    );
}

#[test]
fn philosophers_are_a_circle_of_three() {
    deadlocks(
        "DiningPhilosophers",
        &[("DiningPhilosophers.java:68", "DiningPhilosophers.java:67"); 3],
    );
}

#[test]
fn what_cannot_be_torn_is_said_to_be_nothing() {
    let source = "public class Lonely {
        static int x;
        public static void main(String[] args) { x++; System.out.println(x); }
    }";
    let classes = compile_one("Lonely.java", source);
    let out = scratch("check-lonely");
    let done = check(&out, &["--runs", "2"], &java::java(&classes, "Lonely")).with_code(4);
    assert!(done.stdout.contains("inconclusive: "), "{done}");
    assert!(done.stdout.contains("why: only one thread ever ran"), "{done}");
    let allowed = ["--runs", "2", "--allow-inconclusive"];
    check(&out, &allowed, &java::java(&classes, "Lonely")).with_code(0);
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
    let out = scratch("check-nothing");
    let command = run(&["check", "--out", arg(&out), "--", "ls"]).with_code(2);
    assert!(command.stderr.contains("'ls' started no Java program"), "{command}");
    assert!(command.stderr.contains("what it printed: "), "{command}");
    let number = run(&["replay", "run.utr", "3"]).with_code(2);
    assert!(number.stderr.contains("a number goes with a report"), "{number}");
    let report = scratch("check-report").join("report.json");
    std::fs::write(&report, "{}").expect("a file is written");
    let not_one = run(&["replay", arg(&report)]).with_code(2);
    assert!(not_one.stderr.contains("not a report of untorn check"), "{not_one}");
}

/// A wrong program and the same program mended: the finding of the one is looked for in the other.
#[test]
fn a_fix_is_verified_and_a_missing_one_is_noticed() {
    let torn = example("fail", "Bank");
    let out = scratch("verify-report");
    check(&out, &["--explore", "0"], &torn.command()).with_code(1);
    let report = out.join("report.json");
    let verify = |command: &[String]| {
        let again = scratch("verify-again");
        let mut args = vec!["verify", arg(&report), "1", "--explore", "2", "--out", arg(&again)];
        if !command.is_empty() {
            args.push("--");
            args.extend(command.iter().map(String::as_str));
        }
        run(&args)
    };
    let same = verify(&[]).with_code(1);
    assert!(same.stdout.contains("Account.withdraw can STILL be torn"), "{same}");
    let mended = verify(&example("pass", "BankFixed").command()).with_code(0);
    assert!(mended.stdout.contains("Account.withdraw was not torn any more"), "{mended}");
    let other = verify(&example("pass", "VolatileHandOver").command()).with_code(3);
    assert!(other.stderr.contains("did not occur"), "{other}");
    let into = run(&["verify", arg(&report), "1", "--out", arg(&out)]).with_code(2);
    assert!(into.stderr.contains("would replace the old one"), "{into}");
}

/// What each finding of a report is about.
fn concerns(out: &Path) -> BTreeSet<String> {
    let report = report(out);
    let findings = report["findings"].as_array().expect("findings").iter();
    findings.map(|finding| finding["headline"].to_string()).collect()
}

/// Two parts of the work, put together, find what one machine finds; and so do two programs at once.
#[test]
fn parts_and_jobs_find_the_same_as_one() {
    let example = example("fail", "StringBufferInsert");
    let options = ["--explore", "2", "--minimise", "0"];
    let whole = scratch("shard-whole");
    check(&whole, &options, &example.command()).with_code(1);
    let parts: Vec<PathBuf> = (1..=2).map(|i| scratch(&format!("shard-{i}"))).collect();
    for (part, shard) in parts.iter().zip(["1/2", "2/2"]) {
        let mut options = options.to_vec();
        options.extend(["--shard", shard]);
        check(part, &options, &example.command());
    }
    let merged = scratch("shard-merged");
    let all = run(&["merge", arg(&parts[0]), arg(&parts[1]), "--out", arg(&merged)]).with_code(1);
    assert_eq!(concerns(&merged), concerns(&whole), "{all}");
    let again = run(&["replay", arg(&merged.join("report.json")), "1"]);
    assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
    let alone = run(&["merge", arg(&parts[0]), "--out", arg(&merged)]).with_code(2);
    assert!(alone.stderr.contains("part 2 of 2 is missing"), "{alone}");
    let twice = run(&["merge", arg(&parts[0]), arg(&parts[0]), "--out", arg(&merged)]);
    assert!(twice.with_code(2).stderr.contains("given already"));
    let jobs = scratch("jobs");
    let mut options = options.to_vec();
    options.extend(["--jobs", "2"]);
    let done = check(&jobs, &options, &example.command()).with_code(1);
    assert_eq!(concerns(&jobs), concerns(&whole), "{done}");
}

/// A violation that a random schedule shows among many switches is shown again with few of them.
#[test]
fn the_schedule_that_is_kept_is_a_simple_one() {
    let source = "public class Busy {
        static int hits, noise;
        static void hit() { int seen = hits; for (int i = 0; i < 20; i++) noise += i; hits = seen + 1; }
        public static void main(String[] args) throws Exception {
            Thread[] all = new Thread[3];
            for (int i = 0; i < 3; i++) { all[i] = new Thread(Busy::hit); all[i].start(); }
            for (Thread one : all) one.join();
            System.out.println(hits);
        }
    }";
    let command = java::java(&compile_one("Busy.java", source), "Busy");
    let preemptions = |minimise: &str| {
        let out = scratch(&format!("minimise-{minimise}"));
        let options = ["--with", "pos", "--runs", "12", "--minimise", minimise];
        check(&out, &options, &command).with_code(1);
        report(&out)["findings"][0]["evidence"]["preemptions"].as_u64().expect("a number")
    };
    let (without, with) = (preemptions("0"), preemptions("12"));
    assert!(with <= 3 && with < without, "{without} preemptions became {with}");
}

/// Every method is taken to be atomic: what is torn inside of a torn method is found when that is out of the way.
#[test]
fn every_method_is_refuted_by_itself() {
    let source = "public class Layers {
        static int x;
        static void inner() { int seen = x; x = seen + 1; }
        static void outer() { inner(); inner(); }
        public static void main(String[] args) throws Exception {
            Thread a = new Thread(Layers::outer), b = new Thread(Layers::outer);
            a.start(); b.start(); a.join(); b.join();
        }
    }";
    let command = java::java(&compile_one("Layers.java", source), "Layers");
    let out = scratch("all-methods");
    let done = check(&out, &["--all-methods", "--explore", "0"], &command).with_code(1);
    let found = concerns(&out);
    for method in ["Layers.outer", "Layers.inner"] {
        assert!(found.iter().any(|one| one.contains(method)), "no {method}: {done}");
    }
    assert!(!found.iter().any(|one| one.contains("Layers.main")), "{done}");
}

/// A program that ends badly in every run is still looked at, and its way to end is no effect of a tear.
#[test]
fn a_program_that_always_crashes_is_still_checked() {
    let source = "public class Crash {
        static int x;
        static void hit() { int seen = x; x = seen + 1; }
        public static void main(String[] args) throws Exception {
            Thread a = new Thread(Crash::hit), b = new Thread(Crash::hit);
            a.start(); b.start(); a.join(); b.join();
            throw new IllegalStateException(\"always\");
        }
    }";
    let command = java::java(&compile_one("Crash.java", source), "Crash");
    let out = scratch("check-crash");
    let done = check(&out, &["--explore", "0"], &command).with_code(1);
    assert!(done.stdout.contains("Crash.hit is not atomic"), "{done}");
    let effects = report(&out)["findings"][0]["evidence"]["effects"].to_string();
    assert!(!effects.contains("always") && !effects.contains("exit code"), "{effects}");
}

/// A program that waits for input gets none, and one that never ends is ended.
#[test]
fn input_is_empty_and_time_is_limited() {
    let source = "public class Reader {
        static int x;
        static void hit() { int seen = x; x = seen + 1; }
        public static void main(String[] args) throws Exception {
            if (System.in.read() != -1) throw new IllegalStateException();
            Thread a = new Thread(Reader::hit), b = new Thread(Reader::hit);
            a.start(); b.start(); a.join(); b.join();
            while (args.length > 0) Thread.onSpinWait();
        }
    }";
    let mut command = java::java(&compile_one("Reader.java", source), "Reader");
    let out = scratch("check-reader");
    check(&out, &["--explore", "0"], &command).with_code(1);
    command.push("for-ever".to_owned());
    let out = scratch("check-endless");
    let options = ["--explore", "0", "--run-time", "2s", "--runs", "5", "--minimise", "0"];
    let done = check(&out, &options, &command).with_code(1);
    assert!(done.stdout.contains("Reader.hit is not atomic"), "{done}");
    assert!(done.stdout.contains("did not end in time"), "{done}");
    assert!(!done.stdout.contains("visible"), "that it did not end may be our own doing: {done}");
}
