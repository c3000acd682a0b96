//! Threads that another one cancels while they wait in the scheduler.
//!
//! The C library ends such a thread by unwinding its stack, which must not have frames of ours on it. So a function at
//! which a thread can be cancelled comes back early, and its stub, which is no function of Rust, calls the C library.
//! See [`cancellable`].

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::abi::cancellable;
use crate::host::ThreadFacts;
use crate::interpose::real;
use crate::turn;

const DISABLE: c_int = 1;
const ENABLED: c_int = 0;

thread_local! {
    /// What the runtime knows of the current thread; null if it is not controlled. It lives as long as the process.
    static OWN: Cell<*const ThreadFacts> = const { Cell::new(ptr::null()) };
    /// The thread has come back early to be cancelled.
    static ENDS_NOW: Cell<bool> = const { Cell::new(false) };
}

/// The current thread is this one from now on.
pub(crate) fn begin(facts: &Arc<ThreadFacts>) {
    let own = Arc::into_raw(Arc::clone(facts));
    let _ = OWN.try_with(|slot| slot.set(own));
}

/// The current thread, if it is controlled.
pub(crate) fn own() -> Option<&'static ThreadFacts> {
    let own = OWN.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: a reference was leaked by `begin`.
    unsafe { own.as_ref() }
}

/// Whether the current thread is to be cancelled where it is now. If so, it has to come back to its stub.
pub(crate) fn is_due() -> bool {
    if !own().is_some_and(|own| own.cancelled.load(Relaxed)) {
        return false;
    }
    let mut before = ENABLED;
    // SAFETY: asks, and changes back what it has changed by asking.
    unsafe {
        real::pthread_setcancelstate(DISABLE, &raw mut before);
        real::pthread_setcancelstate(before, ptr::null_mut());
    }
    let is_due = before == ENABLED;
    let _ = ENDS_NOW.try_with(|ends| ends.set(is_due));
    is_due
}

/// The function of the C library that ends the current thread if it was cancelled, by unwinding its stack.
pub(crate) static TEST: AtomicUsize = AtomicUsize::new(0);

/// For the stubs: whether the thread has come back early to be cancelled.
pub(crate) extern "C" fn ends_now() -> bool {
    let ends = ENDS_NOW.try_with(|ends| ends.replace(false)).unwrap_or(false);
    if ends && TEST.load(Relaxed) == 0 {
        TEST.store(real::address_of(c"pthread_testcancel"), Relaxed);
    }
    ends
}

/// A thread that asks whether it is cancelled lets others run, because it may do nothing else.
extern "C" fn test(pc: usize) -> usize {
    let turn = turn::take(pc);
    let is_controlled = turn.is_some();
    if !is_due()
        && let Some(turn) = turn
    {
        turn.wait_for_others();
    }
    // Else the C library decides.
    if !is_controlled || is_due() {
        let _ = ENDS_NOW.try_with(|ends| ends.set(true));
    }
    0
}

cancellable! {
    pthread_testcancel "rdi" => test;
}
