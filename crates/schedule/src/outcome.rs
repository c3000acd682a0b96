//! How far a schedule or a plan was followed, and why no further.

use std::fmt;

use untorn_trace::PrematureTimeout;
use untorn_trace::ids::ThreadId;

use crate::Blocker;

/// The state of the run so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Events executed and turns ended.
    pub events: u64,
    pub turns: u64,
    /// Steps of the schedule or the plan that were followed, and their total. Both 0 under a policy.
    pub followed: usize,
    pub of: usize,
    /// Replay: where the run first differed from the schedule. From there on the schedule is ignored.
    pub divergence: Option<Divergence>,
    /// Plan: where and why it was given up.
    pub abandoned: Option<AbandonedPlan>,
    /// The first cycle of threads that wait for each other's locks, even if others still run.
    pub lock_cycle: Option<Vec<ThreadId>>,
    /// Plan: time limits that passed while threads that could run were held. Not all, if there are many.
    pub premature_timeouts: Vec<PrematureTimeout>,
}

impl Outcome {
    /// The schedule or plan was followed to its end.
    pub fn is_faithful(&self) -> bool {
        self.followed == self.of && self.divergence.is_none() && self.abandoned.is_none()
    }
}

/// The first difference between a schedule and what happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// Position of the step in the schedule, counted from 0.
    pub step: usize,
    pub expected: String,
    pub actual: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: expected {}, but {}", self.step, self.expected, self.actual)
    }
}

/// A plan that could not be followed to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbandonedPlan {
    /// Position of the first step that was not executed, counted from 0.
    pub step: usize,
    pub why: PlanFailure,
    /// Threads that were held, each with the step it was held for.
    pub held: Vec<(ThreadId, usize)>,
}

impl fmt::Display for AbandonedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} was not reached: {}", self.step, self.why)?;
        for (thread, step) in &self.held {
            write!(f, "; thread #{} was held for step {step}", thread.0)?;
        }
        Ok(())
    }
}

/// Why a plan could not be followed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum PlanFailure {
    /// No thread of the step's name was ever started, and no thread is left that could start it.
    NoSuchThread,
    ThreadEnded {
        thread: ThreadId,
    },
    /// The thread executed this event before the plan's earlier steps were done.
    Passed {
        thread: ThreadId,
    },
    /// The thread is blocked, and every thread that could release it is held or blocked.
    Blocked {
        thread: ThreadId,
        on: Blocker,
        holder: Option<ThreadId>,
    },
    /// Threads run, but made no progress towards the next step for too long.
    NoProgress {
        events: u64,
        turns: u64,
    },
    /// The time limit of the thread would pass only because the other one is held, and the plan keeps time.
    Outruns {
        thread: ThreadId,
        held: ThreadId,
    },
    /// The thread did not return from outside in time.
    StayedOutside {
        thread: ThreadId,
    },
}

impl fmt::Display for PlanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchThread => f.write_str("no such thread was started"),
            Self::ThreadEnded { thread } => write!(f, "thread #{} has ended", thread.0),
            Self::Passed { thread } => {
                write!(f, "thread #{} had executed it before its turn", thread.0)
            }
            Self::Blocked { thread, on, holder } => {
                write!(f, "thread #{} is blocked on {on}", thread.0)?;
                holder.map_or(Ok(()), |holder| write!(f, ", held by thread #{}", holder.0))
            }
            Self::NoProgress { events, turns } => {
                write!(f, "no progress within {events} events and {turns} turns")
            }
            Self::Outruns { thread, held } => write!(
                f,
                "thread #{} would have slept or waited for its whole time while thread #{} was held",
                thread.0, held.0
            ),
            Self::StayedOutside { thread } => {
                write!(f, "thread #{} did not come back from outside", thread.0)
            }
        }
    }
}
