//! Many runs in one JVM: the half of the command line.
//!
//! A [`ServerJvm`] is started once with the command of the program, and then asked for runs. What it answers, and when it
//! must not be asked again, is `untorn_jvm_protocol::server`.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use untorn_jvm_protocol::server::{RunEnd, ServerAnswer, ServerRequest};

use crate::launch::{Launch, LaunchError, Start};

/// How often it is looked whether a JVM has ended instead of answering.
const TICK: Duration = Duration::from_millis(5);
/// Time for a JVM that closed the socket to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// A JVM that waits for requests. It is killed when this is dropped.
#[derive(Debug)]
pub struct ServerJvm {
    child: Child,
    answers: BufReader<UnixStream>,
}

/// What came of a request.
#[derive(Clone, Debug)]
pub enum ServerReply {
    RunEnd(RunEnd),
    /// The JVM ended together with the program.
    Exited(ExitStatus),
    /// There was no end within the time; the JVM is gone.
    TimedOut,
}

/// Why there is no JVM that makes many runs.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("{0}")]
    Refused(String),
    #[error("the JVM ended before its first run")]
    Ended,
    #[error("the JVM cannot be asked: {0}")]
    Socket(#[from] io::Error),
}

impl ServerJvm {
    /// Starts the program's JVM and waits until it is ready. `start.config` is that of the first run, or like it.
    pub fn start(
        launch: &Launch,
        start: &Start<'_>,
        surround: impl FnOnce(&mut Command),
    ) -> Result<Self, ServerError> {
        if start.is_indirect_launch() {
            return Err(ServerError::Refused("the JVM is started by somebody else".to_owned()));
        }
        let socket = launch.server_socket();
        // What an earlier JVM left.
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        let mut config = start.config.clone();
        config.server = Some(socket);
        // Until the first request there is nothing to record.
        config.trace = launch.folder().join("idle.utr");
        let mut extra = start.extra.to_vec();
        let chosen = OPTION_VARIABLES.map(|name| std::env::var(name).unwrap_or_default());
        extra.extend(collector(start.words.iter().chain(&chosen)).map(str::to_owned));
        let start = Start { config: &config, extra: &extra, ..*start };
        let mut command = launch.command(&start, surround)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        match accept(&listener, &mut child) {
            Ok(stream) => {
                let mut jvm = Self { child, answers: BufReader::new(stream) };
                match jvm.answer(None)? {
                    Some(ServerAnswer::Ready) => Ok(jvm),
                    Some(ServerAnswer::Refused(why)) => Err(ServerError::Refused(why)),
                    _ => Err(ServerError::Ended),
                }
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Makes one run, which may take so long.
    ///
    /// # Errors
    /// If the JVM cannot be asked.
    pub fn run(
        &mut self,
        request: &ServerRequest,
        patience: Duration,
    ) -> Result<ServerReply, ServerError> {
        let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
        line.push(b'\n');
        self.answers.get_mut().write_all(&line)?;
        match self.answer(Some(patience)) {
            Ok(Some(ServerAnswer::RunEnd(ended))) => Ok(ServerReply::RunEnd(ended)),
            Ok(_) => match self.await_exit()? {
                Some(status) => Ok(ServerReply::Exited(status)),
                None => Ok(ServerReply::TimedOut),
            },
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(ServerReply::TimedOut)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The next answer; `None` if the JVM has closed the socket.
    fn answer(&mut self, patience: Option<Duration>) -> io::Result<Option<ServerAnswer>> {
        self.answers.get_ref().set_read_timeout(patience)?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }

    fn await_exit(&mut self) -> io::Result<Option<ExitStatus>> {
        let begin = Instant::now();
        while begin.elapsed() < FAREWELL {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(TICK);
        }
        Ok(None)
    }
}

impl Drop for ServerJvm {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a JVM finds options beside its command line.
const OPTION_VARIABLES: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// The garbage collector of a JVM that makes many runs: one that needs no other threads, and nothing from those that run. A
/// JVM that is told two of them does not start, so nothing is said if the user says anything about it.
fn collector<'a>(mut words: impl Iterator<Item = &'a String>) -> Option<&'static str> {
    let may_choose = |word: &String| {
        word.contains("GC")
            || ["@", "-XX:Flags", "-XX:VMOptionsFile"].iter().any(|start| word.contains(start))
    };
    (!words.any(may_choose)).then_some("-XX:+UseSerialGC")
}

/// Waits for the agent.
fn accept(listener: &UnixListener, child: &mut Child) -> Result<UnixStream, ServerError> {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if child.try_wait()?.is_some() {
                    return Err(ServerError::Ended);
                }
                std::thread::sleep(TICK);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

impl Launch {
    /// Where a JVM that makes many runs asks for them.
    pub(crate) fn server_socket(&self) -> PathBuf {
        self.folder().join("server")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_is_that_of_the_user() {
        let chosen = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            collector(words.iter())
        };
        assert!(chosen(&["java", "-cp", "classes", "Main"]).is_some());
        for word in ["-XX:+UseG1GC", "-XX:+UseParallelGC", "@options", "-XX:VMOptionsFile=jvm.txt"]
        {
            assert_eq!(chosen(&["java", word, "Main"]), None, "{word}");
        }
    }
}
