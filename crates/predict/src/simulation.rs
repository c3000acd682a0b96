//! The simulation filter: which lock-valid predictions survive what the program would do with the values?
//!
//! Ours, an answer to AVFilter (see [`avfilter`]), which is
//! neither sound nor complete where we measured it. For a prediction (i, j, k) a few fixed
//! schedules are simulated over the recorded events, values included; the prediction is kept if k
//! happens in one of them. A read that gets another value than recorded *taints* its thread: what it
//! writes from then on is unknown, and at the next branch it stops for good, because it is not known
//! where it goes. The schedules are written down in [`shapes`].
//!
//! Promise: what is kept is feasible in the program, because an untainted thread has its recorded
//! local state, and a tainted one that has not branched since performs the same operations. It may
//! drop what is feasible (2 to 3 % on random programs). Linear in the trace, usually in
//! the stretch between the three events. It trusts the recorded branches; without any in the trace,
//! every event counts as following one, and an exception thrown by a single instruction is not a
//! branch.
//!
//! [`avfilter`]: crate::avfilter

mod machine;
mod shapes;

use untorn_trace::VarId;

use crate::answer::{Answer, Engine, UndecidedCause};
use crate::facts::HistoryIndex;
use crate::goal::Goal;
use crate::history::{At, History};
use crate::world::SuffixReordering;

use machine::Machine;

/// What is known of the program beside its events.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// The trace contains branches. If not, threads may have branched before each event.
    pub branches: bool,
    /// By variable: its value decides which locations are accessed later (a reference, an index), so
    /// that a thread that reads another one goes elsewhere.
    pub steers: Vec<bool>,
    /// By variable: it was found by way of a value (an element of an array), so that a thread that
    /// has read something else may access another one instead.
    pub elements: Vec<bool>,
}

impl Knowledge {
    /// According to the events: there are branches if one was recorded.
    pub fn of(history: &History) -> Self {
        Self { branches: history.has_branches(), ..Self::default() }
    }

    fn steers(&self, var: VarId) -> bool {
        self.steers.get(var.index()).copied().unwrap_or(false)
    }

    fn is_element(&self, var: VarId) -> bool {
        self.elements.get(var.index()).copied().unwrap_or(false)
    }
}

/// Keeps predictions that it can show to happen.
#[derive(Debug)]
pub struct Simulation<'f, 'h> {
    facts: &'f HistoryIndex<'h>,
    machine: Machine<'f, 'h>,
}

/// A prediction: i and k of one thread, j of another. If two events of the other one come between, j is the
/// last and `from` the first of them; else both are j.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Triple {
    pub(crate) i: At,
    pub(crate) from: At,
    pub(crate) j: At,
    pub(crate) k: At,
}

impl Triple {
    /// Of three events, or of four with two of another thread inside.
    pub(crate) fn of(goal: &Goal, facts: &HistoryIndex<'_>) -> Option<Self> {
        let (i, from, j, k) = match goal.events[..] {
            [i, j, k] => (i, j, j, k),
            [i, from, j, k] => (i, from, j, k),
            _ => return None,
        };
        let known = [i, from, j, k].iter().all(|at| at.index() < facts.history.len());
        if !known || i >= k || from > j {
            return None;
        }
        let (own, other) = (facts.thread(i), facts.thread(j));
        let fits = own == facts.thread(k) && own != other && other == facts.thread(from);
        fits.then_some(Self { i, from, j, k })
    }
}

impl<'f, 'h> Simulation<'f, 'h> {
    pub fn new(facts: &'f HistoryIndex<'h>, knowledge: &'f Knowledge) -> Self {
        Self { facts, machine: Machine::new(facts, knowledge) }
    }

    /// The schedule in which the goal happens, if one of the fixed ones leads there.
    pub fn reordering(&mut self, goal: &Goal) -> Option<SuffixReordering> {
        let triple = Triple::of(goal, self.facts)?;
        let Triple { i, from, j, k } = triple;
        if i < from && j < k {
            return Some(SuffixReordering { cut: At(k.0 + 1), then: Vec::new() });
        }
        let guarded = [from, j].iter().any(|&at| self.facts.is_guarded(i, at, k));
        if self.facts.is_one_update(i, k) || guarded {
            return None;
        }
        for shape in shapes::of(self.facts, triple) {
            if self.machine.run(&shape, triple) {
                return Some(self.machine.reordering());
            }
        }
        None
    }
}

impl Engine for Simulation<'_, '_> {
    fn decide(&mut self, goal: &Goal) -> Answer {
        match self.reordering(goal) {
            Some(short) => Answer::Feasible(short.reordering()),
            None => Answer::Undecided(UndecidedCause::Incomplete),
        }
    }
}
