//! SURW chooses all orders of the marked events equally often.

use std::collections::BTreeMap;

use untorn_schedule::{
    CodePoint, ExpectedEvents, Marks, Mode, Options, PlanPoint, PointIndex, PolicyKind, Role,
    Scheduler, ThreadId,
};

use super::driver::{World, drive};
use super::program::{Op, Program, Script};

/// The place of events that are marked.
const MARKED: u32 = 1;

/// Each thread starts the next one between its marked events, so that all have the same number in each run. There are
/// other events around.
fn program() -> Program {
    let other = |count| vec![Op::Event(3); count];
    let marked = |count| vec![Op::Event(MARKED); count];
    let main = [vec![Op::Spawn(1)], marked(1), other(5), marked(1)].concat();
    let one = [other(9), marked(1), vec![Op::Spawn(2)], other(2), marked(1)].concat();
    let two = [marked(2), other(7), vec![Op::Spawn(3)], marked(1)].concat();
    Program { scripts: vec![main, one, two, marked(1)] }
}

fn marks(expected: &[(Option<u32>, u64)]) -> Marks {
    let code_point = CodePoint::FileLine { file: "A.java".to_owned(), line: MARKED };
    let own = |&(parent, events): &(Option<u32>, u64)| ExpectedEvents {
        parent: parent.map(ThreadId),
        events,
    };
    Marks {
        marks: vec![(Role::Hold, PlanPoint { code_point, kind: None })],
        expected: expected.iter().map(own).collect(),
    }
}

fn sites(_: Script, _: usize, place: Option<u32>) -> Vec<PointIndex> {
    place.filter(|&place| place == MARKED).map(|_| PointIndex(0)).into_iter().collect()
}

/// How often each order of the marked events occurs, as the scripts that execute them one after the other.
fn orders(
    program: &Program,
    policy: PolicyKind,
    marks: &Marks,
    seeds: u64,
) -> BTreeMap<Vec<Script>, u64> {
    let mut orders = BTreeMap::new();
    for seed in 0..seeds {
        let options = Options { seed, ..Options::default() };
        let mut scheduler = Scheduler::new(Mode::Policy(policy), options);
        scheduler.mark(marks);
        let world = World { sites: Some(&sites), ..World::new(seed) };
        let run = drive(program, scheduler, world).expect("the decisions are right");
        let is_marked = |script: Script, event: usize| {
            matches!(program.scripts[script][event / 2], Op::Event(MARKED))
        };
        let marked = run.log.iter().filter(|entry| is_marked(entry.script, entry.event));
        *orders.entry(marked.map(|entry| entry.script).collect()).or_default() += 1;
    }
    orders
}

/// The counts of events of [`program`].
const COUNTS: &[(Option<u32>, u64)] = &[(None, 2), (Some(0), 2), (Some(1), 3), (Some(2), 1)];

/// Orders of the marked events that are possible: by brute force.
fn possible() -> u64 {
    /// What each script has left.
    fn count(left: [u32; 4]) -> u64 {
        if left == [0; 4] {
            return 1;
        }
        // A thread is started behind the first marked event of one, the second of two.
        let may = |script: usize| match script {
            2 => left[1] < 2,
            3 => left[2] < 2,
            _ => true,
        };
        let next = (0..4).filter(|&script| left[script] > 0 && may(script));
        next.map(|script| {
            let mut rest = left;
            rest[script] -= 1;
            count(rest)
        })
        .sum()
    }
    count([2, 2, 3, 1])
}

#[test]
fn independent_threads_are_interleaved_in_every_way_equally_often() {
    let own = |count, before| [vec![Op::Event(3); before], vec![Op::Event(MARKED); count]].concat();
    let main = vec![Op::Spawn(1), Op::Spawn(2)];
    let program = Program { scripts: vec![main, own(4, 0), own(2, 30)] };
    let counts = [(None, 0), (Some(0), 4), (Some(0), 2)];
    let seeds = 30_000;
    let orders = orders(&program, PolicyKind::Surw, &marks(&counts), seeds);
    // Six over two.
    assert_eq!(orders.len(), 15);
    let mean = seeds / 15;
    for (order, &often) in &orders {
        // More than five standard deviations.
        assert!(often.abs_diff(mean) < mean / 8, "{order:?}: {often} instead of {mean}");
    }
}

#[test]
fn threads_that_start_late_count_for_who_starts_them() {
    let seeds = 150_000;
    let surw = orders(&program(), PolicyKind::Surw, &marks(COUNTS), seeds);
    assert_eq!(surw.len() as u64, possible());
    let mean = seeds / possible();
    for (order, &often) in &surw {
        assert!(often.abs_diff(mean) < mean / 4, "{order:?}: {often} instead of {mean}");
    }
    // What it is compared with: some orders hardly ever occur.
    let random = orders(&program(), PolicyKind::Random, &marks(COUNTS), seeds);
    let common = random.values().filter(|&&often| often > mean / 4).count() as u64;
    assert!(common < possible() / 2, "{common} of {}", possible());
}

#[test]
fn wrong_counts_hold_nobody_for_ever() {
    for counts in [&[][..], &[(None, 0)], &[(None, 9), (Some(7), 100), (Some(2), 0)]] {
        let orders = orders(&program(), PolicyKind::Surw, &marks(counts), 500);
        assert!(orders.keys().all(|order| order.len() == 8), "{orders:?}");
    }
}

#[test]
fn expectations_read_back() {
    let marks = marks(COUNTS);
    assert_eq!(marks.to_string().parse(), Ok(marks));
    for wrong in ["expect", "expect x\n", "expect 3 from y\n", "expect 3 of 1\n"] {
        assert!(wrong.parse::<Marks>().is_err(), "{wrong}");
    }
}
