//! The run of the program: who schedules it, where its trace goes, how it begins and ends.

use std::ffi::{c_char, c_int};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use untorn_native_protocol::{Config, ConfigError, PRELOAD, VARIABLE};
use untorn_runtime::{
    Control, Input, Recorder, Settings, ThreadNames, current_processor, scheduler,
};
use untorn_schedule::{AnnouncedEvents, PlanPoint, Schedule, Steering};

use crate::convert::Converter;
use crate::host::{NativeHost, NativeThread, ThreadFacts};
use crate::inside::{self, Inside};
use crate::interpose::real;
use crate::{signals, sites, watchdog};

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) control: Control<NativeHost>,
    pub(crate) config: Config,
    pub(crate) input: Arc<Input>,
    /// Threads that wait for a mutex with a time limit.
    timed: AtomicUsize,
}

impl Run {
    pub(crate) fn begin_timed(&self) {
        self.timed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_timed(&self) {
        self.timed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether somebody waits for a mutex with a time limit, and must be told that one is free.
    pub(crate) fn has_timed(&self) -> bool {
        self.timed.load(Ordering::Relaxed) > 0
    }
}

/// Why the program runs without us although it should not.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("the schedule cannot be read: {0}")]
    Schedule(String),
    #[error("the system starts no thread")]
    Thread,
}

/// Its address is left on the stacks of the program, and so must be the same in a run and its replay.
static PLACE: OnceLock<Run> = OnceLock::new();

static RUN: AtomicPtr<Run> = AtomicPtr::new(std::ptr::null_mut());

/// The run goes on in this process. A child of it that has not yet become another program is none of ours.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// The number of the process whose run it is.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The run, if this program is recorded and has not come to its end.
#[inline]
pub(crate) fn current() -> Option<&'static Run> {
    if !ACTIVE.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: set once, to a run that lives for ever.
    unsafe { RUN.load(Ordering::Acquire).as_ref() }
}

/// The child of a fork is not recorded.
pub(crate) fn leave_to_parent() {
    ACTIVE.store(false, Ordering::Relaxed);
    crate::probe::HOT.owner.store(0, Ordering::Relaxed);
    crate::probe::HOT.away.store(0, Ordering::Relaxed);
}

/// The points of a run at which threads ask, and which events the policy hears of before they happen.
fn asked_points(control: &Steering) -> (Vec<PlanPoint>, AnnouncedEvents) {
    match control {
        Steering::Policy(policy) => (Vec::new(), policy.announced_events()),
        Steering::Marks { policy, marks } => (marks.points(), policy.announced_events()),
        Steering::Plan { plan, .. } => {
            (plan.points().into_iter().cloned().collect(), AnnouncedEvents::Nothing)
        }
    }
}

/// The program is loaded and has not begun.
fn start(path: &Path) -> Result<(), StartError> {
    let config = Config::read(path)?;
    let replay = match &config.replay {
        Some(path) => {
            let bytes = std::fs::read(path)?;
            let steps = Schedule::decode(&bytes)
                .map_err(|error| StartError::Schedule(error.to_string()))?;
            Some(Schedule { steps })
        }
        None => None,
    };
    let (points, announced) = asked_points(&config.spec.steering);
    sites::begin(points, announced);
    let thread_names = Arc::new(ThreadNames::default());
    let input = Arc::new(Input::new(config.input.as_deref())?);
    let recorder = Arc::new(Recorder::new(Arc::clone(&input)));
    let converter = Converter::new(&config, Arc::clone(&thread_names));
    let file = File::create(&config.trace)?;
    let settings = Settings {
        progress: config.progress.clone(),
        replaying: config.replay.is_some(),
        asks_policy: announced != AnnouncedEvents::Nothing,
        processor: if config.pin { current_processor() } else { None },
        exit: end_process,
        stays: false,
    };
    let scheduler = scheduler(&config.spec, replay);
    let writer = Arc::clone(&recorder);
    let control = Control::new(NativeHost::new(), scheduler, recorder, thread_names, settings);
    let run = PLACE.get_or_init(|| Run { control, config, input, timed: AtomicUsize::new(0) });
    watchdog::spawn(move || writer.write_all(file, converter)).ok_or(StartError::Thread)?;
    watchdog::spawn(move || watchdog::watch(run)).ok_or(StartError::Thread)?;
    RUN.store(std::ptr::from_ref(run).cast_mut(), Ordering::Release);
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    ACTIVE.store(true, Ordering::Release);
    crate::modules::find_ours();
    signals::install();
    crate::interpose::prepare_threads();
    let facts = ThreadFacts::default();
    // SAFETY: asks for the current thread.
    facts.handle.store(unsafe { libc::pthread_self() }, Ordering::Relaxed);
    let facts = Arc::new(facts);
    crate::cancel::begin(&facts);
    run.control.begin((), "main", NativeThread(facts));
    run.control.report();
    Ok(())
}

/// Bytes of the stack that starting a run needs at most, with a wide margin.
const DEEPEST: usize = 256 << 10;

/// Called by the loader before the program's own initialisers.
extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    _environment: *const *const c_char,
) {
    let Some(_inside) = Inside::enter() else { return };
    let Some(path) = variable(VARIABLE) else { return };
    // What goes wrong with us is said to the command line, and not in the program's output.
    std::panic::set_hook(Box::new(|_| ()));
    let started = std::panic::catch_unwind(|| start(Path::new(&path)));
    // What the program starts is not recorded, and what it sees of its environment is its own.
    remove_variable(VARIABLE);
    let before = current().and_then(|run| run.config.preload.clone());
    match before {
        Some(own) => set_variable(PRELOAD, &own),
        None => remove_variable(PRELOAD),
    }
    if let Ok(Err(error)) = started {
        // The command line sees that there is no trace; this says why.
        let _ = std::fs::write(Path::new(&path).with_file_name("fault"), error.to_string());
    }
    inside::clean_stack::<DEEPEST>();
}

/// Called by the loader after the program's own exit handlers.
extern "C" fn end() {
    finish();
}

#[used]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static BEGIN: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;
#[used]
#[cfg_attr(not(test), unsafe(link_section = ".fini_array"))]
static END: extern "C" fn() = end;

/// A child that shares our memory until it becomes another program must not end our run.
fn is_own_process() -> bool {
    PROCESS.load(Ordering::Relaxed) == std::process::id()
}

/// Completes the trace, if the current thread is not in the middle of that, or of something else.
pub(crate) fn finish() {
    let Some(run) = current().filter(|_| is_own_process()) else { return };
    let Some(_inside) = Inside::enter() else { return };
    if crate::probe::is_owner() {
        crate::probe::settle();
    }
    let complete = std::panic::AssertUnwindSafe(|| {
        run.control.finish(());
        run.control.report();
    });
    // A panic of ours must not cross into the program.
    let _ = std::panic::catch_unwind(complete);
}

/// Ends the process at once.
pub(crate) fn end_process(code: i32) {
    // SAFETY: ends the process; nothing of it runs afterwards.
    unsafe { real::raw_syscall(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn remove_variable(name: &str) {
    // SAFETY: the program has not begun, so nobody else reads the environment.
    unsafe { std::env::remove_var(name) };
}

fn set_variable(name: &str, value: &str) {
    // SAFETY: as above.
    unsafe { std::env::set_var(name, value) };
}
