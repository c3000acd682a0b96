//! A front end without a program: small programs, written as text, run by an interpreter under the real
//! scheduler.
//!
//! It leaves the same traces, schedules and results as a real front end, in microseconds, so that everything
//! above the front ends can be tested without one. See [`program`] for the language.

mod machine;
pub mod program;
mod recording;

use std::path::{Path, PathBuf};
use std::time::Instant;

use untorn_frontend::{FrontEnd, FrontEndError, OwnCode, PlainRun, RecordedRun, RunResult};
use untorn_schedule::{Inputs, Mode, Options, RunSpec, Schedule, Scheduler, Steering};

use machine::Machine;
use program::{Program, ProgramError};

/// A program, ready to be run.
#[derive(Clone, Debug)]
pub struct Simulated {
    program: Program,
    /// The descriptions of all runs so far.
    pub runs: Vec<RunSpec>,
    /// The run with this number, counted from 1, cannot be made.
    pub fails_at: Option<usize>,
    /// Runs say that they were made in a process that had made runs before, unless it must be a fresh one.
    pub warm: bool,
    /// Runs in a warm process are those of another seed: a fresh one repeats them by their order alone.
    pub warm_seeds: bool,
    /// Runs in a fresh process ignore what they are asked for: nothing can be repeated.
    pub unrepeatable: bool,
    /// What comes of the program if nobody records it; not known if there is none.
    pub plain: Option<PlainRun>,
    /// Whether it says by its exit code whether all is well.
    pub is_test: bool,
    /// What of it belongs to the project.
    pub own_code: OwnCode,
    /// Runs that had to be made in a fresh process.
    pub fresh_runs: usize,
    /// Why all runs have to be made in a fresh process.
    pub fresh_only: Option<String>,
    /// So many runs were replayed.
    pub replays: usize,
    /// Runs that begin after this one are ended, because time is over.
    pub ends_after: Option<usize>,
    /// When no run may go on.
    pub until: Option<Instant>,
}

impl Simulated {
    /// # Errors
    /// If the text is no program.
    pub fn new(text: &str) -> Result<Self, ProgramError> {
        Ok(Self {
            program: text.parse()?,
            runs: Vec::new(),
            fails_at: None,
            warm: false,
            warm_seeds: false,
            unrepeatable: false,
            plain: None,
            is_test: false,
            own_code: OwnCode::default(),
            fresh_runs: 0,
            fresh_only: None,
            replays: 0,
            ends_after: None,
            until: None,
        })
    }

    /// Repeats a run by its schedule.
    ///
    /// # Errors
    /// If the trace cannot be written.
    pub fn replay_schedule(
        &mut self,
        schedule: Schedule,
        trace: &Path,
    ) -> Result<RunResult, FrontEndError> {
        self.make(&RunSpec::default(), Mode::Replay(schedule), trace)
    }

    fn make(&self, spec: &RunSpec, mode: Mode, trace: &Path) -> Result<RunResult, FrontEndError> {
        let options = Options { seed: spec.seed, quantum: spec.quantum, ..Options::default() };
        let mut scheduler = Scheduler::new(mode, options);
        if let Steering::Marks { marks, .. } = &spec.steering {
            scheduler.mark(marks);
        }
        let run = Machine::new(&self.program, scheduler, &spec.steering).run();
        let path: PathBuf = trace.to_owned();
        let result = run
            .write(spec, trace)
            .map_err(|error| FrontEndError::run(format!("{}: {error}", path.display())))?;
        let number = self.runs.len() + self.fresh_runs + self.replays;
        let stdout =
            String::from_utf8_lossy(&result.stdout).replace("$process", &number.to_string());
        Ok(RunResult { stdout: stdout.into_bytes(), ..result })
    }
}

impl Simulated {
    fn run_by(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        let mode = match &spec.steering {
            Steering::Policy(policy) | Steering::Marks { policy, .. } => Mode::Policy(*policy),
            Steering::Plan { plan, policy } => Mode::Plan(plan.clone(), *policy),
        };
        self.make(spec, mode, trace)
    }
}

impl FrontEnd for Simulated {
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.runs.push(spec.clone());
        if self.fails_at == Some(self.runs.len()) {
            return Err(FrontEndError::run("the program cannot be started"));
        }
        if self.until.is_some() && self.ends_after.is_some_and(|last| self.runs.len() > last) {
            return Err(FrontEndError::out_of_time());
        }
        if self.fresh_only.is_some() {
            return self.run_fresh(spec, trace);
        }
        let warm = self.warm;
        let seed = if warm && self.warm_seeds { !spec.seed } else { spec.seed };
        let spec = RunSpec { seed, ..spec.clone() };
        self.run_by(&spec, trace).map(|result| RunResult { warm, ..result })
    }

    fn own_code(&self) -> OwnCode {
        self.own_code.clone()
    }

    fn use_fresh_only(&mut self, why: &str) {
        self.fresh_only = Some(why.to_owned());
    }

    fn run_fresh(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.fresh_runs += 1;
        let other = RunSpec::default();
        self.run_by(if self.unrepeatable { &other } else { spec }, trace)
    }

    fn replay(&mut self, recorded: &Path, again: &Path) -> Result<RunResult, FrontEndError> {
        self.replays += 1;
        let recorded = RecordedRun::read(recorded)?;
        let steps = Schedule::decode(&recorded.schedule)
            .map_err(|error| FrontEndError::input(format!("no schedule: {error}")))?;
        match self.unrepeatable {
            true => self.run_by(&RunSpec::default(), again),
            false => self.replay_schedule(Schedule { steps }, again),
        }
    }

    fn run_plain(&mut self, _: &Inputs) -> Option<PlainRun> {
        self.plain.clone()
    }

    fn is_test(&self) -> bool {
        self.is_test
    }

    fn end_by(&mut self, moment: Option<Instant>) {
        self.until = moment;
    }
}
