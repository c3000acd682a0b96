//! SURW: selectively uniform random walk.
//!
//! **Paper:** Zhao, Wolff, Mathur, Roychoudhury, *Selectively Uniform Concurrency Testing*, ASPLOS 2025.
//!
//! A walk that chooses each thread equally often is far from choosing each order of events equally often: a thread with
//! few events is through before one with many has begun. If it is known how many events each thread has left, and
//! threads are chosen in proportion to that, all orders are equally likely. SURW does so for the interesting events
//! alone: one thread is meant to execute the next of them, and all others stop before theirs. Other events are a random
//! walk.
//!
//! **What we changed, and why.**
//! * The interesting events are those at marks, and how many each thread executes is known from an earlier run
//!   ([`Marks::expected`]). A run under another schedule may have others; then the counts are estimates.
//! * A thread that has not started counts for the thread that starts it, as in the paper. Threads are recognised by
//!   their number. If several threads start others, numbers differ between runs, and so do the estimates.
//! * If only threads run that stand before interesting events, or if nothing interesting happened for [`PATIENCE`]
//!   turns (the thread that is meant may wait for another in a loop), another one is meant.
//! * Turns of the random walk in between are of every length, as in `random`.
//!
//! **Promise:** if the counts are right and no interesting event has to wait for another thread's, all orders of the
//! interesting events are equally likely. Every schedule of the random walk is possible; no thread is held for ever.

use untorn_trace::ids::ThreadId;

use super::{Arrival, Choice, Policy, Random};
use crate::{ExpectedEvents, Marks, Rng};

/// Turns without an interesting event after which another thread is meant.
const PATIENCE: u32 = 1_000;

#[derive(Copy, Clone, Debug, Default)]
struct Thread {
    /// Interesting events of this thread and of those that it has yet to start.
    left: u64,
    /// It stopped before an interesting event.
    stands: bool,
    /// It was chosen to execute that event.
    chosen: bool,
}

#[derive(Debug, Default)]
pub struct Surw {
    /// By thread.
    expected: Vec<ExpectedEvents>,
    /// By thread: its interesting events and those of all that it starts, directly or not.
    below: Vec<u64>,
    /// By thread, those that have started.
    threads: Vec<Thread>,
    /// The thread that is to execute the next interesting event.
    meant: ThreadId,
    /// Turns since the last one.
    turns: u32,
}

impl Surw {
    /// Who started the thread in the earlier run.
    fn parent(&self, thread: ThreadId) -> Option<ThreadId> {
        let parent = self.expected.get(thread.index())?.parent;
        parent.filter(|parent| *parent < thread)
    }

    /// One of these threads, in proportion to what they have left.
    fn draw(&self, among: &[ThreadId], rng: &mut Rng) -> Option<ThreadId> {
        // Who stands has at least one left, whatever was expected.
        let left = |thread: ThreadId| {
            self.threads.get(thread.index()).map_or(0, |own| own.left.max(u64::from(own.stands)))
        };
        let all: u64 = among.iter().map(|&thread| left(thread)).sum();
        if all == 0 {
            return among.get(rng.below(among.len() as u64) as usize).copied();
        }
        let mut at = rng.below(all);
        among.iter().copied().find(|&thread| {
            let is_it = at < left(thread);
            at = at.saturating_sub(left(thread));
            is_it
        })
    }

    /// The thread executes an interesting event: who is to execute the next?
    fn executes(&mut self, thread: ThreadId, rng: &mut Rng) {
        if let Some(own) = self.threads.get_mut(thread.index()) {
            *own = Thread { left: own.left.saturating_sub(1), ..Thread::default() };
        }
        let all: Vec<ThreadId> = (0..self.threads.len()).map(ThreadId::from_index).collect();
        self.turns = 0;
        self.meant = self.draw(&all, rng).unwrap_or_default();
    }

    fn stands(&self, thread: ThreadId) -> bool {
        self.threads.get(thread.index()).is_some_and(|own| own.stands)
    }
}

impl Policy for Surw {
    fn marked(&mut self, marks: &Marks) {
        self.expected = marks.expected.clone();
        self.below = self.expected.iter().map(|own| own.events).collect();
        // Who starts a thread has a lower number.
        for at in (0..self.below.len()).rev() {
            if let Some(parent) = self.parent(ThreadId::from_index(at)) {
                self.below[parent.index()] += self.below[at];
            }
        }
    }

    fn spawned(&mut self, thread: ThreadId, rng: &mut Rng) {
        debug_assert_eq!(thread.index(), self.threads.len(), "threads are numbered in order");
        let left = self.below.get(thread.index()).copied().unwrap_or(0);
        self.threads.push(Thread { left, ..Thread::default() });
        let Some(parent) = self.parent(thread) else { return };
        let before = self.threads[parent.index()].left;
        self.threads[parent.index()].left = before.saturating_sub(left);
        // The parent was meant together with all that it starts.
        if self.meant == parent && rng.below(before) < left {
            self.meant = thread;
        }
    }

    fn arrives(&mut self, thread: ThreadId, at: &Arrival<'_>, rng: &mut Rng) -> bool {
        let Some(own) = self.threads.get_mut(thread.index()) else { return false };
        if at.marks.is_empty() {
            return false;
        }
        let passes = own.stands && own.chosen || self.meant == thread;
        if passes {
            self.executes(thread, rng);
        } else {
            *own = Thread { stands: true, chosen: false, ..*own };
        }
        !passes
    }

    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64) {
        self.turns += 1;
        let (standing, free): (Vec<ThreadId>, Vec<ThreadId>) =
            choice.candidates.iter().partition(|&&thread| self.stands(thread));
        let is_due = free.is_empty() || self.turns > PATIENCE;
        if is_due && !standing.contains(&self.meant) {
            self.meant = self.draw(&standing, rng).unwrap_or(self.meant);
        }
        if standing.contains(&self.meant) {
            self.turns = 0;
            self.threads[self.meant.index()].chosen = true;
            let (_, budget) = Random.choose(choice, rng);
            return (self.meant, budget);
        }
        Random.choose(&Choice { candidates: &free, ..*choice }, rng)
    }
}
