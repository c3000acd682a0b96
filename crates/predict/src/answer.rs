//! The answers of engines.

use crate::goal::Goal;
use crate::history::At;

/// Which reorderings count; see the [crate] for their definitions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// Synchronisation only: may predict what cannot happen.
    Lock,
    /// Lock-valid, and a simulation of the recorded events reaches the goal.
    Filtered,
    /// Every read sees the value that it saw: what is predicted can happen.
    Precise,
    /// Every read reads from the write that it read from.
    Under,
}

/// A reordering of the history: events in an order in which a run could execute them. See the [crate] for the rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reordering {
    pub steps: Vec<At>,
}

/// The answer to a goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Feasible(Reordering),
    /// No reordering exists.
    Infeasible,
    Undecided(UndecidedCause),
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UndecidedCause {
    /// The budget of the query was spent.
    Budget,
    /// The engine is incomplete, and does not cover this case.
    Incomplete,
}

/// Decides goals over the one history that it was made for.
pub trait Engine {
    fn decide(&mut self, goal: &Goal) -> Answer;
}
