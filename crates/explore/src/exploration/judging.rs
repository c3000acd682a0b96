//! What happened in a run, and whether it is a violation.

use std::sync::Arc;

use untorn_predict::Origin;

use super::{Deadlock, Exploration, Finding, Progress};
use crate::deadlock::DeadlockState;
use crate::effects::Effect;
use crate::failure::FailureKind;
use crate::instance::{Accesses, Instance};
use crate::judge::{CallMade, Composed, Harm, Judged, Surprise, is_meant, judge, may_be_violation};
use crate::run::Run;
use crate::steer;
use crate::target::{Key, Shape, Unreached};
use crate::tracked_calls::{Answer, ObservedCall};
use untorn_frontend::ExitKind;

/// A target that happened so often without harm is not judged in every run.
const OFTEN_HARMLESS: u32 = 12;

/// Different deadlocks that are kept.
const MAX_DEADLOCKS: usize = 32;

impl Exploration<'_> {
    /// Looks for instances of all targets. Says whether the trace is evidence.
    pub(super) fn judge_targets(&mut self, run: &Run, made_for: Option<usize>) -> bool {
        let accesses = Accesses::new(run, self.targets.keys());
        let refuted = self.refuted(run);
        let (effects, deadline) = (self.normal.compare(&run.ran), self.budget.deadline());
        let (mut is_evidence, mut is_normal) = (false, true);
        let mut explained = false;
        for index in self.targets.composed_first() {
            let key = self.targets[index].key.clone();
            let counts = refuted.as_ref().is_none_or(|refuted| {
                key.origin == Origin::Declared && refuted.contains(&key.block)
            });
            if !counts || !self.is_worth_judging(index, made_for) {
                // A run that shows a violation is not normal, however often it was judged.
                is_normal &= !self.is_of_finding(&key) || accesses.find(&key).is_none();
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
            let mut harm = self.harm(run, &key, &instance, &effects);
            if explained && harm.composed.is_none() {
                // What is visible comes of calls that were torn; nothing else has to be suspected of it.
                harm.effects = &[];
            }
            let judged = may_be_violation(run, &key, &instance, &harm)
                .then(|| judge(run, &key, &instance, &harm))
                .filter(|judged| judged.is_violation(&key));
            let Some(judged) = judged else {
                self.targets[index].harmless += 1;
                self.targets[index].last = Some(Unreached::Harmless);
                continue;
            };
            is_normal = false;
            explained |= judged.composed.is_some() && !judged.is_doubtful;
            self.targets[index].done = true;
            if self.is_other_side(&key, &judged, run) {
                continue;
            }
            let is_doubtful = judged.is_doubtful;
            let found = self.finding(run, key, judged, &instance);
            is_evidence |= match is_doubtful {
                true => self.doubt(found, index, run, &instance),
                false => self.report(found),
            };
        }
        if is_normal {
            self.normal.learn(&run.ran);
        }
        is_evidence
    }

    /// Whether a violation of the same concern was found.
    fn is_of_finding(&self, key: &Key) -> bool {
        self.outcome.findings.iter().any(|found| found.key.concern() == key.concern())
    }

    /// Whether a run may show something to report: a failure that is not known, a deadlock, an instance with harm.
    pub(super) fn is_notable(&self, run: &Run, made_for: Option<usize>) -> bool {
        let is_known = |kind: &FailureKind| {
            let signature = kind.signature();
            self.outcome.failures.iter().any(|known| *known.signature() == signature)
        };
        let fails_anew =
            FailureKind::all_of(&run.ran, &run.spec).iter().any(|kind| !is_known(kind));
        if run.ran.exit == ExitKind::Deadlock || fails_anew || self.is_control_run(run) {
            return true;
        }
        let accesses = Accesses::new(run, self.targets.keys());
        let effects = self.normal.compare(&run.ran);
        (0..self.targets.len()).filter(|&index| self.is_worth_judging(index, made_for)).any(
            |index| {
                let key = &self.targets[index].key;
                accesses.find(key).is_some_and(|instance| {
                    let harm = self.harm(run, key, &instance, &effects);
                    may_be_violation(run, key, &instance, &harm)
                })
            },
        )
    }

    /// What may be held against an instance.
    pub(super) fn harm<'e>(
        &self,
        run: &Run,
        key: &Key,
        instance: &Instance,
        effects: &'e [Effect],
    ) -> Harm<'e> {
        let is_inferred = key.origin == Origin::Inferred;
        let composed = is_inferred.then(|| self.composed(run, instance)).flatten();
        Harm { effects, composed }
    }

    /// The composition that an instance tears.
    fn composed(&self, run: &Run, instance: &Instance) -> Option<Composed> {
        let known = &self.options.compositions;
        let made = run.composition(instance.own)?;
        let answers = run.tracked_calls.answers(known, &made);
        let usual = answers.and_then(|[first, _]| self.answers.usual(made.id, first));
        let surprise = answers.zip(usual).and_then(|([after, said], usual)| {
            let is_new = !usual.contains(&said);
            let usual = usual.first().copied().filter(|_| is_new)?;
            Some(Surprise { after, said, usual })
        });
        let thread = run.history.event(instance.own[0]).thread;
        let [first, second] = run.tracked_calls.calls(known, &made, thread, instance.own);
        let between = instance.other[0];
        let other = run.history.event(between).thread;
        let between = run.tracked_calls.call_around(known, &made, other, between);
        let call = |told: ObservedCall| {
            let event = run.history.event(told.begin);
            let answer = told.answer.filter(|&answer| answer != Answer::Done);
            CallMade { thread: event.thread, api: told.label, site: event.site, answer }
        };
        let calls = [Some(first), between, Some(second)].into_iter().flatten().map(call).collect();
        let is_exact = run.tracked_calls.makes(&made, instance.own) == [true; 2];
        Some(Composed { id: made.id, calls, is_exact, surprise })
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

    /// A finding that has no number yet.
    fn finding(&self, run: &Run, key: Key, judged: Judged, instance: &Instance) -> Finding {
        Finding {
            number: 0,
            key,
            judged,
            run: run.number,
            trace: run.trace.clone(),
            tables: Arc::clone(&run.tables),
            alike: 0,
            after: self.budget.elapsed(),
            preemptions: run.ran.preemptions,
            recipes: steer::recipes(run, instance),
        }
    }

    /// Adds a finding, or makes a known one of the same concern better. Says whether the trace is
    /// needed for it.
    pub(super) fn report(&mut self, mut found: Finding) -> bool {
        if self.options.all_methods && found.key.origin == Origin::Declared {
            self.outcome.refuted.insert(found.key.block.clone());
        }
        found.number = self.outcome.next_number();
        let findings = &mut self.outcome.findings;
        let is_same = |known: &Finding| known.key.concern() == found.key.concern();
        let Some(known) = findings.iter_mut().find(|known| is_same(known)) else {
            (self.watch)(Progress::Found(&found));
            findings.push(found);
            return true;
        };
        known.alike += 1;
        if known.judged.weight() >= found.judged.weight() {
            return false;
        }
        (found.number, found.alike) = (known.number, known.alike);
        // Told again only if it is now proved and was not; the report has the better one anyway.
        if !known.judged.is_proved() {
            (self.watch)(Progress::Found(&found));
        }
        *known = found;
        true
    }

    /// A deadlock is no torn block, but nobody who sees one wants it kept from him. Says whether the trace is
    /// to be kept: one shows what is wrong, however often it happens.
    pub(super) fn note_deadlock(&mut self, run: &Run) -> bool {
        if run.ran.exit != ExitKind::Deadlock {
            return false;
        }
        self.outcome.deadlocks += 1;
        let stuck = DeadlockState::read(&run.trace).unwrap_or_default();
        let signature = stuck.signature(&run.tables);
        let all = &mut self.outcome.deadlocked;
        if let Some(known) = all.iter_mut().find(|known| known.signature == signature) {
            known.alike += 1;
            return false;
        }
        if all.len() >= MAX_DEADLOCKS {
            return false;
        }
        let found = Deadlock {
            number: self.outcome.next_number(),
            run: run.number,
            trace: run.trace.clone(),
            tables: Arc::clone(&run.tables),
            stuck,
            signature,
            alike: 0,
            after: self.budget.elapsed(),
            preemptions: run.ran.preemptions,
        };
        (self.watch)(Progress::Deadlocked(&found));
        self.outcome.deadlocked.push(found);
        true
    }
}
