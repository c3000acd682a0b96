//! Whether what a block writes depends on what it read, judging by the values of one run.
//!
//! A method that reads a variable in one call and writes it in another, however far down, means the two to be one step if
//! the value of the read decides the write: the balance that was looked up is paid from, the seat that was free is
//! taken. What a program means is not in a trace, but what it did with different values is:
//!
//! * *data*: the same two places were passed twice, read different values and wrote different values;
//! * *control*: the same code read another value at the first place, and never came to the second.
//!
//! This is the observation on which dynamic invariant detection rests (Ernst, Cockrell, Griswold, Notkin, *Dynamically
//! discovering likely program invariants to support program evolution*, ICSE 1999), for one kind of invariant.
//!
//! Promise: an observation, not a proof. It decides what is worth trying; what is reported is decided by a run in which
//! it happened. May miss a dependence that the values of one run do not show.

use untorn_trace::Value;

use super::groups::{Locals, Remotes};
use super::pairs::Pair;
use super::untaken_branch::same_code;
use crate::facts::HistoryIndex;
use crate::history::At;

/// Checks of each thread that are compared with a pair.
const CHECKS: usize = 16;

/// Whether different values that were read led to different values that were written.
pub(super) fn is_data(facts: &HistoryIndex<'_>, local: &Locals) -> bool {
    if local.writes != [false, true] {
        return false;
    }
    let value = |at: At| facts.history.event(at).value();
    let pairs = local.kept().chain(local.spread.kept());
    let values: Vec<[Value; 2]> =
        pairs.filter_map(|pair| Some([value(pair.first)?, value(pair.third)?])).collect();
    let differ = |one: &[Value; 2], other: &[Value; 2]| one[0] != other[0] && one[1] != other[1];
    let mut earlier = values.iter().enumerate();
    earlier.any(|(nth, one)| values[..nth].iter().any(|other| differ(one, other)))
}

/// Whether the same code read another value, and then did not write.
pub(super) fn is_control(facts: &HistoryIndex<'_>, local: &Locals, remotes: &[Remotes]) -> bool {
    let [check, act] = local.points;
    let at = |point, writes| {
        remotes.iter().filter(move |other| other.point == point && other.writes == writes)
    };
    let acts: Vec<&Remotes> = at(act, true).collect();
    local.writes == [false, true]
        && local.kept().any(|pair| {
            at(check, false).flat_map(|checks| &checks.events).any(|(_, events)| {
                let near = events.partition_point(|&at| at < pair.third);
                let near = near.saturating_sub(CHECKS / 2);
                events[near..].iter().take(CHECKS).any(|&at| was_skipped(facts, pair, at, &acts))
            })
        })
}

/// Whether the code of a pair, at another time, read another value at its check and did not come to its act.
fn was_skipped(facts: &HistoryIndex<'_>, pair: &Pair, check: At, acts: &[&Remotes]) -> bool {
    let history = facts.history;
    let (own, other) = (history.event(pair.first).value(), history.event(check).value());
    if own.is_none() || other.is_none() || own == other {
        return false;
    }
    let Some(block) = same_code(history, pair.block, check) else { return false };
    // What was not over when the run ended might have come there later.
    let Some(end) = history.block(block).end else { return false };
    let thread = history.event(check).thread;
    let of_thread = |acts: &&&Remotes| {
        let own = acts.events.iter().find(|(of, _)| *of == thread);
        own.is_some_and(|(_, events)| {
            events.get(events.partition_point(|&at| at < check)).is_some_and(|&at| at < end)
        })
    };
    !acts.iter().any(|acts| of_thread(&acts))
}
