//! Plans: feasible plans are followed, infeasible ones are released with a reason, and the program continues.

use untorn_schedule::{
    CodePoint, Mode, Options, Plan, PlanFailure, PlanPoint, PlanStep, PlanThread, PointIndex,
    PolicyKind, Schedule, Scheduler, ThreadId,
};

use super::decisions::{POLICIES, options, record};
use super::driver::{Entry, Run, Sites, World, drive};
use super::explore::{Graph, Label};
use super::program::{Knobs, Op, Program, Script};
use super::rounds;

/// The place of an event, so that no two events have the same.
fn own_place(script: Script, event: usize) -> PlanPoint {
    let code_point =
        CodePoint::FileLine { file: format!("script{script}.java"), line: event as u32 };
    PlanPoint { code_point, kind: None }
}

/// The place of an `Event` operation; several may have it.
fn shared_place(place: u32) -> PlanPoint {
    let code_point =
        CodePoint::MethodLine { class: "p.A".to_owned(), method: "m".to_owned(), line: place };
    PlanPoint { code_point, kind: None }
}

fn step(script: Script, place: PlanPoint, occurrence: u32) -> PlanStep {
    PlanStep { thread: PlanThread::Name(format!("script {script}")), point: place, occurrence }
}

/// Runs the program by the plan.
fn follow(
    program: &Program,
    plan: &Plan,
    policy: PolicyKind,
    options: Options,
) -> Result<Run, String> {
    let places = plan.points();
    let site = |wanted: &PlanPoint| {
        let at = places.iter().position(|&place| place == wanted);
        at.map(|at| PointIndex(at as u32))
    };
    let sites = |script, event, place: Option<u32>| {
        let shared = place.and_then(|place| site(&shared_place(place)));
        site(&own_place(script, event)).into_iter().chain(shared).collect()
    };
    let scheduler = Scheduler::new(Mode::Plan(plan.clone(), policy), options);
    let goes_on = options.seed % 2 == 1;
    let world = World { strict: false, sites: Some(&sites), goes_on, ..World::new(options.seed) };
    let run = drive(program, scheduler, world)?;
    // A run under a plan replays without the plan, as long as threads ask where they were held.
    let replay = Scheduler::new(Mode::Replay(Schedule::from(run.steps.clone())), options);
    let sites = Some(&sites as Sites<'_>);
    let world = World { strict: false, sites, goes_on, ..World::new(!options.seed) };
    let again = drive(program, replay, world)?;
    if again.log != run.log || !again.outcome.is_faithful() {
        return Err(format!("replay: {again:?}\nof {run:?}"));
    }
    Ok(run)
}

/// Where in the run the events happened.
fn positions(log: &[Entry], order: &[Label]) -> Option<Vec<usize>> {
    let at = |&(script, event): &Label| {
        log.iter().position(|entry| (entry.script, entry.event) == (script, event))
    };
    order.iter().map(at).collect()
}

/// All `Event` operations, each with its step of a plan.
fn planned_events(program: &Program) -> Vec<(Label, PlanStep)> {
    let mut events = Vec::new();
    for (script, ops) in program.scripts.iter().enumerate() {
        let mut occurrences = [0; super::program::PLACES as usize];
        for (pc, op) in ops.iter().enumerate() {
            if let Op::Event(place) = *op {
                occurrences[place as usize] += 1;
                let occurrence = occurrences[place as usize];
                events.push(((script, pc * 2), step(script, shared_place(place), occurrence)));
            }
        }
    }
    events
}

/// Counts orders of three events: feasible and followed; feasible; infeasible.
#[derive(Default, Debug)]
struct Tally {
    followed: u64,
    possible: u64,
    impossible: u64,
}

/// Tries every order of three events of the program.
fn try_all_orders(program: &Program, seed: u64, tally: &mut Tally) -> Result<(), String> {
    let graph = Graph::of(program);
    let events = planned_events(program);
    let n = events.len();
    for i in 0..n * n * n {
        let (a, b, c) = (i / n / n, i / n % n, i % n);
        if a == b || b == c || a == c {
            continue;
        }
        let order = [events[a].0, events[b].0, events[c].0];
        let plan = Plan::new([a, b, c].map(|at| events[at].1.clone()).into());
        let read: Plan = plan.to_string().parse().map_err(|error| format!("{error}"))?;
        let run = follow(program, &read, POLICIES[i % 4], options(seed))
            .map_err(|error| format!("{plan}: {error}"))?;
        let possible = graph.allows(&order);
        let faithful = run.outcome.is_faithful();
        if faithful == run.outcome.abandoned.is_some() || (faithful && !possible) {
            return Err(format!("{plan}: {:?}", run.outcome));
        }
        if faithful && !positions(&run.log, &order).is_some_and(|at| at.is_sorted()) {
            return Err(format!("{plan}: another order: {:?}", run.log));
        }
        if !run.finished {
            return Err(format!("{plan}: the program did not end"));
        }
        tally.followed += u64::from(faithful);
        *(if possible { &mut tally.possible } else { &mut tally.impossible }) += 1;
    }
    Ok(())
}

/// Tries every order of three events of many programs with few events.
fn try_programs(knobs: &Knobs, programs: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..programs {
        let program = Program::random(seed, knobs);
        if planned_events(&program).len() <= 6 {
            try_all_orders(&program, seed, &mut tally)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{program:?}"));
        }
    }
    tally
}

#[test]
fn soak_every_possible_order_of_three_events_is_followed() {
    let tally = try_programs(&Knobs::monotone(), rounds(4_000));
    assert_eq!(tally.followed, tally.possible, "{tally:?}");
    assert!(tally.possible > rounds(30_000) && tally.impossible > rounds(30_000), "{tally:?}");
}

/// With locks, a plan of three events may be possible only if a thread passes a critical section before the plan
/// requires it, which the plan does not contain. Most feasible orders are followed nevertheless. A plan that also
/// contains the order of the lock acquisitions is always followed, as the next test shows.
#[test]
fn soak_most_possible_orders_are_followed_in_spite_of_locks() {
    let tally = try_programs(&Knobs::ordered_locks(), rounds(4_000));
    assert!(tally.followed * 100 > tally.possible * 97, "{tally:?}");
    assert!(tally.possible > rounds(20_000) && tally.impossible > rounds(20_000), "{tally:?}");
}

/// The events of a run, in their order; `keep` says which of the plain ones.
fn plan_of(log: &[Entry], keep: impl Fn(usize) -> bool) -> Plan {
    let keep = |(i, entry): &(usize, &Entry)| entry.place.is_none() || keep(*i);
    let steps = log.iter().enumerate().filter(keep);
    let steps = steps.map(|(_, e)| step(e.script, own_place(e.script, e.event), 1));
    Plan::new(steps.collect())
}

#[test]
fn soak_a_plan_of_all_events_of_a_run_is_followed() {
    let mut runs = 0;
    for seed in 0..rounds(100_000) {
        let program = Program::random(seed, &Knobs::timeless());
        let recorded = record(&program, POLICIES[(seed % 4) as usize], seed).expect("tested");
        // The events of a deadlocked run are not all known, and those may happen at any time.
        if !recorded.finished {
            continue;
        }
        let plan = plan_of(&recorded.log, |i| seed % 2 == 0 || (seed >> (i % 16)) & 2 == 0);
        let policy = POLICIES[(seed / 4 % 4) as usize];
        let run = follow(&program, &plan, policy, options(seed))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{program:?}\n{plan}"));
        assert!(run.outcome.is_faithful(), "seed {seed}: {run:?}\n{program:?}\n{plan}");
        let planned = |log: &[Entry]| -> Vec<Label> {
            let labels = log.iter().map(|entry| (entry.script, entry.event));
            labels.filter(|&(s, e)| plan.points().contains(&&own_place(s, e))).collect()
        };
        assert_eq!(planned(&run.log), planned(&recorded.log), "seed {seed}");
        runs += 1;
    }
    assert!(runs > rounds(15_000), "{runs} runs");
}

/// A program of which every script but the first is started at once.
fn program(scripts: &[&[Op]]) -> Program {
    let mut scripts: Vec<Vec<Op>> = scripts.iter().map(|ops| ops.to_vec()).collect();
    for script in (1..scripts.len()).rev() {
        scripts[0].insert(0, Op::Spawn(script));
    }
    Program { scripts }
}

fn plan(steps: &[(Script, u32)]) -> Plan {
    Plan::new(steps.iter().map(|&(s, place)| step(s, shared_place(place), 1)).collect())
}

/// The reason why a plan was released, having checked that the program went on to its end.
fn failure(scripts: &[&[Op]], steps: &[(Script, u32)]) -> PlanFailure {
    let options = Options { quantum: 50, plan_events: 10_000, plan_turns: 500, ..options(2) };
    let run = follow(&program(scripts), &plan(steps), PolicyKind::RunToBlock, options);
    let run = run.expect("the decisions are right");
    assert!(run.finished, "{run:?}");
    run.outcome.abandoned.expect("the plan cannot be followed").why
}

#[test]
fn a_spinning_thread_does_not_stop_a_plan() {
    let scripts: &[&[Op]] = &[&[], &[Op::SpinUntil(0), Op::Event(0)], &[Op::Set(0), Op::Event(1)]];
    let options = Options { quantum: 50, ..options(0) };
    let run = follow(&program(scripts), &plan(&[(1, 0), (2, 1)]), PolicyKind::Random, options);
    let run = run.expect("the decisions are right");
    assert!(run.outcome.is_faithful(), "{run:?}");
    // The other thread must not set the flag before its own planned event: such a plan cannot be followed.
    let scripts: &[&[Op]] = &[&[], &[Op::SpinUntil(0), Op::Event(0)], &[Op::Event(1), Op::Set(0)]];
    let why = failure(scripts, &[(1, 0), (2, 1)]);
    assert!(matches!(why, PlanFailure::NoProgress { .. }), "{why}");
}

#[test]
fn a_polling_thread_does_not_stop_a_plan() {
    // It sleeps more often than a thread may before others get a turn.
    let polls = [Op::Sleep(5); 6];
    let script = [&polls[..], &[Op::SpinUntil(0), Op::Event(0)]].concat();
    let scripts: &[&[Op]] = &[&[], &script, &[Op::Set(0), Op::Event(1)]];
    let options = Options { quantum: 50, ..options(0) };
    let run = follow(&program(scripts), &plan(&[(1, 0), (2, 1)]), PolicyKind::Random, options);
    assert!(run.expect("the decisions are right").outcome.is_faithful());
}

const MILLISECOND: u64 = 1_000_000;

/// The first thread of the plan sleeps before its event; the second one could go on meanwhile, and is held.
fn sleeping(sleeps: &[u64], keeps_time: bool) -> Run {
    let naps = sleeps.iter().map(|millis| Op::Sleep(millis * MILLISECOND));
    let script: Vec<Op> = naps.chain([Op::Event(0)]).collect();
    let scripts: &[&[Op]] = &[&[], &script, &[Op::Event(1), Op::Event(2)]];
    let plan = Plan { keeps_time, ..plan(&[(1, 0), (2, 1)]) };
    let run = follow(&program(scripts), &plan, PolicyKind::RunToBlock, options(0));
    let run = run.expect("the decisions are right");
    assert!(run.finished, "{run:?}");
    run
}

fn premature_timeouts(run: &Run) -> Vec<(u32, u32)> {
    run.outcome.premature_timeouts.iter().map(|wait| (wait.waiter, wait.held)).collect()
}

#[test]
fn a_sleep_during_which_another_thread_is_held_is_noted() {
    let run = sleeping(&[50], false);
    assert!(run.outcome.is_faithful(), "{run:?}");
    assert_eq!(premature_timeouts(&run), [(1, 2)]);
    // It is as long a delay if it comes in small pieces; those within a time slice are no delay.
    assert_eq!(premature_timeouts(&sleeping(&[3; 5], false)), [(1, 2), (1, 2)]);
}

#[test]
fn a_plan_that_keeps_time_is_given_up_instead() {
    for sleeps in [&[50][..], &[3; 5]] {
        let run = sleeping(sleeps, true);
        let why = run.outcome.abandoned.as_ref().map(|release| release.why);
        let expected = PlanFailure::Outruns { thread: ThreadId(1), held: ThreadId(2) };
        assert_eq!(why, Some(expected), "{sleeps:?}");
        assert_eq!(premature_timeouts(&run), []);
    }
}

#[test]
fn a_delay_within_a_time_slice_is_an_ordinary_preemption() {
    for keeps_time in [false, true] {
        let run = sleeping(&[5], keeps_time);
        assert!(run.outcome.is_faithful(), "{run:?}");
        assert_eq!(premature_timeouts(&run), []);
    }
}

/// Nobody is held while all sleep: the one that wakes first goes on first.
#[test]
fn a_plan_that_keeps_time_is_followed_in_the_order_of_time() {
    let scripts: &[&[Op]] = &[
        &[],
        &[Op::Sleep(50 * MILLISECOND), Op::Event(0)],
        &[Op::Sleep(20 * MILLISECOND), Op::Event(1)],
    ];
    let follow = |steps: &[(Script, u32)]| {
        let plan = Plan { keeps_time: true, ..plan(steps) };
        follow(&program(scripts), &plan, PolicyKind::RunToBlock, options(0)).expect("right")
    };
    assert!(follow(&[(2, 1), (1, 0)]).outcome.is_faithful());
    assert!(follow(&[(1, 0), (2, 1)]).outcome.abandoned.is_some());
}

/// The thread is allowed to acquire the lock, finds it held, and acquires it in a later turn. That turn must end
/// there.
#[test]
fn a_planned_event_that_blocks_first_is_executed_once_and_alone() {
    let scripts: &[&[Op]] = &[
        &[],
        &[Op::Lock(0), Op::Event(0), Op::Unlock(0)],
        &[Op::Lock(0), Op::Event(1), Op::Unlock(0), Op::Event(2)],
    ];
    let program = program(scripts);
    let lock = step(1, own_place(1, 0), 1);
    let [first, second, third] = [(2, 1), (2, 2), (1, 0)].map(|(s, p)| step(s, shared_place(p), 1));
    let plan = Plan::new(vec![first, lock, second, third]);
    let run = follow(&program, &plan, PolicyKind::Random, options(0)).expect("right decisions");
    assert!(run.outcome.is_faithful(), "{run:?}");
    let order = [(2, 2), (1, 0), (2, 6), (1, 2)];
    assert!(positions(&run.log, &order).is_some_and(|at| at.is_sorted()), "{:?}", run.log);
}

#[test]
fn a_release_says_why() {
    let lock_order: &[&[Op]] = &[
        &[],
        &[Op::Lock(0), Op::Event(0), Op::Event(1), Op::Unlock(0)],
        &[Op::Lock(0), Op::Event(2), Op::Unlock(0)],
    ];
    let why = failure(lock_order, &[(1, 0), (2, 2), (1, 1)]);
    let blocked = "thread #2 is blocked on lock 0x0, held by thread #1";
    assert_eq!(why.to_string(), blocked);

    let why = failure(&[&[Op::Event(0)], &[Op::Event(1)]], &[(1, 1), (1, 3)]);
    assert_eq!(why, PlanFailure::ThreadEnded { thread: ThreadId(1) });

    let why = failure(&[&[Op::Event(0)], &[Op::Event(1)]], &[(7, 1)]);
    assert_eq!(why, PlanFailure::NoSuchThread);

    let why = failure(&[&[], &[Op::Event(0), Op::Event(1)]], &[(1, 1), (1, 0)]);
    assert_eq!(why, PlanFailure::Passed { thread: ThreadId(1) });

    let joins: &[&[Op]] = &[&[], &[Op::Join(2, None), Op::Event(0)], &[Op::Event(1)]];
    let why = failure(joins, &[(1, 0), (2, 1)]);
    assert_eq!(why.to_string(), "thread #1 is blocked on the end of thread #2");
}
