//! Every run that fails is a finding, unless a violation explains it.

use untorn_explore::{Dependence, Exploration, FailureKind, Options, Outcome, Progress};
use untorn_frontend::ExitKind;
use untorn_trace::Op;

use crate::harness::{Folder, explore, explore_with, options, program, two, two_then};

fn kinds(outcome: &Outcome) -> Vec<String> {
    outcome.failures.iter().map(|failure| failure.kind.to_string()).collect()
}

/// An order violation: nothing is torn, but one thread is too late.
fn too_late() -> String {
    two("ready = 0", "write ready 1", "read ready r\nif r == 1 goto fine\nfail not ready\n.fine")
}

#[test]
fn a_failure_without_a_torn_block_is_a_finding() {
    let outcome = explore(&too_late());
    assert_eq!(kinds(&outcome), ["Failed: not ready"]);
    assert!(outcome.violations.is_empty());
    assert!(
        matches!(outcome.failures[0].dependence, Dependence::Schedule { good_runs } if good_runs > 0)
    );
}

#[test]
fn a_program_that_always_fails_is_never_clean() {
    for (end, kind) in [("fail always", "Failed: always"), ("exit 3", "exit code 3")] {
        let outcome = explore(&two_then("x = 0", "read x r", "read x r", end));
        assert_eq!(kinds(&outcome), [kind]);
        assert_eq!(outcome.failures[0].dependence, Dependence::EverySchedule);
        assert_eq!(outcome.good_runs, 0);
    }
}

#[test]
fn a_program_with_one_thread_that_fails_is_a_finding_too() {
    assert_eq!(kinds(&explore("thread main\nexit 2\n")), ["exit code 2"]);
}

#[test]
fn a_program_that_ends_well_has_no_failure() {
    let outcome = explore(&two("x = 0", "write x 1", "write x 2"));
    assert_eq!(kinds(&outcome), [] as [&str; 0]);
    assert_eq!(outcome.good_runs, outcome.runs);
}

#[test]
fn a_failure_that_a_violation_explains_is_reported_once() {
    let add = "call Counter.add\nread x r\nadd r 1\nwrite x r\nreturn Counter.add";
    let end = "read x r\nif r == 2 goto fine\nfail lost an update\n.fine";
    let outcome = explore(&two_then("x = 0", add, add, end));
    assert_eq!(outcome.violations.len(), 1);
    assert_eq!(kinds(&outcome), [] as [&str; 0]);
    let effects = &outcome.violations[0].judged.effects;
    assert!(effects.iter().any(|effect| effect.to_string().contains("lost an update")));
}

#[test]
fn two_failures_of_which_one_is_explained() {
    let add = "call Counter.add\nread x r\nadd r 1\nwrite x r\nreturn Counter.add\n";
    let a = format!("{add}write ready 1");
    let b = format!("{add}read ready r\nif r == 1 goto fine\nfail not ready\n.fine");
    let end = "read x r\nif r == 2 goto fine\nfail lost an update\n.fine";
    let outcome = explore(&two_then("x = 0\nready = 0", &a, &b, end));
    assert_eq!(outcome.violations.len(), 1);
    assert!(kinds(&outcome).contains(&"Failed: not ready".to_owned()), "{:?}", kinds(&outcome));
}

#[test]
fn different_places_are_different_failures_and_messages_are_not() {
    let b = "read x r\nif r == 0 goto zero\nfail one\n.zero\nread y s\nfail zero $s";
    let outcome = explore(&two("x = 0\ny = 0", "write y 7\nwrite x 1", b));
    let mut places: Vec<_> = outcome.failures.iter().map(|own| own.signature()).collect();
    places.dedup();
    assert_eq!(places.len(), 2, "{places:?}");
}

