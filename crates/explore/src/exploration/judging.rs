//! What happened in a run, and whether it is a violation.

use std::collections::BTreeSet;

use untorn_predict::{Deadline, Origin};

use super::counterfactual::{MAX_UNDONE, untested};
use super::replays::RecordedEnd;
use super::{AtomicityViolation, Deadlock, Evidence, Exploration, Progress};
use crate::deadlock::DeadlockState;
use crate::effects::Effect;
use crate::failure::FailureKind;
use crate::instance::{Accesses, Instance};
use crate::judge::{
    CallMade, Harm, Judgement, Surprise, TornComposition, is_meant, judge, may_be_violation,
};
use crate::run::Run;
use crate::significance::Assessment;
use crate::steer;
use crate::target::{Key, NoFinding, Shape};
use crate::tracked_calls::{CallResult, ObservedCall};
use untorn_frontend::ExitKind;

/// A target that happened so often without harm is not judged in every run.
const OFTEN_HARMLESS: u32 = 12;

/// Violations beside the findings that are kept.
const MAX_FOLDED: usize = 100;

/// Different deadlocks that are kept.
const MAX_DEADLOCKS: usize = 32;

/// The part of the time left that one run may take to be judged for what it was not made for: on long runs with many
/// instances there would be none left for runs that are made for a target.
const SHARE: u32 = 3;

/// What is known of a run while the targets are judged in it, one after the other.
struct Judging<'r> {
    run: &'r Run,
    made_for: Option<usize>,
    accesses: Accesses<'r>,
    /// The declared blocks that a checker refutes in this run, if a checker decides: only they count then.
    refuted: Option<BTreeSet<String>>,
    effects: Vec<Effect>,
    /// What the run was not made for is judged until then.
    until: Deadline,
    is_evidence: bool,
    is_normal: bool,
    /// A torn composition explains what is visible.
    is_explained: bool,
    /// Violations whose effects were tested by undoing the interruption.
    undone: u32,
}

impl Judging<'_> {
    fn counts(&self, key: &Key) -> bool {
        let is_refuted = |refuted: &BTreeSet<String>| {
            key.origin == Origin::Declared && refuted.contains(&key.block)
        };
        self.refuted.as_ref().is_none_or(is_refuted)
    }

    fn is_timed(&self) -> bool {
        !self.run.premature_timeouts().is_empty()
    }
}

