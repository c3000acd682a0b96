//! The seam between the loop that looks for violations and whatever runs the program.
//!
//! A front end is a crate with two types. One implements [`FrontEndKind`]: it prepares programs, and replays
//! what it recorded. The other implements [`FrontEnd`]: a program that is ready, which is run in the way that a
//! [`RunSpec`] describes and leaves a trace. Nothing above this crate knows which front end it is; a trace says by
//! which it was recorded ([`RunMeta::front_end`](untorn_trace::RunMeta)), and the command line has the only list.

pub mod compare;
mod error;
pub mod folder;
mod own_code;
pub mod processes;
mod program;
mod recorded;
mod result;
pub mod seal;
mod stop;
pub mod surroundings;
pub mod termination;

use std::path::{Path, PathBuf};
use std::time::Instant;

use untorn_schedule::{Inputs, RunSpec};

pub use error::{FrontEndError, FrontEndErrorKind};
pub use folder::PrivateFolder;
pub use own_code::OwnCode;
pub use program::{InstallationLine, Output, Program, ReplayOptions, RunOptions, Watch, Watcher};
pub use recorded::{RecordedRun, RecordedTrace};
pub use result::{ExitKind, PlainRun, RecordingGap, RunResult, UncaughtException, mask_noise};
pub use stop::{StopCondition, StopStreams, Stopper};
pub use surroundings::Surroundings;
pub use untorn_runtime_protocol::{Owner, Progress};

/// A program that is ready to be run: what [`FrontEndKind::prepare`] gives.
///
/// Protocol: [`FrontEnd::run`] as often as wanted, each time with another trace file. Two runs by the same
/// description are the same run, if the program depends on nothing that the front end does not control.
pub trait FrontEnd {
    /// Runs the program to its end; its trace is then at `trace`.
    ///
    /// # Errors
    /// If it could not be run at all. A program that fails is an [`ExitKind`].
    fn run(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError>;

    /// The same in a process of its own, whatever [`FrontEnd::run`] does to make runs cheap.
    ///
    /// # Errors
    /// As [`FrontEnd::run`].
    fn run_fresh(&mut self, spec: &RunSpec, trace: &Path) -> Result<RunResult, FrontEndError> {
        self.run(spec, trace)
    }

    /// From now on every run has a process of its own, for this reason.
    fn use_fresh_only(&mut self, _why: &str) {}

    /// Repeats a recorded run of this program to its end, in a process of its own, by the schedule and the input of
    /// its trace. Whether it was the same run is to be seen by the new trace: [`compare::compare`].
    ///
    /// # Errors
    /// If the trace has no schedule, and as [`FrontEnd::run`].
    fn replay(&mut self, recorded: &Path, again: &Path) -> Result<RunResult, FrontEndError>;

    /// Runs the program as it is: nothing is recorded, and the system decides which thread runs. `None` if that could not
    /// be done, or did not end in time. What the inputs say nothing of is as it would be for the user.
    fn run_plain(&mut self, _inputs: &Inputs) -> Option<PlainRun> {
        None
    }

    /// Whether the program tests itself, and says by its exit code whether all is well: then an exception that ends a
    /// thread may be meant.
    fn is_test(&self) -> bool {
        false
    }

    /// Which code belongs to the project that is run. It is looked at first.
    fn own_code(&self) -> OwnCode {
        OwnCode::default()
    }

    /// No run goes on after this moment: the next ones are ended there, and give [`FrontEndErrorKind::OutOfTime`].
    fn end_by(&mut self, moment: Option<Instant>);

    /// Runs the program several times, at once if it can. Gives what came of each, in order.
    fn run_all(&mut self, calls: &[(RunSpec, PathBuf)]) -> Vec<Result<RunResult, FrontEndError>> {
        calls.iter().map(|(spec, trace)| self.run(spec, trace)).collect()
    }

    /// The runs from now on have other options of the same program; see [`Program::options`].
    ///
    /// # Errors
    /// If they are none that this front end understands, or could change now.
    fn set_options(&mut self, options: &serde_json::Value) -> Result<(), FrontEndError> {
        Err(FrontEndError::run(format!("options cannot be changed any more: {options}")))
    }

    /// What the program is given from outside and a run may replace: [`RunSpec::inputs`].
    fn inputs(&self) -> Inputs {
        Inputs::none()
    }

    /// What the threads of a run did that was made with [`RunSpec::path_log`], by its trace; `inputs` are all that are known
    /// of that run. `None` if this front end cannot tell. What was logged is removed.
    ///
    /// # Errors
    /// If it cannot be read.
    fn path(
        &mut self,
        _trace: &Path,
        _inputs: &Inputs,
    ) -> Result<Option<untorn_symbolic::Path>, FrontEndError> {
        Ok(None)
    }

    /// What the user should know of how the runs were made.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A way to run programs and to record them: one for the JVM, one for native code.
///
/// Protocol: whoever has a program calls [`FrontEndKind::prepare`] and runs what it gives. Whoever has a trace takes
/// the kind whose [`FrontEndKind::name`] the trace has, and calls [`FrontEndKind::replay`]. No call depends on an
/// earlier one.
pub trait FrontEndKind {
    /// What [`RunMeta::front_end`](untorn_trace::RunMeta) says of the traces that this one records.
    fn name(&self) -> &'static str;

    /// Makes a program ready, and finds out whether it can be started at all.
    ///
    /// # Errors
    /// If it cannot, or if [`Program::options`] are not what this front end understands.
    fn prepare(
        &self,
        program: &Program,
        options: RunOptions,
    ) -> Result<Box<dyn FrontEnd>, FrontEndError>;

    /// Repeats a recorded run to its end, by the schedule and the input of its trace. Whether it was the same run is
    /// to be seen by the new trace.
    ///
    /// # Errors
    /// If the program could not be run at all.
    fn replay(
        &self,
        recorded: &RecordedRun,
        options: ReplayOptions,
    ) -> Result<RunResult, FrontEndError>;

    /// What `untorn doctor` says of the installation that would run the program.
    fn facts(&self, program: &Program) -> Vec<InstallationLine>;
}
