//! Which two accesses of an activation are one step of its method, and not two rounds of a loop.
//!
//! The rules are those of [`pairs`](super::pairs); accesses of two variables follow them, too.

use rustc_hash::FxHashMap;
use untorn_trace::{LabelId, Op, ThreadId, VarId};

use super::Spot;
use super::blocks::Blocks;
use crate::facts::Facts;
use crate::history::{At, BlockId};

/// How deep below an activation its accesses may be.
const NEAR: usize = 1;

/// An access and its variable.
pub(super) type Access = (At, VarId);

/// Where a thread comes to. A place in another atomic block is another place: `empty` and `pop` both ask for
/// the size, and one leads to the other.
type Place = (ThreadId, Spot, bool, Option<LabelId>);

/// When threads come to places.
#[derive(Debug, Default)]
pub(super) struct Forward {
    reached: FxHashMap<Place, Vec<At>>,
}

impl Forward {
    /// Accesses are added in order; those of one kind at one place at least.
    pub(super) fn add(&mut self, facts: &Facts<'_>, blocks: &Blocks<'_>, access: Access) {
        self.reached.entry(place(facts, blocks, access)).or_default().push(access.0);
    }

    /// The activation that the two accesses are one step of.
    pub(super) fn activation(
        &self,
        facts: &Facts<'_>,
        blocks: &Blocks<'_>,
        first: Access,
        second: Access,
    ) -> Option<BlockId> {
        if blocks.lets_others_run(first.0, second.0) {
            return None;
        }
        let common = blocks.activation(first.0, second.0)?;
        let forward = || self.is_forward((facts, blocks), first, second, common.block);
        // How deep calls go that look meant to be one step is their own business.
        let is_near = common.depth <= NEAR || facts.history.is_composed(first.0, second.0);
        (is_near && forward()).then_some(common.block)
    }

    /// Whether the code of the activation leads from the first access to the second without a loop.
    fn is_forward(
        &self,
        (facts, blocks): (&Facts<'_>, &Blocks<'_>),
        first: Access,
        second: Access,
        activation: BlockId,
    ) -> bool {
        let history = facts.history;
        let times = |access| self.times(facts, place(facts, blocks, access), activation);
        let (from, to) = (times(first), times(second));
        if from.first() != to.first() {
            return from.first() < to.first();
        }
        from.len() == 2 && history.block_of(first.0) != history.block_of(second.0)
    }

    /// When the activation comes to a place.
    fn times(&self, facts: &Facts<'_>, place: Place, activation: BlockId) -> &[At] {
        let block = facts.history.block(activation);
        let Some(times) = self.reached.get(&place) else { return &[] };
        let from = times.partition_point(|&time| time < block.begin);
        let to = block.end.map_or(times.len(), |end| times.partition_point(|&time| time < end));
        &times[from..to.max(from)]
    }
}

fn place(facts: &Facts<'_>, blocks: &Blocks<'_>, (at, var): Access) -> Place {
    let event = facts.history.event(at);
    let writes = matches!(event.op, Op::Write { .. });
    let call = blocks.transaction(at).map(|block| facts.history.block(block).label);
    (event.thread, Spot::of(facts.history, at, var), writes, call)
}
