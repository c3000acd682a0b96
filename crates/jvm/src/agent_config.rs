//! The configuration of the agent; what a replay needs of it is stored in the trace.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use untorn_frontend::{FrontEndError, Owner, Program, RecordedRun, Surroundings};
use untorn_jvm_protocol::config::{Config, JvmSetup};
use untorn_linearizability::Scenario;
use untorn_schedule::RunSpec;
use untorn_trace::RunMeta;

use crate::class_files::checksums;
use crate::front_end::NAME;
use crate::inputs;
use crate::launch::{Launch, is_indirect_launch};

/// What all runs of a prepared program have in common.
#[derive(Clone, Debug)]
pub struct Common {
    pub command: Vec<String>,
    pub own: JvmSetup,
    pub surroundings: Surroundings,
    pub watchdog: Duration,
    pub pin: bool,
}

impl Common {
    /// # Errors
    /// If the options are not those of this front end.
    pub fn new(program: &Program, watchdog: Duration, pin: bool) -> Result<Self, FrontEndError> {
        let mut own = own_options(&program.options)?;
        // What a script starts, we do not know.
        if !is_indirect_launch(&program.command, &own.selector) {
            own.class_files = checksums(&program.command, program.directory.as_deref());
        }
        let surroundings = Surroundings::of(program);
        Ok(Self { command: program.command.clone(), own, surroundings, watchdog, pin })
    }

    /// For one run.
    pub fn config(&self, spec: &RunSpec, trace: &Path, launch: &Launch) -> Config {
        let words = inputs::with_inputs(&self.command, &spec.inputs);
        let mut surroundings = self.surroundings.clone();
        surroundings.environment.extend(inputs::variables(&spec.inputs));
        let meta = RunMeta {
            command: words,
            seed: Some(spec.seed),
            front_end: NAME.to_owned(),
            ..RunMeta::default()
        };
        let meta = surroundings.describe(meta, json!(spec), json!(self.own));
        Config {
            trace: std::path::absolute(trace).unwrap_or_else(|_| trace.to_owned()),
            progress: launch.progress_file(),
            meta,
            spec: spec.clone(),
            scope: self.own.scope.clone(),
            replay: None,
            input: None,
            stdin: None,
            arguments: inputs::arguments(&self.command, &spec.inputs),
            path_log: spec.path_log.then(|| path_log_of(trace)),
            patience_ms: self.watchdog.as_millis() as u64,
            pin: self.pin,
            owner: Owner::this_process(),
            tool_options: None,
            server: None,
            scenario: self.own.scenario.clone(),
        }
    }
}

/// Where a run whose trace is there logs what its threads compute.
pub fn path_log_of(trace: &Path) -> PathBuf {
    let trace = std::path::absolute(trace).unwrap_or_else(|_| trace.to_owned());
    trace.with_extension("paths")
}

/// # Errors
/// If the options are not those of this front end.
pub fn own_options(options: &serde_json::Value) -> Result<JvmSetup, FrontEndError> {
    serde_json::from_value(options.clone()).map_err(|error| {
        FrontEndError::input(format!("these are no options of a Java program: {error}"))
    })
}

/// The scenario of a recorded run, if it was one.
pub fn scenario_of(meta: &RunMeta) -> Option<Scenario> {
    let own = own_options(&meta.setup.as_ref()?.front_end).ok()?;
    Scenario::parse(&own.scenario?)
}

/// The files that a replay reads.
#[derive(Clone, Debug)]
pub struct ReplayFiles {
    pub schedule: PathBuf,
    pub input: PathBuf,
}

/// What repeats a recorded run: what all runs would have in common, and the one description.
pub fn of_recorded(recorded: &RecordedRun, watchdog: Duration) -> (Common, RunSpec) {
    let setup = recorded.meta.setup.clone().unwrap_or_default();
    let common = Common {
        command: recorded.meta.command.clone(),
        own: serde_json::from_value(setup.front_end).unwrap_or_default(),
        surroundings: recorded.surroundings(),
        watchdog,
        pin: true,
    };
    (common, serde_json::from_value(setup.run).unwrap_or_default())
}

/// An empty folder for a path log.
pub fn make_log_folder(folder: &Path) -> Result<(), FrontEndError> {
    untorn_jvm_protocol::path_log::make_folder(folder)
        .map_err(|error| FrontEndError::run(format!("cannot write {}: {error}", folder.display())))
}

/// A file that a run reads.
pub fn opened(path: &Path) -> Result<std::fs::File, FrontEndError> {
    std::fs::File::open(path)
        .map_err(|error| FrontEndError::run(format!("cannot read {}: {error}", path.display())))
}
