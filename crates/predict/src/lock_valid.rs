//! Lock-valid prediction: can the goal happen as far as synchronisation is concerned?
//!
//! After PENELOPE (Sorrentino, Farzan, Madhusudan, *PENELOPE: weaving threads to expose atomicity
//! violations*, FSE 2010), which decides pairs of threads by lock sets and acquisition histories
//! and builds the schedule from a cut point: what was observed before it stays, only the rest is
//! reordered. No solver.
//!
//! What we changed. Instead of comparing acquisition histories of two threads we derive *forced
//! orders* among the sections of all threads ([`closure`]): if one section must be entered before
//! an earlier one of the same lock is left, then it must be left before that one is entered. For two
//! threads this is equivalent to acquisition histories, and it covers critical sections that do not
//! end, locks that are not nested, forks, joins, waits and notifications as well. A cycle is a proof that
//! there is no reordering. Otherwise the events are put into an order that respects what is forced and
//! else follows the history ([`order`]); a thread runs beyond what the goal needs only to leave a
//! lock that another thread waits for. If that cannot continue, a small search tries other orders.
//!
//! Promise: `Feasible` comes with a reordering by the rules of [`Strength::Lock`], `Infeasible` is a proof.
//! Rarely, with three or more threads, neither is found; that is `Undecided`.
//!
//! [`Strength::Lock`]: crate::Strength::Lock

mod closure;
mod order;

use crate::answer::{Answer, Engine, UndecidedCause};
use crate::facts::HistoryIndex;
use crate::goal::Goal;
use crate::world::{SuffixReordering, World};

use closure::{Closure, Refuted};

/// As [`Answer`], with the reordering in its short form: most of it is the history itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockValidAnswer {
    Feasible(SuffixReordering),
    Infeasible,
    Undecided(UndecidedCause),
}

impl From<LockValidAnswer> for Answer {
    fn from(verdict: LockValidAnswer) -> Self {
        match verdict {
            LockValidAnswer::Feasible(short) => Self::Feasible(short.reordering()),
            LockValidAnswer::Infeasible => Self::Infeasible,
            LockValidAnswer::Undecided(why) => Self::Undecided(why),
        }
    }
}

/// Decides goals by synchronisation alone.
#[derive(Debug)]
pub struct LockValid<'f, 'h> {
    facts: &'f HistoryIndex<'h>,
    world: World<'f, 'h>,
}

impl<'f, 'h> LockValid<'f, 'h> {
    pub fn new(facts: &'f HistoryIndex<'h>) -> Self {
        Self { facts, world: World::new(facts, crate::At(0)) }
    }

    /// Whether there is certainly no reordering, without looking for one. That costs as much as the stretch of the
    /// history that is to be reordered; this costs as much as the sections in it.
    pub fn is_ruled_out(&self, goal: &Goal) -> bool {
        let is_known = goal.events.iter().all(|at| at.index() < self.facts.history.len());
        let happened = goal.events.is_sorted_by(|a, b| a < b);
        !is_known || (!happened && matches!(Closure::new(self.facts, goal), Err(Refuted::Proven)))
    }

    /// Whether the verdict is [`LockValidAnswer::Infeasible`]. If it is not, that costs little, however far apart the events are.
    pub fn is_infeasible(&mut self, goal: &Goal) -> bool {
        let is_known = goal.events.iter().all(|at| at.index() < self.facts.history.len());
        let happened = goal.events.is_sorted_by(|a, b| a < b);
        if !is_known || happened {
            return !is_known;
        }
        match Closure::new(self.facts, goal) {
            Ok(closure) => {
                order::may_refute(&closure) && self.verdict(goal) == LockValidAnswer::Infeasible
            }
            Err(refuted) => matches!(refuted, Refuted::Proven),
        }
    }

    pub fn verdict(&mut self, goal: &Goal) -> LockValidAnswer {
        if goal.events.iter().any(|at| at.index() >= self.facts.history.len()) {
            return LockValidAnswer::Infeasible;
        }
        let Some(&last) = goal.events.last() else {
            return LockValidAnswer::Feasible(SuffixReordering::default());
        };
        if goal.events.is_sorted_by(|a, b| a < b) {
            // It happened.
            return LockValidAnswer::Feasible(SuffixReordering {
                cut: crate::At(last.0 + 1),
                then: Vec::new(),
            });
        }
        let closure = match Closure::new(self.facts, goal) {
            Ok(closure) => closure,
            Err(Refuted::Proven) => return LockValidAnswer::Infeasible,
            Err(Refuted::Budget) => return LockValidAnswer::Undecided(UndecidedCause::Budget),
        };
        order::find(&mut self.world, &closure, goal)
    }
}

impl Engine for LockValid<'_, '_> {
    fn decide(&mut self, goal: &Goal) -> Answer {
        self.verdict(goal).into()
    }
}
