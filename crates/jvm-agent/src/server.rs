//! Many runs in one JVM: the native half of `UntornServer`.
//!
//! The JVM's first thread waits here for requests of the command line. For each it prepares a [`Run`] and starts a thread
//! that runs the program's `main` exactly as the launcher of the JDK does: attached by JNI, with no frame of Java below.
//! A run is over when its trace is written. Threads that it leaves behind wait for a token that never comes; they and
//! their classes stay, so their number is bounded, and a thread that may still do something makes the JVM unusable.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni::{JNI_OK, JNIEnv, JNINativeMethod, jboolean, jclass, jint, jobject};
use untorn_jvm_protocol::server::{ARGUMENT_END, RunEnd, ServerAnswer, ServerRequest};
use untorn_runtime::{Leftovers, SpareBuffers};
use untorn_schedule::AnnouncedEvents;

use crate::agent::{Agent, LoadError, agent, guarded};
use crate::host::Global;
use crate::jni::{Jni, java_bool};
use crate::run::{Run, asked_points};
use crate::watchdog::Vm;
use crate::weak_refs;

/// Threads that may be left behind by all runs together: each keeps its stack and the classes of its run.
const MAX_LEFT_BEHIND: usize = 64;

/// Runs that one JVM makes. Each leaves a little behind, if only in the tables of the JVM.
const MAX_RUNS: usize = 2000;

/// The stack of the thread `main`, as large as the launcher of the JDK makes it.
const MAIN_STACK: usize = 1 << 20;

/// Who asks for runs.
#[derive(Debug)]
pub(crate) struct Server {
    requests: Mutex<BufReader<UnixStream>>,
    answers: Mutex<UnixStream>,
    state: Mutex<State>,
    /// How the run at hand ended, by the word of the program.
    code: AtomicI32,
    left_behind: AtomicUsize,
    runs: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    /// The run at hand is the first.
    warm_up: bool,
    spare: SpareBuffers,
    /// Descriptors that were open before the first run.
    descriptors: Vec<i32>,
}

impl Server {
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let answers = UnixStream::connect(path)?;
        Ok(Self {
            requests: Mutex::new(BufReader::new(answers.try_clone()?)),
            answers: Mutex::new(answers),
            state: Mutex::default(),
            code: AtomicI32::new(0),
            left_behind: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
        })
    }

    fn answer(&self, answer: &ServerAnswer) {
        let Ok(mut line) = serde_json::to_vec(answer) else { return };
        line.push(b'\n');
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        // A command line that is gone closes the other end, and then there is no next request.
        let _ = answers.write_all(&line);
    }

    /// Waits for the next request.
    fn request(&self) -> Option<ServerRequest> {
        let mut line = String::new();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }
}

/// Registers the native methods, and has the launcher call the server instead of the program.
pub(crate) fn set_up(jni: Jni) -> Option<()> {
    let method = |name: &'static CStr, signature: &'static CStr, function: *mut c_void| {
        JNINativeMethod { name: name.as_ptr(), signature: signature.as_ptr(), fnPtr: function }
    };
    const RUN: &CStr =
        c"(Ljava/lang/String;[Ljava/lang/String;Ljava/lang/ThreadGroup;Ljava/lang/ClassLoader;)V";
    const TEXT: &CStr = c"(Ljava/lang/String;)V";
    let methods = [
        method(c"ready", c"()V", ready as *mut c_void),
        method(c"refuse", TEXT, refuse as *mut c_void),
        method(c"next", c"()Z", next as *mut c_void),
        method(c"run", RUN, run as *mut c_void),
        method(c"ended", TEXT, ended as *mut c_void),
        method(c"broken", TEXT, broken as *mut c_void),
        method(c"exited", c"(I)V", exited as *mut c_void),
    ];
    let class = jni.find_class(c"java/lang/UntornServer")?;
    jni.register_natives(class, &methods).then_some(())?;
    let serving = jni.static_field(class, c"isServing", c"Z")?;
    jni.set_boolean(class, serving, true);
    Some(())
}

