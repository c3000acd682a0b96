//! The default pipeline: the closure answers nearly everything, the solver the rest.
//!
//! Both mean the same (see the [crate]), so the first that has an answer returns it. Counters record which engine
//! decided how much, and what was left open.

use crate::answer::{Answer, Engine, Strength, UndecidedCause};
use crate::closure::{Closure, ClosureAnswer};
use crate::goal::Goal;
use crate::history::History;
use crate::outline::Outline;
use crate::sat::{self, Budget, SatAnswer};
use crate::validate::is_reordering_in;

/// How many goals were decided, how, and by which engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub feasible_by_closure: u64,
    pub infeasible_by_closure: u64,
    pub feasible_by_solver: u64,
    pub infeasible_by_solver: u64,
    pub undecided: u64,
}

impl Counts {
    pub const fn total(&self) -> u64 {
        self.feasible_by_closure
            + self.infeasible_by_closure
            + self.feasible_by_solver
            + self.infeasible_by_solver
            + self.undecided
    }
}

/// An answer whose reordering is not written down yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    Feasible(Outline),
    Infeasible,
    Undecided(UndecidedCause),
}

/// The engine.
#[derive(Debug)]
pub struct Precise<'a> {
    history: &'a History,
    closure: Closure<'a>,
    budget: Budget,
    counts: Counts,
}

impl<'a> Precise<'a> {
    pub fn new(history: &'a History, strength: Strength, budget: Budget) -> Self {
        let closure = Closure::new(history, strength);
        Self { history, closure, budget, counts: Counts::default() }
    }

    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// As [`Engine::decide`], without writing down a reordering that may be as long as the history.
    pub fn judge(&mut self, goal: &Goal) -> Decision {
        match self.closure.verdict(goal) {
            ClosureAnswer::Feasible(outline) => {
                self.counts.feasible_by_closure += 1;
                Decision::Feasible(outline)
            }
            ClosureAnswer::Infeasible => {
                self.counts.infeasible_by_closure += 1;
                Decision::Infeasible
            }
            ClosureAnswer::Unknown => self.solve(goal),
        }
    }

    fn solve(&mut self, goal: &Goal) -> Decision {
        match sat::decide(self.closure.index(), &self.budget, goal) {
            SatAnswer::Reordering(outline) => {
                self.counts.feasible_by_solver += 1;
                Decision::Feasible(outline)
            }
            SatAnswer::Proof => {
                self.counts.infeasible_by_solver += 1;
                Decision::Infeasible
            }
            SatAnswer::Nothing(why) => {
                self.counts.undecided += 1;
                Decision::Undecided(why)
            }
        }
    }
}

impl Engine for Precise<'_> {
    fn decide(&mut self, goal: &Goal) -> Answer {
        match self.judge(goal) {
            Decision::Feasible(outline) => {
                let reordering = outline.reordering(self.history);
                debug_assert!(
                    is_reordering_in(self.closure.index(), goal, &reordering),
                    "{goal:?}: {reordering:?}"
                );
                Answer::Feasible(reordering)
            }
            Decision::Infeasible => Answer::Infeasible,
            Decision::Undecided(why) => Answer::Undecided(why),
        }
    }
}
