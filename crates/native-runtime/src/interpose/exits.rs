//! The end of the process by other ways than the return of `main`, what handles signals, and modules that are loaded
//! later.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::Ordering::Relaxed;

use libc::{pid_t, pthread_t};

use super::real;
use crate::abi::stub;
use crate::inside::Inside;
use crate::signals::{self, handlers};
use crate::{run, turn};

extern "C" fn exit_now(code: c_int, _pc: usize) {
    run::finish();
    run::end_process(code);
}

extern "C" fn action(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    _pc: usize,
) -> c_int {
    let before = handlers::of(signal);
    // SAFETY: as the program promises, here and below.
    let own = unsafe { new.as_ref() }.map(|new| {
        let mut own = *new;
        signals::replace(signal, &mut own);
        own
    });
    let new = own.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let result = unsafe { real::sigaction(signal, new, old) };
    if let Some(old) = unsafe { old.as_mut() } {
        signals::hide(old, before);
    }
    result
}

extern "C" fn raise_signal(signal: c_int, pc: usize) -> c_int {
    // SAFETY: as the program promises, here and below.
    handlers::send(signal, pc, || unsafe { real::raise(signal) })
}

extern "C" fn kill_process(process: pid_t, signal: c_int, pc: usize) -> c_int {
    if process != 0 && process.unsigned_abs() != std::process::id() {
        return unsafe { real::kill(process, signal) };
    }
    let receiver = handlers::of(signal).and_then(|_| receiver(signal)).filter(|_| process > 0);
    handlers::send(signal, pc, || match receiver {
        Some(thread) => {
            let arguments = [process as usize, thread as usize, signal as usize, 0, 0, 0];
            unsafe { real::raw_syscall(libc::SYS_tgkill, arguments) as c_int }
        }
        None => unsafe { real::kill(process, signal) },
    })
}

/// The system gives a signal for the process to any thread that takes it, as it happens. Here that is always the first one.
fn receiver(signal: c_int) -> Option<i32> {
    let _inside = Inside::enter()?;
    run::current()?;
    let takes = |tid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status"));
        let status = status.unwrap_or_default();
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim)
        };
        let is_alive = !field("State:").is_empty() && !field("State:").starts_with(['Z', 'X']);
        let blocked = u64::from_str_radix(field("SigBlk:"), 16).unwrap_or(u64::MAX);
        is_alive && blocked & 1 << (signal - 1) == 0
    };
    let first = std::process::id() as i32;
    std::iter::once(first).chain(super::threads::system_numbers()).find(takes)
}

extern "C" fn kill_thread(thread: pthread_t, signal: c_int, pc: usize) -> c_int {
    handlers::send(signal, pc, || unsafe { real::pthread_kill(thread, signal) })
}

/// As `signal` of this system: the handler stays, and calls that it interrupts go on.
extern "C" fn handle_by(signal: c_int, handler: usize, pc: usize) -> usize {
    // SAFETY: plain memory.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    match action(signal, &raw const new, &raw mut old, pc) {
        0 => old.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}

/// The loader holds its lock while the initialisers of a module run. Whoever waits for that lock waits unseen, so no
/// other thread runs meanwhile.
extern "C" fn load_module(name: *const c_char, flags: c_int, pc: usize) -> *mut c_void {
    let host = turn::take(pc).map(|turn| turn.host());
    if let Some(host) = host {
        host.unstoppable.fetch_add(1, Relaxed);
    }
    // SAFETY: as the program promises.
    let module = unsafe { real::dlopen(name, flags) };
    if let Some(host) = host {
        host.unstoppable.fetch_sub(1, Relaxed);
    }
    module
}

stub! {
    _exit "rsi" => exit_now;
    _Exit "rsi" => exit_now;
    sigaction "rcx" => action;
    signal "rdx" => handle_by;
    raise "rsi" => raise_signal;
    kill "rdx" => kill_process;
    pthread_kill "rdx" => kill_thread;
    dlopen "rdx" => load_module;
}
