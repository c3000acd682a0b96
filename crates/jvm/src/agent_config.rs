//! The configuration of the agent; what a replay needs of it is stored in the trace.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use untorn_frontend::{FrontEndError, Owner, Program, RecordedRun, Surroundings};
use untorn_jvm_protocol::config::{Config, JvmSetup};
use untorn_schedule::RunSpec;
use untorn_trace::{RunMeta, RunSetup};

use crate::front_end::NAME;
use crate::launch::Launch;

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
        let own = serde_json::from_value(program.options.clone()).map_err(|error| {
            FrontEndError::input(format!("these are no options of a Java program: {error}"))
        })?;
        let surroundings = Surroundings::at(program.directory.as_deref());
        Ok(Self { command: program.command.clone(), own, surroundings, watchdog, pin })
    }

    /// For one run.
    pub fn config(&self, spec: &RunSpec, trace: &Path, launch: &Launch) -> Config {
        let meta = RunMeta {
            command: self.command.clone(),
            seed: Some(spec.seed),
            front_end: NAME.to_owned(),
            setup: Some(RunSetup {
                directory: self.surroundings.directory.clone(),
                environment: self.surroundings.environment.clone(),
                run: json!(spec),
                front_end: json!(self.own),
            }),
            ..RunMeta::default()
        };
        Config {
            trace: std::path::absolute(trace).unwrap_or_else(|_| trace.to_owned()),
            progress: launch.progress_file(),
            meta,
            spec: spec.clone(),
            scope: self.own.scope.clone(),
            replay: None,
            input: None,
            patience_ms: self.watchdog.as_millis() as u64,
            pin: self.pin,
            owner: Owner::this_process(),
            tool_options: None,
            server: None,
        }
    }
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
