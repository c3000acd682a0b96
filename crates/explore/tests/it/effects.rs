//! What a person would notice: it is told with the finding, and what also happens without is not.

use untorn_explore::Values;
use untorn_frontend::ExitKind;

use crate::harness::{explore, two, two_then};

/// A lost update, and what main makes of it.
fn counted(end: &str) -> String {
    let add = "call Counter.add\nread x r\nadd r 1\nwrite x r\nreturn Counter.add";
    two_then("x = 0", add, add, end)
}

fn effects(text: &str) -> Vec<String> {
    let outcome = explore(text);
    assert_eq!(outcome.violations.len(), 1);
    outcome.violations[0].judged.effects.iter().map(ToString::to_string).collect()
}

#[test]
fn a_wrong_number_is_printed() {
    assert_eq!(effects(&counted("read x r\nprint total $r")), ["printed \"total 1\""]);
}

#[test]
fn an_assertion_fails() {
    let end = "read x r\nif r == 2 goto fine\nfail lost an update\n.fine";
    let effects = effects(&counted(end));
    assert!(effects.contains(&"uncaught: Failed: lost an update".to_owned()), "{effects:?}");
}

#[test]
fn another_exit_code() {
    let end = "read x r\nif r == 2 goto fine\nexit 3\n.fine";
    let effects = effects(&counted(end));
    assert!(effects.iter().any(|effect| effect.contains('3')), "{effects:?}");
}

#[test]
fn nothing_is_said_of_what_is_always_printed() {
    assert_eq!(effects(&counted("print done")), [] as [&str; 0]);
}

#[test]
fn the_order_of_lines_is_no_effect() {
    let a = "print one\ncall C.add\nread x r\nadd r 1\nwrite x r\nreturn C.add";
    let b = "print two\ncall C.add\nread x r\nadd r 1\nwrite x r\nreturn C.add";
    assert_eq!(effects(&two("x = 0", a, b)), [] as [&str; 0]);
}

#[test]
fn a_lost_update_is_proved_by_values() {
    let outcome = explore(&counted(""));
    assert!(matches!(outcome.violations[0].judged.values, Values::NotAtomic { .. }));
}

#[test]
fn a_proof_and_an_effect_go_together() {
    let outcome = explore(&counted("read x r\nprint total $r"));
    let judged = &outcome.violations[0].judged;
    assert!(judged.is_harmful && matches!(judged.values, Values::NotAtomic { .. }));
}

#[test]
fn the_end_of_the_run_is_kept() {
    let outcome = explore(&counted(""));
    assert_eq!(outcome.violations[0].judged.ended, ExitKind::Exit(0));
}

#[test]
fn values_that_some_serial_order_gives_prove_nothing() {
    // Both write the same: who reads cannot tell.
    let a = "atomic A.block\nread x r\nwrite x 5\nend A.block";
    let outcome = explore(&two("x = 5", a, "write x 5"));
    let proved = outcome
        .violations
        .iter()
        .any(|finding| matches!(finding.judged.values, Values::NotAtomic { .. }));
    assert!(!proved);
}

#[test]
fn a_program_that_always_fails_teaches_nothing() {
    let end = "fail always";
    let outcome = explore(&counted(end));
    let effects: Vec<_> =
        outcome.violations.iter().flat_map(|found| &found.judged.effects).collect();
    assert!(effects.is_empty(), "{effects:?}");
}

#[test]
fn the_findings_are_numbered_from_one() {
    let lines = |name: &str, var: &str| {
        format!("call {name}\nread {var} r\nadd r 1\nwrite {var} r\nreturn {name}\n")
    };
    let body = lines("C.one", "x") + &lines("C.two", "y") + &lines("C.three", "z");
    let outcome = explore(&two("x = 0\ny = 0\nz = 0", &body, &body));
    let numbers: Vec<u32> = outcome.violations.iter().map(|found| found.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn the_block_that_comes_between_is_named() {
    let add = "call Counter.add\nread x r\nadd r 1\nwrite x r\nreturn Counter.add";
    let set = "call Counter.reset\nwrite x 0\nreturn Counter.reset";
    let outcome = explore(&two_then("x = 5", add, set, "read x r\nprint total $r"));
    let found = &outcome.violations[0];
    let intruder = found.judged.intruder.and_then(|label| found.evidence.tables.labels.get(label));
    assert_eq!(intruder, Some("Counter.reset"));
}
