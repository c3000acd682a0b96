//! Runs a Java program: with its output kept aside, as an exploration wants it, or with our own streams.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use untorn_frontend::processes::{self, Ending, Limits, ProcessError};
use untorn_frontend::{
    ExitKind, FrontEnd, FrontEndError, Output, OwnCode, PlainRun, Program, RecordedRun,
    RecordedTrace, RecordingGap, RunOptions, RunResult, StopCondition, StopStreams, Stopper, Watch,
    Watcher,
};
use untorn_jvm_protocol::config::Config;
use untorn_jvm_protocol::{CLASSES_ONLY, NO_TEST_EXIT, path_log};
use untorn_runtime_protocol::Progress;
use untorn_schedule::{InputPlace, Inputs, RunSpec};
use untorn_trace::{RecordingSummary, RunMeta};

use crate::agent_config::{self, Common, ReplayFiles, make_log_folder, opened};
use crate::launch::{Launch, LaunchError, Start, find_agent, is_indirect_launch};
use crate::program::{is_junit, is_scenario};
use crate::remains::{exceptions, preemptions};
use crate::warm::{self, FreshRun, WarmRun, WarmRuns};
use crate::{inputs, noise, own_code, which_jvm};

/// A run whose output is kept may take this long, if nobody says how long.
const LONGEST: Duration = Duration::from_secs(600);

/// Output that is kept of one run; more is no help to anybody.
const MAX_OUTPUT: u64 = 1 << 20;

/// How the class that runs tests begins its complaint.
const COMPLAINT: &str = "untorn: error: ";

/// As many JVMs as may run at once.
pub struct JvmRunner {
    workers: Vec<Worker>,
}

impl JvmRunner {
    pub fn new(program: &Program, options: RunOptions) -> Result<Self, FrontEndError> {
        let RunOptions { output, jobs, time_limit, watchdog, pin, watch, warm, stop } = options;
        let common = Common::new(program, watchdog, pin)?;
        let worker = |number| Worker::new(common.clone(), output.clone(), number, time_limit);
        let workers: Result<Vec<Worker>, FrontEndError> = (1..=jobs.max(1)).map(worker).collect();
        let mut workers = workers?;
        workers[0].watch_by(watch);
        workers.iter_mut().for_each(|worker| worker.stop = stop.clone());
        // A server keeps its port, and its client belongs to one run.
        if warm && stop.is_none() {
            workers.iter_mut().for_each(|worker| worker.warm = WarmRuns::new());
        }
        Ok(Self { workers })
    }
}

