//! `untorn check` on programs whose blocks run only with other inputs than those that they are given.

use crate::check::{check, report};
use crate::support::java::{arg, example, run, scratch};

/// Other arguments are found with which the block is torn; the finding says which, and its replay has them.
fn finds_with_other_inputs(name: &str) {
    let example = example("inputs", name);
    let (_, block) = example.key("expect").and_then(|text| text.split_once(' ')).expect("a block");
    let given = example.key("arguments").expect("arguments");
    let mut command = example.command();
    command.extend(given.split(' ').map(str::to_owned));
    let out = scratch(&format!("check-inputs-{name}"));
    let done = check(&out, &["--minimise", "0"], &command).with_code(1);
    let report = report(&out);
    let finding = &report["findings"][0];
    let headline = finding["headline"].as_str().unwrap_or_default();
    assert!(headline.contains(block), "{block} was not found: {done}");
    let inputs = finding["evidence"]["inputs"].as_str().unwrap_or_default();
    assert!(inputs.starts_with("argument") && !inputs.ends_with(given), "{inputs}: {done}");
    assert!(done.stdout.contains(&format!("with {inputs}")), "{done}");
    assert!(!done.stdout.contains("re-execution diverged"), "{done}");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page was written");
    assert!(page.contains(inputs.split(' ').next_back().unwrap_or_default()), "{inputs}");
    let again = run(&["replay", arg(&out.join("report.json")), "1"]);
    assert!(again.stderr.contains("events exactly"), "the replay differs: {again}");
}

#[test]
fn withdrawals_that_an_account_can_pay() {
    finds_with_other_inputs("Account");
}

#[test]
fn an_equation() {
    finds_with_other_inputs("BehindAGuard");
}

#[test]
fn guards_within_guards() {
    finds_with_other_inputs("NestedGuards");
}

#[test]
fn a_case_of_a_switch() {
    finds_with_other_inputs("ByCase");
}

#[test]
fn a_command_in_words() {
    finds_with_other_inputs("ByCommand");
}

#[test]
fn the_inputs_stay_if_the_user_wants_it() {
    let mut command = example("inputs", "Account").command();
    command.extend(["100".to_owned(), "100".to_owned()]);
    let out = scratch("check-inputs-own");
    let done = check(&out, &["--own-inputs"], &command).with_code(0);
    assert!(!done.stdout.contains("inputs:"), "{done}");
}

#[test]
fn a_file_that_is_no_text_is_no_standard_input() {
    let command = example("inputs", "Account").command();
    let out = scratch("check-inputs-stdin");
    std::fs::create_dir_all(&out).expect("a folder");
    let file = out.join("bytes");
    std::fs::write(&file, [0xff, 0xfe]).expect("a file");
    let done = check(&out, &["--stdin", arg(&file)], &command).with_code(2);
    assert!(done.stderr.contains("as standard input"), "{done}");
    check(&out, &["--stdin", "nowhere.txt"], &command).with_code(2);
}
