//! One figure: a way of working through one file, repeated, best time and largest private memory.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use untorn_serializability::aerodrome::AeroDrome;
use untorn_serializability::fast::Fast;
use untorn_serializability::velodrome::Velodrome;
use untorn_serializability::{Checker, Verdict};
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::validate::Validator;
use untorn_trace::{BATCH, Event, EventIdx, Trace};

/// Runs of which the best counts: on a shared machine the others measure the neighbours.
const RUNS: usize = 15;

pub struct Figure {
    pub events: u64,
    pub seconds: f64,
    /// Largest private memory seen, in bytes; the mapped file is not private.
    pub private: u64,
}

impl Figure {
    pub fn million_per_second(&self) -> f64 {
        self.events as f64 / self.seconds / 1e6
    }

    pub fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let mut next = || words.next().context("a figure is three numbers");
        Ok(Self { events: next()?.parse()?, seconds: next()?.parse()?, private: next()?.parse()? })
    }
}

/// Measures and prints a line for [`Figure::parse`].
pub fn print(way: &str, file: &Path) -> Result<()> {
    let mut best = f64::INFINITY;
    let mut work = Work { events: 0, private: 0 };
    let memory = if way.starts_with("memory-") { Some(load(file)?) } else { None };
    for _ in 0..RUNS {
        let start = Instant::now();
        work = match &memory {
            Some(trace) => in_memory(way, trace)?,
            None => stream(way, file)?,
        };
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{} {best} {}", work.events, work.private);
    Ok(())
}

/// Works through the file once and prints nothing: for counting instructions.
pub fn once(way: &str, file: &Path) -> Result<()> {
    stream(way, file).map(drop)
}

struct Work {
    events: u64,
    private: u64,
}

/// Reads, validates and checks, exactly as `untorn analyze` does.
fn stream(way: &str, file: &Path) -> Result<Work> {
    let mut source = open(&Input::Path(file.to_owned()), &OpenOptions::default())?;
    let mut checker = checker(way)?;
    let mut validator = Validator::new();
    let mut batch = Vec::with_capacity(BATCH);
    let mut work = Work { events: 0, private: 0 };
    let mut batches = 0_u64;
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        if let Some(checker) = &mut checker {
            if !source.is_well_formed() {
                validator.events(EventIdx(work.events), &batch);
            }
            let flow = checker.events(EventIdx(work.events), &batch);
            anyhow::ensure!(flow == ControlFlow::Continue(()), "the trace is not serializable");
        }
        black_box(&batch);
        work.events += batch.len() as u64;
        batches += 1;
        if batches % 512 == 1 {
            work.private = work.private.max(private_memory()?);
        }
    }
    work.private = work.private.max(private_memory()?);
    anyhow::ensure!(validator.count() == 0, "the generated trace is not well-formed");
    if let Some(mut checker) = checker {
        anyhow::ensure!(checker.finish().verdict == Verdict::Serializable, "not serializable");
    }
    Ok(work)
}

fn checker(way: &str) -> Result<Option<Box<dyn Checker>>> {
    Ok(match way {
        "read" => None,
        "fast" | "memory-fast" => Some(Box::new(Fast::new())),
        "velodrome" | "memory-velodrome" => Some(Box::new(Velodrome::new())),
        "aerodrome" | "memory-aerodrome" => Some(Box::new(AeroDrome::new())),
        _ => bail!("no way of working is called {way}"),
    })
}

fn load(file: &Path) -> Result<Vec<Event>> {
    let mut source = open(&Input::Path(file.to_owned()), &OpenOptions::default())?;
    Ok(Trace::read(&mut *source)?.events)
}

/// The checker alone, over events that are in memory.
fn in_memory(way: &str, events: &[Event]) -> Result<Work> {
    let mut checker = checker(way)?.context("something to measure")?;
    for (i, batch) in events.chunks(BATCH).enumerate() {
        let flow = checker.events(EventIdx((i * BATCH) as u64), batch);
        anyhow::ensure!(flow == ControlFlow::Continue(()), "the trace is not serializable");
    }
    Ok(Work { events: events.len() as u64, private: private_memory()? })
}

/// Private memory of this process, in bytes.
fn private_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.context("no RssAnon in /proc/self/status")?.trim().trim_end_matches(" kB");
    Ok(kilobytes.parse::<u64>()? * 1024)
}
