//! Adversarial: a random walk that delays threads at suspicious operations.
//!
//! **Paper:** Flanagan, Freund, Yi, *Velodrome*, PLDI 2008, which pauses a thread for a while when Atomizer considers
//! its next operation suspicious, so that others interrupt its block.
//!
//! **What we changed, and why.**
//! * The suspicious operations are known from an earlier run, as code positions ([`Role::Hold`]): operations at which
//!   Atomizer warned, and those that would complete a candidate. No checker runs beside the program.
//! * The paper's pause is a time. Ours is a number of events of other threads, drawn log-uniformly, so that a run can
//!   be repeated. Only every other arrival is delayed; otherwise all threads would be delayed equally.
//!
//! **Promise:** every schedule of the random walk has a positive probability; none hangs.

use untorn_trace::ids::ThreadId;

use super::holds::HeldThreads;
use super::{Arrival, Choice, Policy, Random};
use crate::{Marks, Rng, Role};

/// A pause is at most two to this power events long.
const LONGEST: u64 = 16;

#[derive(Debug, Default)]
pub struct Adversarial {
    roles: Vec<Role>,
    held: HeldThreads,
}

impl Policy for Adversarial {
    fn marked(&mut self, marks: &Marks) {
        self.roles = marks.roles();
    }

    fn arrives(&mut self, thread: ThreadId, at: &Arrival<'_>, rng: &mut Rng) -> bool {
        let suspicious = !self.held.goes_on(thread) && at.has(&self.roles, Role::Hold);
        let holds = suspicious && rng.below(2) == 0;
        if holds {
            self.held.hold(thread, 1 << rng.below(LONGEST + 1));
        }
        holds
    }

    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64) {
        let free = self.held.free(choice, rng);
        Random.choose(&Choice { candidates: &free, ..*choice }, rng)
    }
}
