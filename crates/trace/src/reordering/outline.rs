//! Checks reorderings of long traces without stepping through all of them.
//!
//! Nearly all of a reordering is the trace itself: so many events of each thread in the order of the trace (the
//! *base*), and then a short *tail*. The tail is stepped through event by event as by
//! [`check_reordering`](super::check_reordering). That the base may be run at all needs no walk through it, because
//! the trace is a run, and what holds in its whole holds in a part of it, unless the part lacks something that one of
//! its events rests on:
//!
//! * *what an event comes after*: its thread's fork, the events of a joined thread, a notification, the write that was
//!   read. For each pair of threads that is a list that only grows, so one look at the last event of the base decides
//!   for all events before it. A read whose write is in the base has that write as its last: the trace has no other in
//!   between;
//! * *a release*: while a thread that is left inside of a critical section stands there, no other thread may enter. So
//!   the last entry of each other thread in the base must come before the position at which the first one stands;
//! * *the second half of an update*: only the last event of the base may be a first half.
//!
//! Promise: the answer of `check_reordering` for the reordering written in full, faults included. What is accepted, is
//! accepted for the reasons above; everything else is stepped through in full, so a base that is valid for a reason
//! that is not in the list costs time and nothing else ([`OutlineChecker::whole_walks`] counts them). A trace that
//! breaks the rules itself is trusted up to its first fault only.

use rustc_hash::FxHashMap;

use super::{Question, ReorderingFacts, ReorderingFault, ReorderingRule, State};
use crate::{Event, EventIdx, Hold, LockId, Op, ThreadId, VarId};

/// A reordering that is not written down: so many events of each thread in the order of the trace, then the tail.
#[derive(Clone, Copy, Debug)]
pub struct Outline<'a> {
    /// By thread; threads behind the end have none.
    pub base: &'a [u32],
    pub tail: &'a [EventIdx],
}

/// Of a thread's events, how many of another one's each needs: by count of the first, growing in both. An event needs
/// what the last entry before it or at it says.
type Needs = Vec<(u32, u32)>;

/// What the events of a thread need of others.
#[derive(Debug, Default)]
struct NeedsOf(FxHashMap<ThreadId, Needs>);

impl NeedsOf {
    /// The event at `nth` of this thread needs `count` events of another.
    fn add(&mut self, nth: u32, other: ThreadId, count: u32) {
        let list = self.0.entry(other).or_default();
        if list.last().is_none_or(|&(_, known)| known < count) {
            list.push((nth, count));
        }
    }

    /// Whether a base has what the first `done` events of this thread need.
    fn are_in(&self, done: u32, base: &[u32]) -> bool {
        self.0.iter().all(|(other, list)| {
            let place = list.partition_point(|&(nth, _)| nth < done);
            let needed = place.checked_sub(1).map_or(0, |last| list[last].1);
            needed <= base[other.index()]
        })
    }
}

/// When a thread takes a lock: the number of the event among the thread's, and in the trace.
#[derive(Debug, Default)]
struct Entries {
    all: Vec<(u32, u32)>,
    exclusive: Vec<(u32, u32)>,
}

/// Decides about reorderings of one trace.
#[derive(Debug)]
pub struct OutlineChecker<'a> {
    facts: &'a ReorderingFacts<'a>,
    /// By thread.
    synchronisation: Vec<NeedsOf>,
    reads: Vec<NeedsOf>,
    entries: FxHashMap<LockId, FxHashMap<ThreadId, Entries>>,
    /// By variable: its writes, in order, by thread.
    writes: FxHashMap<VarId, FxHashMap<ThreadId, Vec<u32>>>,
    /// Up to here the trace obeys the rules.
    sound: usize,
    whole_walks: u64,
}

impl<'a> OutlineChecker<'a> {
    pub fn new(facts: &'a ReorderingFacts<'a>) -> Self {
        let threads = facts.threads.len();
        let of_threads = || (0..threads).map(|_| NeedsOf::default()).collect();
        let mut checker = Self {
            facts,
            synchronisation: of_threads(),
            reads: of_threads(),
            entries: FxHashMap::default(),
            writes: FxHashMap::default(),
            sound: Soundness::new(facts).end(),
            whole_walks: 0,
        };
        for (index, event) in facts.events.iter().enumerate() {
            checker.learn(index, event);
        }
        checker
    }

    /// How many reorderings were stepped through in full.
    pub const fn whole_walks(&self) -> u64 {
        self.whole_walks
    }

