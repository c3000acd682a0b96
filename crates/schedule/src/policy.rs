//! Policies: which thread runs next when no schedule or plan decides, and for how long.

mod adversarial;
mod atomfuzzer;
mod holds;
mod pct;
mod pos;
mod random;
mod run_to_block;
mod surw;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use untorn_trace::ids::ThreadId;

use crate::{Marks, PointIndex, Rng, Role, Step};

pub use adversarial::Adversarial;
pub use atomfuzzer::AtomFuzzer;
pub use pct::Pct;
pub use pos::Pos;
pub use random::Random;
pub use run_to_block::RunToBlock;
pub(crate) use run_to_block::next_in_round;
pub use surw::Surw;

/// The input of a policy's decision.
#[derive(Copy, Clone, Debug)]
pub struct Choice<'a> {
    /// Threads that can run, ascending, at least one. One that yielded is missing if another can
    /// run.
    pub candidates: &'a [ThreadId],
    /// The turn that ended last; its thread need not be a candidate. `None` at the start.
    pub last: Option<Step>,
    /// Events executed so far by all threads.
    pub events: u64,
}

/// The access of an event, as far as the front end knows it before it happens.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The same number for accesses that may be of the same variable.
    pub what: u32,
    pub write: bool,
}

impl Access {
    pub const fn conflicts(self, other: Self) -> bool {
        self.what == other.what && (self.write || other.write)
    }
}

/// The event that a thread is about to execute.
#[derive(Copy, Clone, Debug)]
pub struct Arrival<'a> {
    /// The marks that match it: indices of [`Marks`].
    pub marks: &'a [PointIndex],
    pub access: Option<Access>,
}

impl Arrival<'_> {
    /// Whether one of these marks has that role.
    pub fn has(&self, roles: &[Role], role: Role) -> bool {
        self.marks.iter().any(|mark| roles.get(mark.0 as usize) == Some(&role))
    }
}

/// A rule that chooses the next thread.
///
/// Protocol: [`Policy::spawned`] once for every thread, before it is a candidate.
/// [`Policy::choose`] whenever a turn has ended and the policy decides; while a schedule or a plan
/// is followed it is not asked. All randomness comes from `rng`: a policy that used anything else
/// could not be repeated.
pub trait Policy: fmt::Debug + Send {
    fn spawned(&mut self, _thread: ThreadId, _rng: &mut Rng) {}

    /// One of the candidates, and the budget of events for its turn. The scheduler replaces a
    /// budget of 0 by 1, and a thread that is no candidate by the first candidate.
    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64);

    /// Passes the marks, before the first thread starts.
    fn marked(&mut self, _marks: &Marks) {}

    /// The thread is about to execute an event that the front end announces. Returns whether the thread is held. A
    /// held thread gives up its turn, and is announced again when it has been chosen. A policy that holds a thread
    /// must let it pass when it has chosen it.
    fn arrives(&mut self, _thread: ThreadId, _at: &Arrival<'_>, _rng: &mut Rng) -> bool {
        false
    }

    /// The next event of `thread` conflicts with one that another thread has just executed.
    fn conflicted(&mut self, _thread: ThreadId, _rng: &mut Rng) {}
}

/// The policies that have a name.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum PolicyKind {
    RunToBlock,
    Random,
    /// `length` is a guess of how many events the run has.
    Pct {
        depth: u32,
        length: u64,
    },
    Pos,
    AtomFuzzer,
    Adversarial,
    Surw,
}

/// The events that are announced to a policy before they happen.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum AnnouncedEvents {
    Nothing,
    /// Those at marks.
    Marks,
    /// All accesses and acquisitions.
    Everything,
}

impl PolicyKind {
    /// According to the paper, depth 3 covers most known bugs. The length is a guess that the caller should replace
    /// by the length of an earlier run.
    pub const PCT: Self = Self::Pct { depth: 3, length: 10_000 };

    pub(crate) fn build(self, quantum: u64, rng: &mut Rng) -> Box<dyn Policy> {
        match self {
            Self::RunToBlock => Box::new(RunToBlock::new(quantum)),
            Self::Random => Box::new(Random),
            Self::Pct { depth, length } => Box::new(Pct::new(depth, length, quantum, rng)),
            Self::Pos => Box::new(Pos::default()),
            Self::AtomFuzzer => Box::new(AtomFuzzer::default()),
            Self::Adversarial => Box::new(Adversarial::default()),
            Self::Surw => Box::new(Surw::default()),
        }
    }

    pub const fn announced_events(self) -> AnnouncedEvents {
        match self {
            Self::RunToBlock | Self::Random | Self::Pct { .. } => AnnouncedEvents::Nothing,
            Self::AtomFuzzer | Self::Adversarial | Self::Surw => AnnouncedEvents::Marks,
            Self::Pos => AnnouncedEvents::Everything,
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunToBlock => f.write_str("run-to-block"),
            Self::Random => f.write_str("random"),
            Self::Pct { depth, length } => write!(f, "pct:{depth}:{length}"),
            Self::Pos => f.write_str("pos"),
            Self::AtomFuzzer => f.write_str("atomfuzzer"),
            Self::Adversarial => f.write_str("adversarial"),
            Self::Surw => f.write_str("surw"),
        }
    }
}

/// No policy has that name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "no policy '{0}': run-to-block, random, pct, pct:DEPTH, pct:DEPTH:LENGTH, pos, atomfuzzer, adversarial, surw"
)]
pub struct UnknownPolicy(pub String);

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        match text {
            "run-to-block" => Ok(Self::RunToBlock),
            "random" => Ok(Self::Random),
            "pct" => Ok(Self::PCT),
            "pos" => Ok(Self::Pos),
            "atomfuzzer" => Ok(Self::AtomFuzzer),
            "adversarial" => Ok(Self::Adversarial),
            "surw" => Ok(Self::Surw),
            _ => pct_with_numbers(text).ok_or_else(|| UnknownPolicy(text.to_owned())),
        }
    }
}

fn pct_with_numbers(text: &str) -> Option<PolicyKind> {
    let PolicyKind::Pct { length: usual, .. } = PolicyKind::PCT else { return None };
    let numbers = text.strip_prefix("pct:")?;
    let (depth, length) = match numbers.split_once(':') {
        Some((depth, length)) => (depth, length.parse().ok()?),
        None => (numbers, usual),
    };
    let depth = depth.parse().ok()?;
    (depth > 0 && length > 0).then_some(PolicyKind::Pct { depth, length })
}
