//! Untaken branches: what a thread would do if it took the branch that another thread took.
//!
//! After HAVE (Chen, Wang, Yang, Stoller, *HAVE: detecting atomicity violations via integrated dynamic and
//! static analysis*, FASE 2009), for one common case. Take a set made of a list: *if it is not in there, add
//! it*. In a good run the first thread finds the element missing and adds it; the second one finds it there and
//! does nothing. No trace of a good run has two threads that add. But both executed the same check, in the same
//! method, on the same variable, and the second one read another value than the first. If the second check came
//! before the first thread's write, it would read the same value, take the same branch, and write, too.
//!
//! What we changed. HAVE summarises the code of the untaken branch; we take what another thread did there. That
//! needs no code, and it names the very same variable.
//!
//! Promise: locks around the events allow the second check between the first check and its write. Nothing more:
//! whether the thread then takes the other branch, only a run can show.

use untorn_trace::{LabelId, Op, VarId};

use super::CandidatePlace;
use super::groups::{Locals, Remotes};
use super::pairs::{Pair, TornBy};
use crate::facts::HistoryIndex;
use crate::goal::Goal;
use crate::history::{At, BlockId, History};

/// How many checks of one thread are tried.
const CHECKS: usize = 8;

/// How many earlier checks of an activation are tried.
const EARLIER: usize = 4;

/// How many blocks around a check are searched for its method.
const CLIMB: usize = 16;

/// The check of one thread between check and act of another.
pub(super) struct UntakenBranch {
    pub(super) goal: Goal,
    /// The activation that would take the other branch.
    pub(super) block: BlockId,
}

/// The untaken branches that would make a lost update of a check and a write.
pub(super) fn of(
    facts: &HistoryIndex<'_>,
    local: &Locals,
    remotes: &[Remotes],
) -> Vec<UntakenBranch> {
    let is_update = local.writes == [false, true] && local.torn == TornBy::ByWrite;
    if !is_update {
        return Vec::new();
    }
    let mut found = Vec::new();
    for pair in local.kept() {
        let mut earlier = checks_before(facts, pair);
        earlier.insert(0, pair.first);
        for own in earlier {
            let point = CandidatePlace::of(facts.history, own, pair_var(facts, own));
            let pair = Pair { first: own, ..*pair };
            found.extend(at_place(facts, local, &pair, remotes, point));
        }
    }
    found
}

/// The checks of other threads at a place, each between check and act of this pair.
fn at_place(
    facts: &HistoryIndex<'_>,
    local: &Locals,
    pair: &Pair,
    remotes: &[Remotes],
    point: CandidatePlace,
) -> Vec<UntakenBranch> {
    let checks = remotes.iter().filter(|other| other.point == point && !other.writes);
    // A thread that writes in some run is a candidate without guessing.
    let idle = checks
        .flat_map(|checks| &checks.events)
        .filter(|(thread, _)| local.counts.iter().all(|(other, _)| other != thread));
    let near = |events: &[At]| {
        let near = events.partition_point(|&at| at < pair.third).saturating_sub(CHECKS / 2);
        events[near..].iter().take(CHECKS).find_map(|&at| branch_at(facts, pair, at))
    };
    idle.filter_map(|(_, events)| near(events)).collect()
}

/// What the activation read of the variable before the pair: code may check twice before it writes.
fn checks_before(facts: &HistoryIndex<'_>, pair: &Pair) -> Vec<At> {
    let history = facts.history;
    let (thread, begin) = (facts.thread(pair.first), history.block(pair.block).begin);
    let reads = history.reads(pair_var(facts, pair.first));
    let before = reads[..reads.partition_point(|&at| at < pair.first)].iter().rev().copied();
    let own = before.take_while(|&at| at > begin).filter(|&at| facts.thread(at) == thread);
    own.take(EARLIER).collect()
}

fn pair_var(facts: &HistoryIndex<'_>, at: At) -> VarId {
    VarId(facts.history.event(at).op.target())
}

/// The untaken branch after a check of another thread.
fn branch_at(facts: &HistoryIndex<'_>, pair: &Pair, check: At) -> Option<UntakenBranch> {
    let history = facts.history;
    let (value, other) = (history.event(pair.first).value(), history.event(check).value());
    // It read the same value and took the other branch: something else decides.
    if value.is_some() && value == other {
        return None;
    }
    let is_check = matches!(history.event(check).op, Op::Read { .. });
    let ordered = facts.is_ordered(check, pair.first) || facts.is_ordered(pair.third, check);
    if !is_check || ordered || facts.is_guarded(pair.first, check, pair.third) {
        return None;
    }
    let block = same_code(history, pair.block, check)?;
    Some(UntakenBranch { goal: Goal::new(&[pair.first, check, pair.third]), block })
}

/// The block around an event with the name and the origin of `block`: what the other thread runs is the same code.
pub(super) fn same_code(history: &History, block: BlockId, at: At) -> Option<BlockId> {
    let own = history.block(block);
    // Blocks without a name may be any code.
    if own.label == LabelId::NONE {
        return None;
    }
    let around = std::iter::successors(history.block_of(at), |&id| history.block(id).outer);
    around.take(CLIMB).find(|&id| {
        let other = history.block(id);
        (other.origin, other.label) == (own.origin, own.label)
    })
}
