//! Time limits that passed because threads were held.
//!
//! Virtual time jumps to the next time limit when no thread can run. Under a plan it also jumps while a thread that could
//! run is held. On a real machine that thread would have gone on while the other one slept, so what happens then may
//! depend on nothing but timing. A plan that keeps time ([`Plan::keeps_time`](crate::Plan::keeps_time)) is given up
//! instead.
//!
//! **Promise:** a wait is noted iff some thread was kept from running for longer than a time slice, by jumps of the clock
//! alone, when it ended.

use std::collections::BTreeMap;

use untorn_trace::PrematureTimeout;
use untorn_trace::ids::ThreadId;

use crate::threads::Threads;
use crate::{Locks, Nanos};

/// Ordinary preemptions last as long: a delay of this length needs no explanation.
const TIME_SLICE: Nanos = Nanos(10_000_000);

/// Waits that are noted.
const MAX_NOTED: usize = 8;

/// For how long threads were kept from running while the clock jumped.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    since_turn: BTreeMap<ThreadId, Nanos>,
    noted: Vec<PrematureTimeout>,
}

impl Delays {
    /// The wait that would end prematurely if the clock jumped, if there is one.
    pub(crate) fn premature_after(
        &self,
        jump: [Nanos; 2],
        events: u64,
        threads: &Threads,
        locks: &dyn Locks,
    ) -> Option<PrematureTimeout> {
        let [_, to] = jump;
        let is_too_long = |&(thread, delay): &(ThreadId, Nanos)| {
            self.since_turn.get(&thread).copied().unwrap_or_default().after(delay) > TIME_SLICE
        };
        let (held, _) = delays(jump, threads, locks).find(is_too_long)?;
        let mut live = threads.live().iter().copied();
        let waiter = live.find(|&thread| threads.runs_at(thread, locks) == Some(to))?;
        Some(PrematureTimeout { waiter: waiter.0, held: held.0, events })
    }

    /// The clock jumps.
    pub(crate) fn jumped(
        &mut self,
        jump: [Nanos; 2],
        premature: Option<PrematureTimeout>,
        threads: &Threads,
        locks: &dyn Locks,
    ) {
        for (thread, delay) in delays(jump, threads, locks) {
            let sum = self.since_turn.entry(thread).or_default();
            *sum = sum.after(delay);
        }
        if self.noted.len() < MAX_NOTED {
            self.noted.extend(premature);
        }
    }

    /// The thread goes on. To get a turn and be held again is not enough.
    pub(crate) fn ran(&mut self, thread: ThreadId) {
        self.since_turn.remove(&thread);
    }

    pub(crate) fn noted(&self) -> &[PrematureTimeout] {
        &self.noted
    }
}

/// The threads that could have run before a jump of the clock ends, and for how long.
fn delays<'a>(
    [now, to]: [Nanos; 2],
    threads: &'a Threads,
    locks: &'a dyn Locks,
) -> impl Iterator<Item = (ThreadId, Nanos)> + 'a {
    threads.live().iter().filter_map(move |&thread| {
        let ready = match threads.can_run(thread, locks) {
            true => now,
            false => threads.runs_at(thread, locks)?.max(now),
        };
        (ready < to).then(|| (thread, Nanos(to.0 - ready.0)))
    })
}
