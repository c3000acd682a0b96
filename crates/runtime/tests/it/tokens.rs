//! Real threads hand the token to each other.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use untorn_runtime::{Released, Tokens, WaitResult};
use untorn_schedule::{Decision, Mode, Options, PolicyKind, Reason, Scheduler, ThreadId};

#[test]
fn a_token_may_come_before_its_thread() {
    let tokens = Tokens::new();
    tokens.give(ThreadId(3));
    assert_eq!(tokens.wait_for_turn(ThreadId(3)), Ok(()));
    let limit = Duration::from_millis(1);
    assert_eq!(tokens.wait_for_turn_timeout(ThreadId(3), limit), Ok(WaitResult::TimedOut));
    tokens.give(ThreadId(3));
    assert_eq!(tokens.wait_for_turn_timeout(ThreadId(3), limit), Ok(WaitResult::Turn));
    assert_eq!(tokens.wait_for_turn_timeout(ThreadId(3), Duration::ZERO), Ok(WaitResult::TimedOut));
    tokens.give(ThreadId(3));
    assert_eq!(tokens.wait_for_turn_timeout(ThreadId(3), Duration::MAX), Ok(WaitResult::Turn));
}

#[test]
fn a_wake_without_reason_is_no_turn() {
    let tokens = Tokens::new();
    thread::current().unpark();
    let limit = Duration::from_millis(1);
    assert_eq!(tokens.wait_for_turn_timeout(ThreadId(0), limit), Ok(WaitResult::TimedOut));
}

#[test]
fn after_the_release_nobody_waits() {
    let tokens = Arc::new(Tokens::new());
    let waiters: Vec<_> = (0..4)
        .map(|i| {
            let tokens = Arc::clone(&tokens);
            thread::spawn(move || tokens.wait_for_turn(ThreadId(i)))
        })
        .collect();
    assert!(!tokens.is_released());
    tokens.release_all();
    for waiter in waiters {
        assert_eq!(waiter.join().expect("no panic"), Err(Released));
    }
    tokens.give(ThreadId(0));
    assert_eq!(tokens.wait_for_turn(ThreadId(0)), Err(Released));
    assert_eq!(tokens.wait_for_turn(ThreadId(77)), Err(Released), "an unknown thread");
    let limit = Duration::from_secs(1);
    assert_eq!(tokens.wait_for_turn_timeout(ThreadId(1), limit), Err(Released));
    assert!(tokens.is_released());
}

/// What threads under control share.
struct Shared {
    scheduler: Mutex<Scheduler>,
    tokens: Tokens,
    /// Threads that run. Never more than one.
    running: AtomicU32,
}

impl Shared {
    /// Gives the token to the next thread.
    fn hand_over(&self, thread: ThreadId, events: u64, why: Reason) -> ThreadId {
        let mut scheduler = self.scheduler.lock().expect("no thread panicked");
        scheduler.ran(thread, events);
        if why == Reason::Ended {
            scheduler.end(thread);
        }
        match scheduler.next(why, &|_| None) {
            Decision::Run(turn) => {
                if turn.thread != thread {
                    self.running.fetch_sub(1, Ordering::Relaxed);
                    self.tokens.give(turn.thread);
                }
                turn.thread
            }
            Decision::Finished => thread,
            other => panic!("{other:?}"),
        }
    }

    fn start(&self, thread: ThreadId) {
        self.tokens.wait_for_turn(thread).expect("not released");
        assert_eq!(self.running.fetch_add(1, Ordering::Relaxed), 0, "{thread:?} is not alone");
    }
}

#[test]
fn exactly_one_thread_runs_at_a_time() {
    const THREADS: u32 = 4;
    const EVENTS: u32 = 3_000;
    let options = Options { seed: 5, ..Options::default() };
    let shared = Arc::new(Shared {
        scheduler: Mutex::new(Scheduler::new(Mode::Policy(PolicyKind::Pos), options)),
        tokens: Tokens::new(),
        running: AtomicU32::new(0),
    });
    let first = {
        let mut scheduler = shared.scheduler.lock().expect("no thread panicked");
        for i in 0..THREADS {
            scheduler.spawn(&format!("t{i}"));
        }
        scheduler.next(Reason::Budget, &|_| None)
    };
    let workers: Vec<_> = (0..THREADS)
        .map(|i| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let own = ThreadId(i);
                shared.start(own);
                for _ in 0..EVENTS {
                    if shared.hand_over(own, 1, Reason::Budget) != own {
                        shared.start(own);
                    }
                }
                shared.hand_over(own, 0, Reason::Ended);
            })
        })
        .collect();
    let Decision::Run(turn) = first else { panic!("{first:?}") };
    shared.tokens.give(turn.thread);
    workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
    let scheduler = shared.scheduler.lock().expect("no thread panicked");
    assert_eq!(scheduler.outcome().events, u64::from(THREADS * EVENTS));
    assert!(scheduler.outcome().turns > u64::from(EVENTS));
}

/// Whether the token comes before, while or after the limit ends, it is taken once and never lost.
#[test]
fn a_token_that_comes_in_the_last_moment_is_not_lost() {
    const ROUNDS: u32 = 3_000;
    let tokens = Arc::new(Tokens::new());
    let giver = Arc::clone(&tokens);
    let giver = thread::spawn(move || {
        for _ in 0..ROUNDS {
            giver.give(ThreadId(0));
            giver.wait_for_turn(ThreadId(1)).expect("not released");
        }
    });
    for round in 0..ROUNDS {
        let limit = Duration::from_micros(u64::from(round % 40));
        while tokens.wait_for_turn_timeout(ThreadId(0), limit) != Ok(WaitResult::Turn) {}
        tokens.give(ThreadId(1));
    }
    giver.join().expect("no panic");
}
