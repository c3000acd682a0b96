//! What happened in a run, and whether it is a violation.

use untorn_predict::Origin;

use super::{Chase, Deadlock, Finding, News};
use crate::effects::Effect;
use crate::evidence::Run;
use crate::instance::{Accesses, Instance};
use crate::runner::Ended;
use crate::steer;
use crate::stuck::Stuck;
use crate::target::{Key, Shape, Unreached};
use crate::verify::{Judged, is_meant, judge, may_be_violation};

/// A target that happened so often without harm is not judged in every run.
const OFTEN_HARMLESS: u32 = 12;

/// Different deadlocks that are kept.
const MOST_DEADLOCKS: usize = 32;

impl Chase<'_> {
    /// Looks for instances of all targets. Says whether the trace is evidence.
    pub(super) fn look(&mut self, run: &Run, made_for: Option<usize>) -> bool {
        let accesses = Accesses::new(run, self.targets.iter().map(|target| &target.key));
        let refuted = self.refuted(run);
        let (effects, deadline) = (self.normal.compare(&run.ran), self.deadline());
        let (mut is_evidence, mut is_normal) = (false, true);
        for index in 0..self.targets.len() {
            let key = self.targets[index].key.clone();
            let counts = refuted.as_ref().is_none_or(|refuted| {
                key.origin == Origin::Declared && refuted.contains(&key.block)
            });
            if !counts || !self.is_worth_judging(index, made_for) {
                continue;
            }
            // The run that was on its way when time ended is judged for what it was made for.
            if deadline.is_over() && made_for != Some(index) {
                self.targets[index].is_cut = true;
                is_normal = false;
                continue;
            }
            let Some(instance) = accesses.find(&key) else { continue };
            if is_meant(run, &key, &instance) && self.adds_nothing(&key, &effects) {
                (is_normal, self.targets[index].done) = (false, true);
                continue;
            }
            let judged = may_be_violation(run, &key, &instance, &effects)
                .then(|| judge(run, &key, &instance, &effects))
                .filter(|judged| judged.is_violation(&key));
            let Some(judged) = judged else {
                self.targets[index].harmless += 1;
                self.targets[index].last = Some(Unreached::Harmless);
                continue;
            };
            is_normal = false;
            self.targets[index].done = true;
            if !self.is_other_side(&key, &judged, run) {
                is_evidence |= self.report(run, key, judged, &instance);
            }
        }
        if is_normal {
            self.normal.learn(&run.ran);
        }
        is_evidence
    }

    /// Whether a violation has been proved as well as this run could prove it: then one more is counted, and not judged.
    fn adds_nothing(&mut self, key: &Key, effects: &[Effect]) -> bool {
        let most = Judged::most_weight(effects);
        let is_one = matches!(key.shape, Shape::One(_));
        let mut findings = self.outcome.findings.iter_mut().filter(|_| is_one);
        let known = findings.find(|found| found.key.concern() == key.concern());
        let Some(found) = known.filter(|found| found.judged.weight() >= most) else { return false };
        found.alike += 1;
        true
    }

    /// Two blocks that access two variables tear each other: one finding says it all.
    fn is_other_side(&self, key: &Key, judged: &Judged, run: &Run) -> bool {
        let tears = judged.intruder.and_then(|label| run.tables.labels.get(label));
        let swapped = |found: &Finding| {
            Some(found.key.block.as_str()) == tears && found.intruder().as_ref() == Some(&key.block)
        };
        matches!(key.shape, Shape::Two { .. }) && self.outcome.findings.iter().any(swapped)
    }

    /// Judging costs as much as the trace is long. What did no harm often enough is left alone in runs that were
    /// made for something else, and so are two variables of a block that is known to be torn.
    fn is_worth_judging(&self, index: usize, made_for: Option<usize>) -> bool {
        let target = &self.targets[index];
        let is_known = |found: &Finding| target.key.is_covered_by(&found.key);
        let is_covered = matches!(target.key.shape, Shape::Two { .. })
            && self.outcome.findings.iter().any(is_known);
        let is_stale = target.harmless >= OFTEN_HARMLESS && made_for != Some(index);
        !target.done && !is_covered && !is_stale
    }

    /// Adds a finding, or makes a known one of the same concern better. Says whether the trace is
    /// needed for it.
    fn report(&mut self, run: &Run, key: Key, judged: Judged, instance: &Instance) -> bool {
        if self.options.all_methods && key.origin == Origin::Declared {
            self.outcome.refuted.insert(key.block.clone());
        }
        let next = self.outcome.next_number();
        let findings = &mut self.outcome.findings;
        let known = findings.iter().position(|found| found.key.concern() == key.concern());
        let place = known.unwrap_or(findings.len());
        let (alike, before) = match known {
            Some(place) => (findings[place].alike + 1, Some(findings[place].judged.weight())),
            None => (0, None),
        };
        if before.is_some_and(|before| before >= judged.weight()) {
            findings[place].alike = alike;
            return false;
        }
        let found = Finding {
            number: known.map_or(next, |place| findings[place].number),
            key,
            judged,
            run: run.number,
            trace: run.trace.clone(),
            tables: run.tables.clone(),
            alike,
            after: self.begin.elapsed(),
            preemptions: run.ran.preemptions,
            recipes: steer::recipes(run, instance),
        };
        // Told again only if it is now proved and was not; the report has the better one anyway.
        if before.is_none_or(|before| before < 2) {
            (self.watch)(News::Found(&found));
        }
        match known {
            Some(place) => findings[place] = found,
            None => findings.push(found),
        }
        true
    }

    /// A deadlock is no torn block, but nobody who sees one wants it kept from him. Says whether the trace is
    /// to be kept: one shows what is wrong, however often it happens.
    pub(super) fn note_deadlock(&mut self, run: &Run) -> bool {
        if run.ran.ended != Ended::Deadlock {
            return false;
        }
        self.outcome.deadlocks += 1;
        let stuck = Stuck::read(&run.trace).unwrap_or_default();
        let signature = stuck.signature(&run.tables);
        let all = &mut self.outcome.deadlocked;
        if let Some(known) = all.iter_mut().find(|known| known.signature == signature) {
            known.alike += 1;
            return false;
        }
        if all.len() >= MOST_DEADLOCKS {
            return false;
        }
        let found = Deadlock {
            number: self.outcome.next_number(),
            run: run.number,
            trace: run.trace.clone(),
            tables: run.tables.clone(),
            stuck,
            signature,
            alike: 0,
            after: self.begin.elapsed(),
            preemptions: run.ran.preemptions,
        };
        (self.watch)(News::Deadlocked(&found));
        self.outcome.deadlocked.push(found);
        true
    }
}
