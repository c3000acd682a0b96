//! Who waits for whom when a run has got stuck, read from its trace alone.
//!
//! A thread is stuck if the last lock it requested was never acquired, or the last wait was never resumed. Each stuck
//! thread wants one lock; who holds it is known from the acquires. Following wanted locks to their holders finds
//! the threads that wait for each other in a circle, if there are any: without a circle somebody forgot to notify.
//!
//! Promise: names only what the trace shows. A lock that is not recorded as one (such as a parked thread's) is no
//! edge, so a circle through it is not seen as a circle.

use std::collections::BTreeMap;
use std::path::Path;

use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{BATCH, Event, EventIdx, LockId, Op, Tables, ThreadId};

/// An event and where it is in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventAt {
    pub at: EventIdx,
    pub event: Event,
}

/// A lock that is held, by the acquire that got it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldLock {
    pub lock: LockId,
    pub since: EventAt,
    /// The begin or the call of the innermost block that was open then.
    pub inside: Option<EventAt>,
    depth: u32,
}

/// A thread that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingThread {
    pub thread: ThreadId,
    /// The request, or the wait, from which it does not come back.
    pub on: EventAt,
    /// The innermost block that was open then.
    pub inside: Option<EventAt>,
    /// What it holds meanwhile, the oldest first.
    pub holds: Vec<HeldLock>,
}

impl WaitingThread {
    /// The lock that it wants, unless it waits for a notification.
    pub fn wants(&self) -> Option<LockId> {
        match self.on.event.op {
            Op::Request { lock } => Some(lock),
            _ => None,
        }
    }

    /// How it got a lock that it holds.
    pub fn held(&self, lock: LockId) -> Option<&HeldLock> {
        self.holds.iter().find(|held| held.lock == lock)
    }
}

/// The end of a run that got stuck.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeadlockState {
    /// Every thread that is known to wait, in the order of ids.
    pub threads: Vec<WaitingThread>,
    /// Indices of threads each of which wants a lock that the next one holds, and the last one one of the first.
    pub cycle: Vec<usize>,
}

impl DeadlockState {
    /// Reads a trace to its end. `None` if it cannot be read.
    pub fn read(trace: &Path) -> Option<Self> {
        let mut source = open(&Input::new(trace), &OpenOptions::default()).ok()?;
        let (mut watch, mut batch, mut at) = (Watch::default(), Vec::with_capacity(BATCH), 0);
        loop {
            source.read(&mut batch).ok()?;
            if batch.is_empty() {
                return Some(watch.finish());
            }
            for &event in &batch {
                watch.process(EventAt { at: EventIdx(at), event });
                at += 1;
            }
        }
    }

    /// What two runs have in common if they got stuck in the same way: the places where locks were taken and
    /// asked for.
    pub fn signature(&self, tables: &Tables) -> Vec<String> {
        let place = |mark: &EventAt| tables.site_text(mark.event.site);
        let involved = |index: &usize| self.cycle.is_empty() || self.cycle.contains(index);
        let all = (0..self.threads.len()).filter(involved);
        let mut places: Vec<String> = all
            .map(|index| {
                let own = &self.threads[index];
                let held = self.held_for_previous(index).map(|held| place(&held.since));
                format!("{} > {}", held.unwrap_or_default(), place(&own.on))
            })
            .collect();
        places.sort();
        places
    }

    /// What a thread of the cycle holds that the one before it wants.
    pub fn held_for_previous(&self, index: usize) -> Option<&HeldLock> {
        let place = self.cycle.iter().position(|&own| own == index)?;
        let before = self.cycle[(place + self.cycle.len() - 1) % self.cycle.len()];
        self.threads[index].held(self.threads[before].wants()?)
    }
}

#[derive(Default)]
struct Watch {
    threads: BTreeMap<ThreadId, Thread>,
}

#[derive(Default)]
struct Thread {
    /// Locks given up by a wait keep their place.
    holds: Vec<(HeldLock, bool)>,
    open: Vec<EventAt>,
    on: Option<EventAt>,
}

impl Watch {
    fn process(&mut self, mark: EventAt) {
        let thread = self.threads.entry(mark.event.thread).or_default();
        match mark.event.op {
            Op::Request { .. } => thread.on = Some(mark),
            Op::Wait { lock } => {
                thread.on = Some(mark);
                thread.give_up(lock, true);
            }
            Op::Resume { lock } => {
                thread.on = None;
                thread.give_up(lock, false);
            }
            Op::Acquire { lock, .. } => {
                thread.on = None;
                thread.take(lock, mark);
            }
            Op::Release { lock, .. } => thread.leave(lock),
            Op::Begin { .. } | Op::Call { .. } => thread.open.push(mark),
            Op::End { .. } | Op::Return { .. } => {
                thread.open.pop();
            }
            _ => {}
        }
    }

