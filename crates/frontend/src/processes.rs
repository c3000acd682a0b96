//! Running a command to its end, and ending it together with everything that it started.
//!
//! No program outlives this process, whatever ends it. A signal that can be noted ([`termination`]) ends the program in
//! order. If this process is killed, the kernel kills the command ([`end_with_parent`]), and a runtime further below
//! sees that its [`Owner`](untorn_runtime_protocol::Owner) is gone.
#![allow(unsafe_code)]

use std::io;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::{ExitKind, FrontEndError, termination};

/// Time for a program that was asked to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// Time for a program to end by the signal that this process got, which it may handle in its own way.
const GRACE: Duration = Duration::from_secs(2);

/// How often it is looked whether a program has ended.
const TICK: Duration = Duration::from_millis(5);

/// How a command came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Ended(ExitStatus),
    /// It took too long and was ended.
    TimedOut,
    /// It was ended at the moment after which nobody has time for it.
    CutOff,
    /// It was ended because it came to where it should.
    Stopped,
    /// It was ended because this process is to end; see [`termination::requested`].
    Interrupted(ExitStatus),
}

/// How long a command may run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// As long as this. Then it is asked to end, and has time for it.
    pub time: Option<Duration>,
    /// Until this moment. Then it is killed.
    pub until: Option<Instant>,
}

/// Why a command did not come to an end that is known.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system did not start it.
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error("lost the program: {0}")]
    Lost(io::Error),
    /// It was not started, because this process is to end.
    #[error("interrupted")]
    Interrupted,
}

impl Ending {
    /// What a run is that ended so. `client` is how the client of a program that does not end by itself did, and
    /// `is_seen` says that somebody has watched the run: then its trace is of use even if it was interrupted.
    ///
    /// # Errors
    /// If nothing can be said of a run that ended so.
    pub fn exit(
        self,
        client: Option<ExitStatus>,
        is_seen: bool,
    ) -> Result<ExitKind, FrontEndError> {
        match self {
            Self::Ended(status) => Ok(status.into()),
            // It did what it was started for, unless its client says otherwise.
            Self::Stopped => Ok(client.map_or(ExitKind::Exit(0), ExitKind::from)),
            Self::TimedOut => Ok(ExitKind::TimedOut),
            Self::CutOff => Err(FrontEndError::out_of_time()),
            Self::Interrupted(status) if is_seen => Ok(status.into()),
            // What a program does that is ended half way says nothing.
            Self::Interrupted(_) => Err(interrupted()),
        }
    }
}

/// Nothing can be said of a run that was interrupted.
pub fn interrupted() -> FrontEndError {
    FrontEndError::run("interrupted before the program came to its end")
}

