//! Native methods of the JDK that block threads: the scheduler decides in their place.
//!
//! When the JVM binds a native method, it lets the agent replace the function. The original is kept, for threads that
//! are not controlled and for everything that the agent does not decide.
#![allow(unsafe_code)]

mod hidden;
mod standard_input;
mod waiting;

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use jvmti_bindings::sys::jni::{
    JNIEnv, JNINativeMethod, jboolean, jclass, jint, jlong, jmethodID, jobject,
};

use crate::agent::{agent, guarded};
use crate::blocking::Blocked;
use crate::jni::Jni;
use crate::jvmti::MethodName;

/// The native methods that are replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Replaced {
    Wait,
    Start,
    SleepMillis,
    SleepNanos,
    Yield,
    Interrupt,
    Park,
    Unpark,
}

const COUNT: usize = 8;

/// Class, method, descriptor. Names differ between releases of the JDK.
const TABLE: &[(&str, &str, &str, Replaced)] = &[
    ("java/lang/Object", "wait", "(J)V", Replaced::Wait),
    ("java/lang/Object", "wait0", "(J)V", Replaced::Wait),
    ("java/lang/Thread", "start0", "()V", Replaced::Start),
    ("java/lang/Thread", "sleep", "(J)V", Replaced::SleepMillis),
    ("java/lang/Thread", "sleep0", "(J)V", Replaced::SleepMillis),
    ("java/lang/Thread", "sleepNanos0", "(J)V", Replaced::SleepNanos),
    ("java/lang/Thread", "yield", "()V", Replaced::Yield),
    ("java/lang/Thread", "yield0", "()V", Replaced::Yield),
    ("java/lang/Thread", "interrupt0", "()V", Replaced::Interrupt),
    ("jdk/internal/misc/Unsafe", "park", "(ZJ)V", Replaced::Park),
    ("jdk/internal/misc/Unsafe", "unpark", "(Ljava/lang/Object;)V", Replaced::Unpark),
];

type Plain = unsafe extern "system" fn(*mut JNIEnv, jobject);
type WithLong = unsafe extern "system" fn(*mut JNIEnv, jobject, jlong);
type WithObject = unsafe extern "system" fn(*mut JNIEnv, jobject, jobject);
type WithFlagAndLong = unsafe extern "system" fn(*mut JNIEnv, jobject, jboolean, jlong);

/// The original functions, and the methods of `Thread` that the replacements need.
#[derive(Debug)]
pub(crate) struct Originals {
    functions: [AtomicPtr<c_void>; COUNT],
    thread: OnceLock<ThreadMethods>,
}

#[derive(Debug)]
struct ThreadMethods {
    class: jclass,
    interrupted: jmethodID,
    is_interrupted: jmethodID,
    interrupted_exception: jclass,
}

// SAFETY: global references and method ids may be used from every thread.
unsafe impl Send for ThreadMethods {}
// SAFETY: as above.
unsafe impl Sync for ThreadMethods {}

impl Default for Originals {
    fn default() -> Self {
        let none = || AtomicPtr::new(std::ptr::null_mut());
        Self { functions: std::array::from_fn(|_| none()), thread: OnceLock::new() }
    }
}

impl Originals {
    /// The function to bind instead, if the method is one of these.
    pub(crate) fn replace(
        &self,
        method: &MethodName,
        original: *mut c_void,
        release: Option<u32>,
    ) -> Option<*mut c_void> {
        let found = TABLE.iter().find(|(class, name, descriptor, _)| {
            *class == method.class && *name == method.name && *descriptor == method.descriptor
        });
        let Some(&(.., replaced)) = found else {
            let name = hidden::replace(method, original, release);
            return name.or_else(|| waiting::replace(method, original));
        };
        self.functions[replaced as usize].store(original, Ordering::Release);
        Some(match replaced {
            Replaced::Wait => (wait as WithLong) as *mut c_void,
            Replaced::Start => (start as Plain) as *mut c_void,
            Replaced::SleepMillis => (sleep_millis as WithLong) as *mut c_void,
            Replaced::SleepNanos => (sleep_nanos as WithLong) as *mut c_void,
            Replaced::Yield => (yields as Plain) as *mut c_void,
            Replaced::Interrupt => (interrupt as Plain) as *mut c_void,
            Replaced::Park => (park as WithFlagAndLong) as *mut c_void,
            Replaced::Unpark => (unpark as WithObject) as *mut c_void,
        })
    }