    fn finish(self) -> DeadlockState {
        let waiting = |(thread, own): (ThreadId, Thread)| {
            let holds = own.holds.iter().filter(|(_, away)| !away).map(|(held, _)| *held);
            let (holds, inside) = (holds.collect(), own.open.last().copied());
            Some(WaitingThread { thread, on: own.on?, inside, holds })
        };
        let threads: Vec<WaitingThread> = self.threads.into_iter().filter_map(waiting).collect();
        let cycle = cycle(&threads);
        DeadlockState { threads, cycle }
    }
}

impl Thread {
    fn take(&mut self, lock: LockId, since: EventAt) {
        match self.holds.iter_mut().find(|(held, _)| held.lock == lock) {
            Some((held, _)) => held.depth += 1,
            None => {
                let inside = self.open.last().copied();
                self.holds.push((HeldLock { lock, since, inside, depth: 1 }, false));
            }
        }
    }

    fn leave(&mut self, lock: LockId) {
        if let Some((held, _)) = self.holds.iter_mut().find(|(held, _)| held.lock == lock) {
            held.depth -= 1;
        }
        self.holds.retain(|(held, _)| held.depth > 0);
    }

    fn give_up(&mut self, lock: LockId, away: bool) {
        for (held, is_away) in &mut self.holds {
            if held.lock == lock {
                *is_away = away;
            }
        }
    }
}

/// Follows each wanted lock to its holder until a thread comes up again.
fn cycle(threads: &[WaitingThread]) -> Vec<usize> {
    let holder = |index: usize| {
        let lock = threads[index].wants()?;
        (0..threads.len()).find(|&other| other != index && threads[other].held(lock).is_some())
    };
    for start in 0..threads.len() {
        let (mut path, mut next) = (vec![start], holder(start));
        while let Some(index) = next {
            if index == start {
                return path;
            }
            // A circle that the start only leads into is found from one of its own.
            if path.contains(&index) {
                break;
            }
            path.push(index);
            next = holder(index);
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use untorn_trace::{Hold, SiteId};

    use super::*;

    fn stuck(events: &[(u32, Op)]) -> DeadlockState {
        let mut watch = Watch::default();
        for (at, &(thread, op)) in (0..).zip(events) {
            let event = Event::new(ThreadId(thread), op, SiteId(0));
            watch.process(EventAt { at: EventIdx(at), event });
        }
        watch.finish()
    }

    fn acquire(lock: u32) -> Op {
        Op::Acquire { lock: LockId(lock), hold: Hold::Exclusive }
    }

    fn release(lock: u32) -> Op {
        Op::Release { lock: LockId(lock), hold: Hold::Exclusive }
    }

    fn request(lock: u32) -> Op {
        Op::Request { lock: LockId(lock) }
    }

    #[test]
    fn two_locks_in_opposite_orders() {
        let found = stuck(&[
            (0, Op::Wait { lock: LockId(9) }),
            (1, acquire(0)),
            (1, acquire(0)),
            (1, release(0)),
            (2, acquire(1)),
            (3, acquire(2)),
            (1, request(1)),
            (2, request(0)),
            (3, request(0)),
        ]);
        let threads: Vec<u32> = found.threads.iter().map(|own| own.thread.0).collect();
        assert_eq!(threads, [0, 1, 2, 3]);
        assert_eq!(found.cycle, [1, 2], "the others only wait for them");
        assert_eq!(found.held_for_previous(1).map(|held| held.since.at.0), Some(1));
    }

    #[test]
    fn who_got_the_lock_does_not_wait() {
        let found = stuck(&[(1, request(0)), (1, acquire(0)), (2, request(0)), (1, release(0))]);
        assert_eq!(found.threads.len(), 1);
        assert!(found.cycle.is_empty());
    }

    #[test]
    fn a_wait_gives_its_lock_up() {
        let wait = Op::Wait { lock: LockId(0) };
        let found = stuck(&[(1, acquire(0)), (1, acquire(1)), (1, wait), (2, acquire(0))]);
        assert_eq!(found.threads.len(), 1, "the other one has what it wants");
        let holds: Vec<u32> = found.threads[0].holds.iter().map(|held| held.lock.0).collect();
        assert_eq!(holds, [1]);
    }
}
