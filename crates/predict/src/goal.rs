//! What shall happen: events in a given order.

use smallvec::SmallVec;
use untorn_trace::Op;

use crate::history::{At, History};

/// Events of a history that shall happen in this order; other events may stand between them.
///
/// An interrupted block is the goal (e1, e2, e3): e1 and e3 of one block, e2 of another thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Goal {
    pub events: SmallVec<[At; 4]>,
}

impl Goal {
    pub fn new(events: &[At]) -> Self {
        Self { events: SmallVec::from_slice(events) }
    }
}

/// The accesses of one variable that no serial order of two blocks explains: two by the interrupted block
/// and one of another thread between them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pattern {
    /// Two reads of one block disagree.
    ReadWriteRead,
    /// A block writes what it worked out from a value that is no longer there: the lost update.
    ReadWriteWrite,
    /// A block reads back something else than it wrote.
    WriteWriteRead,
    /// Another thread sees a value in between: the dirty read.
    WriteReadWrite,
    /// A write of another thread is lost, and other variables may show another order.
    WriteWriteWrite,
}

impl Pattern {
    pub const ALL: [Self; 5] = [
        Self::ReadWriteRead,
        Self::ReadWriteWrite,
        Self::WriteWriteRead,
        Self::WriteReadWrite,
        Self::WriteWriteWrite,
    ];

    /// The pattern of three accesses, the second by another thread; `None` if a serial order
    /// explains them or one is no access.
    pub fn of(history: &History, first: At, second: At, third: At) -> Option<Self> {
        let writes = |at: At| match history.event(at).op {
            Op::Read { .. } => Some(false),
            Op::Write { .. } => Some(true),
            _ => None,
        };
        match (writes(first)?, writes(second)?, writes(third)?) {
            (false, true, false) => Some(Self::ReadWriteRead),
            (false, true, true) => Some(Self::ReadWriteWrite),
            (true, true, false) => Some(Self::WriteWriteRead),
            (true, false, true) => Some(Self::WriteReadWrite),
            (true, true, true) => Some(Self::WriteWriteWrite),
            (_, false, _) => None,
        }
    }

    /// Three letters, as in the literature.
    pub const fn letters(self) -> &'static str {
        match self {
            Self::ReadWriteRead => "RWR",
            Self::ReadWriteWrite => "RWW",
            Self::WriteWriteRead => "WWR",
            Self::WriteReadWrite => "WRW",
            Self::WriteWriteWrite => "WWW",
        }
    }
}
