//! The pairs of accesses between which a block can be interrupted.
//!
//! # Loops
//!
//! The activation of `run` that calls `increment` a thousand times touches the counter two thousand
//! times, and so does `main`. Treating these as atomic blocks would drown
//! everything else. Three rules keep what one step of a method does and drop what merely repeats:
//!
//! 1. *forward*: in the activation, the place of the first access was reached before the place of the
//!    second was reached for the first time. Then the code leads from one to the other without going
//!    round a loop. A pair that goes round one (the write of this iteration, the read of the
//!    next) has it the other way round. The same pair in later iterations is kept: it is the
//!    same pair of places. A place paired with itself counts if the activation came there exactly
//!    twice, in two calls: `add(-1)`, then `add(+1)`.
//! 2. *near*: the accesses are in the activation itself or in what it calls directly. `withdraw` is
//!    `getBalance` and `setBalance`; the program as a whole is not an atomic block. A read and a write further down
//!    count if the write was seen to depend on the read: see [`dependence`](super::dependence).
//! 3. *in one go*: code that starts threads, awaits them, or waits on a monitor between the two
//!    accesses lets others run there on purpose.

use rustc_hash::FxHashMap;
use untorn_trace::{Op, ThreadId, VarId};

use super::BlockScope;
use super::blocks::Blocks;
use super::forward::Forward;
use crate::facts::HistoryIndex;
use crate::history::{At, BlockId, Origin};

/// What may come between the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum TornBy {
    ByWrite,
    ByRead,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub(super) first: At,
    pub(super) third: At,
    pub(super) torn: TornBy,
    pub(super) origin: Origin,
    pub(super) block: BlockId,
    /// Whether a declared block, or the activation itself and what it calls directly, makes both.
    pub(super) is_near: bool,
    /// A check and the write of an atomic update behind it. Whatever comes between them comes between the check and the
    /// update's read: it matters only for what another thread would do after the same check.
    pub(super) is_branch: bool,
}

/// How many writes are searched for the one that a second section leads to.
const AHEAD: usize = 16;

/// The last access of a thread, the one before it, and the last write.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    access: Option<At>,
    before: Option<At>,
    write: Option<At>,
}

pub(super) struct Pairs<'a, 'h> {
    pub(super) facts: &'a HistoryIndex<'h>,
    pub(super) blocks: &'a Blocks<'h>,
    pub(super) sources: BlockScope,
    pub(super) var: VarId,
    forward: Forward,
    /// By thread: its last accesses.
    last: FxHashMap<ThreadId, Last>,
}

impl<'a, 'h> Pairs<'a, 'h> {
    pub(super) fn new(
        facts: &'a HistoryIndex<'h>,
        blocks: &'a Blocks<'h>,
        sources: BlockScope,
        var: VarId,
    ) -> Self {
        let mut forward = Forward::default();
        let history = facts.history;
        for list in [history.reads(var), history.writes(var)] {
            for &at in list.iter().filter(|_| sources == BlockScope::All) {
                forward.add(facts, blocks, (at, var));
            }
        }
        Self { facts, blocks, sources, var, forward, last: FxHashMap::default() }
    }

    /// Receives the accesses of the variable in order; returns the pairs that end with this one.
    pub(super) fn access(&mut self, at: At, writes: bool) -> [Option<Pair>; 3] {
        let thread = self.facts.thread(at);
        let Last { access, before, write } = self.last.get(&thread).copied().unwrap_or_default();
        let last = if writes { Some(at) } else { write };
        self.last.insert(thread, Last { access: Some(at), before: access, write: last });
        let by_write = access.and_then(|first| self.pair(first, at, TornBy::ByWrite));
        let by_read = write.filter(|_| writes);
        let by_read = by_read.and_then(|first| self.pair(first, at, TornBy::ByRead));
        let is_update = access.is_some_and(|first| self.facts.is_one_update(first, at));
        let branch = before.filter(|_| is_update).and_then(|check| self.branch(check, at));
        [by_write, by_read, branch]
    }

    /// A check in a declared block, and an atomic update behind it. Of an inferred block see [`Self::act`].
    fn branch(&self, check: At, act: At) -> Option<Pair> {
        let is_read = matches!(self.facts.history.event(check).op, Op::Read { .. });
        let pair = self.pair(check, act, TornBy::ByWrite).filter(|_| is_read)?;
        (pair.origin == Origin::Declared).then_some(Pair { is_branch: true, ..pair })
    }

    fn pair(&self, first: At, third: At, torn: TornBy) -> Option<Pair> {
        if self.facts.is_one_update(first, third) {
            return None;
        }
        let own = self.blocks.transaction(first);
        if let Some(block) = own
            && own == self.blocks.transaction(third)
        {
            let (origin, is_near) = (Origin::Declared, true);
            return Some(Pair { first, third, torn, origin, block, is_near, is_branch: false });
        }
        (self.sources == BlockScope::All).then(|| self.inferred(first, third, torn)).flatten()
    }

    fn inferred(&self, first: At, third: At, torn: TornBy) -> Option<Pair> {
        let (facts, var) = (self.facts, self.var);
        if facts.is_one_section(first, third) {
            return None;
        }
        let third = self.act(first, third, torn).unwrap_or(third);
        let (block, is_near) =
            self.forward.activation(facts, self.blocks, (first, var), (third, var))?;
        let writes = |at: At| matches!(facts.history.event(at).op, Op::Write { .. });
        let may_depend = torn == TornBy::ByWrite && !writes(first) && writes(third);
        let (origin, is_branch) = (Origin::Inferred, false);
        let pair = Pair { first, third, torn, origin, block, is_near, is_branch };
        (is_near || may_depend).then_some(pair)
    }

    /// Two sections of one lock: if the first one reads and the second one reads again and then
    /// writes, the write is what matters. It cannot be distinguished from the second read if one respects the
    /// lock, and a check with an act that rests on it is more than two reads.
    fn act(&self, check: At, again: At, torn: TornBy) -> Option<At> {
        let (facts, history) = (self.facts, self.facts.history);
        let is_read = |at: At| matches!(history.event(at).op, Op::Read { .. });
        // The same call twice is no check and act. The same place in another call may be: `isEmpty` and
        // `pop` both ask for the size.
        let call = |at| self.blocks.transaction(at).map(|block| history.block(block).label);
        let same_place = history.event(check).site == history.event(again).site;
        let twice = same_place && call(check) == call(again);
        if torn != TornBy::ByWrite || !is_read(check) || !is_read(again) || twice {
            return None;
        }
        // An atomic update: its write is the act.
        if let Some(act) = history.second_half(again) {
            return Some(act);
        }
        let thread = facts.thread(check);
        let locks = facts.holds.at(check).iter().map(|&id| facts.section(id));
        let mut locks = locks.filter(|section| !section.shared).map(|section| section.lock);
        locks.find_map(|lock| {
            let section = facts.holds.at(again).iter().map(|&id| facts.section(id));
            let section = section.into_iter().find(|other| other.lock == lock && !other.shared)?;
            let writes = history.writes(self.var);
            let writes = &writes[writes.partition_point(|&at| at < again)..];
            let within = |at: &&At| section.leave.is_none_or(|leave| **at < leave);
            let mut own = writes.iter().take(AHEAD).take_while(within);
            own.find(|&&at| facts.thread(at) == thread).copied()
        })
    }
}
