//! The protocol between front end and scheduler, case by case.

use untorn_schedule::{
    Blocker, Decision, GoOrHold, LockKey, Mode, Nanos, Options, Plan, PointIndex, Policy,
    PolicyKind, Reason, Rng, Schedule, Scheduler, Step, ThreadId, Turn, Wake,
};
use untorn_testkit::Rng as TestRng;

const FREE: fn(LockKey) -> Option<ThreadId> = |_| None;
const L: LockKey = LockKey(1);

fn thread(i: u32) -> ThreadId {
    ThreadId(i)
}

fn step(i: u32, events: u64, reason: Reason) -> Step {
    Step { thread: thread(i), events, reason }
}

/// A scheduler with so many threads, that runs to block.
fn plain(threads: u32) -> Scheduler {
    with(Mode::Policy(PolicyKind::RunToBlock), Options::default(), threads)
}

fn with(mode: Mode, options: Options, threads: u32) -> Scheduler {
    let mut scheduler = Scheduler::new(mode, options);
    (0..threads).for_each(|i| assert_eq!(scheduler.spawn(&format!("t{i}")), thread(i)));
    scheduler
}

fn replay(steps: &[Step], options: Options, threads: u32) -> Scheduler {
    with(Mode::Replay(Schedule::from(steps.to_vec())), options, threads)
}

/// The next turn, which there must be.
fn turn(scheduler: &mut Scheduler, why: Reason) -> Turn {
    match scheduler.next(why, &FREE) {
        Decision::Run(turn) => turn,
        other => panic!("{other:?}"),
    }
}

/// The current thread blocks; returns the next turn.
fn block(scheduler: &mut Scheduler, on: Blocker) -> Turn {
    let current = scheduler.current().expect("a thread runs");
    scheduler.block(current, on);
    turn(scheduler, Reason::Blocked)
}

fn end(scheduler: &mut Scheduler) -> Decision {
    let current = scheduler.current().expect("a thread runs");
    scheduler.end(current);
    scheduler.next(Reason::Ended, &FREE)
}

#[test]
fn without_threads_all_is_finished() {
    assert_eq!(plain(0).next(Reason::Budget, &FREE), Decision::Finished);
    let mut scheduler = plain(2);
    scheduler.abandon(thread(1));
    assert_eq!(turn(&mut scheduler, Reason::Budget).thread, thread(0));
    assert_eq!(end(&mut scheduler), Decision::Finished);
    assert_eq!(scheduler.drain_turns(), [step(0, 0, Reason::Ended)]);
    assert_eq!(scheduler.drain_turns(), []);
}

#[test]
fn one_permit_is_kept() {
    let mut scheduler = plain(2);
    turn(&mut scheduler, Reason::Budget);
    scheduler.unpark(thread(0));
    scheduler.unpark(thread(0));
    let again = block(&mut scheduler, Blocker::Park { deadline: None });
    assert_eq!((again.thread, again.wake), (thread(0), Wake::Ready));
    scheduler.unpark(thread(0));
    scheduler.block(thread(0), Blocker::Park { deadline: None });
    assert_eq!(scheduler.blocked_on(thread(0)), None, "with a permit it may as well go on");
    scheduler.ran(thread(0), 5);
    let other = block(&mut scheduler, Blocker::Park { deadline: None });
    assert_eq!(other.thread, thread(1), "two unparks are one permit");
    scheduler.unpark(thread(0));
    assert_eq!(turn(&mut scheduler, Reason::Yielded).thread, thread(0));
}

#[test]
fn who_waits_longest_is_notified_first_and_then_needs_the_lock() {
    let mut scheduler = plain(3);
    turn(&mut scheduler, Reason::Budget);
    block(&mut scheduler, Blocker::Wait { lock: L, deadline: None });
    block(&mut scheduler, Blocker::Wait { lock: L, deadline: None });
    assert_eq!(scheduler.notify(LockKey(9), true), 0);
    assert_eq!(scheduler.notify(L, false), 1);
    let owned = |_: LockKey| Some(thread(2));
    let Decision::Run(still) = scheduler.next(Reason::Yielded, &owned) else { panic!() };
    assert_eq!(still.thread, thread(2), "the lock is not free");
    let woken = turn(&mut scheduler, Reason::Yielded);
    assert_eq!((woken.thread, woken.wake), (thread(0), Wake::Notified));
    assert_eq!(scheduler.notify(L, true), 1);
}

