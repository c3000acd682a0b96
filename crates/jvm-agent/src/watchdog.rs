//! A thread of the agent that looks from outside: is the program still moving? And says so to the command line.
//!
//! It takes the token from a thread that is blocked in the operating system where no probe can tell: reading
//! from a socket, waiting for a process. A thread that merely computes keeps the token, also when it has to wait for a
//! processor; so does one that waits inside of the JVM for a garbage collection, which looks alike from here except
//! that it sleeps on a futex.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni::{JNI_OK, JNIEnv, JavaVM};

use crate::agent::{Agent, guarded};
use crate::control::Pulse;
use crate::jni::Jni;
use crate::weak_refs;

/// How often it looks.
const TICK: Duration = Duration::from_millis(20);
/// How often the command line hears of it.
const REPORT: Duration = Duration::from_millis(200);
/// A thread that sleeps inside of the JVM that many times longer than our patience is given up, too.
const LAST_RESORT: u32 = 5;

/// The JVM collects garbage: every thread stands still, and that is no reason to do anything.
static COLLECTING: AtomicBool = AtomicBool::new(false);

pub(crate) fn collecting(now: bool) {
    COLLECTING.store(now, Ordering::Release);
}

pub(crate) fn start(agent: &'static Agent) {
    let body = move || {
        guarded(|| watch(agent));
    };
    // Without it a program that blocks outside hangs until it returns, as it would by itself.
    let _ = std::thread::Builder::new().name("untorn watchdog".to_owned()).spawn(body);
}

/// The end of the run, for the command line.
pub(crate) fn last_word(agent: &Agent) {
    report(agent);
}

fn report(agent: &Agent) {
    let (threads, switches) = match agent.control.core.try_lock() {
        Ok(core) => (core.slots.len() as u32, core.scheduler.outcome().turns),
        Err(_) => (0, 0),
    };
    agent.control.recorder.write_progress(&agent.config.progress, threads, switches);
}

fn watch(agent: &'static Agent) {
    let patience = Duration::from_millis(agent.config.patience_ms);
    let mut last: Option<Sight> = None;
    let mut reported = Instant::now();
    loop {
        std::thread::sleep(TICK);
        if reported.elapsed() >= REPORT {
            report(agent);
            reported = Instant::now();
        }
        if !agent.control.is_on() {
            last = None;
            continue;
        }
        if weak_refs::is_due() {
            in_the_jvm(agent, |jni| weak_refs::let_go_and_collect(jni, agent.control.jvmti));
            let many = "the collector ran very often: weak references are cleared, and the run may not replay";
            agent.control.recorder.note(many.to_owned());
        }
        let pulse = agent.control.pulse().filter(|_| !COLLECTING.load(Ordering::Acquire));
        let Some(pulse) = pulse else {
            last = None;
            continue;
        };
        match &last {
            Some(before) if before.pulse == pulse => {
                let slept = before.slept();
                if slept >= patience && is_blocked(pulse.tid, slept >= patience * LAST_RESORT) {
                    steal(agent, &pulse);
                    last = None;
                }
            }
            _ => last = Some(Sight::new(pulse)),
        }
    }
}

/// When the thread with the token was first seen at a point from which it has not moved since.
#[derive(Debug)]
struct Sight {
    pulse: Pulse,
    since: Instant,
    awake: Option<Duration>,
}

impl Sight {
    fn new(pulse: Pulse) -> Self {
        Self { pulse, since: Instant::now(), awake: awake(pulse.tid) }
    }

    /// How long it has slept since. The time in which it ran, or would have if it had been given a processor, does not
    /// count: on a busy machine a thread that loads classes needs longer than our patience, and whoever looks may find
    /// it in the middle of reading a file.
    fn slept(&self) -> Duration {
        let awake = match (self.awake, awake(self.pulse.tid)) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            // A kernel that does not tell: all of it may have been sleep.
            _ => Duration::ZERO,
        };
        self.since.elapsed().saturating_sub(awake)
    }
}

/// How long a thread has run so far, and waited for a processor.
fn awake(tid: i32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    let mut nanos = text.split_whitespace().map(|word| word.parse().ok());
    let (ran, queued): (u64, u64) = (nanos.next()??, nanos.next()??);
    Some(Duration::from_nanos(ran.saturating_add(queued)))
}

/// Whether the thread sleeps in a system call. Waiting on a futex is what threads inside of the JVM do, too,
/// and counts only as a last resort.
fn is_blocked(tid: i32, last_resort: bool) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")) else {
        return false;
    };
    // The name in parentheses may contain anything; the state follows the last one.
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    if !matches!(state, Some('S' | 'D')) {
        return false;
    }
    let call = std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall"));
    let number = call.ok().and_then(|text| text.split(' ').next()?.parse::<i64>().ok());
    last_resort || number.is_some_and(|number| number != libc::SYS_futex)
}

/// Takes the token.
fn steal(agent: &'static Agent, pulse: &Pulse) {
    in_the_jvm(agent, |jni| agent.control.steal(jni, pulse.thread));
}

/// Some things need the JVM's environment: the thread becomes one of its threads for a moment.
fn in_the_jvm(agent: &'static Agent, body: impl FnOnce(Jni)) {
    let Some(vm) = agent.vm() else { return };
    let mut env: *mut JNIEnv = std::ptr::null_mut();
    // SAFETY: the JVM lives as long as the process; `env` is a place for a pointer.
    let attached = unsafe {
        ((**vm).AttachCurrentThreadAsDaemon)(vm, (&raw mut env).cast(), std::ptr::null_mut())
    };
    if attached != JNI_OK || env.is_null() {
        return;
    }
    // SAFETY: the environment of the current thread, just made.
    body(unsafe { Jni::new(env) });
    // SAFETY: attached above.
    unsafe { ((**vm).DetachCurrentThread)(vm) };
}

/// The processor that the current thread runs on; `None` if there is only one anyway.
pub(crate) fn current_processor() -> Option<usize> {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    // SAFETY: has no arguments.
    let processor = unsafe { libc::sched_getcpu() };
    usize::try_from(processor).ok().filter(|_| count > 1)
}

/// A pointer to the JVM that threads may share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vm(pub(crate) *mut JavaVM);

// SAFETY: the JVM's interface may be used from every thread.
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}
