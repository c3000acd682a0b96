//! What is run, and how: what a front end gets from the command line.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use untorn_runtime_protocol::Progress;

use crate::stop::StopCondition;

/// What is run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The command, as it is written without this tool.
    pub command: Vec<String>,
    /// Where it runs; `None` is here.
    pub directory: Option<PathBuf>,
    /// Variables of the environment that a trace keeps with their values, beside those that it always keeps.
    pub variables: Vec<String>,
    /// What only the front end itself understands: what of the program is recorded, for instance. A trace keeps it in
    /// [`RunSetup::front_end`](untorn_trace::RunSetup), so that a replay has it again.
    pub options: serde_json::Value,
}

/// Where a program's standard streams lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Where ours do: the program reads and prints as if it had been started alone.
    Shared,
    /// Into files of this folder, and what is in them into [`RunResult`](crate::RunResult). There is no input.
    Kept(PathBuf),
}

/// Called several times a second with what the runtime says of a run that is not over.
pub type Watch = Box<dyn FnMut(&Progress) + Send>;

/// Time between two calls of a [`Watch`].
const NEWS: Duration = Duration::from_millis(250);

/// Calls a [`Watch`], and not too often.
#[derive(Default)]
pub struct Watcher {
    watch: Option<Watch>,
    next: Option<Instant>,
}

impl Watcher {
    pub fn new(watch: Option<Watch>) -> Self {
        Self { watch, next: None }
    }

    /// Passes on what `progress` says, if it is time.
    pub fn look(&mut self, progress: impl FnOnce() -> Option<Progress>) {
        if let Some(watch) = &mut self.watch
            && self.next.is_none_or(|next| Instant::now() >= next)
            && let Some(said) = progress()
        {
            self.next = Some(Instant::now() + NEWS);
            watch(&said);
        }
    }
}

/// How programs are run; the same for all runs of a prepared program.
pub struct RunOptions {
    pub output: Output,
    /// Programs that may run at once.
    pub jobs: usize,
    /// A run that takes longer is ended. `None`: a program that shares our streams may take as long as it wants, and
    /// any other one as long as the front end finds sensible.
    pub time_limit: Option<Duration>,
    /// Time without an event after which the watchdog looks at the thread that has the token.
    pub watchdog: Duration,
    /// Keep the threads of a run on one processor, where hand-overs are several times faster.
    pub pin: bool,
    pub watch: Option<Watch>,
    /// Make many runs in one process, if the program is seen to behave there as it does in a fresh one.
    pub warm: bool,
    /// When a run is ended that does not end by itself.
    pub stop: StopCondition,
}

impl RunOptions {
    pub fn new(output: Output) -> Self {
        Self {
            output,
            jobs: 1,
            time_limit: None,
            watchdog: Duration::from_millis(200),
            pin: true,
            watch: None,
            warm: false,
            stop: StopCondition::default(),
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").field("next", &self.next).finish_non_exhaustive()
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, jobs, time_limit, watchdog, pin, watch: _, warm, stop } = self;
        f.debug_struct("RunOptions")
            .field("output", output)
            .field("jobs", jobs)
            .field("time_limit", time_limit)
            .field("watchdog", watchdog)
            .field("pin", pin)
            .field("warm", warm)
            .field("stop", stop)
            .finish_non_exhaustive()
    }
}

/// How a recorded run is repeated. The program shares our streams.
pub struct ReplayOptions {
    /// Where the new trace goes.
    pub trace: PathBuf,
    /// Wait for a debugger at this port before the program begins.
    pub debugger: Option<u16>,
    pub watch: Option<Watch>,
}

impl fmt::Debug for ReplayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, debugger, watch: _ } = self;
        f.debug_struct("ReplayOptions")
            .field("trace", trace)
            .field("debugger", debugger)
            .finish_non_exhaustive()
    }
}

/// Something about an installation: `java`, and which.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstallationLine {
    pub about: &'static str,
    pub text: String,
}
