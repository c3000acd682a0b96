//! AtomFuzzer: a random walk that stops threads where they are about to take a lock again.
//!
//! **Paper:** Park, Sen, *Randomized Active Atomicity Violation Detection in Concurrent Programs*, FSE
//! 2008. A thread that has taken and released a lock inside of a block that is meant to be atomic, and is
//! about to take it again, is paused until another thread takes the lock: then the block is torn.
//!
//! **What we changed, and why.**
//! * Which acquisitions are such second ones is known from an earlier run, as places of the code
//!   ([`Role::Hold`]); the places at which others take those locks are [`Role::Watch`]. A front end need
//!   not know about locks and blocks before an event, only where a thread is. Two locks taken at one place
//!   are therefore one.
//! * A pause ends after [`PATIENCE`] events of others, or when everybody is paused.
//!
//! **Promise:** every schedule of the random walk has a positive probability to occur, but for those in which a
//! thread passes a marked place while another could run; none hangs.

use untorn_trace::ids::ThreadId;

use super::held::Held;
use super::{Arrival, Choice, Policy, Random};
use crate::{Rng, Role};

/// Events of others for which a thread is held.
const PATIENCE: u64 = 20_000;

#[derive(Debug, Default)]
pub struct AtomFuzzer {
    roles: Vec<Role>,
    held: Held,
}

impl Policy for AtomFuzzer {
    fn marked(&mut self, roles: &[Role]) {
        self.roles = roles.to_vec();
    }

    fn arrives(&mut self, thread: ThreadId, at: &Arrival<'_>, _rng: &mut Rng) -> bool {
        if !self.held.goes_on(thread) && at.has(&self.roles, Role::Hold) {
            self.held.hold(thread, PATIENCE);
            return true;
        }
        // Who goes on past either kind of mark takes a lock that somebody is held for.
        self.held.let_others_go(thread);
        false
    }

    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64) {
        let free = self.held.free(choice, rng);
        Random.choose(&Choice { candidates: &free, ..*choice }, rng)
    }
}
