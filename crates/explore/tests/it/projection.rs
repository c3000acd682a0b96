//! A long run is looked at without what its threads do for themselves alone. That finds the same: here short runs are
//! looked at in both ways.

use untorn_explore::{Options, Outcome, Values};
use untorn_testkit::{Rng, cases};
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{Op, Trace, VarId};

use crate::harness::{Folder, all, explore_in, explore_with, options, program, two_then};

/// Every run counts as long.
fn projected(options: Options) -> Options {
    Options { max_whole: 0, ..options }
}

/// A program of three threads by chance: accesses of shared variables, of those of one thread, and of one that nobody
/// writes, in methods and critical sections, with branches on what was read.
fn random_program(rng: &mut Rng) -> String {
    let threads = ["A", "B", "C"];
    let mut text = String::from("x = 0\ny = 0\nz = 0\nfixed = 7\n");
    for name in threads {
        text += &format!("own{name} = 0\n");
    }
    text += "thread main\nwrite z 1\nfork A\nfork B\nfork C\nwrite z 2\njoin A\njoin B\njoin C\nread x r\n";
    for name in threads {
        text += &format!("thread {name}\n");
        for call in 0..rng.between(1, 3) {
            let method = format!("C.m{}", rng.below(3));
            let (open, close) = match rng.below(4) {
                0 => (format!("atomic {method}"), format!("end {method}")),
                1 => (format!("sync m {method}"), format!("endsync m {method}")),
                _ => (format!("call {method}"), format!("return {method}")),
            };
            text += &format!("{open}\n{}{close}\n", body(rng, name, call));
        }
    }
    text
}

fn body(rng: &mut Rng, thread: &str, call: u32) -> String {
    let mut text = String::new();
    let statements = rng.between(2, 6);
    for nth in 0..statements {
        let shared = ["x", "y", "z"][rng.below(3) as usize];
        text += &match rng.below(10) {
            0..3 => format!("read {shared} r\n"),
            3..5 => format!("add r 1\nwrite {shared} r\n"),
            5 => format!("write {shared} {}\n", rng.below(3)),
            6 => format!("read own{thread} s\nadd s 1\nwrite own{thread} s\n"),
            7 => "read fixed s\n".to_owned(),
            8 => format!("lock k\nread {shared} r\nwrite own{thread} r\nunlock k\n"),
            _ => format!("if r == 1 goto l{call}{nth}\nread own{thread} s\n.l{call}{nth}\n"),
        };
    }
    text
}

/// What the first runs, which both ways make alike, show.
fn first_runs(outcome: &Outcome) -> (u32, u64, u64, u64, usize) {
    let Outcome { runs, events, candidates, bodies, .. } = *outcome;
    (runs, events, candidates, bodies, outcome.unreached.len())
}

#[test]
fn the_same_candidates_and_violations_are_found_in_random_programs() {
    let mut rng = Rng::new(19);
    let (mut candidates, mut found) = (0, 0);
    for _ in 0..cases(40, 2_000) {
        let text = random_program(&mut rng);
        let few = Options { runs: 3, explore: Some(0), ..options() };
        let (whole, part) = (explore_with(&text, few.clone()), explore_with(&text, projected(few)));
        assert_eq!(first_runs(&whole), first_runs(&part), "{text}");
        candidates += whole.candidates;
        let many = Options { runs: 60, ..options() };
        let (whole, part) =
            (explore_with(&text, many.clone()), explore_with(&text, projected(many)));
        assert_eq!(all(&whole), all(&part), "{text}");
        assert_eq!(part.left_out, 0);
        found += whole.violations.len();
    }
    assert!(candidates > 150 && found > 30, "{candidates} candidates, {found} violations");
}

/// The positions of a finding are those of the whole run, which reports read again.
#[test]
fn findings_name_events_of_the_whole_run() {
    let update = "call C.add\nread x r\nadd r 1\nwrite x r\nreturn C.add\n";
    let own = |name: &str| format!("write {name} 1\nread {name} r\nwrite {name} 2\n{update}");
    let text = two_then("x = 0\na = 0\nb = 0", &own("a"), &own("b"), "read x r");
    let folder = Folder::new();
    let outcome = explore_in(&folder, &mut program(&text), projected(options()));
    let outcome = outcome.expect("the program runs");
    let [found] = &outcome.violations[..] else { panic!("{:?}", all(&outcome)) };
    let source = open(&Input::new(&found.evidence.trace), &OpenOptions::default());
    let trace = Trace::read(&mut *source.expect("the trace is kept")).expect("a trace");
    let cycle = &found.judged.cycle.cycle;
    for step in cycle.edges.iter().flat_map(|edge| [edge.from, edge.to]) {
        assert_eq!(trace.events[step.at.0 as usize], step.event);
    }
    let Values::NotAtomic { reason, .. } = &found.judged.values else { panic!("values prove it") };
    for at in reason.events() {
        let op = trace.events[at.0 as usize].op;
        assert!(matches!(op, Op::Read { .. } | Op::Write { .. }), "{op:?} at {at:?}");
        assert_eq!(trace.tables.member_name(VarId(op.target())), "x");
    }
}