    /// `Object.wait` is bound before the agent gets the callback, so it is bound again. The original is one of the
    /// functions that the JVM exports.
    pub(crate) fn replace_wait(&self, jni: Jni) {
        if !self.get(Replaced::Wait).is_null() {
            return;
        }
        // SAFETY: looks a name up in the libraries of the process.
        let original = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"JVM_MonitorWait".as_ptr()) };
        let Some(class) = jni.find_class(c"java/lang/Object").filter(|_| !original.is_null())
        else {
            return;
        };
        for name in [c"wait0", c"wait"] {
            let (signature, function) = (c"(J)V", (wait as WithLong) as *mut c_void);
            let method = JNINativeMethod {
                name: name.as_ptr(),
                signature: signature.as_ptr(),
                fnPtr: function,
            };
            if jni.method(class, name, signature).is_some()
                && jni.register_natives(class, &[method])
            {
                // Binding it invokes the callback, which would take the agent's own function for the original.
                self.functions[Replaced::Wait as usize].store(original, Ordering::Release);
                return;
            }
        }
    }

    /// Methods that were never bound and so cannot be replaced.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        // Only one of the sleep methods exists in a given release.
        let known = |replaced: Replaced| !self.get(replaced).is_null();
        let sleeps = known(Replaced::SleepMillis) || known(Replaced::SleepNanos);
        let mut missing = Vec::new();
        for &(_, name, _, replaced) in TABLE {
            let sleep = matches!(replaced, Replaced::SleepMillis | Replaced::SleepNanos);
            let replaced = known(replaced) || (sleep && sleeps);
            if !replaced && !missing.contains(&name) {
                missing.push(name);
            }
        }
        missing
    }

    fn get(&self, replaced: Replaced) -> *mut c_void {
        self.functions[replaced as usize].load(Ordering::Acquire)
    }

    pub(crate) fn find_thread_methods(&self, jni: Jni) -> Option<()> {
        let class = jni.find_class(c"java/lang/Thread")?;
        let exception = jni.find_class(c"java/lang/InterruptedException")?;
        let methods = ThreadMethods {
            class: jni.global_ref(class),
            interrupted: jni.static_method(class, c"interrupted", c"()Z")?,
            is_interrupted: jni.method(class, c"isInterrupted", c"()Z")?,
            interrupted_exception: jni.global_ref(exception),
        };
        self.thread.set(methods).ok()
    }

    /// Whether the current thread was interrupted; the flag is cleared.
    pub(crate) fn take_interrupt(&self, jni: Jni) -> bool {
        let Some(methods) = self.thread.get() else { return false };
        jni.call_static_boolean(methods.class, methods.interrupted)
    }

    pub(crate) fn is_interrupted(&self, jni: Jni, thread: jobject) -> bool {
        let Some(methods) = self.thread.get() else { return false };
        jni.call_boolean(thread, methods.is_interrupted)
    }

    fn throw_interrupted(&self, jni: Jni, message: &std::ffi::CStr) {
        if let Some(methods) = self.thread.get() {
            let message = (!message.is_empty()).then_some(message);
            jni.throw_new(methods.interrupted_exception, message);
        }
    }
}

/// Asks the scheduler; a call that it does not decide goes to the original.
fn decide(
    env: *mut JNIEnv,
    ask: impl FnOnce(&crate::agent::Agent, Jni) -> Blocked,
    message: &std::ffi::CStr,
    original: impl FnOnce(&Originals),
) {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let Some(agent) = agent() else { return };
    match guarded(|| ask(agent, jni)).unwrap_or(Blocked::NotControlled) {
        Blocked::Done => {}
        Blocked::Interrupted => agent.originals.throw_interrupted(jni, message),
        Blocked::NotControlled => original(&agent.originals),
    }
}

/// Calls an original of the given type.
macro_rules! original {
    ($originals:expr, $which:expr, $kind:ty, $($argument:expr),*) => {{
        let function = $originals.get($which);
        if !function.is_null() {
            // SAFETY: the function was bound to a method with that signature.
            unsafe { std::mem::transmute::<*mut c_void, $kind>(function)($($argument),*) }
        }
    }};
}

unsafe extern "system" fn wait(env: *mut JNIEnv, object: jobject, millis: jlong) {
    decide(
        env,
        |agent, jni| agent.wait(jni, object, millis),
        c"",
        |originals| original!(originals, Replaced::Wait, WithLong, env, object, millis),
    );
}

unsafe extern "system" fn start(env: *mut JNIEnv, thread: jobject) {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let Some(agent) = agent() else { return };
    let child = guarded(|| agent.starts(jni, thread)).flatten();
    original!(agent.originals, Replaced::Start, Plain, env, thread);
    if let Some(child) = child
        && jni.has_exception()
    {
        guarded(|| agent.control().did_not_start(child));
    }
}

unsafe extern "system" fn sleep_millis(env: *mut JNIEnv, class: jobject, millis: jlong) {
    let nanos = if millis < 0 { -1 } else { millis.saturating_mul(1_000_000) };
    decide(
        env,
        |agent, jni| agent.sleep(jni, nanos),
        c"sleep interrupted",
        |originals| original!(originals, Replaced::SleepMillis, WithLong, env, class, millis),
    );
}

unsafe extern "system" fn sleep_nanos(env: *mut JNIEnv, class: jobject, nanos: jlong) {
    decide(
        env,
        |agent, jni| agent.sleep(jni, nanos),
        c"sleep interrupted",
        |originals| original!(originals, Replaced::SleepNanos, WithLong, env, class, nanos),
    );
}

unsafe extern "system" fn yields(env: *mut JNIEnv, class: jobject) {
    decide(
        env,
        |agent, jni| agent.yields(jni),
        c"",
        |originals| original!(originals, Replaced::Yield, Plain, env, class),
    );
}

unsafe extern "system" fn interrupt(env: *mut JNIEnv, thread: jobject) {
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    let Some(agent) = agent() else { return };
    original!(agent.originals, Replaced::Interrupt, Plain, env, thread);
    guarded(|| agent.interrupted(jni, thread));
}

unsafe extern "system" fn park(env: *mut JNIEnv, this: jobject, absolute: jboolean, time: jlong) {
    decide(
        env,
        |agent, jni| agent.park(jni, absolute != 0, time),
        c"",
        |originals| {
            original!(originals, Replaced::Park, WithFlagAndLong, env, this, absolute, time);
        },
    );
}

unsafe extern "system" fn unpark(env: *mut JNIEnv, this: jobject, thread: jobject) {
    decide(
        env,
        |agent, jni| agent.unpark(jni, thread),
        c"",
        |originals| original!(originals, Replaced::Unpark, WithObject, env, this, thread),
    );
}

/// The type that Java passes for an identity or a site.
pub(crate) fn unsigned(number: jint) -> u32 {
    number.cast_unsigned()
}
