//! Which violations can happen in a reordering of an observed run?
//!
//! A run is first made ready: [`History`] knows each thread's events, the locks held, what each
//! read read, and where blocks begin and end. A [`Goal`] names events that shall happen in a given
//! order; an [`Engine`] decides whether some run can do that, and shows it by a [`Reordering`].
//!
//! # What a reordering is
//!
//! The literature's *correct reordering*: a sequence of events of the history, each at most once, such that
//!
//! * **prefix**: what a thread does in the reordering is a prefix of what it did in the history;
//! * **threads**: a forked thread starts after its fork; a join comes after all of the joined
//!   thread's events *of the history*;
//! * **locks**: an exclusive lock is held by one thread at a time, a shared one by no exclusive
//!   holder beside, critical sections without an end included. Only the outermost acquire and
//!   release of a re-entered lock count. A wait releases the monitor, its resume acquires it again;
//! * **notify**: a resume that a notification caused in the history ([`History::cause`]) comes after
//!   that notification, which comes after the wait. A resume without a cause (time-out, interrupt)
//!   is free;
//! * **updates**: no event of another thread comes between the two halves of an update: after the
//!   first half comes the second, or nothing;
//! * **goal**: the events of the goal are in it, in their order, and the last of them is its end.
//!
//! That much is *lock-valid* ([`Strength::Lock`]). The stronger notions ask more of its reads:
//!
//! * **same value** ([`Strength::Precise`]): each read returns the value that it returned in the history:
//!   the last write before it in the reordering wrote that value, or there is none and it is the initial
//!   value. Exempt is a read of the goal that is the last event of its thread in the reordering, unless
//!   it is the first half of an update: nothing depends on what it returns. Such a run is feasible,
//!   because each thread sees what it saw.
//!   An unknown value is equal to itself only: a read with unknown value, whose write's value is unknown, or that
//!   did not return what its write wrote (something that was not recorded wrote, too) must read from the same write
//!   as in the history.
//! * **same source** ([`Strength::Under`]): as above, but each such read reads from the same write as in the
//!   history (or, as there, from none).

mod answer;
pub mod avfilter;
pub mod candidates;
pub mod closure;
mod deadline;
pub mod export;
mod facts;
mod goal;
mod history;
mod index;
pub mod lock_valid;
mod nodes;
mod outline;
pub mod pattern;
pub mod planner;
pub mod precise;
pub mod projection;
mod rows;
pub mod sat;
pub mod simulation;
mod strips;
mod validate;
mod world;
mod zone;

pub use answer::{Answer, Engine, Reordering, Strength, UndecidedCause};
pub use deadline::Deadline;
pub use facts::HistoryIndex;
pub use goal::{Goal, Pattern};
pub use history::{At, Block, BlockId, History, HistoryError, Lifted, Origin, ReadFrom, Section};
pub use outline::Outline;
pub use world::SuffixReordering;
