//! Our own threads, and the one of them that watches the program: see [`Watchdog`].

use std::ffi::c_void;
use std::path::Path;
use std::time::{Duration, Instant};

use untorn_native_protocol::Config;
use untorn_runtime::Watchdog;
use untorn_runtime::sync::Lock;
use untorn_runtime_protocol::Owner;

use crate::inside::Inside;
use crate::interpose::real;
use crate::run::{self, Run};
use crate::signals;

/// How often it is looked whether the command line is still there.
const OWNER_CHECK: Duration = Duration::from_millis(200);

/// The exit code of a program that ends because the command line was killed: as if it had been, too.
const KILLED: i32 = 128 + libc::SIGKILL;

/// The system's numbers of our own threads.
static OWN: Lock<Vec<i32>> = Lock::new(Vec::new());

/// Whether the process has no thread but the current one and our own. Waits for those that are about to be gone.
pub(crate) fn is_last_thread() -> bool {
    const PATIENCE: u32 = 500;
    (0..PATIENCE).any(|_| {
        let is_last = is_last_now();
        if !is_last {
            std::thread::sleep(Duration::from_millis(1));
        }
        is_last
    })
}

fn is_last_now() -> bool {
    // SAFETY: asks for the number of the current thread.
    let me = unsafe { real::raw_syscall(libc::SYS_gettid, [0; 6]) } as i32;
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let numbers = tasks.filter_map(|task| task.file_name().to_str()?.parse::<i32>().ok());
    let mut others = numbers.filter(|tid| *tid != me && !OWN.lock().contains(tid));
    // The first thread of a process stays as a zombie when it has ended.
    !others.any(|tid| {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat"));
        let state = stat.ok().and_then(|stat| stat.rsplit(')').next()?.trim_start().chars().next());
        state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
    })
}

/// Starts a thread of our own. It gets no signals of the program.
pub(crate) fn spawn(body: impl FnOnce() + Send + 'static) -> Option<()> {
    extern "C-unwind" fn enter<F: FnOnce()>(body: *mut c_void) -> *mut c_void {
        Inside::for_ever();
        // SAFETY: asks for the number of the current thread.
        OWN.lock().push(unsafe { real::raw_syscall(libc::SYS_gettid, [0; 6]) } as i32);
        // SAFETY: made below, for this thread alone.
        let body = unsafe { Box::from_raw(body.cast::<F>()) };
        // A panic of ours ends with this thread; the program goes on.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(*body)).is_err()
            && let Some(run) = run::current()
        {
            run.control.give_up("internal error: a thread of the runtime panicked");
        }
        std::ptr::null_mut()
    }
    fn start<F: FnOnce()>(body: F) -> i32 {
        let body = Box::into_raw(Box::new(body));
        let mut handle = 0;
        // SAFETY: the body lives until the thread takes it.
        unsafe { real::pthread_create(&raw mut handle, std::ptr::null(), enter::<F>, body.cast()) }
    }
    // SAFETY: sets are plain memory; the calls take them by address.
    let started = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        real::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let started = start(body);
        real::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        started
    };
    (started == 0).then_some(())
}

pub(crate) fn watch(run: &'static Run) {
    let mut watchdog = Watchdog::new(Duration::from_millis(run.config.patience_ms));
    let mut looked = Instant::now();
    loop {
        std::thread::sleep(Watchdog::TICK);
        if looked.elapsed() >= OWNER_CHECK {
            if is_abandoned(&run.config) {
                run::end_process(KILLED);
            }
            looked = Instant::now();
        }
        if let Some(signal) = signals::asked_to_end() {
            // The thread that was interrupted may have had any lock of ours; this one has none.
            run.control.finish(());
            run.control.report();
            signals::end_by(signal);
        }
        signals::handlers::wake_kept(run);
        if let Some(blocked) = watchdog.check(&run.control, false) {
            run.control.steal((), blocked);
        }
    }
}

/// Whether the command line was killed: it is gone and has left its folder.
fn is_abandoned(config: &Config) -> bool {
    config.owner.as_ref().is_some_and(Owner::is_gone)
        && config.progress.parent().is_some_and(Path::is_dir)
}
