//! Many runs in one JVM: what the command line and the agent say to each other, a line of JSON each time.
//!
//! The agent connects to a socket that the command line made in its private folder, says [`ServerAnswer::Ready`] or
//! [`ServerAnswer::Refused`], and then answers each [`ServerRequest`] by an [`ServerAnswer::RunEnd`]. If the JVM itself ends because of the
//! program, the socket is closed without an answer, and the exit code is that of the program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use untorn_runtime_protocol::Progress;

use crate::config::Config;

/// Separates the arguments of a program on their way to its `main`.
pub const ARGUMENT_END: char = '\u{1}';

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerRequest {
    pub config: Config,
    /// Where standard output and standard error of the run go.
    pub output: [PathBuf; 2],
    /// The first run of a JVM. It makes the JDK fill its caches; what it records is of no use.
    pub warm_up: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ServerAnswer {
    /// The JVM waits for requests.
    Ready,
    /// Such a program cannot be run many times in one JVM; why, in words.
    Refused(String),
    RunEnd(RunEnd),
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunEnd {
    pub code: i32,
    pub progress: Progress,
    /// The JVM is not what it was before the run, and must not be used again; why, in words.
    pub spent: Option<String>,
}
