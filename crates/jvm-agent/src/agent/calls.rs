//! The native methods of `UntornProbe`, which the probes call.

use std::ffi::{CStr, c_void};
use std::time::Duration;

use jvmti_bindings::sys::jni::{JNIEnv, JNINativeMethod, jboolean, jclass, jint, jlong, jobject};
use untorn_runtime::START_MILLIS;

use untorn_trace::VarRole;

use super::{agent, callback, guarded};
use crate::blocking::WaitState;
use crate::jni::{Jni, java_bool};
use crate::natives::unsigned;
use crate::sites::FieldName;
use crate::weak_refs;

/// The one native method that the JVM finds by its name; registers the others.
///
/// # Safety
/// Only the JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_java_lang_UntornProbe_init(env: *mut JNIEnv, class: jclass) {
    let method = |name: &'static CStr, signature: &'static CStr, function: *mut c_void| {
        JNINativeMethod { name: name.as_ptr(), signature: signature.as_ptr(), fnPtr: function }
    };
    const FIELD_NUMBER: &CStr = c"(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;I)I";
    const RESTORE_MODIFIERS: &CStr = c"(Ljava/lang/Class;[Ljava/lang/reflect/Method;)V";
    type Plain = unsafe extern "system" fn(*mut JNIEnv, jclass);
    type Int = unsafe extern "system" fn(*mut JNIEnv, jclass, jint);
    let methods = [
        method(c"begin", c"()V", (begin as Plain) as *mut c_void),
        method(c"end", c"()V", (end as Plain) as *mut c_void),
        method(c"turn", c"()V", (turn as Plain) as *mut c_void),
        method(c"spinning", c"()V", (spinning as Plain) as *mut c_void),
        method(c"comeBack", c"()Z", come_back as *mut c_void),
        method(c"contended", c"(Ljava/lang/Object;II)V", contended as *mut c_void),
        method(c"notified", c"(IZI)V", notified as *mut c_void),
        method(c"notifiedOutside", c"(Ljava/lang/Object;Z)V", notified_outside as *mut c_void),
        method(c"waitSite", c"(I)V", (wait_site as Int) as *mut c_void),
        method(c"hasJoined", c"(Ljava/lang/Thread;)V", has_joined as *mut c_void),
        method(c"rewriteLambda", c"([B)[B", rewrite_lambda as *mut c_void),
        method(c"fieldNumber", FIELD_NUMBER, field_number as *mut c_void),
        method(c"releaseReferents", c"()V", (release_referents as Plain) as *mut c_void),
        method(c"awaitReferences", c"()V", (await_references as Plain) as *mut c_void),
        method(c"virtualNanos", c"()J", virtual_nanos as *mut c_void),
        method(c"virtualMillis", c"()J", virtual_millis as *mut c_void),
        method(c"transformerAdded", c"()V", (transformer_added as Plain) as *mut c_void),
        method(c"sleepOutside", c"(J)V", sleep_outside as *mut c_void),
        method(c"restoreModifiers", RESTORE_MODIFIERS, restore_modifiers as *mut c_void),
        method(c"blockedIn", c"(Ljava/lang/Thread;)I", blocked_in as *mut c_void),
        method(c"atSite", c"(I)V", (at_site as Int) as *mut c_void),
    ];
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let Some(agent) = agent() else { return };
    guarded(|| {
        if !jni.register_natives(class, &methods) {
            agent.control().recorder().fault("the JVM refused the native methods of the probes");
        }
        agent.originals.replace_wait(jni);
    });
}

unsafe extern "system" fn begin(env: *mut JNIEnv, _: jclass) {
    callback(env, |agent, jni| {
        let Some(thread) = jni.current_thread() else { return };
        agent.begin(jni, thread);
    });
}

unsafe extern "system" fn end(env: *mut JNIEnv, _: jclass) {
    callback(env, |agent, jni| agent.control().finish(jni));
}

unsafe extern "system" fn turn(env: *mut JNIEnv, _: jclass) {
    callback(env, |agent, jni| agent.control().limit_reached(jni));
}

unsafe extern "system" fn spinning(env: *mut JNIEnv, _: jclass) {
    callback(env, |agent, jni| agent.control().spinning(jni));
}

unsafe extern "system" fn come_back(env: *mut JNIEnv, _: jclass) -> jboolean {
    let mut back = false;
    callback(env, |agent, jni| back = agent.control().come_back(jni));
    java_bool(back)
}

