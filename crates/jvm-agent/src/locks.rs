//! The owners of monitors: a word for each object number, shared with the Java probes.
//!
//! Object numbers are small and dense (the launcher has the JVM count them), so the table is an array
//! that is never resized: the address space for every possible number is reserved once, and the
//! system gives memory to the pages that are used.
#![allow(unsafe_code)]

use untorn_schedule::{LockKey, Locks, ThreadId};

/// Identities have 31 bits.
const NUMBERS: usize = 1 << 31;

#[derive(Debug)]
pub(crate) struct LockWords {
    base: usize,
    numbers: usize,
}

impl LockWords {
    /// Reserves the table, as much of it as the system allows.
    pub(crate) fn new() -> Option<Self> {
        let mut numbers = NUMBERS;
        while numbers >= 1 << 20 {
            let (protection, flags) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            );
            // SAFETY: a new anonymous mapping touches nothing that exists.
            let address =
                unsafe { libc::mmap(std::ptr::null_mut(), numbers * 8, protection, flags, -1, 0) };
            if address != libc::MAP_FAILED {
                return Some(Self { base: address.addr(), numbers });
            }
            numbers /= 2;
        }
        None
    }

    pub(crate) fn base(&self) -> usize {
        self.base
    }

    fn word(&self, lock: u32) -> Option<*mut u64> {
        let index = lock as usize;
        let address = self.base + index * 8;
        (index < self.numbers).then(|| std::ptr::with_exposed_provenance_mut(address))
    }

    fn get(&self, lock: u32) -> u64 {
        // SAFETY: within the mapping, aligned; only the thread with the token writes.
        self.word(lock).map_or(0, |word| unsafe { word.read_volatile() })
    }

    /// Another run begins in this JVM: no monitor is held, whatever threads of earlier runs hold for ever.
    pub(crate) fn clear(&self) {
        let start = std::ptr::with_exposed_provenance_mut(self.base);
        // SAFETY: the whole mapping, which is private and anonymous: its pages are given back and read as zero.
        unsafe { libc::madvise(start, self.numbers * 8, libc::MADV_DONTNEED) };
    }

    /// How deep the thread holds the monitor; 0 if it does not.
    pub(crate) fn depth(&self, lock: u32, thread: ThreadId) -> u32 {
        let word = self.get(lock);
        if (word >> 32) as u32 == thread.0 + 1 { word as u32 } else { 0 }
    }

    pub(crate) fn hold(&self, lock: u32, thread: ThreadId, depth: u32) {
        self.set(lock, u64::from(thread.0 + 1) << 32 | u64::from(depth));
    }

    pub(crate) fn free(&self, lock: u32) {
        self.set(lock, 0);
    }

    fn set(&self, lock: u32, value: u64) {
        if let Some(word) = self.word(lock) {
            // SAFETY: within the mapping, aligned; only the thread with the token writes.
            unsafe { word.write_volatile(value) };
        }
    }
}

impl Locks for LockWords {
    fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        let owner = (self.get(lock.0 as u32) >> 32) as u32;
        owner.checked_sub(1).map(ThreadId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_has_one_owner_and_a_depth() {
        let words = LockWords::new().expect("address space");
        let (a, b) = (ThreadId(0), ThreadId(7));
        assert_eq!(words.owner(LockKey(5)), None);
        words.hold(5, b, 3);
        assert_eq!(words.owner(LockKey(5)), Some(b));
        assert_eq!((words.depth(5, a), words.depth(5, b)), (0, 3));
        words.free(5);
        assert_eq!(words.owner(LockKey(5)), None);
        words.hold(1 << 20, a, 1);
        words.clear();
        assert_eq!(words.owner(LockKey(1 << 20)), None);
    }
}
