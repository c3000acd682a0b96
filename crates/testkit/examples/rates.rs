//! Measures the generators: `cargo run --release -p untorn-testkit --example rates`.
#![allow(clippy::print_stdout, reason = "a measuring tool talks to its user")]

use std::time::Instant;

use untorn_testkit::{Knobs, TraceGen, first_violation};

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
}