/// Runs a native method of the server.
fn serving<T: Default>(
    env: *mut JNIEnv,
    body: impl FnOnce(&'static Agent, &Server, Jni) -> T,
) -> T {
    let found = agent().and_then(|agent| Some((agent, agent.server.as_ref()?)));
    let Some((agent, server)) = found else { return T::default() };
    // SAFETY: the JVM passes the environment of the current thread.
    let jni = unsafe { Jni::new(env) };
    guarded(|| body(agent, server, jni)).unwrap_or_default()
}

unsafe extern "system" fn ready(env: *mut JNIEnv, _: jclass) {
    serving(env, |agent, server, _| {
        server.state.lock().unwrap_or_else(PoisonError::into_inner).descriptors = descriptors();
        agent.rewriter.remember_base();
        server.answer(&ServerAnswer::Ready);
    });
}

unsafe extern "system" fn refuse(env: *mut JNIEnv, _: jclass, why: jobject) {
    serving(env, |_, server, jni| server.answer(&ServerAnswer::Refused(jni.text(why))));
}

unsafe extern "system" fn next(env: *mut JNIEnv, _: jclass) -> jboolean {
    let is_there = serving(env, |agent, server, jni| {
        let Some(request) = server.request() else { return false };
        let begun = begin(agent, server, jni, request);
        if let Err(error) = &begun {
            let progress = agent.control().recorder().progress(0, 0);
            let spent = Some(error.to_string());
            server.answer(&ServerAnswer::RunEnd(RunEnd { code: 0, progress, spent }));
        }
        begun.is_ok()
    });
    java_bool(is_there)
}

/// Makes everything ready for a run.
fn begin(
    agent: &Agent,
    server: &Server,
    jni: Jni,
    request: ServerRequest,
) -> Result<(), LoadError> {
    let ServerRequest { mut config, output, warm_up } = request;
    for (fd, path) in [1, 2].into_iter().zip(&output) {
        redirect(fd, path)?;
    }
    read_from(config.stdin.as_deref().unwrap_or(Path::new("/dev/null")))?;
    replace_arguments(jni, config.arguments.as_deref());
    config.server = agent.run().config.server.clone();
    let (points, announced) = asked_points(&config.spec.steering);
    let everything = announced == AnnouncedEvents::Everything;
    let asking = match (everything, points.is_empty()) {
        (true, _) => 2,
        (false, false) => 1,
        (false, true) => 0,
    };
    let sites = agent.rewriter.sites.read().unwrap_or_else(PoisonError::into_inner);
    agent.rewriter.plan.renew(points, everything, &sites);
    drop(sites);
    agent.rewriter.back_to_base();
    agent.host().locks.clear();
    weak_refs::forget_collections();
    if let (Some(probe), Some(bits)) = (agent.host().probe.get(), agent.rewriter.plan.bits()) {
        probe.set_asking(jni, asking, bits.base());
    }
    let mut state = server.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.warm_up = warm_up;
    let spare = std::mem::take(&mut state.spare);
    drop(state);
    if !warm_up {
        agent.host().begin_counting(jni);
    }
    agent.next_run(Run::prepare(config, agent.host(), &agent.rewriter, spare)?);
    server.code.store(0, Ordering::Release);
    Ok(())
}

/// From now on what is written to a descriptor goes to a new file.
fn redirect(fd: i32, path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // SAFETY: both are open descriptors of this process.
    let done = unsafe { libc::dup2(file.as_raw_fd(), fd) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// From now on standard input is this file.
fn read_from(path: &Path) -> io::Result<()> {
    let file = std::fs::File::open(path)?;
    // SAFETY: both are open descriptors of this process.
    let done = unsafe { libc::dup2(file.as_raw_fd(), 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The next run has these arguments; without any, those that the JVM was started with.
fn replace_arguments(jni: Jni, arguments: Option<&[String]>) {
    let Some(class) = jni.find_class(c"java/lang/UntornServer") else { return };
    let Some(field) = jni.static_field(class, c"replaced", c"Ljava/lang/String;") else { return };
    let text = arguments.map(|words| words.join(&ARGUMENT_END.to_string()));
    let text = text.and_then(|text| jni.new_text(&text));
    jni.set_object(class, field, text.unwrap_or(std::ptr::null_mut()));
}

/// What the thread `main` needs. References are global.
struct Main {
    vm: Vm,
    name: Global,
    arguments: Global,
    group: Global,
    loader: Global,
    done: Arc<AtomicBool>,
}

unsafe extern "system" fn run(
    env: *mut JNIEnv,
    server_class: jclass,
    name: jobject,
    arguments: jobject,
    group: jobject,
    loader: jobject,
) {
    serving(env, |agent, _, jni| {
        let Some(vm) = agent.vm() else { return };
        replace_system_loader(jni, loader);
        set_running(jni, server_class, true);
        let global = |object| Global(jni.global_ref(object));
        let done = Arc::new(AtomicBool::new(false));
        let main = Main {
            vm: Vm(vm),
            name: global(name),
            arguments: global(arguments),
            group: global(group),
            loader: global(loader),
            done: Arc::clone(&done),
        };
        let thread = std::thread::Builder::new().stack_size(MAIN_STACK);
        if thread.spawn(move || run_main(agent, &main)).is_err() {
            agent.control().finish(jni);
        }
        agent.control().recorder().await_end();
        set_running(jni, server_class, false);
        await_rest(&done, || agent.control().leftovers());
    });
}

/// After the run is over the thread `main` has a little to do, unless it is left behind, and threads that were just
/// started have yet to come to where they are left behind.
fn await_rest(done: &AtomicBool, leftovers: impl Fn() -> Leftovers) {
    const PATIENCE: Duration = Duration::from_secs(2);
    let begin = Instant::now();
    let is_due = || {
        let left = leftovers();
        left.starting > 0 || !done.load(Ordering::Acquire) && left == Leftovers::default()
    };
    while is_due() && begin.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
}

fn replace_system_loader(jni: Jni, loader: jobject) {
    let Some(class) = jni.find_class(c"java/lang/ClassLoader") else { return };
    if let Some(field) = jni.static_field(class, c"scl", c"Ljava/lang/ClassLoader;") {
        jni.set_object(class, field, loader);
    }
}

fn set_running(jni: Jni, class: jclass, is_running: bool) {
    if let Some(field) = jni.static_field(class, c"isRunning", c"Z") {
        jni.set_boolean(class, field, is_running);
    }
}

/// The thread `main`, as the launcher of the JDK runs it.
fn run_main(agent: &'static Agent, main: &Main) {
    let vm = main.vm.0;
    let mut env: *mut JNIEnv = std::ptr::null_mut();
    let mut attach = AttachArguments {
        version: 0x000a_0000,
        name: c"main".as_ptr().cast_mut(),
        group: main.group.0,
    };
    // SAFETY: the JVM lives as long as the process; `env` is a place for a pointer.
    let attached = unsafe {
        ((**vm).AttachCurrentThread)(vm, (&raw mut env).cast(), (&raw mut attach).cast())
    };
    if attached != JNI_OK || env.is_null() {
        return;
    }
    // SAFETY: the environment of the current thread, just made.
    let jni = unsafe { Jni::new(env) };
    let code = i32::from(call_main(agent, jni, main).is_none() || jni.has_exception());
    if let Some(server) = &agent.server {
        server.code.store(code, Ordering::Release);
    }
    // What was not caught is reported by the JVM now, by the thread's handler.
    // SAFETY: attached above.
    unsafe { ((**vm).DetachCurrentThread)(vm) };
    main.done.store(true, Ordering::Release);
}

/// `JavaVMAttachArgs`.
#[repr(C)]
struct AttachArguments {
    version: jint,
    name: *mut std::ffi::c_char,
    group: jobject,
}

/// `None` if there is no such `main`; an exception may be pending.
fn call_main(agent: &'static Agent, jni: Jni, main: &Main) -> Option<()> {
    let server = jni.find_class(c"java/lang/UntornServer")?;
    let signature = c"(Ljava/lang/ClassLoader;Ljava/lang/String;)Ljava/lang/Class;";
    let prepare = jni.static_method(server, c"prepare", signature)?;
    let class = jni.call_static_object(server, prepare, [main.loader.0, main.name.0]);
    for global in [&main.name, &main.group, &main.loader] {
        jni.drop_global_ref(global.0);
    }
    if class.is_null() || jni.has_exception() {
        // The program cannot begin, and says why itself, as soon as this thread ends.
        agent.control().finish(jni);
        return None;
    }
    let thread = jni.current_thread()?;
    guarded(|| agent.begin(jni, thread));
    // This initialises the class: what its initialiser throws is not caught by anybody.
    let method = jni.static_method_or_exception(class, c"main", c"([Ljava/lang/String;)V")?;
    jni.call_static_void_with(class, method, main.arguments.0);
    jni.drop_global_ref(main.arguments.0);
    Some(())
}

unsafe extern "system" fn ended(env: *mut JNIEnv, _: jclass, change: jobject) {
    serving(env, |agent, server, jni| {
        let control = agent.control();
        let left = control.leftovers();
        let behind = server.left_behind.fetch_add(left.waiting, Ordering::Relaxed) + left.waiting;
        let runs = server.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let mut state = server.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spent = (!change.is_null()).then(|| jni.text(change));
        let mut spend = |is_spent: bool, why: &str| {
            if is_spent && spent.is_none() {
                spent = Some(why.to_owned());
            }
        };
        let running = left.away + left.starting;
        spend(running > 0, "threads of it still run");
        spend(left.uncontrolled > 0 && !state.warm_up, "it started threads that nobody controls");
        spend(behind > MAX_LEFT_BEHIND, "many threads are left behind");
        spend(runs >= MAX_RUNS, "it has made many runs");
        if state.warm_up {
            state.descriptors = settled_descriptors();
        }
        spend(!await_descriptors(&state.descriptors), "it left files or sockets open");
        if running == 0 {
            state.spare = control.retire(jni);
        }
        if std::mem::take(&mut state.warm_up) {
            spend(!agent.host().name_everything(jni), "the counter of identities was not found");
        }
        drop(state);
        let progress = control.recorder().progress(0, 0);
        let code = server.code.load(Ordering::Acquire);
        server.answer(&ServerAnswer::RunEnd(RunEnd { code, progress, spent }));
    });
}

/// The numbers of the open descriptors.
fn descriptors() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<i32> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// How often, and after what pause, it is looked again: some descriptors are open for a moment only, when the watchdog
/// looks how far a thread is.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// The descriptors that stay open.
fn settled_descriptors() -> Vec<i32> {
    let mut last = descriptors();
    for _ in 0..LOOKS {
        std::thread::sleep(PAUSE);
        let now = descriptors();
        if now == last {
            break;
        }
        last = now;
    }
    last
}

/// Whether these descriptors are open and no others.
fn await_descriptors(before: &[i32]) -> bool {
    (0..LOOKS).any(|_| {
        let are_same = descriptors() == before;
        if !are_same {
            std::thread::sleep(PAUSE);
        }
        are_same
    })
}

unsafe extern "system" fn broken(env: *mut JNIEnv, _: jclass, why: jobject) {
    serving(env, |agent, server, jni| {
        let progress = agent.control().recorder().progress(0, 0);
        let spent = Some(jni.text(why));
        server.answer(&ServerAnswer::RunEnd(RunEnd { code: 0, progress, spent }));
    });
}

/// The program has called `System.exit` in the current thread, which waits for ever.
unsafe extern "system" fn exited(env: *mut JNIEnv, _: jclass, code: jint) {
    serving(env, |agent, server, jni| {
        server.code.store(code, Ordering::Release);
        agent.control().finish(jni);
    });
    loop {
        std::thread::park();
    }
}