    fn learn(&mut self, index: usize, event: &Event) {
        let (facts, thread) = (self.facts, event.thread);
        let nth = facts.nth[index];
        let own = &mut self.synchronisation[thread.index()];
        let mut needs = |at: usize| {
            own.add(nth, facts.events[at].thread, facts.nth[at] + 1);
        };
        if nth == 0
            && let Some(fork) = facts.forks[thread.index()]
        {
            needs(fork);
        }
        match event.op {
            Op::Join { child } => {
                if let Some(&last) = facts.threads.get(child.index()).and_then(|all| all.last()) {
                    needs(last as usize);
                }
            }
            Op::Resume { lock } => {
                if let Some(&(_, notify)) = facts.causes.get(&index) {
                    needs(notify);
                }
                self.enter(index, thread, lock, Hold::Exclusive);
            }
            Op::Acquire { lock, hold } => self.enter(index, thread, lock, hold),
            Op::Read { .. } => {
                if let Some(write) = facts.sources.get(index) {
                    let other = facts.events[write].thread;
                    if other != thread {
                        self.reads[thread.index()].add(nth, other, facts.nth[write] + 1);
                    }
                }
            }
            Op::Write { var, .. } => {
                let all = self.writes.entry(var).or_default();
                all.entry(thread).or_default().push(index as u32);
            }
            _ => {}
        }
    }

    fn enter(&mut self, index: usize, thread: ThreadId, lock: LockId, hold: Hold) {
        let entry = (self.facts.nth[index], index as u32);
        let own = self.entries.entry(lock).or_default().entry(thread).or_default();
        own.all.push(entry);
        if hold == Hold::Exclusive {
            own.exclusive.push(entry);
        }
    }

    /// Whether the outline is a reordering that reaches the goal.
    ///
    /// # Errors
    /// The first event that may not come next.
    pub fn check(
        &mut self,
        goal: &[EventIdx],
        outline: Outline<'_>,
        rule: ReorderingRule,
    ) -> Result<(), ReorderingFault> {
        let question = Question::new(self.facts, goal, rule)?;
        let mut base = outline.base.to_vec();
        base.resize(base.len().max(self.facts.threads.len()), 0);
        if self.is_quick(&question, &base, outline.tail) {
            return Ok(());
        }
        self.whole_walks += 1;
        self.walk(&question, &base, outline.tail)
    }

    /// Step by step, as if there were no outline.
    fn walk(
        &self,
        question: &Question<'_>,
        base: &[u32],
        tail: &[EventIdx],
    ) -> Result<(), ReorderingFault> {
        let mut state = question.start();
        let mut last = None;
        for (index, event) in self.facts.events.iter().enumerate() {
            if self.facts.nth[index] < base[event.thread.index()] {
                last = Some(index);
                question.step(&mut state, EventIdx(index as u64))?;
            }
        }
        for &at in tail {
            question.step(&mut state, at)?;
        }
        let last = tail.last().copied().or(last.map(|index| EventIdx(index as u64)));
        let wanted = question.goal.last().map(|&index| EventIdx(index as u64));
        if last == wanted && question.is_reached(&state) {
            Ok(())
        } else {
            Err(ReorderingFault::GoalNotLast)
        }
    }

    /// Whether the base may be run for the reasons above, and the tail after it. `false` says nothing.
    fn is_quick(&self, question: &Question<'_>, base: &[u32], tail: &[EventIdx]) -> bool {
        let end = tail.last().map(|at| at.0).or(self.last_of(base).map(|index| index as u64));
        // Engines make no outlines without a goal.
        if question.goal.is_empty()
            || !self.is_base(question, base)
            || end != question.goal.last().map(|&index| index as u64)
        {
            return false;
        }
        let Some(mut state) = self.state_after(question, base, tail) else { return false };
        tail.iter().all(|&at| question.step(&mut state, at).is_ok()) && question.is_reached(&state)
    }

    fn is_base(&self, question: &Question<'_>, base: &[u32]) -> bool {
        let facts = self.facts;
        let is_known = base
            .iter()
            .enumerate()
            .all(|(thread, &done)| facts.threads.get(thread).map_or(0, Vec::len) >= done as usize);
        if !is_known || self.last_of(base).is_some_and(|last| last >= self.sound) {
            return false;
        }
        let end = self.last_of(base);
        (0..facts.threads.len()).all(|thread| {
            let done = base[thread];
            let Some(last) = self.last_in(thread, done) else { return true };
            let is_whole = facts.second_half.get(last).is_none() || end == Some(last);
            is_whole
                && self.synchronisation[thread].are_in(done, base)
                && (question.rule == ReorderingRule::Lock || self.reads[thread].are_in(done, base))
                && self.is_undisturbed(thread, last, base)
        }) && self.respects(question, base)
    }

    /// The last of the first `done` events of a thread.
    fn last_in(&self, thread: usize, done: u32) -> Option<usize> {
        let nth = done.checked_sub(1)?;
        self.facts.threads[thread].get(nth as usize).map(|&index| index as usize)
    }

    /// The last event of a base.
    fn last_of(&self, base: &[u32]) -> Option<usize> {
        let threads = 0..self.facts.threads.len();
        threads.filter_map(|thread| self.last_in(thread, base[thread])).max()
    }

