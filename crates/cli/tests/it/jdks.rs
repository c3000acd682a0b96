//! The same on other releases of Java. What the agent relies on has other names and insides there: native methods of
//! `Thread` and `Unsafe`, fields of locks, how lambdas, proxies and accessors are made, how the JVM starts.
//!
//! `./dev setup` fetches their JVMs. The compiler is that of the JDK that everything else is tested with.

use std::path::{Path, PathBuf};

use crate::support::java::{
    Recorded, arg, compile_for, difference, example, java_of, library, record, run, scratch,
};
use untorn_trace::Op;

/// Every release takes classes that were compiled for the oldest.
const FOR_ALL: [&str; 2] = ["--release", "11"];

/// Between them, all that the agent does otherwise in another release.
const CONSTRUCTS: [&str; 13] = [
    "Atomics",
    "ClassLoading",
    "Clocks",
    "Copies",
    "Executors",
    "Lambdas",
    "Locks",
    "Monitors",
    "ParkUnpark",
    "Queues",
    "Reflection",
    "Sections",
    "WaitNotify",
];

const RANDOM: [&str; 4] = ["--policy", "random", "--seed", "1"];

fn command(release: u32, classes: &Path, main: &str) -> Vec<String> {
    [arg(&java_of(release)), "-cp", arg(classes), main].map(str::to_owned).to_vec()
}

/// Records a program twice and replays it: the same bytes, the same events, the same output. The first trace.
fn repeats(folder: &Path, name: &str, command: &[String], output: &str) -> Recorded {
    let [first, second, again] =
        ["first", "second", "again"].map(|which| folder.join(format!("{name}-{which}.utr")));
    for trace in [&first, &second] {
        let run = record(trace, &RANDOM, command).with_code(0);
        assert_eq!((run.stdout.as_str(), run.stderr.as_str()), (output, ""), "{name}");
    }
    let same = std::fs::read(&first).expect("a trace") == std::fs::read(&second).expect("a trace");
    assert!(same, "{name}: {}", difference(&first, &second));
    let replayed = run(&["replay", "-o", arg(&again), arg(&first)]).with_code(0);
    assert_eq!(replayed.stdout, output, "{name}");
    assert!(replayed.stderr.contains("events exactly"), "{name}: {replayed}");
    Recorded::read(&first)
}

/// The examples do what they do without the agent, every time.
fn constructs_repeat(release: u32) {
    let examples = CONSTRUCTS.map(|name| example("constructs", name));
    let classes =
        compile_for(&FOR_ALL, "constructs-for-all", &examples.clone().map(|e| e.file()), "");
    let folder = scratch(&format!("jdks-constructs-{release}"));
    for example in &examples {
        let command = command(release, &classes, &example.name);
        repeats(&folder, &example.name, &command, &example.golden());
    }
}

#[test]
fn constructs_repeat_on_jdk_11() {
    constructs_repeat(11);
}

#[test]
fn constructs_repeat_on_jdk_21() {
    constructs_repeat(21);
}

#[test]
fn constructs_repeat_on_jdk_25() {
    constructs_repeat(25);
}

/// The lost withdrawal is found, and happens again. Nothing that makes threads wait escapes the agent.
fn bank_is_chased(release: u32) {
    let bank = example("fail", "Bank");
    let classes = compile_for(&FOR_ALL, "bank-for-all", &[bank.file()], "");
    let command = command(release, &classes, "Bank");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let folder = scratch(&format!("jdks-bank-{release}"));
    let trace = folder.join("run.utr");
    let recorded = run(&[&["record", "-o", arg(&trace), "--"], &command[..]].concat()).with_code(0);
    assert!(!recorded.stderr.contains("not under control"), "{recorded}");
    let args = ["check", "--explore", "0", "--out", arg(&folder), "--"];
    let found = run(&[&args[..], &command[..]].concat()).with_code(1);
    assert!(found.stdout.contains("Account.withdraw is not atomic"), "{found}");
    assert!(found.stdout.contains("confirmed by values"), "{found}");
    let again = run(&["replay", arg(&folder.join("report.json")), "1"]).with_code(0);
    assert!(again.stdout.contains(", expected 20\n"), "{again}");
    again.saying("events exactly");
}