impl FrontEnd for JvmRunner {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.workers[0].run(spec, trace)
    }

    fn run_fresh(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.workers[0].run_fresh(spec, trace)
    }

    fn use_fresh_only(&mut self, why: &str) {
        for worker in &mut self.workers {
            worker.warm.turn_off(why);
        }
    }

    /// Only the scenario may change: what is recorded is decided when a JVM starts.
    fn set_options(&mut self, options: &serde_json::Value) -> Result<(), FrontEndError> {
        for worker in &mut self.workers {
            worker.common.own = agent_config::own_options(options)?;
        }
        Ok(())
    }

    fn replay(&mut self, recorded: &Path, again: &Path) -> Result<RunResult, FrontEndError> {
        self.workers[0].replay(&RecordedRun::read(recorded)?, again)
    }

    fn run_plain(&mut self, inputs: &Inputs) -> Option<PlainRun> {
        self.workers[0].run_plain(inputs)
    }

    fn is_test(&self) -> bool {
        is_junit(&self.workers[0].common.command)
    }

    fn own_code(&self) -> OwnCode {
        let Common { command, own, surroundings, .. } = &self.workers[0].common;
        let directory = Path::new(&surroundings.directory);
        own_code::of_command(command, Some(directory), is_indirect_launch(command, &own.selector))
    }

    fn end_by(&mut self, moment: Option<Instant>) {
        self.workers.iter_mut().for_each(|worker| worker.until = moment);
    }

    fn inputs(&self) -> Inputs {
        inputs::of_command(&self.workers[0].common.command)
    }

    fn path(
        &mut self,
        trace: &Path,
        inputs: &Inputs,
    ) -> Result<Option<untorn_symbolic::Path>, FrontEndError> {
        let folder = agent_config::path_log_of(trace);
        let log = path_log::PathLog::read(&folder).map_err(|error| {
            FrontEndError::run(format!("cannot read {}: {error}", folder.display()))
        })?;
        let _ = std::fs::remove_dir_all(folder);
        let fixed = inputs::names_of_things(inputs);
        Ok(Some(untorn_symbolic::replay::replay(&log, inputs, fixed)))
    }

    fn notes(&self) -> Vec<String> {
        let why = self.workers.iter().find_map(|worker| worker.warm.why_not());
        why.map(|why| format!("every run has a JVM of its own: {why}")).into_iter().collect()
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

/// How a run is repeated, beside its description.
#[derive(Debug)]
pub struct Repeat {
    pub files: ReplayFiles,
    /// That of the recorded run.
    pub meta: RunMeta,
    /// Further options of the JVM.
    pub extra: Vec<String>,
}

/// Where the output of one worker's runs goes.
enum Streams {
    Shared,
    /// Standard output and standard error.
    Kept([PathBuf; 2]),
}

/// One JVM at a time.
pub struct Worker {
    launch: Launch,
    /// What every run has in common.
    common: Common,
    /// A run may take this long. The first one whose output is kept sets the measure for the others.
    time_limit: Option<Duration>,
    streams: Streams,
    watcher: Watcher,
    /// The JVM that makes many runs.
    warm: WarmRuns,
    /// No run goes on after this moment.
    until: Option<Instant>,
    /// When a run is ended that does not end by itself.
    stop: StopCondition,
}

impl Worker {
    /// The worker of that number, counted from one.
    pub fn new(
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
                let files = ["stdout", "stderr"].map(file);
                (Streams::Kept(files), Some(time_limit.unwrap_or(LONGEST)))
            }
        };
        let (watcher, warm, until) = (Watcher::default(), WarmRuns::off(), None);
        let stop = StopCondition::default();
        let worker = Self { launch, common, time_limit, streams, watcher, warm, until, stop };
        // A command that cannot be started is told at once, and as what it is.
        let config = worker.common.config(&RunSpec::default(), Path::new(""), &worker.launch);
        worker.launch.command(&worker.start(&config, &[]), |_| ())?;
        Ok(worker)
    }

    pub fn watch_by(&mut self, watch: Option<Watch>) {
        self.watcher = Watcher::new(watch);
    }

    /// A file that a run can read, and that is removed with this worker.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, FrontEndError> {
        Ok(self.launch.write(name, content)?)
    }

    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        let config = self.config(spec, trace)?;
        if let Some(ran) = self.run_warm(&config) {
            self.keep_plan(spec, trace);
            return ran;
        }
        let begin = Instant::now();
        let ran = self.run_fresh(spec, trace)?;
        self.try_warm(&config, &ran, begin.elapsed());
        Ok(ran)
    }

    /// Makes the run in a JVM that has made others before. `None` if it takes a fresh one.
    fn run_warm(&mut self, config: &Config) -> Option<Result<RunResult, FrontEndError>> {
        let mut warm = std::mem::replace(&mut self.warm, WarmRuns::off());
        let ran = self.warm_program(config).and_then(|program| warm.run(&program));
        self.warm = warm;
        let WarmRun { exit, progress } = ran?;
        if exit == ExitKind::TimedOut && self.is_over() {
            return Some(Err(FrontEndError::out_of_time()));
        }
        let Streams::Kept(files) = &self.streams else { return None };
        let start = self.start(config, &[]);
        let ran = self.kept_result(exit, &start, Some(progress), files);
        Some(ran.map(|ran| RunResult { warm: true, ..ran }))
    }

    /// The first run was made in a fresh JVM: does one that is used again make the same?
    fn try_warm(&mut self, config: &Config, ran: &RunResult, took: Duration) {
        if !self.warm.is_untried() {
            return;
        }
        let mut warm = std::mem::replace(&mut self.warm, WarmRuns::off());
        if let Some(program) = self.warm_program(config) {
            let output = [ran.stdout.as_slice(), &ran.stderr];
            warm.try_out(&program, &FreshRun { exit: ran.exit, output, took });
            self.warm = warm;
        }
    }

    /// Only a program whose output is kept aside can be run so.
    fn warm_program<'a>(&'a self, config: &'a Config) -> Option<warm::Program<'a>> {
        let Streams::Kept(output) = &self.streams else { return None };
        if !inputs::may_be_warm(config) {
            return None;
        }
        let start = Start { words: &self.common.command, ..self.start(config, &[]) };
        Some(warm::Program {
            launch: &self.launch,
            start,
            surroundings: &self.common.surroundings,
            output,
            patience: self.patience(),
        })
    }

    /// Whether no run may go on.
    fn is_over(&self) -> bool {
        self.until.is_some_and(|moment| Instant::now() >= moment)
    }

    /// How long a run may take that begins now.
    fn patience(&self) -> Duration {
        let longest = self.time_limit.unwrap_or(LONGEST);
        let left = self.until.map(|moment| moment.saturating_duration_since(Instant::now()));
        // Without any time at all a socket would wait for ever.
        left.map_or(longest, |left| left.min(longest)).max(Duration::from_millis(1))
    }

    fn keep_plan(&self, spec: &RunSpec, trace: &Path) {
        if let (Some(plan), Streams::Kept(_)) = (spec.steering.as_plan(), &self.streams) {
            // For who wants to see what was tried; the run does not depend on it.
            let _ = std::fs::write(trace.with_file_name("plan.txt"), plan.to_string());
        }
    }

    fn run_fresh(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.keep_plan(spec, trace);
        let config = self.config(spec, trace)?;
        self.run_by(&config, &[])
    }

    /// What a replay logs, nobody reads.
    fn with_private_log(&self, config: Config) -> Result<Config, FrontEndError> {
        let Some(folder) = config.path_log else { return Ok(config) };
        // It was made for this run.
        let _ = std::fs::remove_dir_all(folder);
        let folder = self.launch.folder().join("paths");
        make_log_folder(&folder)?;
        Ok(Config { path_log: Some(folder), ..config })
    }

    fn config(&self, spec: &RunSpec, trace: &Path) -> Result<Config, FrontEndError> {
        let mut config = self.common.config(spec, trace, &self.launch);
        if let Some(text) = spec.inputs.get(&InputPlace::StandardInput) {
            config.stdin = Some(self.launch.write("stdin", text.as_bytes())?);
        }
        if let Some(folder) = &config.path_log {
            make_log_folder(folder)?;
        }
        Ok(config)
    }

    /// Repeats a recorded run.
    pub fn repeat(
        &mut self,
        spec: &RunSpec,
        trace: &Path,
        repeat: &Repeat,
    ) -> Result<RunResult, FrontEndError> {
        let config = Config {
            // What the agent determined is determined again.
            meta: RunMeta { summary: None, ..repeat.meta.clone() },
            replay: Some(repeat.files.schedule.clone()),
            input: Some(repeat.files.input.clone()),
            ..self.config(spec, trace)?
        };
        let config = self.with_private_log(config)?;
        self.run_by(&config, &repeat.extra)
    }

    /// Repeats a recorded run of the prepared program.
    fn replay(&mut self, recorded: &RecordedRun, trace: &Path) -> Result<RunResult, FrontEndError> {
        let files = ReplayFiles {
            schedule: self.write("schedule", &recorded.schedule)?,
            input: self.write("input", &recorded.input)?,
        };
        let setup = recorded.meta.setup.clone().unwrap_or_default();
        let spec: RunSpec = serde_json::from_value(setup.run).unwrap_or_default();
        let repeat = Repeat { files, meta: recorded.meta.clone(), extra: Vec::new() };
        self.repeat(&spec, trace, &repeat)
    }

    fn start<'a>(&'a self, config: &'a Config, extra: &'a [String]) -> Start<'a> {
        let selector = &self.common.own.selector;
        Start { words: &config.meta.command, selector, config, extra }
    }

    fn run_by(&mut self, config: &Config, extra: &[String]) -> Result<RunResult, FrontEndError> {
        let begin = Instant::now();
        let ended = self.execute(config, extra)?;
        self.launch.has_written(&config.trace, ended)?;
        if matches!(self.streams, Streams::Kept(_)) {
            // A run that is steered may be much slower than one that is not, but not for ever.
            let measure = (begin.elapsed() * 20).max(Duration::from_secs(20));
            self.time_limit = self.time_limit.map(|limit| limit.min(measure));
        }
        let start = self.start(config, extra);
        match &self.streams {
            Streams::Shared => self.shared_result(ended, &start, &config.trace),
            Streams::Kept(files) => self.kept_result(ended, &start, self.launch.progress(), files),
        }
    }

    /// Runs the command as it is.
    fn run_plain(&self, inputs: &Inputs) -> Option<PlainRun> {
        let Streams::Kept([stdout, stderr]) = &self.streams else { return None };
        let words = inputs::with_inputs(&self.common.command, inputs);
        let (name, arguments) = words.split_first()?;
        let mut command = Command::new(name);
        self.common.surroundings.apply(&mut command);
        if is_junit(&self.common.command) {
            // The runner of tests is a class of the agent.
            command.arg(format!("-agentpath:{}={CLASSES_ONLY}", find_agent().ok()?.display()));
        }
        command.envs(inputs::variables(inputs)).args(arguments);
        match inputs.get(&InputPlace::StandardInput) {
            Some(text) => {
                let path = self.launch.write("stdin", text.as_bytes()).ok()?;
                command.stdin(opened(&path).ok()?)
            }
            None => command.stdin(Stdio::null()),
        };
        command.stdout(created(stdout).ok()?).stderr(created(stderr).ok()?);
        let exit = match self.run_command(&mut command, &mut || ()) {
            (Ok(Ending::Ended(status)), _) => status.into(),
            (Ok(Ending::Stopped), client) => client.map_or(ExitKind::Exit(0), ExitKind::from),
            _ => return None,
        };
        let output = [kept(stdout), kept(stderr)].concat();
        Some(PlainRun { exit, output: String::from_utf8_lossy(&output).into_owned() })
    }

    /// Runs a command until it ends or is ended, and with it the client of a server. Gives also how that ended.
    fn run_command(
        &self,
        command: &mut Command,
        look: &mut dyn FnMut(),
    ) -> (Result<Ending, ProcessError>, Option<ExitStatus>) {
        let limits = Limits { time: self.time_limit, until: self.until };
        if self.stop.is_none() {
            return (processes::run_to_end(command, limits, look), None);
        }
        let mut stopper = Stopper::new(&self.stop, self.stop_streams());
        let ended = processes::run_until(command, limits, &mut || {
            look();
            stopper.look()
        });
        (ended, stopper.finish())
    }

    /// Where the output of a program goes of which somebody waits for what it says.
    fn stop_streams(&self) -> StopStreams {
        match &self.streams {
            Streams::Kept(output) => StopStreams {
                output: output.clone(),
                is_shared: false,
                client: output[0].with_file_name("client.txt"),
            },
            Streams::Shared => {
                let file = |name| self.launch.folder().join(name);
                let output = ["stdout", "stderr"].map(file);
                StopStreams { output, is_shared: true, client: file("client") }
            }
        }
    }

    /// Runs the command to its end.
    fn execute(&mut self, config: &Config, extra: &[String]) -> Result<ExitKind, FrontEndError> {
        let start = self.start(config, extra);
        let apply = |command: &mut Command| {
            self.common.surroundings.apply(command);
            command.envs(inputs::variables(&config.spec.inputs));
        };
        let mut command = self.launch.command(&start, apply)?;
        match (&config.stdin, &self.streams) {
            (Some(path), _) => command.stdin(opened(path)?),
            (None, Streams::Shared) => command.stdin(Stdio::inherit()),
            (None, Streams::Kept(_)) => command.stdin(Stdio::null()),
        };
        let is_watched = self.stop.until.is_some();
        if matches!(self.streams, Streams::Kept(_)) || is_watched {
            let [stdout, stderr] = self.stop_streams().output;
            command.stdout(created(&stdout)?).stderr(created(&stderr)?);
        }
        let mut watcher = std::mem::take(&mut self.watcher);
        let mut look = || watcher.look(|| self.launch.progress());
        let (ended, client) = self.run_command(&mut command, &mut look);
        self.watcher = watcher;
        match ended {
            Ok(ending) => ending.exit(client, matches!(self.streams, Streams::Shared)),
            Err(ProcessError::Interrupted) => Err(processes::interrupted()),
            Err(ProcessError::Start(error)) => Err(self.not_started(&error)),
            Err(ProcessError::Lost(error)) => {
                Err(FrontEndError::run(format!("lost the program: {error}")))
            }
        }
    }

    /// The system did not start the command.
    fn not_started(&self, error: &std::io::Error) -> FrontEndError {
        let name = &self.common.command[0];
        if error.kind() == std::io::ErrorKind::NotFound {
            return LaunchError::NotFound(name.clone()).into();
        }
        FrontEndError::run(format!("cannot start '{name}': {error}"))
    }

    /// What is left of a run whose output somebody has seen already.
    fn shared_result(
        &self,
        ended: ExitKind,
        start: &Start<'_>,
        trace: &Path,
    ) -> Result<RunResult, FrontEndError> {
        if ended == ExitKind::Exit(NO_TEST_EXIT) && is_junit(start.words) {
            return Err(FrontEndError::input_reported("there is no such test"));
        }
        let late = which_jvm::only_one(&self.launch, start)?;
        let Some(Progress { deadlock, fault, mut notes, observed, .. }) = self.launch.progress()
        else {
            return Err(no_agent([format!("it ended with {ended}")]));
        };
        notes.extend(late);
        // Whoever reads the trace is told why it cannot be read.
        let summary = RecordedTrace::read(trace).ok().and_then(|said| said.meta.summary);
        let summary = summary.unwrap_or_default();
        let exit = if deadlock { ExitKind::Deadlock } else { ended };
        Ok(RunResult { fault, notes, observed, ..said_by(&summary, exit) })
    }

    /// What is left of a run that nobody has seen.
    fn kept_result(
        &self,
        ended: ExitKind,
        start: &Start<'_>,
        said: Option<Progress>,
        files: &[PathBuf; 2],
    ) -> Result<RunResult, FrontEndError> {
        let trace = &start.config.trace;
        let [mut stdout, stderr] = [kept(&files[0]), kept(&files[1])];
        if start.is_indirect_launch() {
            stdout = noise::without(&stdout);
        }
        let output = String::from_utf8_lossy(&stderr);
        if ended == ExitKind::Exit(NO_TEST_EXIT) && is_junit(start.words) {
            return Err(no_test(&output));
        }
        if ended != ExitKind::TimedOut {
            which_jvm::only_one(&self.launch, start).map_err(|error| {
                error.details([format!("what it printed: {}", files[0].display())])
            })?;
        }
        let first_lines = || output.lines().take(8).map(str::to_owned);
        let Some(Progress { deadlock, fault, notes, observed, .. }) = said else {
            return Err(no_agent(first_lines()));
        };
        let said = RecordedTrace::read(trace)
            .map_err(|error| FrontEndError::run(format!("the trace cannot be read: {error}")))?;
        let summary = said.meta.summary.unwrap_or_default();
        // The object of a scenario may be one of the JDK.
        let needs_application = said.cut.is_none() && !is_scenario(start.words);
        if summary.coverage.application_classes == 0 && needs_application {
            return Err(FrontEndError::run(
                "nothing of the application was recorded, so nothing was checked",
            )
            .details(first_lines())
            .way_out(
                "check the command; `--instrument` adds classes, `--exclude` may have hidden them",
            ));
        }
        let exit = if deadlock { ExitKind::Deadlock } else { ended };
        let (preemptions, uncaught) = (preemptions(trace), exceptions(&stderr));
        let result = said_by(&summary, exit);
        Ok(RunResult { stdout, stderr, uncaught, preemptions, fault, notes, observed, ..result })
    }
}

/// What the trace says of its run.
fn said_by(summary: &RecordingSummary, exit: ExitKind) -> RunResult {
    let followed = summary.followed.clone();
    RunResult { followed, unseen: RecordingGap::of(summary), ..RunResult::new(exit) }
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

fn no_agent(details: impl IntoIterator<Item = String>) -> FrontEndError {
    FrontEndError::run("the JVM did not start with the agent, so nothing was recorded")
        .details(details)
        .way_out("Java 11 or newer is needed; `java -version` tells")
}

/// What the class that runs tests has printed, as an error of our own.
fn no_test(said: &str) -> FrontEndError {
    let mut lines = said.lines().skip_while(|line| !line.starts_with(COMPLAINT));
    let what = lines.next().and_then(|line| line.strip_prefix(COMPLAINT)).unwrap_or("no such test");
    let more = lines.take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned());
    FrontEndError::input(what).details(more)
}
