//! The JVMTI functions that the agent needs. Every return code is checked.
//!
//! The agent's environment is made in `Agent_OnLoad` and lives as long as the JVM; another one is for redefined classes.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};

use jvmti_bindings::sys::jni::{JNI_OK, JavaVM, jclass, jint, jlong, jmethodID, jobject, jthread};
use jvmti_bindings::sys::jvmti::{
    JVMTI_ENABLE, jvmtiCapabilities, jvmtiEnv, jvmtiError, jvmtiEvent, jvmtiEventCallbacks,
    jvmtiFrameInfo, jvmtiHeapCallbacks, jvmtiInterface_1_, jvmtiMonitorUsage, jvmtiThreadGroupInfo,
    jvmtiThreadInfo,
};

/// The version of the interface: that of JDK 11, which every supported JVM offers.
const JVMTI_VERSION_11: jint = 0x300b_0000;

/// An error code of the JVM.
#[derive(Debug, thiserror::Error)]
#[error("{function} failed with JVMTI error {code}")]
pub(crate) struct JvmtiFault {
    function: &'static str,
    code: i32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Jvmti(*mut jvmtiEnv);

// SAFETY: a JVMTI environment may be used from every thread of the JVM.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// Calls a function of the interface; an error code, or a missing function, becomes a [`JvmtiFault`].
macro_rules! ask {
    ($self:expr, $name:ident $(, $argument:expr)*) => {
        match $self.table().$name {
            // SAFETY: the arguments are those that the interface asks for.
            Some(function) => check(stringify!($name), unsafe { function($self.0 $(, $argument)*) }),
            None => Err(JvmtiFault { function: stringify!($name), code: -1 }),
        }
    };
}

fn check(function: &'static str, error: jvmtiError) -> Result<(), JvmtiFault> {
    if error == jvmtiError::NONE { Ok(()) } else { Err(JvmtiFault { function, code: error.raw() }) }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadFacts {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) daemon: bool,
}

/// A method as its class file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MethodName {
    /// `java/lang/Object`
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) descriptor: String,
}

impl Jvmti {
    /// # Safety
    /// `vm` is the JVM that called `Agent_OnLoad`.
    pub(crate) unsafe fn new(vm: *mut JavaVM) -> Result<Self, JvmtiFault> {
        let mut env: *mut c_void = std::ptr::null_mut();
        // SAFETY: `vm` is valid, as the caller guarantees; `env` is a place for a pointer.
        let code = unsafe { ((**vm).GetEnv)(vm, &raw mut env, JVMTI_VERSION_11) };
        if code == JNI_OK && !env.is_null() {
            Ok(Self(env.cast()))
        } else {
            Err(JvmtiFault { function: "GetEnv", code })
        }
    }

    fn table(&self) -> &jvmtiInterface_1_ {
        // SAFETY: the environment and its table live as long as the JVM.
        unsafe { &*(*self.0).functions }
    }

    pub(crate) fn add_capabilities(self, wanted: &jvmtiCapabilities) -> Result<(), JvmtiFault> {
        ask!(self, AddCapabilities, std::ptr::from_ref(wanted))
    }

    pub(crate) fn set_callbacks(self, callbacks: &jvmtiEventCallbacks) -> Result<(), JvmtiFault> {
        let size = size_of::<jvmtiEventCallbacks>() as jint;
        ask!(self, SetEventCallbacks, std::ptr::from_ref(callbacks), size)
    }

    pub(crate) fn enable(self, event: jvmtiEvent) -> Result<(), JvmtiFault> {
        ask!(self, SetEventNotificationMode, JVMTI_ENABLE, event, std::ptr::null_mut())
    }

    /// A system property, if it is known before any Java code runs.
    pub(crate) fn system_property(self, name: &CStr) -> Option<String> {
        let mut text = std::ptr::null_mut();
        ask!(self, GetSystemProperty, name.as_ptr(), &raw mut text).ok()?;
        Some(self.take_text(text))
    }

