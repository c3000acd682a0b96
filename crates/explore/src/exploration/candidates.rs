//! What a run teaches: candidates, orders that lead to them, what normal runs look like.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use untorn_predict::simulation::Knowledge;
use untorn_predict::{Deadline, Facts};
use untorn_serializability::block_filter::BlockFilter;

use super::Exploration;
use crate::compositions::Compositions;
use crate::feasibility::Feasibility;
use crate::run::{Run, Suspect};
use crate::target::{Key, Target};

/// The part of the time left that one run may take to be learned from: on long runs there would be none left for others.
const SHARE: u32 = 3;

/// The part of the whole time that the first run may take in any case.
const LEAST: u32 = 10;

/// Runs whose traces stay in memory.
const MAX_KEPT: usize = 8;

impl Exploration<'_> {
    /// Adds the run's candidates, with what can be tried. Gives the number of new ones.
    pub(super) fn add_candidates(&mut self, run: &Run, made_for: Option<usize>) -> usize {
        let known = Arc::clone(&self.options.compositions);
        self.learn_answers(run, &known);
        let left = self.options.time.saturating_sub(self.begin.elapsed());
        // If the first run took all the time there is, nothing would ever be looked at.
        let least = if run.number == 1 { self.options.time / LEAST } else { Duration::ZERO };
        let share = (left / SHARE).max(least);
        let deadline = Instant::now().checked_add(share).map_or(Deadline::NEVER, Deadline::at);
        let facts = Facts::new(&run.history);
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
                && self.options.only.as_ref().is_none_or(|only| only.is(key))
        };
        let suspects: Vec<Suspect> =
            suspects.into_iter().filter(|suspect| wanted(&suspect.key)).collect();
        for suspect in suspects {
            if suspect.is_body {
                self.bodies.insert(suspect.key);
                continue;
            }
            let index = *self.index.entry(suspect.key).or_insert_with_key(|key| {
                self.targets.push(Target::new(key.clone(), is_common));
                self.targets.len() - 1
            });
            self.targets[index].instances += suspect.instances;
            self.targets[index].is_composed |= suspect.is_composed;
            // Orders cost time, which nobody has to follow them once it is over.
            if self.is_over() || deadline.is_over() {
                self.targets[index].is_cut = true;
            } else if plans && !self.is_settled(&self.targets[index]) {
                let (run, is_own) = (self.kept.len(), made_for == Some(index));
                let strategy = || self.options.strategy.clone();
                let feasibility = feasibility.get_or_insert_with(|| {
                    Feasibility::new(&facts, &knowledge, strategy(), deadline)
                });
                self.targets[index].find_leads(feasibility, run, suspect.goals, is_own);
            }
        }
        self.targets.len() - before
    }

    /// What calls that look meant to be one step say when nobody comes between them.
    fn learn_answers(&mut self, run: &Run, known: &Compositions) {
        for made in run.units.all_made() {
            self.outcome.compositions_made.insert(made.id);
            if run.units.is_undisturbed(&run.history, made)
                && let Some(answers) = run.units.answers(known, made)
            {
                self.answers.entry((made.id, answers[0])).or_default().insert(answers[1]);
            }
        }
    }

    /// Keeps a run for later leads. Old directed runs go; the trace file stays only if it is evidence.
    pub(super) fn keep(&mut self, run: Run, is_evidence: bool) {
        if !is_evidence {
            forget(&run.trace);
        }
        self.kept.push(Some(run));
        let loaded = self.kept.iter().flatten().count();
        if loaded > MAX_KEPT {
            let initial = self.options.initial.len().min(MAX_KEPT - 1);
            let old = self.kept.iter().skip(initial).position(Option::is_some);
            let Some(old) = old.map(|place| place + initial) else { return };
            self.kept[old] = None;
            for target in &mut self.targets {
                target.leads.retain(|lead| lead.run != old);
            }
        }
    }

    /// Removes a trace unless something rests on it.
    pub(super) fn forget_unneeded(&self, trace: &Path) {
        let is_needed = self.outcome.findings.iter().any(|found| found.trace == trace)
            || self.outcome.deadlocked.iter().any(|stuck| stuck.trace == trace)
            || self.control_runs.iter().any(|doubt| doubt.rests_on(trace));
        if !is_needed {
            forget(trace);
        }
    }
}

/// Nobody asks for it again; that it cannot be removed does no harm.
pub(super) fn forget(trace: &Path) {
    let _ = std::fs::remove_file(trace);
}
