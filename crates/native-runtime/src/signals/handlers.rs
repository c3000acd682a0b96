//! Handlers of the program for signals.
//!
//! A handler is code of the program: its accesses are recorded, and its calls may wait and wake. So it must not run while
//! the thread is inside of the runtime, or between a write that was announced and the write itself. A signal that comes
//! then is kept, and handled when the thread leaves the runtime. If the thread waits in the scheduler, it is woken for
//! that: by the thread that has sent the signal, so that a run and its replay are the same, or by the one that watches.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use libc::{siginfo_t, sigset_t};

use crate::inside::Inside;
use crate::interpose::real;
use crate::modules;
use crate::probe;
use crate::run::{self, Run};
use crate::{cancel, turn};

/// Signals have numbers below.
const SIGNALS: usize = 65;

/// The program's handlers, by signal, and how they are to be called; 0 if ours does not stand in front of any.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];
static FLAGS: [AtomicI32; SIGNALS] = [const { AtomicI32::new(0) }; SIGNALS];

/// How many signals have come to our handler.
static CAME: AtomicUsize = AtomicUsize::new(0);

/// Some thread has a signal that it could not handle.
static ANY_KEPT: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Signals that the current thread has yet to handle: a bit for each.
    static KEPT: Cell<u64> = const { Cell::new(0) };
    /// What is known of the last of them.
    static INFORMATION: Cell<Option<siginfo_t>> = const { Cell::new(None) };
}

/// Whether the current thread has a signal to handle.
pub(crate) fn is_pending() -> bool {
    KEPT.try_with(Cell::get).unwrap_or(0) != 0
}

/// Whether system calls go on after the signals that the current thread has yet to handle.
pub(crate) fn restart_calls() -> bool {
    let kept = KEPT.try_with(Cell::get).unwrap_or(0);
    let mut kept = (1..SIGNALS).filter(|signal| kept & bit(*signal as c_int) != 0);
    kept.all(|signal| FLAGS[signal].load(Relaxed) & libc::SA_RESTART != 0)
}

const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

fn ours() -> usize {
    let ours: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = come;
    ours as usize
}

/// The program's handler and its flags, if ours stands in front of it.
pub(crate) fn of(signal: c_int) -> Option<(usize, c_int)> {
    let at = usize::try_from(signal).ok().filter(|&at| at < SIGNALS)?;
    let handler = HANDLERS[at].load(Relaxed);
    (handler != 0).then(|| (handler, FLAGS[at].load(Relaxed)))
}

/// What the program sees: its own handler.
pub(super) fn hide(action: &mut libc::sigaction, own: Option<(usize, c_int)>) {
    if action.sa_sigaction == ours()
        && let Some((handler, flags)) = own
    {
        action.sa_sigaction = handler;
        action.sa_flags = action.sa_flags & !libc::SA_SIGINFO | flags & libc::SA_SIGINFO;
    }
}

/// Puts ours in front of a handler.
pub(super) fn replace(signal: c_int, action: &mut libc::sigaction) {
    let Some(at) = usize::try_from(signal).ok().filter(|&at| at < SIGNALS) else { return };
    if matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
        return;
    }
    FLAGS[at].store(action.sa_flags, Relaxed);
    HANDLERS[at].store(action.sa_sigaction, Relaxed);
    action.sa_sigaction = ours();
    action.sa_flags |= libc::SA_SIGINFO;
}

extern "C" fn come(signal: c_int, information: *mut siginfo_t, context: *mut c_void) {
    CAME.fetch_add(1, Relaxed);
    if run::current().is_none() || !is_busy(context) {
        call(signal, information, context);
        return;
    }
    let _ = KEPT.try_with(|kept| kept.set(kept.get() | bit(signal)));
    // SAFETY: the system describes the signal.
    let _ = INFORMATION.try_with(|kept| kept.set(unsafe { information.as_ref() }.copied()));
    if let Some(own) = cancel::own() {
        own.signalled.store(true, Relaxed);
        ANY_KEPT.store(true, Relaxed);
    }
    if probe::is_owner() {
        // The next hook looks after it.
        probe::HOT.limit.store(0, Relaxed);
    }
}

/// Whether no code of the program may run on the current thread now.
fn is_busy(context: *mut c_void) -> bool {
    if Inside::is_current() || (probe::is_owner() && probe::awaits_settling()) {
        return true;
    }
    // SAFETY: the system says where the thread was interrupted.
    let interrupted = unsafe { context.cast::<libc::ucontext_t>().as_ref() };
    let place = interrupted.map_or(0, |at| at.uc_mcontext.gregs[libc::REG_RIP as usize] as usize);
    modules::is_ours(place)
}

fn call(signal: c_int, information: *mut siginfo_t, context: *mut c_void) {
    let Some((handler, flags)) = of(signal) else { return };
    // SAFETY: the program has given this handler for this signal, with flags that say how it is to be called.
    unsafe {
        if flags & libc::SA_SIGINFO == 0 {
            let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
            handler(signal);
        } else {
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                std::mem::transmute(handler);
            handler(signal, information, context);
        }
    }
}

/// Calls the handlers of the signals that were kept. The current thread is not inside of the runtime.
#[inline]
pub(crate) fn handle_kept() {
    if is_pending() {
        handle_all();
    }
}

#[cold]
fn handle_all() {
    let kept = KEPT.try_with(|kept| kept.replace(0)).unwrap_or(0);
    if let Some(own) = cancel::own() {
        own.signalled.store(false, Relaxed);
    }
    let information = INFORMATION.try_with(|kept| kept.take()).ok().flatten();
    // SAFETY: plain memory, and the address of a variable of the current thread.
    let (mut none, mut context): (siginfo_t, libc::ucontext_t) = unsafe { std::mem::zeroed() };
    let error = unsafe { *libc::__errno_location() };
    for signal in (1..SIGNALS as c_int).filter(|signal| kept & bit(*signal) != 0) {
        none.si_signo = signal;
        let mut known = information.filter(|known| known.si_signo == signal).unwrap_or(none);
        with_blocked(signal, || call(signal, &raw mut known, (&raw mut context).cast()));
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}

/// A handler is not interrupted by its own signal.
fn with_blocked(signal: c_int, body: impl FnOnce()) {
    // SAFETY: sets are plain memory; the calls take them by address.
    unsafe {
        let (mut own, mut before): (sigset_t, sigset_t) = std::mem::zeroed();
        libc::sigemptyset(&raw mut own);
        libc::sigaddset(&raw mut own, signal);
        real::pthread_sigmask(libc::SIG_BLOCK, &raw const own, &raw mut before);
        body();
        real::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
    }
}

/// Wakes the threads that have a signal to handle and wait in the scheduler.
pub(crate) fn wake_kept(run: &Run) {
    if ANY_KEPT.swap(false, Relaxed) {
        run.control.interrupt(|thread| thread.0.signalled.load(Relaxed));
    }
}

/// The current thread sends a signal within the process: waits until it has come, so that the run does not depend on when
/// that is, and wakes the thread that it is for.
pub(crate) fn send(signal: c_int, pc: usize, send: impl FnOnce() -> c_int) -> c_int {
    const PATIENCE: u32 = 400;
    if probe::is_owner() && !Inside::is_current() {
        probe::settle();
    }
    let before = CAME.load(Relaxed);
    let result = send();
    if result != 0 || of(signal).is_none() {
        return result;
    }
    let Some(turn) = turn::take(pc) else { return result };
    for _ in 0..PATIENCE {
        if CAME.load(Relaxed) != before {
            break;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    wake_kept(turn.run);
    result
}
