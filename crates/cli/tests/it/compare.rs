//! The methods that the chase is compared with, on real JVMs: they run, repeat, replay and are counted; and
//! `untorn.toml`.

use crate::support::java::{arg, example, record, run, scratch};
use serde_json::Value;

fn compared(name: &str, methods: &str, options: &[&str]) -> Value {
    let folder = scratch(&format!("compare-{name}"));
    let (out, json) = (folder.join("out"), folder.join("compare.json"));
    let mut args = vec!["compare", "--with", methods, "--out", arg(&out), "--json", arg(&json)];
    args.extend(options);
    let command = example("fail", "Bank").command();
    args.push("--");
    args.extend(command.iter().map(String::as_str));
    run(&args).with_code(1);
    let text = std::fs::read(&json).expect("it is written");
    serde_json::from_slice(&text).expect("it is JSON")
}

/// Time is what the machine allows; which methods find the bank in a few runs does not depend on it.
#[test]
fn the_bank_is_compared() {
    let methods = "velodrome,atomfuzzer,penelope,atomchase";
    let said = compared("bank", methods, &["--time", "6s"]);
    let rows = said["methods"].as_array().expect("a row for each");
    assert_eq!(rows.len(), 4, "{said:#}");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).expect("it ran");
    assert_eq!(row("velodrome")["found"], 0, "withdraw is not declared: {said:#}");
    for name in ["penelope", "atomchase"] {
        assert_eq!(row(name)["found"], 1, "{said:#}");
        assert_eq!(row(name)["shared"], 1, "{said:#}");
        let torn = &row(name)["violations"][0];
        assert_eq!(
            (&torn["block"], &torn["field"]),
            (&Value::from("Account.withdraw"), &Value::from("Account.balance"),)
        );
        let trace = torn["trace"].as_str().expect("a trace is kept");
        let again = run(&["replay", trace]).with_code(0);
        assert!(again.stderr.contains("exactly"), "{again}");
    }
    assert_eq!(row("atomchase")["new"], 0, "PENELOPE came first: {said:#}");
}

/// Policies that hold threads: the same seed gives the same trace, which replays; AtomFuzzer tears the bank.
#[test]
fn held_threads_repeat_and_replay() {
    let folder = scratch("compare-held");
    let command = example("fail", "Bank").command();
    let first = folder.join("first.utr");
    record(&first, &[], &command).with_code(0);
    for policy in ["atomfuzzer", "adversarial", "pos"] {
        let (one, two) = (folder.join("one.utr"), folder.join("two.utr"));
        let mut options = vec!["--policy", policy, "--seed", "5"];
        if policy != "pos" {
            options.extend(["--marks", arg(&first)]);
        }
        let done = record(&one, &options, &command).with_code(0);
        record(&two, &options, &command).with_code(0);
        let same = std::fs::read(&one).expect("a trace") == std::fs::read(&two).expect("a trace");
        assert!(same, "{policy} does not repeat");
        let again = run(&["replay", arg(&one)]).with_code(0);
        assert!(again.stderr.contains("exactly"), "{policy}: {again}");
        if policy == "atomfuzzer" {
            assert!(done.stdout.contains("expected 20"), "{done}");
        }
    }
    let without = folder.join("without.utr");
    record(&without, &["--policy", "atomfuzzer"], &command).with_code(2);
}

fn in_folder(folder: &std::path::Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_untorn"));
    let output = command.args(args).current_dir(folder).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_project_says_it_once() {
    let folder = scratch("compare-project");
    let _ = std::fs::remove_file(folder.join("untorn.toml"));
    let (code, _, error) = in_folder(&folder, &["check"]);
    assert_eq!(code, Some(2), "{error}");
    assert_eq!(in_folder(&folder, &["init"]).0, Some(0));
    let (code, _, error) = in_folder(&folder, &["init"]);
    assert_eq!(code, Some(2), "an existing file stays: {error}");

    let words: Vec<String> =
        example("fail", "Bank").command().iter().map(|word| format!("{word:?}")).collect();
    let text = format!(
        "[check]\ncommand = [{}]\ntime = \"1h\"\nwith = [\"penelope\"]\nout = \"found\"\n",
        words.join(", ")
    );
    std::fs::write(folder.join("untorn.toml"), &text).expect("written");
    let (code, said, error) = in_folder(&folder, &["check"]);
    assert_eq!(code, Some(1), "{said}{error}");
    assert!(folder.join("found/report.json").is_file(), "{said}");
    // The command line wins, and may say that the bank is as it should be.
    let (code, said, error) = in_folder(&folder, &["check", "--not-atomic", "Account.*"]);
    assert_eq!(code, Some(0), "{said}{error}");

    std::fs::write(folder.join("untorn.toml"), format!("{text}tiem = 5\n")).expect("written");
    let (code, _, error) = in_folder(&folder, &["check"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("untorn.toml:6: unknown field `tiem`"), "{error}");
}
