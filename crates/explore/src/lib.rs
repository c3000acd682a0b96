//! The loop: from candidates to violations that happened, with proof.
//!
//! [`Exploration`] runs the program through a [`FrontEnd`](untorn_frontend::FrontEnd), finds candidates in each trace, asks `predict` for an
//! order of events that tears them, lets the scheduler follow it ([`steer`]), looks whether it happened
//! ([`instance`]) and judges what did ([`judge`]).

mod compositions;
mod deadlock;
mod effects;
mod exploration;
mod feasibility;
mod instance;
mod inversion;
mod judge;
pub mod marks;
mod places;
mod run;
mod steer;
mod strategy;
mod target;
mod tracked_calls;

pub use compositions::{ComposedCall, Composition, CompositionId, Compositions, ResultKind};
pub use deadlock::{DeadlockState, EventAt, HeldLock, WaitingThread};
pub use effects::Effect;
pub use exploration::{
    Deadlock, Exploration, ExploreError, Finding, Only, Options, Outcome, Progress, Shard,
    Unsearched,
};
pub use judge::{CallMade, Composed, Judged, Surprise, Values, weight};
pub use run::{Run, RunError};
pub use strategy::{Judge, Planning, Strategy};
pub use target::{Key, KeyFacts, Shape, Target, Unreached};
pub use tracked_calls::Answer;
