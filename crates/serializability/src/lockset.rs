//! Which locks each thread holds, as interned sets that are cheap to compare and to intersect.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use untorn_trace::{Hold, LockId, Op, ThreadId};

/// An interned set of locks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LocksetId(u32);

impl LocksetId {
    pub(crate) const EMPTY: Self = Self(0);
}

/// All sets of locks met so far. A program holds few different ones, so they are never freed.
#[derive(Debug)]
pub(crate) struct Locksets {
    /// Sorted; the first one is empty.
    sets: Vec<Box<[LockId]>>,
    ids: FxHashMap<Box<[LockId]>, LocksetId>,
    intersections: FxHashMap<(LocksetId, LocksetId), LocksetId>,
}

impl Default for Locksets {
    fn default() -> Self {
        let empty: Box<[LockId]> = Box::default();
        let ids = FxHashMap::from_iter([(empty.clone(), LocksetId::EMPTY)]);
        Self { sets: vec![empty], ids, intersections: FxHashMap::default() }
    }
}

impl Locksets {
    fn intern(&mut self, sorted: &[LockId]) -> LocksetId {
        debug_assert!(sorted.is_sorted());
        if let Some(&id) = self.ids.get(sorted) {
            return id;
        }
        let id = LocksetId(u32::try_from(self.sets.len()).expect("fewer than 2^32 locksets"));
        self.sets.push(sorted.into());
        self.ids.insert(sorted.into(), id);
        id
    }

    pub(crate) fn intersect(&mut self, a: LocksetId, b: LocksetId) -> LocksetId {
        if a == b || a == LocksetId::EMPTY {
            return a;
        }
        let key = (a.min_by_id(b), a.max_by_id(b));
        if let Some(&known) = self.intersections.get(&key) {
            return known;
        }
        let other = &self.sets[b.0 as usize];
        let common: SmallVec<[LockId; 8]> = self.sets[a.0 as usize]
            .iter()
            .copied()
            .filter(|lock| other.binary_search(lock).is_ok())
            .collect();
        let id = self.intern(&common);
        self.intersections.insert(key, id);
        id
    }
}

impl LocksetId {
    fn min_by_id(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    fn max_by_id(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

/// What a lock operation did to the protection of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// A lock was taken that was not held, or not held exclusively.
    Taken,
    /// The last level of a lock was given back, or its last exclusive one.
    Given,
    /// One level more or less of the same protection.
    Nothing,
}

/// The locks that threads hold.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    threads: Vec<Held>,
    pub(crate) sets: Locksets,
}

#[derive(Debug)]
struct Held {
    /// Sorted by lock; never one with both levels 0.
    locks: SmallVec<[Levels; 4]>,
    /// The monitor it waits for, and how deep it held it.
    waits: Option<(LockId, u32)>,
    any: LocksetId,
    exclusive: LocksetId,
}

#[derive(Clone, Copy, Debug)]
struct Levels {
    lock: LockId,
    exclusive: u32,
    shared: u32,
}

impl Default for Held {
    fn default() -> Self {
        let empty = LocksetId::EMPTY;
        Self { locks: SmallVec::new(), waits: None, any: empty, exclusive: empty }
    }
}

impl HeldLocks {
    /// The locks that protect a read of the thread: those it holds in any way.
    pub(crate) fn protecting_reads(&self, thread: ThreadId) -> LocksetId {
        self.threads.get(thread.index()).map_or(LocksetId::EMPTY, |held| held.any)
    }

    /// The locks that protect a write of the thread: a shared hold keeps no reader away.
    pub(crate) fn protecting_writes(&self, thread: ThreadId) -> LocksetId {
        self.threads.get(thread.index()).map_or(LocksetId::EMPTY, |held| held.exclusive)
    }

    /// Sees an operation; `None` if it is none on a lock.
    pub(crate) fn apply(&mut self, thread: ThreadId, op: Op) -> Option<Change> {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Held::default);
        }
        let held = &mut self.threads[thread.index()];
        let change = match op {
            Op::Acquire { lock, hold } => held.acquire(lock, hold, 1),
            Op::Release { lock, hold } => held.release(lock, hold, 1),
            Op::Wait { lock } => {
                let depth = held.levels(lock).map_or(0, |levels| levels.exclusive);
                held.waits = Some((lock, depth));
                held.release(lock, Hold::Exclusive, depth)
            }
            Op::Resume { lock } => {
                let depth = held.waits.take().map_or(1, |(_, depth)| depth.max(1));
                held.acquire(lock, Hold::Exclusive, depth)
            }
            _ => return None,
        };
        if change != Change::Nothing {
            let all: SmallVec<[LockId; 8]> = held.locks.iter().map(|l| l.lock).collect();
            held.any = self.sets.intern(&all);
            let exclusive = held.locks.iter().filter(|l| l.exclusive > 0);
            let exclusive: SmallVec<[LockId; 8]> = exclusive.map(|l| l.lock).collect();
            held.exclusive = self.sets.intern(&exclusive);
        }
        Some(change)
    }
}

