//! The agent inside of the JVM: its callbacks.
#![allow(unsafe_code)]

mod calls;
mod names;
mod other_agents;

use std::ffi::{CStr, c_char, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use jvmti_bindings::sys::jni::{
    JNI_ERR, JNI_OK, JNIEnv, JavaVM, jclass, jint, jmethodID, jobject, jthread,
};
use jvmti_bindings::sys::jvmti::{self as sys, jvmtiCapabilities, jvmtiEnv, jvmtiEventCallbacks};
use untorn_bytecode::ClassFile;
use untorn_jvm_protocol::CLASSES_ONLY;
use untorn_jvm_protocol::config::{Config, ConfigError};
use untorn_jvm_protocol::jvm_selection::SELECT;
use untorn_jvm_protocol::path_log::SiteWriter;
use untorn_runtime::{Control, SpareBuffers};
use untorn_schedule::AnnouncedEvents;

use crate::explicit_monitors::LoadedMonitors;
use crate::host::JvmHost;
use crate::instrument::Rewriter;
use crate::jni::Jni;
use crate::jvm_selection::{self, take_config};
use crate::jvmti::{Jvmti, JvmtiFault};
use crate::locks::LockWords;
use crate::natives::Originals;
use crate::path_memory::PathMemory;
use crate::plans::PlanSites;
use crate::probe::Probe;
use crate::run::{Run, asked_points};
use crate::scenario;
use crate::scope::{Depth, Origin, Scope};
use crate::server::{self, Server};
use crate::watchdog;
use crate::weak_refs;

pub use calls::Java_java_lang_UntornProbe_init;

/// A compiled class of the agent's Java half, with its name.
macro_rules! java_half {
    ($name:literal) => {
        (
            match CStr::from_bytes_with_nul(concat!("java/lang/", $name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name without NUL"),
            },
            include_bytes!(concat!(env!("OUT_DIR"), "/java/lang/", $name, ".class")),
        )
    };
}

/// What runs scenarios, and answers what their calls give in a sequential order.
pub(crate) const SCENARIOS: [(&CStr, &[u8]); 10] = [
    java_half!("UntornArguments"),
    java_half!("UntornArguments$Constant"),
    java_half!("UntornCalls"),
    java_half!("UntornCalls$Call"),
    java_half!("UntornResults"),
    java_half!("UntornScenario"),
    java_half!("UntornScenario$Section"),
    java_half!("UntornSequential"),
    java_half!("UntornSequential$Order"),
    java_half!("UntornSequential$Worker"),
];

/// The runner of JUnit tests.
pub(crate) const JUNIT: [(&CStr, &[u8]); 2] =
    [java_half!("UntornJUnit"), java_half!("UntornJUnit$Result")];

/// The classes of the probes, the runner of JUnit tests, and the server that makes many runs.
const JAVA_HALF: [(&CStr, &[u8]); 17] = [
    java_half!("UntornProbe"),
    java_half!("UntornPath"),
    java_half!("UntornKeptReferent"),
    java_half!("UntornValues"),
    java_half!("UntornAtomics"),
    java_half!("UntornOffsets"),
    java_half!("UntornCollections"),
    java_half!("UntornLocks"),
    java_half!("UntornOrders"),
    java_half!("UntornArrays"),
    java_half!("UntornArrays$Layout"),
    java_half!("UntornJUnit"),
    java_half!("UntornJUnit$Result"),
    java_half!("UntornServer"),
    java_half!("UntornServer$Counter"),
    java_half!("UntornServer$MethodTypes"),
    java_half!("UntornServer$Pool"),
];

static AGENT: OnceLock<Agent> = OnceLock::new();

#[derive(Debug)]
pub(crate) struct Agent {
    /// What belongs to the run at hand. It lives for ever, because threads that a run leaves behind still use it.
    run: AtomicPtr<Run>,
    host: &'static JvmHost,
    pub(crate) originals: Originals,
    pub(crate) rewriter: Arc<Rewriter>,
    monitors: LoadedMonitors,
    /// Who asks for runs, if this JVM makes many.
    pub(crate) server: Option<Server>,
    /// Where the probes log what threads compute.
    path_log: Option<PathMemory>,
    vm: watchdog::Vm,
}

impl Agent {
    pub(crate) fn run(&self) -> &'static Run {
        // SAFETY: the pointer comes from a box that is never freed.
        unsafe { &*self.run.load(Ordering::Acquire) }
    }

    pub(crate) fn control(&self) -> &'static Control<&'static JvmHost> {
        &self.run().control
    }

    /// Another run begins.
    pub(crate) fn next_run(&self, run: Run) {
        self.run.store(Box::into_raw(Box::new(run)), Ordering::Release);
    }

    pub(crate) fn host(&self) -> &'static JvmHost {
        self.host
    }

    /// # Safety
    /// The JVM passed the places for a class that it is about to define.
    unsafe fn hand_over_class(&self, class: &[u8], new_length: *mut jint, new_data: *mut *mut u8) {
        let Ok(memory) = self.host.jvmti.allocate(class) else { return };
        // SAFETY: as the caller guarantees; the JVM takes the memory over.
        unsafe {
            *new_length = class.len() as jint;
            *new_data = memory;
        }
    }

    pub(crate) fn vm(&self) -> Option<*mut JavaVM> {
        (!self.vm.0.is_null()).then_some(self.vm.0)
    }
}