#[test]
fn an_interrupt_wakes_and_is_not_remembered() {
    let mut scheduler = plain(2);
    turn(&mut scheduler, Reason::Budget);
    scheduler.interrupt(thread(0));
    let other = block(&mut scheduler, Blocker::Join { thread: thread(1), deadline: None });
    assert_eq!(other.thread, thread(1));
    scheduler.interrupt(thread(0));
    let woken = turn(&mut scheduler, Reason::Yielded);
    assert_eq!((woken.thread, woken.wake), (thread(0), Wake::Interrupted));
}

#[test]
fn time_is_events_and_jumps() {
    let options = Options { tick: Nanos(10), start: Nanos(1000), ..Options::default() };
    let mut scheduler = with(Mode::Policy(PolicyKind::RunToBlock), options, 2);
    turn(&mut scheduler, Reason::Budget);
    scheduler.ran(thread(0), 3);
    scheduler.ran(thread(1), 100);
    assert_eq!(scheduler.now(), Nanos(1030), "only who has the token executes events");
    assert_eq!(block(&mut scheduler, Blocker::Sleep { deadline: Nanos(1035) }).thread, thread(1));
    scheduler.ran(thread(1), 1);
    let late = block(&mut scheduler, Blocker::Wait { lock: L, deadline: Some(Nanos(9999)) });
    assert_eq!((late.thread, late.wake), (thread(0), Wake::TimedOut));
    assert_eq!(scheduler.now(), Nanos(1040), "the deadline had passed: no jump");
    let last = match end(&mut scheduler) {
        Decision::Run(last) => last,
        other => panic!("{other:?}"),
    };
    assert_eq!((last.thread, last.wake), (thread(1), Wake::TimedOut));
    assert_eq!(scheduler.now(), Nanos(9999));
}

#[test]
fn a_deadlock_says_who_waits_for_whom() {
    let mut scheduler = plain(3);
    turn(&mut scheduler, Reason::Budget);
    // Thread 0 holds lock 0 and requests lock 1, thread 1 the other way round.
    let owner = |lock: LockKey| Some(thread(lock.0 as u32));
    for (own, wanted) in [(0, 1), (1, 0)] {
        assert_eq!(scheduler.current(), Some(thread(own)));
        scheduler.block(thread(own), Blocker::Lock(LockKey(wanted)));
        assert!(matches!(scheduler.next(Reason::Blocked, &owner), Decision::Run(_)));
    }
    let cycle = Some(vec![thread(0), thread(1)]);
    assert_eq!(scheduler.outcome().lock_cycle, cycle, "found while another thread runs");
    scheduler.block(thread(2), Blocker::Park { deadline: None });
    let Decision::Deadlock(deadlock) = scheduler.next(Reason::Blocked, &owner) else { panic!() };
    assert!(deadlock.certain);
    assert_eq!(deadlock.cycle, cycle);
    let waits: Vec<_> = deadlock.threads.iter().map(|s| (s.thread.0, s.holder)).collect();
    assert_eq!(waits, [(0, Some(thread(1))), (1, Some(thread(0))), (2, None)]);
    // An unknown thread may still unblock the third.
    scheduler.unpark(thread(2));
    assert!(matches!(scheduler.next(Reason::Blocked, &owner), Decision::Run(_)));
}

#[test]
fn a_lock_of_a_foreign_thread_is_no_certain_deadlock() {
    let mut scheduler = plain(1);
    turn(&mut scheduler, Reason::Budget);
    scheduler.block(thread(0), Blocker::Lock(L));
    let foreign = |_: LockKey| Some(ThreadId(u32::MAX));
    let Decision::Deadlock(deadlock) = scheduler.next(Reason::Blocked, &foreign) else { panic!() };
    assert!(!deadlock.certain);
    assert_eq!(deadlock.threads[0].holder, Some(ThreadId(u32::MAX)));
    assert_eq!(turn(&mut scheduler, Reason::Blocked).thread, thread(0));
}

