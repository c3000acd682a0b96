//! Every decision on random programs: the chosen thread can run, a reported deadlock is one, and the same seed gives
//! the same run.

use untorn_schedule::{Mode, Nanos, Options, PolicyKind, Scheduler};

use super::driver::{Run, World, drive};
use super::program::{Knobs, Program};
use super::rounds;

pub const POLICIES: [PolicyKind; 4] = [
    PolicyKind::RunToBlock,
    PolicyKind::Random,
    PolicyKind::Pct { depth: 3, length: 30 },
    PolicyKind::Pos,
];

/// Options that vary with the seed: short quanta and slow clocks reveal more.
pub fn options(seed: u64) -> Options {
    let quantum = [3, 10, 1_000_000][(seed % 3) as usize];
    let tick = Nanos([0, 1, 10][(seed / 3 % 3) as usize]);
    Options { seed, quantum, tick, patient: seed / 9 % 2 == 1, ..Options::default() }
}

/// A machine that steals the token now and then, for some seeds.
pub fn world(seed: u64) -> World<'static> {
    let steal = if seed.is_multiple_of(5) { 20 } else { 0 };
    let goes_on = seed / 18 % 2 == 1;
    World { steal, patient: options(seed).patient, goes_on, ..World::new(seed) }
}

pub fn record(program: &Program, policy: PolicyKind, seed: u64) -> Result<Run, String> {
    let scheduler = Scheduler::new(Mode::Policy(policy), options(seed));
    drive(program, scheduler, world(seed))
}

#[test]
fn soak_who_can_run_runs_and_stuck_means_stuck() {
    let (mut stuck, mut circles) = (0, 0);
    for seed in 0..rounds(200_000) {
        let program = Program::random(seed, &Knobs::everything());
        let policy = POLICIES[(seed % 4) as usize];
        let run = record(&program, policy, seed).unwrap_or_else(|error| {
            panic!("seed {seed}, {policy}: {error}\n{program:?}");
        });
        stuck += u64::from(!run.finished);
        circles += u64::from(run.outcome.lock_cycle.is_some());
    }
    // Both kinds of end are common in these programs; otherwise the test would show little.
    assert!(stuck > rounds(20_000) && stuck < rounds(180_000), "{stuck} stuck");
    assert!(circles > rounds(500), "{circles} circles");
}

#[test]
fn soak_the_same_seed_gives_the_same_run() {
    for seed in 0..rounds(20_000) {
        let program = Program::random(seed, &Knobs::everything());
        for policy in POLICIES {
            let run = || record(&program, policy, seed);
            assert_eq!(run(), run(), "seed {seed}, {policy}");
        }
    }
}
