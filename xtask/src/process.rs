//! Runs a command under a limit of time: how it ended, how long it took, and how much memory it had.
#![allow(unsafe_code)]

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// A process that has ended.
#[derive(Debug)]
pub struct FinishedProcess {
    pub status: ExitStatus,
    /// It was killed because its time was up.
    pub hung: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub elapsed: Duration,
    /// The largest resident set in bytes that the process or one of those below it had. Of `untorn record` this is the
    /// JVM's: `untorn` itself has some megabytes.
    pub resident: u64,
}

impl FinishedProcess {
    /// The text on its standard error.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Runs it in a separate process group, all of which is killed when the time is up.
pub fn run(command: &mut Command, limit: Duration) -> Result<FinishedProcess> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    // Options that the JVM takes from its environment would be confirmed on the standard error.
    for name in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        command.env_remove(name);
    }
    let begin = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let group = Pid::from_child(&child);
    let (over, is_over) = channel::<()>();
    let guard = std::thread::spawn(move || {
        let late = is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if late {
            // A process that has ended meanwhile needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
        late
    });
    let stdout = listen(child.stdout.take().context("piped")?);
    let stderr = listen(child.stderr.take().context("piped")?);
    let waited = wait(&child);
    let elapsed = begin.elapsed();
    let (stdout, stderr) = (joined(stdout)?, joined(stderr)?);
    drop(over);
    let hung = joined(guard)?;
    let (status, resident) = waited?;
    Ok(FinishedProcess { status, hung, stdout, stderr, elapsed, resident })
}

fn listen(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // The text before the stream broke is all there is.
        let _ = stream.read_to_end(&mut text);
        text
    })
}

fn joined<T>(thread: JoinHandle<T>) -> Result<T> {
    thread.join().map_err(|_| anyhow::anyhow!("a thread that listens to a process failed"))
}

/// Waits for the end. The standard library does not report the memory, and what the system reports of all children
/// together
/// would be that of the largest so far.
fn wait(child: &Child) -> std::io::Result<(ExitStatus, u64)> {
    let pid = child.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: plain numbers, for which zeros are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: a child that no other code waits for; both places are local, and of their types.
        let ended = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if ended == pid {
            let kilobytes = u64::try_from(usage.ru_maxrss).unwrap_or(0);
            return Ok((ExitStatus::from_raw(status), kilobytes * 1024));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> FinishedProcess {
        run(Command::new("sh").args(["-c", script]), limit).expect("a shell starts")
    }

    #[test]
    fn what_a_process_says_and_how_it_ends_is_told() {
        let ended = shell("echo out; echo err >&2; exit 7", Duration::from_secs(60));
        assert_eq!(
            (ended.stdout.as_slice(), ended.stderr_text().as_str()),
            (&b"out\n"[..], "err\n")
        );
        assert_eq!((ended.status.code(), ended.hung), (Some(7), false));
    }

    /// The shell waits for a child that sleeps; if the child were left, the pipe would stay open until it ends.
    #[test]
    fn a_process_that_hangs_is_killed_with_its_children() {
        let ended = shell("sleep 1000 & echo $!; wait", Duration::from_millis(300));
        assert!(ended.hung);
        assert_eq!(ended.status.signal(), Some(9));
        assert!(ended.elapsed < Duration::from_secs(500));
    }

    #[test]
    fn memory_is_that_of_the_largest_below() {
        let eats = "dd if=/dev/zero of=/dev/null bs=";
        let small = shell(&format!("{eats}1M count=1; :"), Duration::from_secs(60));
        let large = shell(&format!("{eats}200M count=1; :"), Duration::from_secs(60));
        assert!(large.resident > 150 << 20, "{}", large.resident);
        assert!(small.resident < 100 << 20, "{}", small.resident);
    }
}
