//! PCT: probabilistic concurrency testing.
//!
//! **Paper:** Burckhardt, Kothari, Musuvathi, Nagarakatte, *A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010.
//!
//! Threads get random distinct priorities; the highest that can run does. At d−1 random events of
//! the run, the thread that executed the event falls to a priority below all initial ones.
//!
//! **What we changed, and why.**
//! * The paper knows the number of threads beforehand; a priority here is a random number drawn at
//!   the start of the thread, which gives the same distribution over orders.
//! * A thread that spins with the highest priority would starve the one it waits for. The paper
//!   lowers priorities heuristically, too; here a thread falls below all others when it yields or
//!   has run a whole quantum.
//! * A change point takes effect after its event, which is when the front end asks. If the policy takes over in the
//!   middle of a run (after a prefix or a plan), events count from there.
//!
//! **Promise:** a bug of depth d in a program of n threads and at most `length` events that neither
//! yields nor outlasts the quantum is hit with probability at least 1/(n·length^(d−1)).

use std::cmp::Reverse;

use untorn_trace::ids::ThreadId;

use super::{Choice, Policy};
use crate::{Reason, Rng};

/// Higher runs first. The order of the variants matters.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Priority {
    /// Lowered because it yielded or ran long; the last one is lowest.
    Fallen(Reverse<u64>),
    /// Lowered at this change point.
    Changed(u64),
    Initial(u64),
}

#[derive(Debug)]
pub struct Pct {
    /// By thread. Distinct with probability 1 − 2⁻⁶⁴; on a tie the higher id wins.
    priorities: Vec<Priority>,
    /// Events at which a priority changes, and to which; the next one last.
    changes: Vec<(u64, Priority)>,
    quantum: u64,
    /// How many priorities were lowered.
    fallen: u64,
    /// Events executed when the policy was first asked.
    origin: Option<u64>,
}

impl Pct {
    pub fn new(depth: u32, length: u64, quantum: u64, rng: &mut Rng) -> Self {
        // A run has no more change points than events; a huge depth must not exhaust memory.
        let wanted = u64::from(depth.saturating_sub(1)).min(length);
        let mut changes: Vec<(u64, Priority)> = Vec::new();
        for rank in 0..wanted {
            let mut at = 1 + rng.below(length);
            // Distinct points, as in the paper. Moving on to the next free one keeps the time
            // bounded.
            while changes.iter().any(|&(taken, _)| taken == at) {
                at = at % length + 1;
            }
            changes.push((at, Priority::Changed(rank)));
        }
        changes.sort_unstable_by_key(|&(at, _)| Reverse(at));
        Self { priorities: Vec::new(), changes, quantum, fallen: 0, origin: None }
    }

    fn priority(&self, thread: ThreadId) -> Priority {
        self.priorities.get(thread.index()).copied().unwrap_or(Priority::Initial(0))
    }

    fn set(&mut self, thread: ThreadId, priority: Priority) {
        if let Some(slot) = self.priorities.get_mut(thread.index()) {
            *slot = priority;
        }
    }

    /// Updates the priority of the thread whose turn just ended.
    fn turn_ended(&mut self, thread: ThreadId, why: Reason, events: u64) {
        let mut changed = false;
        while let Some(&(_, priority)) = self.changes.last().filter(|&&(at, _)| at <= events) {
            self.set(thread, priority);
            self.changes.pop();
            changed = true;
        }
        if why == Reason::Yielded || (why == Reason::Budget && !changed) {
            self.fallen += 1;
            self.set(thread, Priority::Fallen(Reverse(self.fallen)));
        }
    }
}

impl Policy for Pct {
    fn spawned(&mut self, thread: ThreadId, rng: &mut Rng) {
        debug_assert_eq!(thread.index(), self.priorities.len(), "threads are numbered in order");
        self.priorities.push(Priority::Initial(rng.bits()));
    }

    fn choose(&mut self, choice: &Choice<'_>, _rng: &mut Rng) -> (ThreadId, u64) {
        let events = choice.events - *self.origin.get_or_insert(choice.events);
        if let Some(last) = choice.last {
            self.turn_ended(last.thread, last.reason, events);
        }
        let highest = choice.candidates.iter().max_by_key(|&&thread| self.priority(thread));
        let until_change =
            self.changes.last().map_or(u64::MAX, |&(at, _)| at.saturating_sub(events));
        let thread = highest.copied().unwrap_or_default();
        (thread, self.quantum.min(until_change))
    }
}
