//! A run that executes recorded events in another order, one after the other.
//!
//! It starts where the history was at some position (the *cut*), so that its cost does not depend
//! on what came before, and lets an event happen only if the rules of a reordering allow it (see the
//! [crate]): program order, forks and joins, locks, notifications, updates.

use smallvec::SmallVec;
use untorn_trace::{LockId, Op, ThreadId};

use crate::answer::Reordering;
use crate::facts::HistoryIndex;
use crate::history::{At, History};
use crate::outline::Outline;

/// The threads that hold a lock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Holders {
    exclusive: Option<ThreadId>,
    shared: SmallVec<[ThreadId; 2]>,
}

impl Holders {
    fn is_free(&self) -> bool {
        self.exclusive.is_none() && self.shared.is_empty()
    }
}

/// The run so far: everything before the cut, then `steps`.
#[derive(Clone, Debug)]
pub(crate) struct World<'f, 'h> {
    facts: &'f HistoryIndex<'h>,
    cut: At,
    /// By thread: how many of its events have happened.
    done: Vec<u32>,
    steps: Vec<At>,
    /// The locks that are held; few at any time.
    locks: SmallVec<[(LockId, Holders); 8]>,
    /// When each notification after the cut happened, and each wait: positions in `steps`, from 1.
    notified: SmallVec<[(At, u32); 4]>,
    waits: SmallVec<[(ThreadId, u32); 4]>,
    /// The thread that is between the two halves of an update: no other thread may run.
    updating: Option<ThreadId>,
}

impl<'f, 'h> World<'f, 'h> {
    pub(crate) fn new(facts: &'f HistoryIndex<'h>, cut: At) -> Self {
        let mut world = Self {
            facts,
            cut,
            done: vec![0; facts.history.thread_count()],
            steps: Vec::new(),
            locks: SmallVec::new(),
            notified: SmallVec::new(),
            waits: SmallVec::new(),
            updating: None,
        };
        world.restart(cut);
        world
    }

    /// Back to where the history was before `cut`.
    pub(crate) fn restart(&mut self, cut: At) {
        let Self { facts, .. } = *self;
        self.cut = cut;
        self.steps.clear();
        self.locks.clear();
        self.notified.clear();
        self.waits.clear();
        self.updating = None;
        for index in 0..self.done.len() {
            let thread = ThreadId::from_index(index);
            let done = facts.count_before(thread, cut);
            self.done[index] = done;
            let Some(last) = done.checked_sub(1) else { continue };
            let last = facts.history.of_thread(thread)[last as usize];
            for id in facts.holds.after(last, facts.history) {
                let section = facts.section(id);
                self.take(section.lock, thread, section.shared);
            }
            if facts.is_update_read(last) {
                self.updating = Some(thread);
            }
        }
    }

    pub(crate) fn facts(&self) -> &'f HistoryIndex<'h> {
        self.facts
    }

    /// How many events of a thread have happened.
    #[inline]
    pub(crate) fn done(&self, thread: ThreadId) -> u32 {
        self.done[thread.index()]
    }

    #[inline]
    pub(crate) fn has_happened(&self, at: At) -> bool {
        self.done(self.facts.thread(at)) > self.facts.history.nth(at)
    }

    /// The next event of a thread.
    #[inline]
    pub(crate) fn next(&self, thread: ThreadId) -> Option<At> {
        self.facts.history.of_thread(thread).get(self.done(thread) as usize).copied()
    }

    /// Whether the next event of its thread may happen now.
    pub(crate) fn is_enabled(&self, at: At) -> bool {
        let history = self.facts.history;
        let event = history.event(at);
        debug_assert_eq!(self.next(event.thread), Some(at));
        if self.updating.is_some_and(|thread| thread != event.thread) {
            return false;
        }
        if history.nth(at) == 0 {
            let fork = history.forked(event.thread);
            if fork.is_some_and(|fork| !self.has_happened(fork)) {
                return false;
            }
        }
        match event.op {
            Op::Acquire { .. } => self.may_enter(at),
            Op::Resume { .. } => self.may_enter(at) && self.is_notified(at, event.thread),
            Op::Join { child } => self
                .done
                .get(child.index())
                .is_none_or(|&done| done as usize == history.of_thread(child).len()),
            _ => true,
        }
    }

    fn holders(&self, lock: LockId) -> Option<&Holders> {
        self.locks.iter().find(|(other, _)| *other == lock).map(|(_, holders)| holders)
    }

