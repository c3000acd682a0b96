//! The brute-force conflict oracle and the witness validator.
//!
//! Written from the definition at the head of `untorn-serializability` and from nothing else: every pair of
//! events is compared, reachability is kept closed by force. Quadratic to cubic, and obviously
//! right: where a checker and this file differ, the checker is wrong.

use std::collections::BTreeSet;
use std::fmt;

use untorn_trace::{Event, EventIdx, Hold, Op};

/// Whether two operations conflict, `a` being the earlier one.
pub fn conflict(a: &Event, b: &Event) -> bool {
    if !a.op.is_conflicting() || !b.op.is_conflicting() {
        return false;
    }
    if a.thread == b.thread {
        return true;
    }
    if matches!(a.op, Op::Fork { child } if child == b.thread)
        || matches!(b.op, Op::Join { child } if child == a.thread)
    {
        return true;
    }
    match (touched(&a.op), touched(&b.op)) {
        (Some((x, a_changes)), Some((y, b_changes))) => x == y && (a_changes || b_changes),
        _ => false,
    }
}

/// What an operation accesses, variables and locks distinguished, and whether it changes it.
fn touched(op: &Op) -> Option<((bool, u32), bool)> {
    match *op {
        Op::Read { var, .. } => Some(((false, var.0), false)),
        Op::Write { var, .. } => Some(((false, var.0), true)),
        Op::Acquire { lock, hold } | Op::Release { lock, hold } => {
            Some(((true, lock.0), hold == Hold::Exclusive))
        }
        Op::Wait { lock } | Op::Resume { lock } => Some(((true, lock.0), true)),
        _ => None,
    }
}

/// For each event the transaction it belongs to, named by the outermost begin, or by the event
/// itself outside of every block. Events invisible to conflicts, and an end that ends nothing,
/// belong to none.
pub fn transactions(events: &[Event]) -> Vec<Option<EventIdx>> {
    let mut open: Vec<(EventIdx, u32)> = Vec::new(); // by thread: outermost begin, depth
    let transaction = |(i, event): (usize, &Event)| {
        if open.len() <= event.thread.index() {
            open.resize(event.thread.index() + 1, (EventIdx(0), 0));
        }
        let (outermost, depth) = &mut open[event.thread.index()];
        let own = EventIdx(i as u64);
        match event.op {
            _ if !event.op.is_conflicting() => None,
            Op::Begin { .. } => {
                if *depth == 0 {
                    *outermost = own;
                }
                *depth += 1;
                Some(*outermost)
            }
            Op::End { .. } if *depth == 0 => None,
            Op::End { .. } => {
                *depth -= 1;
                Some(*outermost)
            }
            _ => Some(if *depth > 0 { *outermost } else { own }),
        }
    };
    events.iter().enumerate().map(transaction).collect()
}

/// The last event of the shortest prefix that is not serializable; `None` if the trace is.
pub fn first_violation(events: &[Event]) -> Option<EventIdx> {
    let transaction = transactions(events);
    let mut reaches = Relation::new(events.len());
    for (j, later) in events.iter().enumerate() {
        let Some(EventIdx(to)) = transaction[j] else { continue };
        for (i, earlier) in events[..j].iter().enumerate() {
            let Some(EventIdx(from)) = transaction[i] else { continue };
            let (from, to) = (from as usize, to as usize);
            if from != to && !reaches.has(from, to) && conflict(earlier, later) {
                if reaches.has(to, from) {
                    return Some(EventIdx(j as u64));
                }
                reaches.add_closed(from, to);
            }
        }
    }
    None
}

/// The begins of all blocks, nested ones too, that cannot have run as one step: there are an
/// operation e of another thread and operations d', d of the block such that d' happens before e
/// and e before d.
pub fn refuted_blocks(events: &[Event]) -> BTreeSet<EventIdx> {
    let before = happens_before(events);
    // Program order makes the begin happen before all of the block and all of it before its last
    // operation, so these two decide for d' and d.
    let refutes = |&(begin, last): &(usize, usize)| {
        (begin..last).any(|e| {
            events[e].thread != events[begin].thread && before.has(e, begin) && before.has(last, e)
        })
    };
    blocks(events).iter().filter(|b| refutes(b)).map(|b| EventIdx(b.0 as u64)).collect()
}

