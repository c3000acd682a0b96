//! Mutexes of all types, and spin locks.

use std::ffi::c_int;

use libc::{clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec};
use untorn_runtime::sync::Lock;
use untorn_schedule::{ThreadId, Wake};

use super::real;
use super::time::deadline_of;
use crate::abi::stub;
use crate::locks::{mutex as key, waited_on};
use crate::run::Run;
use crate::sites::Kind;
use crate::turn::{self, Turn};

/// The robust owner has died: the mutex is taken nevertheless.
fn is_taken(result: c_int) -> bool {
    result == 0 || result == libc::EOWNERDEAD
}

/// Takes the mutex. While another thread has it in the model, this one waits in the scheduler.
fn take(turn: &Turn, mutex: *mut pthread_mutex_t) -> c_int {
    let address = mutex.addr();
    if !turn.await_mutex(address) {
        // SAFETY: as the program promises, here and below.
        return unsafe { real::pthread_mutex_lock(mutex) };
    }
    match unsafe { real::pthread_mutex_trylock(mutex) } {
        libc::EBUSY if turn.host().locks.owner_is(address, turn.me) => {
            // Its own, and not recursive: an error that the type decides about, or a thread that waits for itself.
            take_again(turn, mutex)
        }
        libc::EBUSY => {
            // Somebody who is not controlled has it, or another process.
            turn.control().leave_contended(());
            let result = unsafe { real::pthread_mutex_lock(mutex) };
            turn.control().come_back(());
            if is_taken(result) {
                taken(turn, address);
            }
            result
        }
        result => {
            if is_taken(result) {
                taken(turn, address);
            }
            result
        }
    }
}

fn taken(turn: &Turn, address: usize) {
    turn.host().locks.take(address, turn.me);
    turn.record(Kind::Acquire, address, 0);
}

/// What kind of mutex it is, with all flags: that stands behind the lock word, the count, the owner and the number of users
/// (bits/struct_mutex.h).
fn kind_of(mutex: *mut pthread_mutex_t) -> c_int {
    const KIND: usize = 16;
    // SAFETY: within the mutex.
    unsafe { mutex.cast::<u8>().add(KIND).cast::<c_int>().read() }
}

/// Normal, recursive, or checking.
fn type_of(mutex: *mut pthread_mutex_t) -> c_int {
    const MASK: c_int = 3;
    kind_of(mutex) & MASK
}

/// Whether the owner gets an answer when it takes the mutex once more.
fn is_recursive_or_checked(mutex: *mut pthread_mutex_t) -> bool {
    matches!(type_of(mutex), libc::PTHREAD_MUTEX_RECURSIVE | libc::PTHREAD_MUTEX_ERRORCHECK)
}

/// Mutexes that their owner gives back by ending.
static ROBUST: Lock<Vec<usize>> = Lock::new(Vec::new());

/// A thread ends: its robust mutexes are free for others, which hear of that.
pub(super) fn owner_died(run: &Run, owner: ThreadId) {
    let locks = &run.control.host().locks;
    let robust = ROBUST.lock().clone();
    for address in robust.into_iter().filter(|address| locks.owner_is(*address, owner)) {
        locks.free(address);
    }
}

/// A thread locks a mutex that it has. A mutex that checks says so; one that does not is waited for, for ever.
fn take_again(turn: &Turn, mutex: *mut pthread_mutex_t) -> c_int {
    if type_of(mutex) == libc::PTHREAD_MUTEX_ERRORCHECK {
        return libc::EDEADLK;
    }
    turn.record(Kind::Request, mutex.addr(), 0);
    // Nobody will ever notify this.
    turn.await_change(waited_on(mutex.addr()), None);
    // SAFETY: as the program promises.
    unsafe { real::pthread_mutex_lock(mutex) }
}

extern "C" fn lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    match turn::take(pc).filter(|turn| turn.before(Kind::Acquire, mutex.addr())) {
        Some(turn) => take(&turn, mutex),
        // SAFETY: as the program promises.
        None => unsafe { real::pthread_mutex_lock(mutex) },
    }
}

/// The mutex for who goes on after a wait: no event that anybody decides about.
pub(super) fn retake(turn: &Turn, mutex: *mut pthread_mutex_t) -> c_int {
    let address = mutex.addr();
    if turn.await_mutex(address) {
        // SAFETY: as the program promises, here and below.
        let result = unsafe { real::pthread_mutex_trylock(mutex) };
        if result != libc::EBUSY {
            return result;
        }
        turn.control().leave_contended(());
        let result = unsafe { real::pthread_mutex_lock(mutex) };
        turn.control().come_back(());
        return result;
    }
    unsafe { real::pthread_mutex_lock(mutex) }
}

extern "C" fn try_lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Acquire, mutex.addr()));
    // SAFETY: as the program promises.
    let result = unsafe { real::pthread_mutex_trylock(mutex) };
    if let Some(turn) = turn {
        if is_taken(result) {
            taken(&turn, mutex.addr());
        } else {
            // Whether a mutex is free is something that a thread sees.
            turn.record(Kind::SyncRead, mutex.addr(), 1);
            turn.wait_for_others();
        }
    }
    result
}

