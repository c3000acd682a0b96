//! How a call ends: the four exit codes, and the errors that lead to them.

use std::fmt;
use std::process::ExitCode;

/// How every error begins.
pub const PREFIX: &str = "untorn: error: ";

/// The meaning of the exit code. A later variant outranks an earlier one when several files are checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    /// Checked, and nothing torn.
    Clean = 0,
    /// At least one violation.
    Violations = 1,
    /// Bad usage or bad input.
    BadInput = 2,
    /// Could not run: a file cannot be written, checkers contradict each other.
    CouldNotRun = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// What went wrong, where, and the way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub exit: Exit,
    what: String,
    details: Vec<String>,
    way_out: Option<String>,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
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

    /// The input is at fault, and the program that was run has printed it already.
    pub fn already_reported() -> Self {
        Self::input("")
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

impl fmt::Display for Failure {
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
