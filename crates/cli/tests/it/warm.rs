//! Many runs in one JVM: the same runs as in fresh ones, byte for byte, or none at all.

use std::path::{Path, PathBuf};

use untorn_frontend::{ExitKind, FrontEnd, FrontEndKind, Output, Program, RunOptions, RunResult};
use untorn_jvm::{Jvm, same_run};
use untorn_schedule::{PolicyKind, RunSpec, Steering};

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
    RunSpec { steering: Steering::Policy(policy), seed, ..RunSpec::default() }
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
fn shutdown_hooks_run_at_the_end_of_each_run() {
    let mut warm = Warm::of_example("constructs", "SystemExit");
    let first = warm.run(PolicyKind::RunToBlock, 0);
    for _ in 0..3 {
        let ran = warm.run(PolicyKind::RunToBlock, 0);
        assert!(ran.warm, "{:?}", warm.front_end.notes());
        assert_eq!((ran.exit, &ran.stdout), (first.exit, &first.stdout));
    }
}

#[test]
fn what_a_run_sets_for_the_whole_jvm_is_set_back() {
    let classes = compile_one(
        "Sets.java",
        "import java.util.*;
        import java.util.concurrent.*;
        public class Sets {
            static int count;
            public static void main(String[] args) throws Exception {
                System.out.println(Locale.getDefault() + \" \" + TimeZone.getDefault().getID());
                System.out.println(Thread.getDefaultUncaughtExceptionHandler());
                Locale.setDefault(Locale.GERMANY);
                TimeZone.setDefault(TimeZone.getTimeZone(\"Asia/Tokyo\"));
                Thread.setDefaultUncaughtExceptionHandler((thread, fault) -> System.out.println(\"oh\"));
                List<Future<?>> all = new ArrayList<>();
                for (int i = 0; i < 3; i++) all.add(ForkJoinPool.commonPool().submit(() -> add()));
                for (Future<?> one : all) one.get();
                CompletableFuture.runAsync(Sets::add).get();
                System.out.println(count);
            }
            static synchronized void add() { count++; }
        }",
    );
    // With one processor the JDK does without its common pool.
    let mut command = java::java(&classes, "Sets");
    command.insert(1, "-XX:ActiveProcessorCount=4".to_owned());
    let mut warm = Warm::new("warm_sets", command);
    let first = warm.run(PolicyKind::RunToBlock, 0);
    for seed in 0..5 {
        let ran = warm.run(PolicyKind::Random, seed);
        assert!(ran.warm, "{:?}", warm.front_end.notes());
        assert_eq!((ran.exit, &ran.stdout), (ExitKind::Exit(0), &first.stdout));
    }
}

#[test]
fn a_run_keeps_no_memory_of_earlier_ones() {
    let classes = compile_one(
        "Large.java",
        "import java.util.function.UnaryOperator;
        public class Large {
            static final byte[] mine = new byte[16 << 20];
            public static void main(String[] args) throws Exception {
                UnaryOperator<Large> same = large -> large;
                Thread other = new Thread(() -> System.out.println(same.apply(null) + \" \" + mine.length));
                other.start();
                other.join();
            }
        }",
    );
    let mut command = java::java(&classes, "Large");
    command.insert(1, "-Xmx64m".to_owned());
    let mut warm = Warm::new("warm_large", command);
    warm.run(PolicyKind::RunToBlock, 0);
    for seed in 0..12 {
        let ran = warm.run(PolicyKind::Random, seed);
        assert!(ran.warm, "{:?}", warm.front_end.notes());
        assert_eq!((ran.exit, ran.stdout.as_slice()), (ExitKind::Exit(0), &b"null 16777216\n"[..]));
    }
}

#[test]
fn a_program_that_can_run_only_once_gets_fresh_jvms() {
    let classes = compile_one(
        "Once.java",
        "public class Once {
            public static void main(String[] args) throws Exception {
                java.net.URL.setURLStreamHandlerFactory(name -> null);
                new Thread(() -> System.out.println(\"done\")).start();
            }
        }",
    );
    let mut warm = Warm::new("warm_once", java::java(&classes, "Once"));
    warm.run(PolicyKind::RunToBlock, 0);
    let ran = warm.run(PolicyKind::RunToBlock, 1);
    assert!(!ran.warm);
    assert!(warm.front_end.notes()[0].contains("a JVM of its own"), "{:?}", warm.front_end.notes());
}

#[test]
fn a_program_with_another_trace_in_a_used_jvm_still_gets_one() {
    // What the JDK does for the first format is not done for the second.
    let classes = compile_one(
        "Formats.java",
        "public class Formats {
            static int count;
            public static void main(String[] args) throws Exception {
                Thread one = new Thread(() -> count++), other = new Thread(() -> count++);
                one.start();
                other.start();
                one.join();
                other.join();
                System.out.println(String.format(\"%d of %s\", count, java.util.UUID.nameUUIDFromBytes(new byte[1])));
            }
        }",
    );
    let out = scratch("warm_formats");
    let out = out.to_str().expect("a path");
    let command = java::java(&classes, "Formats");
    let mut args = vec!["check", "-v", "--runs", "30", "--out", out, "--"];
    args.extend(command.iter().map(String::as_str));
    let ran = run(&args).with_code(1);
    assert!(ran.stdout.contains("is not atomic") && ran.stdout.contains("visible"), "{ran}");
    assert!(!ran.stdout.contains("a JVM of its own"), "{ran}");
}

#[test]
fn check_finds_the_same_in_fewer_jvms() {
    let example = example("fail", "Bank");
    for more in [&[][..], &["--fresh"]] {
        let out = scratch("warm_check");
        let out = out.to_str().expect("a path");
        let command = example.command();
        let mut args = vec!["check", "-v", "--runs", "30", "--out", out];
        args.extend(more);
        args.push("--");
        args.extend(command.iter().map(String::as_str));
        let ran = run(&args).with_code(1);
        assert!(ran.stdout.contains("Account.withdraw is not atomic"), "{ran}");
        assert!(!ran.stdout.contains("NOTE"), "{ran}");
    }
}

#[test]
fn other_releases_of_java_share_a_jvm_as_well() {
    for release in [11, 21, 25] {
        let classes = java::compile_for(
            &["--release", "11"],
            "warm-for-all",
            &[example("fail", "StackPop").file()],
            "",
        );
        let java = java::java_of(release);
        let words = [java::arg(&java), "-cp", java::arg(&classes), "StackPop"];
        let mut warm = Warm::new(&format!("warm_jdk_{release}"), words.map(str::to_owned).to_vec());
        warm.run(PolicyKind::RunToBlock, 0);
        let ran = warm.run(PolicyKind::Random, 1);
        assert!(ran.warm, "{release}: {:?}", warm.front_end.notes());
    }
}
