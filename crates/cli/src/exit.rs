//! How a call ends: the five exit codes, and the errors that lead to them.

use std::fmt;
use std::process::ExitCode;

use untorn_frontend::{ExitKind, FrontEndError, FrontEndErrorKind};
use untorn_report::text::plain;

/// How every error begins.
pub const PREFIX: &str = "untorn: error: ";

/// The meaning of the exit code. A later variant outranks an earlier one when several files are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    /// Checked, and nothing found.
    Clean = 0,
    /// At least one finding.
    Findings = 1,
    /// Bad usage or bad input.
    BadInput = 2,
    /// Could not run: a file cannot be written, checkers contradict each other.
    CouldNotRun = 3,
    /// Nothing was found, and too little was looked at to call the program clean.
    Inconclusive = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The exit code of a call whose program ended so: the program's own, as with `time` or `strace`.
pub fn of_program(exit: ExitKind) -> u8 {
    match exit {
        ExitKind::Exit(code) => code as u8,
        ExitKind::Signal(signal) => 128_u8.saturating_add(signal as u8),
        ExitKind::Deadlock => Exit::Findings as u8,
        ExitKind::TimedOut => Exit::CouldNotRun as u8,
    }
}

/// What went wrong, where, and the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CliError {
    pub exit: Exit,
    what: String,
    details: Vec<String>,
    way_out: Option<String>,
}

pub type Result<T> = std::result::Result<T, CliError>;

impl CliError {
    /// The input or the arguments are at fault.
    pub fn input(what: impl Into<String>) -> Self {
        Self { exit: Exit::BadInput, what: what.into(), details: Vec::new(), way_out: None }
    }

    /// The machine or the tool is at fault.
    pub fn run(what: impl Into<String>) -> Self {
        Self { exit: Exit::CouldNotRun, ..Self::input(what) }
    }

    /// The reader of our output has gone, so no message can reach it.
    pub fn silent() -> Self {
        Self { exit: Exit::Clean, ..Self::input("") }
    }

    /// Whether there is something to print.
    pub fn is_silent(&self) -> bool {
        self.what.is_empty()
    }

    /// Adds a line about what to do now.
    #[must_use]
    pub fn way_out(mut self, text: impl Into<String>) -> Self {
        self.way_out = Some(text.into());
        self
    }

    /// Adds indented lines below the error.
    #[must_use]
    pub fn details(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(lines);
        self
    }
}

impl From<FrontEndError> for CliError {
    fn from(error: FrontEndError) -> Self {
        let FrontEndError { kind, message, details, way_out } = error;
        let failure = match kind {
            FrontEndErrorKind::Input => Self::input(message),
            // The program that was run has printed it already.
            FrontEndErrorKind::InputReported => return Self::input(""),
            FrontEndErrorKind::Run | FrontEndErrorKind::OutOfTime => Self::run(message),
        };
        // What a program printed may be anything.
        let failure = failure.details(details.iter().map(|line| plain(line)));
        Self { way_out, ..failure }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.what)?;
        for line in &self.details {
            write!(f, "\n  {line}")?;
        }
        if let Some(way_out) = &self.way_out {
            write!(f, "\n  {way_out}")?;
        }
        Ok(())
    }
}
