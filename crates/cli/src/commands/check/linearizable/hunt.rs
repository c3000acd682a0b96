//! Scenario after scenario, until time is over: each is explored for a short while, those in which something could be
//! torn come back for longer. What is found is made smaller.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use untorn_explore::{Deadlock, Exploration, ExploreError, Failure, Options, Outcome, Progress};
use untorn_frontend::FrontEnd;
use untorn_linearizability::{CallId, Generator, Scenario, SequentialTable, Unknown, smaller};
use untorn_report::calls::CallTable;

use super::judge::{Judge, JudgedRuns, Oracles};
use super::table::table;

/// Runs of a scenario when it is explored for the first time, the second time and so on.
const RUNS: [u32; 4] = [40, 80, 256, 1024];

/// Time for a scenario when it is explored for the first time; four times as much for each further time.
const SLICE: Duration = Duration::from_secs(2);

/// Of so many explorations one is of a scenario that comes back.
const SECOND_LOOK: u64 = 5;

/// The part of the time that is left which may be spent on making a scenario smaller, and the most.
const SHRINKING: f64 = 0.4;
const LONGEST_SHRINKING: Duration = Duration::from_secs(10);

/// At least so much time is spent on what a failure needs.
const CAUSE: Duration = Duration::from_secs(2);

/// A way in which an object is wrong.
#[derive(Debug)]
pub enum Found {
    /// Results that no sequential order gives; or a run that failed otherwise, without a table.
    Failure(Failure, Option<CallTable>),
    /// Calls that wait for ever, and in no sequential order.
    Deadlock(Deadlock, Scenario),
}

/// What became of all scenarios.
#[derive(Debug, Default)]
pub struct Hunted {
    /// All explorations together, with the failures and the deadlocks.
    pub total: Outcome,
    /// The calls of each failure of `total`, if it is about their results.
    pub tables: Vec<Option<CallTable>>,
    pub scenarios: u64,
    /// Scenarios that could not be judged, and why.
    pub unknown: u64,
    pub reasons: BTreeSet<String>,
    /// Runs that ended with calls that wait, as they do in a sequential order.
    pub waiting: u64,
    /// There are no further scenarios.
    pub is_exhausted: bool,
}

/// What a hunt needs.
pub struct ScenarioSearch<'a> {
    /// The program that runs scenarios.
    pub runner: &'a mut dyn FrontEnd,
    pub oracles: Oracles,
    /// Of the exploration of each scenario.
    pub options: Options,
    /// Where the traces of findings go.
    pub folder: &'a Path,
    pub stop: &'a AtomicBool,
    /// The options of the front end for a scenario.
    pub front_end_options: &'a dyn Fn(&Scenario) -> serde_json::Value,
    /// Statement before each run: the number of the scenario, and the scenario.
    pub watch: &'a mut dyn FnMut(u64, &Scenario),
    /// Statement of a scenario that fails, before it is made smaller.
    pub suspect: &'a mut dyn FnMut(&Scenario),
    /// Statement of each finding.
    pub found: &'a mut dyn FnMut(&Found),
}

/// A scenario that is worth more time.
struct Promising {
    scenario: Scenario,
    round: usize,
}

/// What came of one exploration.
struct Explored {
    outcome: Outcome,
    table: Option<CallTable>,
    /// So many of the calls at the end are needed to see the fault.
    needed_at_end: Option<usize>,
}

impl Explored {
    fn has_found(&self) -> bool {
        !self.outcome.failures.is_empty() || !self.outcome.deadlocks.is_empty()
    }
}

