//! Many runs in one JVM: the same runs as in fresh ones, byte for byte, or none at all.

use std::path::{Path, PathBuf};

use untorn_frontend::{ExitKind, FrontEnd, FrontEndKind, Output, Program, RunOptions, RunResult};
use untorn_jvm::{Jvm, same_run};
use untorn_schedule::{PolicyKind, RunControl, RunSpec};

use crate::support::java::{self, compile_one, example, run, scratch};

/// A program ready to be run, in one JVM if that makes no difference.
struct Warm {
    front_end: Box<dyn FrontEnd>,
    folder: PathBuf,
}

impl Warm {
    fn new(name: &str, command: Vec<String>) -> Self {
        let folder = scratch(name);
        let options = serde_json::json!({});
        let program = Program { command, options, ..Program::default() };
        let options = RunOptions { warm: true, ..RunOptions::new(Output::Kept(folder.clone())) };
        let front_end = Jvm.prepare(&program, options).expect("a program that can be started");
        Self { front_end, folder }
    }

    fn of_example(kind: &'static str, name: &str) -> Self {
        Self::new(&format!("warm_{name}"), example(kind, name).command())
    }

    fn trace(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn run(&mut self, policy: PolicyKind, seed: u64) -> RunResult {
        let trace = self.trace("run.utr");
        self.front_end.run(&spec(policy, seed), &trace).expect("a run")
    }

    /// Makes a run in both ways. They must be the same run.
    fn compare(&mut self, policy: PolicyKind, seed: u64) -> RunResult {
        let [one, other] = ["warm.utr", "fresh.utr"].map(|name| self.trace(name));
        let warm = self.front_end.run(&spec(policy, seed), &one).expect("a run");
        assert!(warm.warm, "not made in a JVM that is used again: {:?}", self.front_end.notes());
        let fresh = self.front_end.run_fresh(&spec(policy, seed), &other).expect("a run");
        assert!(!fresh.warm);
        assert_eq!(same(&one, &other), None, "{policy:?}, seed {seed}");
        // Notes of deadlocks have numbers of objects in them.
        let notes = fresh.notes.clone();
        assert_eq!(RunResult { warm: false, notes, ..warm.clone() }, fresh);
        warm
    }
}

fn spec(policy: PolicyKind, seed: u64) -> RunSpec {
    RunSpec { control: RunControl::Policy(policy), seed, ..RunSpec::default() }
}

fn same(one: &Path, other: &Path) -> Option<String> {
    same_run::difference(one, other).expect("traces that can be read")
}

const POLICIES: [PolicyKind; 4] =
    [PolicyKind::RunToBlock, PolicyKind::Random, PolicyKind::PCT, PolicyKind::Pos];

#[test]
fn a_run_in_a_used_jvm_is_the_run_of_a_fresh_one() {
    for (kind, name) in [("fail", "Bank"), ("fail", "VectorContainsAll"), ("pass", "BoundedBuffer")]
    {
        let mut warm = Warm::of_example(kind, name);
        assert!(!warm.run(PolicyKind::RunToBlock, 0).warm, "the first is made in a fresh JVM");
        for (seed, policy) in POLICIES.into_iter().cycle().take(8).enumerate() {
            warm.compare(policy, seed as u64);
        }
    }
}

#[test]
fn threads_that_wait_for_ever_stay_behind() {
    let mut warm = Warm::of_example("fail", "LockOrder");
    warm.run(PolicyKind::RunToBlock, 0);
    let ends: Vec<ExitKind> =
        (0..8).map(|seed| warm.compare(PolicyKind::Random, seed).exit).collect();
    assert!(ends.contains(&ExitKind::Deadlock) && ends.contains(&ExitKind::Exit(0)), "{ends:?}");
}

#[test]
fn a_program_that_ends_itself_does_not_end_the_jvm() {
    let classes = compile_one(
        "Leaves.java",
        "public class Leaves {
            static int count;
            public static void main(String[] args) {
                Thread daemon = new Thread(() -> { synchronized (Leaves.class) { count++; } });
                daemon.setDaemon(true);
                daemon.start();
                System.out.println(Thread.currentThread() + \" \" + Thread.currentThread().getId());
                System.out.println(daemon.getName() + \" \" + daemon.getId() + \" \" + count);
                System.out.println(Leaves.class.getClassLoader() == ClassLoader.getSystemClassLoader());
                System.setProperty(\"left\", System.getProperty(\"left\") + \"!\");
                System.out.println(System.getProperty(\"left\"));
                System.exit(3);
            }
        }",
    );
    let mut warm = Warm::new("warm_leaves", java::java(&classes, "Leaves"));
    warm.run(PolicyKind::RunToBlock, 0);
    for seed in 0..4 {
        let ran = warm.compare(PolicyKind::RunToBlock, seed);
        assert_eq!(ran.exit, ExitKind::Exit(3));
        assert!(String::from_utf8_lossy(&ran.stdout).contains("null!"));
    }
}

#[test]
fn what_is_not_caught_is_reported_alike() {
    let classes = compile_one(
        "Throws.java",
        "public class Throws {
            static volatile boolean seen;
            public static void main(String[] args) {
                new Thread(() -> seen = true).start();
                for (int i = 0; i < 100; i++) {
                    if (seen) throw new IllegalStateException(\"too early\");
                }
            }
        }",
    );
    let mut warm = Warm::new("warm_throws", java::java(&classes, "Throws"));
    assert_eq!(warm.run(PolicyKind::RunToBlock, 0).exit, ExitKind::Exit(0));
    let failed: Vec<RunResult> = (0..20)
        .map(|seed| warm.run(PolicyKind::Random, seed))
        .filter(|ran| ran.exit == ExitKind::Exit(1))
        .collect();
    let said = "java.lang.IllegalStateException: too early\n\tat Throws.main(Throws.java:6)\n";
    let said = format!("Exception in thread \"main\" {said}");
    assert!(!failed.is_empty(), "some seed lets the thread be first");
    for ran in failed {
        assert!(ran.warm && ran.uncaught.len() == 1, "{ran:?}");
        assert_eq!(String::from_utf8_lossy(&ran.stderr), said);
    }
}

#[test]
fn a_program_whose_jvm_must_end_gets_fresh_ones() {
    let mut warm = Warm::of_example("constructs", "SystemExit");
    warm.run(PolicyKind::RunToBlock, 0);
    let ran = warm.run(PolicyKind::RunToBlock, 1);
    assert!(!ran.warm);
    assert!(warm.front_end.notes()[0].contains("a JVM of its own"), "{:?}", warm.front_end.notes());
}

#[test]
fn check_finds_the_same_in_fewer_jvms() {
    let example = example("fail", "Bank");
    let out = scratch("warm_check");
    let out = out.to_str().expect("a path");
    let command = example.command();
    let mut args = vec!["check", "--warm", "--runs", "30", "--out", out, "--"];
    args.extend(command.iter().map(String::as_str));
    let ran = run(&args).with_code(1);
    assert!(ran.stdout.contains("Account.withdraw is not atomic"), "{ran}");
    assert!(!ran.stdout.contains("NOTE"), "{ran}");
}
