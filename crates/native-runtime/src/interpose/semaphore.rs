//! Semaphores and barriers.

use std::ffi::{c_int, c_uint, c_void};

use libc::timespec;
use rustc_hash::FxHashMap;
use untorn_runtime::sync::Lock;
use untorn_schedule::{Nanos, Wake};

use super::real::{self, Barrier, Semaphore};
use super::time::deadline_of;
use crate::abi::{cancellable, stub};
use crate::cancel;
use crate::inside::Inside;
use crate::locks::waited_on;
use crate::run;
use crate::sites::Kind;
use crate::turn::{self, Turn};

fn set_errno(error: c_int) {
    // SAFETY: the address of the current thread's variable.
    unsafe { *libc::__errno_location() = error };
}

/// Asks the real semaphore until it gives. `None` if the run has ended meanwhile.
fn take(turn: &Turn, semaphore: *mut Semaphore, deadline: Option<Nanos>) -> Option<c_int> {
    loop {
        // SAFETY: as the program promises.
        if unsafe { real::sem_trywait(semaphore) } == 0 {
            turn.record(Kind::SyncRead, semaphore.addr(), 0);
            return Some(0);
        }
        match turn.await_change(waited_on(semaphore.addr()), deadline)? {
            Wake::TimedOut => {
                set_errno(libc::ETIMEDOUT);
                return Some(-1);
            }
            Wake::Interrupted if turn.is_interrupted() => {
                set_errno(libc::EINTR);
                return Some(-1);
            }
            _ => {}
        }
    }
}

/// `None` also for a thread that is to be cancelled: the C library does that.
fn turn_for(semaphore: *mut Semaphore, pc: usize) -> Option<Turn> {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::SyncRead, semaphore.addr()));
    turn.filter(|_| !cancel::is_due())
}

extern "C" fn wait(semaphore: *mut Semaphore, pc: usize) -> c_int {
    turn_for(semaphore, pc)
        .and_then(|turn| take(&turn, semaphore, None))
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::sem_wait(semaphore) })
}

extern "C" fn timed_wait(semaphore: *mut Semaphore, until: *const timespec, pc: usize) -> c_int {
    let deadline = deadline_of(libc::CLOCK_REALTIME, until);
    turn_for(semaphore, pc)
        .and_then(|turn| take(&turn, semaphore, Some(deadline?)))
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::sem_timedwait(semaphore, until) })
}

extern "C" fn clock_wait(
    semaphore: *mut Semaphore,
    clock: c_int,
    until: *const timespec,
    pc: usize,
) -> c_int {
    let deadline = deadline_of(clock, until);
    turn_for(semaphore, pc)
        .and_then(|turn| take(&turn, semaphore, Some(deadline?)))
        // SAFETY: as the program promises.
        .unwrap_or_else(|| unsafe { real::sem_clockwait(semaphore, clock, until) })
}

extern "C" fn try_wait(semaphore: *mut Semaphore, pc: usize) -> c_int {
    let turn = turn_for(semaphore, pc);
    // SAFETY: as the program promises.
    let result = unsafe { real::sem_trywait(semaphore) };
    if let Some(turn) = turn {
        turn.record(Kind::SyncRead, semaphore.addr(), 0);
    }
    result
}

extern "C" fn post(semaphore: *mut Semaphore, pc: usize) -> c_int {
    let turn = turn::take(pc);
    if let Some(turn) = &turn {
        turn.note(Kind::SyncWrite, semaphore.addr(), 0);
    }
    // SAFETY: as the program promises.
    let result = unsafe { real::sem_post(semaphore) };
    match turn {
        Some(turn) => turn.notify(waited_on(semaphore.addr()), false),
        None => {
            if let Some(run) = run::current()
                && let Some(_inside) = Inside::enter()
            {
                run.control.notified_outside(|| waited_on(semaphore.addr()), false);
            }
        }
    }
    result
}

/// Of a barrier: how many threads it is for, how many are there, and how often it has opened.
#[derive(Clone, Copy, Debug, Default)]
struct Gathering {
    count: u32,
    present: u32,
    opened: u64,
}

/// Barriers by address.
static BARRIERS: Lock<Option<FxHashMap<usize, Gathering>>> = Lock::new(None);

extern "C" fn barrier_init(
    barrier: *mut Barrier,
    attributes: *const c_void,
    count: c_uint,
    _pc: usize,
) -> c_int {
    if run::current().is_some()
        && let Some(_inside) = Inside::enter()
    {
        let gathering = Gathering { count, ..Gathering::default() };
        BARRIERS.lock().get_or_insert_default().insert(barrier.addr(), gathering);
    }
    // SAFETY: as the program promises.
    unsafe { real::pthread_barrier_init(barrier, attributes, count) }
}

fn with_gathering<T>(barrier: usize, body: impl FnOnce(&mut Gathering) -> T) -> Option<T> {
    BARRIERS.lock().as_mut()?.get_mut(&barrier).map(body)
}

extern "C" fn barrier_wait(barrier: *mut Barrier, pc: usize) -> c_int {
    let address = barrier.addr();
    let pass = || {
        let turn = turn::take(pc).filter(|turn| turn.before(Kind::SyncWrite, address))?;
        let (is_last, opened) = with_gathering(address, |gathering| {
            gathering.present += 1;
            let is_last = gathering.present == gathering.count;
            let opened = gathering.opened;
            if is_last {
                *gathering = Gathering { present: 0, opened: opened + 1, count: gathering.count };
            }
            (is_last, opened)
        })?;
        turn.record(Kind::SyncWrite, address, 0);
        if is_last {
            turn.notify(waited_on(address), true);
        }
        while with_gathering(address, |gathering| gathering.opened == opened)? {
            turn.await_change(waited_on(address), None)?;
        }
        turn.note(Kind::SyncRead, address, 0);
        Some(if is_last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 })
    };
    // Once released, all that were waiting here meet at the real one.
    // SAFETY: as the program promises.
    pass().unwrap_or_else(|| unsafe { real::pthread_barrier_wait(barrier) })
}

cancellable! {
    sem_wait "rsi" => wait;
    sem_timedwait "rdx" => timed_wait;
    sem_clockwait "rcx" => clock_wait;
}

stub! {
    sem_trywait "rsi" => try_wait;
    sem_post "rsi" => post;
    pthread_barrier_init "rcx" => barrier_init;
    pthread_barrier_wait "rsi" => barrier_wait;
}
