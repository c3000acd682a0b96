//! The loop: from candidates to violations that happened, with proof.
//!
//! [`Exploration`] runs the program through a [`FrontEnd`](untorn_frontend::FrontEnd), finds candidates in each trace, asks `predict` for an
//! order of events that tears them, lets the scheduler follow it ([`steer`]), looks whether it happened
//! ([`instance`]) and judges what did ([`judge`]).

mod compositions;
mod conflict_order;
mod deadlock;
mod effects;
mod exploration;
mod failure;
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
pub use conflict_order::Saturation;
pub use deadlock::{DeadlockState, EventAt, HeldLock, WaitingThread};
pub use effects::Effect;
pub use exploration::{
    Cause, CauseStep, Deadlock, Dependence, Exploration, ExploreError, Failure, Finding, Only,
    Options, Outcome, Progress, Shard, Unsearched,
};
pub use failure::{FailureKind, FailureSignature};
pub use judge::{CallMade, Composed, Judged, Surprise, Values, weight};
pub use run::{Run, RunError};
pub use strategy::{Judge, Planning, Strategy};
pub use target::{Key, KeyFacts, Shape, Target, Unreached};
pub use tracked_calls::Answer;
