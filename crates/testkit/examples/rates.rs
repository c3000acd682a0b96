//! Measures the generators: `cargo run --release -p untorn-testkit --example rates`.
#![allow(clippy::print_stdout, reason = "a measuring tool talks to its user")]

use std::time::Instant;

use untorn_testkit::{Knobs, Shape, ShapeSource, ShapeSpec, TraceGen, first_violation};
use untorn_trace::{BATCH, Source};

fn main() {
    let sizes = [
        ("small", Knobs::small(), 1_000_000),
        ("core", Knobs::core(), 1_000_000),
        ("medium", Knobs::medium(), 4_000),
        ("wide", Knobs::wide(), 200),
    ];
    for (name, knobs, count) in sizes {
        let mut traces = TraceGen::new(knobs);
        let start = Instant::now();
        let events: usize = (0..count).map(|seed| traces.generate(seed).len()).sum();
        let generated = start.elapsed();
        let judged = count / 10;
        let start = Instant::now();
        let violations = (0..judged).filter(|&s| first_violation(traces.generate(s)).is_some());
        let violations = violations.count();
        println!(
            "{name}: {count} traces, {events} events in {generated:.2?}; \
             oracle: {:.2?} a trace, {:.1} % violations",
            start.elapsed() / judged as u32,
            violations as f64 * 100.0 / judged as f64,
        );
    }
    for shape in Shape::ALL {
        let mut source = ShapeSource::new(ShapeSpec::new(shape, 20_000_000)).expect("sound");
        let mut batch = Vec::with_capacity(BATCH);
        let start = Instant::now();
        let mut events = 0;
        while source.read(&mut batch).is_ok() && !batch.is_empty() {
            events += batch.len();
        }
        let rate = events as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{}: {rate:.0} M events/s", shape.name());
    }
}
