//! What was found happens again: each finding's trace has a schedule that repeats it, event by event.

use untorn_explore::{Options, Outcome, ReplayResult};
use untorn_schedule::Schedule;
use untorn_testkit::simulated::Simulated;
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::formats::utr::{ExtraKind, extras};
use untorn_trace::{Event, Trace};

use crate::harness::{Folder, explore_in, options, program, two, two_then};

fn events(path: &std::path::Path) -> Vec<Event> {
    let mut source = open(&Input::new(path), &OpenOptions::default()).expect("a trace");
    Trace::read(source.as_mut()).expect("a whole trace").events
}

/// Explores, and replays the trace of every finding and of every deadlock.
fn all_replay(text: &str) {
    let folder = Folder::new();
    let mut front_end: Simulated = program(text);
    let outcome = explore_in(&folder, &mut front_end, options()).expect("the program runs");
    let traces = outcome.violations.iter().map(|found| &found.evidence.trace);
    let traces: Vec<_> = traces
        .chain(outcome.deadlocks.iter().map(|found| &found.evidence.trace))
        .cloned()
        .collect();
    assert!(!traces.is_empty(), "nothing was found");
    for trace in traces {
        let steps = Schedule::decode(&extras(&trace, ExtraKind::new(b"schd")).expect("a schedule"));
        let schedule = Schedule { steps: steps.expect("steps") };
        let again = folder.0.join("again.utr");
        front_end.replay_schedule(schedule, &again).expect("the program runs");
        assert_eq!(events(&again), events(&trace));
    }
}

fn update(name: &str, var: &str) -> String {
    format!("call {name}\nread {var} r\nadd r 1\nwrite {var} r\nreturn {name}\n")
}

macro_rules! replays {
    ($($name:ident: $program:expr;)*) => {$(
        #[test]
        fn $name() {
            all_replay(&$program);
        }
    )*};
}

replays! {
    a_lost_update_replays: two("x = 0", &update("C.add", "x"), &update("C.add", "x"));
    a_torn_declared_block_replays: two(
        "x = 0", "atomic A.b\nread x r\nread x s\nend A.b", "write x 1");
    a_lost_update_between_two_sections_replays: two(
        "x = 0",
        "call C.add\nlock m\nread x r\nunlock m\nadd r 1\nlock m\nwrite x r\nunlock m\nreturn C.add",
        "call C.add\nlock m\nread x r\nunlock m\nadd r 1\nlock m\nwrite x r\nunlock m\nreturn C.add",
    );
    a_deadlock_replays: two(
        "", "lock m\nlock n\nunlock n\nunlock m", "lock n\nlock m\nunlock m\nunlock n");
    a_failure_replays: two_then(
        "x = 0", &update("C.add", "x"), &update("C.add", "x"),
        "read x r\nif r == 2 goto fine\nfail lost\n.fine");
    a_program_that_waits_replays: two(
        "ready = 0\nx = 0",
        &format!("lock m\n.again\nread ready r\nif r == 1 goto done\nwait m\ngoto again\n.done\nunlock m\n{}", update("C.add", "x")),
        &format!("lock m\nwrite ready 1\nnotifyall m\nunlock m\n{}", update("C.add", "x")),
    );
}

/// The simpler schedule has no more preemptions than the first one, and still shows the violation.
#[test]
fn a_minimised_schedule_is_not_worse() {
    let text = two(
        "x = 0\ny = 0",
        &format!("write y 1\nread y r\n{}", update("C.add", "x")),
        &format!("write y 2\nread y r\n{}", update("C.add", "x")),
    );
    let preemptions = |minimise| {
        let folder = Folder::new();
        let options = Options { minimise, ..options() };
        let outcome = explore_in(&folder, &mut program(&text), options).expect("it runs");
        assert_eq!(outcome.violations.len(), 1);
        outcome.violations[0].evidence.preemptions.expect("the front end counts them")
    };
    assert!(preemptions(12) <= preemptions(0));
}

fn failing() -> String {
    two("ready = 0", "write ready 1", "read ready r\nif r == 1 goto fine\nfail not ready\n.fine")
}

fn deadlocking() -> String {
    two("", "lock m\nlock n\nunlock n\nunlock m", "lock n\nlock m\nunlock m\nunlock n")
}

/// What came of the replays of all that was found.
fn trials(outcome: &Outcome) -> Vec<ReplayResult> {
    let violations = outcome.violations.iter().map(|found| found.evidence.replay);
    let deadlocks = outcome.deadlocks.iter().map(|found| found.evidence.replay);
    violations
        .chain(deadlocks)
        .chain(outcome.failures.iter().map(|found| found.evidence.replay))
        .collect()
}

/// Violations, deadlocks and failures, each of them tried once.
#[test]
fn every_finding_is_replayed_once_before_it_is_said_to_be_replayable() {
    let lost = two("x = 0", &update("C.add", "x"), &update("C.add", "x"));
    for text in [lost, failing(), deadlocking()] {
        let (folder, mut front_end) = (Folder::new(), program(&text));
        let outcome = explore_in(&folder, &mut front_end, options()).expect("it runs");
        assert_eq!(trials(&outcome), [ReplayResult::Exact], "{text}");
        assert_eq!(front_end.replays, 1, "{text}");
    }
}

#[test]
fn a_simpler_schedule_is_tried_again() {
    let text = two(
        "x = 0\ny = 0",
        &format!("write y 1\nread y r\n{}", update("C.add", "x")),
        &format!("write y 2\nread y r\n{}", update("C.add", "x")),
    );
    let (folder, mut front_end) = (Folder::new(), program(&text));
    let options = Options { minimise: 12, ..options() };
    let outcome = explore_in(&folder, &mut front_end, options).expect("it runs");
    assert_eq!(trials(&outcome), [ReplayResult::Exact]);
}

/// It happened, so it counts.
#[test]
fn what_does_not_repeat_is_a_finding_that_says_so() {
    let lost = two("x = 0", &update("C.add", "x"), &update("C.add", "x"));
    for text in [lost, failing(), deadlocking()] {
        let (folder, mut front_end) = (Folder::new(), program(&text));
        front_end.unrepeatable = true;
        let outcome = explore_in(&folder, &mut front_end, options()).expect("it runs");
        let all = trials(&outcome);
        assert!(matches!(all[..], [ReplayResult::Differs { .. }]), "{all:?}: {text}");
    }
}

/// Runs that were under way when time was over are no error, and are counted.
#[test]
fn what_is_cut_off_is_counted() {
    let many = update("C.add", "x").repeat(6);
    let (folder, mut front_end) = (Folder::new(), program(&two("x = 0", &many, &many)));
    front_end.ends_after = Some(5);
    let options = Options { runs: 9, ..options() };
    let outcome = explore_in(&folder, &mut front_end, options);
    let outcome = outcome.expect("runs that are cut off are no error");
    assert_eq!(outcome.runs, 5, "only those that came to their end count");
    assert!(outcome.cut_off > 0);
}
