//! Which two accesses of an activation are one step of its method, and not two rounds of a loop.
//!
//! The rules are those of [`pairs`](super::pairs); accesses of two variables follow them, too.

use std::cell::Cell;

use rustc_hash::FxHashMap;
use untorn_trace::{LabelId, Op, ThreadId, VarId};

use super::CandidatePlace;
use super::blocks::Blocks;
use crate::facts::HistoryIndex;
use crate::history::{At, Block, BlockId};

/// How deep below an activation its accesses may be.
const NEAR: usize = 1;

/// An access and its variable.
pub(super) type Access = (At, VarId);

/// Where a thread comes to. A place in another atomic block is another place: `empty` and `pop` both ask for
/// the size, and one leads to the other.
type AccessPoint = (ThreadId, CandidatePlace, bool, Option<LabelId>);

/// When threads come to places.
#[derive(Debug, Default)]
pub(super) struct Forward {
    reached: FxHashMap<AccessPoint, Times>,
}

/// When a thread comes to a place.
#[derive(Debug, Default)]
struct Times {
    all: Vec<At>,
    /// Where the last search ended. One activation is asked about many times in a row.
    hint: Cell<usize>,
}

impl Times {
    /// The index of the first one that is not before `begin`.
    fn since(&self, begin: At) -> usize {
        let hint = self.hint.get();
        let is_it = self.all.get(hint).is_none_or(|&time| time >= begin)
            && hint.checked_sub(1).is_none_or(|before| self.all[before] < begin);
        if is_it {
            return hint;
        }
        let found = self.all.partition_point(|&time| time < begin);
        self.hint.set(found);
        found
    }
}

impl Forward {
    /// Accesses are added in order; those of one kind at one place at least.
    pub(super) fn add(&mut self, facts: &HistoryIndex<'_>, blocks: &Blocks<'_>, access: Access) {
        self.reached.entry(place(facts, blocks, access)).or_default().all.push(access.0);
    }

    /// The activation that the two accesses are one step of, and whether they are near: in the activation itself or in
    /// what it calls directly.
    pub(super) fn activation(
        &self,
        facts: &HistoryIndex<'_>,
        blocks: &Blocks<'_>,
        first: Access,
        second: Access,
    ) -> Option<(BlockId, bool)> {
        if blocks.lets_others_run(first.0, second.0) {
            return None;
        }
        let common = blocks.activation(first.0, second.0)?;
        // Compositions may be nested to any depth.
        let is_near = common.depth <= NEAR || facts.history.is_composed(first.0, second.0);
        let is_forward = self.is_forward((facts, blocks), first, second, common.block);
        is_forward.then_some((common.block, is_near))
    }

    /// Whether the code of the activation leads from the first access to the second without a loop.
    fn is_forward(
        &self,
        (facts, blocks): (&HistoryIndex<'_>, &Blocks<'_>),
        first: Access,
        second: Access,
        activation: BlockId,
    ) -> bool {
        let history = facts.history;
        let block = history.block(activation);
        let places = [first, second].map(|access| place(facts, blocks, access));
        if places[0] != places[1] {
            let [from, to] = places.map(|place| self.visits(place, block).next());
            return from < to;
        }
        // A place and itself: two rounds of a loop, or two calls.
        let is_twice = || self.visits(places[0], block).take(3).count() == 2;
        history.block_of(first.0) != history.block_of(second.0) && is_twice()
    }

    /// When the activation comes to a place.
    fn visits(&self, place: AccessPoint, block: &Block) -> impl Iterator<Item = At> + use<'_> {
        let end = block.end.unwrap_or(At(u32::MAX));
        let times = self.reached.get(&place).into_iter();
        let from = block.begin;
        let since = times.flat_map(move |times| &times.all[times.since(from)..]);
        since.copied().take_while(move |&time| time < end)
    }
}

fn place(facts: &HistoryIndex<'_>, blocks: &Blocks<'_>, (at, var): Access) -> AccessPoint {
    let event = facts.history.event(at);
    let writes = matches!(event.op, Op::Write { .. });
    let call = blocks.transaction(at).map(|block| facts.history.block(block).label);
    (event.thread, CandidatePlace::of(facts.history, at, var), writes, call)
}