/// Lets the program see the same addresses in every run, if the system permits it.
///
/// A native program may print or hash them. The JVM's verifier of old class files loads classes in an order that
/// depends on them, and with that order go the identities of objects.
pub fn at_fixed_addresses(command: &mut Command) {
    const ASK: libc::c_ulong = 0xffff_ffff;
    let fix = || {
        // SAFETY: personality(2) takes a number and is nothing but a system call, which is all that may be done
        // between fork and exec.
        unsafe {
            let now = libc::personality(ASK);
            if now >= 0 {
                // A sandbox may refuse it: then a program that depends on addresses does not replay.
                libc::personality(now as libc::c_ulong | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls and nothing else.
    unsafe { command.pre_exec(fix) };
}

/// Starts a command, waits for its end, and makes it end if that takes longer than the limits, or if this process is to
/// end. `look` is called again and again meanwhile.
///
/// # Errors
/// If it was not started, or the system does not say how it ended.
pub fn run_to_end(
    command: &mut Command,
    limits: Limits,
    look: &mut dyn FnMut(),
) -> Result<Ending, ProcessError> {
    run_until(command, limits, &mut || {
        look();
        Ok(ControlFlow::Continue(()))
    })
}

/// The same, and `look` says when the command has done what it was started for. Then it is asked to end.
///
/// # Errors
/// As [`run_to_end`], and those of `look`.
pub fn run_until(
    command: &mut Command,
    limits: Limits,
    look: &mut dyn FnMut() -> Result<ControlFlow<()>, ProcessError>,
) -> Result<Ending, ProcessError> {
    let mut running = Child::start(command)?;
    let begin = Instant::now();
    loop {
        if let Some(status) = running.look_for_end()? {
            return Ok(Ending::Ended(status));
        }
        if let Some(signal) = termination::requested() {
            return running.interrupt(signal).map(Ending::Interrupted);
        }
        if limits.until.is_some_and(|moment| Instant::now() >= moment) {
            running.end(&[])?;
            return Ok(Ending::CutOff);
        }
        if limits.time.is_some_and(|limit| begin.elapsed() >= limit) {
            running.end(&[(Signal::TERM, FAREWELL)])?;
            return Ok(Ending::TimedOut);
        }
        std::thread::sleep(TICK);
        match look() {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => {
                running.end(&[(Signal::TERM, FAREWELL)])?;
                return Ok(Ending::Stopped);
            }
            Err(error) => {
                running.end(&[])?;
                return Err(error);
            }
        }
    }
}

/// A command that was started. It is waited for before this is dropped.
#[derive(Debug)]
pub(crate) struct Child(std::process::Child);

impl Child {
    /// The kernel ends the command with the thread that starts it, which has to wait for it.
    pub(crate) fn start(command: &mut Command) -> Result<Self, ProcessError> {
        end_with_parent(command);
        // Held while it is started, so that whoever ends everything at once sees all there is.
        let mut resources = termination::resources();
        if termination::requested().is_some() {
            return Err(ProcessError::Interrupted);
        }
        let child = command.spawn().map_err(ProcessError::Start)?;
        resources.commands.push(Pid::from_child(&child));
        Ok(Self(child))
    }

    pub(crate) fn look_for_end(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        self.0.try_wait().map_err(ProcessError::Lost)
    }

    /// Ends it with all below it, and waits for it.
    pub(crate) fn kill(&mut self) {
        // If the system does not say how it ended, nobody wants to know.
        let _ = self.end(&[]);
    }

    /// Passes a signal on. A terminal has sent it to the program already, and it may handle it, or ignore it: then it is
    /// asked to end as any other.
    fn interrupt(&mut self, signal: i32) -> Result<ExitStatus, ProcessError> {
        match Signal::from_named_raw(signal) {
            Some(same) if same != Signal::TERM => {
                self.end(&[(same, GRACE), (Signal::TERM, FAREWELL)])
            }
            _ => self.end(&[(Signal::TERM, FAREWELL)]),
        }
    }

    /// Sends signals, each with time to end, to the command and all below it; kills what is left then. A program that is
    /// asked to end does so in order, and its trace is whole.
    fn end(&mut self, signals: &[(Signal, Duration)]) -> Result<ExitStatus, ProcessError> {
        let all = tree(Pid::from_child(&self.0));
        for &(signal, time) in signals {
            send(&all, signal);
            let begin = Instant::now();
            // A script is gone at once; its JVM still has to close the trace.
            while begin.elapsed() < time && any_is_alive(&all) {
                self.look_for_end()?;
                std::thread::sleep(TICK);
            }
        }
        send(&all, Signal::KILL);
        self.0.wait().map_err(ProcessError::Lost)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let own = Pid::from_child(&self.0);
        termination::resources().commands.retain(|&pid| pid != own);
    }
}

/// Has the kernel kill the command when the thread that started it ends, and with it the process, in whatever way.
fn end_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let bind = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have ended before.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(rustix::io::Errno::SRCH.into())
        }
    };
    // SAFETY: the closure makes system calls and nothing else, which is all that may be done between fork and exec.
    unsafe { command.pre_exec(bind) };
}

/// Ends a command and all below it at once.
pub(crate) fn kill_tree(command: Pid) {
    send(&tree(command), Signal::KILL);
}

/// The process and all below it, as long as they are: a script that is ended alone leaves its JVM behind.
fn tree(root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
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
fn send(processes: &[Pid], signal: Signal) {
    for &process in processes.iter().filter(|&&process| is_alive(process)) {
        let _ = rustix::process::kill_process(process, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_ends_by_itself_is_said_how() {
        let mut command = Command::new("sh");
        let ending = run_to_end(command.args(["-c", "exit 7"]), Limits::default(), &mut || ());
        assert!(matches!(ending, Ok(Ending::Ended(status)) if status.code() == Some(7)));
        let lost = run_to_end(&mut Command::new("/no/such/command"), Limits::default(), &mut || ());
        assert!(matches!(lost, Err(ProcessError::Start(_))));
    }

    #[test]
    fn a_command_is_killed_at_its_last_moment() {
        let mut command = Command::new("sh");
        // It ignores the signal that asks it to end.
        command.args(["-c", "trap : TERM; while :; do sleep 1; done"]);
        let begin = Instant::now();
        let limits = Limits { time: None, until: Some(begin + Duration::from_millis(100)) };
        let ending = run_to_end(&mut command, limits, &mut || ());
        assert!(matches!(ending, Ok(Ending::CutOff)));
        assert!(begin.elapsed() < FAREWELL, "it was waited for");
    }

    #[test]
    fn a_script_that_takes_too_long_is_ended_with_what_it_started() {
        let mut command = Command::new("sh");
        // The one below ignores the signal; it has to be killed.
        command.args(["-c", "sh -c 'trap : TERM; while :; do sleep 1; done' & wait"]);
        let mut seen = Vec::new();
        let own = rustix::process::getpid();
        let mut look = || {
            let below: Vec<Pid> = tree(own).into_iter().skip(1).collect();
            if below.len() > seen.len() {
                seen = below;
            }
        };
        let limits = Limits { time: Some(Duration::from_millis(200)), until: None };
        let ending = run_to_end(&mut command, limits, &mut look);
        assert!(matches!(ending, Ok(Ending::TimedOut)));
        assert!(!seen.is_empty());
        while any_is_alive(&seen) {
            std::thread::yield_now();
        }
    }
}
