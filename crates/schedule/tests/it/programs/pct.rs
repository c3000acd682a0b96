//! PCT finds bugs at least as often as its paper promises.

use untorn_schedule::{Mode, Options, PolicyKind, Scheduler};

use super::driver::{Entry, World, drive};
use super::program::{Op, Program};

const SEEDS: u64 = 40_000;

/// Main starts two threads, each with a few events.
fn program() -> Program {
    let one = vec![Op::Event(0), Op::Event(1), Op::Event(2), Op::Event(3)];
    let two = vec![Op::Event(0), Op::Event(1), Op::Event(2), Op::Event(3), Op::Event(3)];
    Program { scripts: vec![vec![Op::Spawn(1), Op::Spawn(2)], one, two] }
}

/// How often, of all seeds, the events (script, position) happen in this order.
fn hits(depth: u32, order: &[(usize, usize)]) -> u64 {
    let program = program();
    let length = program.scripts.iter().map(|script| script.len() as u64).sum();
    let happens = |log: &[Entry]| {
        let at = |&(script, pc): &(usize, usize)| {
            log.iter().position(|entry| (entry.script, entry.event) == (script, pc * 2))
        };
        order.iter().map(at).is_sorted()
    };
    let hit = |&seed: &u64| {
        let policy = PolicyKind::Pct { depth, length };
        let options = Options { seed, ..Options::default() };
        let scheduler = Scheduler::new(Mode::Policy(policy), options);
        let run = drive(&program, scheduler, World::new(seed)).expect("the decisions are right");
        happens(&run.log)
    };
    (0..SEEDS).filter(hit).count() as u64
}

/// The paper's bound for three threads and the events of [`program`], in hits of [`SEEDS`].
fn promised(depth: u32) -> u64 {
    SEEDS / (3 * 11_u64.pow(depth - 1))
}

#[test]
fn bugs_are_found_as_often_as_promised() {
    // Depth 1: an event of the second thread before one of the first.
    let order = hits(1, &[(2, 0), (1, 0)]);
    assert!(order >= promised(1), "{order} of {SEEDS}, promised {}", promised(1));
    // Depth 2: an event of the second thread between two of the first.
    let torn = hits(2, &[(1, 1), (2, 2), (1, 2)]);
    assert!(torn >= promised(2), "{torn} of {SEEDS}, promised {}", promised(2));
    // Without a change point it cannot happen.
    assert_eq!(hits(1, &[(1, 1), (2, 2), (1, 2)]), 0);
    // Depth 3: and the second thread is torn by the first.
    let twice = hits(3, &[(1, 1), (2, 2), (1, 2), (2, 3)]);
    assert!(twice >= promised(3), "{twice} of {SEEDS}, promised {}", promised(3));
}
