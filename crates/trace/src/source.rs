//! Where events come from and go to: two small traits, and what every reader has to confess.

use std::path::{Path, PathBuf};

use crate::event::Event;
use crate::tables::Tables;

/// Events handed out at once: large enough to amortise a call, small enough to stay in the cache.
pub const BATCH: usize = 1024;

/// A stream of events with the tables that name them.
///
/// Protocol: call [`Source::read`] until it leaves the batch empty. After an error, every further
/// call returns the same error; events that precede the faulty place are handed out before it.
pub trait Source {
    /// Replaces the content of `batch` by the next events, [`BATCH`] at most; none at the end.
    fn read(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError>;

    /// The tables, complete for every event handed out so far.
    fn tables(&self) -> &Tables;

    /// What was passed over so far, and whether the trace was cut short.
    fn notes(&self) -> &Notes;

    /// Whether it is known, before anything is read, that the whole trace is well-formed: a
    /// [`Validator`](crate::validate::Validator) has nothing to find.
    fn is_well_formed(&self) -> bool {
        false
    }

    /// How many events the whole trace has, if that is known before they are read: who needs only the first of them
    /// need not read the rest to count it.
    fn event_total(&self) -> Option<u64> {
        None
    }
}

/// What is to be done with input that breaks the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strictness {
    /// The first fault is an error.
    #[default]
    Strict,
    /// Faults are counted and passed over.
    Lenient,
}

/// What a reader passed over.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Malformed lines or records that `Lenient` skipped.
    pub skipped: u64,
    /// The first few of them.
    pub first_skipped: Vec<String>,
    /// Set when the file ends before its end marker: why, in words. The events before are good.
    pub cut: Option<String>,
}

impl Notes {
    const KEPT: usize = 5;

    /// Counts one passed-over fault and keeps the first few in words.
    pub fn skip(&mut self, fault: impl FnOnce() -> String) {
        self.skipped += 1;
        if self.first_skipped.len() < Self::KEPT {
            self.first_skipped.push(fault());
        }
    }
}

/// Why a trace cannot be read or written. Cheap to clone, so that a reader can repeat it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TraceError {
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    /// A fault at a line of a named file.
    #[error("{}:{line}: {reason}", path.display())]
    FileLine { path: PathBuf, line: u64, reason: String },
    /// A fault at a line of a text format, counted from 1.
    #[error("line {line}: {reason}")]
    Line { line: u64, reason: String },
    /// A fault at a byte of a binary format, counted from 0.
    #[error("byte {offset}: {reason}")]
    Byte { offset: u64, reason: String },
    #[error("{0}")]
    Other(String),
}

impl TraceError {
    /// The same error with the name of the file. An error that has one stays unchanged.
    #[must_use]
    pub fn in_file(self, path: &Path) -> Self {
        let path = path.to_owned();
        match self {
            Self::File { .. } | Self::FileLine { .. } => self,
            Self::Line { line, reason } => Self::FileLine { path, line, reason },
            Self::Byte { .. } | Self::Other(_) => Self::File { path, reason: self.to_string() },
        }
    }
}

impl From<std::io::Error> for TraceError {
    fn from(error: std::io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

/// Where events go to. Call [`Sink::write`] with tables that are complete for the events, then
/// [`Sink::finish`] once: a file without its end is a cut file.
pub trait Sink {
    fn write(&mut self, tables: &Tables, events: &[Event]) -> Result<(), TraceError>;

    fn finish(&mut self, tables: &Tables) -> Result<(), TraceError>;

    /// What the format could not express; nothing if it can express everything.
    fn lossy(&self) -> Option<&Lossy> {
        None
    }
}

/// What a writer dropped or changed because its format cannot express it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lossy {
    /// Values dropped.
    pub values: u64,
    /// Volatile accesses and updates, written as plain ones.
    pub accesses: u64,
    /// Shared holds, written as exclusive ones.
    pub shared_holds: u64,
    /// Waits and returns from them, written as releases and acquires.
    pub waits: u64,
    /// Notifications dropped.
    pub notifications: u64,
    /// Branch events dropped.
    pub branches: u64,
    /// Calls, their arguments and returns dropped.
    pub calls: u64,
    /// Inputs dropped.
    pub inputs: u64,
    /// Allocations and releases of memory dropped.
    pub allocations: u64,
    /// Names written in another way, because they contain what is forbidden or are not unique.
    pub names: u64,
}

impl Lossy {
    /// Whether everything was written as it was.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What was lost, in words, and how often; only what was lost at all.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("values dropped", self.values),
            ("volatile or atomic accesses written as plain ones", self.accesses),
            ("shared holds written as exclusive ones", self.shared_holds),
            ("waits written as releases and acquires", self.waits),
            ("notifications dropped", self.notifications),
            ("branch events dropped", self.branches),
            ("calls and returns dropped", self.calls),
            ("inputs dropped", self.inputs),
            ("allocations dropped", self.allocations),
            ("names changed", self.names),
        ]
        .into_iter()
        .filter(|&(_, count)| count > 0)
    }
}

/// A whole trace in memory, for small traces and tests.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub tables: Tables,
    pub events: Vec<Event>,
}

impl Trace {
    /// Reads a source to its end.
    pub fn read(source: &mut dyn Source) -> Result<Self, TraceError> {
        let mut events = Vec::new();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            source.read(&mut batch)?;
            if batch.is_empty() {
                return Ok(Self { tables: source.tables().clone(), events });
            }
            events.extend_from_slice(&batch);
        }
    }

    /// Writes the whole trace and finishes the sink.
    pub fn write(&self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        sink.write(&self.tables, &self.events)?;
        sink.finish(&self.tables)
    }
}
