//! Threads start, end and are joined.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use libc::{pthread_attr_t, pthread_key_t, pthread_t};
use rustc_hash::FxHashMap;
use untorn_runtime::Resumption;
use untorn_runtime::sync::Lock;
use untorn_schedule::{Blocker, ThreadId};

use super::real;
use crate::abi::stub;
use crate::host::{NativeThread, ThreadFacts};
use crate::inside::Inside;
use crate::sites::Kind;
use crate::{probe, run, symbols, turn};

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

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
    let Some(_inside) = Inside::enter() else { return };
    if probe::is_owner() {
        probe::settle();
    }
    run.control.ended((), |_| None);
}

extern "C" fn enter(begin: *mut c_void) -> *mut c_void {
    let (start, argument) = {
        let _inside = Inside::enter();
        // SAFETY: made by `create`, for this thread alone.
        let begin = unsafe { Box::from_raw(begin.cast::<Begin>()) };
        // SAFETY: asks for the number of the current thread.
        let tid = unsafe { real::raw_syscall(libc::SYS_gettid, [0; 6]) };
        begin.facts.tid.store(tid as i32, Relaxed);
        if let Some(run) = run::current() {
            announce_end(1);
            let number = begin.facts.number;
            run.control.started((), |thread| thread.0.number == number);
        }
        (begin.start, begin.argument)
    };
    start(argument)
}

/// After the function at which it starts; the second one of its kind is `worker#2`.
fn name_of(start: Start) -> String {
    // The standard library of Rust starts all of its threads by one function, which says nothing.
    let is_meaningful = |name: &String| !name.contains("std::sys::");
    let name = symbols::function_at(start as usize).filter(is_meaningful);
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
    let own = NativeThread(Arc::clone(&facts));
    let child = turn.control().fork((), turn.me, &name_of(start), own, false);
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
        turn.control().did_not_start(child);
    }
    result
}

fn find(handle: pthread_t) -> Option<(ThreadId, usize)> {
    let threads = THREADS.lock();
    let known = threads.iter().find(|known| known.0 == handle)?;
    Some((known.1, known.2.number))
}

extern "C" fn join(handle: pthread_t, result: *mut *mut c_void, pc: usize) -> c_int {
    let turn = turn::take(pc).filter(|turn| turn.before(Kind::Thread, 0));
    let known = turn.as_ref().and_then(|_| find(handle));
    if let (Some(turn), Some((child, _))) = (&turn, known)
        && child != turn.me
    {
        let waits = Blocker::Join { thread: child, deadline: None };
        if turn.hold().block(waits) == Resumption::Free {
            // SAFETY: as the program promises, here and below.
            return unsafe { real::pthread_join(handle, result) };
        }
    }
    // The thread has run all of its code.
    let joined = unsafe { real::pthread_join(handle, result) };
    if let (Some(turn), Some((_, number)), 0) = (&turn, known, joined) {
        turn.control().joined((), |thread| thread.0.number == number);
        THREADS.lock().retain(|known| known.0 != handle);
    }
    joined
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

type C11Start = extern "C" fn(*mut c_void) -> c_int;

/// What a thread of C11 has to know.
struct C11Begin {
    start: C11Start,
    argument: *mut c_void,
}

extern "C" fn enter_c11(begin: *mut c_void) -> *mut c_void {
    // SAFETY: made by `create_c11`, for this thread alone.
    let C11Begin { start, argument } = {
        let _inside = Inside::enter();
        *unsafe { Box::from_raw(begin.cast::<C11Begin>()) }
    };
    std::ptr::without_provenance_mut(start(argument) as usize)
}

extern "C" fn create_c11(
    thread: *mut pthread_t,
    start: C11Start,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    let begin = Box::into_raw(Box::new(C11Begin { start, argument }));
    let result = create(thread, std::ptr::null(), enter_c11, begin.cast(), pc);
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

stub! {
    pthread_create "r8" => create;
    pthread_join "rdx" => join;
    pthread_tryjoin_np "rdx" => try_join;
    thrd_create "rcx" => create_c11;
    thrd_join "rdx" => join_c11;
}
