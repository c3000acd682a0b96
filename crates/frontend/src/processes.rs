//! Running a command to its end, and ending it together with everything that it started.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// Time for a program that was asked to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// How often it is looked whether a program has ended.
const TICK: Duration = Duration::from_millis(5);

/// How a command came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Ended(ExitStatus),
    /// It took too long and was ended.
    TimedOut,
}

/// Why a command did not come to an end that is known.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system did not start it.
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error("lost the program: {0}")]
    Lost(io::Error),
}

/// Starts a command, waits for its end, and makes it end if that takes longer than the limit. `look` is called again
/// and again meanwhile.
///
/// # Errors
/// If it was not started, or the system does not say how it ended.
pub fn run_to_end(
    command: &mut Command,
    limit: Option<Duration>,
    look: &mut dyn FnMut(),
) -> Result<Ending, ProcessError> {
    let mut child = command.spawn().map_err(ProcessError::Start)?;
    if let Some(status) = await_end(&mut child, limit, look)? {
        return Ok(Ending::Ended(status));
    }
    // A program that is asked to end does so in order, and the trace is whole.
    let all = tree(&child);
    signal(&all, Signal::TERM);
    let begin = Instant::now();
    // A script is gone at once; its JVM still has to close the trace.
    while begin.elapsed() < FAREWELL && any_is_alive(&all) {
        await_end(&mut child, Some(TICK), &mut || ())?;
    }
    signal(&all, Signal::KILL);
    // Whether it has just ended by itself makes no difference.
    let _ = child.wait();
    Ok(Ending::TimedOut)
}

/// How the command ended, if it did within that time.
fn await_end(
    child: &mut Child,
    limit: Option<Duration>,
    look: &mut dyn FnMut(),
) -> Result<Option<ExitStatus>, ProcessError> {
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) if limit.is_none_or(|limit| begin.elapsed() < limit) => {
                std::thread::sleep(TICK);
            }
            Ok(None) => return Ok(None),
            Err(error) => return Err(ProcessError::Lost(error)),
        }
        look();
    }
}

/// The child and all below it, as long as they are: a script that is ended alone leaves its JVM behind.
fn tree(child: &Child) -> Vec<Pid> {
    let mut found = vec![Pid::from_child(child)];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children(pid));
        next += 1;
    }
    found
}

/// The processes that the threads of one have started.
fn children(pid: Pid) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    let lists = tasks.into_iter().flatten().flatten().filter_map(|task| {
        // A thread may have ended meanwhile.
        std::fs::read_to_string(task.path().join("children")).ok()
    });
    let pids = |list: String| {
        list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    };
    lists.flat_map::<Vec<Pid>, _>(pids).collect()
}

fn any_is_alive(processes: &[Pid]) -> bool {
    processes.iter().any(|&process| is_alive(process))
}

/// Whether it still does something: one that has ended may wait for somebody who asks how.
fn is_alive(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    // The name in parentheses may contain anything; the state follows the last one.
    let state = stat.ok().and_then(|text| text.rsplit(')').next()?.trim_start().chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// Those that have ended already do not matter.
fn signal(processes: &[Pid], signal: Signal) {
    for &process in processes.iter().filter(|&&process| is_alive(process)) {
        let _ = rustix::process::kill_process(process, signal);
    }
}
