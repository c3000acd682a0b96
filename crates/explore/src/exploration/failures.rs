//! Runs that failed: each way of failing is a finding, unless a violation in the same run explains it.
//!
//! **Promise:** a program that failed in any run that was made has a finding that shows it. Whether a failure depends
//! on the schedule is decided by the runs that were made: it does if one of them ended well. If none did, the program is
//! run once as it is: a failure that does not show there may be due to the recording, and is listed apart.

use untorn_frontend::{ExitKind, PlainRun, RunResult, UncaughtException};
use untorn_schedule::Plan;

use super::{AtomicityViolation, Evidence, Exploration, ExploreError, Progress};
use crate::effects::Effect;
use crate::failure::{FailureKind, FailureSignature, ended_well};
use crate::instance::Accesses;
use crate::run::Run;
use crate::steer;

/// Different failures that are kept.
const MAX_FAILURES: usize = 32;

/// Whether a failure depends on the schedule, judging by the runs that were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependence {
    /// So many runs of the same program with the same input ended well.
    Schedule { good_runs: u32 },
    /// Every run failed.
    EverySchedule,
}

/// A way in which runs failed.
#[derive(Debug)]
pub struct Failure {
    /// Counted after violations and deadlocks; 0 until all runs are made.
    pub number: u32,
    pub kind: FailureKind,
    pub evidence: Evidence,
    pub dependence: Dependence,
    /// What is needed for it to happen, if that was found out.
    pub cause: Option<Cause>,
    pub(crate) signature: FailureSignature,
    /// It shows in the exit code or in the output.
    shows_outside: bool,
    /// The order of its run as a plan.
    pub(crate) reproducing_plan: Option<Plan>,
}

impl Failure {
    /// What makes it the same as another failure.
    pub fn signature(&self) -> &FailureSignature {
        &self.signature
    }
}

/// What a failure needs: operations that must happen in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    pub steps: Vec<CauseStep>,
    /// Without any one of the steps it did not happen.
    pub is_minimal: bool,
    /// Runs made to find it out.
    pub runs: u32,
}

/// An operation of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CauseStep {
    /// Where it is in the trace of the failure.
    pub at: untorn_trace::EventIdx,
    pub event: untorn_trace::Event,
    /// The failure did not happen when this operation and the next one changed places.
    pub decides: bool,
}

