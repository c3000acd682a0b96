//! The system call by which Rust's standard library and C++'s atomics wait.

use std::ffi::c_long;

use untorn_schedule::{Nanos, Wake};

use super::real;
use super::time::deadline_of;

use crate::locks::waited_on;
use crate::sites::Kind;
use crate::turn::{self, Turn};

const COMMAND: i32 = 0x7f;

fn with_errno(result: isize) -> c_long {
    if (-4095..0).contains(&result) {
        // SAFETY: the address of the current thread's variable.
        unsafe { *libc::__errno_location() = -result as i32 };
        return -1;
    }
    result as c_long
}

/// When a wait ends: a span for one of its forms, a moment for the other.
fn deadline(turn: &Turn, operation: i32, limit: usize) -> Option<Nanos> {
    let limit = std::ptr::with_exposed_provenance::<libc::timespec>(limit);
    // SAFETY: as the program promises.
    let span = unsafe { limit.as_ref() }?;
    if operation & COMMAND == libc::FUTEX_WAIT {
        let nanos = span.tv_sec.max(0) as u64 * 1_000_000_000 + span.tv_nsec.max(0) as u64;
        return Some(turn.now().after(Nanos(nanos)));
    }
    let is_of_day = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    let clock = if is_of_day { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    deadline_of(clock, limit)
}

fn wait(turn: &Turn, arguments: [usize; 6]) -> Option<isize> {
    let [word, operation, value, limit, ..] = arguments;
    if !turn.before(Kind::SyncRead, word) {
        return None;
    }
    // SAFETY: as the program promises.
    let now = unsafe { std::ptr::with_exposed_provenance::<u32>(word).read_volatile() };
    if now != value as u32 {
        return Some(-libc::EAGAIN as isize);
    }
    let deadline = deadline(turn, operation as i32, limit);
    let woken = turn.await_change(waited_on(word), deadline)?;
    Some(if woken == Wake::TimedOut { -libc::ETIMEDOUT as isize } else { 0 })
}

fn wake(turn: &Turn, word: usize, most: usize) -> isize {
    let mut woken = 0;
    while woken < most.min(i32::MAX as usize) {
        let mut holder = turn.hold();
        let any = holder.notify(waited_on(word), false);
        holder.done();
        if any == 0 {
            break;
        }
        woken += any;
    }
    woken as isize
}

fn futex(arguments: [usize; 6], pc: usize) -> Option<isize> {
    let [word, operation, value, ..] = arguments;
    let turn = turn::take(pc)?;
    match operation as i32 & COMMAND {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => wait(&turn, arguments),
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let woken = wake(&turn, word, value);
            // Threads that are not controlled wait in the system.
            // SAFETY: as the program promises.
            let others = unsafe { real::raw_syscall(libc::SYS_futex, arguments) };
            Some(if others > 0 { woken + others } else { woken })
        }
        _ => None,
    }
}

/// `syscall` takes as many arguments as its call needs; what is not meant is not looked at.
extern "C" fn call(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    pc: usize,
) -> c_long {
    let arguments = [a, b, c, d, e, f];
    if number == libc::SYS_futex
        && let Some(result) = futex(arguments, pc)
    {
        return with_errno(result);
    }
    if number == libc::SYS_sched_yield
        && let Some(turn) = turn::take(pc)
    {
        turn.wait_for_others();
        return 0;
    }
    // SAFETY: as the program promises.
    with_errno(unsafe { real::raw_syscall(number, arguments) })
}

/// The seventh argument is on the stack already; the return address goes behind it.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        "mov rax, qword ptr [rsp]",
        "mov r10, qword ptr [rsp + 8]",
        "sub rsp, 8",
        "push rax",
        "push r10",
        "call {}",
        "add rsp, 24",
        "ret",
        sym call,
    )
}