/// The agent, once it is loaded.
pub(crate) fn agent() -> Option<&'static Agent> {
    AGENT.get()
}

/// Runs a part of the agent. A panic does not cross into the JVM: the program continues uncontrolled.
pub(crate) fn guarded<T>(body: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => Some(value),
        Err(_) => {
            if let Some(agent) = agent() {
                agent
                    .control()
                    .give_up("internal error of the agent; the program continues without it");
            }
            None
        }
    }
}

/// Reasons why the agent cannot be loaded, or a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error("the options must name the configuration file; use `untorn record`")]
    NoConfig,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the JVM lacks something that the agent needs: {0}")]
    Jvm(#[from] JvmtiFault),
    #[error("cannot reserve address space for the table of monitors")]
    NoSpace,
    #[error("cannot write the trace: {0}")]
    Trace(#[from] io::Error),
    #[error("cannot read the schedule: {0}")]
    Schedule(String),
}

/// Called by the JVM when it loads the agent, before there is any Java code.
///
/// # Safety
/// Only the JVM calls it, with its own pointers.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *mut c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the JVM passes a NUL-terminated text, or null.
    let options = (!options.is_null()).then(|| unsafe { CStr::from_ptr(options) });
    // SAFETY: the JVM passes itself.
    match catch_unwind(|| unsafe { load(vm, options) }) {
        Ok(Ok(())) => JNI_OK,
        Ok(Err(error)) => {
            print_error(&error.to_string());
            JNI_ERR
        }
        Err(_) => {
            print_error("the agent failed while it was loaded");
            JNI_ERR
        }
    }
}

/// The only text that the agent ever prints: the JVM is about to end because of it.
#[allow(clippy::print_stderr)]
fn print_error(why: &str) {
    eprintln!("untorn agent: {why}");
}

unsafe fn load(vm: *mut JavaVM, options: Option<&CStr>) -> Result<(), LoadError> {
    let options = options.and_then(|text| text.to_str().ok()).filter(|text| !text.is_empty());
    if let Some(path) = options.and_then(|text| text.strip_prefix(SELECT)) {
        // SAFETY: `vm` is the JVM that called.
        unsafe { jvm_selection::enter(vm, path) };
        return Ok(());
    }
    if options == Some(CLASSES_ONLY) {
        // SAFETY: `vm` is the JVM that called.
        unsafe { scenario::define_classes_only(vm) }?;
        return Ok(());
    }
    let path = options.map(PathBuf::from).or_else(take_config);
    let config = Config::read(&path.ok_or(LoadError::NoConfig)?)?;
    if let Some(options) = &config.tool_options {
        jvm_selection::propagate_options(options);
    }
    // SAFETY: `vm` is the JVM that called.
    let jvmti = unsafe { Jvmti::new(vm) }?;
    let server = config.server.as_deref().map(Server::connect).transpose()?;
    let asked = match &server {
        Some(_) => PlanSites::of_any_run().ok_or(LoadError::NoSpace)?,
        None => {
            let (points, announced) = asked_points(&config.spec.steering);
            PlanSites::new(points, announced == AnnouncedEvents::Everything)
        }
    };
    let mut rewriter = Rewriter::new(Scope::new(&config.scope), asked);
    let path_log = match &config.path_log {
        Some(folder) => {
            rewriter.log_paths(SiteWriter::new(folder)?);
            Some(PathMemory::map(folder)?)
        }
        None => None,
    };
    let rewriter = Arc::new(rewriter);
    let host: &'static JvmHost = Box::leak(Box::new(JvmHost {
        jvmti,
        probe: OnceLock::new(),
        locks: LockWords::new().ok_or(LoadError::NoSpace)?,
        identities: OnceLock::new(),
        early: AtomicU32::new(0),
    }));
    let run = Run::prepare(config, host, &rewriter, SpareBuffers::default())?;
    run.control.report();
    let run = AtomicPtr::new(Box::into_raw(Box::new(run)));
    let (originals, vm) = (Originals::default(), watchdog::Vm(vm));
    let monitors = LoadedMonitors::default();
    let _ = AGENT.set(Agent { run, host, originals, rewriter, monitors, server, path_log, vm });
    ask_for_events(jvmti)?;
    if let Some(agent) = agent() {
        agent.stay_last();
    }
    Ok(())
}