impl ScenarioSearch<'_> {
    /// Explores scenarios until time is over.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn run(&mut self, mut generator: Generator) -> Result<Hunted, ExploreError> {
        let begin = Instant::now();
        let end = begin + self.options.time;
        let mut hunted = Hunted::default();
        let mut again: VecDeque<Promising> = VecDeque::new();
        let mut known: Vec<Scenario> = Vec::new();
        for turn in 1.. {
            if Instant::now() >= end || self.is_stopped() || hunted.total.runs >= self.options.runs
            {
                break;
            }
            let old = if turn % SECOND_LOOK == 0 { again.pop_front() } else { None };
            let fresh = |scenario| Promising { scenario, round: 0 };
            let next =
                old.or_else(|| generator.next_scenario().map(fresh)).or_else(|| again.pop_front());
            let Some(Promising { scenario, round }) = next else {
                hunted.is_exhausted = true;
                break;
            };
            if known.iter().any(|own| scenario.contains_threads_of(own)) {
                continue;
            }
            if round == 0 && !self.is_usable(&scenario, &mut generator, &mut hunted) {
                continue;
            }
            let slice = SLICE * 4_u32.pow(round as u32);
            let time = slice.min(end.saturating_duration_since(Instant::now()));
            let explored = self.explore(&scenario, RUNS[round], time, 0, turn, &mut hunted)?;
            if explored.has_found() {
                let smallest = self.shrink(scenario, explored, end, turn, &mut hunted)?;
                known.push(smallest);
            } else if explored.outcome.saturation.is_none()
                && explored.outcome.candidates > 0
                && round + 1 < RUNS.len()
            {
                again.push_back(Promising { scenario, round: round + 1 });
            }
        }
        hunted.total.interrupted = self.is_stopped();
        hunted.total.time = begin.elapsed();
        Ok(hunted)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the calls can be made one after the other, and give the same twice. An operation that waits at the end is
    /// not called there again.
    fn is_usable(
        &mut self,
        scenario: &Scenario,
        generator: &mut Generator,
        hunted: &mut Hunted,
    ) -> bool {
        hunted.scenarios += 1;
        let mut table = SequentialTable::default();
        let mut waiting = table.probe(&mut self.oracles.quick, scenario);
        if waiting.is_err() {
            // What the quick JVM has of earlier orders may be the reason.
            waiting = SequentialTable::default().probe(&mut self.oracles.careful, scenario);
        }
        let last = scenario.sections.len() - 1;
        match waiting {
            Ok(waiting) => {
                let at_end = waiting.iter().filter(|id| id.section == last);
                for &CallId { index, .. } in at_end {
                    generator.avoid_at_end(&scenario.sections[last][index].operation);
                }
                !waiting.iter().any(|id| id.section == 0 || id.section == last)
            }
            Err(error) => {
                hunted.unknown += 1;
                hunted.reasons.insert(error.to_string());
                false
            }
        }
    }

    /// Explores one scenario. `minimise` is the effort to find out what a failure needs.
    fn explore(
        &mut self,
        scenario: &Scenario,
        runs: u32,
        time: Duration,
        minimise: u32,
        turn: u64,
        hunted: &mut Hunted,
    ) -> Result<Explored, ExploreError> {
        self.runner.set_options(&(self.front_end_options)(scenario))?;
        let options = Options {
            runs: runs.min(self.options.runs.saturating_sub(hunted.total.runs).max(1)),
            time,
            minimise,
            judged_by_results: true,
            seed: self.options.seed.wrapping_add(turn),
            ..self.options.clone()
        };
        let mut judge = Judge::new(scenario, &mut self.oracles);
        let mut runs = JudgedRuns { inner: &mut *self.runner, judge: &mut judge };
        let number = hunted.scenarios;
        let watch = &mut self.watch;
        let mut tell = |news: Progress<'_>| {
            if matches!(news, Progress::Running { .. } | Progress::SimplifyingFailure { .. }) {
                watch(number, scenario);
            }
        };
        let scratch = scratch(self.folder);
        let outcome = Exploration::new(&mut runs, options, &scratch, self.stop, &mut tell).run()?;
        if let Some(why) = judge.unknown.take().filter(|_| outcome.failures.is_empty()) {
            hunted.unknown += 1;
            hunted.reasons.insert(match why {
                Unknown::Sequential(error) => error.to_string(),
                why => why.to_string(),
            });
        }
        hunted.waiting += u64::from(judge.waiting);
        let trace = outcome.failures.first().map(|failure| failure.evidence.trace.clone());
        let refuted = trace.as_deref().and_then(|trace| judge.refutation(trace));
        let table = refuted.map(|(history, why)| table(scenario, &history, &why));
        let needed_at_end = trace.as_deref().and_then(|trace| judge.needed_at_end(trace));
        let mut explored = Explored { outcome, table, needed_at_end };
        keep_evidence(&mut explored.outcome, hunted.total.runs, self.folder);
        add(&mut hunted.total, &explored.outcome);
        Ok(explored)
    }

    /// Looks for a smaller scenario that fails in the same way, and for what its failure needs. Gives the scenario.
    fn shrink(
        &mut self,
        scenario: Scenario,
        explored: Explored,
        end: Instant,
        turn: u64,
        hunted: &mut Hunted,
    ) -> Result<Scenario, ExploreError> {
        let (mut scenario, mut explored) = (scenario, explored);
        (self.suspect)(&scenario);
        if explored.table.is_none() {
            self.record(explored, &scenario, hunted);
            return Ok(scenario);
        }
        let left = end.saturating_duration_since(Instant::now());
        let until = Instant::now() + left.mul_f64(SHRINKING).min(LONGEST_SHRINKING);
        'smaller: loop {
            let mut candidates = smaller(&scenario);
            if let Some(needed) = explored.needed_at_end {
                let mut less = scenario.clone();
                let last = less.sections.len() - 1;
                less.sections[last].truncate(needed);
                candidates.insert(0, less);
            }
            for less in candidates {
                if Instant::now() >= until || self.is_stopped() {
                    break 'smaller;
                }
                let time = SLICE.min(until.saturating_duration_since(Instant::now()));
                let tried = self.explore(&less, RUNS[1], time, 0, turn, hunted)?;
                if tried.table.is_some() {
                    forget(&explored.outcome);
                    (scenario, explored) = (less, tried);
                    continue 'smaller;
                }
                forget(&tried.outcome);
            }
            break;
        }
        let left = end.saturating_duration_since(Instant::now()).max(CAUSE);
        let effort = self.options.minimise;
        if effort > 0 && !self.is_stopped() {
            let last = self.explore(&scenario, RUNS[2], left, effort, turn, hunted)?;
            if last.table.is_some() {
                forget(&explored.outcome);
                explored = last;
            } else {
                forget(&last.outcome);
            }
        }
        self.record(explored, &scenario, hunted);
        Ok(scenario)
    }

    /// Tells of what was found, and keeps it.
    fn record(&mut self, explored: Explored, scenario: &Scenario, hunted: &mut Hunted) {
        let Explored { outcome, mut table, .. } = explored;
        for mut failure in outcome.failures {
            failure.number = next_number(&hunted.total);
            failure.evidence.after = hunted.total.time;
            let found = Found::Failure(failure, table.take());
            (self.found)(&found);
            if let Found::Failure(failure, table) = found {
                hunted.total.failures.push(failure);
                hunted.tables.push(table);
            }
        }
        for mut deadlock in outcome.deadlocks {
            deadlock.number = next_number(&hunted.total);
            deadlock.evidence.after = hunted.total.time;
            let found = Found::Deadlock(deadlock, scenario.clone());
            (self.found)(&found);
            if let Found::Deadlock(deadlock, _) = found {
                hunted.total.deadlocked_runs += 1 + deadlock.evidence.alike;
                hunted.total.deadlocks.push(deadlock);
            }
        }
    }
}

