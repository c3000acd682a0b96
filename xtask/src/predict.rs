//! The figures of prediction: how fast goals are decided on long histories, and how many are not.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use untorn_predict::precise::{Counts, Decision, Precise};
use untorn_predict::sat::Budget;
use untorn_predict::{At, Goal, History, Strength};
use untorn_testkit::{Rng, Workload, name_tables};
use untorn_trace::{Op, VarId};

/// A history, how many goals are asked about it, and what that may take.
struct Row {
    name: &'static str,
    what: &'static str,
    workload: Workload,
    goals: usize,
    strength: Strength,
    /// Whether plans are written down in full.
    plans: bool,
    floor: &'static str,
}

const fn workload(threads: u32, locks: u32, vars: u32, events: usize) -> Workload {
    Workload { threads, locks, vars, events, seed: 1 }
}

const SMALL: Workload = workload(4, 10, 50, 100_000);
const LARGE: Workload = workload(4, 10, 50, 1_000_000);
const PAPER: Workload = workload(3, 50, 100, 63_000);

const fn row(
    name: &'static str,
    what: &'static str,
    workload: Workload,
    strength: Strength,
    plans: bool,
    floor: &'static str,
) -> Row {
    let goals = if workload.threads > 8 { 2000 } else { 20_000 };
    Row { name, what, workload, goals, strength, plans, floor }
}

const ROWS: [Row; 7] = [
    row("small", "precise, 100 000 events", SMALL, Strength::Precise, false, "5 s, 1 %"),
    row("plans", "the same, plans written down", SMALL, Strength::Precise, true, "–"),
    row("lock", "lock-valid, 100 000 events", SMALL, Strength::Lock, false, "–"),
    row("under", "same source, 100 000 events", SMALL, Strength::Under, false, "–"),
    row("large", "precise, 1 000 000 events", LARGE, Strength::Precise, false, "60 s, 2 GB"),
    row("many", "precise, 64 threads, 100 000 events", MANY, Strength::Precise, false, "–"),
    row(
        "paper",
        "precise, 63 000 events, 3 threads, 50 locks",
        PAPER,
        Strength::Precise,
        false,
        "1 ms a goal",
    ),
];

const MANY: Workload = workload(64, 40, 400, 100_000);

/// Starts itself once a row, so that memory is measured in a process that has done nothing else.
pub fn print_all() -> Result<()> {
    println!(
        "| what | goals | floor | time | a goal | not decided | feasible | by the solver | memory |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for row in &ROWS {
        let program = std::env::current_exe()?;
        let output = Command::new(program).args(["predict", row.name]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}

/// Measures one row and prints it.
pub fn print_row(name: &str) -> Result<()> {
    let row = ROWS.iter().find(|row| row.name == name).context("no such row")?;
    let events = row.workload.generate();
    let tables = name_tables(&events);
    let history = History::new(events, &tables)?;
    let goals = torn_blocks(&history, row.goals, row.workload.seed);
    let start = processor_seconds()?;
    let mut engine = Precise::new(&history, row.strength, Budget::default());
    let built = processor_seconds()? - start;
    let mut steps = 0;
    for goal in &goals {
        if let (Decision::Feasible(outline), true) = (engine.judge(goal), row.plans) {
            steps += outline.reordering(&history).steps.len();
        }
    }
    let seconds = processor_seconds()? - start;
    let counts = *engine.counts();
    let detail = if row.plans { format!(" ({steps} steps)") } else { String::new() };
    println!(
        "| {}{detail} | {} | {} | {seconds:.2} s ({built:.2} to prepare) | {:.0} µs | {:.2} % | {:.1} % | {:.1} % | {:.0} MB |",
        row.what,
        goals.len(),
        row.floor,
        (seconds - built) / goals.len() as f64 * 1e6,
        percent(counts.undecided, &counts),
        percent(counts.feasible_by_closure + counts.feasible_by_solver, &counts),
        percent(counts.feasible_by_solver + counts.infeasible_by_solver, &counts),
        peak_memory()? / 1e6,
    );
    Ok(())
}

fn percent(part: u64, counts: &Counts) -> f64 {
    part as f64 * 100.0 / counts.total().max(1) as f64
}

/// What this process has used of a core: on a shared machine the clock measures the neighbours.
pub fn processor_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').context("no name in /proc/self/stat")?;
    let ticks: Vec<&str> = rest.split_whitespace().skip(11).take(2).collect();
    let total = ticks.iter().map(|t| t.parse::<f64>()).sum::<Result<f64, _>>()?;
    Ok(total / 100.0) // the kernel counts in hundredths of a second on every Linux we run on
}

pub fn peak_memory() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM")?;
    let kilobytes: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kilobytes * 1024.0)
}

/// Goals as a candidate search would find them: two accesses of one variable in one block, and an
/// access of another thread that conflicts; most of these near by, some anywhere.
fn torn_blocks(history: &History, count: usize, seed: u64) -> Vec<Goal> {
    let mut rng = Rng::new(seed);
    let accesses: Vec<Vec<At>> = (0..history.var_count() as u32)
        .map(|var| {
            let var = VarId(var);
            let mut all = [history.reads(var), history.writes(var)].concat();
            all.sort_unstable();
            all
        })
        .collect();
    let is_write = |at: At| matches!(history.event(at).op, Op::Write { .. });
    let mut goals = Vec::new();
    while goals.len() < count {
        let list = &accesses[rng.below(accesses.len() as u32) as usize];
        if list.len() < 3 {
            continue;
        }
        let place = rng.below(list.len() as u32) as usize;
        let first = list[place];
        let same_block = |&&at: &&At| {
            history.block_of(at).is_some() && history.block_of(at) == history.block_of(first)
        };
        let Some(&last) = list[place + 1..].iter().take(64).find(same_block) else { continue };
        let near = (place + 10).saturating_sub(rng.below(20) as usize).min(list.len() - 1);
        let second = if rng.chance(192) { near } else { rng.below(list.len() as u32) as usize };
        let second = list[second];
        let writes = [is_write(first), is_write(second), is_write(last)];
        let conflicts = writes[1] || (writes[0] && writes[2]);
        if history.event(second).thread != history.event(first).thread && conflicts {
            goals.push(Goal::new(&[first, second, last]));
        }
    }
    goals
}
