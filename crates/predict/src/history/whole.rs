//! What a projection remembers of the run that it is of.

use std::ops::Range;

use untorn_trace::{Event, Op, ThreadId};

use super::{At, History};
use crate::outline::Outline;

/// Which thread each event is of, by stretches.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Where a thread begins to run. The next entry is where it ends.
    starts: Vec<(u32, ThreadId)>,
    len: u32,
}

impl Turns {
    /// The next event is of this thread; returns its position, if there is a number for it.
    pub(crate) fn add(&mut self, thread: ThreadId) -> Option<u32> {
        if self.len == u32::MAX {
            return None;
        }
        if self.starts.last().is_none_or(|&(_, last)| last != thread) {
            self.starts.push((self.len, thread));
        }
        self.len += 1;
        Some(self.len - 1)
    }

    /// The stretches from a position on: thread, begin, end.
    fn since(&self, from: u32) -> impl Iterator<Item = (ThreadId, u32, u32)> {
        let first = self.starts.partition_point(|&(start, _)| start <= from).saturating_sub(1);
        (first..self.starts.len()).map(move |index| {
            let (start, thread) = self.starts[index];
            let end = self.starts.get(index + 1).map_or(self.len, |&(end, _)| end);
            (thread, start.max(from), end)
        })
    }
}

/// The run that a history is a projection of.
#[derive(Debug)]
pub(crate) struct Whole {
    /// By event: its position in the run.
    pub(crate) positions: Vec<u32>,
    /// By event: see [`History::heeds`].
    pub(crate) heeds: Vec<u32>,
    pub(crate) turns: Turns,
    /// Positions of events that stand for the first half of an update, sorted: the next event comes with them.
    pub(crate) updates: Vec<u32>,
    /// A branch was recorded.
    pub(crate) has_branches: bool,
}

impl Whole {
    /// How far a thread has come in the run when an event has happened.
    fn after(&self, at: At) -> u32 {
        let position = self.positions[at.index()];
        position + 1 + u32::from(self.updates.binary_search(&position).is_ok())
    }
}

/// A reordering of a run: so much of the run as it was, then these stretches of it, each from a position to before
/// another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lifted {
    pub kept: u32,
    pub then: Vec<Range<u32>>,
}

impl Lifted {
    fn add(&mut self, stretch: Range<u32>) {
        if stretch.is_empty() {
            return;
        }
        match self.then.last_mut() {
            Some(last) if last.end == stretch.start => last.end = stretch.end,
            None if self.kept == stretch.start => self.kept = stretch.end,
            _ => self.then.push(stretch),
        }
    }

    /// How many events follow after what is kept.
    pub fn changed(&self) -> usize {
        self.then.iter().map(Range::len).sum()
    }
}

impl History {
    /// The position of an event in the run: the history may be a projection of it.
    #[inline]
    pub fn position(&self, at: At) -> u32 {
        self.whole.as_ref().map_or(at.0, |whole| whole.positions[at.index()])
    }

    /// The event at a position of the run, if the history has it.
    pub fn at_position(&self, position: u32) -> Option<At> {
        let index = match &self.whole {
            Some(whole) => whole.positions.binary_search(&position).ok()?,
            None => position as usize,
        };
        (index < self.len()).then_some(At(index as u32))
    }

    /// Whether events of the run were left out.
    pub fn is_projection(&self) -> bool {
        self.whole.is_some()
    }

    /// How many events the run has.
    pub fn whole_len(&self) -> usize {
        self.whole.as_ref().map_or(self.events.len(), |whole| whole.turns.len as usize)
    }

    /// Whether a branch was recorded in the run.
    pub(crate) fn has_branches(&self) -> bool {
        let taken = |event: &Event| matches!(event.op, Op::Branch { count } if count > 0);
        match &self.whole {
            Some(whole) => whole.has_branches,
            None => self.events.iter().any(taken),
        }
    }

    /// A position of the run. If the thread of this event has read, before that position, something else than in the
    /// run, then it is not known whether the thread comes to this event: in between it did something that is not in
    /// the history and may have depended on what it read.
    #[inline]
    pub(crate) fn heeds(&self, at: At) -> u32 {
        self.whole.as_ref().map_or(0, |whole| whole.heeds[at.index()])
    }

    /// How many events lie between two, in the run.
    pub(crate) fn distance(&self, first: At, second: At) -> u32 {
        self.position(second).saturating_sub(self.position(first))
    }

    /// A reordering as one of the run: what the history leaves out comes right before the next event of its thread.
    /// Nothing but that thread can tell the difference.
    pub fn lift(&self, outline: &Outline) -> Lifted {
        let Some(whole) = &self.whole else {
            let mut lifted = Lifted { kept: outline.kept(self), then: Vec::new() };
            outline.changed(self).into_iter().for_each(|at| lifted.add(at.0..at.0 + 1));
            return lifted;
        };
        // By thread: the position up to which its events have happened.
        let mut done: Vec<u32> = vec![0; self.thread_count()];
        for (index, &count) in outline.base().iter().enumerate() {
            let events = self.of_thread(ThreadId::from_index(index));
            let last = count.checked_sub(1).map(|nth| events[nth as usize]);
            done[index] = last.map_or(0, |at| whole.after(at));
        }
        let mut lifted = Lifted::default();
        let last = done.iter().copied().max().unwrap_or(0);
        for (thread, start, end) in whole.turns.since(0).take_while(|&(_, start, _)| start < last) {
            lifted.add(start..end.min(done[thread.index()]));
        }
        for &at in outline.tail() {
            let (thread, to) = (self.event(at).thread, whole.after(at));
            for (other, start, end) in whole.turns.since(done[thread.index()]) {
                if start >= to {
                    break;
                }
                if other == thread {
                    lifted.add(start..end.min(to));
                }
            }
            done[thread.index()] = to;
        }
        lifted
    }
}
