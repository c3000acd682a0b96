//! Reorderings that are not written down: nearly all of one is the history as it was.

use untorn_trace::{Op, ThreadId, VarId};

use crate::answer::Reordering;
use crate::history::{At, History, ReadFrom};
use crate::index::Cut;

/// So many events of each thread in the order of the history, and what follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outline {
    /// How many events of each thread come first.
    base: Cut,
    tail: Vec<At>,
}

impl Outline {
    pub(crate) fn new(base: Cut, tail: Vec<At>) -> Self {
        Self { base, tail }
    }

    /// The history before a position, then these events.
    pub(crate) fn after(history: &History, cut: At, tail: Vec<At>) -> Self {
        let threads = (0..history.thread_count()).map(ThreadId::from_index);
        let done = |thread| history.of_thread(thread).partition_point(|&at| at < cut) as u32;
        Self { base: threads.map(done).collect(), tail }
    }

    /// All of a reordering, written down before.
    pub fn of(history: &History, reordering: Reordering) -> Self {
        Self { base: vec![0; history.thread_count()], tail: reordering.steps }
    }

    /// How many events of each thread come first, in the order of the history.
    pub fn base(&self) -> &[u32] {
        &self.base
    }

    /// What follows.
    pub fn tail(&self) -> &[At] {
        &self.tail
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.total() as usize + self.tail.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn total(&self) -> u32 {
        self.base.iter().sum()
    }

    /// How much of the beginning of the history stays as it was.
    pub fn kept(&self, history: &History) -> u32 {
        let whole = self.whole(history);
        let total = self.total();
        if whole < total {
            return whole;
        }
        let same = self.tail.iter().zip(whole..).take_while(|(at, place)| at.0 == *place);
        whole + same.count() as u32
    }

    /// What follows after as much of the history as stays as it was.
    pub fn changed(&self, history: &History) -> Vec<At> {
        let kept = self.kept(history);
        let total = self.total();
        let mut steps = self.rest_of_base(history, kept.min(total));
        let from = kept.saturating_sub(total) as usize;
        steps.extend_from_slice(&self.tail[from..]);
        steps
    }

    /// The reordering, event by event.
    pub fn reordering(&self, history: &History) -> Reordering {
        let whole = self.whole(history);
        let mut steps: Vec<At> = (0..whole).map(At).collect();
        steps.extend(self.rest_of_base(history, whole));
        steps.extend_from_slice(&self.tail);
        Reordering { steps }
    }

    /// Up to here no event is left out.
    fn whole(&self, history: &History) -> u32 {
        let next = |thread: usize| {
            let all = history.of_thread(ThreadId::from_index(thread));
            all.get(self.base[thread] as usize).copied()
        };
        let first = (0..self.base.len()).filter_map(next).min();
        first.map_or(history.len() as u32, |at| at.0)
    }

    fn rest_of_base(&self, history: &History, whole: u32) -> Vec<At> {
        let total = self.total();
        let count = total.saturating_sub(whole) as usize;
        let rest = (whole..history.len() as u32).map(At).filter(|&at| self.is_in_base(history, at));
        rest.take(count).collect()
    }

    fn is_in_base(&self, history: &History, at: At) -> bool {
        history.nth(at) < self.base[history.event(at).thread.index()]
    }

    /// The last event of a thread, and where it stands in the tail.
    fn last_of(&self, history: &History, thread: ThreadId) -> Option<(At, Option<usize>)> {
        let place = self.tail.iter().rposition(|&at| history.event(at).thread == thread);
        if let Some(place) = place {
            return Some((self.tail[place], Some(place)));
        }
        let nth = self.base.get(thread.index())?.checked_sub(1)?;
        Some((history.of_thread(thread)[nth as usize], None))
    }

    /// The last event of a thread, and what it reads if it is a read.
    pub(crate) fn last_with_source(
        &self,
        history: &History,
        thread: ThreadId,
    ) -> Option<(At, ReadFrom)> {
        let (last, place) = self.last_of(history, thread)?;
        let Op::Read { var, .. } = history.event(last).op else {
            return Some((last, ReadFrom::Initial));
        };
        Some((last, self.source(history, last, var, place)))
    }

    /// What a read reads there.
    fn source(&self, history: &History, read: At, var: VarId, place: Option<usize>) -> ReadFrom {
        let wrote =
            |&&at: &&At| matches!(history.event(at).op, Op::Write { var: of, .. } if of == var);
        if let Some(write) = self.tail[..place.unwrap_or(0)].iter().rev().find(wrote) {
            return ReadFrom::Write(*write);
        }
        // Everything of the base comes before the tail.
        let end = if place.is_some() { At(u32::MAX) } else { read };
        let writes = history.writes(var).iter().rev().copied();
        let last = writes.filter(|&at| at < end).find(|&at| self.is_in_base(history, at));
        last.map_or(ReadFrom::Initial, ReadFrom::Write)
    }
}
