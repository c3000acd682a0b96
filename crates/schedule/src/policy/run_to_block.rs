//! Run to block: the plain round-robin baseline.
//!
//! **Paper:** none; it is what a cooperative scheduler does. Musuvathi and Qadeer (*Iterative
//! context bounding*, PLDI 2007) call it the execution without preemptions.
//!
//! **What we changed, and why.** A thread that spins until another changes a variable would run for
//! ever. So a turn is bounded by a quantum, large enough that programs without spinning do not
//! notice it.
//!
//! **Promise:** as few switches as the program allows; every runnable thread gets its turn.

use untorn_trace::ids::ThreadId;

use super::{Choice, Policy};
use crate::{Reason, Rng};

#[derive(Debug)]
pub struct RunToBlock {
    quantum: u64,
    /// The thread that ran last; the round continues after it.
    last: ThreadId,
}

impl RunToBlock {
    pub const fn new(quantum: u64) -> Self {
        Self { quantum, last: ThreadId(0) }
    }
}

impl Policy for RunToBlock {
    fn choose(&mut self, choice: &Choice<'_>, _rng: &mut Rng) -> (ThreadId, u64) {
        let after = choice.last.map_or(self.last, |last| last.thread);
        let why = choice.last.map_or(Reason::Plan, |last| last.reason);
        let may_stay = !matches!(why, Reason::Budget | Reason::Yielded);
        let stays = may_stay && choice.candidates.binary_search(&after).is_ok();
        self.last = if stays { after } else { next_in_round(choice.candidates, after) };
        (self.last, self.quantum)
    }
}

/// The candidate with the next higher id, or the first.
pub(crate) fn next_in_round(candidates: &[ThreadId], after: ThreadId) -> ThreadId {
    let next = candidates.partition_point(|&thread| thread <= after);
    candidates.get(next).or(candidates.first()).copied().unwrap_or(after)
}