#[test]
fn a_patient_scheduler_waits_for_who_is_outside() {
    let options = Options { patient: true, ..Options::default() };
    let mut scheduler = with(Mode::Policy(PolicyKind::RunToBlock), options, 2);
    turn(&mut scheduler, Reason::Budget);
    block(&mut scheduler, Blocker::Outside);
    scheduler.block(thread(1), Blocker::Sleep { deadline: Nanos(50) });
    assert_eq!(scheduler.next(Reason::Blocked, &FREE), Decision::Idle);
    assert_eq!((scheduler.now(), scheduler.current()), (Nanos(0), None));
    assert_eq!(scheduler.next(Reason::Blocked, &FREE), Decision::Idle);
    scheduler.stop_waiting();
    assert_eq!(turn(&mut scheduler, Reason::Blocked).wake, Wake::TimedOut);
    assert_eq!(scheduler.now(), Nanos(50));
    scheduler.block(thread(1), Blocker::Sleep { deadline: Nanos(90) });
    assert_eq!(scheduler.next(Reason::Blocked, &FREE), Decision::Idle, "patient again");
    scheduler.returned(thread(0));
    assert_eq!(turn(&mut scheduler, Reason::Outside).thread, thread(0));
}

#[test]
fn replay_waits_for_a_foreign_waker_if_there_may_be_one() {
    let steps = [step(0, 0, Reason::Blocked), step(0, 2, Reason::Ended)];
    for foreign_wakers in [true, false] {
        let options = Options { foreign_wakers, ..Options::default() };
        let mut scheduler = replay(&steps, options, 2);
        assert_eq!(turn(&mut scheduler, Reason::Budget).budget, 1);
        scheduler.block(thread(0), Blocker::Park { deadline: None });
        let next = scheduler.next(Reason::Blocked, &FREE);
        if foreign_wakers {
            assert_eq!(next, Decision::Idle);
            scheduler.unpark(thread(0));
            assert_eq!(turn(&mut scheduler, Reason::Blocked).budget, 3);
            assert_eq!(scheduler.outcome().divergence, None);
        } else {
            assert!(matches!(next, Decision::Run(turn) if turn.thread == thread(1)), "{next:?}");
            let words = scheduler.outcome().divergence.map(|divergence| divergence.to_string());
            let expected = "step 1: expected thread #0 to run 2 events until it ended, \
                but thread #0 waits for a permit";
            assert_eq!(words.as_deref(), Some(expected));
        }
    }
}

#[test]
fn replay_gives_up_waiting_when_told_so() {
    let steps = [step(0, 1, Reason::Outside), step(0, 1, Reason::Ended)];
    let mut scheduler = replay(&steps, Options::default(), 2);
    let first = turn(&mut scheduler, Reason::Budget);
    assert!(first.leave && first.budget == 1);
    scheduler.ran(thread(0), 1);
    assert_eq!(scheduler.next(Reason::Budget, &FREE), Decision::Idle);
    assert_eq!(scheduler.blocked_on(thread(0)), Some(Blocker::Outside));
    scheduler.stop_waiting();
    assert_eq!(turn(&mut scheduler, Reason::Budget).thread, thread(1));
    let divergence = scheduler.outcome().divergence.expect("given up");
    assert_eq!(divergence.actual, "thread #0 waits for something outside");
}

