//! Answers most goals at once: a closed set of events in the order of the history, then a short tail.
//!
//! After the closure of Mathur, Pavlogiannis and Viswanathan (*Optimal prediction of
//! synchronization-preserving races*, POPL 2021): a set of events that contains with each event what
//! it needs (earlier events of its thread, fork, joined threads, notification, the write it read
//! from), and that contains the end of a critical section if a later section of the same lock is in
//! it, can be run in the order of the history.
//!
//! Deviations. A race needs two events enabled at once; a goal needs events in a given order.
//! So the closure is taken of what comes *before* the goal in each of its threads, at several
//! places (right before its first event there, before the locks around it, before its last event,
//! where fewest locks are held), and from there threads are run on towards the goal, event by
//! event: a thread that needs a lock, a write or a fork lets its owner run to that point first. The tail may
//! reverse critical sections, the set may not. Sets are one number a thread; clocks
//! ([`Clocks`](crate::index::Clocks)) and sorted lists replace walking through the events.
//!
//! Promise: every `Feasible` is a reordering, for every strength. `Infeasible` is returned only where that is a proof:
//! the goal contradicts what must be ordered in every reordering, a lock is held around it, or an update
//! would be split. Everything else is `Undecided(Incomplete)`. Microseconds a goal, whatever the
//! length of the history; writing down the reordering costs a nanosecond or two an event.

mod proof;
mod tail;

use smallvec::SmallVec;
use untorn_trace::ThreadId;

use crate::answer::{Answer, Engine, Strength, UndecidedCause};
use crate::goal::Goal;
use crate::history::{At, History};
use crate::index::{Cut, Index};
use crate::outline::Outline;

use tail::Tail;

/// Ways to start that are tried for one goal.
const MAX_STARTS: usize = 12;

/// The answer of the closure alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClosureAnswer {
    Feasible(Outline),
    Infeasible,
    Unknown,
}

/// The engine.
#[derive(Debug)]
pub struct Closure<'a> {
    index: Index<'a>,
}

impl<'a> Closure<'a> {
    pub fn new(history: &'a History, strength: Strength) -> Self {
        Self { index: Index::new(history, strength) }
    }

    pub(crate) fn index(&self) -> &Index<'a> {
        &self.index
    }

    /// The answer, with a reordering that is not written down yet.
    pub fn verdict(&self, goal: &Goal) -> ClosureAnswer {
        if proof::is_impossible(&self.index, goal) {
            return ClosureAnswer::Infeasible;
        }
        let starts = Starts::of(&self.index, goal);
        let mut base: Cut = vec![0; self.index.history.thread_count()];
        for start in starts.combinations() {
            base.fill(0);
            if let Some(outline) = self.attempt(goal, &start, &mut base) {
                return ClosureAnswer::Feasible(outline);
            }
        }
        ClosureAnswer::Unknown
    }

    fn attempt(&self, goal: &Goal, start: &[(ThreadId, u32)], base: &mut Cut) -> Option<Outline> {
        let index = &self.index;
        for &(thread, done) in start {
            if let Some(last) = done.checked_sub(1) {
                let at = index.history.of_thread(thread)[last as usize];
                index.needs.add(index.history, base, at);
            }
        }
        if !close(index, base) || !self.respects(goal, base) {
            return None;
        }
        let tail = Tail::new(index, goal, base).run()?;
        Some(Outline::new(base.clone(), tail))
    }

    /// Whether the events of the goal that are in the set are its first ones and come in its order,
    /// and not all of them are.
    fn respects(&self, goal: &Goal, base: &Cut) -> bool {
        let inside = |at: &&At| self.index.contains(base, **at);
        let first = goal.events.iter().take_while(inside).count();
        first < goal.events.len()
            && !goal.events[first..].iter().any(|at| inside(&at))
            && goal.events[..first].is_sorted()
    }
}

impl Engine for Closure<'_> {
    fn decide(&mut self, goal: &Goal) -> Answer {
        match self.verdict(goal) {
            ClosureAnswer::Feasible(outline) => {
                Answer::Feasible(outline.reordering(self.index.history))
            }
            ClosureAnswer::Infeasible => Answer::Infeasible,
            ClosureAnswer::Unknown => Answer::Undecided(UndecidedCause::Incomplete),
        }
    }
}

