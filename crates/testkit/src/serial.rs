//! The brute-force oracle of value-level atomicity, and the validator of serial orders.
//!
//! Written from the definition and from nothing else. A transaction is an outermost block, an access
//! outside of every block, or the two halves of an indivisible update outside. An event *precedes*
//! another by program order, if it forks the other's thread, or if the other joins its thread. A block is
//! cut in front of a join of a thread that had an event since the block began, or since its last cut:
//! it has waited there. Transactions keep the order in which some event of the one precedes some event of
//! the other. A trace is atomic iff they can be run one by one in an order that keeps this, such that
//! every read returns what it did.
//!
//! A run is consistent, so the value of an access that was not recorded is that of the write last before it, or
//! of a read that follows. What remains unknown is tried out: every value that the variable has elsewhere,
//! and one that it has nowhere else. A variable whose recorded values contradict each other was
//! written unseen; it is left out, and then nothing is called atomic.

use std::collections::{HashMap, HashSet};

use untorn_trace::{Access, Event, EventIdx, Op, Tables, Value, VarId};

/// What holds whatever the unknown values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    Atomic,
    NotAtomic,
    /// It depends on values that are not known.
    Open,
    /// Too many transactions or unknown values to try all.
    TooLarge,
}

/// More transactions than bits of a mask, and more assignments than can be searched in time.
const MAX_TRANSACTIONS: usize = 64;
const MAX_ASSIGNMENTS: u64 = 4096;

/// Whether the trace is atomic by values.
pub fn value_atomic(events: &[Event], tables: &Tables) -> Truth {
    let pieces = pieces(events);
    if pieces.len() > MAX_TRANSACTIONS {
        return Truth::TooLarge;
    }
    let kept = kept_order(events, &pieces);
    let values = Values::new(events, tables);
    let Some(assignments) = values.assignments() else { return Truth::TooLarge };
    let (mut some, mut none) = (false, false);
    for assignment in assignments {
        let atomic = Search { pieces: &pieces, kept: &kept, assignment: &assignment }.run();
        some |= atomic;
        none |= !atomic;
    }
    match (some, none) {
        (false, _) => Truth::NotAtomic,
        (true, false) if values.unseen.is_empty() => Truth::Atomic,
        (true, _) => Truth::Open,
    }
}

/// `precedes[b][a]`: a precedes b by program order, fork and join.
fn precedes(events: &[Event]) -> Vec<Vec<bool>> {
    let direct = |a: &Event, b: &Event| {
        a.thread == b.thread
            || matches!(a.op, Op::Fork { child } if child == b.thread)
            || matches!(b.op, Op::Join { child } if child == a.thread)
    };
    let mut found: Vec<Vec<bool>> = Vec::new();
    for (j, later) in events.iter().enumerate() {
        let mut own = vec![false; events.len()];
        for (i, earlier) in events[..j].iter().enumerate() {
            if direct(earlier, later) {
                own[i] = true;
                own.iter_mut().zip(&found[i]).for_each(|(own, through)| *own |= through);
            }
        }
        found.push(own);
    }
    found
}

/// A transaction: all its events, and those of them that access something.
#[derive(Debug)]
struct Transaction {
    events: Vec<usize>,
    accesses: Vec<usize>,
}

/// The transactions, in the order of their first event. A block without accesses is one, too: it may order
/// others.
fn pieces(events: &[Event]) -> Vec<Transaction> {
    let mut depth: HashMap<u32, u32> = HashMap::new();
    let mut open: HashMap<u32, usize> = HashMap::new();
    let mut pieces: Vec<Vec<usize>> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let thread = event.thread.0;
        let level = depth.entry(thread).or_insert(0);
        if let Op::End { .. } = event.op {
            *level = level.saturating_sub(1);
            if *level == 0 {
                open.remove(&thread);
            }
            continue;
        }
        if let Op::Begin { .. } = event.op {
            *level += 1;
            if *level == 1 {
                open.insert(thread, pieces.len());
                pieces.push(Vec::new());
            }
        }
        let Some(&own) = open.get(&thread) else {
            if second_half(events, i) {
                let last = pieces.len() - 1;
                pieces[last].push(i);
            } else if matches!(event.op, Op::Read { .. } | Op::Write { .. }) {
                pieces.push(vec![i]);
            }
            continue;
        };
        let waited = matches!(event.op, Op::Join { child }
            if events[pieces[own][0]..i].iter().any(|between| between.thread == child));
        if waited {
            open.insert(thread, pieces.len());
            pieces.push(vec![i]);
        } else {
            pieces[own].push(i);
        }
    }
    let is_access = |&i: &usize| matches!(events[i].op, Op::Read { .. } | Op::Write { .. });
    let finished = pieces.into_iter().map(|own| {
        let accesses = own.iter().copied().filter(is_access).collect();
        Transaction { events: own, accesses }
    });
    finished.collect()
}