/// The message for every way in which a turn can differ from its step.
#[test]
fn a_divergence_is_put_into_words() {
    let cases = [
        (step(0, 2, Reason::Blocked), 3, Reason::Budget, "it had executed 3 and went on"),
        (step(0, 2, Reason::Budget), 1, Reason::Blocked, "it blocked after 1 event"),
        (step(0, 2, Reason::Yielded), 2, Reason::Ended, "it ended after 2 events"),
        (step(0, 2, Reason::Ended), 0, Reason::Yielded, "it yielded after 0 events"),
    ];
    for (wanted, events, why, words) in cases {
        let mut scheduler = replay(&[wanted, step(1, 1, Reason::Ended)], Options::default(), 2);
        turn(&mut scheduler, Reason::Budget);
        scheduler.ran(thread(0), events);
        if why == Reason::Blocked {
            scheduler.block(thread(0), Blocker::Park { deadline: None });
        }
        scheduler.next(why, &FREE);
        let outcome = scheduler.outcome();
        let divergence = outcome.divergence.expect("it differs");
        assert_eq!((divergence.step, divergence.actual.as_str()), (0, words));
        assert_eq!((outcome.followed, outcome.of), (0, 2));
    }
}

#[test]
fn a_recording_that_was_cut_replays_up_to_the_cut() {
    let mut scheduler = plain(2);
    turn(&mut scheduler, Reason::Budget);
    scheduler.ran(thread(0), 7);
    scheduler.cut();
    let steps = scheduler.drain_turns();
    assert_eq!(steps, [step(0, 7, Reason::Cut)]);
    let mut again = replay(&steps, Options::default(), 2);
    assert_eq!(turn(&mut again, Reason::Budget).thread, thread(0));
    again.ran(thread(0), 8);
    assert_eq!(turn(&mut again, Reason::Yielded).thread, thread(1));
    assert!(again.outcome().is_faithful(), "what comes after a cut is not known");
}

#[test]
fn a_run_that_outlives_its_schedule_differs_from_it() {
    let mut scheduler = replay(&[step(0, 1, Reason::Ended)], Options::default(), 2);
    turn(&mut scheduler, Reason::Budget);
    scheduler.ran(thread(0), 1);
    assert!(matches!(end(&mut scheduler), Decision::Run(_)));
    let divergence = scheduler.outcome().divergence.expect("thread 1 still runs");
    assert_eq!(
        divergence.to_string(),
        "step 1: expected the end of the run, but thread #1 can go on"
    );
}

#[test]
fn turns_without_events_are_passed_over() {
    let steps = [step(1, 0, Reason::Budget), step(0, 0, Reason::Plan), step(1, 2, Reason::Budget)];
    let mut scheduler = replay(&steps, Options::default(), 2);
    let first = turn(&mut scheduler, Reason::Budget);
    assert_eq!((first.thread, first.budget, first.leave), (thread(1), 2, false));
    assert_eq!(scheduler.drain_turns(), steps[..2]);
}

/// Always the last candidate, and a budget that no turn can have.
#[derive(Debug)]
struct Wayward;

impl Policy for Wayward {
    fn choose(&mut self, choice: &untorn_schedule::Choice<'_>, _: &mut Rng) -> (ThreadId, u64) {
        (choice.candidates[choice.candidates.len() - 1], 0)
    }
}

/// Holds a thread the third time that it asks.
#[derive(Debug, Default)]
struct Third(u32);

impl Policy for Third {
    fn choose(&mut self, choice: &untorn_schedule::Choice<'_>, _: &mut Rng) -> (ThreadId, u64) {
        (choice.candidates[0], 10)
    }

    fn arrives(&mut self, _: ThreadId, _: &untorn_schedule::Arrival<'_>, _: &mut Rng) -> bool {
        self.0 += 1;
        self.0 == 3
    }
}

/// The thread executes two events and then reaches one point after the other; returns where it is held for good,
/// asking again where it is held, as a front end does.
fn held_at(scheduler: &mut Scheduler, turns: usize) -> u32 {
    let (mut place, mut held) = (0, 0);
    assert_eq!(turn(scheduler, Reason::Budget).thread, thread(0));
    scheduler.ran(thread(0), 2);
    loop {
        match scheduler.at_site(thread(0), PointIndex(place)) {
            GoOrHold::Go { .. } => place += 1,
            GoOrHold::Hold => {
                held += 1;
                if held == turns {
                    scheduler.cut();
                    return place;
                }
                assert_eq!(turn(scheduler, Reason::Held).thread, thread(0));
            }
        }
    }
}

