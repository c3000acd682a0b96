//! What was found happens again: each finding's trace has a schedule that repeats it, event by event.

use untorn_explore::Options;
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
    let traces = outcome.findings.iter().map(|found| &found.trace);
    let traces: Vec<_> =
        traces.chain(outcome.deadlocked.iter().map(|found| &found.trace)).cloned().collect();
    assert!(!traces.is_empty(), "nothing was found");
    for trace in traces {
        let steps = Schedule::decode(&extras(&trace, ExtraKind::new(b"schd")).expect("a schedule"));
        let schedule = Schedule { steps: steps.expect("steps") };
        let again = folder.0.join("again.utr");
        front_end.replay(schedule, &again).expect("the program runs");
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
        assert_eq!(outcome.findings.len(), 1);
        outcome.findings[0].preemptions.expect("the front end counts them")
    };
    assert!(preemptions(12) <= preemptions(0));
}
