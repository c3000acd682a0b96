//! The pairs of accesses that a block can be torn between.
//!
//! # Loops
//!
//! The activation of `run` that calls `increment` a thousand times touches the counter two thousand
//! times, and so does `main`. Taking these as blocks that are meant to be atomic would drown
//! everything else. Three rules keep what one step of a method does and drop what merely repeats:
//!
//! 1. *forward*: in the activation, the place of the first access was reached before the place of the
//!    second was reached for the first time. Then the code leads from one to the other without going
//!    round a loop. A pair that goes round one (the write of this iteration, the read of the
//!    next) has it the other way round. The same pair in later iterations is kept: it is the
//!    same pair of places. A place paired with itself counts if the activation came there exactly
//!    twice, in two calls: `add(-1)`, then `add(+1)`.
//! 2. *near*: the accesses are in the activation itself or in what it calls directly. `withdraw` is
//!    `getBalance` and `setBalance`; the program as a whole is not an atomic block.
//! 3. *in one go*: code that starts threads, awaits them, or waits on a monitor between the two
//!    accesses wants others to run there.

use rustc_hash::FxHashMap;
use untorn_trace::{Op, ThreadId, VarId};

use super::blocks::Blocks;
use super::{Sources, Spot};
use crate::facts::Facts;
use crate::history::{At, BlockId, Origin};

/// What may come between the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Torn {
    ByWrite,
    ByRead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub(super) first: At,
    pub(super) third: At,
    pub(super) torn: Torn,
    pub(super) origin: Origin,
    pub(super) block: BlockId,
}

/// How deep below an activation its accesses may be.
const NEAR: usize = 1;

pub(super) struct Pairs<'a, 'h> {
    pub(super) facts: &'a Facts<'h>,
    pub(super) blocks: &'a Blocks<'h>,
    pub(super) sources: Sources,
    pub(super) var: VarId,
    /// When a thread comes to a place with an access of the variable.
    reached: FxHashMap<(ThreadId, Spot, bool), Vec<At>>,
    /// By thread: its last access, and its last write.
    last: FxHashMap<ThreadId, (At, Option<At>)>,
}

impl<'a, 'h> Pairs<'a, 'h> {
    pub(super) fn new(
        facts: &'a Facts<'h>,
        blocks: &'a Blocks<'h>,
        sources: Sources,
        var: VarId,
    ) -> Self {
        let mut reached: FxHashMap<_, Vec<At>> = FxHashMap::default();
        let history = facts.history;
        for (list, writes) in [(history.reads(var), false), (history.writes(var), true)] {
            for &at in list.iter().filter(|_| sources == Sources::All) {
                let key = (facts.thread(at), Spot::of(history, at, var), writes);
                reached.entry(key).or_default().push(at);
            }
        }
        Self { facts, blocks, sources, var, reached, last: FxHashMap::default() }
    }

    /// Sees the accesses of the variable in order; gives the pairs that end with this one.
    pub(super) fn access(&mut self, at: At, writes: bool) -> [Option<Pair>; 2] {
        let thread = self.facts.thread(at);
        let (access, write) = match self.last.get(&thread) {
            Some(&(access, write)) => (Some(access), write),
            None => (None, None),
        };
        self.last.insert(thread, (at, if writes { Some(at) } else { write }));
        let by_write = access.and_then(|first| self.pair(first, at, Torn::ByWrite));
        let by_read = write.filter(|_| writes);
        let by_read = by_read.and_then(|first| self.pair(first, at, Torn::ByRead));
        [by_write, by_read]
    }

    fn pair(&self, first: At, third: At, torn: Torn) -> Option<Pair> {
        if self.facts.is_one_update(first, third) {
            return None;
        }
        let own = self.blocks.transaction(first);
        if let Some(block) = own
            && own == self.blocks.transaction(third)
        {
            return Some(Pair { first, third, torn, origin: Origin::Declared, block });
        }
        (self.sources == Sources::All).then(|| self.inferred(first, third, torn)).flatten()
    }

    fn inferred(&self, first: At, third: At, torn: Torn) -> Option<Pair> {
        let holds = &self.facts.holds;
        if holds.at(first).iter().any(|section| holds.at(third).contains(section)) {
            return None;
        }
        if self.blocks.lets_others_run(first, third) {
            return None;
        }
        let common = self.blocks.activation(first, third)?;
        if common.depth > NEAR || !self.is_forward(first, third, common.block) {
            return None;
        }
        Some(Pair { first, third, torn, origin: Origin::Inferred, block: common.block })
    }

    /// Whether the code of the activation leads from the first access to the third without a loop.
    fn is_forward(&self, first: At, third: At, activation: BlockId) -> bool {
        let history = self.facts.history;
        let (from, to) = (self.times(first, activation), self.times(third, activation));
        if from.first() != to.first() {
            return from.first() < to.first();
        }
        from.len() == 2 && history.block_of(first) != history.block_of(third)
    }

    /// When the activation comes to the place of an access.
    fn times(&self, at: At, activation: BlockId) -> &[At] {
        let history = self.facts.history;
        let block = history.block(activation);
        let event = history.event(at);
        let writes = matches!(event.op, Op::Write { .. });
        let key = (event.thread, Spot::of(history, at, self.var), writes);
        let Some(times) = self.reached.get(&key) else { return &[] };
        let from = times.partition_point(|&time| time < block.begin);
        let to = block.end.map_or(times.len(), |end| times.partition_point(|&time| time < end));
        &times[from..to.max(from)]
    }
}
