//! How fast a trace is read, and nothing else: `read_speed FILE`, best of five.

use std::time::Instant;

use untorn_trace::source::{BATCH, Source, Strictness, TraceError};

fn main() -> Result<(), TraceError> {
    for path in std::env::args().skip(1) {
        for _ in 0..5 {
            let start = Instant::now();
            let bytes = std::fs::read(&path).unwrap();
            let r = start.elapsed().as_secs_f64();
            let cpu = || {
                std::fs::read_to_string("/proc/thread-self/schedstat")
                    .unwrap()
                    .split(' ')
                    .next()
                    .unwrap()
                    .parse::<f64>()
                    .unwrap()
                    / 1e9
            };
            let start = cpu();
            let mut s = untorn_trace::formats::rapid::Reader::new(bytes, Strictness::Strict);
            let mut batch = Vec::with_capacity(BATCH);
            let mut n = 0;
            loop {
                s.read(&mut batch)?;
                if batch.is_empty() {
                    break;
                }
                n += batch.len();
            }
            let t = cpu() - start;
            #[allow(clippy::print_stdout)]
            {
                println!("{n} {r:.3} {:.1} M/s", n as f64 / t / 1e6);
            }
        }
    }
    Ok(())
}
