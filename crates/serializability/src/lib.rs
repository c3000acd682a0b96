//! Verdicts on one observed trace.
//!
//! All checkers are streaming: they see each event once, in trace order, and their memory depends
//! on the number of threads, variables and locks, never on the length of the trace.
//!
//! # What "conflict" means here
//!
//! Two operations conflict if they are of the same thread; if they access the same variable and one
//! of them writes; if they are operations on the same lock, unless both are on its shared side; if
//! one forks or joins the other's thread. The outermost block makes a *transaction*, an operation
//! outside of every block is a transaction by itself. A trace is serializable iff the graph of
//! transactions with an edge for each conflicting pair, earlier to later, has no cycle.
//!
//! A lock is therefore nothing but a variable that acquire and release write (or read, on the
//! shared side). Re-entrance needs no filter: no other thread can touch the lock between the outer
//! acquire and the outer release, so the inner ones add no edge.

pub mod aerodrome;
mod arrivals;
pub mod atomizer;
pub mod block_filter;
pub mod context;
pub mod eraser;
pub mod fast;
mod lockset;
mod outcome;
pub mod two_pass;
pub mod velodrome;

use std::ops::ControlFlow;

use untorn_trace::{Event, EventIdx};

pub use outcome::{
    Block, Cycle, Edge, EdgeKind, Outcome, Step, Transaction, Verdict, Violation, Warning,
};

/// One way to judge a trace.
///
/// Protocol: [`Checker::events`] is called with consecutive batches of the trace, `first` being the
/// position of the batch's first event, until it breaks or the trace ends; then
/// [`Checker::finish`] once.
pub trait Checker {
    /// Sees the next events. `Break` means that nothing after them can change the outcome.
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()>;

    /// The outcome for all events seen.
    fn finish(&mut self) -> Outcome;
}