fn ask_for_events(jvmti: Jvmti) -> Result<(), JvmtiFault> {
    let mut wanted = jvmtiCapabilities::default();
    wanted.set_can_generate_all_class_hook_events(true);
    wanted.set_can_generate_early_class_hook_events(true);
    wanted.set_can_generate_early_vmstart(true);
    wanted.set_can_generate_native_method_bind_events(true);
    wanted.set_can_generate_monitor_events(true);
    wanted.set_can_get_monitor_info(true);
    wanted.set_can_get_line_numbers(true);
    wanted.set_can_generate_garbage_collection_events(true);
    wanted.set_can_tag_objects(true);
    jvmti.add_capabilities(&wanted)?;
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.VMStart = Some(vm_start);
    callbacks.VMInit = Some(vm_init);
    callbacks.VMDeath = Some(vm_death);
    callbacks.ThreadStart = Some(thread_start);
    callbacks.ThreadEnd = Some(thread_end);
    callbacks.VirtualThreadStart = Some(virtual_thread_start);
    callbacks.VirtualThreadEnd = Some(virtual_thread_end);
    callbacks.ClassFileLoadHook = Some(class_file_load);
    callbacks.GarbageCollectionStart = Some(collection_start);
    callbacks.GarbageCollectionFinish = Some(collection_finish);
    callbacks.NativeMethodBind = Some(native_method_bind);
    callbacks.MonitorContendedEnter = Some(monitor_contended_enter);
    callbacks.MonitorContendedEntered = Some(monitor_contended_entered);
    jvmti.set_callbacks(&callbacks)?;
    for event in [
        sys::JVMTI_EVENT_VM_START,
        sys::JVMTI_EVENT_VM_INIT,
        sys::JVMTI_EVENT_VM_DEATH,
        sys::JVMTI_EVENT_THREAD_START,
        sys::JVMTI_EVENT_THREAD_END,
        sys::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
        sys::JVMTI_EVENT_GARBAGE_COLLECTION_START,
        sys::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
        sys::JVMTI_EVENT_NATIVE_METHOD_BIND,
        sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
        sys::JVMTI_EVENT_MONITOR_CONTENDED_ENTERED,
    ] {
        jvmti.enable(event)?;
    }
    // Older releases have no virtual threads, and no such callback.
    let mut virtual_threads = jvmtiCapabilities::default();
    virtual_threads.set_can_support_virtual_threads(true);
    if jvmti.add_capabilities(&virtual_threads).is_ok() {
        jvmti.enable(sys::JVMTI_EVENT_VIRTUAL_THREAD_START)?;
        jvmti.enable(sys::JVMTI_EVENT_VIRTUAL_THREAD_END)?;
    }
    Ok(())
}

/// Runs a callback with the agent and the environment of the current thread.
fn callback(env: *mut JNIEnv, body: impl FnOnce(&'static Agent, Jni)) {
    if let Some(agent) = agent() {
        // SAFETY: the JVM passes the environment of the current thread to every callback.
        let jni = unsafe { Jni::new(env) };
        guarded(|| body(agent, jni));
    }
}

/// Before any Java code runs: the classes of the probes must exist from the first instruction on.
unsafe extern "system" fn vm_start(_: *mut jvmtiEnv, env: *mut JNIEnv) {
    callback(env, |agent, jni| {
        let release = agent.host().jvmti.release();
        let refused = |(name, bytes)| {
            jni.define_boot_class(name, &names::for_release(release, bytes)).is_none()
        };
        if JAVA_HALF.into_iter().any(refused) {
            agent.control().recorder().fault("the JVM refused the classes of the probes");
        }
    });
}

unsafe extern "system" fn vm_init(_: *mut jvmtiEnv, env: *mut JNIEnv, _thread: jthread) {
    callback(env, |agent, jni| {
        let ready = || {
            let class = jni.find_class(c"java/lang/UntornProbe")?;
            let init = jni.static_method(class, c"setUp", c"()V")?;
            jni.call_static_void(class, init);
            (!jni.clear_exception()).then_some(())?;
            agent.originals.find_thread_methods(jni)?;
            let probe = Probe::find(jni, class)?;
            agent.host().probe.set(probe).ok()?;
            if agent.run().config.scenario.is_some() {
                scenario::set_up(jni)?;
            }
            if let Some(memory) = &agent.path_log {
                memory.set_up(jni)?;
            }
            if agent.server.is_some() { server::set_up(jni) } else { Some(()) }
        };
        if ready().is_none() {
            agent.control().recorder().fault("the probes cannot be set up in this JVM");
        }
        let missing = agent.originals.missing();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            agent.control().recorder().note(format!("not under control in this JVM: {missing}"));
        }
        watchdog::start(agent);
    });
}

