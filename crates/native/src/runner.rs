//! Runs a native program: with its output kept aside, as an exploration wants it, or with our own streams.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use untorn_frontend::processes::{self, Limits, ProcessError};
use untorn_frontend::{
    ExitKind, FrontEnd, FrontEndError, Output, Owner, Program, Progress, RecordedRun,
    RecordedTrace, RecordingGap, RunOptions, RunResult, Surroundings, Watch, Watcher,
};
use untorn_native_protocol::{Config, NativeSetup};
use untorn_runtime_protocol::SCHEDULE;
use untorn_schedule::{RunSpec, Schedule};
use untorn_trace::RunMeta;
use untorn_trace::formats::utr;

use crate::front_end::NAME;
use crate::launch::Launch;
use crate::output::complaints;

/// A run whose output is kept may take this long, if nobody says how long.
const LONGEST: Duration = Duration::from_secs(600);

/// Output that is kept of one run; more is no help to anybody.
const MAX_OUTPUT: u64 = 1 << 20;

/// What all runs of a prepared program have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    command: Vec<String>,
    setup: NativeSetup,
    surroundings: Surroundings,
    watchdog: Duration,
    pin: bool,
    /// The port at which a debugger is waited for.
    debugger: Option<u16>,
}

impl Common {
    fn new(program: &Program, watchdog: Duration, pin: bool) -> Result<Self, FrontEndError> {
        let setup = match &program.options {
            serde_json::Value::Null => NativeSetup::default(),
            options => serde_json::from_value(options.clone()).map_err(|error| {
                FrontEndError::input(format!("these are no options of a native program: {error}"))
            })?,
        };
        let surroundings = Surroundings::of(program);
        let command = program.command.clone();
        Ok(Self { command, setup, surroundings, watchdog, pin, debugger: None })
    }

    pub(crate) fn of_recorded(
        recorded: &RecordedRun,
        watchdog: Duration,
        debugger: Option<u16>,
    ) -> Self {
        let setup = recorded.meta.setup.clone().unwrap_or_default();
        Self {
            command: recorded.meta.command.clone(),
            setup: serde_json::from_value(setup.front_end).unwrap_or_default(),
            surroundings: recorded.surroundings(),
            watchdog,
            pin: true,
            debugger,
        }
    }

    /// For one run.
    fn config(&self, spec: &RunSpec, trace: &Path, launch: &Launch) -> Config {
        let meta = RunMeta {
            command: self.command.clone(),
            seed: Some(spec.seed),
            front_end: NAME.to_owned(),
            ..RunMeta::default()
        };
        let meta = self.surroundings.describe(meta, json!(spec), json!(self.setup));
        Config {
            trace: std::path::absolute(trace).unwrap_or_else(|_| trace.to_owned()),
            progress: launch.progress_file(),
            meta,
            spec: spec.clone(),
            setup: self.setup.clone(),
            replay: None,
            input: None,
            patience_ms: self.watchdog.as_millis() as u64,
            pin: self.pin,
            owner: Owner::this_process(),
            preload: None,
        }
    }

    /// The command; with a debugger, its server in front.
    fn words(&self) -> Vec<String> {
        let Some(port) = self.debugger else { return self.command.clone() };
        let server = ["gdbserver", "--no-disable-randomization"].map(str::to_owned);
        server
            .into_iter()
            .chain([format!("127.0.0.1:{port}")])
            .chain(self.command.clone())
            .collect()
    }
}

/// As many processes as may run at once.
pub(crate) struct NativeRunner {
    workers: Vec<Worker>,
}

