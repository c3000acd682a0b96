//! AtomFuzzer: a random walk that holds threads where they are about to acquire a lock again.
//!
//! **Paper:** Park, Sen, *Randomized Active Atomicity Violation Detection in Concurrent Programs*, FSE 2008. A thread
//! that has acquired and released a lock inside of an atomic block, and is about to acquire it again, is paused until
//! another thread acquires the lock: then atomicity is violated.
//!
//! **What we changed, and why.**
//! * These second acquisitions are known from an earlier run, as code positions ([`Role::Hold`]); the positions at
//!   which others acquire those locks are [`Role::Watch`]. A front end need not know about locks and blocks before an
//!   event, only the code position. Two locks acquired at one position are therefore treated as one.
//! * A pause ends after [`PATIENCE`] events of others, or when all threads are paused.
//!
//! **Promise:** every schedule of the random walk has a positive probability, except those in which a thread passes a
//! hold mark while another could run; none hangs.

use untorn_trace::ids::ThreadId;

use super::holds::HeldThreads;
use super::{Arrival, Choice, Policy, Random};
use crate::{Marks, Rng, Role};

/// Events of others for which a thread is held.
const PATIENCE: u64 = 20_000;

#[derive(Debug, Default)]
pub struct AtomFuzzer {
    roles: Vec<Role>,
    held: HeldThreads,
}

impl Policy for AtomFuzzer {
    fn marked(&mut self, marks: &Marks) {
        self.roles = marks.roles();
    }

    fn arrives(&mut self, thread: ThreadId, at: &Arrival<'_>, _rng: &mut Rng) -> bool {
        if !self.held.goes_on(thread) && at.has(&self.roles, Role::Hold) {
            self.held.hold(thread, PATIENCE);
            return true;
        }
        // A thread that passes either kind of mark acquires a lock for which another thread may be held.
        self.held.let_others_go(thread);
        false
    }

    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64) {
        let free = self.held.free(choice, rng);
        Random.choose(&Choice { candidates: &free, ..*choice }, rng)
    }
}
