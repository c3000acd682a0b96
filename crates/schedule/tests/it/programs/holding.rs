//! Policies that hold threads before events: no thread is held for ever, chosen threads can run, the same seed gives
//! the same run, every run replays; and they cause the violations they are designed for.

use untorn_schedule::{CodePoint, Marks, Mode, PlanPoint, PointIndex, PolicyKind, Role, Scheduler};

use super::decisions::{options, world};
use super::driver::{Run, World, drive};
use super::program::{Knobs, Op, PLACES, Program, Script};
use super::replay::check_replay;
use super::rounds;

const POLICIES: [PolicyKind; 4] =
    [PolicyKind::AtomFuzzer, PolicyKind::Adversarial, PolicyKind::Pos, PolicyKind::Surw];

/// Every point but the last is marked, every other one to hold.
fn marks() -> Marks {
    let mark = |line: u32| {
        let role = if line.is_multiple_of(2) { Role::Hold } else { Role::Watch };
        let place = PlanPoint {
            code_point: CodePoint::FileLine { file: "A.java".to_owned(), line },
            kind: None,
        };
        (role, place)
    };
    Marks { marks: (0..PLACES).map(mark).collect(), expected: Vec::new() }
}

fn sites(_: Script, _: usize, place: Option<u32>) -> Vec<PointIndex> {
    place.filter(|&place| place < 3).map(PointIndex).into_iter().collect()
}

fn record(program: &Program, policy: PolicyKind, seed: u64) -> Result<Run, String> {
    let mut scheduler = Scheduler::new(Mode::Policy(policy), options(seed));
    scheduler.mark(&marks());
    drive(program, scheduler, World { sites: Some(&sites), ..world(seed) })
}

#[test]
fn soak_who_holds_lets_go_and_repeats() {
    for seed in 0..rounds(60_000) {
        let program = Program::random(seed, &Knobs::everything());
        let policy = POLICIES[(seed % 4) as usize];
        let run = || {
            record(&program, policy, seed)
                .unwrap_or_else(|error| panic!("seed {seed}, {policy}: {error}\n{program:?}"))
        };
        assert_eq!(run(), run(), "seed {seed}, {policy}");
    }
}

#[test]
fn soak_what_was_held_replays() {
    for seed in 0..rounds(20_000) {
        let program = Program::random(seed, &Knobs::timeless());
        let policy = POLICIES[(seed % 4) as usize];
        let recorded = record(&program, policy, seed);
        let recorded = recorded.unwrap_or_else(|error| panic!("seed {seed}, {policy}: {error}"));
        check_replay(&program, &recorded, seed, Some(&sites))
            .unwrap_or_else(|error| panic!("seed {seed}, {policy}: {error}\n{program:?}"));
    }
}

/// Two threads that acquire a lock twice each, after a long prelude: place 1 before the first section, place 2 before
/// the second.
fn twice() -> Program {
    let own = || {
        let mut ops = vec![Op::Event(3); 40];
        ops.extend([Op::Event(1), Op::Lock(0), Op::Unlock(0)]);
        ops.extend([Op::Event(2), Op::Lock(0), Op::Unlock(0)]);
        ops
    };
    Program { scripts: vec![vec![Op::Spawn(1), Op::Spawn(2)], own(), own()] }
}

/// In how many of 1000 runs a whole section of the other thread is between the two of one thread.
fn torn(policy: PolicyKind) -> u32 {
    let program = twice();
    let is_torn = |seed: &u64| {
        let run = record(&program, policy, 18 * seed + 2).expect("it runs");
        let at = |script, op: usize| {
            run.log.iter().position(|entry| (entry.script, entry.event) == (script, 2 * op))
        };
        let between = |a: Script, b: Script| {
            let (first, second) = (at(a, 41), at(a, 44));
            [41, 44].iter().any(|&op| at(b, op) > first && at(b, op) < second)
        };
        between(1, 2) || between(2, 1)
    };
    (0..1000).filter(is_torn).count() as u32
}

#[test]
fn holding_tears_more_than_chance() {
    let (random, fuzzer) = (torn(PolicyKind::Random), torn(PolicyKind::AtomFuzzer));
    let adversarial = torn(PolicyKind::Adversarial);
    assert!(fuzzer > 800, "AtomFuzzer tears {fuzzer} of 1000, random {random}");
    assert!(adversarial > random + 100, "adversarial tears {adversarial} of 1000, random {random}");
}

#[test]
fn marks_read_back() {
    let marks = marks();
    assert_eq!(marks.to_string().parse(), Ok(marks));
    assert!("Alice @ A.java:12".parse::<Marks>().is_err());
}
