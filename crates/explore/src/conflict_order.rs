//! Orders of conflicts that runs show, and how likely the next run is to show a new one.
//!
//! Two runs are equivalent if each thread does the same and all conflicting operations happen in the same order
//! (Mazurkiewicz, *Trace theory*, 1987): equivalent runs differ in nothing that a program can observe.
//!
//! **Paper:** Good, *The population frequencies of species and the estimation of population parameters*, Biometrika
//! 40, 1953 (Good–Turing): with n samples and f₁ species that occur in one of them only, the chance that the next
//! sample has a new species is about f₁ / n.
//!
//! **What we changed, and why.**
//! * A species is not the order of all conflicts of a run, but the order of those on one object, or on one lock: eight
//!   counters that have nothing to do with each other have 8 times as many orders as one, and not as many to the
//!   power of 8.
//! * Runs of several policies are not samples of one distribution, and after a long time without a new order f₁ / n may
//!   be smaller than what was really seen. So the larger of f₁ / n and 1 / (s + 1) is taken, where s is the number of
//!   runs since the last new order.
//!
//! **Promise:** equivalent runs that start their threads in the same order have the same orders. The chance is an estimate, not a bound. Orders that involve
//! several objects at once do not count as new.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use untorn_predict::At;
use untorn_trace::{Hold, Op, SiteId, ThreadId, VarId};

use crate::places;
use crate::run::Run;

/// Runs without a new order after which exploring ends, if the estimate agrees.
const LONG_STREAK: u32 = 100;

/// The same if no run had any conflict: threads never touched the same thing.
const SHORT_STREAK: u32 = 10;

/// The chance of a new order below which exploring ends.
const SMALL_CHANCE: f64 = 0.01;

/// Orders that are remembered. With more of them nothing is ever saturated.
const MAX_ORDERS: usize = 1 << 20;

/// The order of the conflicts on one object or lock, as a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ConflictOrder(u64);

/// What conflicts are about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Contended {
    Object(u32),
    Var(VarId),
    Lock(u32),
}

/// An operation, as it is called in every run: thread, how many it did on the same contended before, place.
#[derive(Clone, Copy, Hash)]
struct Operation {
    thread: ThreadId,
    nth: u32,
    place: u64,
}

/// What of a variable or a lock later operations may conflict with.
#[derive(Default)]
struct Last {
    write: Option<Operation>,
    /// Reads since the last write.
    reads: Vec<Operation>,
}

/// Conflicts while a run is gone through.
struct Gatherer<'r> {
    run: &'r Run,
    /// By site: a hash of its place.
    places: Vec<u64>,
    counts: FxHashMap<(Contended, ThreadId), u32>,
    sums: FxHashMap<Contended, u64>,
}

impl ConflictOrder {
    /// Those of a run.
    pub(crate) fn all_of(run: &Run) -> FxHashSet<Self> {
        let sites = (0..run.tables.sites.len()).map(SiteId::from_index);
        let places = sites.map(|site| hash_of(&places::key(&run.tables, site))).collect();
        let (counts, sums) = (FxHashMap::default(), FxHashMap::default());
        let mut gatherer = Gatherer { run, places, counts, sums };
        let mut vars: FxHashMap<VarId, Last> = FxHashMap::default();
        let mut locks: FxHashMap<u32, Last> = FxHashMap::default();
        for at in run.history.all() {
            match run.history.event(at).op {
                Op::Read { var, .. } => {
                    let contended = gatherer.contended(var);
                    gatherer.read(contended, vars.entry(var).or_default(), at);
                }
                Op::Write { var, .. } => {
                    let contended = gatherer.contended(var);
                    gatherer.write(contended, vars.entry(var).or_default(), at);
                }
                Op::Acquire { lock, hold } => {
                    let (last, contended) =
                        (locks.entry(lock.0).or_default(), Contended::Lock(lock.0));
                    match hold {
                        Hold::Shared => gatherer.read(contended, last, at),
                        _ => gatherer.write(contended, last, at),
                    }
                }
                _ => {}
            }
        }
        gatherer.sums.into_values().map(Self).collect()
    }
}

