//! Which part of a history a question is about.
//!
//! A *zone* fixes how many events of each thread have happened before the question begins (they run
//! in the order of the history) and up to where each thread may run. The zone that begins with
//! nothing and holds everything that a reordering could need is *whole*: if it has no reordering, there is none.

use untorn_trace::{Op, ThreadId, VarId};

use crate::closure::close;
use crate::goal::Goal;
use crate::history::{At, ReadFrom};
use crate::index::{Cut, Index, ReadConstraint};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Zone {
    /// What has happened; can be run in the order of the history.
    pub(crate) base: Cut,
    /// How far each thread may run.
    pub(crate) limit: Cut,
    /// No reordering in here means no reordering at all.
    pub(crate) is_whole: bool,
}

impl Zone {
    /// Everything that a reordering could need. `None` if that is more than `most` events.
    pub(crate) fn whole(index: &Index<'_>, goal: &Goal, most: u32) -> Option<Self> {
        let base = vec![0; index.history.thread_count()];
        let mut cone = Cone::new(index, goal, base.clone(), most);
        let is_whole = cone.grow();
        is_whole.then_some(Self { base, limit: cone.limit, is_whole })
    }

    /// The last `back` events of each thread of the goal before it, and what they need; of what more
    /// could be of use, as much as `most` events allow. `None` if what would have happened before
    /// contradicts the goal.
    pub(crate) fn late(index: &Index<'_>, goal: &Goal, back: u32, most: u32) -> Option<Self> {
        let history = index.history;
        let mut base = vec![0; history.thread_count()];
        for &at in &goal.events {
            let thread = history.event(at).thread;
            let first = |&&e: &&At| history.event(e).thread == thread;
            if goal.events.iter().find(first) != Some(&at) {
                continue;
            }
            let around = index.held(thread, history.nth(at)).iter();
            let enter = around.map(|&id| index.section(id).enter).min().unwrap_or(at);
            let done = history.nth(enter.min(at)).saturating_sub(back);
            if let Some(last) = done.checked_sub(1) {
                let last = history.of_thread(thread)[last as usize];
                index.needs.add(history, &mut base, last);
            }
        }
        if !close(index, &mut base) || goal.events.iter().any(|&at| index.contains(&base, at)) {
            return None;
        }
        let mut cone = Cone::new(index, goal, base.clone(), most);
        cone.is_partial = true;
        cone.grow();
        let has_goal = goal.events.iter().all(|&at| index.contains(&cone.limit, at));
        has_goal.then_some(Self { base, limit: cone.limit, is_whole: false })
    }

    /// The events of a thread that are neither done nor out of reach.
    pub(crate) fn of_thread<'a>(&self, index: &Index<'a>, thread: ThreadId) -> &'a [At] {
        let (from, to) = (self.base[thread.index()], self.limit[thread.index()]);
        &index.history.of_thread(thread)[from as usize..to as usize]
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.base.len() as u32).map(ThreadId)
    }

    pub(crate) fn contains(&self, index: &Index<'_>, at: At) -> bool {
        index.contains(&self.limit, at) && !index.contains(&self.base, at)
    }
}

/// A set that grows by everything that its events could need.
struct Cone<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    base: Cut,
    limit: Cut,
    /// Up to where the needs of each thread's events are in it.
    looked_at: Cut,
    most: u32,
    /// What is too much is left out, instead of giving up. Then of the writes that a read could read
    /// from, only a few of each thread are tried.
    is_partial: bool,
    /// Something was left out, because it is too much or beyond the end of the goal.
    cut_short: bool,
}

impl<'i, 'a> Cone<'i, 'a> {
    fn new(index: &'i Index<'a>, goal: &'i Goal, base: Cut, most: u32) -> Self {
        let (limit, looked_at) = (base.clone(), base.clone());
        Self { index, goal, base, limit, looked_at, most, is_partial: false, cut_short: false }
    }

    /// Returns whether everything found its place.
    fn grow(&mut self) -> bool {
        for &at in &self.goal.events {
            self.index.must().add_past(self.index.history, &mut self.limit, at);
            let event = self.index.history.event(at);
            let own = &mut self.limit[event.thread.index()];
            *own = (*own).max(self.index.history.nth(at) + 1);
        }
        self.cap();
        if self.size() > self.most {
            return false;
        }
        loop {
            let before = self.limit.clone();
            for thread in (0..self.limit.len()).map(|t| ThreadId(t as u32)) {
                self.look_at(thread);
                self.finish_sections(thread);
            }
            if self.limit == before {
                return !self.cut_short && self.size() <= self.most;
            }
            if self.cut_short && !self.is_partial {
                return false;
            }
        }
    }

    fn size(&self) -> u32 {
        self.limit.iter().zip(&self.base).map(|(limit, base)| limit.saturating_sub(*base)).sum()
    }

    /// Nothing after the last event of the goal is useful.
    fn cap(&mut self) {
        if let Some(&last) = self.goal.events.last() {
            let own = &mut self.limit[self.index.history.event(last).thread.index()];
            *own = (*own).min(self.index.history.nth(last) + 1);
        }
    }

    fn add(&mut self, at: At) {
        if self.index.contains(&self.limit, at) {
            return;
        }
        let before = self.limit.clone();
        self.index.must().add(self.index.history, &mut self.limit, at);
        self.cap();
        if self.size() > self.most {
            self.limit = before;
            self.cut_short = true;
        }
    }

    fn look_at(&mut self, thread: ThreadId) {
        let history = self.index.history;
        while self.looked_at[thread.index()] < self.limit[thread.index()] {
            let done = self.looked_at[thread.index()];
            let at = history.of_thread(thread)[done as usize];
            let is_last = done + 1 == self.limit[thread.index()];
            // What a read of the goal reads matters only if its thread continues.
            if is_last && self.goal.events.contains(&at) && history.second_half(at).is_none() {
                return;
            }
            self.looked_at[thread.index()] = done + 1;
            if let Some(second) = history.second_half(at) {
                self.add(second);
            }
            if let Op::Read { var, .. } = history.event(at).op {
                self.add_sources(at, var);
            }
        }
    }

    fn add_sources(&mut self, read: At, var: VarId) {
        match self.index.wanted(read) {
            Some(ReadConstraint::Source(ReadFrom::Write(write))) => self.add(write),
            Some(ReadConstraint::Value(value)) => {
                let (index, history) = (self.index, self.index.history);
                if let ReadFrom::Write(write) = history.read_from(read) {
                    self.add(write);
                }
                for (thread, list) in index.writes_alike(var, value) {
                    let done = self.base[thread.index()];
                    let from = list.partition_point(|&at| history.nth(At(at)) < done);
                    let many = if self.is_partial { 2 } else { usize::MAX };
                    for write in list[from..].iter().take(many).map(|&at| At(at)) {
                        let own = history.event(read).thread == thread && write > read;
                        if own || (self.cut_short && !self.is_partial) {
                            break;
                        }
                        self.add(write);
                    }
                }
            }
            _ => {}
        }
    }

    /// A thread that blocks another must be able to release what it holds.
    fn finish_sections(&mut self, thread: ThreadId) {
        let index = self.index;
        for &id in index.held(thread, self.limit[thread.index()]) {
            let section = index.section(id);
            let wanted = index.rivals(section).any(|(other, list)| {
                let last = index.last_entered(list, self.limit[other.index()]);
                let base = self.base[other.index()];
                last.is_some_and(|rival| index.history.nth(index.section(rival).enter) >= base)
            });
            if let (true, Some(leave)) = (wanted, section.leave) {
                self.add(leave);
            }
        }
    }
}