#[test]
fn a_thread_is_held_again_at_the_place_where_it_was() {
    let mut scheduler = Scheduler::with_policy(Box::<Third>::default(), Options::default());
    scheduler.spawn("t0");
    turn(&mut scheduler, Reason::Budget);
    scheduler.ran(thread(0), 2);
    let asked: Vec<_> =
        (0..3).map(|place| scheduler.at_site(thread(0), PointIndex(place))).collect();
    assert_eq!(asked.iter().position(|&answer| answer == GoOrHold::Hold), Some(2));
    turn(&mut scheduler, Reason::Held);
    let steps = scheduler.drain_turns();
    assert_eq!(
        steps,
        [step(0, 2, Reason::Held), step(0, 0, Reason::Held), step(0, 0, Reason::Held)]
    );
    assert_eq!(held_at(&mut replay(&steps, Options::default(), 1), steps.len()), 2);
}

#[test]
fn a_policy_may_come_from_outside() {
    let mut scheduler = Scheduler::with_policy(Box::new(Wayward), Options::default());
    for i in 0..3 {
        scheduler.spawn(&format!("{i}"));
    }
    let first = turn(&mut scheduler, Reason::Budget);
    assert_eq!((first.thread, first.budget), (thread(2), 1));
    assert_eq!(
        turn(&mut scheduler, Reason::Yielded).thread,
        thread(1),
        "who yields is no candidate"
    );
    assert_eq!(scheduler.name(thread(1)), Some("1"));
    assert_eq!(scheduler.name(thread(9)), None);
}

#[test]
fn random_turns_have_all_lengths() {
    let mut scheduler = with(Mode::Policy(PolicyKind::Random), Options::default(), 2);
    let mut by_scale = [0; 13];
    for _ in 0..13_000 {
        let budget = turn(&mut scheduler, Reason::Budget).budget;
        by_scale[budget.ilog2() as usize] += 1;
    }
    assert!(by_scale.iter().all(|&n| (700..1300).contains(&n)), "{by_scale:?}");
}

#[test]
fn pos_gives_one_event_at_a_time_and_starves_nobody() {
    let mut scheduler = with(Mode::Policy(PolicyKind::Pos), Options::default(), 3);
    let mut turns = [0; 3];
    for _ in 0..3000 {
        let next = turn(&mut scheduler, Reason::Budget);
        assert_eq!(next.budget, 1);
        turns[next.thread.index()] += 1;
        scheduler.ran(next.thread, 1);
    }
    assert!(turns.iter().all(|&n| n > 100), "{turns:?}");
}

/// A plan whose first step is behind a loop, in which its thread asks again and again for what a held thread must do.
/// How many events until the plan is given up.
fn events_of_a_loop_in_vain(each: u64, helper_works: bool) -> Option<u64> {
    let plan: Plan = "#1 @ A.java:1\n#2 @ A.java:2\n".parse().expect("a plan");
    let options = Options { plan_polling: 10_000, ..Options::default() };
    let mut scheduler = with(Mode::Plan(plan, PolicyKind::RunToBlock), options, 3);
    let (mut why, mut events) = (Reason::Budget, 0);
    for _ in 0..10_000 {
        let running = turn(&mut scheduler, why).thread;
        if scheduler.outcome().abandoned.is_some() {
            return Some(events);
        }
        if running == thread(2) {
            assert_eq!(scheduler.at_site(thread(2), PointIndex(1)), GoOrHold::Hold);
            why = Reason::Held;
            continue;
        }
        scheduler.ran(running, each);
        events += each;
        let works = helper_works && running == thread(0);
        why = if works { Reason::Budget } else { Reason::Yielded };
    }
    None
}

#[test]
fn a_plan_is_given_up_soon_if_all_do_nothing_but_yield() {
    let events = events_of_a_loop_in_vain(512, false).expect("it is given up");
    assert!((10_000..30_000).contains(&events), "{events}");
    // One of them does something in between: it may come to what the others wait for.
    assert_eq!(events_of_a_loop_in_vain(512, true), None);
}