#[test]
fn the_cause_names_the_operations_whose_order_decides() {
    let outcome = explore_with(&too_late(), Options { minimise: 12, ..options() });
    let cause = outcome.failures[0].cause.as_ref().expect("a cause");
    assert!(cause.is_minimal, "{cause:?}");
    assert!(cause.steps.len() <= 2, "{cause:?}");
    assert!(cause.steps.iter().any(|step| matches!(step.event.op, Op::Read { .. })), "{cause:?}");
}

#[test]
fn a_failure_without_preemptions_needs_no_step() {
    // Whoever runs until it blocks fails; only a thread that is interrupted does not.
    let a = "write ready 1\nread seen s\nif s == 1 goto fine\nfail nobody looked\n.fine";
    let b = "read ready r\nwrite seen r";
    let text = two("ready = 0\nseen = 0", a, b);
    let outcome = explore_with(&text, Options { minimise: 12, ..options() });
    let failure = outcome.failures.first().expect("it fails without a preemption");
    assert!(matches!(failure.dependence, Dependence::Schedule { .. }));
    let cause = failure.cause.as_ref().expect("a cause");
    assert!(cause.steps.is_empty() && cause.is_minimal, "{cause:?}");
}

/// B's check comes between the two writes of A, and only then fails.
fn between() -> String {
    two(
        "a = 0\nb = 0",
        "write a 1\nwrite b 1",
        "read a r\nif r == 0 goto fine\nread b s\nif s == 1 goto fine\nfail half done\n.fine",
    )
}

#[test]
fn a_cause_is_as_small_as_it_can_be() {
    let outcome = explore_with(&between(), Options { minimise: 12, ..options() });
    let failure = outcome.failures.first().expect("it fails between the writes");
    let cause = failure.cause.as_ref().expect("a cause");
    assert!(cause.is_minimal && cause.steps.len() <= 3, "{cause:?}");
    assert!(cause.steps.iter().any(|step| step.decides), "{cause:?}");
}

#[test]
fn a_failure_is_reported_when_it_happens() {
    let (folder, stop) = (Folder::new(), std::sync::atomic::AtomicBool::new(false));
    let mut front_end = program(&too_late());
    let mut failed = Vec::new();
    let mut watch = |progress: Progress<'_>| {
        if let Progress::Failure(failure) = progress {
            failed.push(failure.evidence.run);
        }
    };
    let outcome = Exploration::new(&mut front_end, options(), &folder.0, &stop, &mut watch).run();
    let outcome = outcome.expect("it runs");
    assert_eq!(failed.len(), outcome.failures.len());
}

#[test]
fn the_trace_of_a_failure_is_kept_and_shows_it() {
    let folder = Folder::new();
    let mut front_end = program(&too_late());
    let outcome = crate::harness::explore_in(&folder, &mut front_end, options()).expect("it runs");
    let failure = &outcome.failures[0];
    assert!(failure.evidence.trace.is_file());
    let kept = std::fs::read_dir(&folder.0).expect("readable").count();
    assert_eq!(kept, 1, "all other traces are removed");
}

#[test]
fn a_deadlock_is_no_failure_of_another_kind() {
    let a = "lock m\nlock n\nunlock n\nunlock m";
    let b = "lock n\nlock m\nunlock m\nunlock n";
    let outcome = explore(&two("x = 0", a, b));
    assert_eq!((outcome.deadlocks.len(), outcome.failures.len()), (1, 0));
}

#[test]
fn a_crash_that_happens_first_does_not_hide_later_ones() {
    // The first run already fails; the violation must still become visible by the same failure.
    let check = "call Cell.take\nread x r\nif r == 0 goto empty\nread x s\nif s != 0 goto empty\nfail taken\n.empty\nreturn Cell.take";
    let outcome = explore(&two("x = 1", check, "write x 0"));
    let all = outcome.violations.len() + outcome.failures.len();
    assert!(all >= 1);
    assert!(!matches!(
        outcome.violations.first().map(|found| found.judged.ended),
        Some(ExitKind::Deadlock)
    ));
    assert!(outcome.failures.iter().all(|own| matches!(own.kind, FailureKind::Uncaught(_))));
}
