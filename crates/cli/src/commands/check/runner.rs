//! Runs a Java program for the chase: quietly, with its output kept aside.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use untorn_frontend::{ExitKind, FrontEnd, FrontEndError, RunResult};
use untorn_jvm::config::Config;
use untorn_jvm::launch::{Launch, Start};
use untorn_jvm::{DEADLOCK_EXIT, NO_TEST_EXIT, SCHEDULE};
use untorn_schedule::{RunSpec, Schedule};
use untorn_trace::RecordingSummary;
use untorn_trace::formats::utr;

use super::config::Check;
use super::noise;
use crate::commands::record::agent_config;
use crate::commands::record::config::Record;
use crate::exit::{Failure, PREFIX};
use crate::jvms;
use crate::reading::last_meta;
use crate::run::{not_started, refused};
use untorn_frontend::Surroundings;
use untorn_frontend::processes;

/// Time for a program that was asked to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// How often it is looked whether a program has ended.
const TICK: Duration = Duration::from_millis(5);

/// Output that is kept of one run; more is no help to anybody.
const MAX_OUTPUT: u64 = 1 << 20;

/// As many JVMs as may run at once.
pub struct JvmRunner {
    workers: Vec<Worker>,
}

impl JvmRunner {
    pub fn new(check: &Check, folder: &Path) -> Result<Self, Failure> {
        let jobs = check.options.jobs.max(1);
        let workers: Result<Vec<Worker>, Failure> =
            (1..=jobs).map(|number| Worker::new(check, folder, number)).collect();
        Ok(Self { workers: workers? })
    }

    /// Why a run could not be made, with its exit code.
    pub fn failure(&mut self) -> Option<Failure> {
        self.workers.iter_mut().find_map(|worker| worker.failure.take())
    }
}

impl FrontEnd for JvmRunner {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.workers[0].run(spec, trace)
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

/// One JVM at a time.
struct Worker {
    launch: Launch,
    surroundings: Surroundings,
    /// What every run has in common.
    record: Record,
    /// A run may take this long. The first one sets the measure for the others.
    patience: Duration,
    output: [PathBuf; 2],
    /// Why the last run could not be made.
    failure: Option<Failure>,
}

impl Worker {
    fn new(check: &Check, folder: &Path, number: usize) -> Result<Self, Failure> {
        let launch = Launch::prepare().map_err(|error| refused(&error))?;
        let record = Record {
            out: PathBuf::new(),
            spec: RunSpec::default(),
            scope: check.scope.clone(),
            patience_ms: 200,
            // Several on one processor would be slower than none at all.
            pin: check.options.jobs <= 1,
            quiet: true,
            program: check.program.clone(),
        };
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let output = ["stdout", "stderr"].map(|name| folder.join(format!("{name}{suffix}.txt")));
        let patience = check.run_time.unwrap_or(Duration::from_secs(600));
        let surroundings = Surroundings::at(check.program.directory.as_deref());
        // A command that cannot be started is told at once, and as what it is.
        let config = agent_config(&record, &surroundings, &launch);
        launch.command(&record.program.start(&config), |_| ()).map_err(|error| refused(&error))?;
        Ok(Self { launch, surroundings, record, patience, output, failure: None })
    }