/// Whether the block that begins at `begin` could have run as one step, all other threads being
/// free to do as they did.
pub fn is_self_serializable(events: &[Event], begin: EventIdx) -> bool {
    !refuted_blocks(events).contains(&begin)
}

/// `has(j, i)`: operation i happens before operation j.
fn happens_before(events: &[Event]) -> Relation {
    let mut before = Relation::new(events.len());
    for j in 0..events.len() {
        for i in 0..j {
            if conflict(&events[i], &events[j]) {
                before.insert(j, i);
                before.include(j, i);
            }
        }
    }
    before
}

/// Begin and last operation of every block, its end or what came last before the trace ended.
fn blocks(events: &[Event]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (begin, event) in events.iter().enumerate() {
        if !matches!(event.op, Op::Begin { .. }) {
            continue;
        }
        let (mut depth, mut last) = (0_u32, begin);
        for (i, inner) in events.iter().enumerate().skip(begin) {
            if inner.thread != event.thread || !inner.op.is_conflicting() {
                continue;
            }
            last = i;
            match inner.op {
                Op::Begin { .. } => depth += 1,
                Op::End { .. } => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        found.push((begin, last));
    }
    found
}

/// A set of pairs of small numbers, as bits.
struct Relation {
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    fn new(n: usize) -> Self {
        let words = n.div_ceil(64);
        Self { words, bits: vec![0; words * n] }
    }

    fn has(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] & (1 << (column % 64)) != 0
    }

    fn insert(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    /// Adds all of row `other` to `row`.
    fn include(&mut self, row: usize, other: usize) {
        for word in 0..self.words {
            self.bits[row * self.words + word] |= self.bits[other * self.words + word];
        }
    }

    /// Adds a pair to a transitively closed relation and closes it again.
    fn add_closed(&mut self, from: usize, to: usize) {
        for row in 0..self.bits.len() / self.words {
            if row == from || self.has(row, from) {
                self.insert(row, to);
                self.include(row, to);
            }
        }
    }
}

/// What is wrong with a claimed cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CycleFault {
    /// As many edges as transactions are needed, and two at least.
    Shape,
    /// The edge names a position that is not in the trace.
    NoSuchEvent(usize),
    /// The edge does not lead from an earlier to a later event.
    NotForward(usize),
    /// The two operations of the edge do not conflict.
    NoConflict(usize),
    /// An end of the edge is not in the transaction the cycle claims.
    WrongTransaction(usize),
    /// The edge stays inside of one transaction.
    Loop(usize),
}

impl fmt::Display for CycleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape => {
                f.write_str("a cycle has at least two transactions and an edge for each")
            }
            Self::NoSuchEvent(i) => write!(f, "edge {i} names an event that does not exist"),
            Self::NotForward(i) => write!(f, "edge {i} does not lead from earlier to later"),
            Self::NoConflict(i) => write!(f, "the operations of edge {i} do not conflict"),
            Self::WrongTransaction(i) => write!(f, "edge {i} leaves its claimed transactions"),
            Self::Loop(i) => write!(f, "edge {i} stays inside of one transaction"),
        }
    }
}

impl std::error::Error for CycleFault {}

/// Verifies a claimed cycle against the events alone.
///
/// A transaction is named as in [`transactions`]. `edges[i]` leads from an operation of
/// `cycle[i]` to a later, conflicting operation of the next transaction, the last edge back to the
/// first one.
pub fn check_cycle(
    events: &[Event],
    cycle: &[EventIdx],
    edges: &[(EventIdx, EventIdx)],
) -> Result<(), CycleFault> {
    if cycle.len() < 2 || cycle.len() != edges.len() {
        return Err(CycleFault::Shape);
    }
    let transaction = transactions(events);
    for (i, &(from, to)) in edges.iter().enumerate() {
        let (a, b) = (from.0 as usize, to.0 as usize);
        if a >= events.len() || b >= events.len() {
            return Err(CycleFault::NoSuchEvent(i));
        }
        if a >= b {
            return Err(CycleFault::NotForward(i));
        }
        if !conflict(&events[a], &events[b]) {
            return Err(CycleFault::NoConflict(i));
        }
        let next = cycle[(i + 1) % cycle.len()];
        if transaction[a] != Some(cycle[i]) || transaction[b] != Some(next) {
            return Err(CycleFault::WrongTransaction(i));
        }
        if cycle[i] == next {
            return Err(CycleFault::Loop(i));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
