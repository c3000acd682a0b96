//! How runs end: normally, by a deadlock, by a failure, and with remaining threads.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use untorn_runtime::{Control, Leftovers};
use untorn_schedule::{Blocker, LockKey, Locks, PolicyKind, ThreadId};

use crate::program::{Program, Recorded, Run, TestHost, run};

/// Two locks, taken in opposite orders.
fn crossed(run_it: &Run) -> Recorded {
    run(run_it, |main| {
        let both = |first: u64, second: u64| {
            move |program: &Program| {
                program.lock(first);
                program.access(1, 0);
                program.lock(second);
                program.access(2, 0);
                program.unlock(second);
                program.unlock(first);
            }
        };
        let threads = [main.spawn("up", false, both(1, 2)), main.spawn("down", false, both(2, 1))];
        threads.into_iter().for_each(|thread| main.join(thread));
        main.access(3, 0);
    })
}

#[test]
fn a_deadlock_is_found_and_told() {
    assert!(!crossed(&Run::new(PolicyKind::RunToBlock, 0)).progress.deadlock);
    let all: Vec<_> = (0..20).map(|seed| crossed(&Run::new(PolicyKind::Pos, seed))).collect();
    let stuck = all.iter().find(|recorded| recorded.progress.deadlock).expect("20 seeds");
    assert!(stuck.progress.done, "the trace is complete");
    assert!(!stuck.accesses().contains(&(0, 3)));
    let words = &stuck.progress.notes[0];
    assert!(words.starts_with("deadlock: 3 threads wait for ever"), "{words}");
    assert!(words.contains("up waits for lock 2, which down holds\n      at thread 1"), "{words}");
    assert!(words.contains("down waits for lock 1, which up holds"), "{words}");
    assert!(all.iter().any(|recorded| !recorded.progress.deadlock), "not under every seed");
    // It is found in the replay, too.
    assert!(crossed(&Run::replay(&stuck.schedule)).progress.deadlock);
}

#[test]
fn who_waits_for_a_notification_for_ever_is_told_after_a_while() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        main.block(Blocker::Wait { lock: LockKey(5), deadline: None });
        main.access(1, 0);
    });
    assert!(recorded.progress.deadlock);
    let words = &recorded.progress.notes[0];
    assert!(words.contains("main waits for a notification on 0x5"), "{words}");
}

#[test]
fn somebody_else_may_notify_in_time() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        let control = Arc::clone(&main.control);
        let helper = std::thread::spawn(move || {
            // Before the main thread waits this does nothing, so it is repeated until that has happened.
            while control.is_on() {
                control.notified_outside(|| LockKey(5), true);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(main.block(Blocker::Wait { lock: LockKey(5), deadline: None }));
        main.access(1, 0);
        main.control.finish(());
        helper.join().expect("no panic");
    });
    assert!(!recorded.progress.deadlock);
    assert_eq!(recorded.accesses(), [(0, 1)]);
}

/// A thread that is not controlled: it notifies two locks after a pause, again and again, until the run is over.
fn notify_after(control: Arc<Control<TestHost>>, pause: Duration) {
    std::thread::sleep(pause);
    while control.is_on() {
        control.notified_outside(|| LockKey(5), true);
        control.notified_outside(|| LockKey(6), true);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What counts is how long no thread could run, not how long the first of them has waited.
#[test]
fn a_long_wait_while_others_work_is_no_deadlock() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        main.spawn("worker", false, |program| {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(1500) {
                std::thread::sleep(Duration::from_millis(10));
            }
            let control = Arc::clone(&program.control);
            std::thread::spawn(move || notify_after(control, Duration::from_millis(400)));
            assert!(program.block(Blocker::Wait { lock: LockKey(6), deadline: None }));
            program.access(2, 0);
        });
        assert!(main.block(Blocker::Wait { lock: LockKey(5), deadline: None }));
        main.access(1, 0);
    });
    assert!(!recorded.progress.deadlock, "{:?}", recorded.progress.notes);
    let mut accesses = recorded.accesses();
    accesses.sort_unstable();
    assert_eq!(accesses, [(0, 1), (1, 2)]);
}

