//! Looks for a reordering of a run that reaches a goal: the surest there is.

use untorn_predict::candidates::TwoVariableCandidate;
use untorn_predict::lock_valid::{LockValid, LockValidAnswer};
use untorn_predict::precise::{Decision, Precise};
use untorn_predict::sat::Budget;
use untorn_predict::simulation::{Knowledge, Simulation};
use untorn_predict::{At, Deadline, Goal, History, HistoryIndex, Strength};

use crate::strategy::{Planning, Strategy};
use crate::target::PredictedReordering;

/// All that can be said of a goal in one run.
pub(crate) struct Feasibility<'f, 'h> {
    history: &'h History,
    precise: Precise<'h>,
    simulation: Simulation<'f, 'h>,
    locks: LockValid<'f, 'h>,
    strategy: Strategy,
    deadline: Deadline,
}

impl<'f, 'h> Feasibility<'f, 'h> {
    /// What is not found by the deadline is not found.
    pub(crate) fn new(
        facts: &'f HistoryIndex<'h>,
        knowledge: &'f Knowledge,
        strategy: Strategy,
        deadline: Deadline,
    ) -> Self {
        let budget = Budget { deadline, ..Budget::default() };
        Self {
            history: facts.history,
            precise: Precise::new(facts.history, Strength::Precise, budget),
            simulation: Simulation::new(facts, knowledge),
            locks: LockValid::new(facts),
            strategy,
            deadline,
        }
    }

    /// Nobody asks any more.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline.is_over()
    }

    /// The surest reordering that reaches the goal; `None` if locks or threads rule it out, or if the method has
    /// no other.
    pub(crate) fn reordering(&mut self, goal: &Goal) -> Option<PredictedReordering> {
        match self.strategy {
            Strategy::PlansOnce(Planning::Locks) => {
                return match self.locks.verdict(goal) {
                    LockValidAnswer::Feasible(suffix) => Some(PredictedReordering::Locks(suffix)),
                    LockValidAnswer::Infeasible | LockValidAnswer::Undecided(_) => None,
                };
            }
            Strategy::PlansOnce(Planning::Precise) => return self.precise(goal),
            Strategy::Loop | Strategy::Undirected { .. } => {}
        }
        if let Some(reordering) = self.precise(goal) {
            return Some(reordering);
        }
        if let Some(suffix) = self.simulation.reordering(goal) {
            return Some(PredictedReordering::Simulated(suffix));
        }
        (!self.locks.is_ruled_out(goal)).then_some(PredictedReordering::NotRuledOut)
    }

    /// What [`PredictedReordering::NotRuledOut`] stands for.
    pub(crate) fn guess(history: &History, goal: &Goal) -> LockValidAnswer {
        let facts = HistoryIndex::new(history);
        LockValid::new(&facts).verdict(goal)
    }

    fn precise(&mut self, goal: &Goal) -> Option<PredictedReordering> {
        match self.precise.judge(goal) {
            Decision::Feasible(outline) => Some(PredictedReordering::Precise(outline)),
            Decision::Infeasible | Decision::Undecided(_) => None,
        }
    }

    /// The same for all but the last event of four, if that is sure to follow: see
    /// [`TwoVariableCandidate::early`].
    pub(crate) fn early(&mut self, goal: &Goal) -> Option<(Goal, PredictedReordering, At)> {
        if goal.events.len() < 4 || self.strategy == Strategy::PlansOnce(Planning::Locks) {
            return None;
        }
        let (part, pending) = TwoVariableCandidate::early(goal)?;
        let Decision::Feasible(outline) = self.precise.judge(&part) else { return None };
        let follows = TwoVariableCandidate::is_pending(self.history, &outline, pending);
        follows.then_some((part, PredictedReordering::Precise(outline), pending))
    }
}
