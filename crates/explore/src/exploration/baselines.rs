//! The methods that the loop is compared with, made of the same parts: the same runs, the same search for
//! instances, the same judgement.

use std::collections::BTreeSet;

use untorn_schedule::{AnnouncedEvents, PolicyKind, RunSpec};
use untorn_serializability::two_pass::{Filtered, SccFilter};
use untorn_serializability::velodrome::Velodrome;
use untorn_serializability::{Checker, Outcome};
use untorn_trace::EventIdx;

use super::{Exploration, ExploreError, NextRun};
use crate::run::Run;
use crate::strategy::Judge;

impl Exploration<'_> {
    /// One directed run for each candidate of the first run.
    pub(super) fn try_each_once(&mut self) -> Result<(), ExploreError> {
        self.options.per_candidate = 1;
        self.attempts = 1;
        self.options.initial.truncate(1);
        for spec in self.options.initial.clone() {
            self.make_runs(vec![NextRun::without_target(spec)])?;
        }
        while !self.is_over() {
            let Some(target) = self.next_target(&BTreeSet::new()) else { break };
            if let Some(request) = self.directed(target) {
                self.make_runs(vec![request])?;
            }
        }
        Ok(())
    }

    /// Runs that nobody directs, until the budget ends. Two of the policies have to see a run first.
    pub(super) fn run_undirected(&mut self, policies: &[PolicyKind]) -> Result<(), ExploreError> {
        let first_seed = self.options.initial.first().map_or(0, |spec| spec.seed);
        let needs_marks = |policy: &PolicyKind| policy.announced_events() == AnnouncedEvents::Marks;
        let blind = policies.is_empty() || policies.iter().any(needs_marks);
        if blind && !self.is_over() {
            let first = RunSpec::policy(PolicyKind::RunToBlock, first_seed);
            self.make_runs(vec![NextRun::without_target(first)])?;
        }
        let mut turn = 0;
        while !self.is_over() && !policies.is_empty() {
            let policy = policies[turn % policies.len()];
            // Every policy has the seeds from 1 on.
            let seed = first_seed + 1 + (turn / policies.len()) as u64;
            turn += 1;
            let length = self.runs.loaded().next_back().map(|run| run.event_count());
            let spec = self.hold_marks().spec(policy, seed, length);
            self.make_runs(vec![NextRun::without_target(spec)])?;
        }
        Ok(())
    }

    /// The names of the declared blocks that a checker refutes in this run; `None` if none was asked for.
    pub(super) fn refuted(&self, run: &Run) -> Option<BTreeSet<String>> {
        let events = run.history.events();
        let outcome: Outcome = match self.options.strategy.judge() {
            Judge::Instances => return None,
            Judge::Velodrome => {
                let mut checker = Velodrome::new();
                let _ = checker.events(EventIdx(0), events);
                checker.finish()
            }
            Judge::TwoPass => {
                let mut filter = SccFilter::new();
                let _ = filter.events(EventIdx(0), events);
                let mut checker = Filtered::new(Velodrome::new(), filter.suspects());
                let _ = checker.events(EventIdx(0), events);
                checker.finish()
            }
        };
        let blocks = outcome.violations.iter().flat_map(|violation| &violation.refuted);
        let names = blocks.filter_map(|block| run.tables.labels.get(block.label));
        Some(names.map(str::to_owned).collect())
    }
}