#[test]
fn pct_lets_a_spinning_thread_fall_below_the_others() {
    for seed in 0..50 {
        let options = Options { seed, quantum: 10, ..Options::default() };
        let policy = PolicyKind::Pct { depth: 3, length: 100 };
        let mut scheduler = with(Mode::Policy(policy), options, 3);
        let mut seen = [false; 3];
        // At most two change points shorten turns.
        for _ in 0..5 {
            let next = turn(&mut scheduler, Reason::Budget);
            seen[next.thread.index()] = true;
            scheduler.ran(next.thread, next.budget);
        }
        assert_eq!(seen, [true; 3], "seed {seed}");
    }
}

/// Whatever a front end calls, in whatever order and with whatever ids, nothing breaks.
#[test]
fn soak_no_sequence_of_calls_breaks_the_scheduler() {
    for seed in 0..untorn_testkit::cases(100_000, 2_000_000) {
        let mut rng = TestRng::new(seed);
        let plan = "t0 @ A.java:1\nt1 @ A.java:2\n#0 @ A.java:1 #2".parse().expect("a plan");
        let steps = (0..10)
            .map(|_| step(rng.below(4), u64::from(rng.below(3)), rng.pick(&REASONS)))
            .collect::<Vec<_>>();
        let mode = match seed % 4 {
            0 => Mode::Replay(Schedule::from(steps)),
            1 => Mode::Plan(plan, PolicyKind::PCT),
            2 => Mode::Prefix(Schedule::from(steps), PolicyKind::Pos),
            _ => Mode::Policy(PolicyKind::Random),
        };
        let options = Options {
            patient: rng.chance(128),
            foreign_wakers: rng.chance(128),
            tick: Nanos(rng.bits() >> rng.below(64)),
            ..Options::default()
        };
        let mut scheduler = with(mode, options, rng.below(4));
        for _ in 0..30 {
            call(&mut scheduler, &mut rng);
        }
    }
}

const REASONS: [Reason; 8] = [
    Reason::Budget,
    Reason::Blocked,
    Reason::Yielded,
    Reason::Ended,
    Reason::Outside,
    Reason::Plan,
    Reason::Cut,
    Reason::Held,
];

fn call(scheduler: &mut Scheduler, rng: &mut TestRng) {
    let any = if rng.chance(10) { ThreadId(u32::MAX) } else { thread(rng.below(5)) };
    let number = rng.bits() >> rng.below(64);
    let deadline = rng.chance(128).then_some(Nanos(number));
    let lock = LockKey(u64::from(rng.below(2)));
    let blockers = [
        Blocker::Lock(lock),
        Blocker::Wait { lock, deadline },
        Blocker::Park { deadline },
        Blocker::Sleep { deadline: Nanos(number) },
        Blocker::Join { thread: any, deadline },
        Blocker::Outside,
    ];
    let owner = rng.bits();
    let locks = move |lock: LockKey| {
        let owner = (owner >> (lock.0 * 8)) as u32 % 6;
        (owner < 5).then_some(thread(owner))
    };
    match rng.below(14) {
        0 => assert!(scheduler.spawn("t1") != ThreadId(u32::MAX)),
        1 => scheduler.abandon(any),
        2 => scheduler.end(any),
        3 => scheduler.unpark(any),
        4 => scheduler.interrupt(any),
        5 => assert!(scheduler.notify(lock, rng.chance(128)) < 40),
        6 => scheduler.returned(any),
        7 => scheduler.ran(any, number),
        8 => scheduler.stop_waiting(),
        9 => scheduler.conflicted(any),
        10 => {
            let at = scheduler.at_site(any, PointIndex(rng.below(4)));
            assert!(matches!(at, GoOrHold::Hold | GoOrHold::Go { .. }));
        }
        11 => scheduler.block(any, rng.pick(&blockers)),
        12 if rng.chance(40) => scheduler.cut(),
        _ => {
            let next = scheduler.next(rng.pick(&REASONS), &locks);
            if let Decision::Run(turn) = next {
                assert_eq!(scheduler.current(), Some(turn.thread));
                assert!(turn.budget > 0);
            }
        }
    }
    let _ = (scheduler.outcome(), scheduler.lock_cycle(&locks), scheduler.drain_turns());
}
