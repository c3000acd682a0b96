//! Is this trace atomic by values? Yes, no or undecided, with evidence.
//!
//! # The question
//!
//! A trace is *atomic* iff its transactions can be put into a serial order that keeps each thread's
//! order and that of fork and join, such that every read returns what it returned in the trace: the
//! value written last before it, or the initial value. (This is AtomChase's notion, view
//! serialisability on values; a trace that is not atomic in this sense always has a conflict cycle, and the
//! converse is false.) Deciding it is NP-hard; the stages below decide nearly all traces cheaply and
//! the rest by search.
//!
//! What exactly a transaction is: `blocks`; what is kept: `threads`; unknown values: `values`.
//! A read whose value was not recorded returned what was written last; a value that cannot be
//! found out so may be any. The answer is `Atomic` or `NotAtomic` only if it is so
//! whatever those values are.
//!
//! # The stages
//!
//! `own_read` (one block suffices) → `reduce` (the order of conflicts) → `saturation` (orders that
//! must hold) → `serialiser` (a serial order, greedily) → `exact` (search, for small problems) →
//! probing → `cases` (search by cases).

mod blocks;
mod cases;
mod core;
mod exact;
mod ids;
mod lost_update;
mod order;
mod own_read;
pub mod phrasing;
mod printed;
mod reasons;
mod reduce;
mod replay;
mod rows;
mod saturation;
mod serialiser;
mod stages;
mod structure;
mod threads;
mod values;
mod verdict;
mod window;

use untorn_trace::{Event, Tables};

pub use blocks::Block;
pub use values::Contradiction;
pub use verdict::{
    Excluded, Forced, NoSource, OrderReason, Party, Point, Reason, SerialOrder, UndecidedReason,
    Update, ValueVerdict,
};
pub use window::Window;

/// How to decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// All stages.
    #[default]
    All,
    /// The conditions printed in the AtomChase paper, which are no proof: for comparison.
    Printed,
    /// Only what one block can prove.
    OwnRead,
    /// Only what can be proved without trying: own-read, saturation, probing.
    Saturation,
    /// Only the serialiser, which can only answer "atomic".
    Serialiser,
    /// The search alone.
    Exact,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Steps that searching and probing may take together. A step costs from a microsecond (40 blocks) to
    /// a millisecond (thousands).
    pub budget: u64,
    /// Judge only a part of the trace.
    pub window: Option<Window>,
    pub method: Method,
    /// More blocks than this that matter are not compared with each other (their order takes a bit
    /// for each pair, twice).
    pub max_blocks: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: 200_000, window: None, method: Method::All, max_blocks: 8_000 }
    }
}

/// Which stage decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    OwnRead,
    /// The order of conflicts is a serial order.
    Conflicts,
    Saturation,
    Serialiser,
    Probing,
    Exact,
    Printed,
    /// None of them.
    Undecided,
}

/// The answer, and how it came about.
#[derive(Clone, Debug)]
pub struct Confirmation {
    pub verdict: ValueVerdict,
    pub stage: Stage,
    pub facts: TraceFacts,
}

/// What was examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceFacts {
    /// Transactions with accesses, and how many of them are blocks.
    pub transactions: usize,
    pub blocks: usize,
    /// Transactions and variables that matter for the question.
    pub relevant: usize,
    pub variables: usize,
    /// Blocks that were open at the end of the trace or window.
    pub open: u32,
    /// Blocks cut where they waited for another thread to end.
    pub cuts: u32,
}

/// Whether the events are atomic by values. Initial values come from the tables; so do, for the
/// words of the answer, the names. The trace must be well-formed.
pub fn confirm(events: &[Event], tables: &Tables, options: &Options) -> Confirmation {
    stages::Stages::new(events, tables, options).run()
}
