//! The figures of candidates, lock-valid prediction and the filters.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use untorn_predict::candidates::{self, BlockScope, Candidate, Limits};
use untorn_predict::lock_valid::{LockValid, LockValidAnswer};
use untorn_predict::simulation::{Knowledge, Simulation};
use untorn_predict::{History, HistoryIndex};
use untorn_testkit::programs::ProgramKnobs;
use untorn_testkit::{Workload, name_tables};
use untorn_trace::{Op, SiteId};

use crate::filter_quality;
use crate::predict::{peak_memory, processor_seconds};

/// Predictions of the table of filters.
const PREDICTIONS: u64 = 200_000;

struct Row {
    name: &'static str,
    what: &'static str,
    events: usize,
    jobs: usize,
    simulate: bool,
    floor: &'static str,
}

const ROWS: [Row; 5] = [
    row("lock", "lock-valid, 100 000 events", 100_000, 1, false, "2 s"),
    row("lock-2", "the same, two threads", 100_000, 2, false, "–"),
    row("simulation", "simulation, 100 000 events", 100_000, 1, true, "10 s"),
    row("large", "lock-valid, 1 000 000 events", 1_000_000, 1, false, "60 s, 2 GB"),
    row("large-2", "the same, two threads", 1_000_000, 2, false, "–"),
];

const fn row(
    name: &'static str,
    what: &'static str,
    events: usize,
    jobs: usize,
    simulate: bool,
    floor: &'static str,
) -> Row {
    Row { name, what, events, jobs, simulate, floor }
}

pub fn print_all() -> Result<()> {
    println!(
        "\n| what | candidates | instances | floor | find | decide (processor) | decide (clock) | can | cannot | undecided | reordered | memory |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for row in &ROWS {
        let program = std::env::current_exe()?;
        let output = Command::new(program).args(["filters", row.name]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    print_filters("random", &ProgramKnobs::default())?;
    print_filters("branchy", &ProgramKnobs::branchy())?;
    Ok(())
}

fn print_filters(name: &str, knobs: &ProgramKnobs) -> Result<()> {
    let tally = filter_quality::measure(knobs, PREDICTIONS, 11, 12).map_err(anyhow::Error::msg)?;
    let (all, feasible) = (tally.predictions, tally.feasible);
    println!("\n{all} predictions on {name} programs, {feasible} feasible.\n");
    println!("| filter | asked | kept though infeasible | recall |");
    println!("| --- | --- | --- | --- |");
    for (filter, name) in filter_quality::NAMES.iter().enumerate() {
        let recall = tally.recall(filter) * 100.0;
        let (asked, wrong) = (tally.asked[filter], tally.wrong[filter]);
        println!("| {name} | {asked} | {wrong} | {recall:.1} % |");
    }
    Ok(())
}

/// Places that write, and as many that read, of each variable: more than 20 000 candidates, of which about a
/// quarter is ruled out by locks while they are found.
const PLACES: u32 = 11;

/// A generated trace with a few places for each variable, so that there are many candidates.
fn history(events: usize) -> Result<History> {
    let mut events = Workload { threads: 4, locks: 10, vars: 50, events, seed: 1 }.generate();
    let mut count = 0;
    for event in &mut events {
        let (var, write) = match event.op {
            Op::Read { var, .. } => (var, 0),
            Op::Write { var, .. } => (var, 16),
            _ => continue,
        };
        count += 7;
        event.site = SiteId(var.0 * 32 + write + count % PLACES);
    }
    let tables = name_tables(&events);
    Ok(History::new(events, &tables)?)
}

pub fn print_row(name: &str) -> Result<()> {
    match name {
        "random" => return print_filters(name, &ProgramKnobs::default()),
        "branchy" => return print_filters(name, &ProgramKnobs::branchy()),
        _ => {}
    }
    let row = ROWS.iter().find(|row| row.name == name).context("no such row")?;
    let history = history(row.events)?;
    let start = processor_seconds()?;
    let facts = HistoryIndex::new(&history);
    let limits = Limits { candidates: 20_000, ..Limits::default() };
    let found = candidates::find(&facts, BlockScope::Declared, limits);
    let find = processor_seconds()? - start;
    let (start, clock) = (processor_seconds()?, Instant::now());
    let knowledge = Knowledge::of(&history);
    let share = found.candidates.len().div_ceil(row.jobs);
    let tallies: Vec<[u64; 5]> = std::thread::scope(|scope| {
        let work = |part| {
            let (facts, knowledge) = (&facts, &knowledge);
            scope.spawn(move || decide(facts, knowledge, part, row.simulate))
        };
        let helpers: Vec<_> = found.candidates.chunks(share).map(work).collect();
        helpers.into_iter().filter_map(|helper| helper.join().ok()).collect()
    });
    let (decide, clock) = (processor_seconds()? - start, clock.elapsed().as_secs_f64());
    let sum = |i: usize| tallies.iter().map(|tally| tally[i]).sum::<u64>();
    println!(
        "| {} | {} | {} | {} | {find:.2} s | {decide:.2} s | {clock:.2} s | {} | {} | {} | {} | {:.0} MB |",
        row.what,
        found.candidates.len(),
        sum(3),
        row.floor,
        sum(0),
        sum(1),
        sum(2),
        sum(4) / sum(0).max(1),
        peak_memory()? / 1e6,
    );
    Ok(())
}

/// Feasible, infeasible, undecided; instances tried; events after the cut of their plans.
fn decide(
    facts: &HistoryIndex<'_>,
    knowledge: &Knowledge,
    candidates: &[Candidate],
    simulate: bool,
) -> [u64; 5] {
    let mut locks = LockValid::new(facts);
    let mut simulation = Simulation::new(facts, knowledge);
    let mut tally = [0; 5];
    for candidate in candidates {
        let mut verdict = 1;
        for goal in &candidate.goals {
            tally[3] += 1;
            let kept = if simulate { simulation.reordering(goal) } else { None };
            let is_kept = kept.is_some();
            let kept = kept.map_or_else(|| locks.verdict(goal), LockValidAnswer::Feasible);
            match kept {
                LockValidAnswer::Feasible(schedule) if !simulate || is_kept => {
                    tally[4] += schedule.then.len() as u64;
                    verdict = 0;
                }
                LockValidAnswer::Infeasible => {}
                _ => verdict = 2,
            }
            if verdict == 0 {
                break;
            }
        }
        tally[verdict] += 1;
    }
    tally
}