impl Exploration<'_> {
    /// Adds the failures of a run. Says whether the trace is needed as evidence.
    pub(super) fn note_failures(&mut self, run: &Run) -> bool {
        self.outcome.good_runs += u32::from(ended_well(&run.result));
        let kinds = FailureKind::all_of(&run.result, &run.spec);
        let mut is_evidence = false;
        // The limit of the first run knows nothing of how long the program takes.
        let has_measure = self.outcome.runs > self.outcome.timed_out;
        for kind in kinds.into_iter().filter(|kind| has_measure || *kind != FailureKind::Hang) {
            is_evidence |= self.note_failure(run, kind);
        }
        is_evidence
    }

    fn note_failure(&mut self, run: &Run, kind: FailureKind) -> bool {
        let signature = kind.signature();
        let known = self.outcome.failures.iter_mut().find(|own| own.signature == signature);
        if let Some(known) = known {
            known.evidence.alike += 1;
            if known.evidence.premature_sleep.is_none() || !run.premature_timeouts().is_empty() {
                return false;
            }
            // It does not depend on timing after all.
            let evidence = Evidence::new(run, known.evidence.after);
            let old = std::mem::replace(&mut known.evidence, evidence);
            known.reproducing_plan = steer::whole(run);
            self.forget_unneeded(&old.trace);
            return true;
        }
        if self.outcome.failures.len() >= MAX_FAILURES {
            self.outcome.more_failures += 1;
            return false;
        }
        let failure = Failure {
            number: 0,
            shows_outside: kind.shows_outside(&run.result),
            kind,
            evidence: Evidence::new(run, self.budget.elapsed()),
            dependence: Dependence::EverySchedule,
            cause: None,
            signature,
            reproducing_plan: steer::whole(run),
        };
        if failure.evidence.premature_sleep.is_none() {
            (self.watch)(Progress::Failure(&failure));
        }
        self.outcome.failures.push(failure);
        true
    }

    /// Decides which failures are findings of their own, and looks for their causes.
    pub(super) fn resolve_failures(&mut self) -> Result<(), ExploreError> {
        let mut explained = Vec::new();
        // Runs that look for a cause may fail in other ways: the list may grow.
        let mut index = 0;
        while let Some(failure) = self.outcome.failures.get(index) {
            explained.push(self.is_explained(failure)?);
            let is_timed = self.outcome.failures[index].evidence.premature_sleep.is_some();
            if self.outcome.good_runs > 0 && !explained[index] && !is_timed {
                self.find_cause(index)?;
            }
            index += 1;
        }
        let good_runs = self.outcome.good_runs;
        let is_every_run = good_runs == 0 && explained.contains(&false);
        let plain = is_every_run.then(|| self.run_plain()).flatten();
        // A program that never ends by itself may be a server.
        let never_ends = self.outcome.timed_out >= self.outcome.runs;
        let all = std::mem::take(&mut self.outcome.failures);
        for (failure, is_explained) in all.into_iter().zip(explained) {
            let is_server = failure.kind == FailureKind::Hang && never_ends;
            if is_explained || is_server {
                self.forget_unneeded(&failure.evidence.trace);
                continue;
            }
            if failure.evidence.premature_sleep.is_some() {
                self.outcome.timed_failures.push(failure);
                continue;
            }
            let is_absent = |plain: &PlainRun| !failure.kind.shows_in(plain);
            if failure.shows_outside && plain.as_ref().is_some_and(is_absent) {
                self.outcome.recorded_failures.push(failure);
                continue;
            }
            let number = self.outcome.next_number() + self.outcome.failures.len() as u32;
            let dependence = match good_runs {
                0 => Dependence::EverySchedule,
                good_runs => Dependence::Schedule { good_runs },
            };
            self.outcome.failures.push(Failure { number, dependence, ..failure });
        }
        Ok(())
    }

    /// The program as it is, run once, if there is time for that.
    pub(super) fn run_plain(&mut self) -> Option<PlainRun> {
        if self.plain.is_none() && !self.budget.is_exhausted() {
            self.limit_run(false);
            self.plain = Some(self.front_end.run_plain(&self.options.inputs));
        }
        self.plain.clone().flatten()
    }

    /// A test that passes although an exception ends a thread expects that one, if the same exception comes from the
    /// same place when nobody records the test, or in each of the first runs: not every handler prints it.
    pub(super) fn note_expected_exceptions(&mut self, result: &RunResult) {
        if result.uncaught.is_empty()
            || result.exit != ExitKind::Exit(0)
            || !self.front_end.is_test()
        {
            return;
        }
        self.learn_frequent();
        let Some(plain) = self.run_plain().filter(|plain| plain.exit == ExitKind::Exit(0)) else {
            return;
        };
        for exception in &result.uncaught {
            let is_there = |text: &String| plain.output.contains(text.as_str());
            if is_there(&exception.kind) && exception.place.as_ref().is_none_or(is_there) {
                self.expected_exceptions
                    .insert(FailureKind::Uncaught(exception.clone()).signature());
            }
        }
    }

    /// What each of the first runs showed is usual, if the test passes by itself.
    fn learn_frequent(&mut self) {
        let runs = self.outcome.runs;
        let is_early = runs == super::ENOUGH_FAILURES + 1 && self.outcome.good_runs == 0;
        let is_exception = |failure: &Failure| matches!(failure.kind, FailureKind::Uncaught(_));
        let is_in_each = |failure: &Failure| failure.evidence.alike + 2 == runs;
        let all = &self.outcome.failures;
        if !is_early || !all.iter().all(|failure| is_exception(failure) && is_in_each(failure)) {
            return;
        }
        if self.run_plain().is_some_and(|plain| plain.exit == ExitKind::Exit(0)) {
            let failures = std::mem::take(&mut self.outcome.failures);
            self.expected_exceptions
                .extend(failures.iter().map(|failure| failure.signature.clone()));
            self.outcome.good_runs = std::mem::take(&mut self.outcome.failed_runs);
            failures.iter().for_each(|failure| self.forget_unneeded(&failure.evidence.trace));
        }
    }

    /// What came of a run, without what a test expects.
    pub(super) fn without_usual(&self, mut result: RunResult) -> RunResult {
        let is_usual = |exception: &UncaughtException| {
            self.expected_exceptions.contains(&FailureKind::Uncaught(exception.clone()).signature())
        };
        result.uncaught.retain(|exception| !is_usual(exception));
        result
    }

    /// Whether the program ends well as it is, though no run that was recorded did.
    pub(super) fn fails_only_recorded(&mut self) -> bool {
        self.outcome.good_runs == 0
            && self.run_plain().is_some_and(|plain| plain.exit == ExitKind::Exit(0))
    }

    /// Whether a violation that was found has this effect, and happened in the run that failed, too.
    fn is_explained(&self, failure: &Failure) -> Result<bool, ExploreError> {
        let is_effect = |found: &&AtomicityViolation| {
            found.judged.effects.iter().any(|effect| is_same(effect, &failure.signature))
        };
        let violations: Vec<&AtomicityViolation> =
            self.outcome.violations.iter().filter(is_effect).collect();
        if violations.iter().any(|found| found.evidence.run == failure.evidence.run) {
            return Ok(true);
        }
        if violations.is_empty() {
            return Ok(false);
        }
        let spec = untorn_schedule::RunSpec::default();
        let evidence = &failure.evidence;
        let run = self.load(evidence.run, spec, crate::marks::no_result(), &evidence.trace)?;
        let subjects: Vec<_> =
            violations.iter().map(|found| found.key.block_and_variable()).collect();
        let keys =
            || self.targets.keys().filter(|key| subjects.contains(&key.block_and_variable()));
        let accesses = Accesses::new(&run, keys());
        Ok(keys().any(|key| accesses.find(key).is_some()))
    }
}

/// Whether an effect of a violation is this failure.
fn is_same(effect: &Effect, failure: &FailureSignature) -> bool {
    use untorn_frontend::ExitKind;
    match (effect, failure) {
        (Effect::Exception(own), FailureSignature::Uncaught { kind, place }) => {
            *kind == own.kind && *place == own.place
        }
        (Effect::Exit(ExitKind::Exit(own)), FailureSignature::Exit(code)) => own == code,
        (Effect::Exit(ExitKind::Signal(own)), FailureSignature::Signal(signal)) => own == signal,
        _ => false,
    }
}