impl Held {
    fn levels(&self, lock: LockId) -> Option<&Levels> {
        self.locks.iter().find(|levels| levels.lock == lock)
    }

    fn acquire(&mut self, lock: LockId, hold: Hold, levels: u32) -> Change {
        let at = self.locks.partition_point(|held| held.lock < lock);
        let is_new = self.locks.get(at).is_none_or(|held| held.lock != lock);
        if is_new {
            self.locks.insert(at, Levels { lock, exclusive: 0, shared: 0 });
        }
        let held = &mut self.locks[at];
        let gains = is_new || (hold == Hold::Exclusive && held.exclusive == 0);
        match hold {
            Hold::Exclusive => held.exclusive += levels,
            Hold::Shared => held.shared += levels,
        }
        if gains { Change::Taken } else { Change::Nothing }
    }

    fn release(&mut self, lock: LockId, hold: Hold, levels: u32) -> Change {
        let Some(at) = self.locks.iter().position(|held| held.lock == lock) else {
            return Change::Nothing; // Releases what it does not hold.
        };
        let held = &mut self.locks[at];
        let before = held.exclusive;
        match hold {
            Hold::Exclusive => held.exclusive = held.exclusive.saturating_sub(levels),
            Hold::Shared => held.shared = held.shared.saturating_sub(levels),
        }
        let loses_exclusive = before > 0 && held.exclusive == 0;
        let loses_all = held.exclusive == 0 && held.shared == 0;
        if loses_all {
            self.locks.remove(at);
        }
        if loses_all || loses_exclusive { Change::Given } else { Change::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(0);
    const L: LockId = LockId(5);
    const M: LockId = LockId(2);

    #[test]
    fn only_the_outer_levels_change_protection() {
        let mut held = HeldLocks::default();
        assert_eq!(held.apply(T, Op::acquire(L)), Some(Change::Taken));
        assert_eq!(held.apply(T, Op::acquire(L)), Some(Change::Nothing));
        assert_eq!(held.apply(T, Op::release(L)), Some(Change::Nothing));
        assert_ne!(held.protecting_writes(T), LocksetId::EMPTY);
        assert_eq!(held.apply(T, Op::release(L)), Some(Change::Given));
        assert_eq!(held.protecting_reads(T), LocksetId::EMPTY);
    }

    #[test]
    fn a_wait_gives_up_every_level_and_comes_back_to_it() {
        let mut held = HeldLocks::default();
        held.apply(T, Op::acquire(L));
        held.apply(T, Op::acquire(L));
        let inside = held.protecting_writes(T);
        assert_eq!(held.apply(T, Op::Wait { lock: L }), Some(Change::Given));
        assert_eq!(held.protecting_writes(T), LocksetId::EMPTY);
        assert_eq!(held.apply(T, Op::Resume { lock: L }), Some(Change::Taken));
        assert_eq!(held.protecting_writes(T), inside);
        assert_eq!(held.apply(T, Op::release(L)), Some(Change::Nothing));
        assert_eq!(held.apply(T, Op::release(L)), Some(Change::Given));
    }

    #[test]
    fn a_shared_hold_protects_reads_only() {
        let mut held = HeldLocks::default();
        held.apply(T, Op::Acquire { lock: L, hold: Hold::Shared });
        assert_ne!(held.protecting_reads(T), LocksetId::EMPTY);
        assert_eq!(held.protecting_writes(T), LocksetId::EMPTY);
    }

    #[test]
    fn sets_are_interned_whatever_the_order() {
        let mut held = HeldLocks::default();
        held.apply(T, Op::acquire(L));
        let only_l = held.protecting_reads(T);
        held.apply(T, Op::acquire(M));
        let both = held.protecting_reads(T);
        let other = ThreadId(1);
        held.apply(other, Op::acquire(M));
        held.apply(other, Op::acquire(L));
        assert_eq!(held.protecting_reads(other), both);
        assert_eq!(held.sets.intersect(both, only_l), only_l);
        assert_eq!(held.sets.intersect(only_l, LocksetId::EMPTY), LocksetId::EMPTY);
    }
}
