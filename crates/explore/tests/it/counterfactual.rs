//! Is a visible effect due to the interruption, or would it show anyway, or does it depend on timing only?

use untorn_explore::{Options, Outcome, Values};
use untorn_schedule::{PolicyKind, RunSpec};

use crate::harness::{all, explore, explore_with, options, two_then};

/// One good run, and then directed runs only: what is normal is hardly known.
fn with_plans_only(text: &str) -> Outcome {
    let initial = vec![RunSpec::policy(PolicyKind::RunToBlock, 0)];
    explore_with(text, Options { initial, explore: Some(0), ..options() })
}

/// Reads twice, and prints what it read last.
fn look_twice(end: &str) -> String {
    let look = format!("call Bus.publish\nread n r\nread n s\nreturn Bus.publish\n{end}");
    two_then("n = 0", &look, "write n 1", "")
}

#[test]
fn what_a_serial_order_shows_as_well_is_not_held_against_a_block() {
    let outcome = with_plans_only(&look_twice("print seen $s"));
    assert_eq!(all(&outcome), [] as [&str; 0]);
    assert!(outcome.harmless > 0, "it happened");
}

#[test]
fn what_no_serial_order_shows_is() {
    let outcome = with_plans_only(&look_twice("if r == s goto same\nprint two values\n.same"));
    assert_eq!(all(&outcome), ["inferred Bus.publish n RWR"]);
    let judged = &outcome.violations[0].judged;
    assert_eq!(judged.undone, 2, "before the other thread, and after it");
    assert_eq!(judged.effects.len(), 1);
}

/// The number of the process is in no other run either, whatever is interrupted.
#[test]
fn a_line_that_is_another_one_each_time_tells_nothing() {
    let outcome = with_plans_only(&look_twice("print process $process"));
    assert_eq!(all(&outcome), [] as [&str; 0]);
    assert_eq!(outcome.folded.len(), 0, "it was tested");
    let two = "print process $process\nif r == s goto same\nprint two values\n.same";
    let outcome = with_plans_only(&look_twice(two));
    assert_eq!(all(&outcome), ["inferred Bus.publish n RWR"]);
    let effects: Vec<String> =
        outcome.violations[0].judged.effects.iter().map(ToString::to_string).collect();
    assert_eq!(effects, ["printed \"two values\""]);
}

/// The failure has a reason of its own: the order in which the threads start.
#[test]
fn a_failure_that_shows_anyway_is_a_finding_of_its_own() {
    let a = "call Counter.add\nread x r\nadd r 1\nwrite x r\nreturn Counter.add";
    let b = format!("read ready q\n{a}\nif q == 1 goto fine\nfail not ready\n.fine");
    let outcome = explore(&two_then("x = 0\nready = 0", &format!("write ready 1\n{a}"), &b, ""));
    let judged = &outcome.violations[0].judged;
    assert!(matches!(judged.values, Values::NotAtomic { .. }));
    let effects: Vec<String> = judged.effects.iter().map(ToString::to_string).collect();
    assert!(!effects.iter().any(|effect| effect.contains("not ready")), "{effects:?}");
    let failures: Vec<String> = outcome.failures.iter().map(|own| own.kind.to_string()).collect();
    assert_eq!(failures, ["Failed: not ready"]);
}

#[test]
fn an_effect_of_an_undirected_run_is_tested_as_well() {
    let add = "call Counter.add\nread x r\nadd r 1\nwrite x r\nreturn Counter.add";
    let text = two_then("x = 0", add, add, "read x r\nprint total $r");
    let initial: Vec<RunSpec> = std::iter::once(RunSpec::policy(PolicyKind::RunToBlock, 0))
        .chain((0..20).map(|seed| RunSpec::policy(PolicyKind::Random, seed)))
        .collect();
    let outcome = explore_with(&text, Options { initial, ..options() });
    let found = &outcome.violations[0];
    assert!(found.evidence.run <= 21, "a random run shows it");
    assert_eq!((found.judged.effects.len(), found.judged.undone), (1, 2));
}

/// Main sleeps instead of waiting for the other thread: it is done by then, unless it is held.
fn sleeping(millis: u32, end: &str) -> String {
    format!(
        "x = 0\ny = 0\nthread main\nfork A\nsleep {millis}\ncall Main.look\nread x r\nread y s\nreturn Main.look\n\
         {end}\nthread A\ncall Pool.fill\nwrite x 1\nwrite y 1\nreturn Pool.fill\n"
    )
}

#[test]
fn a_violation_that_takes_a_premature_timeout_depends_on_timing() {
    let outcome = explore(&sleeping(50, "if r == s goto same\nprint two values\n.same"));
    assert_eq!(all(&outcome), [] as [&str; 0]);
    let timed = &outcome.timed_violations;
    assert!(!timed.is_empty(), "{outcome:?}");
    let sleep = timed[0].evidence.premature_sleep.expect("the sleep is named");
    assert_eq!((sleep.sleeper.0, sleep.held.0), (0, 1));
    assert!(sleep.site.is_some());
}

#[test]
fn a_failure_that_takes_a_premature_timeout_depends_on_timing() {
    let outcome = explore(&sleeping(50, "if r == s goto same\nfail two values\n.same"));
    let kinds = |all: &[untorn_explore::Failure]| {
        all.iter().map(|own| own.kind.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&outcome.failures), [] as [&str; 0]);
    assert_eq!(kinds(&outcome.timed_failures), ["Failed: two values"]);
}

/// A preemption lasts that long on any machine.
#[test]
fn a_short_sleep_is_no_excuse() {
    let outcome = explore(&sleeping(2, "if r == s goto same\nfail two values\n.same"));
    assert!(outcome.timed_failures.is_empty());
    assert!(!outcome.violations.is_empty() || !outcome.failures.is_empty());
}

/// Both sleep inside of the block for the same time: no sleep has to end prematurely.
#[test]
fn a_sleep_inside_of_the_block_hides_nothing() {
    let add = "call Counter.add\nread x r\nsleep 50\nadd r 1\nwrite x r\nreturn Counter.add";
    let outcome = explore(&two_then("x = 0", add, add, "read x r\nprint total $r"));
    assert_eq!(all(&outcome), ["inferred Counter.add x RWW"]);
}
