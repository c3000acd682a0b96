//! Files that others made, and what is in a file that is passed on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use untorn_trace::formats::utr::{Compression, ExtraKind, Writer};
use untorn_trace::{RunMeta, Sink, Tables};

use crate::support::java::{
    CommandResult, Recorded, Running, agent, arg, compile_one, example, java, record, recording,
    run, scratch, untorn,
};

/// Everybody has another key.
fn as_somebody_else(folder: &Path, args: &[&str]) -> CommandResult {
    Running::start(untorn(args).env("XDG_STATE_HOME", folder.join("state"))).finish()
}

const MARKER: &str = r#"
import java.nio.file.Files;
import java.nio.file.Path;

public class Marker {
    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(() -> System.out.println("zone " + System.getenv("TZ")));
        thread.start();
        thread.join();
        Files.writeString(Path.of(args[0]), "I ran");
        System.out.println(System.getenv("JAVA_WORDS"));
    }
}
"#;

/// A program that leaves a file behind: its command, the file, and its trace.
fn marker(folder: &Path) -> (Vec<String>, PathBuf, PathBuf) {
    let (file, trace) = (folder.join("ran"), folder.join("run.utr"));
    let mut command = java(&compile_one("Marker.java", MARKER), "Marker");
    command.push(arg(&file).to_owned());
    (command, file, trace)
}

#[test]
fn a_trace_that_somebody_else_made_is_shown_before_it_is_run() {
    let folder = scratch("trust-replay");
    let (command, ran, trace) = marker(&folder);
    let mut start = recording(&trace, &[], &command);
    start.env("TZ", "UTC").env("JAVA_WORDS", "of the recording");
    let recorded = Running::start(&mut start).finish().with_code(0);
    assert_eq!(recorded.stdout, "zone UTC\nof the recording\n");
    // Whoever made it is not asked, wherever it lies.
    let moved = folder.join("moved.utr");
    fs::rename(&trace, &moved).expect("moved");
    run(&["replay", arg(&moved)]).with_code(0).saying("events exactly");
    fs::remove_file(&ran).expect("it ran");
    let refused = as_somebody_else(&folder, &["replay", arg(&moved)]).with_code(2);
    let refused = refused.saying("was not made here").saying("Marker").saying("--trust");
    let refused = refused.saying("TZ=UTC").saying("JAVA_WORDS='of the recording'");
    assert!(!ran.exists(), "{refused}");
    // A name in the report does not make it another file.
    let trusted = as_somebody_else(&folder, &["replay", "--trust", arg(&moved)]);
    let trusted = trusted.with_code(0).saying("events exactly");
    assert_eq!(trusted.stdout, recorded.stdout);
    assert!(ran.exists(), "{trusted}");
}

#[test]
fn a_terminal_is_asked_and_variables_that_inject_code_are_left_out() {
    let folder = scratch("trust-terminal");
    let (command, ran, trace) = marker(&folder);
    let mut start = recording(&trace, &[], &command);
    start.env("TZ", "UTC").env("JAVA_WORDS", "of the recording");
    Running::start(&mut start).finish().with_code(0);
    for (answer, runs) in [("n", false), ("y", true)] {
        let _ = fs::remove_file(&ran);
        let call = format!("{} replay {}", env!("CARGO_BIN_EXE_untorn"), arg(&trace));
        let mut terminal = Command::new("sh");
        terminal.args(["-c", "echo \"$1\" | script -qec \"$2\" /dev/null", "-", answer, &call]);
        terminal.env("UNTORN_AGENT", agent()).env("XDG_STATE_HOME", folder.join("state"));
        let seen = Running::start(terminal.env("TERM", "xterm").env_remove("TZ")).finish();
        assert!(seen.stdout.contains("Run it?"), "{seen}");
        assert_eq!(ran.exists(), runs, "{seen}");
        assert!(!runs || seen.stdout.contains("zone UTC"), "{seen}");
        assert!(!seen.stdout.lines().any(|line| line.trim() == "of the recording"), "{seen}");
    }
}

