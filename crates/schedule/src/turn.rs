//! A turn: one thread has the token, for at most so many events.

use std::fmt;

use untorn_trace::ids::ThreadId;

use crate::Deadlock;

/// Why a thread continues after it blocked.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Wake {
    /// It was not blocked, or what it waited for is there: the lock is free, the permit given, the thread ended.
    Ready,
    /// It was notified, and the lock is free.
    Notified,
    /// Its deadline has passed (and, after a wait, the lock is free).
    TimedOut,
    /// It was interrupted (and, after a wait, the lock is free).
    Interrupted,
}

/// Why a turn ended. Stored in the schedule.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// The budget of events ran out.
    Budget,
    /// The thread called [`Scheduler::block`](crate::Scheduler::block).
    Blocked,
    /// It can continue, but lets others run first.
    Yielded,
    Ended,
    /// It continues, or is blocked, without the token.
    Outside,
    /// A plan wanted it to stop after an event.
    Plan,
    /// The recording ends here; what the thread did next is not known.
    Cut,
    /// A plan or a policy holds it before an event: it has reached that without another event.
    Held,
}

impl Reason {
    pub(crate) const ALL: [Self; 8] = [
        Self::Budget,
        Self::Blocked,
        Self::Yielded,
        Self::Ended,
        Self::Outside,
        Self::Plan,
        Self::Cut,
        Self::Held,
    ];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Blocked => "blocked",
            Self::Yielded => "yielded",
            Self::Ended => "ended",
            Self::Outside => "outside",
            Self::Plan => "plan",
            Self::Cut => "cut",
            Self::Held => "held",
        }
    }

    /// The scheduler ended the turn, not the thread: only a budget can make it happen again.
    pub(crate) const fn is_imposed(self) -> bool {
        matches!(self, Self::Budget | Self::Plan | Self::Outside)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Permission for one thread to run.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Turn {
    pub thread: ThreadId,
    /// Events until the next decision, at least 1.
    pub budget: u64,
    /// Why the thread continues, if it was blocked.
    pub wake: Wake,
    /// In replay only: when the budget has run out, the thread continues *outside*, as it did in the recorded run.
    /// The front end asks for the next turn as always, but the thread does not wait for another turn before its next
    /// event, at which it calls `returned`.
    pub leave: bool,
}

/// The scheduler's decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    Run(Turn),
    /// No thread can run now, but something uncontrolled may change that: wait for `returned`, `unpark`, `interrupt`
    /// or `notify`, then ask again. If nothing comes for as long as the front end is willing to wait, call
    /// [`Scheduler::stop_waiting`](crate::Scheduler::stop_waiting) and ask again: the scheduler then decides without
    /// it.
    Idle,
    Deadlock(Deadlock),
    /// Every thread has ended.
    Finished,
}
