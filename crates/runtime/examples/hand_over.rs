//! Measures the cost of control: handing the token from one thread to another, and deciding which thread is next.
//!
//! `taskset -c 1 cargo run --release -p untorn-runtime --example hand_over` pins both threads to
//! one core, which is how a front end should run them.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use untorn_runtime::Tokens;
use untorn_schedule::{Decision, LockKey, Mode, Options, PolicyKind, Reason, Scheduler, ThreadId};

const ROUNDS: u32 = 100_000;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{} ns a hand-over", hand_over())?;
    for threads in [2, 8, 64] {
        writeln!(out, "{} ns a decision among {threads} threads", decision(threads))?;
    }
    Ok(())
}

/// Two threads hand the token back and forth.
fn hand_over() -> u128 {
    let tokens = Arc::new(Tokens::new());
    let other = Arc::clone(&tokens);
    let pong = std::thread::spawn(move || {
        while other.wait_for_turn(ThreadId(1)).is_ok() {
            other.give(ThreadId(0));
        }
    });
    let start = Instant::now();
    for _ in 0..ROUNDS {
        tokens.give(ThreadId(1));
        let _ = tokens.wait_for_turn(ThreadId(0));
    }
    let elapsed = start.elapsed().as_nanos();
    tokens.release_all();
    let _ = pong.join();
    elapsed / u128::from(2 * ROUNDS)
}

/// POS, which decides after every event.
fn decision(threads: u32) -> u128 {
    let mut scheduler = Scheduler::new(Mode::Policy(PolicyKind::Pos), Options::default());
    for i in 0..threads {
        scheduler.spawn(&format!("thread {i}"));
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        if let Decision::Run(turn) = scheduler.next(Reason::Budget, &|_: LockKey| None) {
            scheduler.ran(turn.thread, 1);
        }
    }
    start.elapsed().as_nanos() / u128::from(ROUNDS)
}
