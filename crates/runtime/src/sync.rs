//! Locks and waiting, using only the futex call of Linux.
//!
//! The runtime lives inside of another program. If that program is native, the runtime controls the functions of the
//! C library by which threads wait, so it must not use them itself: neither directly nor through `std::sync::Mutex`,
//! `Condvar` or `std::thread::park`. This module makes system calls without the C library.
//!
//! A panic does not poison a lock: after an internal error the runtime releases the program, and must still be able
//! to report it.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex::{self, Flags, Timespec};

/// Sleeps while the word has that value, but not longer than `limit`. May return spuriously.
pub(crate) fn wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.map(|limit| Timespec {
        // A limit beyond the end of the clock is no limit.
        tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    // It may return at once: the word has changed, a signal came, the limit has passed.
    let _ = futex::wait(word, Flags::PRIVATE, value, limit.as_ref());
}

/// Wakes at most so many of the threads that sleep on the word.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    // The kernel takes a signed number.
    let _ = futex::wake(word, Flags::PRIVATE, count.min(i32::MAX.cast_unsigned()));
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and another thread may sleep because of that.
const AWAITED: u32 = 2;

/// Mutual exclusion.
#[derive(Default)]
pub struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard only, and there is one guard at a time.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Self { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    pub fn lock(&self) -> Guard<'_, T> {
        if !self.take() {
            // A thread that has slept once does not know whether others still sleep, so it takes the lock as
            // contended.
            while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
                wait(&self.state, AWAITED, None);
            }
        }
        Guard { lock: self }
    }

    /// The same without waiting.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // Created only if the lock was acquired: a guard that is dropped releases the lock.
        self.take().then(|| Guard { lock: self })
    }

    fn take(&self) -> bool {
        let order = Ordering::Acquire;
        self.state.compare_exchange(FREE, TAKEN, order, Ordering::Relaxed).is_ok()
    }
}

impl<T> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Access to what a [`Lock`] guards; the lock is free again when this is dropped.
#[derive(Debug)]
#[must_use = "the lock is free again as soon as the guard is dropped"]
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

// SAFETY: shared guards give shared access to the value.
unsafe impl<T: Sync> Sync for Guard<'_, T> {}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, and it is borrowed shared.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and it is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.lock.state.swap(FREE, Ordering::Release) == AWAITED {
            wake(&self.lock.state, 1);
        }
    }
}

/// Waits until the data that a [`Lock`] guards has changed.
#[derive(Debug, Default)]
pub struct Condition {
    /// Counts changes.
    changes: AtomicU32,
}

impl Condition {
    pub const fn new() -> Self {
        Self { changes: AtomicU32::new(0) }
    }

    /// Releases the lock, waits for a later [`Condition::notify_all`], and takes the lock again. May return
    /// spuriously.
    pub fn wait<'a, T>(&self, guard: Guard<'a, T>) -> Guard<'a, T> {
        let lock = guard.lock;
        // Read under the lock: the number changes with every change that the caller has not seen.
        let seen = self.changes.load(Ordering::Relaxed);
        drop(guard);
        wait(&self.changes, seen, None);
        lock.lock()
    }

    /// To be called after a change, with or without the lock.
    pub fn notify_all(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        wake(&self.changes, u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_lock_that_is_taken_is_not_given_again() {
        let lock = Lock::new(1);
        let guard = lock.lock();
        assert!(lock.try_lock().is_none());
        assert!(lock.try_lock().is_none(), "a failed attempt does not release it");
        drop(guard);
        *lock.try_lock().expect("it is free") += 1;
        assert_eq!(*lock.lock(), 2);
    }

    #[test]
    fn a_panic_frees_the_lock() {
        let lock = Arc::new(Lock::new(7));
        let other = Arc::clone(&lock);
        let panicked = thread::spawn(move || {
            let _guard = other.lock();
            panic!("while it holds the lock");
        });
        assert!(panicked.join().is_err());
        assert_eq!(*lock.lock(), 7);
    }

    /// The sum is wrong if two threads ever are inside at once, and the test hangs if a wake-up is lost.
    #[test]
    fn many_threads_are_never_inside_at_once() {
        const THREADS: u64 = 8;
        const ROUNDS: u64 = 20_000;
        let lock = Arc::new(Lock::new((0_u64, 0_u64)));
        let inside = Arc::new(AtomicU64::new(0));
        let workers: Vec<_> = (0..THREADS)
            .map(|number| {
                let (lock, inside) = (Arc::clone(&lock), Arc::clone(&inside));
                thread::spawn(move || {
                    for round in 0..ROUNDS {
                        let attempt = if round % 3 == 0 { lock.try_lock() } else { None };
                        let mut sums = attempt.unwrap_or_else(|| lock.lock());
                        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                        sums.0 += 1;
                        if (round + number) % 64 == 0 {
                            // A thread that comes now must sleep.
                            thread::yield_now();
                        }
                        sums.1 += sums.0;
                        inside.fetch_sub(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().expect("no other thread was inside"));
        let count = THREADS * ROUNDS;
        assert_eq!(*lock.lock(), (count, count * (count + 1) / 2));
    }

    /// A buffer for one number: the test hangs if a change between checking and sleeping is missed.
    #[test]
    fn no_change_is_missed() {
        const ROUNDS: u32 = 20_000;
        let shared = Arc::new((Lock::new(None), Condition::new()));
        let producer = Arc::clone(&shared);
        let producer = thread::spawn(move || {
            let (place, changed) = &*producer;
            for number in 0..ROUNDS {
                let mut guard = place.lock();
                while guard.is_some() {
                    guard = changed.wait(guard);
                }
                *guard = Some(number);
                drop(guard);
                changed.notify_all();
            }
        });
        let (place, changed) = &*shared;
        for number in 0..ROUNDS {
            let mut guard = place.lock();
            while guard.is_none() {
                guard = changed.wait(guard);
            }
            assert_eq!(guard.take(), Some(number));
            drop(guard);
            changed.notify_all();
        }
        producer.join().expect("no panic");
    }

    #[test]
    fn a_wait_ends_when_its_time_is_over() {
        let word = AtomicU32::new(5);
        wait(&word, 4, None); // The word has another value: no sleep at all.
        let begin = Instant::now();
        wait(&word, 5, Some(Duration::from_millis(20)));
        assert!(begin.elapsed() >= Duration::from_millis(15), "{:?}", begin.elapsed());
    }
}
