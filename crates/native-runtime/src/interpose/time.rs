//! Clocks and sleeping. Time is virtual: it passes with events, and jumps when all threads wait for it.

use std::ffi::{c_int, c_uint, c_void};

use libc::{clockid_t, timespec, timeval};
use untorn_runtime::{Resumption, START_MILLIS};
use untorn_schedule::{Blocker, Nanos, Wake};

use super::real;
use crate::abi::{cancellable, stub};
use crate::{cancel, turn};

const SECOND: u64 = 1_000_000_000;
const START: u64 = START_MILLIS * 1_000_000;
/// What clocks that count from the start of the system show when the program begins.
const UPTIME: u64 = 1_000 * SECOND;

/// Whether a clock shows the time of day.
const fn is_of_day(clock: clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI)
}

/// What a clock shows at a moment.
const fn shown(clock: clockid_t, now: Nanos) -> u64 {
    match clock {
        _ if is_of_day(clock) => now.0,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => {
            now.0.saturating_sub(START)
        }
        _ => now.0.saturating_sub(START) + UPTIME,
    }
}

const fn moment(clock: clockid_t, shown: u64) -> Nanos {
    Nanos(if is_of_day(clock) { shown } else { shown.saturating_sub(UPTIME).saturating_add(START) })
}

fn nanos(span: timespec) -> Option<u64> {
    let (seconds, nanos) = (u64::try_from(span.tv_sec).ok()?, u64::try_from(span.tv_nsec).ok()?);
    (nanos < SECOND).then(|| seconds.saturating_mul(SECOND).saturating_add(nanos))
}

/// The moment at which a clock shows this. `None` if it is none: the C library says what is wrong with it.
pub(super) fn deadline_of(clock: clockid_t, until: *const timespec) -> Option<Nanos> {
    // SAFETY: as the program promises.
    let until = unsafe { until.as_ref() }?;
    if until.tv_sec < 0 {
        return Some(Nanos(0));
    }
    nanos(*until).map(|shown| moment(clock, shown))
}

fn now(pc: usize) -> Option<Nanos> {
    turn::take(pc)?.control().clock(())
}

extern "C" fn get_time(clock: clockid_t, to: *mut timespec, pc: usize) -> c_int {
    // Negative numbers are clocks of other processes and devices.
    match (clock >= 0).then(|| now(pc)).flatten() {
        Some(now) if !to.is_null() => {
            let shown = shown(clock, now);
            let time =
                timespec { tv_sec: (shown / SECOND) as i64, tv_nsec: (shown % SECOND) as i64 };
            // SAFETY: as the program promises.
            unsafe { to.write(time) };
            0
        }
        // SAFETY: as the program promises.
        _ => unsafe { real::clock_gettime(clock, to) },
    }
}

extern "C" fn get_day(to: *mut timeval, zone: *mut c_void, pc: usize) -> c_int {
    match now(pc) {
        Some(Nanos(now)) if !to.is_null() => {
            let time =
                timeval { tv_sec: (now / SECOND) as i64, tv_usec: (now % SECOND / 1_000) as i64 };
            // SAFETY: as the program promises.
            unsafe { to.write(time) };
            0
        }
        // SAFETY: as the program promises.
        _ => unsafe { real::gettimeofday(to, zone) },
    }
}

extern "C" fn seconds(to: *mut libc::time_t, pc: usize) -> libc::time_t {
    let Some(Nanos(now)) = now(pc) else {
        // SAFETY: as the program promises.
        return unsafe { real::time(to) };
    };
    let seconds = (now / SECOND) as i64;
    if !to.is_null() {
        // SAFETY: as the program promises.
        unsafe { to.write(seconds) };
    }
    seconds
}

