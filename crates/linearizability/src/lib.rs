//! Linearizability: are the results of concurrent calls of an object those of some sequential order of the calls?
//!
//! A [`Scenario`] is what threads call; a run of it leaves a [`History`]; [`decide()`] looks for a sequential order that
//! gives the same results, which it asks of [`SequentialRuns`]: the same class, one call after the other. Nothing here
//! knows how programs are run.

mod decide;
mod generate;
mod history;
mod scenario;
mod sequential;
mod shrink;
mod value;

pub use decide::{Linearizability, Order, Refutation, Unknown, decide};
pub use generate::Generator;
pub use history::{CallId, CallRecord, History, HistoryError, Observation, Outcome};
pub use scenario::{Call, Constructor, Operation, Scenario, Section};
pub use sequential::{SequentialError, SequentialRuns, SequentialTable};
pub use shrink::smaller;
pub use value::Value;
