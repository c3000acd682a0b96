//! The conditions of the AtomChase paper as they are printed: for comparison only.
//!
//! AtomChase (ISSRE 2015), Figure 5: for an instance e1 < e2 < e3 on one variable, e1 and e3 in one
//! block and e2 of another thread,
//!
//! * WRW: e2 did not read what e3 wrote, and its value is written neither by e1's thread up to e1, nor by
//!   e2's up to e2, nor by e3's from e3 on;
//! * RWR, WWR: e3 read something else than e1 read or wrote, and the block's thread wrote no such
//!   value between them;
//! * RWW: e2 did not write what e1 read, and that value is written neither by e1's thread up to e1, nor
//!   by e2's thread at all. (The formula is damaged in print; this is its most plausible reading.)
//!
//! "Up to" and "from" include the event itself, as printed. We add nothing: initial values and
//! third threads are ignored.
//!
//! Promise: none. RWW is wrong as soon as variables have initial values, WRW with a third thread, and WRW
//! never fires on a dirty read. Tests pin these down.

use untorn_trace::{Event, EventIdx, Op, ThreadId, Value, VarId};

use crate::blocks::Extract;
use crate::ids::BlockId;
use crate::verdict::{Point, Reason};

/// The result of the conditions for a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Printed {
    Holds(Reason),
    Fails,
    /// As many triples were checked as are allowed, and there are more.
    Spent(u64),
}

/// An access with a recorded value.
#[derive(Clone, Copy)]
struct Access {
    at: u32,
    thread: ThreadId,
    block: BlockId,
    writes: bool,
    value: Value,
}

/// Looks for an instance for which its condition holds; each triple costs one of `budget`.
pub fn find(events: &[Event], extract: &Extract, budget: u64) -> Printed {
    let mut left = budget;
    for (slot, variable) in extract.memory.variables.iter().enumerate() {
        let touches = extract.touches.iter().filter(|touch| touch.slot.index() == slot);
        let accesses: Vec<Access> = touches
            .filter_map(|touch| {
                let event = &events[touch.at as usize];
                let writes = matches!(event.op, Op::Write { .. });
                let (at, block) = (touch.at, touch.block);
                event.value().map(|value| Access { at, thread: event.thread, block, writes, value })
            })
            .collect();
        match of_variable(&accesses, variable.var, extract, &mut left) {
            Some(Printed::Spent(_)) => return Printed::Spent(budget),
            Some(found) => return found,
            None => {}
        }
    }
    Printed::Fails
}

fn of_variable(
    accesses: &[Access],
    var: VarId,
    extract: &Extract,
    left: &mut u64,
) -> Option<Printed> {
    for (i, e1) in accesses.iter().enumerate() {
        for (k, e3) in accesses.iter().enumerate().skip(i + 2) {
            if e3.block != e1.block {
                continue;
            }
            for e2 in accesses[i + 1..k].iter().filter(|e2| e2.thread != e1.thread) {
                if *left == 0 {
                    return Some(Printed::Spent(0));
                }
                *left -= 1;
                if let Some(pattern) = pattern(accesses, e1, e2, e3) {
                    let point =
                        |e: &Access| Point { at: EventIdx(u64::from(e.at)), value: Some(e.value) };
                    let block = extract.blocks[e1.block.index()];
                    let instance = [point(e1), point(e2), point(e3)];
                    return Some(Printed::Holds(Reason::Printed { pattern, var, block, instance }));
                }
            }
        }
    }
    None
}

fn pattern(all: &[Access], e1: &Access, e2: &Access, e3: &Access) -> Option<&'static str> {
    let writes = |thread: ThreadId, value: Value, from: u32, to: u32| {
        all.iter().any(|e| {
            e.writes && e.thread == thread && e.value == value && (from..=to).contains(&e.at)
        })
    };
    let between = || writes(e1.thread, e3.value, e1.at, e3.at);
    match (e1.writes, e2.writes, e3.writes) {
        (true, false, true) => (e2.value != e3.value
            && !writes(e1.thread, e2.value, 0, e1.at)
            && !writes(e2.thread, e2.value, 0, e2.at)
            && !writes(e3.thread, e2.value, e3.at, u32::MAX))
        .then_some("WRW"),
        (false, true, false) => (e1.value != e3.value && !between()).then_some("RWR"),
        (true, true, false) => (e1.value != e3.value && !between()).then_some("WWR"),
        (false, true, true) => (e1.value != e2.value
            && !writes(e1.thread, e1.value, 0, e1.at)
            && !writes(e2.thread, e1.value, 0, u32::MAX))
        .then_some("RWW"),
        _ => None,
    }
}