    /// Whether no other thread enters, after `last`, a section that the thread of `last` is left in.
    fn is_undisturbed(&self, thread: usize, last: usize, base: &[u32]) -> bool {
        let done = base[thread] as usize;
        self.facts.holds(thread, done).iter().all(|held| {
            let Some(entries) = self.entries.get(&held.lock) else { return true };
            entries.iter().filter(|(other, _)| other.index() != thread).all(|(other, entries)| {
                let list = if held.exclusive > 0 { &entries.all } else { &entries.exclusive };
                let place = list.partition_point(|&(nth, _)| nth < base[other.index()]);
                place.checked_sub(1).is_none_or(|entry| (list[entry].1 as usize) < last)
            })
        })
    }

    /// Whether what the base has of the goal is its beginning, in its order.
    fn respects(&self, question: &Question<'_>, base: &[u32]) -> bool {
        let inside = |&&index: &&usize| {
            self.facts.nth[index] < base[self.facts.events[index].thread.index()]
        };
        let first = question.goal.iter().take_while(inside).count();
        question.goal[..first].is_sorted_by(|one, other| one < other)
            && !question.goal[first..].iter().any(|index| inside(&index))
    }

    /// What has happened when the base has, as far as the tail asks.
    fn state_after(
        &self,
        question: &Question<'_>,
        base: &[u32],
        tail: &[EventIdx],
    ) -> Option<State> {
        let facts = self.facts;
        let mut state = question.start();
        let threads = state.done.iter_mut().zip(base);
        threads.for_each(|(done, &base)| *done = base as usize);
        state.pending = self.last_of(base).and_then(|last| facts.second_half.get(last));
        for at in tail {
            let index = usize::try_from(at.0).ok().filter(|&index| index < facts.events.len())?;
            match facts.events[index].op {
                Op::Read { var, .. } => {
                    let last = self.last_write(var, base);
                    state.memory[var.index()] =
                        last.and_then(|write| question.memory_of(var, write));
                }
                Op::Resume { .. } => {
                    if let Some(&(wait, notify)) = facts.causes.get(&index)
                        && question.has_happened(&state, notify)
                        && !question.has_happened(&state, wait)
                    {
                        state.missed.push(index);
                    }
                }
                _ => {}
            }
        }
        state.missed.sort_unstable();
        Some(state)
    }

    /// The last write of a variable in a base.
    fn last_write(&self, var: VarId, base: &[u32]) -> Option<usize> {
        let by_thread = self.writes.get(&var)?;
        let last = by_thread.iter().filter_map(|(thread, list)| {
            let done = base[thread.index()];
            let place = list.partition_point(|&at| self.facts.nth[at as usize] < done);
            place.checked_sub(1).map(|last| list[last] as usize)
        });
        last.max()
    }
}

/// Looks for the first event of a trace that its own order does not allow.
struct Soundness<'a> {
    facts: &'a ReorderingFacts<'a>,
    holders: FxHashMap<LockId, Vec<(ThreadId, u32, u32)>>,
}

impl<'a> Soundness<'a> {
    fn new(facts: &'a ReorderingFacts<'a>) -> Self {
        Self { facts, holders: FxHashMap::default() }
    }

    fn end(mut self) -> usize {
        let events = self.facts.events;
        let wrong = (0..events.len()).find(|&index| !self.is_allowed(index));
        wrong.unwrap_or(events.len())
    }

    /// Writes are read by those that read them, and notifications wake those that wait: what reads and wakes what is
    /// defined by the order of the trace.
    fn is_allowed(&mut self, index: usize) -> bool {
        let facts = self.facts;
        let event = &facts.events[index];
        let thread = event.thread;
        let half = index.checked_sub(1).and_then(|before| facts.second_half.get(before));
        let is_forked = facts.forks[thread.index()].is_none_or(|fork| fork < index);
        let fits = is_forked && half.is_none_or(|half| half == index);
        let allowed = match event.op {
            Op::Join { child } => {
                let last = facts.threads.get(child.index()).and_then(|all| all.last());
                last.is_none_or(|&last| (last as usize) < index)
            }
            Op::Acquire { lock, hold } => self.is_free(thread, lock, hold == Hold::Exclusive),
            Op::Resume { lock } => self.is_free(thread, lock, true),
            _ => true,
        };
        if let Op::Acquire { lock, .. }
        | Op::Resume { lock }
        | Op::Release { lock, .. }
        | Op::Wait { lock } = event.op
        {
            self.hold(index, thread, lock);
        }
        fits && allowed
    }

    fn is_free(&self, thread: ThreadId, lock: LockId, exclusive: bool) -> bool {
        let holders = self.holders.get(&lock).into_iter().flatten();
        !holders.into_iter().any(|&(other, exclusives, shared)| {
            other != thread && (exclusives > 0 || exclusive && shared > 0)
        })
    }

    fn hold(&mut self, index: usize, thread: ThreadId, lock: LockId) {
        let done = self.facts.nth[index] as usize + 1;
        let holders = self.holders.entry(lock).or_default();
        holders.retain(|(holder, ..)| *holder != thread);
        let held = self.facts.holds(thread.index(), done).iter().find(|held| held.lock == lock);
        holders.extend(held.map(|held| (thread, held.exclusive, held.shared)));
    }
}