/// Whether the event is the write of an update whose read is directly before it.
fn second_half(events: &[Event], i: usize) -> bool {
    let half = |event: &Event| match event.op {
        Op::Read { access: Access::Update, var, .. } => Some((event.thread, var, false)),
        Op::Write { access: Access::Update, var, .. } => Some((event.thread, var, true)),
        _ => None,
    };
    i > 0
        && matches!(
            (half(&events[i - 1]), half(&events[i])),
            (Some((t, x, false)), Some((u, y, true))) if t == u && x == y
        )
}

/// For each piece, as a mask, the pieces that must run before it.
fn kept_order(events: &[Event], pieces: &[Transaction]) -> Vec<u64> {
    let precedes = precedes(events);
    let before = |a: &Transaction, b: &Transaction| {
        b.events.iter().any(|&later| a.events.iter().any(|&earlier| precedes[later][earlier]))
    };
    let mask = |b: usize| {
        let earlier = (0..pieces.len()).filter(|&a| a != b && before(&pieces[a], &pieces[b]));
        earlier.fold(0, |mask, a| mask | 1 << a)
    };
    let mut kept: Vec<u64> = (0..pieces.len()).map(mask).collect();
    // Closed by force, so that orders through blocks without accesses count, too.
    for _ in 0..pieces.len() {
        for b in 0..pieces.len() {
            let through = (0..pieces.len()).filter(|&a| kept[b] >> a & 1 != 0);
            kept[b] |= through.fold(0, |all, a| all | kept[a]);
        }
    }
    kept
}

/// A value, or an unknown one by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum KnownValue {
    Value(Value),
    Unknown(usize),
}

/// The values of all accesses as far as they are known.
struct Values {
    /// By position: variable, whether it writes, value.
    accesses: Vec<Option<(VarId, bool, KnownValue)>>,
    initial: HashMap<VarId, KnownValue>,
    /// Variables that were written unseen.
    unseen: HashSet<VarId>,
    /// The variable of each unknown.
    unknowns: Vec<VarId>,
}

impl Values {
    fn new(events: &[Event], tables: &Tables) -> Self {
        let mut new = Self {
            accesses: vec![None; events.len()],
            initial: HashMap::new(),
            unseen: HashSet::new(),
            unknowns: Vec::new(),
        };
        let mut now: HashMap<VarId, KnownValue> = HashMap::new();
        for (i, event) in events.iter().enumerate() {
            let (var, writes) = match event.op {
                Op::Read { var, .. } => (var, false),
                Op::Write { var, .. } => (var, true),
                _ => continue,
            };
            let last = match now.get(&var) {
                Some(&last) => last,
                None => {
                    let initial = new.known(tables.var_facts(var).initial(), var);
                    new.initial.insert(var, initial);
                    initial
                }
            };
            let value = match (writes, event.value()) {
                (true, value) => new.known(value, var),
                (false, None) => last,
                (false, Some(value)) => {
                    match last {
                        KnownValue::Value(last) if last != value => _ = new.unseen.insert(var),
                        KnownValue::Value(_) => {}
                        KnownValue::Unknown(number) => new.learn(number, value),
                    }
                    KnownValue::Value(value)
                }
            };
            new.accesses[i] = Some((var, writes, value));
            now.insert(var, value);
        }
        new
    }

    fn known(&mut self, value: Option<Value>, var: VarId) -> KnownValue {
        value.map_or_else(
            || {
                self.unknowns.push(var);
                KnownValue::Unknown(self.unknowns.len() - 1)
            },
            KnownValue::Value,
        )
    }

    fn learn(&mut self, number: usize, value: Value) {
        let learn = |known: &mut KnownValue| {
            if *known == KnownValue::Unknown(number) {
                *known = KnownValue::Value(value);
            }
        };
        self.accesses.iter_mut().flatten().for_each(|(_, _, known)| learn(known));
        self.initial.values_mut().for_each(learn);
    }

    /// All ways to fill in what is unknown; `None` if there are too many.
    fn assignments(&self) -> Option<Vec<Assignment>> {
        let used = |number: usize| {
            let unknown = KnownValue::Unknown(number);
            self.accesses.iter().flatten().any(|&(_, _, known)| known == unknown)
                || self.initial.values().any(|&known| known == unknown)
        };
        let open: Vec<usize> = (0..self.unknowns.len()).filter(|&number| used(number)).collect();
        let mut ways: Vec<HashMap<usize, Value>> = vec![HashMap::new()];
        for (fresh, &number) in open.iter().enumerate() {
            let var = self.unknowns[number];
            let all = self.accesses.iter().flatten().filter(|access| access.0 == var);
            let all = all.map(|access| access.2).chain(self.initial.get(&var).copied());
            let mut values: Vec<Value> = all
                .filter_map(|known| match known {
                    KnownValue::Value(value) => Some(value),
                    KnownValue::Unknown(_) => None,
                })
                .collect();
            values.sort_unstable();
            values.dedup();
            // Unknown values may equal each other: each has a fresh one that all may take.
            values.extend((0..=fresh).map(|i| Value(u64::MAX - i as u64)));
            if ways.len() as u64 * values.len() as u64 > MAX_ASSIGNMENTS {
                return None;
            }
            ways = ways
                .iter()
                .flat_map(|way| {
                    values.iter().map(|&value| {
                        let mut way = way.clone();
                        way.insert(number, value);
                        way
                    })
                })
                .collect();
        }
        Some(ways.iter().map(|way| self.filled_in(way)).collect())
    }

