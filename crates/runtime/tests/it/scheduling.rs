//! Which thread runs when: policies, replay, locks, permits, time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use untorn_runtime::buffers::{CAPACITY, special};
use untorn_runtime::{Record, Resumption, Signal, Watchdog};
use untorn_schedule::{Blocker, Nanos, PolicyKind, ThreadId, Wake};

use crate::program::{Program, Run, run};

/// Two threads with five accesses each, and a main thread that waits for them.
fn two_threads(main: &Program) {
    let body = |program: &Program| (0..5).for_each(|site| program.access(site, 0));
    let threads = [main.spawn("one", false, body), main.spawn("two", false, body)];
    main.access(100, 0);
    threads.into_iter().for_each(|thread| main.join(thread));
    main.access(101, 0);
}

#[test]
fn run_to_block_switches_only_where_a_thread_waits_or_ends() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), two_threads);
    let of = |thread| (0..5).map(move |site| (thread, site));
    let expected: Vec<_> =
        [(0, 100)].into_iter().chain(of(1)).chain(of(2)).chain([(0, 101)]).collect();
    assert_eq!(recorded.accesses(), expected);
    assert!(recorded.progress.done && recorded.progress.fault.is_none());
    assert_eq!(recorded.progress.threads, 3);
    assert_eq!(recorded.buried[..2], [ThreadId(1), ThreadId(2)], "each end is awaited");
}

#[test]
fn forks_and_joins_leave_records() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), two_threads);
    let of = |site| {
        let found = recorded.records.iter().filter(|(_, record)| record.site == site);
        found.map(|(thread, record)| (*thread, record.value)).collect::<Vec<_>>()
    };
    assert_eq!(of(special::FORK), [(0, 1), (0, 2)]);
    assert_eq!(of(special::JOIN), [(0, 1), (0, 2)]);
}

#[test]
fn a_seed_gives_one_order_and_others_give_others() {
    let order = |seed| run(&Run::new(PolicyKind::Random, seed), two_threads).accesses();
    let orders: Vec<_> = (0..10).map(order).collect();
    assert_eq!(orders, (0..10).map(order).collect::<Vec<_>>());
    assert!(orders.iter().any(|other| *other != orders[0]), "ten seeds, one order: {orders:?}");
}

/// Reads and writes the shared number in two steps.
fn unsafe_increment(program: &Program, shared: &AtomicU64) {
    let value = shared.load(Ordering::Relaxed);
    program.access(1, value);
    shared.store(value + 1, Ordering::Relaxed);
    program.access(2, value + 1);
}

fn increments(run_it: &Run) -> u64 {
    let shared = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&shared);
    run(run_it, move |main| {
        let child =
            |shared: Arc<AtomicU64>| move |program: &Program| unsafe_increment(program, &shared);
        let one = main.spawn("one", false, child(Arc::clone(&counted)));
        let two = main.spawn("two", false, child(counted));
        main.join(one);
        main.join(two);
    });
    shared.load(Ordering::Relaxed)
}

#[test]
fn a_lost_update_is_found_by_preemption_and_never_happens_without() {
    assert_eq!(increments(&Run::new(PolicyKind::RunToBlock, 0)), 2);
    let counts: Vec<_> = (0..20).map(|seed| increments(&Run::new(PolicyKind::Pos, seed))).collect();
    assert!(counts.contains(&1) && counts.contains(&2), "{counts:?}");
}

/// Locks, permits, sleeps, and a thread that starts another one: all that a schedule has to repeat.
fn busy(main: &Program) {
    let worker = |number: u64| {
        move |program: &Program| {
            for round in 0..3 {
                program.lock(7);
                program.access(10, number);
                program.access(11, round);
                program.unlock(7);
                program.access(12, number);
            }
            if number == 1 {
                let child = program.spawn("child", false, |program| program.access(20, 0));
                program.join(child);
            }
            let me = program.control.present(()).expect("it has the token");
            let deadline = program.control.hold((), me).now().after(Nanos(1_000 * number));
            program.block(Blocker::Sleep { deadline });
            program.access(13, number);
        }
    };
    let threads: Vec<_> =
        (1..4).map(|number| main.spawn(&format!("w{number}"), false, worker(number))).collect();
    threads.into_iter().for_each(|thread| main.join(thread));
}

