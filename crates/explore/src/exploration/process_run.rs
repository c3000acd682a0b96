//! What is learned from one run, in order: its result, its candidates, its findings; then it is kept.

use std::path::Path;
use std::sync::Arc;

use untorn_frontend::{ExitKind, RecordingGap, RunResult};
use untorn_schedule::RunSpec;

use super::run_store::forget;
use super::sweep::Sweep;
use super::undirected::{Arm, Reward};
use super::{ENOUGH_FAILURES, Exploration, ExploreError, NextRun, Progress};
use crate::conflict_order::ConflictOrder;
use crate::failure::failed;
use crate::loading::LoadOptions;
use crate::run::Run;
use crate::target::NoFinding;

/// Events of a run that are all kept if one violation alone is looked for.
const MAX_WHOLE_OF_ONE: usize = 8_000_000;

impl Exploration<'_> {
    pub(super) fn load(
        &self,
        number: u32,
        spec: RunSpec,
        result: RunResult,
        trace: &Path,
    ) -> Result<Run, ExploreError> {
        // Whether a block runs at all, and what it does by itself, matters if nothing else is looked for.
        let max_whole = match self.options.only {
            Some(_) => self.options.max_whole.max(MAX_WHOLE_OF_ONE),
            None => self.options.max_whole,
        };
        let load = LoadOptions {
            max_events: self.options.max_events,
            max_whole,
            entries_are_calls: self.options.all_methods,
            mere_calls: self.outcome.refuted.clone(),
            compositions: Arc::clone(&self.options.compositions),
        };
        let spec = RunSpec { inputs: self.options.earlier.inputs.clone(), ..spec };
        Ok(Run::load(number, spec, self.without_usual(result), trace, load)?)
    }

    /// Counts a run, adds its candidates, judges it, and keeps it.
    pub(super) fn process_run(
        &mut self,
        number: u32,
        request: NextRun,
        result: RunResult,
        trace: &Path,
    ) -> Result<(), ExploreError> {
        let target = request.target;
        self.note_result(&result, target);
        // Without a single run that was looked at there is nothing to report.
        let is_late = self.outcome.runs > 1 && self.budget.deadline().is_over();
        self.outcome.unsearched.runs += u32::from(is_late);
        let mut run = self.load(number, request.spec, result, trace)?;
        self.add_to_totals(&run);
        let is_new_order = self.novelty.add(ConflictOrder::all_of(&run));
        let new = if is_late { 0 } else { self.search_candidates(&run, target) };
        if run.result.warm && self.is_notable(&run, target) {
            let Some(fresh) = self.repeat_fresh(&run, target)? else {
                self.keep(run, false);
                return Ok(());
            };
            if !fresh.is_same_as(&run) {
                // Predictions name events of the run by their positions.
                self.targets.drop_predictions_of(self.runs.next_index());
                self.add_candidates(&fresh, target);
            }
            run = fresh;
        }
        if self.options.judged_by_results && self.outcome.runs == 1 {
            self.sweep = Sweep::of(&run);
        }
        if !run.premature_timeouts().is_empty() && self.is_notable(&run, target) {
            self.repeat_in_time(&run, target)?;
        }
        self.resolve_control_run(&run);
        (self.watch)(Progress::RunEnded { run: &run, new });
        let known = self.outcome.finding_count();
        let is_evidence = self.judge_run(&run, target);
        let reward = match () {
            () if self.outcome.finding_count() > known => Reward::Finding,
            () if new > 0 => Reward::Candidate,
            () if is_new_order => Reward::ConflictOrder,
            () => Reward::Nothing,
        };
        self.reward(reward, request.arm);
        self.keep(run, is_evidence);
        Ok(())
    }

    /// What a run shows without its trace.
    fn note_result(&mut self, result: &RunResult, target: Option<usize>) {
        let lasting = result.unseen.iter().filter(|unseen| unseen.is_of_the_program());
        self.outcome.unseen.extend(lasting.map(ToString::to_string));
        let unresolved = result.unseen.iter().filter_map(RecordingGap::unresolved).max();
        self.outcome.unresolved = self.outcome.unresolved.max(unresolved.unwrap_or(0));
        self.outcome.timed_out += u32::from(result.exit == ExitKind::TimedOut);
        if let (Some(index), Some(followed)) = (target, &result.followed) {
            let why = followed.released.clone().unwrap_or_else(|| "the program ended".to_owned());
            self.targets[index].last = Some(NoFinding::NotFollowed(why));
        }
        self.note_expected_exceptions(result);
        if self.outcome.runs == ENOUGH_FAILURES && self.outcome.good_runs == 0 {
            // Later there may be no time to see what the program does alone.
            self.run_plain();
        }
    }

    fn add_to_totals(&mut self, run: &Run) {
        self.outcome.events += run.event_count() + run.left_out;
        self.outcome.left_out += run.left_out;
        self.outcome.whole_runs += u32::from(run.left_out == 0);
        self.outcome.failed_runs += u32::from(failed(&run.result));
        self.outcome.threads = self.outcome.threads.max(run.history.thread_count());
        if let Some(only) = &self.options.only {
            self.outcome.focus.add(run, only);
        }
    }

    /// Adds the candidates of a run; how many are new.
    fn search_candidates(&mut self, run: &Run, target: Option<usize>) -> usize {
        let before = self.outcome.unsearched;
        let new = self.add_candidates(run, target);
        let is_searched = self.outcome.unsearched.is_late_as(&before);
        self.outcome.searched_runs += u32::from(is_searched);
        new
    }

    /// Looks for findings in a run. Whether it is evidence of one.
    fn judge_run(&mut self, run: &Run, target: Option<usize>) -> bool {
        if self.options.only.is_none() {
            self.lock_orders.add(run);
        }
        if self.options.counts_triples {
            self.count_triples(run);
        }
        let refuted = self.outcome.refuted.len();
        let mut is_evidence = !self.options.judged_by_results && self.judge_targets(run, target);
        is_evidence |= self.note_deadlock(run);
        is_evidence |= self.note_failures(run);
        // What is inside of a refuted method, or around it, shows only now.
        self.refuted_since_initial_run |= self.outcome.refuted.len() > refuted;
        is_evidence
    }

    fn reward(&mut self, reward: Reward, arm: Option<Arm>) {
        if reward >= Reward::Candidate {
            self.novelty.renew();
            self.marks = None;
        }
        if let Some(arm) = arm {
            self.undirected.reward(arm, reward);
        }
    }

    /// Keeps a run for later predictions. The trace file stays only if it is evidence.
    fn keep(&mut self, run: Run, is_evidence: bool) {
        if !is_evidence {
            forget(&run.trace);
        }
        for dropped in self.runs.add(run) {
            self.targets.drop_predictions_of(dropped);
        }
    }
}
