//! Threads start, end and are joined.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use libc::{clockid_t, pthread_attr_t, pthread_key_t, pthread_t, timespec};
use rustc_hash::FxHashMap;
use untorn_runtime::Resumption;
use untorn_runtime::sync::Lock;
use untorn_schedule::{Blocker, Nanos, ThreadId, Wake};

use super::mutex::owner_died;
use super::real;
use super::time::deadline_of;
use crate::abi::{cancellable, stub};
use crate::host::{NativeThread, ThreadFacts};
use crate::inside::{Inside, clean_stack};
use crate::sites::Kind;
use crate::{cancel, probe, run, symbols, turn, watchdog};

/// The program may unwind the stack of a thread to its very beginning.
type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread has to know.
struct Begin {
    start: Start,
    argument: *mut c_void,
    facts: Arc<ThreadFacts>,
}

/// Controlled threads that have not been joined, by the C library's name of them.
static THREADS: Lock<Vec<(pthread_t, ThreadId, Arc<ThreadFacts>)>> = Lock::new(Vec::new());

/// How many threads were started by each function.
static NAMES: Lock<Option<FxHashMap<String, u32>>> = Lock::new(None);

static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Controlled threads that have not ended, the first one included.
static LIVE: AtomicUsize = AtomicUsize::new(1);

/// The key whose destructor tells that a thread ends.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// So often the C library calls the destructor of a key that sets its value again. Ours comes last.
const ROUNDS: usize = 4;

/// Before the program begins.
pub(crate) fn prepare() {
    let mut key: pthread_key_t = 0;
    // SAFETY: makes a key with a destructor of ours.
    if unsafe { real::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0 {
        KEY.store(key, Relaxed);
        announce_end(1);
    }
    // SAFETY: in the child of a fork nothing is recorded.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

unsafe extern "C" fn in_child() {
    run::leave_to_parent();
}

/// Has the destructor called for the current thread.
fn announce_end(round: usize) {
    let value = std::ptr::without_provenance_mut::<c_void>(round);
    // SAFETY: the key exists.
    unsafe { libc::pthread_setspecific(KEY.load(Relaxed), value) };
}

extern "C" fn thread_ends(round: *mut c_void) {
    if round.addr() < ROUNDS {
        announce_end(round.addr() + 1);
        return;
    }
    let Some(run) = run::current() else { return };
    let Some(inside) = Inside::enter() else { return };
    if probe::is_owner() {
        probe::settle();
    }
    if let Some(me) = run.control.present(()) {
        owner_died(run, me);
    }
    // What a handler did from now on would not be recorded. The system gives the signal to another thread.
    // SAFETY: a set is plain memory; the calls take it by address.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        real::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
    run.control.ended((), |_| None);
    // The next thread waits until this one is gone, so from here on nothing waits for the runtime.
    if LIVE.fetch_sub(1, Relaxed) == 1 && watchdog::is_last_thread() {
        // The C library ends the process with the last thread, but it counts ours, too.
        drop(inside);
        // SAFETY: as the C library does at this place.
        unsafe { libc::exit(0) };
    }
}

extern "C-unwind" fn enter(begin: *mut c_void) -> *mut c_void {
    let (start, argument) = begin_thread(begin);
    // Also what lies deeper than the runtime usually goes: a replay begins threads in another way.
    clean_stack::<8192>();
    start(argument)
}

#[inline(never)]
fn begin_thread(begin: *mut c_void) -> (Start, *mut c_void) {
    let _inside = Inside::enter();
    // SAFETY: made by `create`, for this thread alone.
    let begin = unsafe { Box::from_raw(begin.cast::<Begin>()) };
    // SAFETY: asks for the number of the current thread.
    let tid = unsafe { real::raw_syscall(libc::SYS_gettid, [0; 6]) };
    begin.facts.tid.store(tid as i32, Relaxed);
    if let Some(run) = run::current() {
        announce_end(1);
        cancel::begin(&begin.facts);
        let number = begin.facts.number;
        run.control.started((), |thread| thread.0.number == number);
    }
    (begin.start, begin.argument)
}

/// After the function at which it starts; the second one of its kind is `worker#2`.
fn name_of(start: usize) -> String {
    // The standard library of Rust starts all of its threads by one function, which says nothing.
    let is_meaningful = |name: &String| !name.contains("std::sys::");
    let name = symbols::function_at(start).filter(is_meaningful);
    let name = name.unwrap_or_else(|| "thread".to_owned());
    let mut names = NAMES.lock();
    let number = names.get_or_insert_default().entry(name.clone()).or_default();
    *number += 1;
    format!("{name}#{number}")
}

extern "C" fn create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    let result = create_named(thread, attributes, (start, argument), start as usize, pc);
    // Its frame had addresses of ours, too.
    clean_stack::<2048>();
    result
}

/// Starts a thread that is called after a function.
#[inline(never)]
fn create_named(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    (start, argument): (Start, *mut c_void),
    named_after: usize,
    pc: usize,
) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Thread, 0));
    let Some(turn) = turn else {
        if let Some(run) = run::current()
            && let Some(_inside) = Inside::enter()
        {
            run.control.uncontrolled_thread();
        }
        // SAFETY: as the program promises.
        return unsafe { real::pthread_create(thread, attributes, start, argument) };
    };
    let facts = Arc::new(ThreadFacts {
        number: STARTED.fetch_add(1, Relaxed) + 1,
        ..ThreadFacts::default()
    });
    LIVE.fetch_add(1, Relaxed);
    let own = NativeThread(Arc::clone(&facts));
    let child = turn.control().fork((), turn.me, &name_of(named_after), own, false);
    let begin = Box::into_raw(Box::new(Begin { start, argument, facts: Arc::clone(&facts) }));
    // SAFETY: as the program promises; the description lives until the new thread takes it.
    let result = unsafe { real::pthread_create(thread, attributes, enter, begin.cast()) };
    if result == 0 {
        // SAFETY: the C library has just written it.
        let handle = unsafe { *thread };
        facts.handle.store(handle, Relaxed);
        let mut threads = THREADS.lock();
        // The name may be that of a thread that ended without being joined.
        threads.retain(|known| known.0 != handle);
        threads.push((handle, child, facts));
    } else {
        // SAFETY: no thread has taken it.
        drop(unsafe { Box::from_raw(begin) });
        LIVE.fetch_sub(1, Relaxed);
        turn.control().did_not_start(child);
    }
    result
}

