//! What a run teaches: candidates, reorderings that reach them, what normal runs look like.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use untorn_predict::simulation::Knowledge;
use untorn_predict::{Deadline, HistoryIndex};
use untorn_serializability::block_filter::BlockFilter;

use super::undirected::HoldMarks;
use super::{Exploration, forget};
use crate::compositions::{CompositionId, Compositions};
use crate::feasibility::Feasibility;
use crate::marks;
use crate::provenance::{CodeScope, Provenance};
use crate::run::{Run, Suspect};
use crate::target::Key;
use crate::tracked_calls::CallResult;

/// Events of a run that are searched for places to hold threads at.
const MAX_MARKED: usize = 500_000;

/// The part of the time left that one run may take to be learned from: on long runs there would be none left for others.
const SHARE: u32 = 3;

/// The part of that in which reorderings for candidates over two objects are looked for.
const WIDE_SHARE: u32 = 4;

/// The part of the whole time that the first run may take in any case.
const LEAST: u32 = 10;

/// By composition and the answer of its first call: what the second one returns when no other thread comes between.
#[derive(Debug, Default)]
pub(super) struct KnownAnswers(BTreeMap<(CompositionId, CallResult), BTreeSet<CallResult>>);

impl KnownAnswers {
    fn learn(&mut self, run: &Run, known: &Compositions) {
        for made in run.tracked_calls.all_made() {
            if run.tracked_calls.is_undisturbed(&run.history, made)
                && let Some(answers) = run.tracked_calls.answers(known, made)
            {
                self.0.entry((made.id, answers[0])).or_default().insert(answers[1]);
            }
        }
    }

    pub(super) fn usual(
        &self,
        id: CompositionId,
        first: CallResult,
    ) -> Option<&BTreeSet<CallResult>> {
        self.0.get(&(id, first))
    }
}

impl Exploration<'_> {
    /// Adds the run's candidates, with what can be tried. Gives the number of new ones.
    pub(super) fn add_candidates(&mut self, run: &Run, made_for: Option<usize>) -> usize {
        let known = Arc::clone(&self.options.compositions);
        self.outcome.compositions_made.extend(run.tracked_calls.all_made().map(|made| made.id));
        self.answers.learn(run, &known);
        let (left, time) = (self.budget.left(), self.budget.time());
        // If the first run took all the time there is, nothing would ever be looked at.
        let least = if run.number == 1 { time / LEAST } else { Duration::ZERO };
        let share = (left / SHARE).max(least);
        let deadline = Instant::now().checked_add(share).map_or(Deadline::NEVER, Deadline::at);
        let facts = HistoryIndex::new(&run.history);
        let (suspects, unsearched) = run.suspects(&facts, self.options.sources, deadline);
        self.outcome.unsearched += unsearched;
        let knowledge = Knowledge::of(&run.history);
        // It costs as much as the run is long, and often nobody asks it anything.
        let mut feasibility = None;
        let plans = self.options.strategy.plans_from(run.number);
        let counts = BlockFilter::new(&[], &self.options.not_atomic);
        let before = self.targets.len();
        let is_common = run.number as usize <= self.options.initial.len();
        let wanted = |key: &Key| {
            !key.facts.is_sync_state
                && counts.matches(&key.block)
                && !self.options.earlier.known.contains(&key.identity())
                && self.options.only.as_ref().is_none_or(|only| only.is(key))
        };
        let scope = CodeScope::new(&self.options.only_code);
        let (suspects, outside): (Vec<Suspect>, Vec<Suspect>) = suspects
            .into_iter()
            .filter(|suspect| wanted(&suspect.key))
            .partition(|suspect| scope.has(run, suspect));
        self.targets.pass_over(outside);
        let of = |suspect: Suspect| (Provenance::of(run, &suspect, &self.own_code), suspect);
        let mut suspects: Vec<(Provenance, Suspect)> = suspects.into_iter().map(of).collect();
        // That two objects belong together is a bold guess, and there are many of them: they come last.
        suspects.sort_by_key(|(provenance, suspect)| (suspect.key.is_wide(), *provenance));
        let wide = Instant::now().checked_add(share / WIDE_SHARE).map_or(deadline, Deadline::at);
        for (provenance, suspect) in suspects {
            if suspect.is_body {
                self.targets.add_body(suspect.key);
                continue;
            }
            let index = self.targets.entry(suspect.key, is_common);
            self.targets[index].instances += suspect.instances;
            self.targets[index].is_composed |= suspect.is_composed;
            self.targets[index].provenance = provenance.min(self.targets[index].provenance);
            // Reorderings cost time, which nobody has to follow them once it is over.
            let is_late = self.targets[index].key.is_wide() && wide.is_over();
            if self.is_over() || deadline.is_over() || is_late {
                self.targets[index].is_cut = true;
            } else if plans && !self.is_settled(&self.targets[index]) {
                let (run, is_own) = (self.runs.next_index(), made_for == Some(index));
                let strategy = || self.options.strategy.clone();
                let feasibility = feasibility.get_or_insert_with(|| {
                    Feasibility::new(&facts, &knowledge, strategy(), deadline)
                });
                self.targets[index].find_predictions(feasibility, run, suspect.goals, is_own);
            }
        }
        self.targets.len() - before
    }

    /// What the policies that hold threads need, from the runs in memory; worked out anew when there are new candidates.
    pub(super) fn hold_marks(&mut self) -> HoldMarks {
        if let Some(marks) = &self.marks {
            return marks.clone();
        }
        // It costs as much as a run is long, for each run.
        let short = || self.runs.loaded().filter(|run| run.history.len() <= MAX_MARKED);
        let marks = HoldMarks {
            atomfuzzer: marks::union(short().map(marks::second_acquisitions)),
            adversarial: marks::union(short().map(marks::suspicious)),
            // Counts are those of one run.
            surw: short().next_back().map(marks::interesting).unwrap_or_default(),
        };
        self.marks.insert(marks).clone()
    }

    /// Removes a trace unless something rests on it.
    pub(super) fn forget_unneeded(&self, trace: &Path) {
        let is_needed = self.outcome.violations.iter().any(|found| found.evidence.trace == trace)
            || self.outcome.deadlocks.iter().any(|stuck| stuck.evidence.trace == trace)
            || self.unconfirmed_deadlocks.iter().any(|stuck| stuck.evidence.trace == trace)
            || self.outcome.recorded_deadlocks.iter().any(|stuck| stuck.evidence.trace == trace)
            || self.outcome.recorded_failures.iter().any(|own| own.evidence.trace == trace)
            || self.outcome.timed_violations.iter().any(|found| found.evidence.trace == trace)
            || self.outcome.folded.iter().any(|found| found.evidence.trace == trace)
            || self.outcome.failures.iter().any(|failure| failure.evidence.trace == trace)
            || self.control_runs.iter().any(|own| own.rests_on(trace));
        if !is_needed {
            forget(trace);
        }
    }
}
