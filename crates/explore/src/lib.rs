//! The chase: from what might be torn to what was torn, with proof.
//!
//! [`Chase`] runs the program through a [`Runner`], finds candidates in each trace, asks `predict` for an
//! order of events that tears them, lets the scheduler follow it ([`steer`]), looks whether it happened
//! ([`instance`]) and judges what did ([`judge`]).

mod chase;
mod compositions;
mod effects;
mod evidence;
mod instance;
mod inversion;
mod judge;
pub mod marks;
mod places;
mod prophet;
mod runner;
mod steer;
mod strategy;
mod stuck;
mod target;
mod units;

pub use chase::{
    Chase, ChaseError, Deadlock, Finding, News, Only, Options, Outcome, Shard, Unsearched,
};
pub use compositions::{ComposedCall, Composition, CompositionId, Compositions, ResultKind};
pub use effects::Effect;
pub use evidence::{EvidenceError, Run};
pub use judge::{CallMade, Composed, Judged, Surprise, Values, weight};
pub use runner::{Ended, Followed, Ran, Runner, RunnerError};
pub use strategy::{Judge, Planning, Strategy};
pub use stuck::{Held, Mark, Stuck, Waiting};
pub use target::{Key, KeyFacts, Shape, Target, Unreached};
pub use units::Answer;