impl Exploration<'_> {
    /// Looks for instances of all targets. Says whether the trace is evidence. A method that was taken to be atomic and
    /// is refuted hides what is inside of it: the same run is looked at again without it.
    pub(super) fn judge_targets(&mut self, run: &Run, made_for: Option<usize>) -> bool {
        let mut refuted = self.outcome.refuted.len();
        let (mut is_evidence, mut is_normal) = self.judge_once(run, made_for);
        while self.outcome.refuted.len() > refuted && !self.budget.deadline().is_over() {
            refuted = self.outcome.refuted.len();
            // If the trace cannot be read any more, later runs show what is inside.
            let Ok(inside) =
                self.load(run.number, run.spec.clone(), run.result.clone(), &run.trace)
            else {
                break;
            };
            self.add_candidates(&inside, None);
            let (shows, is_usual) = self.judge_once(&inside, None);
            is_evidence |= shows;
            is_normal &= is_usual;
        }
        if is_normal {
            self.normal.add_good_run(&run.result);
        }
        is_evidence
    }

    /// Whether the trace is evidence, and whether the run is like those without a violation.
    pub(super) fn judge_once(&mut self, run: &Run, made_for: Option<usize>) -> (bool, bool) {
        let mut judging = Judging {
            run,
            made_for,
            accesses: Accesses::new(run, self.targets.keys()),
            refuted: self.refuted(run),
            effects: self.normal.compare(&run.result),
            until: self.budget.share(SHARE),
            is_evidence: false,
            is_normal: true,
            is_explained: false,
            undone: 0,
        };
        for index in self.targets.in_order_of_interest() {
            self.judge_target(index, &mut judging);
        }
        (judging.is_evidence, judging.is_normal)
    }

    fn judge_target(&mut self, index: usize, judging: &mut Judging<'_>) {
        let key = self.targets[index].key.clone();
        if !judging.counts(&key) || !self.is_worth_judging(index, judging.made_for) {
            // A run that shows a violation is not normal, however often it was judged.
            judging.is_normal &=
                !self.is_of_violation(&key) || judging.accesses.find(&key).is_none();
            return;
        }
        // The run that was on its way when time ended is judged for what it was made for.
        if judging.until.is_over() && judging.made_for != Some(index) {
            self.targets[index].is_cut = true;
            judging.is_normal = false;
            return;
        }
        let Some(instance) = judging.accesses.find(&key) else { return };
        if is_meant(judging.run, &key, &instance) && self.adds_nothing(&key, &judging.effects) {
            (judging.is_normal, self.targets[index].done) = (false, true);
            return;
        }
        match self.judge_instance(index, &key, &instance, judging) {
            Some(judged) => self.add_judged(index, key, &instance, judged, judging),
            None => self.note_harmless(index),
        }
    }

    /// What an instance of a target proves; `None` if it does no harm.
    fn judge_instance(
        &mut self,
        index: usize,
        key: &Key,
        instance: &Instance,
        judging: &mut Judging<'_>,
    ) -> Option<Judgement> {
        let run = judging.run;
        let mut harm = self.harm(run, key, instance, &judging.effects);
        if judging.is_explained && harm.composed.is_none() {
            // What is visible comes of calls that were torn; nothing else has to be suspected of it.
            harm.effects = &[];
        }
        let judged = may_be_violation(run, key, instance, &harm)
            .then(|| judge(run, key, instance, &harm))
            .filter(|judged| judged.is_violation(key))?;
        let is_over = self.budget.deadline().is_over();
        let has_room = judging.undone < MAX_UNDONE && (judging.undone == 0 || !is_over);
        let may_undo = has_room && self.may_undo();
        judging.undone += u32::from(!judged.effects.is_empty());
        let judged = match () {
            () if judging.is_timed() => judged,
            () if may_undo || judging.made_for == Some(index) => {
                self.attribute(run, key, instance, judged)
            }
            () => untested(run, key, instance, judged),
        };
        judging.is_normal &= !judged.is_unclear;
        (judged.is_violation(key) || !judged.untested.is_empty()).then_some(judged)
    }

    /// Adds what an instance proves where it belongs: to the findings, beside them, or to what waits for another run.
    fn add_judged(
        &mut self,
        index: usize,
        key: Key,
        instance: &Instance,
        judged: Judgement,
        judging: &mut Judging<'_>,
    ) {
        let (run, is_timed) = (judging.run, judging.is_timed());
        let (needs_control_run, is_harmless) =
            (judged.needs_control_run, !judged.is_violation(&key));
        let found = self.violation(run, key, judged, instance);
        let is_folded = is_harmless || found.significance.benign().is_some();
        if is_folded && !is_timed && !needs_control_run {
            // What does no harm here may do some in another run.
            self.note_harmless(index);
            judging.is_evidence |= self.fold(found);
            return;
        }
        judging.is_normal = false;
        judging.is_explained |= found.judged.composed.is_some() && !needs_control_run;
        self.targets[index].done = !is_timed;
        if self.is_other_side(&found.key, &found.judged, run) {
            return;
        }
        judging.is_evidence |= match (is_timed, needs_control_run) {
            (true, _) => self.add_timed(found),
            (false, true) => self.await_control_run(found, index, run, instance),
            (false, false) => self.add_violation(found),
        };
    }

    /// Adds a violation that depends on timing. Says whether the trace is needed for it.
    fn add_timed(&mut self, found: AtomicityViolation) -> bool {
        let identity = found.key.identity();
        let mut known = self.outcome.violations.iter().chain(&self.outcome.timed_violations);
        let is_known = known.any(|own| own.key.identity() == identity);
        if !is_known {
            self.outcome.timed_violations.push(found);
        }
        !is_known
    }

    fn note_harmless(&mut self, index: usize) {
        self.targets[index].harmless += 1;
        self.targets[index].last = Some(NoFinding::Harmless);
    }

    /// Keeps a violation apart that does no harm, or of which nobody knows. Says whether the trace is needed for it.
    fn fold(&mut self, found: AtomicityViolation) -> bool {
        let identity = found.key.identity();
        let mut known = self.outcome.violations.iter().chain(&self.outcome.folded);
        let is_known = known.any(|own| own.key.identity() == identity);
        let is_kept = !is_known && self.outcome.folded.len() < MAX_FOLDED;
        if is_kept {
            self.outcome.folded.push(found);
        }
        is_kept
    }

    /// Whether a violation of the same block and variable was found.
    fn is_of_violation(&self, key: &Key) -> bool {
        self.outcome
            .violations
            .iter()
            .any(|found| found.key.block_and_variable() == key.block_and_variable())
    }

    /// Whether a run may show something to report: a failure that is not known, a deadlock, an instance with harm.
    pub(super) fn is_notable(&self, run: &Run, made_for: Option<usize>) -> bool {
        if self.deadlocks_anew(run) || self.fails_anew(run) || self.is_control_run(run) {
            return true;
        }
        if self.options.judged_by_results {
            return false;
        }
        let accesses = Accesses::new(run, self.targets.keys());
        let effects = self.normal.compare(&run.result);
        (0..self.targets.len()).filter(|&index| self.is_worth_judging(index, made_for)).any(
            |index| {
                let key = &self.targets[index].key;
                accesses.find(key).is_some_and(|instance| {
                    let harm = self.harm(run, key, &instance, &effects);
                    may_be_violation(run, key, &instance, &harm)
                        && self.is_news(run, key, &instance, judge(run, key, &instance, &harm))
                })
            },
        )
    }

    /// Whether what was judged is to be reported, and is not known to be benign.
    fn is_news(&self, run: &Run, key: &Key, instance: &Instance, judged: Judgement) -> bool {
        if !judged.is_violation(key) {
            return false;
        }
        let identity = key.identity();
        let mut known = self.outcome.folded.iter();
        !known.any(|known| known.key.identity() == identity)
            || self.violation(run, key.clone(), judged, instance).significance.benign().is_none()
    }

    /// Whether a run fails in a way that is not known.
    pub(super) fn fails_anew(&self, run: &Run) -> bool {
        let is_known = |kind: &FailureKind| {
            let signature = kind.signature();
            self.outcome.failures.iter().any(|known| *known.signature() == signature)
        };
        !FailureKind::all_of(&run.result, &run.spec).iter().all(is_known)
    }

    pub(super) fn deadlocks_anew(&self, run: &Run) -> bool {
        if run.result.exit != ExitKind::Deadlock {
            return false;
        }
        let signature = DeadlockState::read(&run.trace).unwrap_or_default().signature(&run.tables);
        self.outcome.deadlocks.iter().all(|known| known.signature != signature)
    }

    /// What may be held against an instance.
    pub(super) fn harm<'e>(
        &self,
        run: &Run,
        key: &Key,
        instance: &Instance,
        effects: &'e [Effect],
    ) -> Harm<'e> {
        let effects = if self.shows_anyway(key) { &[] } else { effects };
        let is_inferred = key.origin == Origin::Inferred;
        let composed = is_inferred.then(|| self.composed(run, instance)).flatten();
        Harm { effects, composed }
    }

    /// The composition that an instance tears.
    fn composed(&self, run: &Run, instance: &Instance) -> Option<TornComposition> {
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
            let answer = told.answer.filter(|&answer| answer != CallResult::Done);
            CallMade { thread: event.thread, api: told.label, site: event.site, answer }
        };
        let calls = [Some(first), between, Some(second)].into_iter().flatten().map(call).collect();
        let is_exact = run.tracked_calls.makes(&made, instance.own) == [true; 2];
        Some(TornComposition { id: made.id, calls, is_exact, surprise })
    }

    /// Whether a violation has been proved as well as this run could prove it: then one more is counted, and not judged.
    fn adds_nothing(&mut self, key: &Key, effects: &[Effect]) -> bool {
        let most = Judgement::most_weight(effects);
        let is_one = matches!(key.shape, Shape::One(_));
        let mut violations = self.outcome.violations.iter_mut().filter(|_| is_one);
        let identity = key.identity();
        let known = violations.find(|found| found.key.identity() == identity);
        let Some(found) = known.filter(|found| found.judged.weight() >= most) else { return false };
        found.evidence.alike += 1;
        true
    }

    /// Two blocks that access two variables tear each other: one violation says it all.
    fn is_other_side(&self, key: &Key, judged: &Judgement, run: &Run) -> bool {
        let tears = judged.intruder.and_then(|label| run.tables.labels.get(label));
        let swapped = |found: &AtomicityViolation| {
            Some(found.key.block.as_str()) == tears && found.intruder().as_ref() == Some(&key.block)
        };
        matches!(key.shape, Shape::Two { .. }) && self.outcome.violations.iter().any(swapped)
    }

    /// Judging costs as much as the trace is long. What did no harm often enough is left alone in runs that were
    /// made for something else, and so are two variables of a block that is known to be torn.
    fn is_worth_judging(&self, index: usize, made_for: Option<usize>) -> bool {
        let target = &self.targets[index];
        let is_known = |found: &AtomicityViolation| target.key.is_covered_by(&found.key);
        let is_covered = matches!(target.key.shape, Shape::Two { .. })
            && self.outcome.violations.iter().any(is_known);
        let is_known_harmless = target.harmless >= OFTEN_HARMLESS && made_for != Some(index);
        !target.done && !is_covered && !is_known_harmless
    }

    /// A violation that has no number yet.
    fn violation(
        &self,
        run: &Run,
        key: Key,
        judged: Judgement,
        instance: &Instance,
    ) -> AtomicityViolation {
        let runs: Vec<&Run> = self.runs.loaded().collect();
        let assessment = Assessment { run, key: &key, instance, judged: &judged, runs: &runs };
        AtomicityViolation {
            number: 0,
            significance: assessment.significance(),
            key,
            judged,
            evidence: Evidence::new(run, self.budget.elapsed()),
            reproducing_plans: steer::reproducing_plans(run, instance),
        }
    }

    /// Adds a violation, or replaces a known one with the same identity by a better proof. Says whether the trace is
    /// needed for it.
    pub(super) fn add_violation(&mut self, mut found: AtomicityViolation) -> bool {
        if self.options.all_methods && found.key.origin == Origin::Declared {
            self.outcome.refuted.insert(found.key.block.clone());
        }
        found.number = self.outcome.next_number();
        let identity = found.key.identity();
        let is_same = |known: &AtomicityViolation| known.key.identity() == identity;
        let known = self.outcome.violations.iter().position(is_same);
        let is_better =
            |at: usize| self.outcome.violations[at].judged.weight() < found.judged.weight();
        if known.is_none_or(is_better) {
            found.evidence.replay = self.try_replay(&found.evidence.trace, RecordedEnd::ByItself);
        }
        // It does not depend on timing after all, or does harm.
        let is_other = |known: &AtomicityViolation| known.key.identity() != identity;
        self.outcome.timed_violations.retain(is_other);
        self.outcome.folded.retain(is_other);
        let Some(known) = known else {
            (self.watch)(Progress::Violation(&found));
            self.outcome.violations.push(found);
            return true;
        };
        let known = &mut self.outcome.violations[known];
        known.evidence.alike += 1;
        if known.judged.weight() >= found.judged.weight() {
            return false;
        }
        (found.number, found.evidence.alike) = (known.number, known.evidence.alike);
        // Reported again only if it is proved now and was not before; the report has the better one anyway.
        let news = if known.judged.is_proved() {
            Progress::Better(&found)
        } else {
            Progress::Violation(&found)
        };
        (self.watch)(news);
        *known = found;
        true
    }

    /// Deadlocks are findings, too. Says whether the trace is to be kept: one shows what is wrong, however often it
    /// happens.
    pub(super) fn note_deadlock(&mut self, run: &Run) -> bool {
        if run.result.exit != ExitKind::Deadlock {
            return false;
        }
        self.outcome.deadlocked_runs += 1;
        let stuck = DeadlockState::read(&run.trace).unwrap_or_default();
        let signature = stuck.signature(&run.tables);
        let all = self.outcome.deadlocks.iter_mut().chain(&mut self.unconfirmed_deadlocks);
        if let Some(known) = all.into_iter().find(|known| known.signature == signature) {
            known.evidence.alike += 1;
            return false;
        }
        if self.outcome.deadlocks.len() + self.unconfirmed_deadlocks.len() >= MAX_DEADLOCKS {
            return false;
        }
        let needs_control_run = self.fails_only_recorded();
        let replay = self.try_replay(&run.trace, RecordedEnd::ByItself);
        let evidence = Evidence { replay, ..Evidence::new(run, self.budget.elapsed()) };
        let number = self.outcome.next_number();
        let found = Deadlock { number, evidence, stuck, signature };
        if needs_control_run {
            self.unconfirmed_deadlocks.push(found);
        } else {
            (self.watch)(Progress::Deadlock(&found));
            self.outcome.deadlocks.push(found);
        }
        true
    }

    /// Deadlocks count after all if some run ended well: then they depend on the schedule.
    pub(super) fn resolve_deadlocks(&mut self) {
        let doubtful = std::mem::take(&mut self.unconfirmed_deadlocks);
        if self.outcome.good_runs == 0 {
            self.outcome.recorded_deadlocks = doubtful;
            return;
        }
        for found in doubtful {
            let found = Deadlock { number: self.outcome.next_number(), ..found };
            (self.watch)(Progress::Deadlock(&found));
            self.outcome.deadlocks.push(found);
        }
    }
}
