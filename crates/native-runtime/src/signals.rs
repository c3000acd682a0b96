//! Signals. Those that end the program: the trace is completed first. Those that the program handles: see [`handlers`].
//!
//! A program that handles a signal itself keeps its handler, and sees nothing of ours.

pub(crate) mod handlers;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use libc::siginfo_t;

use crate::inside::Inside;
use crate::interpose::real;
use crate::{probe, run};

/// The program has failed: the thread that did so is here.
const FATAL: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Somebody wants the program to end: it may be anywhere.
const ENDING: [c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// How our handler is called: with the address of an access that failed.
const FLAGS: c_int = libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_SIGINFO;

static ASKED: AtomicI32 = AtomicI32::new(0);

/// The signal by which somebody wants the program to end.
pub(crate) fn asked_to_end() -> Option<c_int> {
    Some(ASKED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

pub(crate) fn install() {
    for signal in FATAL.into_iter().chain(ENDING) {
        // SAFETY: the structures are plain memory.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            real::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == libc::SIG_DFL {
                let mut own: libc::sigaction = std::mem::zeroed();
                own.sa_sigaction = handler();
                own.sa_flags = FLAGS;
                real::sigaction(signal, &raw const own, std::ptr::null_mut());
            }
        }
    }
}

fn handler() -> usize {
    let handler: extern "C" fn(c_int, *const siginfo_t, *mut c_void) = handle;
    handler as usize
}

/// What the program sees of a handler: not ours.
pub(crate) fn hide(action: &mut libc::sigaction, own: Option<(usize, c_int)>) {
    if action.sa_sigaction == handler() {
        action.sa_sigaction = libc::SIG_DFL;
        action.sa_flags = 0;
    }
    handlers::hide(action, own);
}

/// What is installed when the program asks for that: ours in place of the default, and in front of a handler.
pub(crate) fn replace(signal: c_int, action: &mut libc::sigaction) {
    if run::current().is_none() {
        return;
    }
    let is_ours = FATAL.contains(&signal) || ENDING.contains(&signal);
    if action.sa_sigaction == libc::SIG_DFL && is_ours {
        action.sa_sigaction = handler();
        action.sa_flags = FLAGS;
    } else if !FATAL.contains(&signal) {
        handlers::replace(signal, action);
    }
}

pub(crate) use handlers::is_pending;

extern "C" fn handle(signal: c_int, information: *const siginfo_t, _context: *mut c_void) {
    if ENDING.contains(&signal) && run::current().is_some_and(|run| run.control.is_on()) {
        // The thread that watches takes it from here.
        ASKED.store(signal, Ordering::Relaxed);
        return;
    }
    if !Inside::is_current() {
        if probe::is_owner() && matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
            // SAFETY: the system describes the signal, and of these two it gives an address.
            probe::settle_after_fault(unsafe { (*information).si_addr() }.addr());
        }
        run::finish();
    }
    end_by(signal);
}

/// Ends the process by the signal, as if nobody had handled it.
pub(crate) fn end_by(signal: c_int) {
    // SAFETY: the structures are plain memory; the last call ends the process.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        real::sigaction(signal, &raw const default, std::ptr::null_mut());
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, signal);
        real::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        let process = libc::getpid() as usize;
        real::raw_syscall(libc::SYS_kill, [process, signal as usize, 0, 0, 0, 0]);
    }
}
