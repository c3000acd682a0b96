//! What a program does when nobody records it, compared with what every recorded run does.

use untorn_explore::{Dependence, Outcome};
use untorn_frontend::{ExitKind, PlainRun};

use crate::harness::{Folder, explore_in, options, program, two, two_then};

fn explore_beside(text: &str, plain: Option<PlainRun>, is_test: bool) -> Outcome {
    let (folder, mut front_end) = (Folder::new(), program(text));
    (front_end.plain, front_end.is_test) = (plain, is_test);
    explore_in(&folder, &mut front_end, options()).expect("it runs")
}

fn ends(code: i32, output: &str) -> Option<PlainRun> {
    Some(PlainRun { exit: ExitKind::Exit(code), output: output.to_owned() })
}

fn kinds(outcome: &Outcome) -> Vec<String> {
    outcome.failures.iter().map(|failure| failure.kind.to_string()).collect()
}

#[test]
fn a_failure_of_every_recorded_run_is_doubtful_if_the_program_ends_well() {
    let text = two_then("x = 0", "read x r", "read x r", "exit 3");
    let outcome = explore_beside(&text, ends(0, ""), false);
    assert_eq!(kinds(&outcome), [] as [&str; 0]);
    assert_eq!(outcome.recorded_failures.len(), 1);
    // It fails in the same way, or in another; or nobody knows.
    for plain in [ends(3, ""), ends(1, ""), None] {
        let outcome = explore_beside(&text, plain, false);
        assert_eq!(kinds(&outcome), ["exit code 3"]);
        assert_eq!(outcome.failures[0].dependence, Dependence::EverySchedule);
    }
}

/// Some recorded run ended well: then the failure is not due to the recording.
#[test]
fn a_failure_of_some_runs_counts_whatever_the_program_does_alone() {
    let late = "read ready r\nif r == 1 goto fine\nexit 3\n.fine";
    let outcome = explore_beside(&two("ready = 0", "write ready 1", late), ends(0, ""), false);
    assert_eq!(kinds(&outcome), ["exit code 3"]);
    assert_eq!(outcome.recorded_failures.len(), 0);
}

#[test]
fn a_deadlock_of_every_recorded_run_is_doubtful_if_the_program_ends_well() {
    let text = two("x = 0", "lock m\nwait m\nunlock m", "read x r");
    let outcome = explore_beside(&text, ends(0, ""), false);
    assert_eq!((outcome.deadlocks.len(), outcome.recorded_deadlocks.len()), (0, 1));
    let outcome = explore_beside(&text, None, false);
    assert_eq!((outcome.deadlocks.len(), outcome.recorded_deadlocks.len()), (1, 0));
}

/// A lost notification: some runs end well, and the first ones do not.
#[test]
fn a_deadlock_of_some_runs_counts_in_the_end() {
    let wait = "lock m\nread go r\nif r == 1 goto went\nwait m\n.went\nunlock m";
    let text = two("go = 0", wait, "write go 1\nlock m\nnotify m\nunlock m");
    let sure = two("go = 0", wait, "lock m\nnotify m\nwrite go 1\nunlock m");
    for text in [text, sure] {
        let outcome = explore_beside(&text, ends(0, ""), false);
        assert_eq!(outcome.recorded_deadlocks.len(), 0);
        let is_stuck = outcome.deadlocked_runs > 0;
        assert_eq!(!outcome.deadlocks.is_empty(), is_stuck);
    }
}

/// The test throws in a thread to see what becomes of it, and passes.
#[test]
fn an_exception_that_a_test_expects_is_none_of_its_failures() {
    let text = two("x = 0", "read x r\nfail on purpose", "read x r");
    let printed = "Exception in thread \"A\" Failed: on purpose\n\tat line 10\n";
    let of = |output: &str, is_test| kinds(&explore_beside(&text, ends(0, output), is_test)).len();
    assert_eq!(of(printed, true), 0);
    assert_eq!(of("", true), 0, "nobody prints it, but every run has it");
    assert_eq!(of(printed, false), 1, "a program that is no test");
    let late = "read ready r\nif r == 1 goto fine\nfail too early\n.fine";
    let some = two("ready = 0", "write ready 1", late);
    assert_eq!(kinds(&explore_beside(&some, ends(0, ""), true)).len(), 1, "in some runs only");
}