impl Gatherer<'_> {
    fn contended(&self, var: VarId) -> Contended {
        self.run.objects.of(var).map_or(Contended::Var(var), Contended::Object)
    }

    fn operation(&mut self, contended: Contended, at: At) -> Operation {
        let event = self.run.history.event(at);
        let count = self.counts.entry((contended, event.thread)).or_default();
        *count += 1;
        let place = self.places.get(event.site.index()).copied().unwrap_or_default();
        Operation { thread: event.thread, nth: *count, place }
    }

    fn read(&mut self, contended: Contended, last: &mut Last, at: At) {
        let operation = self.operation(contended, at);
        self.add(contended, last.write, operation);
        last.reads.push(operation);
    }

    fn write(&mut self, contended: Contended, last: &mut Last, at: At) {
        let operation = self.operation(contended, at);
        let before: Vec<_> = last.write.into_iter().chain(last.reads.drain(..)).collect();
        self.add(contended, before, operation);
        last.write = Some(operation);
    }

    /// Adds conflicts with earlier operations. A sum does not depend on the order of independent conflicts.
    fn add(
        &mut self,
        contended: Contended,
        before: impl IntoIterator<Item = Operation>,
        operation: Operation,
    ) {
        for earlier in before.into_iter().filter(|earlier| earlier.thread != operation.thread) {
            let sum = self.sums.entry(contended).or_default();
            *sum = sum.wrapping_add(hash_of(&(earlier, operation)));
        }
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    // The sum of weak hashes is weaker still.
    let mixed = hasher.finish() ^ (hasher.finish() >> 32);
    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// Why exploring ended before its budget was used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Saturation {
    /// Runs since the last one that showed a new order.
    pub streak: u32,
    /// The estimated chance that the next run shows a new order.
    pub chance: f64,
}

/// The orders that runs have shown so far.
#[derive(Debug, Default)]
pub(crate) struct Novelty {
    /// By order: how many runs had it.
    counts: FxHashMap<ConflictOrder, u32>,
    /// Orders that one run had.
    singles: u32,
    runs: u32,
    streak: u32,
}

impl Novelty {
    /// Counts the orders of a run; says whether one is new.
    pub(crate) fn add(&mut self, orders: FxHashSet<ConflictOrder>) -> bool {
        self.runs += 1;
        let mut is_new = false;
        for order in orders {
            if self.counts.len() >= MAX_ORDERS && !self.counts.contains_key(&order) {
                is_new = true;
                continue;
            }
            let count = self.counts.entry(order).or_default();
            *count += 1;
            is_new |= *count == 1;
            match *count {
                1 => self.singles += 1,
                2 => self.singles -= 1,
                _ => {}
            }
        }
        self.streak = if is_new { 0 } else { self.streak + 1 };
        is_new
    }

    /// Something else was new in the last run: a candidate, a failure.
    pub(crate) fn renew(&mut self) {
        self.streak = 0;
    }

    pub(crate) fn orders(&self) -> usize {
        self.counts.len()
    }

    /// The estimated chance that the next run shows a new order.
    fn chance(&self) -> f64 {
        let good_turing = f64::from(self.singles) / f64::from(self.runs.max(1));
        good_turing.max(1.0 / f64::from(self.streak + 1)).min(1.0)
    }

    /// Whether nothing new is to be expected.
    pub(crate) fn saturation(&self) -> Option<Saturation> {
        let chance = self.chance();
        let is_saturated = match self.counts.is_empty() {
            false => self.streak >= LONG_STREAK && chance <= SMALL_CHANCE,
            true => self.streak >= SHORT_STREAK,
        };
        is_saturated.then_some(Saturation { streak: self.streak, chance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(hashes: &[u64]) -> FxHashSet<ConflictOrder> {
        hashes.iter().copied().map(ConflictOrder).collect()
    }

    #[test]
    fn a_new_order_ends_a_streak() {
        let mut novelty = Novelty::default();
        assert!(novelty.add(orders(&[1])));
        assert!(!novelty.add(orders(&[1])));
        assert_eq!((novelty.streak, novelty.singles), (1, 0));
        assert!(novelty.add(orders(&[1, 2])));
        assert_eq!((novelty.streak, novelty.singles, novelty.orders()), (0, 1, 2));
    }

    #[test]
    fn few_orders_are_soon_enough_and_many_never() {
        let mut few = Novelty::default();
        let mut many = Novelty::default();
        for n in 0..1_000_u64 {
            few.add(orders(&[n % 3, 10 + n % 2]));
            many.add(orders(&[n]));
            assert!(many.saturation().is_none());
        }
        let end = few.saturation().expect("five orders, a thousand runs");
        assert!(end.chance <= SMALL_CHANCE, "{end:?}");
    }

    #[test]
    fn orders_seen_once_keep_exploring_going() {
        // Every tenth run is new, the others are not.
        let mut novelty = Novelty::default();
        for n in 0..2_000_u64 {
            novelty.add(orders(&[if n % 10 == 0 { n } else { 1 }]));
        }
        for _ in 0..LONG_STREAK {
            novelty.add(orders(&[1]));
        }
        assert!(novelty.saturation().is_none(), "{}", novelty.chance());
    }

    #[test]
    fn threads_that_never_meet_need_no_long_search() {
        let mut novelty = Novelty::default();
        for _ in 0..SHORT_STREAK {
            novelty.add(orders(&[]));
        }
        assert!(novelty.saturation().is_some());
    }
}
