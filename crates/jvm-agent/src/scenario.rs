//! Scenarios of a check for linearizability: the native half of `UntornScenario`, and the classes alone, without
//! anything recorded, for the JVM that makes calls in sequential orders (`UntornSequential`).
#![allow(unsafe_code)]

use jvmti_bindings::sys::jni::{JNIEnv, JavaVM, jclass, jobject, jthread};
use jvmti_bindings::sys::jvmti::{self as sys, jvmtiEnv, jvmtiEventCallbacks};

use crate::agent::{JUNIT, SCENARIOS, agent, guarded};
use crate::jni::Jni;
use crate::jvmti::{Jvmti, JvmtiFault};

/// Defines the classes that run a scenario.
pub(crate) fn set_up(jni: Jni) -> Option<()> {
    // Loading the class under test would start the thread of the JDK's cleaner, as a part of the program. An older
    // release may have none.
    jni.find_class(c"jdk/internal/ref/CleanerFactory");
    define(jni)
}

fn define(jni: Jni) -> Option<()> {
    SCENARIOS.into_iter().try_for_each(|(name, bytes)| jni.define_boot_class(name, bytes).map(drop))
}

/// The scenario of the run at hand. The JVM finds it by its name.
///
/// # Safety
/// Only the JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang_UntornScenario_scenario(
    env: *mut JNIEnv,
    _: jclass,
) -> jobject {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let text = agent().and_then(|agent| agent.run().config.scenario.as_deref());
    guarded(|| jni.new_text(text?)).flatten().unwrap_or(std::ptr::null_mut())
}

/// What a call of the scenario did. The JVM finds it by its name.
///
/// # Safety
/// Only the JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang_UntornScenario_observed(
    env: *mut JNIEnv,
    _: jclass,
    what: jobject,
) {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let Some(agent) = agent() else { return };
    guarded(|| agent.control().recorder().observe(jni.text(what)));
}

/// Has the JVM get the classes as soon as it can run Java code, and nothing else.
///
/// # Safety
/// `vm` is the JVM that called `Agent_OnLoad`.
pub(crate) unsafe fn define_classes_only(vm: *mut JavaVM) -> Result<(), JvmtiFault> {
    // SAFETY: guaranteed by the caller.
    let jvmti = unsafe { Jvmti::new(vm) }?;
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.VMInit = Some(vm_init);
    jvmti.set_callbacks(&callbacks)?;
    jvmti.enable(sys::JVMTI_EVENT_VM_INIT)
}

unsafe extern "system" fn vm_init(_: *mut jvmtiEnv, env: *mut JNIEnv, _thread: jthread) {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    // Without the classes the JVM says that there is no main class.
    guarded(|| {
        JUNIT.into_iter().try_for_each(|(name, bytes)| jni.define_boot_class(name, bytes).map(drop))
    });
    guarded(|| define(jni));
}
