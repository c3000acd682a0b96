//! What the chase needs of a front end: run the program once, in a given way, and keep its trace.

use std::path::{Path, PathBuf};

use untorn_schedule::RunSpec;
pub use untorn_trace::Followed;

/// How the program ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ended {
    Exit(i32),
    Signal(i32),
    /// No thread could ever run again.
    Deadlock,
    /// It was stopped because it took too long.
    TimedOut,
}

/// What is left of a run beside its trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    pub ended: Ended,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub followed: Option<Followed>,
    /// How often a thread that could go on was stopped, if that is known.
    pub preemptions: Option<u64>,
    /// What the front end could not see, in words.
    pub unseen: Vec<String>,
}

/// Why the program cannot be run. The words are for the user and say the way out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunnerError(pub String);

/// A front end.
pub trait Runner {
    /// Runs the program to its end; its trace is then at `trace`.
    ///
    /// # Errors
    /// If it could not be run at all. A program that fails is an [`Ended`].
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<Ran, RunnerError>;

    /// Runs the program several times, at once if it can. Gives what came of each, in order.
    fn run_all(&mut self, calls: &[(RunSpec, PathBuf)]) -> Vec<Result<Ran, RunnerError>> {
        calls.iter().map(|(spec, trace)| self.run(spec, trace)).collect()
    }
}
