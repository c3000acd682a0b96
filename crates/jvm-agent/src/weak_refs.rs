//! Releases the referents of weak references that the agent keeps alive (see `instrument::references`).
//!
//! A program may rely on weak references being cleared without memory running out. If it asks for a collection, the
//! referents are released first. If it never asks, it may wait for it nevertheless, and produce garbage meanwhile:
//! then they are released after many collections, and again after twice as many, so that no program waits much longer
//! than it would have run anyway.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::jni::Jni;
use crate::jvmti::Jvmti;

/// The number of collections after which referents are released for the first time. No program that was tried under a
/// recorder had as many, unless it ran for minutes.
const FIRST: u64 = 128;

/// Collections so far, and the number after which referents are released next.
static COLLECTIONS: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(FIRST);

pub(crate) fn collected() {
    COLLECTIONS.fetch_add(1, Ordering::Relaxed);
}

/// Another run begins in this JVM: collections of earlier ones do not count.
pub(crate) fn forget_collections() {
    COLLECTIONS.store(0, Ordering::Relaxed);
    NEXT.store(FIRST, Ordering::Relaxed);
}

/// Whether it is time to release referents because there were many collections; called by one thread only.
pub(crate) fn is_due() -> bool {
    let next = NEXT.load(Ordering::Relaxed);
    let due = COLLECTIONS.load(Ordering::Relaxed) >= next;
    if due {
        NEXT.store(next * 2, Ordering::Relaxed);
    }
    due
}

/// Releases the referents: every existing weak reference becomes an ordinary one.
pub(crate) fn release_referents(jni: Jni, jvmti: Jvmti) {
    let Some(class) = jni.find_class(c"java/lang/UntornKeptReferent") else { return };
    let Some(clear) = jni.method(class, c"clear", c"()V") else { return };
    // If the JVM does not list them, they stay until memory runs out.
    for held in jvmti.instances(class).unwrap_or_default() {
        jni.call_void(held, clear);
        jni.drop_local_ref(held);
    }
    jni.drop_local_ref(class);
}

/// The same, and collects at once the objects that nothing else refers to: they have become old, and an ordinary
/// collection would leave them.
pub(crate) fn release_referents_and_collect(jni: Jni, jvmti: Jvmti) {
    release_referents(jni, jvmti);
    jvmti.collect();
}

/// Waits until the JVM has put the references that a collection cleared into their queues. It does so on an
/// uncontrolled thread, so a program could see them there sooner or later.
pub(crate) fn await_references(jni: Jni) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while Instant::now() < deadline && is_pending(jni).unwrap_or(false) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether references are still to be enqueued; `None` if this JVM cannot tell.
fn is_pending(jni: Jni) -> Option<bool> {
    let class = jni.find_class(c"java/lang/ref/Reference")?;
    let has_some = jni.static_method(class, c"hasReferencePendingList", c"()Z")?;
    let is_active = jni.static_field(class, c"processPendingActive", c"Z")?;
    let pending = jni.call_static_boolean(class, has_some) || jni.get_boolean(class, is_active);
    jni.drop_local_ref(class);
    Some(pending)
}