fn next_number(total: &Outcome) -> u32 {
    (total.deadlocks.len() + total.failures.len()) as u32 + 1
}

/// Where the traces of one exploration go. Each counts its runs from one.
pub fn scratch(folder: &Path) -> PathBuf {
    folder.join("scenario")
}

/// Moves the traces of findings to where the report is, under numbers that count all runs.
fn keep_evidence(outcome: &mut Outcome, before: u32, folder: &Path) {
    let keep = |trace: &mut PathBuf, run: &mut u32| {
        *run += before;
        let kept = folder.join(format!("run-{run}.utr"));
        if std::fs::rename(&*trace, &kept).is_ok() {
            *trace = kept;
        }
    };
    for failure in &mut outcome.failures {
        keep(&mut failure.evidence.trace, &mut failure.evidence.run);
    }
    for deadlock in &mut outcome.deadlocks {
        keep(&mut deadlock.evidence.trace, &mut deadlock.evidence.run);
    }
}

/// Removes traces of findings that a simpler one replaces. One that stays does no harm.
fn forget(outcome: &Outcome) {
    let failures = outcome.failures.iter().map(|failure| &failure.evidence.trace);
    for trace in failures.chain(outcome.deadlocks.iter().map(|deadlock| &deadlock.evidence.trace)) {
        let _ = std::fs::remove_file(trace);
    }
}

/// Counts an exploration; its findings are kept elsewhere.
fn add(total: &mut Outcome, one: &Outcome) {
    total.add_runs(one);
    total.candidates += one.candidates;
    total.time += one.time;
}
