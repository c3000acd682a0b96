//! The result of a checker, with its evidence.

use untorn_trace::{Event, EventIdx, LabelId, LockId, SiteId, ThreadId, VarId};

/// The complete result of a checker for a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    /// Cycles, one for each distinct set of refuted blocks; only from checkers that explain.
    pub violations: Vec<Violation>,
    /// May-be-false alarms of Atomizer and Eraser.
    pub warnings: Vec<Warning>,
}

impl Outcome {
    pub fn of(verdict: Verdict) -> Self {
        Self { verdict, violations: Vec::new(), warnings: Vec::new() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every transaction could have run alone: there is an equivalent serial trace.
    Serializable,
    /// The transactions form a cycle. `at` is the event that closed the first one
    /// (for AeroDrome: the event at which it was noticed, which may come later).
    NotSerializable { at: EventIdx, thread: ThreadId },
    /// The checker does not decide serializability (Atomizer, Eraser): see its warnings.
    Undecided,
}

impl Verdict {
    pub fn is_violation(self) -> bool {
        matches!(self, Self::NotSerializable { .. })
    }
}

/// A cycle of transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    pub cycle: Cycle,
    /// The blocks that cannot be atomic, outermost first: each contains both ends of a path of
    /// conflicting operations that leaves the block's thread and comes back. Empty if every
    /// transaction of the cycle could have run alone, though not all of them together.
    pub refuted: Vec<Block>,
    /// How often a cycle refuting the same blocks (by label or place) was closed.
    pub occurrences: u64,
}

/// `edges[i]` leads from `transactions[i]` to `transactions[(i + 1) % n]`. The first transaction
/// is the one whose operation closed the cycle, and so the last edge is the closing one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cycle {
    pub transactions: Vec<Transaction>,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transaction {
    pub thread: ThreadId,
    /// The outermost block; `None` for an operation outside of every block.
    pub block: Option<Block>,
}

/// One execution of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub label: LabelId,
    /// Where it begins in the source.
    pub site: SiteId,
    /// Its begin event.
    pub begin: EventIdx,
}

/// Two conflicting operations, the earlier one first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: Step,
    pub to: Step,
    pub why: EdgeKind,
}

/// An event with its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub at: EventIdx,
    pub event: Event,
}

/// Why two operations may not be swapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    Variable(VarId),
    Lock(LockId),
    /// The first operation forks the thread of the second.
    Fork,
    /// The second operation joins the thread of the first.
    Join,
    /// Both are of one thread, in two consecutive or later transactions.
    ProgramOrder,
}

/// Something that may be wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// Atomizer: the block does not have the shape "acquires, one non-mover, releases".
    NotReducible { block: Block, commit: Step, at: Step, occurrences: u64 },
    /// Eraser: no lock protects all accesses of the variable.
    Unprotected { var: VarId, at: Step },
}
