//! Untaken branches over two variables: write skew that no good run contains.
//!
//! Two doctors may leave if the other one stays. In a good run the first one sees that the second is there and leaves;
//! the second one sees that the first is gone and stays. No trace of a good run has both leave. But both executed the
//! same check, each on the variable that the other one writes. If the second check came before the first one's write, it
//! would read what the first check read, take the same branch, and write, too.
//!
//! The rule is that of [`untaken_branch`](crate::candidates::untaken_branch), where check and act are of different
//! variables. What the second thread would write there is the variable that the first one checked: the roles are
//! exchanged.
//!
//! Promise: locks around the events allow the second check between the first check and its write. Nothing more: whether
//! the thread then takes the other branch, only a run can show.

use untorn_trace::Op;

use super::scan::{Group, Instance};
use crate::candidates::CandidatePlace;
use crate::candidates::is_shared;
use crate::candidates::untaken_branch::same_code;
use crate::facts::HistoryIndex;
use crate::goal::Goal;
use crate::history::{At, BlockId};

/// Checks of other threads that are tried for one pair.
const CHECKS: usize = 8;

/// Pairs of a group that are tried.
const PAIRS: usize = 8;

/// The goals that lead to where another thread may take the branch of these pairs, each with the block that would.
pub(super) fn of(facts: &HistoryIndex<'_>, local: &Group) -> Vec<(Goal, BlockId)> {
    if local.kind.writes != [false, true] || !local.kind.is_torn {
        return Vec::new();
    }
    let pairs = local.samples.iter().flat_map(|sample| sample.pairs.kept().iter().take(PAIRS));
    pairs.filter_map(|pair| branch(facts, local, pair)).collect()
}

/// The nearest check of another thread that may come between the two accesses of a pair.
fn branch(facts: &HistoryIndex<'_>, local: &Group, pair: &Instance) -> Option<(Goal, BlockId)> {
    let history = facts.history;
    let [_, var] = local.kind.vars;
    let reads = history.reads(var);
    let near = reads.partition_point(|&at| at < pair.second).saturating_sub(CHECKS / 2);
    reads[near..].iter().take(CHECKS).find_map(|&check| {
        let is_same_place = CandidatePlace::of(history, check, var) == local.kind.points[0];
        let is_other = facts.thread(check) != facts.thread(pair.first);
        if !is_same_place || !is_other || !may_come_between(facts, pair, check) {
            return None;
        }
        let block = same_code(history, pair.block, check)?;
        let took = takes_branch(facts, local.kind.points[1], check, block);
        (!took).then(|| (Goal::new(&[pair.first, check, pair.second]), block))
    })
}

fn may_come_between(facts: &HistoryIndex<'_>, pair: &Instance, check: At) -> bool {
    let value = |at: At| facts.history.event(at).value();
    // It read the same value and took the other branch: something else decides.
    let is_alike = value(check).is_some() && value(check) == value(pair.first);
    let is_ordered = facts.is_ordered(check, pair.first) || facts.is_ordered(pair.second, check);
    !is_alike && !is_ordered && !facts.is_guarded(pair.first, check, pair.second)
}

/// Whether a block writes a shared variable at a place after its check.
fn takes_branch(facts: &HistoryIndex<'_>, act: CandidatePlace, check: At, block: BlockId) -> bool {
    let history = facts.history;
    let own = history.of_thread(facts.thread(check));
    let block = history.block(block);
    let after = own[history.nth(check) as usize..].iter().copied();
    after.take_while(|&at| block.contains(at)).any(|at| match history.event(at).op {
        Op::Write { var, .. } => {
            CandidatePlace::of(history, at, var) == act && is_shared(history, var)
        }
        _ => false,
    })
}
