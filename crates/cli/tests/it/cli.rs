//! What the tool says, case by case, compared with the files in `golden/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{compare, root, transcript, untorn};

/// Runs in the folder of the test data.
fn check(name: &str, args: &[&str]) {
    check_with(name, args, b"");
}

fn check_with(name: &str, args: &[&str], stdin: &[u8]) {
    let output = untorn(&data(), args, stdin);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    compare(&golden.join(format!("{name}.txt")), &transcript(args, &output));
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn example(name: &str) -> Vec<u8> {
    std::fs::read(root().join("examples/traces").join(name)).expect("the example exists")
}

/// A folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

fn code(folder: &Path, args: &[&str]) -> Option<i32> {
    untorn(folder, args, b"").status.code()
}

#[test]
fn help_and_version() {
    check("help", &["--help"]);
    check("help-analyze", &["analyze", "--help"]);
    check("help-compose", &["compose", "--help"]);
    check("help-confirm", &["confirm", "--help"]);
    check("help-check", &["check", "--help"]);
    check("help-record", &["record", "--help"]);
    check("help-trace", &["trace", "--help"]);
    for command in ["info", "convert", "generate", "cut", "validate"] {
        check(&format!("help-trace-{command}"), &["trace", command, "--help"]);
    }
    check("version", &["--version"]);
    check("no-arguments", &[]);
}

#[test]
fn wrong_usage() {
    check("typo-command", &["analyse", "x.std"]);
    check("typo-option", &["analyze", "--lenint", "x.std"]);
    check("typo-checker", &["analyze", "--with", "velodrom", "x.std"]);
    check("typo-shape", &["trace", "generate", "mixx", "-o", "-"]);
    check("no-file", &["analyze"]);
    check("two-dashes-in", &["analyze", "-", "-"]);
    check("two-dashes-out", &["analyze", "two-violations.std", "--dot", "-", "--svg", "-"]);
    check("empty-pattern", &["analyze", "--atomic", "", "two-violations.std"]);
    check(
        "cut-nothing",
        &["trace", "cut", "two-violations.std", "--from", "5", "--to", "5", "-o", "-"],
    );
}

#[test]
fn bad_input() {
    check("missing-file", &["analyze", "no-such-file.std"]);
    check("missing-file-among-others", &["analyze", "no-such-file.std", "two-violations.std"]);
    check("malformed", &["analyze", "malformed.std"]);
    check("malformed-lenient", &["analyze", "--lenient", "malformed.std"]);
    check("ill-formed", &["analyze", "ill-formed.std"]);
    check("ill-formed-lenient", &["analyze", "--lenient", "ill-formed.std"]);
    check("folder", &["analyze", "."]);
}

#[test]
fn composing_from_bad_input() {
    check("compose-missing", &["compose", "no-such.jar"]);
    check("compose-no-jar", &["compose", "two-violations.std"]);
    check("compose-no-classes", &["compose", "."]);
    check("compose-sign", &["compose", "--with", "uses", "x.jar"]);
    check("compose-two-dashes", &["compose", "--json", "-", "--sarif", "-", "x.jar"]);
}

#[test]
fn nothing_to_check_is_never_a_pass() {
    check("no-blocks", &["analyze", "no-blocks.std"]);
    check("no-blocks-quiet", &["analyze", "--quiet", "no-blocks.std"]);
    check("no-match", &["analyze", "--atomic", "Nothing.*", "two-violations.std"]);
    check_with("empty-input", &["analyze", "--format", "std", "-"], b"");
}

#[test]
fn findings() {
    check("two-violations", &["analyze", "two-violations.std"]);
    check("verbose", &["analyze", "--verbose", "two-violations.std"]);
    check("quiet", &["analyze", "--quiet", "two-violations.std"]);
    check("color", &["analyze", "--color", "always", "two-violations.std"]);
    check("atomic", &["analyze", "--atomic", "Gauge.*", "two-violations.std"]);
    check("not-atomic", &["analyze", "--not-atomic", "Counter.inc", "two-violations.std"]);
    check("two-files", &["analyze", "two-violations.std", "two-violations.std"]);
    check_with("stdin", &["analyze", "-"], &example("fail/set-add.std"));
}

#[test]
fn reports() {
    check("json", &["analyze", "--json", "-", "two-violations.std"]);
    check("dot", &["analyze", "--dot", "-", "two-violations.std"]);
    check("svg", &["analyze", "--svg", "-", "two-violations.std"]);
    let atomic = ["--atomic", "Nothing"];
    check(
        "dot-of-nothing",
        &[&["analyze", "--dot", "-", "two-violations.std"][..], &atomic].concat(),
    );
    check("unwritable", &["analyze", "--svg", "no/such/folder/x.svg", "two-violations.std"]);
}

#[test]
fn each_checker() {
    for checker in ["fast", "velodrome", "aerodrome", "atomizer", "eraser", "two-pass"] {
        check(&format!("with-{checker}"), &["analyze", "--with", checker, "two-violations.std"]);
    }
    check(
        "with-all",
        &[
            "analyze",
            "--with",
            "fast,velodrome,aerodrome,atomizer,eraser,two-pass",
            "two-violations.std",
        ],
    );
    check_with(
        "with-two-pass-stdin",
        &["analyze", "--with", "two-pass", "-"],
        &example("fail/set-add.std"),
    );
}

#[test]
fn confirming() {
    check_with("confirm", &["confirm", "-"], &example("fail/bank.jsonl"));
    check_with("confirm-atomic", &["confirm", "-"], &example("pass/bank-locked.jsonl"));
    check_with("confirm-json", &["confirm", "--json", "-", "-"], &example("fail/bank.jsonl"));
    check_with(
        "confirm-window",
        &["confirm", "--window", "0..3", "-"],
        &example("fail/bank.jsonl"),
    );
    check_with(
        "confirm-events",
        &["confirm", "--events", "1,4,6", "-"],
        &example("fail/bank.jsonl"),
    );
    check_with(
        "confirm-printed",
        &["confirm", "--with", "printed", "-"],
        &example("fail/bank.jsonl"),
    );
    // Without values nothing can be said that must not look like a pass.
    check("confirm-undecided", &["confirm", "two-violations.std"]);
    check("confirm-no-blocks", &["confirm", "no-blocks.std"]);
    check("confirm-no-window", &["confirm", "--window", "5", "two-violations.std"]);
    check("confirm-beyond", &["confirm", "--window", "5..500", "two-violations.std"]);
}

#[test]
fn trace_commands() {
    check("info", &["trace", "info", "two-violations.std"]);
    check_with("info-stdin", &["trace", "info", "-"], &example("fail/bank.jsonl"));
    check("validate-good", &["trace", "validate", "two-violations.std"]);
    check("validate-bad", &["trace", "validate", "ill-formed.std"]);
    check("validate-malformed-lenient", &["trace", "validate", "--lenient", "malformed.std"]);
    check("convert", &["trace", "convert", "two-violations.std", "-", "--to", "jsonl"]);
    check(
        "convert-lossy",
        &["trace", "convert", "../../../../examples/traces/fail/bank.jsonl", "-", "--to", "std"],
    );
    check("convert-unknown", &["trace", "convert", "two-violations.std", "x.unknown"]);
    check(
        "convert-read-only",
        &["trace", "convert", "two-violations.std", "-", "--to", "rapidbin"],
    );
    check(
        "cut",
        &[
            "trace",
            "cut",
            "two-violations.std",
            "--from",
            "2",
            "--to",
            "10",
            "-o",
            "-",
            "--to-format",
            "std",
        ],
    );
    check(
        "cut-beyond",
        &["trace", "cut", "two-violations.std", "--from", "1000", "-o", "-", "--to-format", "std"],
    );
    check(
        "generate-too-short",
        &["trace", "generate", "small", "--events", "2", "--violation", "-o", "-", "--to", "std"],
    );
}

/// Every format holds the same trace, and a generated violation is found in each.
#[test]
fn a_trace_survives_every_format() {
    let folder = scratch("formats");
    let make = ["trace", "generate", "mix", "--events", "3000", "--violation", "-o", "mix.utr"];
    assert_eq!(code(&folder, &make), Some(0));
    for out in ["mix.std", "mix.jsonl", "mix.std.gz", "mix.jsonl.zst", "again.utr"] {
        assert_eq!(code(&folder, &["trace", "convert", "mix.utr", out]), Some(0), "{out}");
        assert_eq!(code(&folder, &["trace", "validate", out]), Some(0), "{out}");
        assert_eq!(code(&folder, &["analyze", "--quiet", out]), Some(1), "{out}");
    }
    // The same call gives the same bytes, and a trace may take the place of itself.
    let before = std::fs::read(folder.join("mix.utr")).expect("written");
    assert_eq!(code(&folder, &make), Some(0));
    assert_eq!(std::fs::read(folder.join("mix.utr")).expect("written"), before);
    assert_eq!(code(&folder, &["trace", "convert", "mix.std", "mix.std"]), Some(0));
    assert_eq!(code(&folder, &["analyze", "--quiet", "mix.std"]), Some(1));
}

/// A file that ends too early is checked up to there, and says so.
#[test]
fn a_cut_file_is_read_and_confessed() {
    let folder = scratch("cut");
    let make = ["trace", "generate", "mix", "--events", "60000", "-o", "whole.utr"];
    assert_eq!(code(&folder, &make), Some(0));
    let bytes = std::fs::read(folder.join("whole.utr")).expect("written");
    std::fs::write(folder.join("cut.utr"), &bytes[..bytes.len() * 2 / 3]).expect("writable");
    let output = untorn(&folder, &["analyze", "cut.utr"], b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cut short"), "{said}");
    assert_eq!(output.status.code(), Some(0));
    let info = untorn(&folder, &["trace", "info", "cut.utr"], b"");
    assert!(String::from_utf8_lossy(&info.stdout).contains("NO, cut short"));
}

/// The reader of our output may go away at any time.
#[cfg(unix)]
#[test]
fn a_broken_pipe_is_quiet() {
    let tool = env!("CARGO_BIN_EXE_untorn");
    for command in [
        format!("{tool} analyze two-violations.std | true; echo ${{PIPESTATUS[0]}} >&2"),
        format!("{tool} trace generate mix --events 200000 -o - --to std | head -1 >/dev/null"),
        format!("{tool} --help | true"),
    ] {
        let output = Command::new("bash")
            .args(["-c", &command])
            .current_dir(data())
            .stdin(Stdio::null())
            .output()
            .expect("bash runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.is_empty() || said == "1\n", "{command} said: {said}");
    }
}
