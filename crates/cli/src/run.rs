//! Running a program under the agent: what `record` and `replay` have in common.

use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use untorn_frontend::Surroundings;
use untorn_jvm::launch::{Launch, LaunchError, Start};
use untorn_jvm::{DEADLOCK_EXIT, NO_TEST_EXIT};
use untorn_report::phrasing::number;

use crate::console::{self, StatusLine};
use crate::exit::{Failure, Result};
use crate::jvms;
use crate::program::is_junit;

/// How the program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// By itself, with that code.
    Exit(u8),
    /// By a signal.
    Signal(i32),
    /// No thread could ever run again.
    Deadlock,
}

/// What was run, and the agent's report of it.
#[derive(Debug)]
pub struct Run {
    pub ended: RunEnd,
    pub elapsed: Duration,
    pub notes: Vec<String>,
    pub fault: Option<String>,
}

/// Starts the program and waits for its end.
pub fn run(launch: &Launch, start: &Start<'_>, surroundings: &Surroundings) -> Result<Run> {
    let mut command = launch
        .command(start, |command| surroundings.apply(command))
        .map_err(|error| refused(&error))?;
    let begin = Instant::now();
    let child =
        command.stdin(Stdio::inherit()).spawn().map_err(|error| not_started(start, &error))?;
    let status = watch(launch, child, begin)?;
    if status.code() == Some(NO_TEST_EXIT) && is_junit(start.words) {
        return Err(Failure::already_reported());
    }
    let late = jvms::only_one(launch, start)?;
    let progress = launch.progress();
    let Some(mut progress) = progress else {
        return Err(Failure::run("the JVM did not start with the agent, so nothing was recorded")
            .details([format!("it ended with {}", describe(ended(status)))])
            .way_out("Java 11 or newer is needed; `java -version` tells"));
    };
    progress.notes.extend(late);
    let ended = if progress.deadlock { RunEnd::Deadlock } else { ended(status) };
    Ok(Run { ended, elapsed: begin.elapsed(), notes: progress.notes, fault: progress.fault })
}

/// The system did not start the command.
pub fn not_started(start: &Start<'_>, error: &std::io::Error) -> Failure {
    let name = &start.words[0];
    if error.kind() == std::io::ErrorKind::NotFound {
        return refused(&LaunchError::NotFound(name.clone()));
    }
    Failure::run(format!("cannot start '{name}': {error}"))
}

/// Waits for the end of the program and shows how far it is. Ctrl-C goes to the program, too; it ends, and its trace is
/// kept.
fn watch(launch: &Launch, mut child: Child, begin: Instant) -> Result<ExitStatus> {
    const TICK: Duration = Duration::from_millis(20);
    console::ignore_interrupts();
    let mut line = StatusLine::new(false);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                line.clear();
                return Ok(status);
            }
            Ok(None) => std::thread::sleep(TICK),
            Err(error) => return Err(Failure::run(format!("lost the program: {error}"))),
        }
        if line.is_due()
            && let Some(progress) = launch.progress()
        {
            let seconds = begin.elapsed().as_secs_f64();
            let rate = progress.events as f64 / seconds / 1e6;
            line.show(&format!(
                "recording: {} events, {} threads, {} switches, {rate:.1} M events/s",
                number(progress.events),
                progress.threads,
                number(progress.switches),
            ));
        }
    }
}

fn ended(status: ExitStatus) -> RunEnd {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(DEADLOCK_EXIT), _) => RunEnd::Deadlock,
        (Some(code), _) => RunEnd::Exit(code as u8),
        (None, signal) => RunEnd::Signal(signal.unwrap_or(0)),
    }
}

pub fn describe(ended: RunEnd) -> String {
    match ended {
        RunEnd::Exit(code) => format!("exit code {code}"),
        RunEnd::Signal(signal) => format!("signal {signal}"),
        RunEnd::Deadlock => "a deadlock".to_owned(),
    }
}

/// The exit code of a call whose program ended so: the program's own, as with `time` or `strace`.
pub fn exit_code(ended: RunEnd) -> u8 {
    match ended {
        RunEnd::Exit(code) => code,
        RunEnd::Signal(signal) => 128_u8.saturating_add(signal as u8),
        RunEnd::Deadlock => 1,
    }
}

/// Why a program cannot be started, with the way out.
pub fn refused(error: &LaunchError) -> Failure {
    let text = error.to_string();
    match error {
        LaunchError::NoCommand => Failure::input(text).way_out(
            "write the command as you would start it: untorn record -- java -cp classes Main",
        ),
        LaunchError::NotFound(name) if name.ends_with("java") => Failure::run(text)
            .way_out("install a JDK (Debian: default-jdk-headless), or name it: /path/to/bin/java"),
        LaunchError::NotFound(_) => Failure::run(text)
            .way_out("name the command as your shell would find it, or by its path"),
        LaunchError::NoAgent(_) => Failure::run(text).way_out(
            "build it with `cargo build --release --workspace`, or set UNTORN_AGENT to its path",
        ),
        LaunchError::Write { .. } => Failure::run(text),
    }
}
