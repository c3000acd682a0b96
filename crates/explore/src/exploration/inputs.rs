//! Other inputs: a run is re-executed, a branch is turned, and what lies behind it is explored like the rest.
//!
//! **Paper:** Eslamimehr, Lesani, *AtomChase*, ISSRE 2015, Algorithm 1: concolic execution and planning take turns.
//!
//! **What we changed, and why.**
//! * First the program is explored with the inputs that the user gave: a program without any costs nothing more.
//! * A run with other inputs has a path log, and is made by one thread after the other: it shows what the inputs lead to.
//!   Only if it has candidates that no run had before, the program is explored with its inputs.
//! * Inputs with which the program fails by itself are of use to find others, and for nothing else.
//!
//! **Promise:** what is found with other inputs says so, and is proved as everything else is. No run of the exploration
//! with the user's own inputs is left out for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use untorn_frontend::{FrontEnd, FrontEndError, FrontEndErrorKind, RunResult};
use untorn_predict::{Deadline, HistoryIndex};
use untorn_schedule::{Inputs, RunSpec};
use untorn_symbolic::{Search, Tally};

use super::explore::explore_with;
use super::options::EarlierExplorations;
use super::run_store::forget;
use super::{ExploreError, Options, Outcome, Progress};
use crate::failure::ended_well;
use crate::loading::LoadOptions;
use crate::run::Run;
use crate::target::Key;

/// Other inputs that show something new have at least this part of what is left.
const SHARE: u32 = 4;

/// Events of a run, on average, beyond which a path log would take too much.
const MAX_EVENTS: u64 = 2_000_000;

/// What came of looking for other inputs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputSearchSummary {
    /// Runs that were re-executed.
    pub runs: u32,
    /// Inputs of the runs that were re-executed, in order.
    pub tried: Vec<Inputs>,
    /// Those, beside the user's own, with which the program was explored.
    pub explored: Vec<Inputs>,
    /// Inputs with which the program failed by itself.
    pub failing: u32,
    pub tally: Tally,
    /// Branches that depend on inputs, in all runs.
    pub branches: u64,
    pub instructions: u64,
    /// Where re-execution and recording disagreed, and the first of these places in words.
    pub divergences: u64,
    pub divergence: Option<String>,
    /// What depends on inputs and could not be followed, by name.
    pub concretised: BTreeMap<String, u64>,
    /// Nothing was left to try.
    pub is_exhausted: bool,
    /// Why none were looked for, or no more.
    pub why_not: Option<String>,
}

/// Looks for inputs that lead elsewhere until `end`, and adds to `outcome` what is found with them.
pub(super) fn explore_other_inputs(
    front_end: &mut dyn FrontEnd,
    options: Options,
    folder: &Path,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Progress<'_>),
    end: Option<Instant>,
    outcome: &mut Outcome,
) -> Result<(), ExploreError> {
    let given = options.inputs.or(&front_end.inputs());
    let mut search = ConcolicSearch {
        front_end,
        options,
        folder,
        stop,
        watch,
        given,
        end,
        outcome,
        keys: FxHashSet::default(),
        search: Search::default(),
        found: InputSearchSummary::default(),
    };
    search.run()?;
    let mut found = search.found;
    found.tally = search.search.tally();
    outcome.input_search = Some(found);
    Ok(())
}

struct ConcolicSearch<'a> {
    front_end: &'a mut dyn FrontEnd,
    options: Options,
    folder: &'a Path,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Progress<'_>),
    /// All inputs of the user that are known.
    given: Inputs,
    end: Option<Instant>,
    outcome: &'a mut Outcome,
    /// Candidates of all runs.
    keys: FxHashSet<Key>,
    search: Search,
    found: InputSearchSummary,
}

