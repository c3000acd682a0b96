//! Condition variables: modelled as a whole. The real one is signalled, too, for threads that are not controlled.

use std::ffi::c_int;

use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use untorn_schedule::{Nanos, Wake};

use super::mutex::{c11, retake};
use super::real;
use super::time::deadline_of;
use crate::abi::{cancellable, stub};
use crate::cancel;
use crate::inside::Inside;
use crate::locks::waited_on;
use crate::run;
use crate::sites::Kind;
use crate::turn::{self, Turn};

/// Gives up the mutex, waits, and takes it again.
fn wait_in_turn(
    turn: &Turn,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    deadline: Option<Nanos>,
) -> c_int {
    let (address, key) = (mutex.addr(), waited_on(condition.addr()));
    let depth = turn.host().locks.free(address).max(1);
    turn.record(Kind::Await, address, condition.addr() as u64);
    // SAFETY: as the program promises: the thread has the mutex.
    let result = unsafe { real::pthread_mutex_unlock(mutex) };
    if result != 0 {
        return result;
    }
    if turn.run.has_timed() {
        turn.notify(waited_on(address), true);
    }
    let woken = turn.await_change(key, deadline);
    let result = retake(turn, mutex);
    let Some(wake) = woken else {
        // The run has ended. That looks like one of the wake-ups without a reason, which programs expect.
        return result;
    };
    for _ in 0..depth {
        turn.host().locks.take(address, turn.me);
    }
    turn.record(Kind::Awaited, address, condition.addr() as u64);
    if wake == Wake::Notified {
        turn.record(Kind::SyncRead, condition.addr(), 0);
    }
    if wake == Wake::Interrupted {
        // To be cancelled, if that is why. A signal is a reason to wake up, too.
        cancel::is_due();
    }
    match (result, wake) {
        (0, Wake::TimedOut) => libc::ETIMEDOUT,
        (result, _) => result,
    }
}

fn turn_for(mutex: *mut pthread_mutex_t, pc: usize) -> Option<Turn> {
    // Who is to be cancelled goes to the C library, which does that.
    turn::take(pc).filter(|turn| turn.before(Kind::Await, mutex.addr()) && !cancel::is_due())
}

extern "C" fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    pc: usize,
) -> c_int {
    match turn_for(mutex, pc) {
        Some(turn) => wait_in_turn(&turn, condition, mutex, None),
        // SAFETY: as the program promises.
        None => unsafe { real::pthread_cond_wait(condition, mutex) },
    }
}

/// The clock of a condition: the lowest bit of the reference count (bits/pthreadtypes.h; nptl/pthreadP.h).
fn clock_of(condition: *mut pthread_cond_t) -> clockid_t {
    const FLAGS: usize = 36;
    // SAFETY: within the condition.
    let flags = unsafe { condition.cast::<u8>().add(FLAGS).cast::<u32>().read() };
    if flags & 2 != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

extern "C" fn timed_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if let Some(turn) = turn_for(mutex, pc)
        && let Some(deadline) = deadline_of(clock_of(condition), until)
    {
        return wait_in_turn(&turn, condition, mutex, Some(deadline));
    }
    // SAFETY: as the program promises.
    unsafe { real::pthread_cond_timedwait(condition, mutex, until) }
}

extern "C" fn clock_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if let Some(turn) = turn_for(mutex, pc)
        && let Some(deadline) = deadline_of(clock, until)
    {
        return wait_in_turn(&turn, condition, mutex, Some(deadline));
    }
    // SAFETY: as the program promises.
    unsafe { real::pthread_cond_clockwait(condition, mutex, clock, until) }
}

fn wake(condition: *mut pthread_cond_t, all: bool, pc: usize) {
    let address = condition.addr();
    if let Some(turn) = turn::take(pc) {
        turn.note(Kind::SyncWrite, address, 0);
        turn.notify(waited_on(address), all);
    } else if let Some(run) = run::current()
        && let Some(_inside) = Inside::enter()
    {
        run.control.notified_outside(|| waited_on(address), all);
    }
}

extern "C" fn signal(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    wake(condition, false, pc);
    // SAFETY: as the program promises.
    unsafe { real::pthread_cond_signal(condition) }
}

extern "C" fn broadcast(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    wake(condition, true, pc);
    // SAFETY: as the program promises.
    unsafe { real::pthread_cond_broadcast(condition) }
}

extern "C" fn c11_timed_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    c11(timed_wait(condition, mutex, until, pc))
}

cancellable! {
    pthread_cond_wait "rdx" => wait;
    pthread_cond_timedwait "rcx" => timed_wait;
    pthread_cond_clockwait "r8" => clock_wait;
    cnd_wait "rdx" => wait;
    cnd_timedwait "rcx" => c11_timed_wait;
}

stub! {
    pthread_cond_signal "rsi" => signal;
    pthread_cond_broadcast "rsi" => broadcast;
    cnd_signal "rsi" => signal;
    cnd_broadcast "rsi" => broadcast;
}
