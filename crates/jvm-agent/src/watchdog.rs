//! A thread of the agent that looks from outside: see [`Watchdog`]. It also lets weak references go when that is due.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jvmti_bindings::sys::jni::{JNI_OK, JNIEnv, JavaVM};
use untorn_runtime::Watchdog;

use crate::agent::{Agent, guarded};
use crate::jni::Jni;
use crate::weak_refs;

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

fn watch(agent: &'static Agent) {
    let mut watchdog = Watchdog::new(Duration::from_millis(agent.config.patience_ms));
    loop {
        std::thread::sleep(Watchdog::TICK);
        if agent.control.is_on() && weak_refs::is_due() {
            in_the_jvm(agent, |jni| weak_refs::let_go_and_collect(jni, agent.host().jvmti));
            let many = "the collector ran very often: weak references are cleared, and the run may not replay";
            agent.control.recorder().note(many.to_owned());
        }
        if let Some(blocked) = watchdog.check(&agent.control, COLLECTING.load(Ordering::Acquire)) {
            in_the_jvm(agent, |jni| agent.control.steal(jni, blocked));
        }
    }
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

/// A pointer to the JVM that threads may share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vm(pub(crate) *mut JavaVM);

// SAFETY: the JVM's interface may be used from every thread.
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}