#[test]
fn the_recorded_schedule_gives_the_same_order_again() {
    let mut orders = Vec::new();
    for policy in [PolicyKind::Random, PolicyKind::Pos, PolicyKind::RunToBlock] {
        for seed in 0..8 {
            let recorded = run(&Run::new(policy, seed), busy);
            let replayed = run(&Run::replay(&recorded.schedule), busy);
            assert_eq!(replayed.records, recorded.records, "{policy:?} {seed}");
            assert!(replayed.is_faithful(), "{policy:?} {seed}: {:?}", replayed.summary);
            orders.push(recorded.accesses());
        }
    }
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 8, "the schedules differ");
}

#[test]
fn a_replay_of_another_program_says_that_it_diverges() {
    let recorded = run(&Run::new(PolicyKind::Pos, 3), busy);
    let replayed = run(&Run::replay(&recorded.schedule), two_threads);
    assert!(replayed.summary().divergence.is_some());
    assert_eq!(replayed.accesses().len(), 12, "the program runs to its end all the same");
}

#[test]
fn a_lock_keeps_others_out() {
    for seed in 0..10 {
        let recorded = run(&Run::new(PolicyKind::Random, seed), busy);
        let mut inside = None;
        for (thread, record) in &recorded.records {
            match record.site {
                crate::program::ACQUIRED => assert_eq!(inside.replace(*thread), None),
                crate::program::RELEASED => assert_eq!(inside.take(), Some(*thread)),
                10 | 11 => assert_eq!(inside, Some(*thread), "seed {seed}"),
                _ => {}
            }
        }
    }
}

#[test]
fn more_records_than_a_buffer_holds_stay_in_order() {
    const COUNT: u64 = 3 * CAPACITY as u64 + 17;
    let body = |program: &Program| (0..COUNT).for_each(|value| program.access(1, value));
    let run_it = Run { quantum: 1_000, ..Run::new(PolicyKind::Random, 1) };
    let recorded = run(&run_it, move |main| {
        let threads = [main.spawn("one", false, body), main.spawn("two", false, body)];
        threads.into_iter().for_each(|thread| main.join(thread));
    });
    for thread in [1, 2] {
        let own = recorded.records.iter().filter(|(of, record)| (*of, record.site) == (thread, 1));
        assert!(own.map(|(_, record)| record.value).eq(0..COUNT), "of thread {thread}");
    }
    assert!(recorded.schedule.steps.len() > 10);
}

/// How often threads are switched while they make the twenty accesses of a section.
fn switches_within(seed: u64, section: fn(&Program)) -> usize {
    let recorded = run(&Run::new(PolicyKind::Random, seed), move |main| {
        let threads = [main.spawn("one", false, section), main.spawn("two", false, section)];
        threads.into_iter().for_each(|thread| main.join(thread));
    });
    let inside: Vec<_> = recorded.records.iter().filter(|(_, record)| record.site == 5).collect();
    assert_eq!(inside.len(), 40);
    inside.chunk_by(|one, other| one.0 == other.0).count() - 2
}

#[test]
fn a_thread_that_must_not_be_stopped_keeps_the_token() {
    fn accesses(program: &Program) {
        (0..20).for_each(|value| program.access(5, value));
    }
    fn protected(program: &Program) {
        program.unstoppable(|| accesses(program));
    }
    let switches = |section| (0..20).map(|seed| switches_within(seed, section)).sum::<usize>();
    assert!(switches(accesses) > 0, "otherwise there is nothing to protect from");
    assert_eq!(switches(protected), 0);
}

#[test]
fn what_belongs_to_a_thread_is_there_again_after_a_switch() {
    fn section(program: &Program) {
        program.unstoppable(|| {
            program.block(Blocker::Sleep { deadline: Nanos(1_000_000) });
            (0..20).for_each(|value| program.access(5, value));
        });
    }
    assert_eq!((0..20).map(|seed| switches_within(seed, section)).sum::<usize>(), 0);
}

#[test]
fn sleepers_wake_in_the_order_of_their_deadlines() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        let sleeper = |span: u64| {
            move |program: &Program| {
                program.block(Blocker::Sleep { deadline: Nanos(span * 1_000_000_000) });
                program.access(span as u32, 0);
            }
        };
        for span in [30, 10, 20] {
            main.spawn("sleeper", false, sleeper(span));
        }
    });
    let sites: Vec<_> = recorded.accesses().into_iter().map(|(_, site)| site).collect();
    assert_eq!(sites, [10, 20, 30], "in virtual time, without waiting");
}

