//! Measures how long it takes to hand the token from one thread to another and back.
//!
//! `taskset -c 1 cargo run --release -p untorn-schedule --example hand_over` pins both threads to
//! one core, which is how a front end should run them.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use untorn_schedule::{ThreadId, Tokens};

const ROUNDS: u32 = 100_000;

fn main() -> std::io::Result<()> {
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
    let per_hand_over = start.elapsed().as_nanos() / u128::from(2 * ROUNDS);
    tokens.release_all();
    let _ = pong.join();
    writeln!(std::io::stdout(), "{per_hand_over} ns a hand-over, {ROUNDS} rounds")
}
