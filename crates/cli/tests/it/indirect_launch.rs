//! Programs behind scripts and build tools: which JVM is meant, and that the others are left alone.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::java::{
    self, CommandResult, Recorded, Running, arg, compile_one, example, run, scratch, untorn,
};

/// For what starts many JVMs, Maven's among them.
const LIMIT: Duration = Duration::from_secs(400);

/// Starts a JVM with the same class, and tells what it finds of us.
const NESTED: &str = r#"
class Nested {
    public static void main(String[] args) throws Exception {
        System.out.println(args[0] + ": " + System.getenv("JAVA_TOOL_OPTIONS") + " " + hash());
        if (args[0].equals("child")) return;
        String java = System.getProperty("java.home") + "/bin/java";
        Process child = new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "Nested", "child")
            .redirectOutput(ProcessBuilder.Redirect.INHERIT).start();
        System.exit(child.waitFor());
    }

    static String hash() {
        // Under the agent they count up from 2^20.
        return Math.abs(new Object().hashCode() - (1 << 20)) < 100_000 ? "small" : "large";
    }
}
"#;

/// A folder with a script that has these lines.
fn script(name: &str, lines: &str) -> PathBuf {
    let path = scratch(&format!("behind-{name}")).join("run.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("a script is written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
    path
}

/// The words that start `Bank`, for a script.
fn bank() -> String {
    example("fail", "Bank").command().join(" ")
}

fn record(script: &Path, options: &[&str]) -> (CommandResult, PathBuf) {
    let trace = script.with_file_name("run.utr");
    (run(&[&["record", "-o", arg(&trace)], options, &["--", arg(script)]].concat()), trace)
}

#[test]
fn the_only_jvm_of_a_script_is_recorded_and_replayed() {
    // Neither the compiler nor a JVM that tells its version runs a program.
    let script = script("only", &format!("java -version\njavac -version\n{}\nexit 7", bank()));
    let (done, trace) = record(&script, &[]);
    let done = done.with_code(7).saying("recorded").saying("Picked up JAVA_TOOL_OPTIONS");
    assert!(done.stdout.ends_with("balance 20\n"), "{done}");
    assert_eq!(Recorded::read(&trace).tables.meta.command, [arg(&script)]);
    run(&["replay", arg(&trace)]).with_code(7).saying("events exactly");
}

#[test]
fn a_script_is_chased() {
    let script = script("chased", &format!("{} | sed 's/^/says: /'", bank()));
    let out = script.with_file_name("out");
    let mut check = untorn(&["check", "--explore", "0", "--out", arg(&out), "--", arg(&script)]);
    let found = Running::start(&mut check).within(LIMIT).finish().with_code(1);
    assert!(found.stdout.contains("Account.withdraw is not atomic"), "{found}");
    assert!(found.stdout.contains("visible: printed \"says: balance"), "{found}");
    let again = run(&["replay", arg(&out.join("report.json")), "1"]).with_code(0);
    assert!(again.stdout.contains(", expected 20\n"), "{again}");
    let report = out.join("report.json");
    let mut verify = untorn(&["verify", arg(&report), "1", "--out"]);
    verify.arg(script.with_file_name("again"));
    let still = Running::start(&mut verify).within(LIMIT).finish().with_code(1);
    assert!(still.stdout.contains("can STILL be torn"), "{still}");
}

#[test]
fn of_several_jvms_one_must_be_chosen() {
    let script = script("several", &format!("{0} first\n{0} second", bank()));
    let (done, _) = record(&script, &[]);
    done.with_code(2)
        .saying("2 JVMs ran: which one is meant?")
        .saying("Bank first")
        .saying("--main");
    let out = script.with_file_name("out");
    run(&["check", "--out", arg(&out), "--", arg(&script)]).with_code(2).saying("Bank second");
    let (done, trace) = record(&script, &["--main", "Bank second"]);
    done.with_code(0).saying("recorded");
    run(&["replay", arg(&trace)]).with_code(0).saying("events exactly");
    let (done, _) = record(&script, &["--main", "Bank"]);
    done.with_code(0).saying("2 JVMs are meant by --main 'Bank'; only the first was recorded");
    let (done, _) = record(&script, &["--main", "Shop"]);
    done.with_code(2).saying("no JVM is meant by --main 'Shop'").saying("Bank first");
    let (done, _) = record(&script, &["--test", "BankTest"]);
    done.with_code(2).saying("no JVM is meant by --test 'BankTest'");
    let (done, _) = record(&script, &["--main", ""]);
    done.with_code(2).saying("an empty pattern");
}

#[test]
fn a_jvm_that_is_not_meant_is_as_without_us() {
    let classes = compile_one("Nested.java", NESTED);
    let command = java::java(&classes, "Nested");
    let script = script("nested", &format!("{} parent", command.join(" ")));
    // The program sees its own environment, and so does what it starts.
    let (done, _) = record(&script, &["--main", "Nested parent"]);
    let done = done.with_code(0).saying("recorded");
    assert_eq!(done.stdout, "parent: null small\nchild: null large\n");
    // If nobody says which is meant, a child counts.
    let (done, _) = record(&script, &[]);
    done.with_code(2).saying("Nested parent").saying("Nested child");
    // The child may be the one, also behind `java` itself. The parent has no option but the agent.
    let trace = script.with_file_name("child.utr");
    let mut start = untorn(&["record", "-o", arg(&trace), "--main", "Nested child", "--"]);
    let done = Running::start(start.args(&command).arg("parent")).finish().with_code(0);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(lines[0].starts_with("parent: -agentpath:") && lines[0].ends_with(" large"), "{done}");
    assert_eq!(lines[1], "child: null small", "{done}");
}

#[test]
fn options_of_the_user_stay() {
    let source = "class Property { public static void main(String[] a) { \
                  System.out.println(System.getProperty(\"mine\") + System.getenv(\"JAVA_TOOL_OPTIONS\")); } }";
    let command = java::java(&compile_one("Property.java", source), "Property");
    let script = script("options", &command.join(" "));
    // Set in the script, because the tests run without it.
    let outer = script.with_file_name("outer.sh");
    let words = format!(
        "#!/bin/sh\nJAVA_TOOL_OPTIONS=-Dmine=yes {} record --main Property -o {} -- {}\n",
        env!("CARGO_BIN_EXE_untorn"),
        script.with_file_name("run.utr").display(),
        script.display()
    );
    std::fs::write(&outer, words).expect("a script is written");
    let mut start = Command::new("sh");
    start.arg(&outer).env("UNTORN_AGENT", java::agent());
    let done = Running::start(&mut start).finish().with_code(0);
    assert_eq!(done.stdout, "yes-Dmine=yes\n");
}

#[test]
fn a_deadlock_behind_a_script_is_one() {
    let command = example("fail", "LockOrder").command().join(" ");
    let script = script("deadlock", &format!("{command}\necho code $?\nexit 0"));
    let out = script.with_file_name("out");
    let mut check = untorn(&["check", "--explore", "0", "--out", arg(&out), "--", arg(&script)]);
    let found = Running::start(&mut check).within(LIMIT).finish().with_code(1);
    assert!(found.stdout.contains("deadlock"), "{found}");
    let again = run(&["replay", arg(&out.join("report.json")), "1"]);
    again.saying("events exactly").saying("a deadlock");
}

#[test]
fn a_script_that_takes_too_long_is_ended_with_its_jvm() {
    let source = "class Endless { public static void main(String[] a) throws Exception { \
                  Thread t = new Thread(() -> { while (true) { a.clone(); } }); t.start(); t.join(); } }";
    let command = java::java(&compile_one("Endless.java", source), "Endless");
    let script = script("endless", &format!("{} a-word-to-find\necho never", command.join(" ")));
    let out = script.with_file_name("out");
    let mut check = untorn(&["check", "--run-time", "4s", "--runs", "1", "--out", arg(&out), "--"]);
    // It ends only when nobody holds its streams, so the JVM is gone, too.
    Running::start(check.arg(&script)).finish();
    let left = Command::new("pgrep").args(["-f", &format!("{} a-word", arg(&script))]).output();
    assert!(left.is_ok_and(|left| left.stdout.is_empty()), "a JVM is left");
}

/// A copy of `examples/maven`, whose libraries and plugins `./dev setup` has fetched.
fn maven_project(name: &str) -> PathBuf {
    let folder = scratch(&format!("behind-maven-{name}"));
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/maven");
    let copied = Command::new("cp").arg("-r").arg(from).arg(folder.join("bank")).status();
    assert!(copied.is_ok_and(|status| status.success()), "examples/maven is copied");
    folder.join("bank")
}

/// Calls `untorn` in a project.
fn in_project(project: &Path, args: &[&str]) -> CommandResult {
    let mut start = untorn(args);
    start.current_dir(project);
    Running::start(&mut start).within(LIMIT).finish()
}

const MAVEN: [&str; 6] = ["--", "mvn", "-o", "-q", "-B", "test"];

#[test]
fn a_test_that_maven_runs_is_recorded_and_replayed() {
    let project = maven_project("record");
    let done = in_project(&project, &[&["record", "--test", "AccountTest"], &MAVEN[..]].concat());
    let done = done.with_code(0).saying("recorded");
    assert!(done.stderr.contains("of the application"), "{done}");
    for _ in 0..2 {
        in_project(&project, &["replay", "run.utr"]).with_code(0).saying("events exactly");
    }
    let done = in_project(&project, &[&["record", "--test", "ShopTest"], &MAVEN[..]].concat());
    done.with_code(2).saying("no JVM is meant by --test 'ShopTest'").saying("surefirebooter");
}

#[test]
fn a_test_that_maven_runs_is_chased() {
    let project = maven_project("check");
    let options = ["check", "--explore", "0", "--minimise", "0", "--time", "150s"];
    let done = in_project(&project, &[&options[..], &["--main", "surefire*"], &MAVEN[..]].concat());
    let done = done.with_code(1);
    assert!(done.stdout.contains("com.acme.Account.withdraw is not atomic"), "{done}");
    assert!(done.stdout.contains("visible: exit code 1"), "{done}");
    let again = in_project(&project, &["replay", "untorn-out/report.json", "1"]).with_code(1);
    assert!(again.stdout.contains("expected: <20> but was: <-60>"), "{again}");
    again.saying("events exactly");
}

/// Gradle sends its JVM through a socket what to run. Here a class of the same name replaces it.
#[test]
fn who_asks_for_a_test_of_gradle_hears_what_to_do() {
    let source = "package worker.org.gradle.process.internal.worker; \
                  class GradleWorkerMain { public static void main(String[] a) {} }";
    let classes = compile_one("GradleWorkerMain.java", source);
    let command =
        java::java(&classes, "worker.org.gradle.process.internal.worker.GradleWorkerMain");
    let script = script("gradle-worker", &command.join(" "));
    let (done, _) = record(&script, &["--test", "AccountTest"]);
    done.with_code(2).saying("cannot see what Gradle does").saying("--main '*GradleWorkerMain*'");
    let (done, _) = record(&script, &["--main", "*GradleWorkerMain*"]);
    done.with_code(0).saying("recorded");
}

/// Calls Gradle in a copy of `examples/gradle`.
fn gradle(project: &Path, before: &[&str], task: &str) -> CommandResult {
    let words = ["gradle", "-q", "--no-daemon", "--offline", task];
    let mut start = if before.is_empty() {
        let mut gradle = Command::new(words[0]);
        gradle.args(&words[1..]);
        gradle
    } else {
        untorn(&[before, &["--"], &words[..]].concat())
    };
    start.current_dir(project).env("JUNIT", java::libraries().join("JUnit4/lib"));
    Running::start(&mut start).within(LIMIT).finish().with_code(0)
}

/// Directly, by the class path that Gradle knows, it replays. In Gradle's own JVM it is recorded, too, but that one talks
/// through a socket to Gradle.
#[test]
fn a_test_of_gradle_is_recorded_and_replayed() {
    let folder = scratch("behind-gradle");
    for project in ["gradle", "maven"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(project);
        let copied = Command::new("cp").arg("-r").arg(from).arg(folder.join(project)).status();
        assert!(copied.is_ok_and(|status| status.success()), "examples/{project} is copied");
    }
    let project = folder.join("gradle");
    let said = gradle(&project, &[], "testPath").stdout;
    let path = said.trim_end().lines().last().expect("a class path");
    let test = ["record", "--junit", "com.acme.AccountTest", "-cp", path];
    in_project(&project, &test).with_code(0).saying("recorded");
    in_project(&project, &["replay", "run.utr"]).with_code(0).saying("events exactly");

    let trace = project.join("worker.utr");
    let meant = ["record", "-o", arg(&trace), "--main", "*GradleWorkerMain*"];
    gradle(&project, &meant, "test").saying("recorded");
    let recorded = Recorded::read(&trace);
    assert!(recorded.in_file("Account.java").count() > 10, "the test ran under the agent");
}

/// A thread of the JDK tells that the child has ended. Waiting for it was once taken for a deadlock after a second.
#[test]
fn waiting_for_a_child_process_is_no_deadlock() {
    let source = "class Waits { public static void main(String[] a) throws Exception { \
                  System.out.println(new ProcessBuilder(\"sleep\", \"2.5\").start().waitFor()); } }";
    let command = java::java(&compile_one("Waits.java", source), "Waits");
    let trace = scratch("behind-waits").join("run.utr");
    let mut record = java::recording(&trace, &[], &command);
    let done = Running::start(&mut record).finish().with_code(0);
    assert_eq!(done.stdout, "0\n");
}