fn find(handle: pthread_t) -> Option<(ThreadId, usize)> {
    let threads = THREADS.lock();
    let known = threads.iter().find(|known| known.0 == handle)?;
    Some((known.1, known.2.number))
}

/// The system's numbers of the threads that were started, in that order.
pub(super) fn system_numbers() -> Vec<i32> {
    let threads = THREADS.lock();
    let numbers = threads.iter().map(|known| known.2.tid.load(Relaxed));
    numbers.filter(|&tid| tid != 0).collect()
}

fn known_facts(handle: pthread_t) -> Option<Arc<ThreadFacts>> {
    let threads = THREADS.lock();
    threads.iter().find(|known| known.0 == handle).map(|known| Arc::clone(&known.2))
}

/// What became of waiting for a thread to end.
enum Joining {
    Ended,
    TimedOut,
    /// The waiting thread is cancelled.
    Cancelled,
    /// A signal is to be handled first.
    Again,
    /// The run has ended, or the thread is not controlled: the C library waits.
    Free,
}

fn await_end(handle: pthread_t, deadline: Option<Nanos>, pc: usize) -> Joining {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Thread, 0));
    let Some(turn) = turn else { return Joining::Free };
    if cancel::is_due() {
        return Joining::Cancelled;
    }
    let Some((child, _)) = find(handle).filter(|(child, _)| *child != turn.me) else {
        return Joining::Free;
    };
    match turn.hold().block(Blocker::Join { thread: child, deadline }) {
        Resumption::Free => Joining::Free,
        Resumption::Turn(Wake::TimedOut) => Joining::TimedOut,
        Resumption::Turn(Wake::Interrupted) if cancel::is_due() => Joining::Cancelled,
        Resumption::Turn(Wake::Interrupted) => Joining::Again,
        Resumption::Turn(_) => Joining::Ended,
    }
}

fn join_until(
    handle: pthread_t,
    result: *mut *mut c_void,
    deadline: Option<Nanos>,
    pc: usize,
) -> c_int {
    let ended = loop {
        match await_end(handle, deadline, pc) {
            Joining::Again => {}
            ended => break ended,
        }
    };
    match ended {
        Joining::TimedOut => return libc::ETIMEDOUT,
        Joining::Cancelled => return libc::EINTR,
        // The thread has run all of its code.
        _ => {}
    }
    let number = turn::take(pc).and_then(|_| find(handle)).map(|(_, number)| number);
    // SAFETY: as the program promises.
    let joined = unsafe { real::pthread_join(handle, result) };
    if joined == 0
        && let Some(number) = number
        && matches!(ended, Joining::Ended)
        && let Some(turn) = turn::take(pc)
    {
        turn.control().joined((), |thread| thread.0.number == number);
        THREADS.lock().retain(|known| known.0 != handle);
    }
    joined
}