impl NativeRunner {
    pub(crate) fn new(program: &Program, options: RunOptions) -> Result<Self, FrontEndError> {
        // A native process starts in a millisecond: nothing is gained by using it again.
        let RunOptions { output, jobs, time_limit, watchdog, pin, watch, warm: _, stop } = options;
        if !stop.is_none() {
            return Err(FrontEndError::input(
                "--until, --drive and --stop-after are for programs that run in a JVM",
            )
            .way_out("end the program by itself: its trace is whole then"));
        }
        let common = Common::new(program, watchdog, pin)?;
        let worker = |number| Worker::new(common.clone(), output.clone(), number, time_limit);
        let workers: Result<Vec<Worker>, FrontEndError> = (1..=jobs.max(1)).map(worker).collect();
        let mut workers = workers?;
        workers[0].watch_by(watch);
        Ok(Self { workers })
    }
}

impl FrontEnd for NativeRunner {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.workers[0].run(spec, trace)
    }

    fn replay(&mut self, recorded: &Path, again: &Path) -> Result<RunResult, FrontEndError> {
        self.workers[0].replay(&RecordedRun::read(recorded)?, again)
    }

    fn end_by(&mut self, moment: Option<Instant>) {
        self.workers.iter_mut().for_each(|worker| worker.until = moment);
    }

    fn run_all(&mut self, calls: &[(RunSpec, PathBuf)]) -> Vec<Result<RunResult, FrontEndError>> {
        let mut out = Vec::with_capacity(calls.len());
        for round in calls.chunks(self.workers.len()) {
            let workers = self.workers.iter_mut().zip(round);
            let results: Vec<_> = std::thread::scope(|scope| {
                let handles: Vec<_> = workers
                    .map(|(worker, (spec, trace))| scope.spawn(|| worker.run(spec, trace)))
                    .collect();
                let lost = |_| Err(FrontEndError::run("the thread that ran the program died"));
                handles.into_iter().map(|handle| handle.join().unwrap_or_else(lost)).collect()
            });
            out.extend(results);
        }
        out
    }
}

/// Where the output of one worker's runs goes.
enum Streams {
    Shared,
    /// Standard output and standard error.
    Kept([PathBuf; 2]),
}

/// One process at a time.
pub(crate) struct Worker {
    launch: Launch,
    common: Common,
    /// A run may take this long. The first one whose output is kept sets the measure for the others.
    time_limit: Option<Duration>,
    streams: Streams,
    watcher: Watcher,
    /// No run goes on after this moment.
    until: Option<Instant>,
}

impl Worker {
    /// The worker of that number, counted from one.
    pub(crate) fn new(
        common: Common,
        output: Output,
        number: usize,
        time_limit: Option<Duration>,
    ) -> Result<Self, FrontEndError> {
        let launch = Launch::prepare()?;
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let (streams, time_limit) = match output {
            Output::Shared => (Streams::Shared, time_limit),
            Output::Kept(folder) => {
                let file = |name| folder.join(format!("{name}{suffix}.txt"));
                (Streams::Kept(["stdout", "stderr"].map(file)), Some(time_limit.unwrap_or(LONGEST)))
            }
        };
        Ok(Self { launch, common, time_limit, streams, watcher: Watcher::default(), until: None })
    }