/// What a stranger writes into a file, with the seal of a file of one's own.
#[test]
fn a_command_that_was_put_into_a_trace_is_not_run() {
    let folder = scratch("trust-forged");
    let (command, ran, trace) = marker(&folder);
    run(&[&["record", "-q", "-o", arg(&trace), "--"], &texts(&command)[..]].concat()).with_code(0);
    fs::remove_file(&ran).expect("it ran");
    let own = Recorded::read(&trace).tables.meta;
    let mark = format!("echo > {}", arg(&ran));
    let other_command = ["sh", "-c", &mark].map(str::to_owned).to_vec();
    let mut with_option = own.clone();
    let setup = with_option.setup.as_mut().expect("a setup");
    setup.environment.insert("JAVA_TOOL_OPTIONS".to_owned(), "-javaagent:x.jar".to_owned());
    for meta in [RunMeta { command: other_command, ..own }, with_option] {
        let forged = folder.join("forged.utr");
        let mut tables = Tables::default();
        tables.meta = meta;
        let mut writer = Writer::new(File::create(&forged).expect("writable"), Compression::None);
        writer.extra(ExtraKind::new(b"schd"), &[1, 1]).expect("written");
        writer.finish(&tables).expect("written");
        let refused = run(&["replay", arg(&forged)]).with_code(2).saying("was not made here");
        assert!(!ran.exists(), "{refused}");
    }
}

fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn the_command_of_a_report_that_somebody_else_made_is_not_run() {
    let folder = scratch("trust-verify");
    let (out, again) = (folder.join("out"), folder.join("again"));
    let bank = example("fail", "Bank").command();
    let check = ["check", "-q", "--explore", "4", "--out", arg(&out), "--"];
    run(&[&check[..], &texts(&bank)].concat()).with_code(1);
    let report = out.join("report.json");
    let verify = ["verify", arg(&report), "1", "--explore", "1", "--per-candidate", "2", "--out"];
    let verify = [&verify[..], &[arg(&again)]].concat();
    run(&verify).with_code(1);
    let refused = as_somebody_else(&folder, &verify).with_code(2).saying("was not made here");
    refused.saying("Bank").saying("--trust");
    as_somebody_else(&folder, &[&verify[..], &["--trust"]].concat()).with_code(1);
    as_somebody_else(&folder, &[&verify[..], &["--"], &texts(&bank)].concat()).with_code(1);
    // Nor one that was changed since.
    let text = fs::read_to_string(&report).expect("a report").replace("\"Bank\"\n", "\"Other\"\n");
    fs::write(&report, text).expect("written");
    run(&verify).with_code(2).saying("was not made here").saying("Other");
}

#[test]
fn files_that_are_passed_on_have_no_secrets() {
    let folder = scratch("trust-secrets");
    let (out, trace) = (folder.join("out"), folder.join("run.utr"));
    let mut command = example("fail", "Bank").command();
    command.insert(1, "-Ddb.password=unspeakable-1".to_owned());
    let secrets = [("DATABASE_URL", "db://ann:unspeakable-2@host"), ("MYSQL_PWD", "unspeakable-3")];
    let mut start = recording(&trace, &["--env", "NAMED"], &command);
    start.envs(secrets).env("NAMED", "by me").env("MAVEN_OPTS", "-Dpass=unspeakable-4");
    Running::start(&mut start).finish().with_code(0);
    let setup = Recorded::read(&trace).tables.meta.setup.expect("a setup");
    assert_eq!(setup.environment.get("NAMED").map(String::as_str), Some("by me"));
    for (name, _) in secrets {
        assert!(setup.other_variables.iter().any(|other| other == name), "{name}");
        assert!(!setup.environment.contains_key(name), "{name}");
    }
    let check = ["check", "-q", "--explore", "4", "--out", arg(&out), "--"];
    let said = run(&[&check[..], &texts(&command)].concat()).with_code(1);
    assert!(!said.stdout.contains("unspeakable"), "{said}");
    for name in ["report.json", "report.html"] {
        let text = fs::read_to_string(out.join(name)).expect("a report");
        assert!(!text.contains("unspeakable"), "{name}");
        assert!(text.contains("-Ddb.password=***"), "{name}");
    }
    run(&["replay", "-q", arg(&out.join("report.json")), "1"]);
    let report = out.join("report.json");
    run(&["verify", arg(&report), "1", "--out", arg(&folder.join("again"))])
        .with_code(2)
        .saying("its command had secrets");
}