#[test]
fn the_bank_is_chased_on_jdk_11() {
    bank_is_chased(11);
}

#[test]
fn the_bank_is_chased_on_jdk_21() {
    bank_is_chased(21);
}

#[test]
fn the_bank_is_chased_on_jdk_25() {
    bank_is_chased(25);
}

/// The test of `examples/maven`, with the class path that runs it.
fn unit_test() -> String {
    let maven = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/maven/src");
    let sources =
        ["main/java/com/acme/Account.java", "test/java/com/acme/AccountTest.java"].map(|file| {
            let path: PathBuf = maven.join(file);
            let name = path.file_name().expect("a file").to_str().expect("a plain name").to_owned();
            (name, std::fs::read_to_string(&path).expect("a readable example"))
        });
    let libraries = library("JUnit5");
    let classes = compile_for(&FOR_ALL, "junit-for-all", &sources, &libraries);
    format!("{}:{libraries}", classes.display())
}

/// JUnit loads hundreds of classes and links dozens of lambdas before the test begins.
fn junit_repeats(release: u32) {
    let path = unit_test();
    let folder = scratch(&format!("jdks-junit-{release}"));
    let [first, second] = ["first.utr", "second.utr"].map(|name| folder.join(name));
    for trace in [&first, &second] {
        let args =
            ["record", "-q", "-o", arg(trace), "--junit", "com.acme.AccountTest", "-cp", &path];
        let done = run(&[&args[..], &["--", arg(&java_of(release))]].concat()).with_code(0);
        assert_eq!(done.stdout, "tests: 2, failed: 0\n");
    }
    let same = std::fs::read(&first).expect("a trace") == std::fs::read(&second).expect("a trace");
    assert!(same, "{}", difference(&first, &second));
    run(&["replay", arg(&first)]).with_code(0).saying("events exactly");
}

#[test]
fn a_junit_test_repeats_on_jdk_11() {
    junit_repeats(11);
}

#[test]
fn a_junit_test_repeats_on_jdk_21() {
    junit_repeats(21);
}

#[test]
fn a_junit_test_repeats_on_jdk_25() {
    junit_repeats(25);
}

/// By reflection: the compiler has no virtual threads.
const VIRTUAL: &str = r#"
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

class Virtual {
    static int plain;
    static final AtomicInteger atomic = new AtomicInteger();

    static synchronized void add() {
        plain++;
    }

    static Thread start(String name, Runnable body) throws Exception {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        type.getMethod("name", String.class).invoke(builder, name);
        return (Thread) type.getMethod("start", Runnable.class).invoke(builder, body);
    }

    public static void main(String[] args) throws Exception {
        var threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = start("virtual-" + i, () -> {
                for (int round = 0; round < 10; round++) {
                    add();
                    atomic.incrementAndGet();
                    Thread.yield();
                }
            });
        }
        for (var thread : threads) {
            thread.join();
        }
        Object pool = Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        try (var closing = (AutoCloseable) pool) {
            for (int i = 0; i < 4; i++) {
                ((ExecutorService) pool).submit(() -> {
                    Thread.sleep(5);
                    return atomic.incrementAndGet();
                });
            }
        }
        System.out.println(plain + " " + atomic + " " + Thread.class.getMethod("isVirtual").invoke(threads[0]));
    }
}
"#;

/// Each has a thread of its own under us, so it is recorded, scheduled and repeated as any other.
fn virtual_threads_repeat(release: u32) {
    let source = ("Virtual.java".to_owned(), VIRTUAL.to_owned());
    let classes = compile_for(&FOR_ALL, "Virtual", &[source], "");
    let folder = scratch(&format!("jdks-virtual-{release}"));
    let command = command(release, &classes, "Virtual");
    let trace = repeats(&folder, "virtual", &command, "30 34 true\n");
    assert_eq!(trace.summary().virtual_threads_unseen, 0);
    let adds = trace.events.iter().filter(|event| {
        matches!(event.op, Op::Write { var, .. } if trace.tables.var_name(var) == "Virtual.plain")
    });
    assert_eq!(adds.count(), 30);
}

#[test]
fn virtual_threads_repeat_on_jdk_21() {
    virtual_threads_repeat(21);
}

#[test]
fn virtual_threads_repeat_on_jdk_25() {
    virtual_threads_repeat(25);
}