    fn may_enter(&self, at: At) -> bool {
        let Some(section) = self.facts.history.section_at(at) else { return true };
        let Some(holders) = self.holders(section.lock) else { return true };
        // A thread may hold both sides.
        let mine = |holder: &ThreadId| *holder == section.thread;
        holders.exclusive.iter().all(mine) && (section.shared || holders.shared.iter().all(mine))
    }

    /// Whether the notification that woke the thread has happened, and after the thread's wait.
    fn is_notified(&self, resume: At, thread: ThreadId) -> bool {
        let Some(cause) = self.facts.history.cause(resume) else { return true };
        if cause < self.cut {
            return true;
        }
        let Some(&(_, when)) = self.notified.iter().find(|(notify, _)| *notify == cause) else {
            return false;
        };
        let wait = self.waits.iter().rfind(|(waiter, _)| *waiter == thread);
        wait.is_none_or(|&(_, since)| since < when)
    }

    /// Lets an event happen that changes nothing for others: an access outside of updates, a mark.
    #[inline]
    pub(crate) fn pass(&mut self, at: At) {
        debug_assert_eq!(self.next(self.facts.thread(at)), Some(at));
        self.done[self.facts.thread(at).index()] += 1;
        self.steps.push(at);
    }

    /// Lets the event happen. It must be enabled.
    pub(crate) fn execute(&mut self, at: At) {
        let history = self.facts.history;
        let event = history.event(at);
        debug_assert!(self.is_enabled(at));
        self.done[event.thread.index()] += 1;
        self.steps.push(at);
        match event.op {
            Op::Acquire { .. } | Op::Resume { .. } | Op::Release { .. } | Op::Wait { .. } => {
                self.section(at, event.thread);
            }
            Op::Notify { .. } => self.notified.push((at, self.steps.len() as u32)),
            _ => {}
        }
        if matches!(event.op, Op::Wait { .. }) {
            self.waits.push((event.thread, self.steps.len() as u32));
        }
        self.updating = self.facts.is_update_read(at).then_some(event.thread);
    }

    fn section(&mut self, at: At, thread: ThreadId) {
        let Some(section) = self.facts.history.section_at(at).copied() else { return };
        if section.enter == at {
            self.take(section.lock, thread, section.shared);
            return;
        }
        let place = self.locks.iter().position(|(lock, _)| *lock == section.lock);
        let Some(place) = place else { return };
        let holders = &mut self.locks[place].1;
        if section.shared {
            holders.shared.retain(|holder| *holder != thread);
        } else {
            holders.exclusive = None;
        }
        if holders.is_free() {
            self.locks.swap_remove(place);
        }
    }

    fn take(&mut self, lock: LockId, thread: ThreadId, shared: bool) {
        let place = self.locks.iter().position(|(other, _)| *other == lock).unwrap_or_else(|| {
            self.locks.push((lock, Holders::default()));
            self.locks.len() - 1
        });
        let holders = &mut self.locks[place].1;
        if shared {
            holders.shared.push(thread);
        } else {
            holders.exclusive = Some(thread);
        }
    }

    /// The threads whose holds keep the event from happening.
    pub(crate) fn in_the_way(&self, at: At) -> SmallVec<[ThreadId; 2]> {
        let mut threads = SmallVec::new();
        let section = self.facts.history.section_at(at).filter(|section| section.enter == at);
        let Some(section) = section else { return threads };
        let Some(holders) = self.holders(section.lock) else { return threads };
        threads.extend(holders.exclusive);
        if !section.shared {
            threads.extend(holders.shared.iter().copied());
        }
        threads.retain(|holder| *holder != section.thread);
        threads
    }

    /// The thread that must continue because it is inside of an update.
    pub(crate) fn updating(&self) -> Option<ThreadId> {
        self.updating
    }

    pub(crate) fn reordering(&self) -> SuffixReordering {
        SuffixReordering { cut: self.cut, then: self.steps.clone() }
    }
}

/// A reordering of a suffix of the history, not written down yet: the history before the cut as it was, then these
/// events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SuffixReordering {
    pub cut: At,
    pub then: Vec<At>,
}

impl SuffixReordering {
    /// The same, for those who ask about outlines.
    pub fn outline(&self, history: &History) -> Outline {
        Outline::after(history, self.cut, self.then.clone())
    }

    /// The reordering in full.
    pub fn reordering(&self) -> Reordering {
        Reordering { steps: (0..self.cut.0).map(At).chain(self.then.iter().copied()).collect() }
    }
}
