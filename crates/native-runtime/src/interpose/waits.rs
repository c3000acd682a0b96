//! Calls that wait for a child or a signal, without the token: others run meanwhile.

use std::ffi::{c_int, c_uint, c_void};

use libc::{pid_t, siginfo_t, sigset_t, timespec};

use super::real;
use crate::abi::cancellable;
use crate::turn::{self, Turn};

/// Waits in the system.
pub(super) fn outside<T>(turn: Option<Turn>, wait: impl FnOnce() -> T) -> T {
    let Some(turn) = turn else { return wait() };
    turn.control().leave_outside(());
    let result = wait();
    // What went wrong is a variable of the thread, which coming back must not change.
    // SAFETY: the address of the current thread's variable.
    let error = unsafe { *libc::__errno_location() };
    turn.control().come_back(());
    drop(turn);
    unsafe { *libc::__errno_location() = error };
    result
}

/// Waits for a child; `real` takes the options, of which one says that it must not wait. Nothing has happened if it returns
/// 0, and `is_nothing` if it returns 0 in any case.
fn wait_for_child(
    options: c_int,
    pc: usize,
    real: impl Fn(c_int) -> c_int,
    is_nothing: impl Fn() -> bool,
) -> c_int {
    let turn = turn::take(pc).filter(|_| options & libc::WNOHANG == 0);
    if turn.is_some() {
        let now = real(options | libc::WNOHANG);
        if now != 0 || !is_nothing() {
            return now;
        }
    }
    outside(turn, || real(options))
}

extern "C" fn wait_pid(process: pid_t, status: *mut c_int, options: c_int, pc: usize) -> pid_t {
    // SAFETY: as the program promises, here and below.
    let real = |options| unsafe { real::waitpid(process, status, options) };
    wait_for_child(options, pc, real, || true)
}

extern "C" fn wait_any(status: *mut c_int, pc: usize) -> pid_t {
    wait_pid(-1, status, 0, pc)
}

extern "C" fn wait_usage(
    process: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut c_void,
    pc: usize,
) -> pid_t {
    let real = |options| unsafe { real::wait4(process, status, options, usage) };
    wait_for_child(options, pc, real, || true)
}

extern "C" fn wait_id(
    kind: c_uint,
    id: c_uint,
    information: *mut siginfo_t,
    options: c_int,
    pc: usize,
) -> c_int {
    let real = |options| unsafe { real::waitid(kind, id, information, options) };
    let is_nothing = || {
        // SAFETY: as the program promises: the call fills it.
        unsafe { information.as_ref() }.is_some_and(|found| unsafe { found.si_pid() } == 0)
    };
    wait_for_child(options, pc, real, is_nothing)
}

extern "C" fn signal_wait(signals: *const sigset_t, signal: *mut c_int, pc: usize) -> c_int {
    outside(turn::take(pc), || unsafe { real::sigwait(signals, signal) })
}

extern "C" fn signal_wait_info(
    signals: *const sigset_t,
    information: *mut siginfo_t,
    pc: usize,
) -> c_int {
    outside(turn::take(pc), || unsafe { real::sigwaitinfo(signals, information) })
}

extern "C" fn signal_wait_until(
    signals: *const sigset_t,
    information: *mut siginfo_t,
    limit: *const timespec,
    pc: usize,
) -> c_int {
    outside(turn::take(pc), || unsafe { real::sigtimedwait(signals, information, limit) })
}

extern "C" fn suspend(signals: *const sigset_t, pc: usize) -> c_int {
    outside(turn::take(pc), || unsafe { real::sigsuspend(signals) })
}

extern "C" fn pause_at(pc: usize) -> c_int {
    outside(turn::take(pc), || unsafe { real::pause() })
}

cancellable! {
    waitpid "rcx" => wait_pid;
    wait "rsi" => wait_any;
    wait4 "r8" => wait_usage;
    waitid "r8" => wait_id;
    sigwait "rdx" => signal_wait;
    sigwaitinfo "rdx" => signal_wait_info;
    sigtimedwait "rcx" => signal_wait_until;
    sigsuspend "rsi" => suspend;
    pause "rdi" => pause_at;
}
