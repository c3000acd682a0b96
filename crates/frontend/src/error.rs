//! Why a program cannot be run.

/// Whose fault it is that a program cannot be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrontEndErrorKind {
    /// What the user gave makes no sense.
    Input,
    /// The same, and the program has already printed why.
    InputReported,
    /// The system, or the program, did not do what it should.
    Run,
    /// The program was ended, because nobody has time for it any more.
    OutOfTime,
}

/// Why the program cannot be run. The words are for the user.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct FrontEndError {
    pub kind: FrontEndErrorKind,
    pub message: String,
    /// Further lines.
    pub details: Vec<String>,
    /// What the user can do about it.
    pub way_out: Option<String>,
}

impl FrontEndError {
    pub fn run(message: impl Into<String>) -> Self {
        Self {
            kind: FrontEndErrorKind::Run,
            message: message.into(),
            details: Vec::new(),
            way_out: None,
        }
    }

    /// A run was ended at the moment that [`FrontEnd::end_by`](crate::FrontEnd::end_by) was told.
    pub fn out_of_time() -> Self {
        Self { kind: FrontEndErrorKind::OutOfTime, ..Self::run("ended, because time was over") }
    }

    pub fn input(message: impl Into<String>) -> Self {
        Self { kind: FrontEndErrorKind::Input, ..Self::run(message) }
    }

    pub fn input_reported(message: impl Into<String>) -> Self {
        Self { kind: FrontEndErrorKind::InputReported, ..Self::run(message) }
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
