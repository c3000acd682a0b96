//! Decides goals by a formula over the order of events, solved by SAT.
//!
//! The constraints are those of maximal causality (Huang, Meredith and Roşu, *Maximal sound predictive
//! race detection with control flow abstraction*, PLDI 2014) as AtomChase and the planning paper
//! use them, with what those leave out: prefixes, initial values, critical sections that never
//! end, notifications, indivisible updates, and reads of the goal that may return anything.
//!
//! Deviations. No integers: the order is a graph that a theory of our own keeps acyclic
//! ([`acyclic`](self)), beside `batsat`. Which events are in the reordering is part of the question. A
//! question about a long history is not written down in full:
//!
//! 1. if everything a reordering could need is small enough, that is the formula, and the answer is exact;
//! 2. otherwise a formula over what *every* reordering contains, weakened where it is cut off, may refute
//!    the goal: that is a proof for the whole history;
//! 3. otherwise a reordering is searched that first runs a part of the history as it was, then anything
//!    within a window.
//!
//! Promise: every `Feasible` is a reordering, `Infeasible` is a proof, and `Undecided` is returned when neither was
//! found within the budget. A budget counts decisions, nodes and clauses, so the same question has the same
//! answer everywhere, unless the caller sets a deadline.

mod acyclic;
mod encode;
mod formula;
mod refute;

use crate::answer::{Answer, Engine, Strength, UndecidedCause};
use crate::deadline::Deadline;
use crate::goal::Goal;
use crate::history::History;
use crate::index::Index;
use crate::outline::Outline;
use crate::validate::is_reordering_in;
use crate::zone::Zone;

use encode::Encoding;
use formula::Outcome;
use refute::Refutation;

/// With more nodes a formula takes too long. Many threads get there before their windows are long enough to help, and
/// so
/// does a goal whose events are far apart.
const MAX_NODES: usize = 1500;

/// Clauses of one formula. A read that many writes could satisfy, and many others spoil, has one for each two of them.
const MAX_CLAUSES: u64 = 3_000_000;

/// How much work one goal is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Decisions of the solver.
    pub decisions: u32,
    /// Events of a formula that shall be exact.
    pub whole: u32,
    /// Events of each window in which a reordering is searched.
    pub window: u32,
    /// Pairs of events in one formula.
    pub pairs: usize,
    /// What is not decided by then stays undecided.
    pub deadline: Deadline,
}

impl Default for Budget {
    fn default() -> Self {
        let deadline = Deadline::NEVER;
        Self { decisions: 10_000, whole: 300, window: 450, pairs: 150_000, deadline }
    }
}

/// The engine.
#[derive(Debug)]
pub struct Sat<'a> {
    index: Index<'a>,
    budget: Budget,
}

impl<'a> Sat<'a> {
    pub fn new(history: &'a History, strength: Strength, budget: Budget) -> Self {
        Self { index: Index::new(history, strength), budget }
    }
}

impl Engine for Sat<'_> {
    fn decide(&mut self, goal: &Goal) -> Answer {
        match decide(&self.index, &self.budget, goal) {
            SatAnswer::Reordering(outline) => {
                let reordering = outline.reordering(self.index.history);
                debug_assert!(
                    is_reordering_in(&self.index, goal, &reordering),
                    "{goal:?}: {reordering:?}"
                );
                Answer::Feasible(reordering)
            }
            SatAnswer::Proof => Answer::Infeasible,
            SatAnswer::Nothing(why) => Answer::Undecided(why),
        }
    }
}

/// What the solver found out.
pub(crate) enum SatAnswer {
    Reordering(Outline),
    Proof,
    Nothing(UndecidedCause),
}

pub(crate) fn decide(index: &Index<'_>, budget: &Budget, goal: &Goal) -> SatAnswer {
    if goal.events.is_empty() {
        return SatAnswer::Proof;
    }
    if let Some(zone) = Zone::whole(index, goal, budget.whole) {
        let solved = Encoding::new(index, goal, &zone, budget).map(Encoding::solve);
        return match solved {
            Some((Outcome::Yes, tail)) => SatAnswer::Reordering(Outline::new(zone.base, tail)),
            Some((Outcome::No, _)) => SatAnswer::Proof,
            Some((Outcome::Unknown, _)) | None => SatAnswer::Nothing(UndecidedCause::Budget),
        };
    }
    decide_in_part(index, budget, goal)
}

/// Small windows first: most goals are decided there. Proofs need longer ones than reorderings.
fn decide_in_part(index: &Index<'_>, budget: &Budget, goal: &Goal) -> SatAnswer {
    let mut back = budget.window.clamp(1, 16);
    while back <= budget.window.max(1) && !budget.deadline.is_over() {
        let refutation = Refutation::new(index, goal, back, budget);
        if refutation.succeeds() {
            return SatAnswer::Proof;
        }
        if back * 3 <= budget.window || back < 16 {
            let most = (back * 5).min(budget.window);
            if let Some(outline) = search(index, budget, goal, back, most) {
                return SatAnswer::Reordering(outline);
            }
        }
        back *= 3;
    }
    SatAnswer::Nothing(UndecidedCause::Budget)
}

fn search(
    index: &Index<'_>,
    budget: &Budget,
    goal: &Goal,
    back: u32,
    most: u32,
) -> Option<Outline> {
    let zone = Zone::late(index, goal, back, most)?;
    match Encoding::new(index, goal, &zone, budget)?.solve() {
        (Outcome::Yes, tail) => Some(Outline::new(zone.base, tail)),
        _ => None,
    }
}
