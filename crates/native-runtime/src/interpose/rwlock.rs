//! Locks for readers and writers. The real lock says whether it is free; who does not get it waits in the scheduler.

use std::ffi::c_int;

use libc::{clockid_t, pthread_rwlock_t, timespec};
use untorn_schedule::{Nanos, Wake};

use super::real;
use super::time::deadline_of;
use crate::abi::stub;
use crate::locks::waited_on;
use crate::sites::Kind;
use crate::turn::{self, Turn};

/// Asks the real lock until it is there. `None` if the run has ended meanwhile.
fn take(
    turn: &Turn,
    lock: *mut pthread_rwlock_t,
    kind: Kind,
    deadline: Option<Nanos>,
) -> Option<c_int> {
    let mut requested = false;
    loop {
        // SAFETY: as the program promises.
        match unsafe { attempt(lock, kind) } {
            libc::EBUSY | libc::EAGAIN => {}
            result => {
                taken(turn, lock, kind, result);
                return Some(result);
            }
        }
        if !requested && deadline.is_none() {
            turn.record(Kind::Request, lock.addr(), 0);
            requested = true;
        }
        if turn.await_change(waited_on(lock.addr()), deadline)? == Wake::TimedOut {
            return Some(libc::ETIMEDOUT);
        }
    }
}

unsafe fn attempt(lock: *mut pthread_rwlock_t, kind: Kind) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        match kind {
            Kind::Acquire => real::pthread_rwlock_trywrlock(lock),
            _ => real::pthread_rwlock_tryrdlock(lock),
        }
    }
}

fn taken(turn: &Turn, lock: *mut pthread_rwlock_t, kind: Kind, result: c_int) {
    if result == 0 {
        if kind == Kind::Acquire {
            turn.host().locks.take(lock.addr(), turn.me);
        }
        turn.record(kind, lock.addr(), 0);
    }
}

fn lock_as(lock: *mut pthread_rwlock_t, kind: Kind, pc: usize) -> Option<c_int> {
    let turn = turn::take(pc).filter(|turn| turn.before(kind, lock.addr()))?;
    take(&turn, lock, kind, None)
}

fn lock_until(
    lock: *mut pthread_rwlock_t,
    kind: Kind,
    (clock, until): (clockid_t, *const timespec),
    pc: usize,
) -> Option<c_int> {
    let turn = turn::take(pc).filter(|turn| turn.before(kind, lock.addr()))?;
    take(&turn, lock, kind, Some(deadline_of(clock, until)?))
}

fn try_lock_as(lock: *mut pthread_rwlock_t, kind: Kind, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(kind, lock.addr()));
    // SAFETY: as the program promises.
    let result = unsafe { attempt(lock, kind) };
    if let Some(turn) = turn {
        taken(&turn, lock, kind, result);
    }
    result
}

extern "C" fn read_lock(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    lock_as(lock, Kind::AcquireShared, pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_rdlock(lock) })
}

extern "C" fn write_lock(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    lock_as(lock, Kind::Acquire, pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_wrlock(lock) })
}

extern "C" fn try_read_lock(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    try_lock_as(lock, Kind::AcquireShared, pc)
}

extern "C" fn try_write_lock(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    try_lock_as(lock, Kind::Acquire, pc)
}

extern "C" fn timed_read_lock(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    lock_until(lock, Kind::AcquireShared, (libc::CLOCK_REALTIME, until), pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_timedrdlock(lock, until) })
}

extern "C" fn timed_write_lock(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    lock_until(lock, Kind::Acquire, (libc::CLOCK_REALTIME, until), pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_timedwrlock(lock, until) })
}

extern "C" fn clock_read_lock(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    lock_until(lock, Kind::AcquireShared, (clock, until), pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_clockrdlock(lock, clock, until) })
}

extern "C" fn clock_write_lock(
    lock: *mut pthread_rwlock_t,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    lock_until(lock, Kind::Acquire, (clock, until), pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_rwlock_clockwrlock(lock, clock, until) })
}

extern "C" fn unlock(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    let address = lock.addr();
    let Some(turn) = turn::take(pc) else {
        // SAFETY: as the program promises, here and below.
        return unsafe { real::pthread_rwlock_unlock(lock) };
    };
    let is_writer = turn.host().locks.owner_is(address, turn.me);
    let kind = if is_writer { Kind::Release } else { Kind::ReleaseShared };
    let goes_on = turn.before(kind, address);
    let result = unsafe { real::pthread_rwlock_unlock(lock) };
    if goes_on && result == 0 {
        if is_writer {
            turn.host().locks.give(address);
        }
        turn.record(kind, address, 0);
        turn.notify(waited_on(address), true);
    }
    result
}

stub! {
    pthread_rwlock_rdlock "rsi" => read_lock;
    pthread_rwlock_wrlock "rsi" => write_lock;
    pthread_rwlock_tryrdlock "rsi" => try_read_lock;
    pthread_rwlock_trywrlock "rsi" => try_write_lock;
    pthread_rwlock_timedrdlock "rdx" => timed_read_lock;
    pthread_rwlock_timedwrlock "rdx" => timed_write_lock;
    pthread_rwlock_clockrdlock "rcx" => clock_read_lock;
    pthread_rwlock_clockwrlock "rcx" => clock_write_lock;
    pthread_rwlock_unlock "rsi" => unlock;
}
