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
//! A failure that happens when every thread runs until it blocks needs no step at all.
//!
//! **Promise:** every claim rests on runs: the failure happens with these steps, and a step that is said to be needed
//! was left out in a run that did not fail. The budget may end the search early; then the steps are enough, and not
//! said to be needed.

use untorn_predict::At;
use untorn_schedule::{Plan, PlanStep, PolicyKind, RunSpec};
use untorn_trace::Op;

use super::{Cause, CauseStep, Exploration, ExploreError, Progress};
use crate::failure::FailureKind;
use crate::run::Run;
use crate::steer;

/// Runs for one failure, as a multiple of those for a simpler schedule of a violation.
const EFFORT: u32 = 5;

/// The accesses of the thread of an event, up to it, to variables that two threads access and one writes.
pub(super) fn shared_accesses(run: &Run, until: At) -> Vec<At> {
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

/// What a run says of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TestOutcome {
    /// It fails in the same way.
    Fails,
    /// Every step was followed, and it does not fail in this way.
    Passes,
    /// It could not be made, or the plan could not be followed: nothing is known.
    Untested,
}

impl Exploration<'_> {
    /// Looks for the cause of a failure that depends on the schedule.
    pub(super) fn find_cause(&mut self, index: usize) -> Result<(), ExploreError> {
        let failure = &mut self.outcome.failures[index];
        let Some(plan) = failure.reproducing_plan.take() else { return Ok(()) };
        let plan = Plan { keeps_time: true, ..plan };
        // Whether a run that does not end ends otherwise cannot be told from a plan, which holds threads.
        if failure.kind == FailureKind::Hang || self.options.minimise == 0 {
            return Ok(());
        }
        let before = self.outcome.runs;
        let mut budget = self.options.minimise.saturating_mul(EFFORT);
        if self.adopt(index, &Plan::default(), &mut budget)? {
            let runs = self.outcome.runs - before;
            let cause = Cause { steps: Vec::new(), is_minimal: true, runs };
            self.outcome.failures[index].cause = Some(cause);
            return Ok(());
        }
        if !self.adopt(index, &plan, &mut budget)? {
            return Ok(());
        }
        let plan = self.reduce(plan, |own, plan| own.adopt(index, plan, &mut budget))?;
        let plan = self.advance(index, plan, &mut budget)?;
        // Earlier steps may do without each other.
        let plan = self.reduce(plan, |own, plan| own.adopt(index, plan, &mut budget))?;
        let is_minimal = self.needs_all(index, &plan, &mut budget)?;
        let decides = self.flips(index, &plan, &mut budget)?;
        let runs = self.outcome.runs - before;
        self.outcome.failures[index].cause =
            self.cause(index, &plan, is_minimal, &decides, runs)?;
        Ok(())
    }

    /// The steps of the plan as events of the run that is the evidence; `None` if one of them is not there.
    fn cause(
        &self,
        index: usize,
        plan: &Plan,
        is_minimal: bool,
        decides: &[bool],
        runs: u32,
    ) -> Result<Option<Cause>, ExploreError> {
        let run = self.load_evidence(index)?;
        let step = |(at, &decides): (Option<At>, &bool)| {
            let at = at?;
            Some(CauseStep { at: run.position(at), event: *run.history.event(at), decides })
        };
        let events = steer::events_of(&run, plan).into_iter().zip(decides);
        let steps: Option<Vec<CauseStep>> = events.map(step).collect();
        Ok(steps.map(|steps| Cause { steps, is_minimal, runs }))
    }

    /// Replaces each step by an earlier access of a shared variable by the same thread, the earliest that a search by
    /// halves finds to be enough: what comes after the access that matters, such as printing the stack trace, is enough
    /// as well, and says nothing.
    fn advance(
        &mut self,
        index: usize,
        mut plan: Plan,
        budget: &mut u32,
    ) -> Result<Plan, ExploreError> {
        for at in 0..plan.steps.len() {
            let run = self.load_evidence(index)?;
            let Some(event) = steer::events_of(&run, &plan)[at] else { continue };
            let earlier: Vec<PlanStep> = shared_accesses(&run, event)
                .into_iter()
                .filter_map(|access| steer::single(&run, access))
                .collect();
            let (mut low, mut high) = (0, earlier.len());
            while low < high && *budget > 0 && !self.budget.is_exhausted() {
                let middle = low.midpoint(high);
                let mut tried = plan.clone();
                tried.steps[at] = earlier[middle].clone();
                if self.adopt(index, &tried, budget)? {
                    (plan, high) = (tried, middle);
                } else {
                    low = middle + 1;
                }
            }
        }
        Ok(plan)
    }

    fn load_evidence(&self, index: usize) -> Result<Run, ExploreError> {
        let spec = RunSpec::policy(PolicyKind::RunToBlock, 0);
        let evidence = &self.outcome.failures[index].evidence;
        self.load(evidence.run, spec, crate::marks::no_result(), &evidence.trace)
    }

    /// Whether the failure does not happen without any one of the steps.
    fn needs_all(
        &mut self,
        index: usize,
        plan: &Plan,
        budget: &mut u32,
    ) -> Result<bool, ExploreError> {
        // Without its only step a plan is empty, and that was tried.
        for at in (0..plan.steps.len()).filter(|_| plan.steps.len() > 1) {
            let mut rest = plan.clone();
            rest.steps.remove(at);
            if self.try_once(index, &rest, budget)? != TestOutcome::Passes {
                return Ok(false);
            }
        }
        Ok(true)
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
            if plan.steps[at - 1].thread == plan.steps[at].thread {
                continue;
            }
            let mut flipped = plan.clone();
            flipped.steps.swap(at - 1, at);
            decides[at - 1] = self.try_once(index, &flipped, budget)? == TestOutcome::Passes;
        }
        Ok(decides)
    }

    /// Follows a plan. If it fails in the same way, its run becomes the evidence.
    fn adopt(&mut self, index: usize, plan: &Plan, budget: &mut u32) -> Result<bool, ExploreError> {
        let (trial, run) = self.trial(index, plan, budget)?;
        let Some(run) = run.filter(|_| trial == TestOutcome::Fails) else { return Ok(false) };
        let failure = &mut self.outcome.failures[index];
        let kinds = FailureKind::all_of(&run.result, &run.spec);
        let kind = kinds.into_iter().find(|kind| kind.signature() == failure.signature);
        failure.kind = kind.unwrap_or_else(|| failure.kind.clone());
        let old = failure.evidence.replace(run);
        self.forget_unneeded(&old);
        Ok(true)
    }

    /// Follows a plan, whose run is not needed afterwards.
    fn try_once(
        &mut self,
        index: usize,
        plan: &Plan,
        budget: &mut u32,
    ) -> Result<TestOutcome, ExploreError> {
        let (trial, run) = self.trial(index, plan, budget)?;
        if let Some(run) = run {
            self.forget_unneeded(&run.trace);
        }
        Ok(trial)
    }

    /// Makes one run by a plan. Its trace is kept only if it fails in the same way.
    fn trial(
        &mut self,
        index: usize,
        plan: &Plan,
        budget: &mut u32,
    ) -> Result<(TestOutcome, Option<Run>), ExploreError> {
        if *budget == 0 || self.budget.is_exhausted() {
            return Ok((TestOutcome::Untested, None));
        }
        *budget -= 1;
        let number = self.outcome.runs + 1;
        let failure = &self.outcome.failures[index];
        (self.watch)(Progress::SimplifyingFailure { number, failure });
        let signature = self.outcome.failures[index].signature.clone();
        let fails = |run: &Run| {
            let kinds = FailureKind::all_of(&run.result, &run.spec);
            kinds.iter().any(|kind| kind.signature() == signature)
        };
        let Some(run) = self.run_plan(plan, |_, run| fails(run))? else {
            return Ok((TestOutcome::Untested, None));
        };
        if fails(&run) {
            return Ok((TestOutcome::Fails, Some(run)));
        }
        self.forget_unneeded(&run.trace);
        let is_followed = plan.steps.is_empty()
            || run
                .result
                .followed
                .as_ref()
                .is_some_and(|own| own.released.is_none() && own.steps == own.of);
        Ok((if is_followed { TestOutcome::Passes } else { TestOutcome::Untested }, None))
    }
}