const KEYS: &str = r#"
import java.util.concurrent.ConcurrentHashMap;

public class Keys {
    static final ConcurrentHashMap<String, Integer> MAP = new ConcurrentHashMap<>();
    static long amount = 2349872398L;

    static synchronized void step() {
        long before = amount;
        MAP.put("unspeakable", 1);
        amount = before + 17;
    }

    static void change() { amount += 1; }

    public static void main(String[] args) throws Exception {
        Thread one = new Thread(() -> { for (int i = 0; i < 20; i++) step(); }, "one");
        Thread other = new Thread(() -> { for (int i = 0; i < 20; i++) change(); }, "other");
        one.start();
        other.start();
        one.join();
        other.join();
    }
}
"#;

#[test]
fn a_scrubbed_trace_has_no_data() {
    let folder = scratch("trust-scrub");
    let (trace, public) = (folder.join("run.utr"), folder.join("public.utr"));
    let mut command = java(&compile_one("Keys.java", KEYS), "Keys");
    command.push("unspeakable".to_owned());
    let options = ["--policy", "random", "--seed", "3", "--quantum", "3", "--env", "NAMED"];
    let mut start = recording(&trace, &options, &command);
    Running::start(start.env("NAMED", "unspeakable")).finish().with_code(0);
    run(&["trace", "scrub", arg(&trace), arg(&public)]).with_code(0);
    let bytes = fs::read(&public).expect("a trace");
    for word in ["unspeakable", "-cp", "NAMED", "schd"] {
        let has = |bytes: &[u8]| bytes.windows(word.len()).any(|piece| piece == word.as_bytes());
        assert!(has(&fs::read(&trace).expect("a trace")) && !has(&bytes), "{word}");
    }
    let (before, after) = (Recorded::read(&trace), Recorded::read(&public));
    assert_eq!(before.events.len(), after.events.len());
    assert!(after.tables.meta.command.is_empty() && after.tables.meta.setup.is_none());
    let has_amount = |recorded: &Recorded| {
        recorded.events.iter().any(|event| recorded.words(event).contains("2349872398"))
    };
    assert!(has_amount(&before) && !has_amount(&after));
    run(&["replay", arg(&public)]).with_code(2).saying("has no schedule");
}

#[test]
fn a_scrubbed_trace_has_the_same_verdicts() {
    let folder = scratch("trust-verdicts");
    let [bank_trace, made] = ["bank.utr", "made.utr"].map(|name| folder.join(name));
    let bank = example("fail", "Bank");
    record(&bank_trace, &["--plan", arg(&bank.beside("plan"))], &bank.command()).with_code(0);
    let generate = ["trace", "generate", "small", "--violation", "--events", "2000", "-o"];
    run(&[&generate[..], &[arg(&made)]].concat()).with_code(0);
    let mut verdicts = Vec::new();
    for trace in [&bank_trace, &made] {
        let public = folder.join("public.utr");
        run(&["trace", "scrub", arg(trace), arg(&public)]).with_code(0);
        for question in ["analyze", "confirm", "predict"] {
            let [before, after] = [trace, &public].map(|path| run(&[question, arg(path)]));
            let lines = |said: &CommandResult| said.stdout.lines().count();
            assert_eq!((before.code, lines(&before)), (after.code, lines(&after)), "{before}");
            verdicts.push(before.code);
        }
    }
    assert!(verdicts.contains(&Some(0)) && verdicts.contains(&Some(1)), "{verdicts:?}");
}
