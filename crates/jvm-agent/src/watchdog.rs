//! A thread of the agent that watches the others: see [`Watchdog`]. It also releases weak references when necessary.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni::{JNI_OK, JNIEnv, JavaVM};
use untorn_jvm_protocol::config::Config;
use untorn_runtime::Watchdog;
use untorn_runtime_protocol::Owner;

use crate::agent::{Agent, guarded};
use crate::jni::Jni;
use crate::run::end_process;
use crate::weak_refs;

/// Whether the JVM collects garbage: every thread stands still then, and the watchdog must not act.
static COLLECTING: AtomicBool = AtomicBool::new(false);

/// How often it is looked whether the command line is still there.
const OWNER_CHECK: Duration = Duration::from_millis(200);

/// The exit code of a program that ends because the command line was killed: as if it had been, too.
const KILLED: i32 = 128 + libc::SIGKILL;

pub(crate) fn collecting(now: bool) {
    COLLECTING.store(now, Ordering::Release);
}

pub(crate) fn start(agent: &'static Agent) {
    let body = move || {
        guarded(|| watch(agent));
    };
    // Without it, a program that blocks outside hangs until the call returns, as it does without the agent.
    let _ = std::thread::Builder::new().name("untorn watchdog".to_owned()).spawn(body);
}

fn watch(agent: &'static Agent) {
    let mut watchdog = Watchdog::new(Duration::from_millis(agent.run().config.patience_ms));
    let mut looked = Instant::now();
    loop {
        std::thread::sleep(Watchdog::TICK);
        if looked.elapsed() >= OWNER_CHECK {
            if is_abandoned(&agent.run().config) {
                end_process(KILLED);
            }
            looked = Instant::now();
        }
        if agent.control().is_on() && weak_refs::is_due() {
            attached(agent, |jni| {
                weak_refs::release_referents_and_collect(jni, agent.host().jvmti);
            });
            let many = "the collector ran very often: weak references are cleared, and the run may not replay";
            agent.control().recorder().note(many.to_owned());
        }
        if let Some(blocked) = watchdog.check(agent.control(), COLLECTING.load(Ordering::Acquire)) {
            attached(agent, |jni| agent.control().steal(jni, blocked));
        }
    }
}

/// Whether the command line was killed: it is gone and has left its folder. When it ends by itself, it removes the folder;
/// then a program that outlives it does so with its consent.
fn is_abandoned(config: &Config) -> bool {
    config.owner.as_ref().is_some_and(Owner::is_gone)
        && config.progress.parent().is_some_and(Path::is_dir)
}

/// Some calls need a JNI environment: the thread attaches to the JVM for a moment.
fn attached(agent: &'static Agent, body: impl FnOnce(Jni)) {
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
