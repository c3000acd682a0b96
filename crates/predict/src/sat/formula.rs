//! Clauses over "this event comes before that one", ready for the solver.

use std::cell::Cell;

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, lbool};
use rustc_hash::FxHashMap;

use super::acyclic::Acyclic;
use super::{Budget, MAX_CLAUSES};
use crate::deadline::Deadline;

/// A literal, or what is known beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Truth {
    Always,
    Never,
    If(Lit),
}

impl std::ops::Not for Truth {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Always => Self::Never,
            Self::Never => Self::Always,
            Self::If(lit) => Self::If(!lit),
        }
    }
}

/// The answer of the solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Yes,
    No,
    /// Not within its budget.
    Unknown,
}

/// Stops the solver after so many decisions: the same on every machine, unless time is short.
struct DecisionBudget {
    decisions: Cell<u32>,
    deadline: Deadline,
}

/// Decisions between two readings of the clock.
const CLOCK_INTERVAL: u32 = 16;

impl Callbacks for DecisionBudget {
    fn stop(&self) -> bool {
        let left = self.decisions.get();
        self.decisions.set(left.saturating_sub(1));
        left == 0 || (left.is_multiple_of(CLOCK_INTERVAL) && self.deadline.is_over())
    }
}

pub(super) struct Formula {
    solver: Solver<DecisionBudget>,
    graph: Acyclic,
    pairs: FxHashMap<(u32, u32), Lit>,
    /// No solution, seen while it was written down.
    contradicts_itself: bool,
    clause: Vec<Lit>,
    max_pairs: usize,
    clauses: u64,
    deadline: Deadline,
}

impl std::fmt::Debug for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Formula({:?}, {} clauses)", self.graph, self.solver.num_clauses())
    }
}

impl Formula {
    /// About `nodes` nodes, numbered in the order in which they happened in the history.
    pub(super) fn new(nodes: usize, budget: &Budget) -> Self {
        // Restarts are for hard problems; here nearly everything is decided in one descent.
        let (decisions, deadline) = (Cell::new(budget.decisions), budget.deadline);
        let solver = Solver::new(SolverOpts::default(), DecisionBudget { decisions, deadline });
        Self {
            solver,
            graph: Acyclic::new(nodes),
            pairs: FxHashMap::default(),
            contradicts_itself: false,
            clause: Vec::new(),
            max_pairs: budget.pairs,
            clauses: 0,
            deadline,
        }
    }

    /// Whether it is not worth the time any more: it is too long, or time is over.
    pub(super) fn is_too_much(&self) -> bool {
        let is_long = self.pairs.len() > self.max_pairs || self.clauses > MAX_CLAUSES;
        is_long || self.deadline.is_over()
    }

    /// A new variable that is false unless something speaks for it.
    pub(super) fn fresh(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    /// `a` comes before `b`. The solver tries the order of the history first: its variables are false
    /// at first, so false has to mean that.
    pub(super) fn before(&mut self, a: u32, b: u32) -> Truth {
        if a == b {
            return Truth::Never;
        }
        let (low, high) = (a.min(b), a.max(b));
        let backwards = match self.pairs.get(&(low, high)) {
            Some(&lit) => lit,
            None => {
                let lit = self.fresh();
                self.graph.means(lit.var(), high, low);
                self.pairs.insert((low, high), lit);
                lit
            }
        };
        Truth::If(if a < b { !backwards } else { backwards })
    }

    /// `a` comes before `b` in every solution.
    pub(super) fn fix(&mut self, a: u32, b: u32) {
        if !self.graph.fix(a, b) {
            self.contradicts_itself = true;
        }
    }

    /// At least one of these holds.
    pub(super) fn clause(&mut self, truths: impl IntoIterator<Item = Truth>) {
        self.clauses += 1;
        self.clause.clear();
        for truth in truths {
            match truth {
                Truth::Always => return,
                Truth::Never => {}
                Truth::If(lit) => self.clause.push(lit),
            }
        }
        if !self.solver.add_clause_reuse(&mut self.clause) {
            self.contradicts_itself = true;
        }
    }

    pub(super) fn contradict(&mut self) {
        self.contradicts_itself = true;
    }

    pub(super) fn solve(&mut self) -> Outcome {
        if self.contradicts_itself {
            return Outcome::No;
        }
        match self.solver.solve_limited_th(&mut self.graph, &[]) {
            answer if answer == lbool::TRUE => Outcome::Yes,
            answer if answer == lbool::FALSE => Outcome::No,
            _ => Outcome::Unknown,
        }
    }

    /// After [`Outcome::Yes`].
    pub(super) fn holds(&self, truth: Truth) -> bool {
        match truth {
            Truth::Always => true,
            Truth::Never => false,
            Truth::If(lit) => self.solver.value_lit(lit) == lbool::TRUE,
        }
    }

    /// After [`Outcome::Yes`]: sorts nodes into an order that the solution allows.
    pub(super) fn place(&self, node: u32) -> u32 {
        self.graph.place(node)
    }
}