unsafe extern "system" fn contended(
    env: *mut JNIEnv,
    _: jclass,
    object: jobject,
    lock: jint,
    site: jint,
) {
    callback(env, |agent, jni| {
        agent.contended(jni, object, unsigned(lock), unsigned(site));
    });
}

unsafe extern "system" fn notified(
    env: *mut JNIEnv,
    _: jclass,
    lock: jint,
    all: jboolean,
    site: jint,
) {
    callback(env, |agent, jni| {
        agent.notified(jni, unsigned(lock), all != 0, unsigned(site));
    });
}

unsafe extern "system" fn notified_outside(
    env: *mut JNIEnv,
    _: jclass,
    object: jobject,
    all: jboolean,
) {
    callback(env, |agent, _| agent.notified_outside(object, all != 0));
}

unsafe extern "system" fn wait_site(env: *mut JNIEnv, _: jclass, site: jint) {
    callback(env, |agent, _| agent.wait_site(unsigned(site)));
}

unsafe extern "system" fn has_joined(env: *mut JNIEnv, _: jclass, thread: jobject) {
    callback(env, |agent, jni| agent.joined(jni, thread));
}

unsafe extern "system" fn rewrite_lambda(env: *mut JNIEnv, _: jclass, class: jobject) -> jobject {
    let mut rewritten = std::ptr::null_mut();
    callback(env, |agent, jni| {
        let Some(bytes) = jni.bytes(class) else { return };
        let class = match agent.server {
            Some(_) => agent.rewriter.rewrite_lambda_again(&bytes),
            None => agent.rewriter.rewrite_lambda(&bytes),
        };
        rewritten = class.and_then(|class| jni.byte_array(&class)).unwrap_or(rewritten);
    });
    rewritten
}

unsafe extern "system" fn field_number(
    env: *mut JNIEnv,
    _: jclass,
    class: jobject,
    name: jobject,
    descriptor: jobject,
    role: jint,
) -> jint {
    let mut number = -1;
    callback(env, |agent, jni| {
        let field = FieldName {
            class: jni.text(class).replace('.', "/"),
            name: jni.text(name),
            descriptor: jni.text(descriptor),
            role: usize::try_from(role)
                .ok()
                .and_then(|role| VarRole::ALL.get(role).copied())
                .unwrap_or(VarRole::Field),
        };
        number = agent.rewriter.named_fields.number(field).cast_signed();
    });
    number
}

unsafe extern "system" fn release_referents(env: *mut JNIEnv, _: jclass) {
    callback(env, |agent, jni| weak_refs::release_referents(jni, agent.host().jvmti));
}

unsafe extern "system" fn await_references(env: *mut JNIEnv, _: jclass) {
    callback(env, |_, jni| weak_refs::await_references(jni));
}

unsafe extern "system" fn transformer_added(env: *mut JNIEnv, _: jclass) {
    callback(env, |agent, _| agent.stay_last());
}

/// Sleeps in real time.
unsafe extern "system" fn sleep_outside(_: *mut JNIEnv, _: jclass, millis: jlong) {
    std::thread::sleep(Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
}

unsafe extern "system" fn restore_modifiers(
    env: *mut JNIEnv,
    _: jclass,
    class: jclass,
    methods: jobject,
) {
    callback(env, |agent, jni| {
        agent.restore_modifiers(jni, class, methods);
    });
}

unsafe extern "system" fn blocked_in(env: *mut JNIEnv, _: jclass, thread: jobject) -> jint {
    let mut state = WaitState::NotBlocked;
    callback(env, |agent, jni| state = agent.wait_state(jni, thread));
    state as jint
}

unsafe extern "system" fn at_site(env: *mut JNIEnv, _: jclass, site: jint) {
    callback(env, |agent, jni| agent.at_site(jni, site));
}

unsafe extern "system" fn virtual_nanos(env: *mut JNIEnv, _: jclass) -> jlong {
    let mut nanos = 0;
    callback(env, |agent, jni| {
        nanos = agent.control().clock(jni).map_or(0, |now| now.0 - START_MILLIS * 1_000_000);
    });
    nanos.cast_signed()
}

unsafe extern "system" fn virtual_millis(env: *mut JNIEnv, _: jclass) -> jlong {
    let mut millis = START_MILLIS;
    callback(env, |agent, jni| {
        millis = agent.control().clock(jni).map_or(millis, |now| now.0 / 1_000_000);
    });
    millis.cast_signed()
}
