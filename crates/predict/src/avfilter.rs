//! AVFilter: removes predictions that break a critical read-after-write relation.
//!
//! Zeng, Sun, Liu, He, *A method for improving the precision and coverage of atomicity violation
//! predictions* (2014), Algorithm 1: five
//! tests on the accesses between the three events, and the branches between them; linear.
//!
//! Deviations. The printed algorithm is ambiguous; [`Reading::Printed`] implements it literally, [`Reading::Best`] is
//! the reading with the fewest infeasible predictions kept: branches count up to and including those
//! right before a_k, a write at a_i itself counts in the first test, a missing previous access makes the range
//! empty, a missing next access comes after everything. More than two threads: a read is looked at
//! together with the last write of whatever thread, as in print.
//!
//! Promise: none. It keeps what is infeasible and drops what is feasible, even
//! some of what identical reads-from would show; see `docs/prediction.md` for how often. It is here
//! for comparison; [`simulation`](crate::simulation) does better on both counts.

use rustc_hash::FxHashMap;
use untorn_trace::{Op, ThreadId, VarId};

use crate::answer::{Answer, Engine, UndecidedCause};
use crate::facts::HistoryIndex;
use crate::goal::Goal;
use crate::history::{At, ReadFrom};
use crate::lock_valid::{LockValid, LockValidAnswer};
use crate::simulation::Triple;

/// How to take the printed algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reading {
    Printed,
    Best,
}

/// Lock-valid prediction followed by AVFilter.
#[derive(Debug)]
pub struct AvFilter<'f, 'h> {
    facts: &'f HistoryIndex<'h>,
    reading: Reading,
    locks: LockValid<'f, 'h>,
}

impl<'f, 'h> AvFilter<'f, 'h> {
    pub fn new(facts: &'f HistoryIndex<'h>, reading: Reading) -> Self {
        Self { facts, reading, locks: LockValid::new(facts) }
    }

    /// Whether the filter lets a prediction pass. Goals that are not three events pass.
    pub fn keeps(&self, goal: &Goal) -> bool {
        let triple = Triple::of(goal, self.facts).filter(|_| goal.events.len() == 3);
        let Some(triple) = triple else { return true };
        let tests = Tests::new(self.facts, self.reading, triple);
        if triple.j > triple.i { !tests.breaks_later() } else { !tests.breaks_earlier() }
    }

    /// The lock-valid verdict, unless the filter rejects it.
    pub fn verdict(&mut self, goal: &Goal) -> LockValidAnswer {
        match self.locks.verdict(goal) {
            LockValidAnswer::Feasible(_) if !self.keeps(goal) => {
                LockValidAnswer::Undecided(UndecidedCause::Incomplete)
            }
            verdict => verdict,
        }
    }
}

impl Engine for AvFilter<'_, '_> {
    fn decide(&mut self, goal: &Goal) -> Answer {
        self.verdict(goal).into()
    }
}

/// The five tests for one prediction.
struct Tests<'f, 'h> {
    facts: &'f HistoryIndex<'h>,
    reading: Reading,
    triple: Triple,
    var: VarId,
    own: ThreadId,
    other: ThreadId,
}

impl<'f, 'h> Tests<'f, 'h> {
    fn new(facts: &'f HistoryIndex<'h>, reading: Reading, triple: Triple) -> Self {
        let var = VarId(facts.history.event(triple.j).op.target());
        let (own, other) = (facts.thread(triple.i), facts.thread(triple.j));
        Self { facts, reading, triple, var, own, other }
    }

    /// The reads of a thread, strictly inside of the bounds.
    fn reads(&self, thread: ThreadId, from: At, to: At) -> impl Iterator<Item = (At, VarId)> {
        let history = self.facts.history;
        let events = history.of_thread(thread);
        let start = events.partition_point(|&at| at <= from);
        events[start..].iter().take_while(move |&&at| at < to).filter_map(move |&at| match history
            .event(at)
            .op
        {
            Op::Read { var, .. } => Some((at, var)),
            _ => None,
        })
    }

