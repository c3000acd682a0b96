//! Calls that said something unusual: would they have said it anyway?
//!
//! That another thread came between two calls, and that the second one then gave something that it never gave before, does
//! not make the one the reason of the other. So the run is made once more up to the first call, and then nobody comes
//! between. Only if the second call says something else there, what it said is held against the program.

use std::path::Path;

use untorn_schedule::Plan;

use super::{AtomicityViolation, Exploration, NextRun};
use crate::instance::Instance;
use crate::run::Run;
use crate::steer;
use crate::target::NoFinding;
use crate::tracked_calls::{CallResult, Occurrence};
use untorn_schedule::RunSpec;

/// A violation that rests on what calls said.
#[derive(Debug)]
pub(super) struct ControlRun {
    found: AtomicityViolation,
    target: usize,
    /// The first of the calls, and what it and the second one said.
    first: Occurrence,
    answers: [CallResult; 2],
    /// Lets nobody come between.
    plan: Plan,
    is_tried: bool,
}

impl ControlRun {
    pub(super) fn rests_on(&self, trace: &Path) -> bool {
        self.found.evidence.trace == trace
    }
}

impl Exploration<'_> {
    /// Keeps a violation until a control run shows what the calls say otherwise; `false` if none can be made.
    pub(super) fn await_control_run(
        &mut self,
        found: AtomicityViolation,
        target: usize,
        run: &Run,
        instance: &Instance,
    ) -> bool {
        let known = &self.options.compositions;
        let made = run.composition(instance.own);
        let said = made.and_then(|made| {
            Some((
                run.tracked_calls.first_of(&run.history, &made),
                run.tracked_calls.answers(known, &made)?,
            ))
        });
        let Some(((first, answers), plan)) = said.zip(steer::undisturbed(run, instance)) else {
            self.targets[target].done = false;
            self.targets[target].last = Some(NoFinding::Undecided);
            return false;
        };
        self.control_runs.push(ControlRun { found, target, first, answers, plan, is_tried: false });
        true
    }

    /// The run that shows what the calls say when nobody comes between them.
    pub(super) fn next_control_run(&mut self) -> Option<NextRun> {
        let control_run = self.control_runs.iter_mut().find(|control_run| !control_run.is_tried)?;
        control_run.is_tried = true;
        self.outcome.directed += 1;
        Some(NextRun::without_target(RunSpec::plan(control_run.plan.clone())))
    }

    /// Whether a violation waits for this run.
    pub(super) fn is_control_run(&self, run: &Run) -> bool {
        let plan = run.spec.steering.as_plan();
        plan.is_some_and(|plan| self.control_runs.iter().any(|own| own.plan == *plan))
    }

    /// Decides about the violation for which this run was made.
    pub(super) fn resolve_control_run(&mut self, run: &Run) {
        let Some(plan) = run.spec.steering.as_plan() else { return };
        let Some(place) =
            self.control_runs.iter().position(|control_run| control_run.plan == *plan)
        else {
            return;
        };
        let control_run = self.control_runs.remove(place);
        let made = run.tracked_calls.undisturbed(
            &run.history,
            &self.options.compositions,
            &control_run.first,
        );
        match made {
            Some([first, second])
                if first == control_run.answers[0] && second != control_run.answers[1] =>
            {
                self.admit(control_run, second);
            }
            _ => {
                self.targets[control_run.target].harmless += 1;
                self.dismiss(control_run, NoFinding::Harmless);
            }
        }
    }

    fn admit(&mut self, mut control_run: ControlRun, usual: CallResult) {
        if let Some(surprise) =
            control_run.found.judged.composed.as_mut().and_then(|own| own.surprise.as_mut())
        {
            surprise.usual = usual;
        }
        let trace = control_run.found.evidence.trace.clone();
        if !self.add_violation(control_run.found) {
            self.forget_unneeded(&trace);
        }
    }

    fn dismiss(&mut self, control_run: ControlRun, why: NoFinding) {
        let target = &mut self.targets[control_run.target];
        target.done = false;
        target.last = Some(why);
        self.forget_unneeded(&control_run.found.evidence.trace);
    }

    /// What was never decided is not called a violation.
    pub(super) fn drop_control_runs(&mut self) {
        for control_run in std::mem::take(&mut self.control_runs) {
            self.dismiss(control_run, NoFinding::OutOfBudget);
        }
    }
}