fn lock_until(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> Option<c_int> {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Acquire, mutex.addr()))?;
    let deadline = deadline_of(clock, until)?;
    let address = mutex.addr();
    loop {
        let owner = turn.host().locks.owner(key(address));
        if owner.is_none() || (owner == Some(turn.me) && is_recursive_or_checked(mutex)) {
            return Some(take(&turn, mutex));
        }
        turn.run.begin_timed();
        let woken = turn.await_change(waited_on(address), Some(deadline));
        turn.run.end_timed();
        if woken? == Wake::TimedOut {
            turn.record(Kind::SyncRead, address, 1);
            return Some(libc::ETIMEDOUT);
        }
    }
}

extern "C" fn timed_lock(mutex: *mut pthread_mutex_t, until: *const timespec, pc: usize) -> c_int {
    lock_until(mutex, libc::CLOCK_REALTIME, until, pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_timedlock(mutex, until) })
}

extern "C" fn clock_lock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    lock_until(mutex, clock, until, pc)
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::pthread_mutex_clocklock(mutex, clock, until) })
}

extern "C" fn unlock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Release, mutex.addr()));
    // SAFETY: as the program promises.
    let result = unsafe { real::pthread_mutex_unlock(mutex) };
    if let Some(turn) = turn.filter(|_| result == 0) {
        given(&turn, mutex.addr());
    }
    result
}

fn given(turn: &Turn, address: usize) {
    turn.host().locks.give(address);
    turn.record(Kind::Release, address, 0);
    if turn.run.has_timed() {
        turn.notify(waited_on(address), true);
    }
}

extern "C" fn init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
    pc: usize,
) -> c_int {
    const IS_ROBUST: c_int = 16;
    let turn = turn::take(pc);
    // SAFETY: as the program promises.
    let result = unsafe { real::pthread_mutex_init(mutex, attributes) };
    if let Some(turn) = turn {
        turn.host().locks.free(mutex.addr());
        let mut robust = ROBUST.lock();
        robust.retain(|address| *address != mutex.addr());
        if kind_of(mutex) & IS_ROBUST != 0 {
            robust.push(mutex.addr());
        }
    }
    result
}

extern "C" fn destroy(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    // SAFETY: as the program promises.
    let result = unsafe { real::pthread_mutex_destroy(mutex) };
    if let Some(turn) = turn::take(pc).filter(|_| result == 0) {
        turn.host().locks.free(mutex.addr());
    }
    result
}

extern "C" fn spin_lock(lock: *mut c_int, pc: usize) -> c_int {
    let Some(turn) = turn::take(pc).filter(|turn| turn.before(Kind::Acquire, lock.addr())) else {
        // SAFETY: as the program promises, here and below.
        return unsafe { real::pthread_spin_lock(lock) };
    };
    while turn.await_mutex(lock.addr()) {
        if unsafe { real::pthread_spin_trylock(lock) } == 0 {
            taken(&turn, lock.addr());
            return 0;
        }
        if turn.host().locks.owner_is(lock.addr(), turn.me) {
            // It waits for itself, for ever.
            turn.await_change(waited_on(lock.addr()), None);
        } else {
            turn.wait_for_others();
        }
    }
    unsafe { real::pthread_spin_lock(lock) }
}

extern "C" fn spin_try_lock(lock: *mut c_int, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Acquire, lock.addr()));
    // SAFETY: as the program promises.
    let result = unsafe { real::pthread_spin_trylock(lock) };
    if let Some(turn) = turn {
        if result == 0 {
            taken(&turn, lock.addr());
        } else {
            turn.record(Kind::SyncRead, lock.addr(), 1);
            turn.wait_for_others();
        }
    }
    result
}

extern "C" fn spin_unlock(lock: *mut c_int, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Release, lock.addr()));
    // SAFETY: as the program promises.
    let result = unsafe { real::pthread_spin_unlock(lock) };
    if let Some(turn) = turn {
        given(&turn, lock.addr());
    }
    result
}

stub! {
    pthread_mutex_lock "rsi" => lock;
    pthread_mutex_trylock "rsi" => try_lock;
    pthread_mutex_timedlock "rdx" => timed_lock;
    pthread_mutex_clocklock "rcx" => clock_lock;
    pthread_mutex_unlock "rsi" => unlock;
    pthread_mutex_init "rdx" => init;
    pthread_mutex_destroy "rsi" => destroy;
    pthread_spin_lock "rsi" => spin_lock;
    pthread_spin_trylock "rsi" => spin_try_lock;
    pthread_spin_unlock "rsi" => spin_unlock;
    mtx_lock "rsi" => lock;
    mtx_unlock "rsi" => unlock;
}

/// The results of C11's functions: `thrd_success`, `thrd_busy`, `thrd_error`, `thrd_timedout`.
pub(super) const fn c11(result: c_int) -> c_int {
    match result {
        0 => 0,
        libc::EBUSY => 1,
        libc::ENOMEM => 3,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

extern "C" fn c11_try_lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    c11(try_lock(mutex, pc))
}

extern "C" fn c11_timed_lock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    c11(timed_lock(mutex, until, pc))
}

stub! {
    mtx_trylock "rsi" => c11_try_lock;
    mtx_timedlock "rdx" => c11_timed_lock;
}
