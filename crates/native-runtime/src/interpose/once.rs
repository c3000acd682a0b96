//! What is initialised once: `pthread_once`, `call_once`, and the static variables of C++ functions.
//!
//! Who comes while another thread initialises waits in the scheduler, as for a mutex.

use std::ffi::c_int;

use super::real::{self, Once};
use crate::abi::stub;
use crate::sites::Kind;
use crate::turn;

extern "C" fn once(once: *mut Once, routine: extern "C" fn(), pc: usize) -> c_int {
    let address = once.addr();
    let taken = || {
        let turn = turn::take(pc).filter(|turn| turn.before(Kind::SyncRead, address))?;
        if !turn.await_mutex(address) {
            return None;
        }
        turn.host().locks.take(address, turn.me);
        turn.record(Kind::SyncRead, address, 0);
        Some(())
    };
    let taken = taken();
    // SAFETY: as the program promises. The routine is code of the program, so the thread is not inside of the runtime.
    let result = unsafe { real::pthread_once(once, routine) };
    if taken.is_some()
        && let Some(turn) = turn::take(pc)
    {
        turn.note(Kind::SyncWrite, address, 0);
        turn.host().locks.give(address);
    }
    result
}

extern "C" fn guard_acquire(guard: *mut u64, pc: usize) -> c_int {
    let address = guard.addr();
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::SyncRead, address));
    let waited = turn.as_ref().is_some_and(|turn| turn.await_mutex(address));
    // SAFETY: as the program promises.
    let initialises = unsafe { real::__cxa_guard_acquire(guard) };
    if let Some(turn) = turn.filter(|_| waited) {
        turn.record(Kind::SyncRead, address, 0);
        if initialises != 0 {
            turn.host().locks.take(address, turn.me);
        }
    }
    initialises
}

fn guard_given(address: usize, pc: usize) {
    if let Some(turn) = turn::take(pc) {
        turn.note(Kind::SyncWrite, address, 0);
        turn.host().locks.free(address);
    }
}

extern "C" fn guard_release(guard: *mut u64, pc: usize) {
    // SAFETY: as the program promises.
    unsafe { real::__cxa_guard_release(guard) };
    guard_given(guard.addr(), pc);
}

extern "C" fn guard_abort(guard: *mut u64, pc: usize) {
    // SAFETY: as the program promises.
    unsafe { real::__cxa_guard_abort(guard) };
    guard_given(guard.addr(), pc);
}

stub! {
    pthread_once "rdx" => once;
    call_once "rdx" => once;
    __cxa_guard_acquire "rsi" => guard_acquire;
    __cxa_guard_release "rsi" => guard_release;
    __cxa_guard_abort "rsi" => guard_abort;
}
