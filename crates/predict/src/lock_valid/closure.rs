//! What a goal forces: which events must happen, and which must happen before which.
//!
//! The history itself obeys every rule, so only an order against it can force anything new. An edge
//! means that its source happens before its target; those against the history are few.

use smallvec::SmallVec;
use untorn_trace::{LockId, ThreadId};

use crate::facts::{HistoryIndex, SectionId};
use crate::goal::Goal;
use crate::history::{At, Section};

/// Sections examined for one goal before giving up.
const BUDGET: u32 = 400_000;

pub(super) enum Refuted {
    /// There is no reordering.
    Proven,
    /// Nothing is known.
    Budget,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) source: At,
    pub(super) target: At,
}

#[derive(Debug)]
pub(super) struct Closure<'f, 'h> {
    facts: &'f HistoryIndex<'h>,
    /// The end of the reordering.
    last: At,
    /// By thread: how many of its events must happen.
    pub(super) extent: Vec<u32>,
    pub(super) edges: SmallVec<[Edge; 8]>,
    budget: u32,
}

impl<'f, 'h> Closure<'f, 'h> {
    pub(super) fn new(facts: &'f HistoryIndex<'h>, goal: &Goal) -> Result<Self, Refuted> {
        let last = *goal.events.last().ok_or(Refuted::Proven)?;
        let extent = vec![0; facts.history.thread_count()];
        let mut closure = Self { facts, last, extent, edges: SmallVec::new(), budget: BUDGET };
        for &at in &goal.events {
            closure.require(at)?;
        }
        for pair in goal.events.windows(2) {
            closure.add(pair[0], pair[1])?;
        }
        closure.saturate()?;
        Ok(closure)
    }

    /// The event must happen, and all that comes before it in any case.
    fn require(&mut self, at: At) -> Result<(), Refuted> {
        self.facts.clocks.join_into(at, self.facts.history, &mut self.extent);
        let (thread, nth) = (self.facts.thread(self.last), self.facts.history.nth(self.last));
        if self.extent[thread.index()] > nth + 1 { Err(Refuted::Proven) } else { Ok(()) }
    }

    /// By thread: how many of its events must happen before the event, or are it.
    fn before(&self, at: At) -> Vec<u32> {
        let mut prefix = vec![0; self.extent.len()];
        self.facts.clocks.join_into(at, self.facts.history, &mut prefix);
        let within = |prefix: &[u32], at: At| {
            prefix[self.facts.thread(at).index()] > self.facts.history.nth(at)
        };
        loop {
            let mut grown = false;
            for edge in &self.edges {
                if within(&prefix, edge.target) && !within(&prefix, edge.source) {
                    self.facts.clocks.join_into(edge.source, self.facts.history, &mut prefix);
                    grown = true;
                }
            }
            if !grown {
                return prefix;
            }
        }
    }

    /// Adds an order; refutes the goal if the opposite is forced.
    fn add(&mut self, source: At, target: At) -> Result<bool, Refuted> {
        let history = self.facts.history;
        // Nothing gets between the halves of an update.
        let mut edge = Edge { source, target };
        if self.facts.thread(source) != self.facts.thread(target) {
            if self.facts.is_update_read(source) {
                edge.source = history.next(source).unwrap_or(source);
            }
            let previous = history.previous(target);
            edge.target =
                previous.filter(|&read| self.facts.is_update_read(read)).unwrap_or(target);
        }
        let Edge { source, target } = edge;
        let place = |at: At| self.facts.thread(at).index();
        if source == target || self.before(source)[place(target)] > history.nth(target) {
            return Err(Refuted::Proven);
        }
        if self.before(target)[place(source)] > history.nth(source) {
            return Ok(false);
        }
        self.edges.push(edge);
        self.require(source)?;
        self.require(target)?;
        Ok(true)
    }

