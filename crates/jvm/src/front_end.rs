//! The front end for programs that run in a JVM.

use std::path::Path;
use std::time::Duration;

use untorn_frontend::{
    FrontEnd, FrontEndError, FrontEndKind, InstallationLine, Output, Program, RecordedRun,
    ReplayOptions, RunOptions, RunResult,
};
use untorn_jvm_protocol::config::JvmSetup;
use untorn_jvm_protocol::java_home::release_of;

use crate::agent_config::{self, ReplayFiles};
use crate::jdk::find_program;
use crate::launch::is_indirect_launch;
use crate::runner::{JvmRunner, Repeat, Worker};

/// What traces of this front end say.
pub const NAME: &str = "jvm";

/// Time without an event after which a replay looks whether it still goes on: more than when recording, because it may
/// wait for what its schedule says.
const REPLAY_WATCHDOG: Duration = Duration::from_millis(500);

/// A debugger stops the program for as long as somebody looks at it.
const DEBUGGER_WATCHDOG: Duration = Duration::from_millis(u32::MAX as u64);

/// Java programs, and whatever else runs in a JVM of Java 11 or newer: started by `java` itself, or by a command that
/// starts it. [`Program::options`] is a [`JvmSetup`].
#[derive(Clone, Copy, Debug)]
pub struct Jvm;

impl FrontEndKind for Jvm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(
        &self,
        program: &Program,
        options: RunOptions,
    ) -> Result<Box<dyn FrontEnd>, FrontEndError> {
        Ok(Box::new(JvmRunner::new(program, options)?))
    }

    fn replay(
        &self,
        recorded: &RecordedRun,
        options: ReplayOptions,
    ) -> Result<RunResult, FrontEndError> {
        let ReplayOptions { trace, debugger, watch } = options;
        let watchdog = if debugger.is_some() { DEBUGGER_WATCHDOG } else { REPLAY_WATCHDOG };
        let (common, spec) = agent_config::of_recorded(recorded, watchdog);
        let mut worker = Worker::new(common, Output::Shared, 1, None)?;
        let files = ReplayFiles {
            schedule: worker.write("schedule", &recorded.schedule)?,
            input: worker.write("input", &recorded.input)?,
        };
        let wait = |port| {
            format!(
                "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:{port}"
            )
        };
        let repeat = Repeat {
            files,
            meta: recorded.meta.clone(),
            extra: debugger.map(wait).into_iter().collect(),
        };
        worker.watch_by(watch);
        worker.repeat(&spec, &trace, &repeat)
    }

    fn facts(&self, program: &Program) -> Vec<InstallationLine> {
        let own: JvmSetup = serde_json::from_value(program.options.clone()).unwrap_or_default();
        match program.command.first() {
            // Which one a script takes, we do not know.
            Some(java) if !is_indirect_launch(&program.command, &own.selector) => {
                vec![InstallationLine { about: "java", text: version(java) }]
            }
            _ => Vec::new(),
        }
    }
}

/// The release of Java, from its installation.
fn version(java: &str) -> String {
    let program = find_program(java).unwrap_or_else(|| Path::new(java).to_owned());
    match release_of(&program) {
        Some(release) => format!("{release}, {}", program.display()),
        None => format!("of unknown release, {}", program.display()),
    }
}
