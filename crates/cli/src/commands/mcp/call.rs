//! A call of this executable on behalf of an assistant.

use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// An assistant reads at most so many characters of an output: its beginning and its end.
const MAX_CHARS: usize = 40_000;

/// A running call.
pub struct Call {
    process: Option<Pid>,
}

/// What came of a call.
pub struct CallResult {
    text: String,
    /// `None` if a signal ended it.
    exit: Option<i32>,
}

impl Call {
    /// Starts a call. `on_end` gets the result, in another thread.
    pub fn start(
        words: &[String],
        on_end: impl FnOnce(CallResult) + Send + 'static,
    ) -> Result<Self, String> {
        let executable = std::env::current_exe()
            .map_err(|error| format!("untorn does not find itself: {error}"))?;
        let mut command = Command::new(executable);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| format!("cannot start untorn: {error}"))?;
        let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        std::thread::spawn(move || {
            on_end(match child.wait_with_output() {
                Ok(output) => CallResult::of(&output),
                Err(error) => CallResult { text: format!("lost untorn: {error}"), exit: None },
            });
        });
        Ok(Self { process })
    }

    /// Ends it as an interrupt would: it ends the program under test and writes the report of what was found.
    pub fn end(&self) {
        if let Some(process) = self.process {
            // It may have ended by itself.
            let _ = kill_process(process, Signal::TERM);
        }
    }
}

impl CallResult {
    fn of(output: &Output) -> Self {
        let streams = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        let parts = streams.iter().map(|text| text.trim_end()).filter(|text| !text.is_empty());
        Self { text: shortened(&parts.collect::<Vec<_>>().join("\n")), exit: output.status.code() }
    }

    /// As the protocol wants it. Findings are a result; only what could not be done is an error.
    pub fn to_json(&self) -> Value {
        let is_error = !matches!(self.exit, Some(0 | 1 | 4));
        let text = match self.exit {
            Some(code) => format!("{}\nexit code {code}", self.text),
            None => format!("{}\nended by a signal", self.text),
        };
        json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
    }
}

/// A text without its middle if it is too long.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_CHARS {
        return text.to_owned();
    }
    let half = MAX_CHARS / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n… {} characters left out …\n{tail}", count - 2 * half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out() {
        let text = "ä".repeat(MAX_CHARS + 10);
        let short = shortened(&text);
        assert!(short.contains("… 10 characters left out …"), "{short}");
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn findings_are_no_error() {
        let is_error = |exit| CallResult { text: String::new(), exit }.to_json()["isError"].clone();
        assert_eq!([Some(0), Some(1), Some(4)].map(is_error), [false, false, false]);
        assert_eq!([Some(2), Some(3), None].map(is_error), [true, true, true]);
    }
}