unsafe extern "system" fn vm_death(_: *mut jvmtiEnv, env: *mut JNIEnv) {
    callback(env, |agent, jni| {
        agent.control().finish(jni);
        agent.control().report();
    });
}

unsafe extern "system" fn thread_start(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    callback(env, |agent, jni| {
        agent.started(jni, thread);
    });
}

unsafe extern "system" fn thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, _thread: jthread) {
    callback(env, |agent, jni| agent.ended(jni));
}

/// The launcher makes the JVM run every virtual thread on a thread of its own. Virtual threads that exist
/// nevertheless are not controlled, and the recording notes it.
unsafe extern "system" fn virtual_thread_start(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
) {
    callback(env, |agent, jni| {
        if !agent.started(jni, thread) {
            agent.unseen_virtual_thread();
        }
    });
}

/// Called on the carrier thread, which continues.
unsafe extern "system" fn virtual_thread_end(_: *mut jvmtiEnv, env: *mut JNIEnv, thread: jthread) {
    callback(env, |agent, jni| {
        if agent.is_current(jni, thread) {
            agent.ended(jni);
        }
    });
}

unsafe extern "system" fn monitor_contended_enter(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _thread: jthread,
    _object: jobject,
) {
    callback(env, |agent, jni| agent.contended_enter(jni));
}

unsafe extern "system" fn monitor_contended_entered(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    _thread: jthread,
    _object: jobject,
) {
    callback(env, |agent, jni| agent.contended_entered(jni));
}

unsafe extern "system" fn collection_start(_: *mut jvmtiEnv) {
    watchdog::collecting(true);
}

unsafe extern "system" fn collection_finish(_: *mut jvmtiEnv) {
    watchdog::collecting(false);
    weak_refs::collected();
}

unsafe extern "system" fn native_method_bind(
    _: *mut jvmtiEnv,
    _env: *mut JNIEnv,
    _thread: jthread,
    method: jmethodID,
    address: *mut c_void,
    new_address: *mut *mut c_void,
) {
    let Some(agent) = agent() else { return };
    guarded(|| {
        // Early in the start of the JVM a name may not be known; none of the replaced methods is bound then.
        let Ok(name) = agent.host().jvmti.method_name(method) else { return };
        let release = agent.host().jvmti.release();
        if let Some(replacement) = agent.originals.replace(&name, address, release) {
            // SAFETY: the JVM passes a place for the address.
            unsafe { *new_address = replacement };
        }
    });
}

unsafe extern "system" fn class_file_load(
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
    let Some(agent) = agent() else { return };
    // What is redefined goes through the other agents first, see `other_agents`.
    if !redefined.is_null() {
        return;
    }
    let Ok(length) = usize::try_from(length) else { return };
    // SAFETY: the JVM passes that many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(data, length) };
    // SAFETY: the JVM passes a NUL-terminated text, or null.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy());
    guarded(|| {
        let origin = if loader.is_null() { Origin::Boot } else { Origin::Elsewhere };
        // A hidden class has no name here; it implements a lambda.
        let depth = match name.as_deref() {
            None => Depth::Untouched,
            Some(name) => agent.rewriter.scope.depth(name, origin),
        };
        // SAFETY: the JVM passes the environment of the current thread.
        let jni = unsafe { Jni::new(env) };
        let is_again = agent.server.is_some() && origin == Origin::Elsewhere;
        let rewritten = match name.as_deref().filter(|_| is_again) {
            Some(name) => {
                let new = |class: &ClassFile<'_>| agent.host().name_literals(jni, class);
                agent.rewriter.rewrite_again(name, bytes, depth, new)
            }
            None => agent.rewriter.rewrite(bytes, depth),
        };
        let Some(rewritten) = rewritten else { return };
        if let Some(name) = name.as_deref().filter(|_| !rewritten.monitors.is_empty()) {
            agent.monitors.add(jni, name, loader, rewritten.monitors);
        }
        // SAFETY: the JVM passes places for the new class.
        unsafe { agent.hand_over_class(&rewritten.bytes, new_length, new_data) };
    });
}
