//! The limits of the machine, to be read beside the figures.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;

/// Gigabytes a second that one core can read from memory, and from a file in the page cache.
pub struct Limits {
    pub memory: f64,
    pub page_cache: f64,
    pub processor: String,
}

pub fn limits(file: &Path) -> Result<Limits> {
    Ok(Limits { memory: memory_scan(), page_cache: page_cache(file)?, processor: processor() })
}

fn best_rate(bytes: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    bytes as f64 / best / 1e9
}

fn memory_scan() -> f64 {
    let words = vec![1_u64; 64 << 20]; // 512 MiB, far more than any cache
    best_rate(words.len() * 8, || {
        black_box(words.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
    })
}

fn page_cache(file: &Path) -> Result<f64> {
    let bytes = std::fs::metadata(file)?.len() as usize;
    let mut buffer = vec![0; 1 << 20];
    let mut failure = None;
    let rate = best_rate(bytes, || {
        let read = File::open(file).and_then(|mut file| {
            while file.read(&mut buffer)? > 0 {
                black_box(&buffer);
            }
            Ok(())
        });
        failure = read.err().or(failure.take());
    });
    failure.map_or(Ok(rate), |error| Err(error.into()))
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name"));
    name.and_then(|rest| rest.split_once(':')).map_or("unknown", |(_, name)| name.trim()).to_owned()
}