impl ConcolicSearch<'_> {
    fn run(&mut self) -> Result<(), ExploreError> {
        let per_run = self.outcome.events / u64::from(self.outcome.runs.max(1));
        if per_run > MAX_EVENTS {
            self.found.why_not = Some("its runs are long".to_owned());
            return Ok(());
        }
        let given = self.given.clone();
        if self.is_over() || self.try_inputs(&given)?.is_none() {
            return Ok(());
        }
        while !self.is_over() {
            let Some(proposal) = self.search.propose() else {
                self.found.is_exhausted = true;
                break;
            };
            let Some(is_worth_it) = self.try_inputs(&proposal.inputs)? else { break };
            if is_worth_it && !self.is_over() {
                self.explore(proposal.inputs)?;
            }
        }
        Ok(())
    }

    fn left(&self) -> Duration {
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        left.unwrap_or(Duration::MAX)
    }

    fn is_over(&self) -> bool {
        let runs = self.outcome.runs >= self.options.runs;
        runs || self.stop.load(Ordering::Relaxed) || self.left().is_zero()
    }

    /// Makes a run with these inputs and re-executes it. Whether it is worth while to explore the program with them;
    /// `None` if no more runs can be made.
    fn try_inputs(&mut self, inputs: &Inputs) -> Result<Option<bool>, ExploreError> {
        let spec = RunSpec { inputs: inputs.clone(), path_log: true, ..RunSpec::default() };
        let number = self.outcome.runs + 1;
        let trace = self.folder.join(format!("inputs-{number}.utr"));
        (self.watch)(Progress::Running { number, target: None, open: 0 });
        self.front_end.end_by(self.end);
        let result = match self.front_end.run_fresh(&spec, &trace) {
            Ok(result) => result,
            Err(error) => return self.not_run(&trace, &error).map(|()| None),
        };
        self.outcome.runs += 1;
        let is_worth_it = self.look_at(inputs, spec, result, &trace);
        forget(&trace);
        is_worth_it
    }

    /// Why there is no run, in words.
    fn not_run(&mut self, trace: &Path, error: &FrontEndError) -> Result<(), ExploreError> {
        forget(trace);
        // Nothing that was found before is lost by it.
        if error.kind != FrontEndErrorKind::OutOfTime && !self.stop.load(Ordering::Relaxed) {
            self.found.why_not = Some(error.to_string());
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        inputs: &Inputs,
        spec: RunSpec,
        result: RunResult,
        trace: &Path,
    ) -> Result<Option<bool>, ExploreError> {
        let has_ended_well = ended_well(&result);
        let is_given = *inputs == self.given;
        let found = match self.front_end.path(trace, inputs) {
            Ok(found) => found,
            Err(error) => {
                self.found.why_not = Some(error.to_string());
                return Ok(None);
            }
        };
        let Some(path) = found else { return Ok(None) };
        let fidelity = &path.fidelity;
        self.found.runs += 1;
        self.found.tried.push(inputs.clone());
        self.found.branches += path.steps.len() as u64;
        self.found.instructions += fidelity.instructions;
        self.found.divergences += fidelity.divergence_count;
        if self.found.divergence.is_none() {
            self.found.divergence = fidelity.divergences.first().cloned();
        }
        for (what, times) in &fidelity.concretised {
            *self.found.concretised.entry(what.clone()).or_default() += times;
        }
        let is_new = self.search.add(inputs.clone(), path);
        if !is_given && !has_ended_well {
            self.found.failing += 1;
            return Ok(Some(false));
        }
        let load = LoadOptions {
            max_events: self.options.max_events,
            max_whole: self.options.max_whole,
            entries_are_calls: self.options.all_methods,
            compositions: Arc::clone(&self.options.compositions),
            ..LoadOptions::default()
        };
        let run = Run::load(self.outcome.runs, spec, result, trace, load)?;
        self.outcome.events += run.event_count() + run.left_out;
        let facts = HistoryIndex::new(&run.history);
        let deadline = self.end.map_or(Deadline::NEVER, Deadline::at);
        let (suspects, _) = run.suspects(&facts, self.options.sources, deadline);
        let before = self.keys.len();
        let is_open =
            |key: &Key| !self.outcome.violations.iter().any(|found| key.is_covered_by(&found.key));
        // What could not be reached with other inputs may be now: threads do something else.
        let is_worth_it = is_new && suspects.iter().any(|suspect| is_open(&suspect.key));
        self.keys.extend(suspects.into_iter().map(|suspect| suspect.key));
        Ok(Some(!is_given && (is_worth_it || self.keys.len() > before)))
    }

    /// Explores the program with other inputs.
    fn explore(&mut self, inputs: Inputs) -> Result<(), ExploreError> {
        let known = self.outcome.violations.iter().map(|found| found.key.identity()).collect();
        let earlier = EarlierExplorations {
            runs: self.outcome.last_run,
            inputs: inputs.clone(),
            findings: self.outcome.finding_count() as u32,
            known,
        };
        let options = Options {
            time: (self.left() / SHARE).max(Duration::from_millis(1)),
            runs: self.options.runs - self.outcome.runs,
            inputs: inputs.clone(),
            earlier,
            ..self.options.clone()
        };
        let told = &self.outcome;
        let watch = &mut self.watch;
        let offset = self.outcome.last_run;
        let mut tell = |news: Progress<'_>| match news {
            Progress::Running { number, target, open } => {
                watch(Progress::Running { number: number + offset, target, open });
            }
            // The program fails so with the user's inputs, too.
            Progress::Failure(failure) if told.has_failure(failure.signature()) => {}
            Progress::Deadlock(deadlock) if told.has_deadlock(&deadlock.signature) => {}
            news => watch(news),
        };
        let explored = explore_with(self.front_end, options, self.folder, self.stop, &mut tell);
        match explored {
            Ok(more) => {
                self.outcome.absorb(more, &inputs);
                self.found.explored.push(inputs);
            }
            // What was found before counts.
            Err(error) => self.found.why_not = Some(error.to_string()),
        }
        Ok(())
    }
}
