//! Who owns which mutex, as the scheduler sees it. The mutexes of the program are really taken beside this.

use rustc_hash::FxHashMap;
use untorn_runtime::sync::Lock;
use untorn_schedule::{LockKey, ThreadId};

#[derive(Clone, Copy, Debug)]
struct Owned {
    owner: ThreadId,
    depth: u32,
}

/// Mutexes that are held, by address.
#[derive(Debug, Default)]
pub(crate) struct LockTable(Lock<Option<FxHashMap<usize, Owned>>>);

/// What threads wait on that is no mutex: conditions, semaphores, words of memory. Nobody ever owns one.
const WAITED_ON: u64 = 1 << 63;

/// The key of a mutex.
pub(crate) const fn mutex(address: usize) -> LockKey {
    LockKey(address as u64)
}

/// The key by which threads wait on something to change.
pub(crate) const fn waited_on(address: usize) -> LockKey {
    LockKey(address as u64 | WAITED_ON)
}

impl LockTable {
    pub(crate) const fn new() -> Self {
        Self(Lock::new(None))
    }

    pub(crate) fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        if lock.0 & WAITED_ON != 0 {
            return None;
        }
        self.0.lock().as_ref()?.get(&(lock.0 as usize)).map(|owned| owned.owner)
    }

    pub(crate) fn owner_is(&self, address: usize, thread: ThreadId) -> bool {
        self.owner(mutex(address)) == Some(thread)
    }

    /// Takes it once more.
    pub(crate) fn take(&self, address: usize, me: ThreadId) {
        let mut table = self.0.lock();
        let owned = table.get_or_insert_default().entry(address);
        let owned = owned.or_insert(Owned { owner: me, depth: 0 });
        // The model may be wrong; who has really taken it has it.
        if owned.owner != me {
            *owned = Owned { owner: me, depth: 0 };
        }
        owned.depth += 1;
    }

    /// Gives back one level.
    pub(crate) fn give(&self, address: usize) {
        let mut table = self.0.lock();
        let Some(table) = table.as_mut() else { return };
        if let Some(owned) = table.get_mut(&address) {
            owned.depth -= 1;
            if owned.depth == 0 {
                table.remove(&address);
            }
        }
    }

    /// Gives back all levels; returns how many there were.
    pub(crate) fn free(&self, address: usize) -> u32 {
        let mut table = self.0.lock();
        let owned = table.as_mut().and_then(|table| table.remove(&address));
        owned.map_or(0, |owned| owned.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_is_free_again_when_it_was_given_back_as_often_as_it_was_taken() {
        let (table, me) = (LockTable::new(), ThreadId(3));
        let owner = || table.owner(mutex(64));
        assert_eq!(owner(), None);
        table.take(64, me);
        table.take(64, me);
        table.give(64);
        assert_eq!(owner(), Some(me));
        assert_eq!(table.owner(waited_on(64)), None, "a condition has no owner");
        table.give(64);
        table.give(64);
        assert_eq!(owner(), None);
        table.take(64, me);
        table.take(64, me);
        assert_eq!(table.free(64), 2);
        assert_eq!(owner(), None);
    }
}
