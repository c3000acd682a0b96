//! Random walk.
//!
//! **Paper:** none; the baseline of every paper on randomised testing.
//!
//! **What we changed, and why.** A walk that flips a coin at every event almost never lets a thread
//! run for a thousand events in one piece, and one with long turns almost never switches twice
//! within ten. So the length of a turn is drawn log-uniformly from 1 to 4096: every scale of
//! interleaving occurs. That also saves most of the decisions.
//!
//! **Promise:** every schedule has a positive probability. No bound on how small it is.

use untorn_trace::ids::ThreadId;

use super::{Choice, Policy};
use crate::Rng;

/// Turns are at most two to this power events long.
const LONGEST: u64 = 12;

#[derive(Debug)]
pub struct Random;

impl Policy for Random {
    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64) {
        let at = rng.below(choice.candidates.len() as u64) as usize;
        let scale = 1 << rng.below(LONGEST + 1);
        let budget = scale + rng.below(scale);
        (choice.candidates[at], budget.min(1 << LONGEST))
    }
}