    pub(crate) fn watch_by(&mut self, watch: Option<Watch>) {
        self.watcher = Watcher::new(watch);
    }

    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        if let (Some(plan), Streams::Kept(_)) = (spec.steering.as_plan(), &self.streams) {
            // For who wants to see what was tried; the run does not depend on it.
            let _ = std::fs::write(trace.with_file_name("plan.txt"), plan.to_string());
        }
        let config = self.common.config(spec, trace, &self.launch);
        self.run_by(&config)
    }

    /// Repeats a recorded run of the program.
    pub(crate) fn replay(
        &mut self,
        recorded: &RecordedRun,
        trace: &Path,
    ) -> Result<RunResult, FrontEndError> {
        let setup = recorded.meta.setup.clone().unwrap_or_default();
        let spec: RunSpec = serde_json::from_value(setup.run).unwrap_or_default();
        let config = Config {
            // What the runtime determined is determined again.
            meta: RunMeta { summary: None, ..recorded.meta.clone() },
            replay: Some(self.launch.write("schedule", &recorded.schedule)?),
            input: Some(self.launch.write("input", &recorded.input)?),
            ..self.common.config(&spec, trace, &self.launch)
        };
        self.run_by(&config)
    }

    fn run_by(&mut self, config: &Config) -> Result<RunResult, FrontEndError> {
        // A trace of an earlier run must not be taken for that of this one.
        let _ = std::fs::remove_file(&config.trace);
        let begin = Instant::now();
        let ended = self.execute(config)?;
        if matches!(self.streams, Streams::Kept(_)) {
            // A run that is steered may be much slower than one that is not, but not for ever.
            let measure = (begin.elapsed() * 20).max(Duration::from_secs(20));
            self.time_limit = self.time_limit.map(|limit| limit.min(measure));
        }
        self.result(ended, &config.trace)
    }

    /// Runs the command to its end.
    fn execute(&mut self, config: &Config) -> Result<ExitKind, FrontEndError> {
        let apply = |command: &mut Command| self.common.surroundings.apply(command);
        let mut command = self.launch.command(&self.common.words(), config, apply)?;
        if let Streams::Kept([stdout, stderr]) = &self.streams {
            command.stdin(Stdio::null()).stdout(created(stdout)?).stderr(created(stderr)?);
        }
        let mut look = || self.watcher.look(|| self.launch.progress());
        let limits = Limits { time: self.time_limit, until: self.until };
        match processes::run_to_end(&mut command, limits, &mut look) {
            Ok(ending) => ending.exit(None, matches!(self.streams, Streams::Shared)),
            Err(ProcessError::Interrupted) => Err(processes::interrupted()),
            Err(error) => {
                let name = self.common.words().first().cloned().unwrap_or_default();
                Err(FrontEndError::run(format!("'{name}': {error}")))
            }
        }
    }

    fn result(&self, ended: ExitKind, trace: &Path) -> Result<RunResult, FrontEndError> {
        let [stdout, stderr] = match &self.streams {
            Streams::Shared => [Vec::new(), Vec::new()],
            Streams::Kept(files) => [kept(&files[0]), kept(&files[1])],
        };
        let first_lines =
            String::from_utf8_lossy(&stderr).lines().take(8).map(str::to_owned).collect::<Vec<_>>();
        let Some(Progress { deadlock, fault, notes, observed, .. }) = self.launch.progress() else {
            let why = self.launch.fault().map(|why| format!(": {why}")).unwrap_or_default();
            return Err(FrontEndError::run(format!(
                "the program did not start with the runtime, so nothing was recorded{why}"
            ))
            .details(first_lines)
            .way_out(
                "if it starts another program, name that one; it must be built by untorn cc",
            ));
        };
        let said = RecordedTrace::read(trace)
            .map_err(|error| FrontEndError::run(format!("the trace cannot be read: {error}")))?;
        let summary = said.meta.summary.unwrap_or_default();
        let exit = if deadlock { ExitKind::Deadlock } else { ended };
        Ok(RunResult {
            uncaught: complaints(&stderr),
            stdout,
            stderr,
            followed: summary.followed.clone(),
            preemptions: preemptions(trace),
            unseen: RecordingGap::of(&summary),
            fault,
            notes,
            observed,
            ..RunResult::new(exit)
        })
    }
}

fn created(path: &Path) -> Result<File, FrontEndError> {
    File::create(path)
        .map_err(|error| FrontEndError::run(format!("cannot write {}: {error}", path.display())))
}

fn kept(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // What cannot be read is not compared.
        let _ = file.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    bytes
}

/// How often the schedule of a trace stopped a thread that could go on.
fn preemptions(trace: &Path) -> Option<u64> {
    let schedule = utr::extras(trace, SCHEDULE).ok()?;
    Some(Schedule::preemptions(&Schedule::decode(&schedule).ok()?))
}
