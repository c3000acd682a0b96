//! Which blocks can be interrupted over two variables, by definition.
//!
//! Tries all quadruples of accesses; nothing here knows how a candidate search finds them.

use untorn_trace::{Event, EventIdx, Op, VarId};

/// Four accesses: the first and the last of one block, the others of another thread's block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TornPair {
    pub events: [EventIdx; 4],
}

/// An access, and the outermost block around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Access {
    at: usize,
    block: usize,
    thread: u32,
    var: VarId,
    writes: bool,
}

/// Whether accesses of blocks, in this order, are explained by some order of the blocks: one that has all
/// conflicting accesses in the same order. `blocks` has the block of each access.
fn is_serial(accesses: &[Access]) -> bool {
    let mut blocks: Vec<usize> = accesses.iter().map(|access| access.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let forced = |first: usize, then: usize| {
        accesses.iter().enumerate().any(|(i, a)| {
            let later = &accesses[i + 1..];
            a.block == first && later.iter().any(|b| b.block == then && conflict(a, b))
        })
    };
    // For two blocks there are two orders; each is ruled out by what the other one forces.
    let &[one, other] = &blocks[..] else { return true };
    !(forced(one, other) && forced(other, one))
}

fn conflict(a: &Access, b: &Access) -> bool {
    a.var == b.var && a.block != b.block && (a.writes || b.writes)
}

fn accesses(events: &[Event]) -> Vec<Access> {
    let mut open: Vec<(u32, usize)> = vec![(0, 0); 1];
    let mut found = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let thread = event.thread.index();
        if open.len() <= thread {
            open.resize(thread + 1, (0, 0));
        }
        let (depth, begin) = &mut open[thread];
        match event.op {
            Op::Begin { .. } => {
                if *depth == 0 {
                    *begin = at;
                }
                *depth += 1;
            }
            Op::End { .. } => *depth = depth.saturating_sub(1),
            Op::Read { var, .. } | Op::Write { var, .. } if *depth > 0 => {
                let writes = matches!(event.op, Op::Write { .. });
                found.push(Access { at, block: *begin, thread: event.thread.0, var, writes });
            }
            _ => {}
        }
    }
    found
}

/// All quadruples on two variables of one object that no serial order explains if the other block's two
/// come between the interrupted block's two. Left out are those with a shorter pair inside: an access of
/// either block between its two, of the same variable as one of them, in conflict with the other block's.
pub fn torn_pairs(events: &[Event], object: impl Fn(VarId) -> Option<u32>) -> Vec<TornPair> {
    let all = accesses(events);
    let is_pair = |a: &Access, b: &Access| {
        let objects = object(a.var).is_some() && object(a.var) == object(b.var);
        a.block == b.block && a.thread == b.thread && a.at < b.at && a.var != b.var && objects
    };
    let mut pairs = Vec::new();
    for a in &all {
        pairs.extend(all.iter().filter(|b| is_pair(a, b)).map(|b| (*a, *b)));
    }
    let is_short = |(a, b): &(Access, Access), others: &[Access; 2]| {
        let between = |e: &&Access| e.block == a.block && a.at < e.at && e.at < b.at;
        let mut between = all.iter().filter(between);
        !between.any(|e| others.iter().any(|other| conflict(e, other)))
    };
    let mut torn = Vec::new();
    for local in &pairs {
        for other in pairs.iter().filter(|other| other.0.thread != local.0.thread) {
            let same = [other.0.var, other.1.var];
            if !same.contains(&local.0.var) || !same.contains(&local.1.var) {
                continue;
            }
            let order = [local.0, other.0, other.1, local.1];
            let short =
                is_short(local, &[other.0, other.1]) && is_short(other, &[local.0, local.1]);
            if short && !is_serial(&order) {
                torn.push(TornPair { events: order.map(|access| EventIdx(access.at as u64)) });
            }
        }
    }
    torn
}

/// Whether these events, in this order, are explained by some order of their blocks.
pub fn explains(events: &[Event], order: &[EventIdx]) -> bool {
    let all = accesses(events);
    let find = |at: &EventIdx| all.iter().find(|access| access.at as u64 == at.0).copied();
    let order: Option<Vec<Access>> = order.iter().map(find).collect();
    order.is_some_and(|order| is_serial(&order))
}