    /// The last write before a read, and its thread.
    fn source(&self, read: At) -> Option<(At, ThreadId)> {
        match self.facts.history.read_from(read) {
            ReadFrom::Write(write) => Some((write, self.facts.thread(write))),
            ReadFrom::Initial => None,
        }
    }

    /// The accesses of `var` by `thread`, as close to `at` as possible on either side.
    fn neighbour(&self, at: At, before: bool) -> Option<At> {
        let history = self.facts.history;
        let events = history.of_thread(self.other);
        let nth = history.nth(at) as usize;
        let same = |&&at: &&At| match history.event(at).op {
            Op::Read { var, .. } | Op::Write { var, .. } => var == self.var,
            _ => false,
        };
        if before {
            events[..nth].iter().rev().find(same).copied()
        } else {
            events[nth + 1..].iter().find(same).copied()
        }
    }

    /// Whether T1 branches after the read and before k.
    fn branches_after(&self, read: At) -> bool {
        let history = self.facts.history;
        let events = history.of_thread(self.own);
        let (from, to) = (history.nth(read) as usize + 1, history.nth(self.triple.k) as usize);
        let mut branched = false;
        for &at in &events[from..to] {
            match history.event(at).op {
                Op::Branch { count } if count > 0 => branched = true,
                Op::Read { .. } | Op::Write { .. } if branched => return true,
                _ => {}
            }
        }
        // In print, what stands right before k is not between.
        branched && self.reading == Reading::Best
    }

    /// Lines 1 to 18: j came after i.
    fn breaks_later(&self) -> bool {
        let Triple { i, j, k, .. } = self.triple;
        let previous = self.neighbour(j, true);
        let own_write_since = |read: At, bound: At, at_bound: bool| {
            self.source(read).is_some_and(|(write, thread)| {
                thread == self.own && (write > bound || (at_bound && write == bound))
            })
        };
        let best = self.reading == Reading::Best;
        if let Some(previous) = previous
            && self
                .reads(self.other, i, At(previous.0 + 1))
                .any(|(read, _)| own_write_since(read, i, best))
        {
            return true;
        }
        if self.reads(self.other, k, j).any(|(read, _)| own_write_since(read, k, false)) {
            return true;
        }
        previous.is_some_and(|previous| self.overwritten(i, k, previous))
    }

    /// Lines 12 to 17: a write of T2 that moves before a read of T1 that matters.
    fn overwritten(&self, i: At, k: At, previous: At) -> bool {
        let history = self.facts.history;
        let events = history.of_thread(self.other);
        let mut last: FxHashMap<VarId, At> = FxHashMap::default();
        let start = events.partition_point(|&at| at <= i);
        for &at in events[start..].iter().take_while(|&&at| at <= previous) {
            if let Op::Write { var, .. } = history.event(at).op {
                last.insert(var, at);
            }
        }
        let first = Some(i).filter(|&i| matches!(history.event(i).op, Op::Read { .. }));
        let first = first.map(|i| (i, VarId(history.event(i).op.target())));
        let mut reads = first.into_iter().chain(self.reads(self.own, i, k));
        reads.any(|(read, var)| {
            // The first write after the read is at or before `previous` iff the last one there is
            // after the read.
            last.get(&var).is_some_and(|&write| write > read) && self.branches_after(read)
        })
    }

    /// Lines 19 to 33: j came before i.
    fn breaks_earlier(&self) -> bool {
        let Triple { i, j, k, .. } = self.triple;
        let mut moved = self.reads(self.own, j, At(i.0 + 1));
        if moved.any(|(read, _)| {
            self.source(read).is_some_and(|(write, thread)| write >= j && thread == self.other)
        }) {
            return true;
        }
        let Some(next) = self.neighbour(j, false) else { return false };
        self.reads(self.own, i, k).any(|(read, var)| {
            let writes = self.facts.history.writes(var);
            let before = writes.partition_point(|&write| write < read);
            let mut writes = writes[..before].iter().rev().take_while(|&&write| write > next);
            writes.any(|&write| self.facts.thread(write) == self.other) && self.branches_after(read)
        })
    }
}
