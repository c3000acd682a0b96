//! Two passes: a cheap one that finds where a cycle could be, a precise one that checks only there.
//!
//! The idea is DoubleChecker's (Biswas, Huang, Sengupta and Bond, PLDI 2014): a first run finds
//! strongly connected transactions imprecisely and remembers their static code; a second run checks
//! only that code. Here both passes read the same trace, and the first one needs neither clocks nor
//! a graph.
//!
//! # The first pass
//!
//! [`SccFilter`] keeps *groups* of transactions. Every transaction starts as a separate group. A
//! group is alive while one of its transactions is open. Whenever a conflict edge F → T is found
//! (from the last writer, from the readers since, by program order, by fork or join) and F's
//! group is alive, the two groups become one. Call the moment at which an edge is found its time.
//! If T had given an edge before, at time g, then all edges that its group found since g become
//! *hot*; and if F and T were in one group already, the group becomes *suspicious*. When a
//! suspicious group dies, the code (of the targets) and the causes (variables, locks, children) of
//! its hot edges are suspects.
//!
//! *Every cycle of found edges consists of suspects.*
//!
//! 1. If X reaches A by edges found so far and X is open, they are in one group. By induction on the
//!    length of the path, whose last edge Y → A was found at t. If all edges before it were found
//!    earlier, X and Y were in one group at t, and it was alive. Otherwise take the last one of
//!    them that was found after t; its target Z was open at t, having an operation later and, as
//!    source of the path's next edge, one before. From Z to Y all edges were found before t, so Y
//!    was in Z's group, and that was alive. Either way the edge Y → A made one group of the two.
//! 2. Let F → X be the edge of a cycle that was found last. X is open, it reaches F by edges found
//!    before, so both were in one group already, and X had given an edge. So the group is
//!    suspicious. By (1) it holds the whole cycle, and what is hot in parts of it stays hot.
//! 3. Let P → Q be an edge of the cycle, found at t. Go backwards from P along the cycle, as long as
//!    the edges were found before t, to a transaction Y that gave its edge at g ≤ t and took its own
//!    not before t (at the latest, this is the X of (2)). When Y takes that edge, it is open and
//!    reaches Q, so by (1) P → Q is in its group, found since g, and becomes hot.
//!
//! Well-locked code takes before it gives, so it heats nothing and costs little. Memory: the
//! hot sets of the groups alive, of which there are at most as many as threads; the last edge of each
//! group for each code and cause; a number for each last access. Nothing grows with the trace.
//!
//! # The second pass
//!
//! [`Filtered`] shows its checker begins, ends, forks and joins, and otherwise only operations of
//! suspicious code on suspicious places. *The verdict is that of the whole trace, and so is the
//! first violating event.* The edges found in pass one reach what all conflict edges reach, so a
//! prefix of the trace has a cycle iff it has one of found edges; both operations of each of its
//! edges are in suspicious code and on a suspicious place, and are kept (for fork and join:
//! the child's operation is a begin or an end, or outside of blocks, and kept because the child is
//! suspicious). Conversely, an edge between kept operations is an edge of the whole trace.
//! Operations that are hidden are replaced by an event without meaning, so positions stay right.
//!
//! Promise: never misses, never invents, given a precise second checker that does neither.

mod filter;
mod groups;

use std::ops::ControlFlow;

use rustc_hash::FxHashSet;
use untorn_trace::{
    Event, EventIdx, LabelId, LockId, Op, SiteId, Source, ThreadId, TraceError, VarId,
};

use crate::{Checker, Outcome};
pub use filter::SccFilter;

/// Static code: what a transaction is an execution of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Code {
    /// Blocks of this name.
    Block(LabelId),
    /// Blocks without a name that begin at this place.
    BlockAt(SiteId),
    /// What a thread does outside of blocks.
    Outside(ThreadId),
}

impl Code {
    fn of_block(label: LabelId, site: SiteId) -> Self {
        if label == LabelId::NONE { Self::BlockAt(site) } else { Self::Block(label) }
    }
}

/// Why transactions depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Cause {
    Var(VarId),
    Lock(LockId),
    /// This thread was forked or joined.
    Child(ThreadId),
}

/// What the first pass could not acquit.
#[derive(Clone, Debug, Default)]
pub struct Suspects {
    codes: FxHashSet<Code>,
    causes: FxHashSet<Cause>,
}

