//! Runs that are made again before what they show counts: in a process of their own, and without premature timeouts.

use untorn_schedule::{Plan, RunSpec};

use super::{Exploration, ExploreError};
use crate::run::Run;
use crate::steer;

/// After so many runs in used processes that no fresh process repeated, and at least as many as were repeated, every run
/// gets a fresh process.
const MAX_UNCONFIRMED: u32 = 6;

impl Exploration<'_> {
    /// Threads slept, or waited with a time limit, while a plan held others: what such a run shows may depend on timing.
    /// The plan is followed again, as far as no time limit passes because a thread is held. What shows then does not.
    pub(super) fn repeat_in_time(
        &mut self,
        run: &Run,
        target: Option<usize>,
    ) -> Result<(), ExploreError> {
        let Some(plan) = run.spec.steering.as_plan() else { return Ok(()) };
        let plan = Plan { keeps_time: true, ..plan.clone() };
        let Some(again) = self.follow(&plan, true)? else { return Ok(()) };
        if !self.options.judged_by_results {
            self.judge_once(&again, target);
        }
        self.forget_unneeded(&again.trace);
        Ok(())
    }

    /// Repeats a run in a process of its own: only what happens there counts. First as it was made, then by the order of
    /// its events, which may be another run if the process makes a difference. `None` if neither shows anything.
    pub(super) fn repeat_fresh(
        &mut self,
        run: &Run,
        target: Option<usize>,
    ) -> Result<Option<Run>, ExploreError> {
        let by_order = || steer::whole(run).map(RunSpec::plan);
        let mut specs =
            std::iter::once(Some(run.spec.clone())).chain(std::iter::once_with(by_order));
        while let Some(Some(spec)) = specs.next() {
            // Something was found: that is worth a run more than there is time for.
            self.front_end.end_by(None);
            let Ok(result) = self.front_end.run_fresh(&spec, &run.trace) else { continue };
            let fresh = self.load(run.number, spec, result, &run.trace)?;
            if self.is_notable(&fresh, target) {
                self.outcome.repeated += 1;
                return Ok(Some(fresh));
            }
        }
        self.outcome.unconfirmed_warm_runs += 1;
        if self.outcome.unconfirmed_warm_runs >= MAX_UNCONFIRMED.max(self.outcome.repeated) {
            self.front_end.use_fresh_only("what other runs showed did not happen again in one");
        }
        Ok(None)
    }
}