    /// The release of Java, such as 17. The version of the interface contains it in every phase of the JVM.
    pub(crate) fn release(self) -> Option<u32> {
        const MAJOR: jint = 0x0fff_0000;
        let mut version = 0;
        ask!(self, GetVersionNumber, &raw mut version).ok()?;
        u32::try_from((version & MAJOR) >> 16).ok()
    }

    /// Releases the environment; it must not be used any more.
    pub(crate) fn dispose(self) {
        // A leaked environment costs nothing.
        let _ = ask!(self, DisposeEnvironment);
    }

    /// Memory that the JVM takes over and frees.
    pub(crate) fn allocate(self, bytes: &[u8]) -> Result<*mut u8, JvmtiFault> {
        let mut memory: *mut u8 = std::ptr::null_mut();
        ask!(self, Allocate, bytes.len() as jlong, &raw mut memory)?;
        // SAFETY: the JVM allocated that many bytes, and no other code has a pointer to them yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len()) };
        Ok(memory)
    }

    /// Copies a text that the JVM allocated, and frees it.
    fn take_text(self, text: *mut c_char) -> String {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: the JVM hands out NUL-terminated texts.
        let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        self.free(text.cast());
        copy
    }

    fn free(self, memory: *mut u8) {
        if !memory.is_null() {
            // A failure cannot be handled, and nothing depends on it.
            let _ = ask!(self, Deallocate, memory.cast());
        }
    }

    /// All objects of exactly that class, as local references, reachable or not.
    pub(crate) fn instances(self, class: jclass) -> Result<Vec<jobject>, JvmtiFault> {
        static FOUND: jlong = 1;
        unsafe extern "system" fn find(
            _class_tag: jlong,
            _size: jlong,
            tag: *mut jlong,
            _length: jint,
            _: *mut c_void,
        ) -> jint {
            // SAFETY: the JVM passes the place of the object's tag.
            unsafe { *tag = FOUND };
            0
        }
        let callbacks =
            jvmtiHeapCallbacks { heap_iteration_callback: Some(find), ..Default::default() };
        ask!(self, IterateThroughHeap, 0, class, &raw const callbacks, std::ptr::null())?;
        let (mut count, mut objects): (jint, *mut jobject) = (0, std::ptr::null_mut());
        let none = std::ptr::null_mut();
        ask!(
            self,
            GetObjectsWithTags,
            1,
            &raw const FOUND,
            &raw mut count,
            &raw mut objects,
            none
        )?;
        let count = usize::try_from(count).unwrap_or(0);
        let found = match objects.is_null() {
            true => Vec::new(),
            // SAFETY: the JVM gave that many references.
            false => unsafe { std::slice::from_raw_parts(objects, count) }.to_vec(),
        };
        self.free(objects.cast());
        for &object in &found {
            // A tag that is not removed costs a little memory.
            let _ = ask!(self, SetTag, object, 0);
        }
        Ok(found)
    }

    /// Forces a collection of the whole heap.
    pub(crate) fn collect(self) {
        // Otherwise the JVM does so by itself, later.
        let _ = ask!(self, ForceGarbageCollection);
    }

    pub(crate) fn identity(self, object: jobject) -> u32 {
        let mut hash: jint = 0;
        match ask!(self, GetObjectHashCode, object, &raw mut hash) {
            Ok(()) => hash.cast_unsigned(),
            Err(_) => 0,
        }
    }

    /// `java/lang/String` for `Ljava/lang/String;`; arrays keep their signature.
    pub(crate) fn class_name(self, class: jclass) -> Result<String, JvmtiFault> {
        let mut text = std::ptr::null_mut();
        ask!(self, GetClassSignature, class, &raw mut text, std::ptr::null_mut())?;
        let signature = self.take_text(text);
        let inner = signature.strip_prefix('L').and_then(|rest| rest.strip_suffix(';'));
        Ok(inner.map_or(signature.clone(), str::to_owned))
    }

    /// The loader of a class, a local reference; null if it is the boot loader.
    pub(crate) fn class_loader(self, class: jclass) -> Result<jobject, JvmtiFault> {
        let mut loader = std::ptr::null_mut();
        ask!(self, GetClassLoader, class, &raw mut loader)?;
        Ok(loader)
    }

