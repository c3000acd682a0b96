//! Clocks, which transactions are open now, and the clocks of finished transactions.

use smallvec::SmallVec;
use untorn_trace::ThreadId;

use super::Last;

/// For each thread the number of its latest transaction that is contained; 0 for none. Threads
/// beyond the end have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Vec<u32>);

impl Clock {
    #[inline]
    pub(super) fn get(&self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    /// Counts one more transaction of the thread whose clock this is, and returns its number.
    pub(super) fn count(&mut self, thread: ThreadId) -> u32 {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, 0);
        }
        let own = &mut self.0[thread.index()];
        *own = own.checked_add(1).expect("fewer than 2^32 transactions of one thread");
        *own
    }

    /// Takes over all of `other`; returns whether an open transaction is among what was new.
    pub(super) fn join(&mut self, other: &Self, now: &OpenNumbers) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut gained = false;
        for ((mine, &theirs), &open) in self.0.iter_mut().zip(&other.0).zip(&now.0) {
            gained |= theirs > *mine && theirs == open;
            *mine = theirs.max(*mine);
        }
        gained
    }
}

/// The numbers of the open transactions, by thread.
#[derive(Debug, Default)]
pub(super) struct OpenNumbers(Vec<u32>);

impl OpenNumbers {
    /// No transaction has this number, so no clock contains it.
    const NONE: u32 = u32::MAX;

    pub(super) fn grow(&mut self, threads: usize) {
        self.0.resize(threads, Self::NONE);
    }

    #[inline]
    pub(super) fn is_open(&self, thread: ThreadId) -> bool {
        self.0[thread.index()] != Self::NONE
    }

    pub(super) fn open(&mut self, thread: ThreadId, number: u32) {
        self.0[thread.index()] = number;
    }

    /// The number of the transaction that was open.
    pub(super) fn close(&mut self, thread: ThreadId) -> Option<u32> {
        let number = std::mem::replace(&mut self.0[thread.index()], Self::NONE);
        (number != Self::NONE).then_some(number)
    }

    /// Whether the thread's open transaction is in the clock.
    #[inline]
    pub(super) fn is_in(&self, thread: ThreadId, clock: &Clock) -> bool {
        clock.get(thread) == self.0[thread.index()]
    }

    /// The threads whose open transaction is in `more` but not in `clock`.
    pub(super) fn gains(&self, clock: &Clock, more: &Clock) -> SmallVec<[ThreadId; 8]> {
        let contained = |(i, (&theirs, &open)): (usize, (&u32, &u32))| {
            let thread = ThreadId::from_index(i);
            (theirs == open && clock.get(thread) != open).then_some(thread)
        };
        more.0.iter().zip(&self.0).enumerate().filter_map(contained).collect()
    }
}

/// Names a finished clock. Valid until the next sweep that finds it unmarked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ClockId(u32);

/// The clock of a finished transaction, or of several, joined.
#[derive(Debug)]
pub(super) struct FinishedClock {
    pub clock: Clock,
    /// The thread it came from and its number at that time; `None` for a joined clock.
    origin: Option<(ThreadId, u32)>,
    marked: bool,
}

impl FinishedClock {
    /// Whether `clock` contains all open transactions that this one does: it contains the
    /// transaction this one came from, and with it everything that transaction depends on.
    #[inline]
    pub(super) fn is_known_to(&self, clock: &Clock) -> bool {
        self.origin.is_some_and(|(thread, number)| clock.get(thread) >= number)
    }

    pub(super) fn is_joined(&self) -> bool {
        self.origin.is_none()
    }
}

/// All finished clocks that are not dead, freed by mark and sweep.
#[derive(Debug)]
pub(super) struct Finished {
    /// `None`: free, or dead and still named by a variable.
    slots: Vec<Option<FinishedClock>>,
    free: Vec<ClockId>,
    /// Slots in use after the last sweep.
    survivors: usize,
    /// A sweep visits every place: it waits for a clock for each so many of them.
    pub(super) places_a_clock: usize,
}

impl Default for Finished {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), survivors: 0, places_a_clock: 4 }
    }
}

impl Finished {
    #[inline]
    pub(super) fn get(&self, id: ClockId) -> Option<&FinishedClock> {
        self.slots[id.0 as usize].as_ref()
    }

    pub(super) fn get_mut(&mut self, id: ClockId) -> Option<&mut FinishedClock> {
        self.slots[id.0 as usize].as_mut()
    }

    pub(super) fn add(&mut self, clock: Clock, origin: Option<(ThreadId, u32)>) -> ClockId {
        let finished = Some(FinishedClock { clock, origin, marked: false });
        if let Some(id) = self.free.pop() {
            self.slots[id.0 as usize] = finished;
            return id;
        }
        let id = u32::try_from(self.slots.len()).expect("fewer than 2^32 clocks");
        self.slots.push(finished);
        ClockId(id)
    }

    /// Frees the memory of a clock that contains no open transaction. Its name stays taken, and
    /// means none, until the next sweep.
    pub(super) fn bury_if_dead(&mut self, id: ClockId, now: &OpenNumbers) {
        let slot = &mut self.slots[id.0 as usize];
        let open = |f: &FinishedClock| f.clock.0.iter().zip(&now.0).any(|(a, b)| a == b);
        if !slot.as_ref().is_some_and(open) {
            *slot = None;
        }
    }

    /// Whether a sweep pays: it visits every place, and may free about half of the slots.
    pub(super) fn is_due(&self, places: usize) -> bool {
        let used = self.slots.len() - self.free.len();
        used >= 2 * self.survivors + places / self.places_a_clock
    }

    /// Keeps the clock through the next sweep; forgets its name if it is dead.
    pub(super) fn mark(&mut self, named: &mut Option<ClockId>) {
        if let Some(id) = *named {
            match self.get_mut(id) {
                Some(finished) => finished.marked = true,
                None => *named = None,
            }
        }
    }

    pub(super) fn mark_last(&mut self, last: &mut Last) {
        if let Last::Finished(id) = *last {
            let mut named = Some(id);
            self.mark(&mut named);
            *last = named.map_or(Last::None, Last::Finished);
        }
    }

    /// Slots in use or free.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Frees every slot that was not marked.
    pub(super) fn sweep(&mut self) {
        self.free.clear();
        for (i, slot) in self.slots.iter_mut().enumerate() {
            match slot {
                Some(finished) if finished.marked => finished.marked = false,
                _ => {
                    *slot = None;
                    self.free.push(ClockId(i as u32));
                }
            }
        }
        self.survivors = self.slots.len() - self.free.len();
    }
}