impl Suspects {
    /// No suspects: the trace is serializable.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The suspicious code, in order.
    pub fn codes(&self) -> Vec<Code> {
        let mut codes: Vec<_> = self.codes.iter().copied().collect();
        codes.sort_unstable();
        codes
    }

    /// The places of suspicious conflicts, in order.
    pub fn causes(&self) -> Vec<Cause> {
        let mut causes: Vec<_> = self.causes.iter().copied().collect();
        causes.sort_unstable();
        causes
    }
}

/// The second pass: a checker that sees only what is suspicious.
#[derive(Debug)]
pub struct Filtered<C> {
    inner: C,
    suspects: Suspects,
    threads: Vec<Position>,
    shown: Vec<Event>,
    kept: u64,
}

/// Where in its code a thread is.
#[derive(Clone, Copy, Debug)]
struct Position {
    depth: u32,
    /// Whether the current code is suspicious.
    suspicious: bool,
}

impl<C: Checker> Filtered<C> {
    pub fn new(inner: C, suspects: Suspects) -> Self {
        Self { inner, suspects, threads: Vec::new(), shown: Vec::new(), kept: 0 }
    }

    /// How many operations the inner checker has seen.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    fn shows(&mut self, event: &Event) -> bool {
        let thread = event.thread;
        for new in self.threads.len()..=thread.index() {
            let code = Code::Outside(ThreadId::from_index(new));
            let suspicious = self.suspects.codes.contains(&code);
            self.threads.push(Position { depth: 0, suspicious });
        }
        let position = &mut self.threads[thread.index()];
        let suspect = |cause| self.suspects.causes.contains(&cause);
        let suspicious_place = match event.op {
            Op::Begin { label, .. } => {
                if position.depth == 0 {
                    let code = Code::of_block(label, event.site);
                    position.suspicious = self.suspects.codes.contains(&code);
                }
                position.depth += 1;
                return true;
            }
            Op::End { .. } => {
                position.depth = position.depth.saturating_sub(1);
                if position.depth == 0 {
                    position.suspicious = self.suspects.codes.contains(&Code::Outside(thread));
                }
                return true;
            }
            // A child outside of blocks runs between its fork and its join by any operation.
            _ if position.suspicious && position.depth == 0 && suspect(Cause::Child(thread)) => {
                return true;
            }
            Op::Read { var, .. } | Op::Write { var, .. } => Cause::Var(var),
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Wait { lock }
            | Op::Resume { lock } => Cause::Lock(lock),
            _ => return true,
        };
        position.suspicious && suspect(suspicious_place)
    }
}

impl<C: Checker> Checker for Filtered<C> {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        let mut shown = std::mem::take(&mut self.shown);
        shown.clear();
        for event in batch {
            let op = if self.shows(event) {
                self.kept += u64::from(event.op.is_conflicting());
                event.op
            } else {
                Op::HIDDEN
            };
            shown.push(Event { op, ..*event });
        }
        let flow = self.inner.events(first, &shown);
        self.shown = shown;
        flow
    }

    fn finish(&mut self) -> Outcome {
        self.inner.finish()
    }
}

/// Runs both passes over a trace that can be opened twice.
#[derive(Debug)]
pub struct TwoPass<C> {
    precise: C,
}

impl<C: Checker> TwoPass<C> {
    pub fn new(precise: C) -> Self {
        Self { precise }
    }

    /// The outcome of the precise checker, and what it was asked to check. If the first pass
    /// acquits everything, there is no second one.
    pub fn run<S: Source>(
        self,
        mut open: impl FnMut() -> Result<S, TraceError>,
    ) -> Result<(Outcome, Suspects), TraceError> {
        let mut filter = SccFilter::new();
        let outcome = drive(&mut open()?, &mut filter)?;
        let suspects = filter.suspects();
        if suspects.is_empty() {
            return Ok((outcome, suspects));
        }
        let mut filtered = Filtered::new(self.precise, suspects);
        let outcome = drive(&mut open()?, &mut filtered)?;
        Ok((outcome, filtered.suspects))
    }
}

fn drive(source: &mut dyn Source, checker: &mut dyn Checker) -> Result<Outcome, TraceError> {
    let (mut first, mut batch) = (EventIdx(0), Vec::new());
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() || checker.events(first, &batch).is_break() {
            return Ok(checker.finish());
        }
        first.0 += batch.len() as u64;
    }
}