/// Processor time in microseconds.
extern "C" fn processor_time(pc: usize) -> libc::clock_t {
    match now(pc) {
        Some(Nanos(now)) => (now.saturating_sub(START) / 1_000) as i64,
        None => {
            let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: a variable of ours.
            unsafe { real::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
            time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
        }
    }
}

/// Sleeps in the scheduler. Gives what is left of the time, because a signal came or the thread is cancelled. `None` if the
/// thread is not controlled.
fn sleep_for(span: u64, pc: usize) -> Option<u64> {
    let turn = turn::take(pc)?;
    let deadline = turn.now().after(Nanos(span));
    if cancel::is_due() {
        return Some(span);
    }
    loop {
        match turn.hold().block(Blocker::Sleep { deadline }) {
            Resumption::Turn(Wake::Interrupted) if turn.is_interrupted() => {
                return Some(deadline.0.saturating_sub(turn.now().0));
            }
            Resumption::Turn(Wake::Interrupted) => {}
            // If the run ends meanwhile, nobody waits for this time any more.
            Resumption::Turn(_) | Resumption::Free => return Some(0),
        }
    }
}

/// The result of a sleep: `EINTR` if something is left of it.
fn slept(left: u64, rest: *mut timespec) -> c_int {
    if left == 0 {
        return 0;
    }
    if !rest.is_null() {
        let left = timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 };
        // SAFETY: as the program promises.
        unsafe { rest.write(left) };
    }
    libc::EINTR
}

fn fail(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    // SAFETY: the address of the current thread's variable.
    unsafe { *libc::__errno_location() = error };
    -1
}

extern "C" fn sleep_nanos(span: *const timespec, rest: *mut timespec, pc: usize) -> c_int {
    // SAFETY: as the program promises, here and below.
    let known = unsafe { span.as_ref() }.and_then(|span| nanos(*span));
    match known.and_then(|span| sleep_for(span, pc)) {
        Some(left) => fail(slept(left, rest)),
        None => unsafe { real::nanosleep(span, rest) },
    }
}

extern "C" fn sleep_by_clock(
    clock: clockid_t,
    flags: c_int,
    span: *const timespec,
    rest: *mut timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program promises, here and below.
    let known = unsafe { span.as_ref() }.and_then(|span| nanos(*span));
    if let Some(span) = known {
        let left = match flags & libc::TIMER_ABSTIME {
            0 => Some(span),
            _ => turn::take(pc).map(|turn| moment(clock, span).0.saturating_sub(turn.now().0)),
        };
        if let Some(left) = left.and_then(|left| sleep_for(left, pc)) {
            let is_span = flags & libc::TIMER_ABSTIME == 0;
            return slept(left, if is_span { rest } else { std::ptr::null_mut() });
        }
    }
    unsafe { real::clock_nanosleep(clock, flags, span, rest) }
}

extern "C" fn sleep_seconds(seconds: c_uint, pc: usize) -> c_uint {
    match sleep_for(u64::from(seconds) * SECOND, pc) {
        Some(left) => left.div_ceil(SECOND) as c_uint,
        // SAFETY: as the program promises.
        None => unsafe { real::sleep(seconds) },
    }
}

extern "C" fn sleep_micros(micros: c_uint, pc: usize) -> c_int {
    match sleep_for(u64::from(micros) * 1_000, pc) {
        Some(left) => fail(slept(left, std::ptr::null_mut())),
        // SAFETY: as the program promises.
        None => unsafe { real::usleep(micros) },
    }
}

extern "C" fn give_way(pc: usize) -> c_int {
    match turn::take(pc) {
        Some(turn) => {
            turn.wait_for_others();
            0
        }
        // SAFETY: no arguments.
        None => unsafe { real::sched_yield() },
    }
}

stub! {
    clock_gettime "rdx" => get_time;
    gettimeofday "rdx" => get_day;
    time "rsi" => seconds;
    clock "rdi" => processor_time;
    sched_yield "rdi" => give_way;
    pthread_yield "rdi" => give_way;
    thrd_yield "rdi" => give_way;
}

cancellable! {
    nanosleep "rdx" => sleep_nanos;
    clock_nanosleep "r8" => sleep_by_clock;
    sleep "rsi" => sleep_seconds;
    usleep "rsi" => sleep_micros;
    thrd_sleep "rdx" => sleep_nanos;
}
