//! Other agents, which redefine classes or ask for their methods: they find what they would find without ours.
//!
//! A class that is loaded gets its probes from the first of all agents, see `class_file_load`. A class that is
//! redefined must get what it lacks from the last: another agent may have made it from the original bytes, or from
//! what reflection says of its methods, and the JVM refuses a class whose methods have other modifiers than before. So
//! there is a second environment, for redefinitions only. Environments are asked in the order in which they were made,
//! and an agent in Java gets its own with its first transformer; ours is therefore made anew whenever one is added.

use std::ffi::{CStr, c_char};
use std::sync::{Mutex, PoisonError};

use jvmti_bindings::sys::jni::{JNIEnv, jclass, jint, jobject};
use jvmti_bindings::sys::jvmti::{self as sys, jvmtiCapabilities, jvmtiEnv, jvmtiEventCallbacks};
use untorn_bytecode::access;

use super::{Agent, agent, guarded};
use crate::instrument::has_probes;
use crate::jni::Jni;
use crate::jvmti::{Jvmti, JvmtiFault};
use crate::scope::Origin;

/// The environment for redefinitions.
static LAST: Mutex<Option<Jvmti>> = Mutex::new(None);

impl Agent {
    /// From now on redefined classes come here after all agents that exist so far.
    pub(super) fn stay_last(&self) {
        if let Err(fault) = self.be_last() {
            let what =
                "classes that other agents redefine may be refused by the JVM, or not be recorded";
            self.control().recorder().note(format!("{what}: {fault}"));
        }
    }

    fn be_last(&self) -> Result<(), JvmtiFault> {
        let Some(vm) = self.vm() else { return Ok(()) };
        // SAFETY: `vm` is the JVM that loaded the agent.
        let last = unsafe { Jvmti::new(vm) }?;
        let mut wanted = jvmtiCapabilities::default();
        wanted.set_can_retransform_classes(true);
        wanted.set_can_generate_all_class_hook_events(true);
        last.add_capabilities(&wanted)?;
        let mut callbacks = jvmtiEventCallbacks::default();
        callbacks.ClassFileLoadHook = Some(class_redefined);
        last.set_callbacks(&callbacks)?;
        last.enable(sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK)?;
        let before = LAST.lock().unwrap_or_else(PoisonError::into_inner).replace(last);
        if let Some(before) = before {
            before.dispose();
        }
        Ok(())
    }

    /// The redefined class as the JVM gets it; `None` if it is as it has to be.
    fn redefine(&self, jni: Jni, name: &str, loader: jobject, bytes: &[u8]) -> Option<Vec<u8>> {
        let monitors = self.monitors.of(jni, name, loader);
        if has_probes(bytes) {
            return monitors.drop_flags(bytes);
        }
        let origin = if loader.is_null() { Origin::Boot } else { Origin::Elsewhere };
        self.rewriter.rewrite_redefined(name, bytes, origin, &monitors)
    }

    /// Gives methods (of type `Method[]`) of one class back the modifiers that they have in its class file.
    pub(super) fn restore_modifiers(
        &self,
        jni: Jni,
        class: jclass,
        methods: jobject,
    ) -> Option<()> {
        let jvmti = self.host().jvmti;
        let name = jvmti.class_name(class).ok()?;
        let loader = jvmti.class_loader(class).ok()?;
        let monitors = self.monitors.of(jni, &name, loader);
        jni.drop_local_ref(loader);
        if monitors.is_empty() {
            return None;
        }
        for index in 0..jni.array_length(methods) {
            let method = jni.element(methods, index)?;
            let name = jvmti.method_name(jni.method_of(method)).ok()?;
            if monitors.contains(&name.name, &name.descriptor) {
                let field = jni.field(jni.class_of(method), c"modifiers", c"I")?;
                let modifiers = jni.get_int_of(method, field) | jint::from(access::SYNCHRONIZED);
                jni.set_int_of(method, field, modifiers);
            }
            jni.drop_local_ref(method);
        }
        Some(())
    }
}

unsafe extern "system" fn class_redefined(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _domain: jobject,
    length: jint,
    data: *const u8,
    new_length: *mut jint,
    new_data: *mut *mut u8,
) {
    let Some(agent) = agent().filter(|_| !redefined.is_null() && !name.is_null()) else { return };
    let Ok(length) = usize::try_from(length) else { return };
    // SAFETY: the JVM passes that many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(data, length) };
    // SAFETY: the JVM passes a NUL-terminated text.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    guarded(|| {
        // SAFETY: the JVM passes the environment of the current thread.
        let jni = unsafe { Jni::new(env) };
        let Some(rewritten) = agent.redefine(jni, &name, loader, bytes) else { return };
        // SAFETY: the JVM passes places for the new class.
        unsafe { agent.hand_over_class(&rewritten, new_length, new_data) };
    });
}
