//! `untorn` is ended from outside while a program runs: nothing that it started is left, and what was done is kept.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::java::{
    Recorded, Running, arg, compile_one, example, java, run, scratch, untorn,
};

/// Two threads that work for longer than any test takes. With an argument it ignores the signals by which it is asked to
/// end.
const LONG: &str = r#"
class Endless {
    static int count;

    static synchronized void step() {
        count++;
    }

    static void work() {
        for (long i = 0; i < 1L << 40; i++) {
            step();
        }
    }

    public static void main(String[] args) {
        for (String name : args) {
            sun.misc.Signal.handle(new sun.misc.Signal(name), s -> System.out.println("deaf to " + name));
        }
        new Thread(Endless::work, "Alice").start();
        new Thread(Endless::work, "Bob").start();
    }
}
"#;

/// No wait of these tests takes longer, unless something is wrong. The machine may be busy.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until something is true, or too long; which of them.
fn comes_true(what: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < LIMIT {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// A folder for temporary files and a mark in the command line of the JVM, both of one test only.
struct Case {
    folder: PathBuf,
    mark: String,
}

impl Case {
    fn new(name: &str) -> Self {
        let folder = scratch(&format!("terminated-{name}"));
        std::fs::create_dir(folder.join("tmp")).expect("writable");
        Self { mark: format!("-Duntorn.test={}-{name}", std::process::id()), folder }
    }

    fn java(&self, class_path: &Path, main: &str) -> Vec<String> {
        let mut command = java(class_path, main);
        command.insert(1, self.mark.clone());
        command
    }

    fn endless(&self, deaf_to: &[&str]) -> Vec<String> {
        let mut command = self.java(&compile_one("Endless.java", LONG), "Endless");
        command.extend(deaf_to.iter().map(|&name| name.to_owned()));
        command
    }

    /// The same behind a script, which stays beside it.
    fn script(&self, command: &[String]) -> Vec<String> {
        let script = self.folder.join("run.sh");
        std::fs::write(&script, format!("{}\necho over\n", command.join(" "))).expect("writable");
        vec!["sh".to_owned(), arg(&script).to_owned()]
    }

    /// Starts `untorn` with signals as a terminal leaves them: a JVM heeds none that was ignored when it was started.
    fn start(&self, args: &[&str], command: &[String]) -> Running {
        let untorn = untorn(args);
        let mut start = Command::new("env");
        start.arg("--default-signal=INT,TERM,HUP").arg(untorn.get_program());
        for (name, value) in untorn.get_envs() {
            start.env(name, value.expect("a variable that is set"));
        }
        start.env("TMPDIR", self.folder.join("tmp")).args(untorn.get_args());
        Running::start(start.arg("--").args(command)).within(LIMIT * 3)
    }

    /// The processes of this test that run.
    fn processes(&self) -> Vec<PathBuf> {
        let all = std::fs::read_dir("/proc").expect("a system with /proc").flatten();
        let is_mine = |path: &PathBuf| {
            let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
            let mut words = line.split(|&byte| byte == 0);
            // `untorn` has it among its arguments, too.
            words.next().is_some_and(|name| name.ends_with(b"java"))
                && words.any(|word| word == self.mark.as_bytes())
        };
        all.map(|entry| entry.path()).filter(is_mine).collect()
    }

    /// Waits until a JVM runs that far.
    fn until_thread(&self, name: &str) {
        let runs = |process: &PathBuf| {
            let tasks = std::fs::read_dir(process.join("task")).into_iter().flatten().flatten();
            let names =
                tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
            names.into_iter().any(|found| found.trim() == name)
        };
        assert!(comes_true(|| self.processes().iter().any(runs)), "no thread {name} ever ran");
    }

    #[track_caller]
    fn nothing_is_left(&self, with_folders: bool) {
        assert!(comes_true(|| self.processes().is_empty()), "left: {:?}", self.processes());
        let left: Vec<PathBuf> = std::fs::read_dir(self.folder.join("tmp"))
            .expect("it exists")
            .map(|entry| entry.expect("readable").path())
            .collect();
        assert!(!with_folders || left.is_empty(), "left: {left:?}");
    }
}

/// Every signal that ends `untorn`, which alone gets it, with the exit code.
const SIGNALS: [(&str, Option<i32>); 4] =
    [("TERM", Some(143)), ("HUP", Some(129)), ("INT", Some(130)), ("KILL", None)];

/// Whatever ends it, the program ends with it.
fn ends_all(name: &str, command_line: &str, is_script: bool) {
    for (signal, code) in SIGNALS {
        let case = Case::new(&format!("{name}-{signal}"));
        let out = case.folder.join("out");
        let args =
            [command_line, "-q", if command_line == "check" { "--out" } else { "-o" }, arg(&out)];
        let program = case.endless(&[]);
        let program = if is_script { case.script(&program) } else { program };
        let running = case.start(&args, &program);
        case.until_thread("Alice");
        running.signal(signal);
        let done = running.finish();
        assert_eq!(done.code, code, "{signal}: {done}");
        assert!(!done.stdout.contains("over"), "the script went on: {done}");
        case.nothing_is_left(signal != "KILL");
        if command_line == "record" && signal != "KILL" {
            assert!(Recorded::read(&out).cut.is_none(), "{signal}: the trace is cut: {done}");
        }
    }
}

#[test]
fn a_recorded_program_ends_with_untorn() {
    ends_all("record", "record", false);
}

#[test]
fn a_recorded_program_below_a_script_ends_with_untorn() {
    ends_all("record-script", "record", true);
}

#[test]
fn a_checked_program_ends_with_untorn() {
    ends_all("check", "check", false);
}

#[test]
fn a_checked_program_below_a_script_ends_with_untorn() {
    ends_all("check-script", "check", true);
}

/// How far a JVM is when the signal comes.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// It has been started, and runs nothing of the program yet.
    Starting,
    /// Threads of the program run.
    Running,
    /// The program has ended, and its last code runs.
    Ending,
}

/// Ends at once, and runs for ever in what it does at its end.
const HOOK: &str = r#"
class Hook {
    static volatile int count;

    public static void main(String[] args) throws Exception {
        Thread worker = new Thread(() -> count++, "worker");
        worker.start();
        worker.join();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true) count++; }, "hook"));
    }
}
"#;

