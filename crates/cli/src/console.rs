//! The only place that prints.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use untorn_report::phrasing;
use untorn_report::terminal::Look;
use untorn_report::text::plain;

use crate::exit::{CliError, Result};

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Color {
    /// If the output is a terminal and NO_COLOR is not set.
    #[default]
    Auto,
    Always,
    Never,
}

/// How much to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Volume {
    Quiet,
    #[default]
    Normal,
    Verbose,
}

impl Volume {
    /// From the options; quiet wins.
    pub fn of(quiet: bool, verbose: bool) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Normal,
        }
    }
}

#[derive(Debug)]
pub struct Console {
    pub look: Look,
    volume: Volume,
    /// The reader of our output has gone (`| head`): print no more, but finish the work, so that the
    /// exit code still has the verdict.
    is_closed: bool,
}

/// Without a terminal, lines are this long: the same output on every machine.
const DEFAULT_WIDTH: usize = 100;

impl Console {
    pub fn new(color: Color, volume: Volume) -> Self {
        let terminal = io::stdout().is_terminal();
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                terminal && !refused && !dumb
            }
        };
        let width = terminal_size::terminal_size()
            .filter(|_| terminal)
            .map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).clamp(40, 140));
        let look = Look { width, color, verbose: volume == Volume::Verbose };
        Self { look, volume, is_closed: false }
    }

    /// A console for commands without options of their own.
    pub fn plain() -> Self {
        Self::new(Color::Auto, Volume::Normal)
    }

    /// Prints to standard output, unless quiet.
    pub fn say(&mut self, text: &str) -> Result<()> {
        if self.volume == Volume::Quiet { Ok(()) } else { self.put(text) }
    }

    /// Writes the result itself to standard output, quiet or not.
    pub fn put(&mut self, text: &str) -> Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            Err(error) => Err(CliError::run(format!("cannot write to standard output: {error}"))),
        }
    }

    /// Prints to standard error what must not be overlooked.
    pub fn warn(&self, text: &str) {
        complain(&format!("untorn: warning: {}", plain_lines(text)));
    }
}

/// Writes a line to standard error. If even that fails, the error cannot be reported.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes text to standard error: the program's own output keeps standard output.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", plain_lines(text));
}

/// One line on a terminal's standard error that is written over and over. Nothing is ever written to a file or a pipe.
#[derive(Debug)]
pub struct StatusLine {
    is_visible: bool,
    bar: Option<ProgressBar>,
    next: Instant,
}

impl StatusLine {
    /// No progress is shown for work that is done sooner. Who waits sees something within a second.
    const FIRST: Duration = Duration::from_millis(700);
    const EVERY: Duration = Duration::from_millis(250);

    pub fn new(quiet: bool) -> Self {
        let is_visible = !quiet && io::stderr().is_terminal();
        Self { is_visible, bar: None, next: Instant::now() + Self::FIRST }
    }

    /// Whether it is time for another text.
    pub fn is_due(&self) -> bool {
        self.is_visible && Instant::now() >= self.next
    }

    pub fn show(&mut self, text: &str) {
        self.next = Instant::now() + Self::EVERY;
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{msg}");
            let bar = ProgressBar::new_spinner();
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        bar.set_message(plain(text));
        bar.tick();
    }

    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Shows how far a recording is, if anybody could see it.
pub fn recording_watch(quiet: bool) -> Option<untorn_frontend::Watch> {
    let mut line = StatusLine::new(quiet);
    let begin = Instant::now();
    line.is_visible.then(|| -> untorn_frontend::Watch {
        Box::new(move |said| {
            if line.is_due() {
                let rate = said.events as f64 / begin.elapsed().as_secs_f64() / 1e6;
                line.show(&format!(
                    "recording: {} events, {} threads, {} switches, {rate:.1} M events/s",
                    phrasing::number(said.events),
                    said.threads,
                    phrasing::number(said.switches),
                ));
            }
        })
    })
}

/// The text with its own line breaks, but without codes from names of the trace.
fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// A counter on standard error, for people who wait.
#[derive(Debug)]
pub struct Progress {
    line: StatusLine,
    start: Instant,
    what: &'static str,
}

impl Progress {
    pub fn new(what: &'static str, quiet: bool) -> Self {
        Self { line: StatusLine::new(quiet), start: Instant::now(), what }
    }

    /// Shows the progress.
    pub fn at(&mut self, events: u64) {
        if self.line.is_due() {
            let seconds = self.start.elapsed().as_secs();
            self.line.show(&format!(
                "{}: {} events, {seconds} s",
                self.what,
                phrasing::number(events)
            ));
        }
    }
}
