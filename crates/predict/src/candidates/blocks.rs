//! Which block two events have in common.

use untorn_trace::Op;

use crate::history::{At, BlockId, History, Origin};

/// How deep an activation is searched; recursion deeper than that is not "one method".
const CLIMB: usize = 64;

#[derive(Debug)]
pub(super) struct Blocks<'h> {
    history: &'h History,
    /// By block: the outermost declared block around it, or itself.
    transaction: Vec<Option<BlockId>>,
    /// By thread, in order: its forks, joins and waits.
    yields: Vec<Vec<At>>,
}

/// The activation that two events have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CommonBlock {
    pub(super) block: BlockId,
    /// How many recorded calls below it the deeper of the two events is.
    pub(super) depth: usize,
}

impl<'h> Blocks<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        let mut transaction: Vec<Option<BlockId>> = Vec::with_capacity(history.blocks().len());
        for (index, block) in history.blocks().iter().enumerate() {
            // Outer blocks begin earlier, so they are known. A call may outlive the block around it.
            let outer = block.outer.and_then(|outer| transaction[outer.0 as usize]);
            let outer = outer.filter(|&outer| history.block(outer).contains(block.begin));
            let own = (block.origin == Origin::Declared).then_some(BlockId(index as u32));
            transaction.push(outer.or(own));
        }
        let mut yields = vec![Vec::new(); history.thread_count()];
        for at in history.all() {
            let event = history.event(at);
            if matches!(event.op, Op::Fork { .. } | Op::Join { .. } | Op::Wait { .. }) {
                yields[event.thread.index()].push(at);
            }
        }
        Self { history, transaction, yields }
    }

    /// The transaction that an event belongs to.
    pub(super) fn transaction(&self, at: At) -> Option<BlockId> {
        let found = self.transaction[self.history.block_of(at)?.0 as usize];
        found.filter(|&block| self.history.block(block).contains(at))
    }

    /// The innermost activation around both events.
    pub(super) fn activation(&self, first: At, second: At) -> Option<CommonBlock> {
        let mut sides = [self.history.block_of(first)?, self.history.block_of(second)?];
        let mut depths = [0; 2];
        for _ in 0..CLIMB {
            let [one, other] = sides;
            let block = self.history.block(one);
            if one == other && block.origin == Origin::Inferred {
                let depth = depths[0].max(depths[1]);
                return Some(CommonBlock { block: one, depth });
            }
            if one == other {
                sides = [block.outer?; 2];
                continue;
            }
            // Of two blocks, the one that began later is not around the other.
            let later = usize::from(other > one);
            let block = self.history.block(sides[later]);
            depths[later] += usize::from(block.origin == Origin::Inferred);
            sides[later] = block.outer?;
        }
        None
    }

    /// Whether the thread starts or awaits others between two of its events.
    pub(super) fn lets_others_run(&self, first: At, second: At) -> bool {
        let list = &self.yields[self.history.event(first).thread.index()];
        list.get(list.partition_point(|&at| at < first)).is_some_and(|&at| at < second)
    }
}