/// Each command that runs programs, in each phase, by each signal.
fn ends_in_every_phase(command_line: &str) {
    for phase in [Phase::Starting, Phase::Running, Phase::Ending] {
        for (signal, code) in SIGNALS {
            let case = Case::new(&format!("{command_line}-{phase:?}-{signal}"));
            let out = case.folder.join("out");
            let args = match command_line {
                "record" => vec!["record", "-q", "-o", arg(&out)],
                "doctor" => vec!["doctor"],
                _ => vec![command_line, "-q", "--out", arg(&out)],
            };
            let program = match phase {
                Phase::Ending => case.java(&compile_one("Hook.java", HOOK), "Hook"),
                _ => case.endless(&[]),
            };
            let running = case.start(&args, &program);
            match phase {
                Phase::Starting => {
                    assert!(comes_true(|| !case.processes().is_empty()), "no JVM was started");
                }
                Phase::Running => case.until_thread("Alice"),
                Phase::Ending => case.until_thread("hook"),
            }
            running.signal(signal);
            let done = running.finish();
            assert_eq!(done.code, code, "{phase:?}, {signal}: {done}");
            case.nothing_is_left(signal != "KILL");
        }
    }
}

#[test]
fn a_recording_ends_in_every_phase() {
    ends_in_every_phase("record");
}

#[test]
fn a_check_ends_in_every_phase() {
    ends_in_every_phase("check");
}

#[test]
fn a_comparison_ends_in_every_phase() {
    ends_in_every_phase("compare");
}

#[test]
fn a_diagnosis_ends_in_every_phase() {
    ends_in_every_phase("doctor");
}

/// The report is written after each finding, so that even the signal that nobody can handle leaves it.
#[test]
fn an_ended_check_keeps_what_it_found() {
    for (signal, code) in [("TERM", Some(143)), ("KILL", None)] {
        let case = Case::new(&format!("report-{signal}"));
        let out = case.folder.join("out");
        let program = example("fail", "SetOverVector").command();
        let endless = ["--time", "1h", "--runs", "1000000", "--explore", "1000000"];
        let args = [&["check", "--out", arg(&out)], &endless[..]].concat();
        let running = case.start(&args, &program);
        assert!(running.prints("replay: "), "nothing was found: {}", running.finish());
        let report = out.join("report.json");
        assert!(comes_true(|| report.exists()), "{signal}: no report beside what was shown");
        running.signal(signal);
        let done = running.finish();
        assert_eq!(done.code, code, "{done}");
        let text = std::fs::read_to_string(&report).expect("a report");
        assert!(text.contains("\"interrupted\": true") && text.contains("VectorSet.add"), "{text}");
        run(&["replay", arg(&report), "1"]).with_code(0).saying("exactly");
    }
}

/// A program that handles Ctrl-C in its own way ends all the same.
#[test]
fn a_program_that_is_deaf_to_ctrl_c_is_ended() {
    let case = Case::new("deaf");
    let trace = case.folder.join("run.utr");
    let running = case.start(&["record", "-o", arg(&trace)], &case.endless(&["INT"]));
    case.until_thread("Alice");
    running.signal_group("INT");
    let done = running.finish();
    assert!(done.stdout.contains("deaf to INT"), "{done}");
    done.with_code(130).saying("untorn: recorded ");
    case.nothing_is_left(true);
}

/// Whoever presses Ctrl-C twice does not want to wait for anything.
#[test]
fn the_second_ctrl_c_ends_at_once() {
    let case = Case::new("twice");
    let trace = case.folder.join("run.utr");
    let running = case.start(&["record", "-o", arg(&trace)], &case.endless(&["INT", "TERM"]));
    case.until_thread("Alice");
    running.signal("INT");
    assert!(running.prints("deaf to INT"), "it was not passed on: {}", running.finish());
    running.signal("INT");
    let done = running.finish().with_code(130);
    assert!(!done.stderr.contains("untorn: recorded"), "it took its time: {done}");
    case.nothing_is_left(true);
}
