//! What a runtime inside of a program under test tells the command line, whatever language the program is in: how far
//! it is, how it ended, and what it leaves in the trace file beside events.

mod owner;

use serde::{Deserialize, Serialize};
use untorn_trace::formats::utr::ExtraKind;

pub use owner::Owner;

/// What the process says when it ends because no thread can ever run again.
pub const DEADLOCK_EXIT: i32 = 86;

/// The section of a trace file that holds its schedule.
pub const SCHEDULE: ExtraKind = ExtraKind::new(b"schd");

/// The section of a trace file that holds what the program read from standard input.
pub const INPUT: ExtraKind = ExtraKind::new(b"inpt");

/// A sign of life, one line of JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub events: u64,
    pub threads: u32,
    pub switches: u64,
    /// The runtime came to the end of the run and the trace is whole.
    pub done: bool,
    /// Why the runtime gave up control, if it did.
    pub fault: Option<String>,
    /// The run ended because no thread could ever run again.
    pub deadlock: bool,
    /// Words for a deadlock, a plan that could not be followed, a divergence.
    pub notes: Vec<String>,
    /// What a driver of ours inside of the program saw, in order, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<String>,
}