#[test]
fn a_permit_may_come_before_it_is_asked_for() {
    for seed in 0..8 {
        let recorded = run(&Run::new(PolicyKind::Random, seed), |main| {
            let parked = main.spawn("parked", false, |program| {
                let me = program.control.present(()).expect("it has the token");
                program.access(1, 0);
                assert_eq!(program.control.hold((), me).park(None), Resumption::Turn(Wake::Ready));
                program.access(2, 0);
            });
            main.access(3, 0);
            let record = |of: ThreadId| Record {
                site: special::UNPARK,
                value: of.0.into(),
                ..Record::default()
            };
            assert!(main.control.signal((), |&number| number == parked.0, Signal::Permit, record));
            assert!(!main.control.signal((), |&number| number == 99, Signal::Permit, record));
        });
        let at = |site| recorded.records.iter().position(|(_, record)| record.site == site);
        assert!(at(special::UNPARK) < at(2), "seed {seed}");
    }
}

#[test]
fn who_spins_lets_others_run() {
    let flag = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&flag);
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), move |main| {
        main.spawn("setter", false, move |program| {
            program.access(1, 0);
            flag.store(1, Ordering::Relaxed);
        });
        while seen.load(Ordering::Relaxed) == 0 {
            main.branch();
        }
        main.access(2, 0);
    });
    assert_eq!(recorded.accesses(), [(1, 1), (0, 2)]);
    let branches: u64 = recorded.records.iter().map(|(_, record)| u64::from(record.branches)).sum();
    assert!(branches >= 100, "{branches}");
}

/// Who waits for a flag, and reads `sites` in each round; how many records that took.
fn records_of_one_who_asks_again(sites: &'static [u32], changes: bool) -> usize {
    let flag = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&flag);
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), move |main| {
        main.spawn("setter", false, move |program| {
            program.access(1, 0);
            flag.store(1, Ordering::Relaxed);
        });
        for round in 0..20_000 {
            for &site in sites {
                main.access(site, if changes { round } else { 0 });
            }
            if seen.load(Ordering::Relaxed) == 1 {
                break;
            }
        }
        main.access(100, 0);
    });
    assert!(recorded.progress.done);
    recorded.records.len()
}

#[test]
fn who_asks_again_lets_others_run() {
    assert!(records_of_one_who_asks_again(&[2], false) < 2_000);
    assert!(records_of_one_who_asks_again(&[2, 3, 4, 2, 5], false) < 2_000);
    // Whoever sees something new each time does not wait.
    assert!(records_of_one_who_asks_again(&[2], true) >= 20_000);
}

#[test]
fn who_repeats_the_same_for_long_is_left_alone_for_longer() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        main.spawn("other", false, |program| (0..100_000).for_each(|_| program.access(1, 0)));
        (0..100_000).for_each(|_| main.access(2, 0));
    });
    let switches = recorded.records.windows(2).filter(|two| two[0].0 != two[1].0).count();
    // 64 events each at first, and 64 more after every 256 times.
    assert!((1_000..=2_000).contains(&switches), "{switches}");
}

#[test]
fn the_clock_is_virtual_and_asking_takes_time() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        let first = main.control.clock(()).expect("it has the token");
        let second = main.control.clock(()).expect("it has the token");
        assert_eq!((first, second), (Nanos(100), Nanos(200)));
        main.access(1, 0);
        assert_eq!(main.control.clock(()), Some(Nanos(310)));
    });
    assert!(recorded.progress.done);
}

/// Four threads that switch after each of many events.
fn busier(main: &Program) {
    let body = |program: &Program| {
        for value in 0..1_000 {
            program.access(1, value);
            let me = program.control.present(()).expect("it has the token");
            program.control.hold((), me).yield_turn();
        }
    };
    let threads: Vec<_> = (0..4).map(|_| main.spawn("worker", false, body)).collect();
    threads.into_iter().for_each(|thread| main.join(thread));
}

/// The watchdog takes the lock only if it is free, at any moment.
#[test]
fn who_watches_all_the_time_disturbs_nothing() {
    let run_it = Run::new(PolicyKind::RunToBlock, 0);
    let alone = run(&run_it, busier);
    let watched = run(&run_it, |main| {
        let control = Arc::clone(&main.control);
        let watcher = std::thread::spawn(move || {
            let mut watchdog = Watchdog::new(Duration::from_secs(60));
            while control.is_on() {
                assert_eq!(watchdog.check(&control, false), None);
            }
        });
        busier(main);
        main.control.finish(());
        watcher.join().expect("no panic");
    });
    assert_eq!(watched.accesses(), alone.accesses());
    assert_eq!(alone.accesses().len(), 4_000);
    assert!(alone.progress.switches > 4_000, "{}", alone.progress.switches);
}