    pub(crate) fn method_name(self, method: jmethodID) -> Result<MethodName, JvmtiFault> {
        let (mut name, mut descriptor) = (std::ptr::null_mut(), std::ptr::null_mut());
        let none = std::ptr::null_mut();
        ask!(self, GetMethodName, method, &raw mut name, &raw mut descriptor, none)?;
        let (name, descriptor) = (self.take_text(name), self.take_text(descriptor));
        let mut class = std::ptr::null_mut();
        ask!(self, GetMethodDeclaringClass, method, &raw mut class)?;
        Ok(MethodName { class: self.class_name(class)?, name, descriptor })
    }

    pub(crate) fn thread_facts(self, thread: jthread) -> Result<ThreadFacts, JvmtiFault> {
        let mut info = jvmtiThreadInfo::default();
        ask!(self, GetThreadInfo, thread, &raw mut info)?;
        let name = self.take_text(info.name);
        let daemon = info.is_daemon != 0;
        let mut group = jvmtiThreadGroupInfo::default();
        if info.thread_group.is_null() {
            return Ok(ThreadFacts { name, group: String::new(), daemon });
        }
        ask!(self, GetThreadGroupInfo, info.thread_group, &raw mut group)?;
        Ok(ThreadFacts { name, group: self.take_text(group.name), daemon })
    }

    /// Whether the JVM has finished with a thread that was started.
    pub(crate) fn is_terminated(self, thread: jthread) -> bool {
        const ALIVE: jint = 1;
        let mut state: jint = 0;
        match ask!(self, GetThreadState, thread, &raw mut state) {
            Ok(()) => state & ALIVE == 0,
            Err(_) => true,
        }
    }

    /// The owner of a monitor (a local reference, null if it is free) and the depth.
    pub(crate) fn monitor_owner(self, object: jobject) -> Result<(jthread, u32), JvmtiFault> {
        let mut usage = jvmtiMonitorUsage {
            owner: std::ptr::null_mut(),
            entry_count: 0,
            waiter_count: 0,
            waiters: std::ptr::null_mut(),
            notify_waiter_count: 0,
            notify_waiters: std::ptr::null_mut(),
        };
        ask!(self, GetObjectMonitorUsage, object, &raw mut usage)?;
        self.free(usage.waiters.cast());
        self.free(usage.notify_waiters.cast());
        Ok((usage.owner, usage.entry_count.max(0).cast_unsigned()))
    }

    /// The stack of a thread as text, innermost frame first: `Account.withdraw(Bank.java:12)`.
    pub(crate) fn stack(self, thread: jthread) -> Vec<String> {
        const DEPTH: usize = 24;
        let mut frames = [jvmtiFrameInfo::default(); DEPTH];
        let mut count: jint = 0;
        let into = frames.as_mut_ptr();
        if ask!(self, GetStackTrace, thread, 0, DEPTH as jint, into, &raw mut count).is_err() {
            return Vec::new();
        }
        let known = usize::try_from(count).unwrap_or(0).min(DEPTH);
        frames[..known].iter().filter_map(|frame| self.frame(frame)).collect()
    }

    fn frame(self, frame: &jvmtiFrameInfo) -> Option<String> {
        let method = self.method_name(frame.method).ok()?;
        if method.class == "java/lang/UntornProbe" {
            return None;
        }
        let class = method.class.replace('/', ".");
        let place = match self.line(frame) {
            Some(line) => format!("line {line}"),
            None => "unknown line".to_owned(),
        };
        Some(format!("{class}.{} ({place})", method.name))
    }

    fn line(self, frame: &jvmtiFrameInfo) -> Option<i32> {
        let mut count: jint = 0;
        let mut table = std::ptr::null_mut();
        ask!(self, GetLineNumberTable, frame.method, &raw mut count, &raw mut table).ok()?;
        // SAFETY: the JVM gave a table of that many entries.
        let entries = unsafe { std::slice::from_raw_parts(table, usize::try_from(count).ok()?) };
        let here = entries.iter().filter(|entry| entry.start_location <= frame.location);
        let line = here.max_by_key(|entry| entry.start_location).map(|entry| entry.line_number);
        self.free(table.cast());
        line
    }
}
