//! The reasons for which a thread can be blocked.

use std::fmt;

use untorn_trace::ids::ThreadId;

/// A lock, identified by the front end. The scheduler only compares keys.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct LockKey(pub u64);

/// A point of virtual time, or a span of it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The end of time: nothing comes after it.
    pub const MAX: Self = Self(u64::MAX);

    /// This much later; at most [`Nanos::MAX`].
    #[must_use]
    pub const fn after(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// The owners of locks. The front end's table of locks implements it.
pub trait Locks {
    /// The owner, or `None` if the lock is free. An owner that the scheduler does not control may
    /// be given any id that [`Scheduler::spawn`](crate::Scheduler::spawn) has not handed out.
    fn owner(&self, lock: LockKey) -> Option<ThreadId>;
}

impl<F: Fn(LockKey) -> Option<ThreadId>> Locks for F {
    fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        self(lock)
    }
}

/// Why a thread cannot continue.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Blocker {
    /// It requests the lock. It can run when the lock is free, or its own.
    Lock(LockKey),
    /// It waits to be notified, having released the lock. Once woken it requests the lock again.
    Wait {
        lock: LockKey,
        deadline: Option<Nanos>,
    },
    /// It waits for a permit ([`Scheduler::unpark`](crate::Scheduler::unpark)).
    Park {
        deadline: Option<Nanos>,
    },
    Sleep {
        deadline: Nanos,
    },
    /// It waits for the end of another thread.
    Join {
        thread: ThreadId,
        deadline: Option<Nanos>,
    },
    /// Blocked, or running, outside of the control of the scheduler (I/O, foreign lock).
    Outside,
}

impl Blocker {
    /// The deadline after which it stops waiting.
    pub const fn deadline(self) -> Option<Nanos> {
        match self {
            Self::Sleep { deadline } => Some(deadline),
            Self::Wait { deadline, .. } | Self::Park { deadline } | Self::Join { deadline, .. } => {
                deadline
            }
            Self::Lock(_) | Self::Outside => None,
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(lock) => write!(f, "lock {:#x}", lock.0),
            Self::Wait { lock, .. } => write!(f, "a notification on {:#x}", lock.0),
            Self::Park { .. } => f.write_str("a permit"),
            Self::Sleep { deadline } => write!(f, "time {} ns", deadline.0),
            Self::Join { thread, .. } => write!(f, "the end of thread #{}", thread.0),
            Self::Outside => f.write_str("something outside"),
        }
    }
}
