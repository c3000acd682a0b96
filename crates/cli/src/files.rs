//! Traces and reports as files, with errors that name the file and what to do.

use std::path::{Path, PathBuf};

use untorn_trace::formats::open::{self, CreateOptions, OpenOptions};
use untorn_trace::{Format, Sink, Source, Strictness, TraceError};

use crate::console::Console;
use crate::exit::{CliError, Result};

pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A trace to read, and how.
#[derive(Clone, Debug)]
pub struct Input {
    pub path: PathBuf,
    pub format: Option<Format>,
    pub strictness: Strictness,
}

impl Input {
    /// What to call it.
    pub fn name(&self) -> String {
        if is_dash(&self.path) {
            "standard input".to_owned()
        } else {
            self.path.display().to_string()
        }
    }

    /// Whether the same trace comes again when it is opened again: pipes give it only once.
    pub fn can_be_read_again(&self) -> bool {
        !is_dash(&self.path) && self.path.metadata().is_ok_and(|facts| facts.is_file())
    }

    pub fn open(&self) -> Result<Box<dyn Source + Send>> {
        self.open_known().map(|(_, source)| source)
    }

    /// The trace, and which format it turned out to be.
    pub fn open_known(&self) -> Result<(Format, Box<dyn Source + Send>)> {
        let options = OpenOptions { format: self.format, strictness: self.strictness };
        let opened = open::open_known(&open::Input::new(&self.path), &options);
        opened.map_err(|error| {
            let failure = self.fault(&error);
            if self.path.exists() { failure } else { failure.way_out("`-` is standard input") }
        })
    }

    /// An error of the reader, with the file it is about.
    pub fn fault(&self, error: &TraceError) -> CliError {
        let name = self.name();
        match error {
            TraceError::File { reason, .. } | TraceError::Other(reason) => {
                CliError::input(format!("{}, {name}", without_number(reason)))
            }
            TraceError::FileLine { line, reason, .. } | TraceError::Line { line, reason } => {
                CliError::input(format!("{reason}, {name}, line {line}"))
                    .way_out("`--lenient` counts and passes over malformed lines")
            }
            TraceError::Byte { offset, reason } => {
                CliError::input(format!("{reason}, {name}, byte {offset}"))
            }
        }
    }
}

/// A trace to write.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
    format: Format,
}

impl Output {
    /// Settles the format before anything is read or written.
    pub fn new(path: &Path, format: Option<Format>) -> Result<Self> {
        let name = name_of_output(path);
        let Some(format) = format.or_else(|| Format::from_path(path)) else {
            let what = format!("the name does not say which format to write, {name}");
            return Err(CliError::input(what)
                .way_out("give it an extension (.utr, .std, .jsonl) or name the format"));
        };
        if !format.can_be_written() {
            let what = format!("{} can be read but not written, {name}", format.name());
            return Err(CliError::input(what).way_out("write utr, std or jsonl instead"));
        }
        Ok(Self { path: path.to_owned(), format })
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn create(&self) -> Result<Box<dyn Sink>> {
        let options = CreateOptions { format: Some(self.format), ..CreateOptions::default() };
        open::create(&open::Output::new(&self.path), &options).map_err(|error| self.fault(&error))
    }

    /// An error of the writer, with the file it is about.
    pub fn fault(&self, error: &TraceError) -> CliError {
        let reason = match error {
            TraceError::File { reason, .. } | TraceError::Other(reason) => reason.clone(),
            other => other.to_string(),
        };
        // The writer hands on the words of the system only, not its error.
        let gone = std::io::Error::from_raw_os_error(BROKEN_PIPE).to_string();
        if is_dash(&self.path) && reason.contains(&gone) {
            return CliError::silent();
        }
        let what = format!("{}, {}", without_number(&reason), name_of_output(&self.path));
        CliError::run(what).way_out("check that the folder exists, may be written, and has room")
    }
}

/// `EPIPE` of every Unix.
const BROKEN_PIPE: i32 = 32;

fn name_of_output(path: &Path) -> String {
    if is_dash(path) { "standard output".to_owned() } else { path.display().to_string() }
}

/// The error without the system's number: the text contains the same.
fn without_number(reason: &str) -> &str {
    reason.split(" (os error ").next().unwrap_or(reason)
}

/// Writes a report or picture; `-` is standard output.
pub fn write_text(path: &Path, text: &str, console: &mut Console) -> Result<()> {
    if is_dash(path) {
        return console.put(text);
    }
    std::fs::write(path, text).map_err(|error| {
        let reason = error.to_string();
        CliError::run(format!("cannot write: {}, {}", without_number(&reason), path.display()))
            .way_out("check that the folder exists, may be written, and has room")
    })
}
