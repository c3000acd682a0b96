//! Looks for a simpler schedule of each violation: fewer preemptions.
//!
//! **Paper:** Zeller, Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, IEEE Transactions on
//! Software Engineering 28(2), 2002: delta debugging.
//!
//! **What we changed, and why.**
//! * What is left out are steps of a plan, not parts of an input: between the steps every thread runs until it
//!   blocks, so fewer steps are fewer preemptions.
//! * The accesses of the violation alone are tried first. Nearly always they are enough, and one run is all it
//!   takes.
//!
//! **Promise:** a schedule is taken only if its run shows the same violation with at least the same proof, and with
//! fewer preemptions. The budget ends the search; what it has then is not always the simplest.

use untorn_schedule::{Plan, RunSpec};

use super::{AtomicityViolation, Exploration, ExploreError, Progress};
use crate::effects::Effect;
use crate::instance::Accesses;
use crate::judge::{Judgement, judge};
use crate::run::Run;

/// One switch away from a block, one back if the other thread does not end by itself, and one because somebody had to
/// be first: hardly anything is simpler.
const FEWEST: u64 = 3;

impl Exploration<'_> {
    pub(super) fn could_be_simpler(&self) -> bool {
        let is_simple = !self.outcome.violations.iter().any(is_complicated);
        self.options.minimise > 0 && !(is_simple && self.outcome.failures.is_empty())
    }

    /// Replaces the runs of violations by simpler ones.
    pub(super) fn minimise(&mut self) -> Result<(), ExploreError> {
        for index in 0..self.outcome.violations.len() {
            let mut budget = self.options.minimise;
            let plans = self.outcome.violations[index].reproducing_plans.clone();
            for plan in plans {
                let plan = Plan { keeps_time: true, ..plan };
                if self.shows(index, &plan, &mut budget)? {
                    self.reduce(plan, |own, plan| own.shows(index, plan, &mut budget))?;
                }
            }
        }
        Ok(())
    }

    /// Delta debugging: leaves out ever smaller parts of the steps as long as the rest is enough. Gives what is left.
    pub(super) fn reduce(
        &mut self,
        plan: Plan,
        mut is_enough: impl FnMut(&mut Self, &Plan) -> Result<bool, ExploreError>,
    ) -> Result<Plan, ExploreError> {
        let (mut plan, mut parts) = (plan, 2);
        while plan.steps.len() > 1 {
            let size = plan.steps.len().div_ceil(parts);
            let mut enough = None;
            for from in (0..plan.steps.len()).step_by(size) {
                let mut rest = plan.clone();
                rest.steps.drain(from..(from + size).min(plan.steps.len()));
                if is_enough(self, &rest)? {
                    enough = Some(rest);
                    break;
                }
            }
            match enough {
                Some(rest) => (plan, parts) = (rest, (parts - 1).max(2)),
                None if size == 1 => break,
                None => parts = (parts * 2).min(plan.steps.len()),
            }
        }
        Ok(plan)
    }

    /// Makes one run; says whether it shows the violation, and with no more preemptions. One with fewer is taken.
    fn shows(&mut self, index: usize, plan: &Plan, budget: &mut u32) -> Result<bool, ExploreError> {
        let found = &self.outcome.violations[index];
        if *budget == 0 || self.budget.is_exhausted() || !is_complicated(found) {
            return Ok(false);
        }
        *budget -= 1;
        let number = self.outcome.runs + 1;
        (self.watch)(Progress::Simplifying { number, violation: found });
        let is_wanted = |own: &Self, run: &Run| own.judged_again(index, run).is_some();
        let Some(run) = self.run_plan(plan, is_wanted)? else { return Ok(false) };
        let before = self.outcome.violations[index].evidence.preemptions;
        let counts = !run.result.warm && run.result.preemptions <= before;
        let judged = self.judged_again(index, &run).filter(|_| counts);
        let is_shown = judged.is_some();
        match judged {
            Some(judged) if run.result.preemptions < before => self.replace(index, run, judged),
            _ => self.forget_unneeded(&run.trace),
        }
        Ok(is_shown)
    }

    /// Follows a plan for its own sake. A run that cannot be made shows nothing; that the program can be run is known.
    /// What is wanted of a run becomes evidence, so it must be in a run that was made in a process of its own; a run
    /// that lacks it may have been made in a used one.
    pub(super) fn run_plan(
        &mut self,
        plan: &Plan,
        is_wanted: impl Fn(&Self, &Run) -> bool,
    ) -> Result<Option<Run>, ExploreError> {
        let Some(run) = self.follow(plan, false)? else { return Ok(None) };
        let shows_something =
            || is_wanted(self, &run) || self.fails_anew(&run) || self.deadlocks_anew(&run);
        if !run.result.warm || !shows_something() {
            return Ok(Some(run));
        }
        self.forget_unneeded(&run.trace);
        self.follow(plan, true)
    }

    /// Makes one run by a plan. What it shows besides counts if the process was a fresh one.
    pub(super) fn follow(
        &mut self,
        plan: &Plan,
        is_fresh: bool,
    ) -> Result<Option<Run>, ExploreError> {
        let number = self.runs.next_number();
        let spec = match plan.steps.is_empty() {
            true => RunSpec::default(),
            false => RunSpec::plan(plan.clone()),
        };
        let trace = self.runs.trace_of(number);
        self.limit_run(false);
        let result = match is_fresh {
            true => self.front_end.run_fresh(&spec, &trace),
            false => self.front_end.run(&spec, &trace),
        };
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                self.note_cut_off(&error);
                return Ok(None);
            }
        };
        self.outcome.runs += 1;
        let run = self.load(number, spec, result, &trace)?;
        self.outcome.events += run.event_count();
        if !run.result.warm {
            // Whatever a run was made for, what it shows counts.
            self.note_deadlock(&run);
            self.note_failures(&run);
        }
        Ok(Some(run))
    }

    /// The judgement of the same violation in another run, if that proves as much.
    fn judged_again(&self, index: usize, run: &Run) -> Option<Judgement> {
        let found = &self.outcome.violations[index];
        let instance = Accesses::new(run, std::iter::once(&found.key)).find(&found.key)?;
        // What is due to the violation in one run is due to it in another.
        let is_shown = |effect: &&Effect| self.normal.shows(effect, &run.result);
        let effects: Vec<Effect> = found.judged.effects.iter().filter(is_shown).cloned().collect();
        let harm = self.harm(run, &found.key, &instance, &effects);
        let judged = judge(run, &found.key, &instance, &harm);
        let is_untested = |effect: &&Effect| found.judged.untested.contains(*effect);
        let untested = judged.effects.iter().filter(is_untested).cloned().collect();
        let judged = Judgement { undone: found.judged.undone, untested, ..judged };
        let proves = judged.is_violation(&found.key) && judged.weight() >= found.judged.weight();
        proves.then_some(judged)
    }

    fn replace(&mut self, index: usize, run: Run, judged: Judgement) {
        let found = &mut self.outcome.violations[index];
        found.judged = judged;
        let old = found.evidence.replace(run);
        (self.watch)(Progress::Better(found));
        self.forget_unneeded(&old);
    }
}

fn is_complicated(found: &AtomicityViolation) -> bool {
    found.evidence.preemptions.is_some_and(|preemptions| preemptions > FEWEST)
}