    fn filled_in(&self, way: &HashMap<usize, Value>) -> Assignment {
        let value = |known: KnownValue| match known {
            KnownValue::Value(value) => value,
            KnownValue::Unknown(number) => way[&number],
        };
        let access = |access: &Option<(VarId, bool, KnownValue)>| {
            let (var, writes, known) = (*access)?;
            (!self.unseen.contains(&var)).then(|| (var, writes, value(known)))
        };
        Assignment {
            accesses: self.accesses.iter().map(access).collect(),
            initial: self.initial.iter().map(|(&var, &known)| (var, value(known))).collect(),
        }
    }
}

/// All values of all accesses, variables that were written unseen left out.
struct Assignment {
    accesses: Vec<Option<(VarId, bool, Value)>>,
    initial: HashMap<VarId, Value>,
}

impl Assignment {
    /// Runs a piece; false if a read would return something else.
    fn run(&self, piece: &Transaction, memory: &mut Vec<(VarId, Value)>) -> bool {
        piece.accesses.iter().filter_map(|&i| self.accesses[i]).all(|(var, writes, value)| {
            let at = memory.iter().position(|&(other, _)| other == var);
            let now = at.map_or_else(|| self.initial[&var], |at| memory[at].1);
            if writes {
                match at {
                    Some(at) => memory[at].1 = value,
                    None => memory.push((var, value)),
                }
                memory.sort_unstable();
            }
            writes || now == value
        })
    }
}

/// All serial orders, each state visited once.
struct Search<'a> {
    pieces: &'a [Transaction],
    kept: &'a [u64],
    assignment: &'a Assignment,
}

type Memory = Vec<(VarId, Value)>;

impl Search<'_> {
    fn run(&self) -> bool {
        self.from(0, &Vec::new(), &mut HashSet::new())
    }

    fn from(&self, done: u64, memory: &Memory, dead: &mut HashSet<(u64, Memory)>) -> bool {
        if done.count_ones() as usize == self.pieces.len() {
            return true;
        }
        if !dead.insert((done, memory.clone())) {
            return false;
        }
        (0..self.pieces.len()).any(|next| {
            let mut after = memory.clone();
            done >> next & 1 == 0
                && self.kept[next] & !done == 0
                && self.assignment.run(&self.pieces[next], &mut after)
                && self.from(done | 1 << next, &after, dead)
        })
    }
}

/// What is wrong with a claimed serial order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OrderFault {
    /// Not all transactions, or one twice, or something that is none.
    NotAPermutation,
    /// The transaction at this place should run before an earlier one.
    OrderBroken(usize),
    /// This read would return something else.
    WrongValue(EventIdx),
}

/// Verifies a claimed serial order against the events alone. A transaction is named by its first access;
/// those without are left out.
///
/// # Panics
/// If the trace has more than 64 transactions.
pub fn check_serial_order(
    events: &[Event],
    tables: &Tables,
    order: &[EventIdx],
) -> Result<(), OrderFault> {
    let pieces = pieces(events);
    let at =
        |at: EventIdx| pieces.iter().position(|p| p.accesses.first() == Some(&(at.0 as usize)));
    let place: Option<Vec<usize>> = order.iter().map(|&first| at(first)).collect();
    let Some(place) = place else { return Err(OrderFault::NotAPermutation) };
    let distinct: HashSet<usize> = place.iter().copied().collect();
    let all = pieces.iter().filter(|piece| !piece.accesses.is_empty()).count();
    if distinct.len() != all || place.len() != all {
        return Err(OrderFault::NotAPermutation);
    }
    let kept = kept_order(events, &pieces);
    for (i, &own) in place.iter().enumerate() {
        if place[i + 1..].iter().any(|&later| kept[own] >> later & 1 != 0) {
            return Err(OrderFault::OrderBroken(i));
        }
    }
    let values = Values::new(events, tables);
    let mut memory = values.initial.clone();
    for &i in place.iter().flat_map(|&own| &pieces[own].accesses) {
        let Some((var, writes, known)) = values.accesses[i] else { continue };
        // An unknown value equals itself and nothing else that is certain.
        if !writes && memory[&var] != known {
            return Err(OrderFault::WrongValue(EventIdx(i as u64)));
        }
        memory.insert(var, known);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