/// Adds to a set what is missing for it to run in the order of the history. `false` if nothing can
/// help: a section that never ends precedes another of its lock.
pub(crate) fn close(index: &Index<'_>, cut: &mut Cut) -> bool {
    let history = index.history;
    loop {
        let mut grown = false;
        for thread in (0..cut.len()).map(|t| ThreadId(t as u32)) {
            let Some(last) = cut[thread.index()].checked_sub(1) else { continue };
            let last = history.of_thread(thread)[last as usize];
            if let Some(second) = history.second_half(last) {
                grown |= index.needs.add(history, cut, second);
            }
            let held = index.held(thread, cut[thread.index()]);
            for &id in held {
                let section = index.section(id);
                let overtaken = index.rivals(section).any(|(other, list)| {
                    let last = index.last_entered(list, cut[other.index()]);
                    last.is_some_and(|rival| index.section(rival).enter > section.enter)
                });
                if overtaken {
                    let Some(leave) = section.leave else { return false };
                    grown |= index.needs.add(history, cut, leave);
                }
            }
        }
        if !grown {
            return true;
        }
    }
}

/// A place for each thread of a goal: how many of its events have happened.
type Start = SmallVec<[(ThreadId, u32); 3]>;

/// Where the threads of a goal may stand when the tail begins.
struct Starts {
    threads: SmallVec<[(ThreadId, SmallVec<[u32; 4]>); 3]>,
}

impl Starts {
    fn of(index: &Index<'_>, goal: &Goal) -> Self {
        let mut threads: SmallVec<[(ThreadId, SmallVec<[u32; 4]>); 3]> = SmallVec::new();
        for &first in &goal.events {
            let thread = index.history.event(first).thread;
            if threads.iter().any(|(known, _)| *known == thread) {
                continue;
            }
            let same = |at: &&At| index.history.event(**at).thread == thread;
            let last = goal.events.iter().rfind(same).copied().unwrap_or(first);
            threads.push((thread, places(index, first, last)));
        }
        Self { threads }
    }

    /// All combinations, the likely ones first: the more threads are at their first place.
    fn combinations(&self) -> Vec<Start> {
        let mut all: Vec<(usize, Start)> = vec![(0, SmallVec::new())];
        for (thread, places) in &self.threads {
            let mut longer = Vec::with_capacity(all.len() * places.len());
            for (rank, start) in &all {
                for (i, &place) in places.iter().enumerate() {
                    let mut start = start.clone();
                    start.push((*thread, place));
                    longer.push((rank + i, start));
                }
            }
            longer.sort_by_key(|(rank, _)| *rank);
            longer.truncate(MAX_STARTS);
            all = longer;
        }
        all.into_iter().map(|(_, start)| start).collect()
    }
}

/// Places before a thread's first event of the goal, or between that and its last one.
fn places(index: &Index<'_>, first: At, last: At) -> SmallVec<[u32; 4]> {
    let history = index.history;
    let before = |at: At| history.nth(history.first_half(at).unwrap_or(at));
    let thread = history.event(first).thread;
    let mut places: SmallVec<[u32; 4]> = SmallVec::new();
    let mut offer = |place: u32| {
        if !places.contains(&place) {
            places.push(place);
        }
    };
    offer(before(first));
    if last != first {
        offer(before(last));
        offer(freest(index, first, last));
    }
    let around = index.held(thread, history.nth(first)).iter();
    if let Some(enter) = around.map(|&id| index.section(id).enter).min() {
        offer(before(enter));
    }
    places
}

/// The latest place after `first` and not after `last` at which the thread holds fewest locks.
fn freest(index: &Index<'_>, first: At, last: At) -> u32 {
    let history = index.history;
    let thread = history.event(first).thread;
    let range = history.nth(first) + 1..=history.nth(last);
    // Long blocks would make this the slowest part; the last part of one is as good.
    let start = (*range.start()).max(range.end().saturating_sub(256));
    let fewest = (start..=*range.end()).rev().min_by_key(|&done| index.held(thread, done).len());
    let place = fewest.unwrap_or(history.nth(last));
    let at = history.of_thread(thread)[place as usize];
    history.nth(history.first_half(at).unwrap_or(at))
}