    fn saturate(&mut self) -> Result<(), Refuted> {
        loop {
            let mut grown = false;
            for index in 0..self.edges.len() {
                let target = self.edges[index].target;
                let prefix =
                    if target == self.last { self.extent.clone() } else { self.before(target) };
                grown |= self.sections(target, &prefix)?;
            }
            // All of the reordering comes before its end, whatever the edges are.
            grown |= self.sections(self.last, &self.extent.clone())?;
            if !grown {
                return Ok(());
            }
        }
    }

    /// `prefix` happens before `target`: finds the sections in it that must be left before sections
    /// around or after the target are entered.
    ///
    /// The sections of one lock follow each other in a thread, so for each lock the last one of the
    /// prefix and the first one at or after the target are enough: program order implies the rest.
    fn sections(&mut self, target: At, prefix: &[u32]) -> Result<bool, Refuted> {
        let (facts, history) = (self.facts, self.facts.history);
        let own = facts.thread(target);
        let mut grown = false;
        let mut firsts: Option<FirstSectionsByLock> = None;
        for (index, &count) in prefix.iter().enumerate() {
            let Some(nth) = count.checked_sub(1).filter(|_| index != own.index()) else { continue };
            let other = ThreadId::from_index(index);
            let source = history.of_thread(other)[nth as usize];
            if source < target {
                continue;
            }
            let firsts = firsts.get_or_insert_with(|| self.left_after(target));
            let sections = facts.holds.sections_of(other);
            let end = sections.partition_point(|&id| facts.section(id).enter <= source);
            // By entry of `firsts`: whether the last section of each side has been seen.
            let mut seen: SmallVec<[[bool; 2]; 8]> = SmallVec::from_elem([false; 2], firsts.len());
            let mut open = firsts.len();
            for &id in sections[..end].iter().rev() {
                self.budget = self.budget.checked_sub(1).ok_or(Refuted::Budget)?;
                let entered = facts.section(id);
                if entered.enter < target || open == 0 {
                    break;
                }
                let Some(place) = firsts.iter().position(|first| first.lock == entered.lock) else {
                    continue;
                };
                let side = usize::from(entered.shared);
                // An exclusive one excludes whatever a shared one before it excludes.
                if seen[place][0] || std::mem::replace(&mut seen[place][side], true) {
                    continue;
                }
                open -= usize::from(!entered.shared);
                let first =
                    if entered.shared { firsts[place].exclusive } else { firsts[place].any };
                let left = first.map(|id| facts.section(id));
                if let Some(left) = left
                    && left.leave.is_some_and(|at| at < entered.enter)
                {
                    let leave = entered.leave.ok_or(Refuted::Proven)?;
                    grown |= self.add(leave, left.enter)?;
                }
            }
        }
        Ok(grown)
    }

    /// By lock, the first sections of the target's thread that are left at or after it.
    fn left_after(&self, target: At) -> FirstSectionsByLock {
        let thread = self.facts.thread(target);
        let sections = self.facts.holds.sections_of(thread);
        let start = sections.partition_point(|&id| self.facts.section(id).enter <= target);
        let extent = self.extent[thread.index()];
        let needed = sections[start..]
            .iter()
            .take_while(|&&id| self.facts.history.nth(self.facts.section(id).enter) < extent);
        let mut firsts = FirstSectionsByLock::new();
        for &id in self.facts.holds.at(target).iter().chain(needed) {
            let Section { lock, shared, .. } = *self.facts.section(id);
            let place = firsts.iter().position(|first| first.lock == lock).unwrap_or_else(|| {
                firsts.push(FirstSections { lock, any: None, exclusive: None });
                firsts.len() - 1
            });
            firsts[place].any.get_or_insert(id);
            if !shared {
                firsts[place].exclusive.get_or_insert(id);
            }
        }
        firsts
    }
}

/// The first sections of a lock: of either side, and of the exclusive one.
#[derive(Debug)]
struct FirstSections {
    lock: LockId,
    any: Option<SectionId>,
    exclusive: Option<SectionId>,
}

type FirstSectionsByLock = SmallVec<[FirstSections; 8]>;