/// If the process goes on with another run, that run is not disturbed by threads which this one has just started.
#[test]
fn a_thread_that_starts_after_the_end_of_its_run_waits_for_ever() {
    let stays = Run { stays: true, ..Run::new(PolicyKind::RunToBlock, 0) };
    run(&stays, |main| {
        let control = Arc::clone(&main.control);
        control.fork((), ThreadId(0), "late", 1, true);
        control.finish(());
        let left = control.leftovers();
        assert_eq!(left, Leftovers { waiting: 1, starting: 1, ..Leftovers::default() });
        let went_on = Arc::new(AtomicBool::new(false));
        let late = (Arc::clone(&control), Arc::clone(&went_on));
        std::thread::spawn(move || {
            let (control, went_on) = late;
            control.started((), |&thread| thread == 1);
            went_on.store(true, Ordering::Relaxed);
        });
        while control.leftovers().starting > 0 {
            assert!(!went_on.load(Ordering::Relaxed), "it runs uncontrolled");
            std::thread::yield_now();
        }
        assert_eq!(control.leftovers(), Leftovers { waiting: 2, ..Leftovers::default() });
    });
}

/// Who waits for a child process is told of its end a while after it.
#[test]
fn the_end_of_a_child_process_may_be_told_late() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        let control = Arc::clone(&main.control);
        std::thread::spawn(move || {
            let mut child = Command::new("sleep").arg("1.5").spawn().expect("sleep is there");
            child.wait().expect("it was started");
            notify_after(control, Duration::from_millis(400));
        });
        assert!(main.block(Blocker::Wait { lock: LockKey(5), deadline: None }));
        main.access(1, 0);
    });
    assert!(!recorded.progress.deadlock, "{:?}", recorded.progress.notes);
    assert_eq!(recorded.accesses(), [(0, 1)]);
}

#[test]
fn a_lock_that_only_the_model_takes_to_be_held_is_put_right() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        main.spawn("child", false, |program| {
            program.lock(8);
            program.access(1, 0);
            program.lock(9);
            program.access(2, 0);
            program.unlock(9);
            program.unlock(8);
        });
        // In the model the main thread has this lock; in fact it does not. So there is no cycle.
        main.own(9, ThreadId(0));
        main.control.host().wrong.lock().expect("no panic").push(9);
        main.control.leave_contended(());
        while main.control.host().owner(LockKey(8)).is_none() {
            std::thread::yield_now();
        }
        main.lock(8);
        main.access(3, 0);
    });
    assert!(!recorded.progress.deadlock, "{:?}", recorded.progress.notes);
    assert_eq!(recorded.summary().amended, 1);
    let sites: Vec<_> = recorded.accesses().into_iter().filter(|(_, site)| *site < 10).collect();
    assert_eq!(sites, [(1, 1), (1, 2), (0, 3)]);
}

#[test]
fn a_daemon_that_is_left_runs_free_and_is_not_recorded() {
    let ran = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ran);
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), move |main| {
        main.spawn("daemon", true, move |program| {
            program.access(1, 0);
            // It waits for something that never happens. The end of the run is not delayed by that.
            assert!(!program.block(Blocker::Park { deadline: None }));
            program.access(2, 0);
            ran.store(true, Ordering::Relaxed);
        });
        let child = main.spawn("child", false, |program| program.access(3, 0));
        main.join(child);
    });
    assert!(seen.load(Ordering::Relaxed), "it ran to its end");
    assert_eq!(recorded.accesses(), [(1, 1), (2, 3)]);
    assert!(recorded.progress.done && !recorded.progress.deadlock);
}

#[test]
fn a_runtime_that_gives_up_lets_everybody_go() {
    let recorded = run(&Run::new(PolicyKind::RunToBlock, 0), |main| {
        for _ in 0..3 {
            main.spawn("waiting", false, |_| {});
        }
        main.access(1, 0);
        main.control.give_up("it failed");
        main.control.give_up("and again");
        assert!(!main.control.is_on());
    });
    assert_eq!(recorded.progress.fault.as_deref(), Some("it failed"));
}

#[test]
fn a_thread_that_could_not_be_started_is_not_waited_for() {
    let recorded = run(&Run::new(PolicyKind::Random, 0), |main| {
        let me = main.control.present(()).expect("it has the token");
        let child = main.control.fork((), me, "never", 1, false);
        main.control.did_not_start(child);
        main.access(1, 0);
    });
    assert_eq!(recorded.accesses(), [(0, 1)]);
    assert!(recorded.progress.done && !recorded.progress.deadlock);
}

#[test]
fn a_full_disk_is_told_and_the_program_goes_on() {
    let trace = Some(PathBuf::from("/dev/full"));
    let ended = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ended);
    let recorded = run(&Run { trace, ..Run::new(PolicyKind::RunToBlock, 0) }, move |main| {
        (0..100_000).for_each(|value| main.access(1, value));
        ended.store(true, Ordering::Relaxed);
    });
    assert!(seen.load(Ordering::Relaxed) && !recorded.progress.done);
    let fault = recorded.progress.fault.expect("it is reported");
    assert!(fault.starts_with("the trace cannot be written"), "{fault}");
}
