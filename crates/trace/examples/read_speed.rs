//! How fast a trace is read, and nothing else: `read_speed FILE...` reads each five times and prints
//! the best.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{BATCH, TraceError};

const TIMES: usize = 5;

fn main() -> Result<(), TraceError> {
    for path in std::env::args().skip(1) {
        let mut best = Duration::MAX;
        let mut events = 0;
        for _ in 0..TIMES {
            let start = Instant::now();
            events = count(&Input::new(&path))?;
            best = best.min(start.elapsed());
        }
        let speed = events as f64 / best.as_secs_f64() / 1e6;
        println!("{path}: {events} events, {speed:.1} million a second");
    }
    Ok(())
}

fn count(input: &Input) -> Result<usize, TraceError> {
    let mut source = open(input, &OpenOptions::default())?;
    let mut batch = Vec::with_capacity(BATCH);
    let mut events = 0;
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(events);
        }
        events += batch.len();
    }
}
