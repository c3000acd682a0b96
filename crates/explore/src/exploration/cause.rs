//! What a failure needs: the fewest operations whose order makes it happen.
//!
//! **Papers:** Zeller, Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, IEEE Transactions on Software
//! Engineering 28(2), 2002 (delta debugging); Choi, Zeller, *Isolating Failure-Inducing Thread Schedules*, ISSTA 2002,
//! which applies it to schedules.
//!
//! **What we changed, and why.** What is left out are steps of a plan: between the steps every thread runs until it
//! blocks, so fewer steps are fewer preemptions. Of the steps that are left, neighbours of different threads change
//! places: where the failure goes away, their order decides.
//!
//! **Promise:** every claim rests on runs: the failure happens with these steps, and a step that is said to be needed
//! was left out in a run that did not fail. The budget may end the search early; then the steps are enough, and not
//! said to be needed.

use untorn_predict::At;
use untorn_schedule::{Plan, PlanStep, PolicyKind, RunSpec};
use untorn_trace::Op;

use super::{Cause, CauseStep, Dependence, Exploration, ExploreError, Progress, forget};
use crate::failure::FailureKind;
use crate::run::Run;
use crate::steer;

/// Runs for one failure, as a multiple of those for a simpler schedule of a finding.
const EFFORT: u32 = 5;

/// The accesses of the thread of an event, up to it, to variables that two threads access and one writes.
fn shared_accesses(run: &Run, until: At) -> Vec<At> {
    let history = &run.history;
    let thread = history.event(until).thread;
    let is_shared = |at: &At| {
        let (Op::Read { var, .. } | Op::Write { var, .. }) = history.event(*at).op else {
            return false;
        };
        let (reads, writes) = (history.reads(var), history.writes(var));
        let is_foreign = |at: &At| history.event(*at).thread != thread;
        writes.iter().any(is_foreign) || !writes.is_empty() && reads.iter().any(is_foreign)
    };
    let own = history.of_thread(thread);
    own[..=history.nth(until) as usize].iter().copied().filter(is_shared).collect()
}

impl Exploration<'_> {
    /// Looks for the cause of a failure that depends on the schedule.
    pub(super) fn find_cause(&mut self, index: usize) -> Result<(), ExploreError> {
        let failure = &mut self.outcome.failures[index];
        let Some(plan) = failure.recipe.take() else { return Ok(()) };
        if failure.dependence == Dependence::None || self.options.minimise == 0 {
            return Ok(());
        }
        let before = self.outcome.runs;
        let mut budget = self.options.minimise.saturating_mul(EFFORT);
        if !self.fails_by(index, &plan, &mut budget)? {
            return Ok(());
        }
        let plan = self.reduce(plan, |own, plan| own.fails_by(index, plan, &mut budget))?;
        let plan = self.advance(index, plan, &mut budget)?;
        let is_minimal = budget > 0 && !self.budget.is_exhausted();
        let decides = self.flips(index, &plan, &mut budget)?;
        let runs = self.outcome.runs - before;
        let Some(run) = self.load_evidence(index)? else { return Ok(()) };
        let events = steer::events_of(&run, &plan);
        let steps = events.into_iter().zip(decides).filter_map(|(at, decides)| {
            let at = at?;
            Some(CauseStep { at: at.into(), event: *run.history.event(at), decides })
        });
        let cause = Cause { steps: steps.collect(), is_minimal, runs };
        self.outcome.failures[index].cause = Some(cause).filter(|cause| !cause.steps.is_empty());
        Ok(())
    }

    /// Replaces each step by the earliest access of a shared variable by the same thread that is enough: what comes
    /// after the access that matters, such as printing the stack trace, is enough as well, and says nothing.
    fn advance(
        &mut self,
        index: usize,
        mut plan: Plan,
        budget: &mut u32,
    ) -> Result<Plan, ExploreError> {
        for at in 0..plan.steps.len() {
            let Some(run) = self.load_evidence(index)? else { break };
            let Some(event) = steer::events_of(&run, &plan)[at] else { continue };
            let earlier: Vec<_> = shared_accesses(&run, event)
                .into_iter()
                .filter_map(|access| steer::single(&run, access))
                .collect();
            let with = |plan: &Plan, step: &PlanStep| {
                let mut plan = plan.clone();
                plan.steps[at] = step.clone();
                plan
            };
            // What is enough stays enough later: the first one is found by halves.
            let (mut low, mut high) = (0, earlier.len());
            while low < high && *budget > 0 && !self.budget.is_exhausted() {
                let middle = low.midpoint(high);
                let tried = with(&plan, &earlier[middle]);
                if self.fails_by(index, &tried, budget)? { high = middle } else { low = middle + 1 }
            }
            if let Some(step) = earlier.get(high) {
                plan = with(&plan, step);
            }
        }
        Ok(plan)
    }

    fn load_evidence(&self, index: usize) -> Result<Option<Run>, ExploreError> {
        let spec = RunSpec::policy(PolicyKind::RunToBlock, 0);
        let trace = self.outcome.failures[index].trace.clone();
        self.load(spec, crate::marks::no_result(), &trace).map(Some)
    }

    /// For each step, whether the failure goes away when it and the next one change places.
    fn flips(
        &mut self,
        index: usize,
        plan: &Plan,
        budget: &mut u32,
    ) -> Result<Vec<bool>, ExploreError> {
        let mut decides = vec![false; plan.steps.len()];
        for at in 1..plan.steps.len() {
            if *budget == 0 || self.budget.is_exhausted() {
                break;
            }
            if plan.steps[at - 1].thread == plan.steps[at].thread {
                continue;
            }
            let mut flipped = plan.clone();
            flipped.steps.swap(at - 1, at);
            decides[at - 1] = !self.fails_by(index, &flipped, budget)?;
        }
        Ok(decides)
    }

    /// Makes one run; says whether it fails in the same way. If it needs fewer preemptions, it becomes the evidence.
    fn fails_by(
        &mut self,
        index: usize,
        plan: &Plan,
        budget: &mut u32,
    ) -> Result<bool, ExploreError> {
        if *budget == 0 || self.budget.is_exhausted() {
            return Ok(false);
        }
        *budget -= 1;
        let failure = &self.outcome.failures[index];
        let number = self.outcome.runs + 1;
        (self.watch)(Progress::SimplifyingFailure { number, failure });
        let Some(run) = self.run_plan(plan)? else { return Ok(false) };
        let failure = &mut self.outcome.failures[index];
        let kind = FailureKind::of(&run.ran);
        let is_same = kind.as_ref().is_some_and(|kind| kind.signature() == failure.signature);
        let is_simpler = run.ran.preemptions <= failure.preemptions;
        match kind {
            Some(kind) if is_same && is_simpler => {
                let old = std::mem::replace(&mut failure.trace, run.trace);
                (failure.kind, failure.run, failure.tables) = (kind, run.number, run.tables);
                failure.preemptions = run.ran.preemptions;
                self.forget_unneeded(&old);
            }
            _ => forget(&run.trace),
        }
        Ok(is_same)
    }
}
