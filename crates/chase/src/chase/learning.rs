//! What a run teaches: candidates, orders that lead to them, what normal runs look like.

use std::sync::Arc;

use untorn_check::block_filter::BlockFilter;
use untorn_predict::Facts;
use untorn_predict::simulation::Knowledge;

use super::Chase;
use crate::compositions::Compositions;
use crate::evidence::{Run, Suspect};
use crate::prophet::Prophet;
use crate::target::{Key, Target};

/// Runs whose traces stay in memory.
const MOST_KEPT: usize = 8;

impl Chase<'_> {
    /// Adds the run's candidates, with what can be tried. Gives the number of new ones.
    pub(super) fn learn(&mut self, run: &Run, made_for: Option<usize>) -> usize {
        let known = Arc::clone(&self.options.compositions);
        let suspects = run.suspects(self.options.sources);
        self.learn_answers(run, &known);
        let facts = Facts::new(&run.history);
        let knowledge = Knowledge::of(&run.history);
        let mut prophet = Prophet::new(&facts, &knowledge, self.options.strategy.clone());
        let plans = self.options.strategy.plans_from(run.number);
        let counts = BlockFilter::new(&[], &self.options.not_atomic);
        let before = self.targets.len();
        let is_common = run.number as usize <= self.options.initial.len();
        let wanted = |key: &Key| {
            counts.matches(&key.block) && self.options.only.as_ref().is_none_or(|only| only.is(key))
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
            if plans && !self.is_over() && !self.is_settled(&self.targets[index]) {
                let (run, is_own) = (self.kept.len(), made_for == Some(index));
                self.targets[index].learn(&mut prophet, run, suspect.goals, is_own);
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
            // Nobody asks for it again; that it cannot be removed does no harm.
            let _ = std::fs::remove_file(&run.trace);
        }
        self.kept.push(Some(run));
        let loaded = self.kept.iter().flatten().count();
        if loaded > MOST_KEPT {
            let initial = self.options.initial.len().min(MOST_KEPT - 1);
            let old = self.kept.iter().skip(initial).position(Option::is_some);
            let Some(old) = old.map(|place| place + initial) else { return };
            self.kept[old] = None;
            for target in &mut self.targets {
                target.leads.retain(|lead| lead.run != old);
            }
        }
    }
}
