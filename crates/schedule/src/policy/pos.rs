//! POS: partial order sampling, the basic variant.
//!
//! **Paper:** Yuan, Yang, Gu, *Partial Order Aware Concurrency Sampling*, CAV 2018.
//!
//! Every pending event (the next one of each thread) has a random priority. The highest executes;
//! the event that its thread comes to next gets a fresh one.
//!
//! **What we changed, and why.** The full algorithm also gives a fresh priority to every pending
//! event that conflicts with the one just executed. We learn what an event is when it has been
//! executed, so there is no pending event to look at: this is the paper's *basic POS*, which it
//! compares with as well. A front end that does know can say so ([`Policy::conflicted`]) and gets
//! the full algorithm. A thread that is alone in being able to run gets a few events at a time,
//! because there is nothing to choose.
//!
//! **Promise:** every partial order has a positive probability; orders that need a thread to be
//! delayed for long are likelier than under a random walk.

use untorn_trace::ids::ThreadId;

use super::{Choice, Policy};
use crate::Rng;

/// Events for a thread that is alone. It may free another within them, so they are few.
const ALONE: u64 = 16;

#[derive(Debug, Default)]
pub struct Pos {
    /// Of the pending event of each thread.
    priorities: Vec<u64>,
}

impl Pos {
    fn refresh(&mut self, thread: ThreadId, rng: &mut Rng) {
        if let Some(priority) = self.priorities.get_mut(thread.index()) {
            *priority = rng.bits();
        }
    }
}

impl Policy for Pos {
    fn spawned(&mut self, thread: ThreadId, rng: &mut Rng) {
        debug_assert_eq!(thread.index(), self.priorities.len(), "threads are numbered in order");
        self.priorities.push(rng.bits());
    }

    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64) {
        if let Some(last) = choice.last {
            self.refresh(last.thread, rng);
        }
        let priority = |thread: ThreadId| self.priorities.get(thread.index()).copied();
        let highest = choice.candidates.iter().copied().max_by_key(|&thread| priority(thread));
        let budget = if choice.candidates.len() > 1 { 1 } else { ALONE };
        (highest.unwrap_or_default(), budget)
    }

    fn conflicted(&mut self, thread: ThreadId, rng: &mut Rng) {
        self.refresh(thread, rng);
    }
}
