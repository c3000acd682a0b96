//! POS: partial order sampling.
//!
//! **Paper:** Yuan, Yang, Gu, *Partial Order Aware Concurrency Sampling*, CAV 2018.
//!
//! Every pending event (the next one of each thread) has a random priority. The highest executes. The next event of
//! its thread gets a fresh priority, and so does every pending event that conflicts with the executed one: its order
//! before and after that event is then drawn independently.
//!
//! **What we changed, and why.**
//! * Events that the front end announces ([`Policy::arrives`]) are pending in the sense of the paper: the
//!   thread stops before each until it has the highest priority. Others (ends of blocks, notifications) are
//!   known when they have been executed; they follow their announced event at once, [`STRETCH`] of them at most.
//! * Two accesses conflict if the front end gives them the same number and one of them writes. It may know only the
//!   field; then accesses of the same field of two objects are redrawn unnecessarily.
//! * A front end that announces nothing gets the paper's *basic POS*: a choice at each event, and fresh priorities
//!   for the thread that ran (and for those that [`Policy::conflicted`] names).
//! * If only one thread can run, it gets a few events at a time, because there is nothing to choose.
//!
//! **Promise:** every partial order of announced events has a positive probability; orders that need a
//! thread to be delayed for long are likelier than under a random walk.

use untorn_trace::ids::ThreadId;

use super::{Access, Arrival, Choice, Policy};
use crate::Rng;

/// Consecutive events without a choice. They are few, because one may unblock another thread.
const STRETCH: u64 = 16;

/// The next event of a thread.
#[derive(Copy, Clone, Debug, Default)]
struct PendingEvent {
    priority: u64,
    /// The thread stopped before an announced event; its access, if known.
    stands: bool,
    access: Option<Access>,
    /// It was chosen to execute its pending event.
    chosen: bool,
}

#[derive(Debug, Default)]
pub struct Pos {
    /// By thread.
    nexts: Vec<PendingEvent>,
    /// The front end announces events.
    announced: bool,
}

impl Pos {
    fn refresh(&mut self, thread: ThreadId, rng: &mut Rng) {
        if let Some(next) = self.nexts.get_mut(thread.index()) {
            next.priority = rng.bits();
        }
    }

    /// The event is executed: pending events that conflict with it get new priorities.
    fn executes(&mut self, thread: ThreadId, access: Option<Access>, rng: &mut Rng) {
        let Some(access) = access else { return };
        for (index, other) in self.nexts.iter_mut().enumerate() {
            let conflicts = other.access.is_some_and(|pending| pending.conflicts(access));
            if index != thread.index() && other.stands && conflicts {
                other.priority = rng.bits();
            }
        }
    }
}

impl Policy for Pos {
    fn spawned(&mut self, thread: ThreadId, rng: &mut Rng) {
        debug_assert_eq!(thread.index(), self.nexts.len(), "threads are numbered in order");
        self.nexts.push(PendingEvent { priority: rng.bits(), ..PendingEvent::default() });
    }

    fn arrives(&mut self, thread: ThreadId, at: &Arrival<'_>, rng: &mut Rng) -> bool {
        self.announced = true;
        let Some(next) = self.nexts.get_mut(thread.index()) else { return false };
        if next.stands && next.chosen {
            (next.stands, next.chosen) = (false, false);
            let access = next.access.take();
            self.executes(thread, access, rng);
            return false;
        }
        *next =
            PendingEvent { priority: rng.bits(), stands: true, access: at.access, chosen: false };
        true
    }

    fn choose(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> (ThreadId, u64) {
        if let Some(last) = choice.last {
            let stands = self.nexts.get(last.thread.index()).is_some_and(|next| next.stands);
            if !stands {
                self.refresh(last.thread, rng);
            }
        }
        let priority = |thread: ThreadId| self.nexts.get(thread.index()).map(|next| next.priority);
        let highest = choice.candidates.iter().copied().max_by_key(|&thread| priority(thread));
        let thread = highest.unwrap_or_default();
        if let Some(next) = self.nexts.get_mut(thread.index()) {
            next.chosen = next.stands;
        }
        let alone = choice.candidates.len() == 1;
        (thread, if alone || self.announced { STRETCH } else { 1 })
    }

    fn conflicted(&mut self, thread: ThreadId, rng: &mut Rng) {
        self.refresh(thread, rng);
    }
}
