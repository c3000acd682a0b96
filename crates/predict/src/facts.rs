//! What every question about a history needs: which events every schedule orders, and which threads
//! hold which locks where. Computed once, shared by all engines and threads.

mod clocks;
mod holds;

use untorn_trace::ThreadId;

pub use clocks::Clocks;
pub use holds::{Holds, SectionId};

use crate::history::{At, History};

/// A history with its orders and lock sets.
#[derive(Debug)]
pub struct HistoryIndex<'h> {
    pub history: &'h History,
    pub clocks: Clocks,
    pub holds: Holds,
}

impl<'h> HistoryIndex<'h> {
    pub fn new(history: &'h History) -> Self {
        Self { history, clocks: Clocks::new(history), holds: Holds::new(history) }
    }

    #[inline]
    pub fn thread(&self, at: At) -> ThreadId {
        self.history.event(at).thread
    }

    /// Whether `first` comes before `second` in every reordering that has both: by program order, forks,
    /// joins and notifications.
    pub fn is_ordered(&self, first: At, second: At) -> bool {
        let (from, to) = (self.thread(first), self.thread(second));
        if from == to {
            return self.history.nth(first) < self.history.nth(second);
        }
        self.clocks.seen(second, from, self.history) > self.history.nth(first)
    }

    /// Whether the two accesses are the halves of one update.
    pub fn is_one_update(&self, read: At, write: At) -> bool {
        self.history.second_half(read) == Some(write)
    }

    /// Whether the event is the first half of an update whose second half was recorded.
    #[inline]
    pub fn is_update_read(&self, at: At) -> bool {
        self.history.second_half(at).is_some()
    }

    /// Whether mutual exclusion alone forbids that `second` happens between `first` and `third`: a
    /// section around both of one thread, and one of the same lock around the other.
    pub fn is_guarded(&self, first: At, second: At, third: At) -> bool {
        let around_both = self.holds.at(third);
        let own = self.holds.at(first).iter().filter(|id| around_both.contains(id));
        let mut own = own.map(|&id| self.section(id));
        own.any(|own| {
            let other = self.holds.at(second).iter().map(|&id| self.section(id));
            other.into_iter().any(|other| other.lock == own.lock && !(other.shared && own.shared))
        })
    }

    /// Whether a section is around both events of a thread.
    pub fn is_one_section(&self, first: At, second: At) -> bool {
        let around = self.holds.at(second);
        self.holds.at(first).iter().any(|section| around.contains(section))
    }

    pub fn section(&self, id: SectionId) -> &crate::history::Section {
        &self.history.sections()[id.0 as usize]
    }

    /// How many events of a thread come before a position of the history.
    pub fn count_before(&self, thread: ThreadId, cut: At) -> u32 {
        self.history.of_thread(thread).partition_point(|&at| at < cut) as u32
    }
}
