//! The loop: from candidates to violations that happened, with proof.
//!
//! [`Exploration`] runs the program through a [`FrontEnd`](untorn_frontend::FrontEnd), finds candidates in each trace,
//! asks `predict` for a reordering in which they happen, lets the scheduler follow it ([`steer`]), looks whether it
//! happened ([`instance`]) and judges what did ([`judge`]). A finding is an [`AtomicityViolation`], a [`Deadlock`] or a
//! [`Failure`], each with its [`Evidence`].

mod arrivals;
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
mod loading;
pub mod marks;
mod places;
mod provenance;
mod run;
mod significance;
mod steer;
mod strategy;
mod target;
mod tracked_calls;

pub use compositions::{ComposedCall, Composition, CompositionId, Compositions, ResultKind};
pub use conflict_order::Saturation;
pub use deadlock::{DeadlockState, EventAt, HeldLock, WaitingThread};
pub use effects::Effect;
pub use exploration::{
    AtomicityViolation, Cause, CauseStep, Deadlock, Dependence, EarlierExplorations, Evidence,
    Exploration, ExploreError, Failure, Focus, FocusActivity, InputSearchSummary, Options, Outcome,
    PrematureSleep, Progress, ReplayResult, SearchGaps, Shard, TripleResult, Triples, explore,
};
pub use failure::{FailureKind, FailureSignature};
pub use judge::{CallMade, Judgement, Surprise, TornComposition, Values, weight};
pub use run::{Run, RunError};
pub use significance::{Benign, Significance};
pub use strategy::{Judge, Planning, Strategy};
pub use target::{Identity, Key, KeyFacts, NoFinding, Shape, Target};
pub use tracked_calls::CallResult;