extern "C" fn join(handle: pthread_t, result: *mut *mut c_void, pc: usize) -> c_int {
    join_until(handle, result, None, pc)
}

extern "C" fn timed_join(
    handle: pthread_t,
    result: *mut *mut c_void,
    until: *const timespec,
    pc: usize,
) -> c_int {
    join_until(handle, result, deadline_of(libc::CLOCK_REALTIME, until), pc)
}

extern "C" fn clock_join(
    handle: pthread_t,
    result: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    join_until(handle, result, deadline_of(clock, until), pc)
}

/// The thread is cancelled when it next comes to where it can be, or at once if it waits there.
extern "C" fn cancel(handle: pthread_t, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Thread, 0));
    let known = turn.as_ref().and_then(|_| known_facts(handle));
    if let Some(facts) = &known {
        facts.cancelled.store(true, Relaxed);
    }
    // SAFETY: as the program promises.
    let result = unsafe { real::pthread_cancel(handle) };
    if let (Some(turn), Some(facts)) = (turn, known) {
        turn.control().interrupt(|thread| Arc::ptr_eq(&thread.0, &facts));
    }
    result
}

/// A thread that asks to be cancelled anywhere is cancelled where all threads can be: elsewhere frames of ours may be on
/// its stack.
extern "C" fn set_cancel_type(kind: c_int, before: *mut c_int, _pc: usize) -> c_int {
    const DEFERRED: c_int = 0;
    let is_controlled = run::current().is_some() && cancel::own().is_some();
    // SAFETY: as the program promises.
    unsafe { real::pthread_setcanceltype(if is_controlled { DEFERRED } else { kind }, before) }
}

extern "C" fn try_join(handle: pthread_t, result: *mut *mut c_void, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Thread, 0));
    let known = turn.as_ref().and_then(|_| find(handle));
    if let (Some(turn), Some((_, number))) = (&turn, known)
        && !turn.hold().has_ended(|thread| thread.0.number == number)
    {
        turn.wait_for_others();
        return libc::EBUSY;
    }
    // SAFETY: as the program promises; the thread has run all of its code.
    let joined = unsafe { real::pthread_join(handle, result) };
    if let (Some(turn), Some((_, number)), 0) = (&turn, known, joined) {
        turn.control().joined((), |thread| thread.0.number == number);
        THREADS.lock().retain(|known| known.0 != handle);
    }
    joined
}

type C11Start = extern "C-unwind" fn(*mut c_void) -> c_int;

/// What a thread of C11 has to know.
struct C11Begin {
    start: C11Start,
    argument: *mut c_void,
}

extern "C-unwind" fn enter_c11(begin: *mut c_void) -> *mut c_void {
    let C11Begin { start, argument } = begin_c11(begin);
    std::ptr::without_provenance_mut(start(argument) as usize)
}

#[inline(never)]
fn begin_c11(begin: *mut c_void) -> C11Begin {
    let _inside = Inside::enter();
    // SAFETY: made by `create_c11`, for this thread alone.
    *unsafe { Box::from_raw(begin.cast::<C11Begin>()) }
}

extern "C" fn create_c11(
    thread: *mut pthread_t,
    start: C11Start,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    let begin = Box::into_raw(Box::new(C11Begin { start, argument }));
    let body: (Start, *mut c_void) = (enter_c11, begin.cast());
    let result = create_named(thread, std::ptr::null(), body, start as usize, pc);
    clean_stack::<2048>();
    super::mutex::c11(result)
}

extern "C" fn join_c11(handle: pthread_t, result: *mut c_int, pc: usize) -> c_int {
    let mut value: *mut c_void = std::ptr::null_mut();
    let joined = join(handle, &raw mut value, pc);
    if joined == 0 && !result.is_null() {
        // SAFETY: as the program promises.
        unsafe { *result = value.addr() as c_int };
    }
    super::mutex::c11(joined)
}

cancellable! {
    pthread_join "rdx" => join;
    pthread_timedjoin_np "rcx" => timed_join;
    pthread_clockjoin_np "r8" => clock_join;
    thrd_join "rdx" => join_c11;
}

stub! {
    pthread_create "r8" => create;
    pthread_tryjoin_np "rdx" => try_join;
    pthread_cancel "rsi" => cancel;
    pthread_setcanceltype "rdx" => set_cancel_type;
    thrd_create "rcx" => create_c11;
}
