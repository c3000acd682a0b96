//! What a thread would do if it turned where another one did.
//!
//! After HAVE (Chen, Wang, Yang, Stoller, *HAVE: detecting atomicity violations via integrated dynamic and
//! static analysis*, FASE 2009), in the small. A set made of a list: *if it is not in there, add it*. In a good run the first thread finds
//! the element missing and adds it, the second one finds it there and does nothing. No trace of a good
//! run has two threads that add. But both executed the same check, in the same method, on the same variable,
//! and the second one read another value than the first. If it came before the first one's act, it
//! would read the same value, and act, too.
//!
//! What we changed. HAVE summarises the code of the branch that was not taken; we take what another
//! thread did there. It needs no code, and says what happens to the very same variable.
//!
//! Promise: none but that the second check can come between the first one and its act as far as locks around
//! them are concerned. Whether the thread turns then, only a run can tell.

use untorn_trace::{Op, VarId};

use super::Spot;
use super::blocks::Blocks;
use super::groups::{Locals, Remotes};
use super::pairs::{Pair, Torn};
use crate::facts::Facts;
use crate::goal::Goal;
use crate::history::{At, BlockId, History, Origin};

/// Checks of one thread that are looked at.
const CHECKS: usize = 8;

/// Earlier checks of an activation that are looked at.
const EARLIER: usize = 4;

/// Blocks around a check that are looked at.
const CLIMB: usize = 16;

/// The check of one thread between check and act of another.
pub(super) struct Turn {
    pub(super) goal: Goal,
    /// The activation that would turn.
    pub(super) block: BlockId,
}

/// The turns that would make a lost update of a check and an act.
pub(super) fn of(
    facts: &Facts<'_>,
    blocks: &Blocks<'_>,
    local: &Locals,
    remotes: &[Remotes],
) -> Vec<Turn> {
    let is_update = local.writes == [false, true] && local.torn == Torn::ByWrite;
    if local.origin != Origin::Inferred || !is_update {
        return Vec::new();
    }
    let mut turns = Vec::new();
    for pair in local.kept() {
        let mut earlier = checks_before(facts, pair);
        earlier.insert(0, pair.first);
        for own in earlier {
            let spot = Spot::of(facts.history, own, pair_var(facts, own));
            let pair = Pair { first: own, ..*pair };
            turns.extend(at_place(facts, blocks, local, &pair, remotes, spot));
        }
    }
    turns
}

/// The checks of other threads at a place, each between check and act of this pair.
fn at_place(
    facts: &Facts<'_>,
    blocks: &Blocks<'_>,
    local: &Locals,
    pair: &Pair,
    remotes: &[Remotes],
    spot: Spot,
) -> Vec<Turn> {
    let checks = remotes.iter().filter(|other| other.spot == spot && !other.writes);
    // Who acts somewhere needs no guess.
    let idle = checks
        .flat_map(|checks| &checks.events)
        .filter(|(thread, _)| local.counts.iter().all(|(other, _)| other != thread));
    let near = |events: &[At]| {
        let near = events.partition_point(|&at| at < pair.third).saturating_sub(CHECKS / 2);
        events[near..].iter().take(CHECKS).find_map(|&at| turn(facts, blocks, pair, at))
    };
    idle.filter_map(|(_, events)| near(events)).collect()
}

/// What the activation read of the variable before the pair: code may check once and look again before it
/// acts.
fn checks_before(facts: &Facts<'_>, pair: &Pair) -> Vec<At> {
    let history = facts.history;
    let (thread, begin) = (facts.thread(pair.first), history.block(pair.block).begin);
    let reads = history.reads(pair_var(facts, pair.first));
    let before = reads[..reads.partition_point(|&at| at < pair.first)].iter().rev().copied();
    let own = before.take_while(|&at| at > begin).filter(|&at| facts.thread(at) == thread);
    own.take(EARLIER).collect()
}

fn pair_var(facts: &Facts<'_>, at: At) -> VarId {
    VarId(facts.history.event(at).op.target())
}

fn turn(facts: &Facts<'_>, blocks: &Blocks<'_>, pair: &Pair, check: At) -> Option<Turn> {
    let history = facts.history;
    let (value, other) = (history.event(pair.first).value(), history.event(check).value());
    // The same value, and it did not turn: something else decides.
    if value.is_some() && value == other {
        return None;
    }
    let is_check = matches!(history.event(check).op, Op::Read { .. });
    let ordered = facts.is_ordered(check, pair.first) || facts.is_ordered(pair.third, check);
    if !is_check || ordered || facts.is_guarded(pair.first, check, pair.third) {
        return None;
    }
    let block = same_method(history, blocks, pair.block, check)?;
    Some(Turn { goal: Goal::new(&[pair.first, check, pair.third]), block })
}

/// The activation around an event of the method that `block` is one of.
fn same_method(history: &History, blocks: &Blocks<'_>, block: BlockId, at: At) -> Option<BlockId> {
    let label = history.block(block).label;
    let innermost = blocks.activation(at, at).map(|common| common.block);
    let around = std::iter::successors(innermost, |&id| history.block(id).outer);
    around.take(CLIMB).find(|&id| {
        let block = history.block(id);
        block.origin == Origin::Inferred && block.label == label
    })
}
