//! What happens when this process is to end before its work is done: Ctrl-C, a closed terminal, `kill`.
//!
//! The first signal is only noted. Whoever waits for a program sees it ([`requested`]) and ends the program in order
//! ([`crate::processes`]); the work that is done is kept; folders are removed as always. The second signal
//! ends everything at once.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::processes;

static STOP: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Set as soon as there was a signal.
pub fn stop_flag() -> &'static AtomicBool {
    &STOP
}

/// The first signal that wants this process to end.
pub fn requested() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Acquire)).filter(|&signal| signal != 0)
}

/// From now on signals that end a process are noted. Those that are ignored, as `nohup` has it, stay so.
pub fn note_signals() {
    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
    // Without it such a signal ends this process as it would end any other, and the programs with it.
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let listen = move || {
        for signal in signals.forever() {
            STOP.store(true, Ordering::Release);
            let first =
                SIGNAL.compare_exchange(0, signal, Ordering::AcqRel, Ordering::Acquire).is_ok();
            if !first {
                end_at_once(signal);
            }
        }
    };
    // The thread ends with the process.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(listen);
}

/// The exit code of a process that ends because of a signal, as shells have it.
pub fn exit_code(signal: i32) -> u8 {
    128_u8.saturating_add(signal as u8)
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// What this process must not leave behind.
#[derive(Debug)]
pub(crate) struct Resources {
    /// Commands that were started and not yet waited for, so that their numbers are still theirs.
    pub(crate) commands: Vec<Pid>,
    pub(crate) folders: Vec<PathBuf>,
}

static RESOURCES: Mutex<Resources> =
    Mutex::new(Resources { commands: Vec::new(), folders: Vec::new() });

pub(crate) fn resources() -> MutexGuard<'static, Resources> {
    RESOURCES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end_at_once(signal: i32) -> ! {
    // The lock stays taken: nothing is started any more.
    let resources = resources();
    for &command in &resources.commands {
        processes::kill_tree(command);
    }
    for folder in &resources.folders {
        // Left-overs do no harm, and the next start looks for them.
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(exit_code(signal).into());
}
