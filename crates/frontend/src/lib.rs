//! The seam between the loop that looks for violations and whatever runs the program.
//!
//! A front end is a type that implements [`FrontEnd`]: it runs the program once, in the way that a
//! [`RunSpec`] describes, and leaves a trace. Nothing above this crate knows which front end it is; a trace
//! says by whom it was recorded ([`RunMeta::front_end`](untorn_trace::RunMeta)).

pub mod folder;
pub mod processes;
pub mod surroundings;

use std::path::{Path, PathBuf};

use untorn_schedule::RunSpec;
use untorn_trace::Followed;

pub use folder::PrivateFolder;
pub use surroundings::Surroundings;

/// How the program ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExitKind {
    Exit(i32),
    Signal(i32),
    /// No thread could ever run again.
    Deadlock,
    /// It was stopped because it took too long.
    TimedOut,
}

/// What is left of a run beside its trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunResult {
    pub exit: ExitKind,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// The exceptions, or whatever the language calls them, that ended a thread; without the name of the
    /// thread, which says nothing of what happened.
    pub uncaught: Vec<String>,
    pub followed: Option<Followed>,
    /// How often a thread that could go on was stopped, if that is known.
    pub preemptions: Option<u64>,
    /// What the front end could not see, in words.
    pub unseen: Vec<String>,
}

/// Whose fault it is that a program cannot be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// What the user gave makes no sense.
    Input,
    /// The system, or the program, did not do what it should.
    Run,
}

/// Why the program cannot be run. The words are for the user.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct FrontEndError {
    pub kind: FaultKind,
    pub message: String,
    /// Further lines.
    pub details: Vec<String>,
    /// What the user can do about it.
    pub way_out: Option<String>,
}

impl FrontEndError {
    pub fn run(message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Run, message: message.into(), details: Vec::new(), way_out: None }
    }

    pub fn input(message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Input, ..Self::run(message) }
    }

    #[must_use]
    pub fn details(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(lines);
        self
    }

    #[must_use]
    pub fn way_out(mut self, words: impl Into<String>) -> Self {
        self.way_out = Some(words.into());
        self
    }
}

/// A program that is ready to be run. How it is made ready is each front end's own constructor, which finds
/// out whether the program can be started at all.
///
/// Protocol: [`FrontEnd::run`] as often as wanted, each time with another trace file. Two runs by the same
/// description are the same run, if the program depends on nothing that the front end does not control.
pub trait FrontEnd {
    /// Runs the program to its end; its trace is then at `trace`.
    ///
    /// # Errors
    /// If it could not be run at all. A program that fails is an [`ExitKind`].
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError>;

    /// Runs the program several times, at once if it can. Gives what came of each, in order.
    fn run_all(&mut self, calls: &[(RunSpec, PathBuf)]) -> Vec<Result<RunResult, FrontEndError>> {
        calls.iter().map(|(spec, trace)| self.run(spec, trace)).collect()
    }
}