    fn start(&self, config: &Config) -> Result<Child, Failure> {
        let start = self.record.program.start(config);
        let mut command = self
            .launch
            .command(&start, |command| self.surroundings.apply(command))
            .map_err(|error| refused(&error))?;
        let file = |path: &PathBuf| {
            File::create(path)
                .map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display())))
        };
        command.stdin(Stdio::null()).stdout(file(&self.output[0])?).stderr(file(&self.output[1])?);
        command.spawn().map_err(|error| not_started(&start, &error))
    }

    /// Waits for the end of the program, and makes it end when it takes too long.
    fn wait(&self, mut child: Child) -> Result<ExitKind, Failure> {
        if let Some(ended) = await_end(&mut child, self.patience)? {
            return Ok(ended);
        }
        // A JVM that is asked to end does so in order, and the trace is whole.
        let all = processes::tree(&child);
        processes::signal(&all, Signal::TERM);
        let begin = Instant::now();
        // A script is gone at once; its JVM still has to close the trace.
        while begin.elapsed() < FAREWELL && processes::any_is_alive(&all) {
            await_end(&mut child, TICK)?;
        }
        processes::signal(&all, Signal::KILL);
        // Whether it has just ended by itself makes no difference.
        let _ = child.wait();
        Ok(ExitKind::TimedOut)
    }

    fn run_once(&mut self, trace: &Path) -> Result<RunResult, Failure> {
        self.record.out = trace.to_owned();
        let config = agent_config(&self.record, &self.surroundings, &self.launch);
        let begin = Instant::now();
        let ended = self.wait(self.start(&config)?)?;
        // A run that is steered may be much slower than one that is not, but not for ever.
        let measure = (begin.elapsed() * 20).max(Duration::from_secs(20));
        self.patience = self.patience.min(measure);
        let [mut stdout, stderr] = [self.kept(0), self.kept(1)];
        let start = self.record.program.start(&config);
        if start.is_indirect_launch() {
            stdout = noise::without(&stdout);
        }
        let ended = self.ending(ended, &start, &stderr)?;
        self.ran(trace, ended, [stdout, stderr])
    }

    /// How the program ended by the agent's word; an error if it is not the one that was meant.
    fn ending(
        &self,
        ended: ExitKind,
        start: &Start<'_>,
        stderr: &[u8],
    ) -> Result<ExitKind, Failure> {
        let output = String::from_utf8_lossy(stderr);
        if ended == ExitKind::Exit(NO_TEST_EXIT) && self.record.program.is_junit() {
            return Err(no_test(&output));
        }
        if ended != ExitKind::TimedOut {
            jvms::only_one(&self.launch, start).map_err(|failure| {
                failure.details([format!("what it printed: {}", self.output[0].display())])
            })?;
        }
        match self.launch.progress() {
            Some(said) if said.deadlock => Ok(ExitKind::Deadlock),
            Some(_) => Ok(ended),
            None => {
                Err(Failure::run("the JVM did not start with the agent, so nothing was recorded")
                    .details(output.lines().take(8).map(str::to_owned))
                    .way_out("Java 11 or newer is needed; `java -version` tells"))
            }
        }
    }

    /// What is left of the run.
    fn ran(
        &self,
        trace: &Path,
        ended: ExitKind,
        [stdout, stderr]: [Vec<u8>; 2],
    ) -> Result<RunResult, Failure> {
        let said = last_meta(trace)
            .map_err(|error| Failure::run(format!("the trace cannot be read: {error}")))?;
        let summary = said.meta.summary.unwrap_or_default();
        if summary.coverage.application_classes == 0 && said.cut.is_none() {
            let output = String::from_utf8_lossy(&stderr);
            return Err(Failure::run(
                "nothing of the application was recorded, so nothing was checked",
            )
            .details(output.lines().take(8).map(str::to_owned))
            .way_out(
                "check the command; `--instrument` adds classes, `--exclude` may have hidden them",
            ));
        }
        let (preemptions, unseen) = (preemptions(trace), unseen(&summary));
        let followed = summary.followed;
        let uncaught = exceptions(&stderr);
        Ok(RunResult { exit: ended, stdout, stderr, uncaught, followed, preemptions, unseen })
    }

    fn kept(&self, index: usize) -> Vec<u8> {
        use std::io::Read;
        let mut bytes = Vec::new();
        if let Ok(file) = File::open(&self.output[index]) {
            // What cannot be read is not compared.
            let _ = file.take(MAX_OUTPUT).read_to_end(&mut bytes);
        }
        bytes
    }
}

/// What the class that runs tests has printed, as an error of our own.
fn no_test(said: &str) -> Failure {
    let mut lines = said.lines().skip_while(|line| !line.starts_with(PREFIX));
    let what = lines.next().and_then(|line| line.strip_prefix(PREFIX)).unwrap_or("no such test");
    let more = lines.take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned());
    Failure::input(what).details(more)
}

/// How the program ended, if it did within that time.
fn await_end(child: &mut Child, patience: Duration) -> Result<Option<ExitKind>, Failure> {
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(ended(status))),
            Ok(None) if begin.elapsed() < patience => std::thread::sleep(TICK),
            Ok(None) => return Ok(None),
            Err(error) => return Err(Failure::run(format!("lost the program: {error}"))),
        }
    }
}

fn ended(status: ExitStatus) -> ExitKind {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(DEADLOCK_EXIT), _) => ExitKind::Deadlock,
        (Some(code), _) => ExitKind::Exit(code),
        (None, signal) => ExitKind::Signal(signal.unwrap_or(0)),
    }
}

/// The first lines of stack traces that the JVM printed.
fn exceptions(stderr: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stderr);
    text.lines()
        .filter_map(|line| line.strip_prefix("Exception in thread "))
        // The name of the thread says nothing of what happened.
        .filter_map(|line| Some(line.strip_prefix('"')?.split_once("\" ")?.1.trim().to_owned()))
        .collect()
}

/// How often the schedule of a trace stopped a thread that could go on.
fn preemptions(trace: &Path) -> Option<u64> {
    let schedule = utr::extras(trace, SCHEDULE).ok()?;
    Some(Schedule::preemptions(&Schedule::decode(&schedule).ok()?))
}

/// What was not recorded and cannot be found torn.
pub fn unseen(summary: &RecordingSummary) -> Vec<String> {
    let coverage = &summary.coverage;
    let skipped = coverage.skipped.iter().map(|line| format!("not instrumented: {line}"));
    let used = coverage.unseen.iter().map(|line| format!("used, but not seen: {line}"));
    let mut out: Vec<String> = skipped.chain(used).collect();
    if summary.uncontrolled_threads > 0 {
        out.push("threads that the JVM itself started ran without control".to_owned());
    }
    if summary.virtual_threads_unseen > 0 {
        out.push("virtual threads ran without control".to_owned());
    }
    out
}

impl Worker {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.record.spec.clone_from(spec);
        if let Some(plan) = spec.control.as_plan() {
            // For who wants to see what was tried; the run does not depend on it.
            let _ = std::fs::write(trace.with_file_name("plan.txt"), plan.to_string());
        }
        self.run_once(trace).map_err(|failure| {
            let error = FrontEndError::run(failure.to_string());
            self.failure = Some(failure);
            error
        })
    }
}
