//! The front end for C, C++ and Rust programs.

use std::path::Path;
use std::time::Duration;

use untorn_frontend::{
    FrontEnd, FrontEndError, FrontEndKind, InstallationLine, Output, Program, RecordedRun,
    ReplayOptions, RunOptions, RunResult,
};

use crate::binary::{Build, build_of, find_program};
use crate::runner::{Common, NativeRunner, Worker};

/// What traces of this front end say.
pub const NAME: &str = "native";

/// Time without an event after which a replay looks whether it still goes on: more than when recording, because it may
/// wait for what its schedule says.
const REPLAY_WATCHDOG: Duration = Duration::from_millis(500);

/// A debugger stops the program for as long as somebody looks at it.
const DEBUGGER_WATCHDOG: Duration = Duration::from_millis(u32::MAX as u64);

/// Programs that were built by `untorn cc` or `untorn c++`. [`Program::options`] is a
/// [`NativeSetup`](crate::NativeSetup).
#[derive(Clone, Copy, Debug)]
pub struct Native;

impl FrontEndKind for Native {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(
        &self,
        program: &Program,
        options: RunOptions,
    ) -> Result<Box<dyn FrontEnd>, FrontEndError> {
        check(&program.command, program.directory.as_deref())?;
        Ok(Box::new(NativeRunner::new(program, options)?))
    }

    fn replay(
        &self,
        recorded: &RecordedRun,
        options: ReplayOptions,
    ) -> Result<RunResult, FrontEndError> {
        let ReplayOptions { trace, debugger, watch } = options;
        check(&recorded.meta.command, Some(Path::new(&recorded.surroundings().directory)))?;
        let watchdog = if debugger.is_some() { DEBUGGER_WATCHDOG } else { REPLAY_WATCHDOG };
        let common = Common::of_recorded(recorded, watchdog, debugger);
        let mut worker = Worker::new(common, Output::Shared, 1, None)?;
        worker.watch_by(watch);
        worker.replay(recorded, &trace)
    }

    fn facts(&self, program: &Program) -> Vec<InstallationLine> {
        let name = program.command.first().map_or("", String::as_str);
        let path = find_program(name, program.directory.as_deref());
        let built = path.map_or(Build::Other, |path| build_of(&path));
        let text = match built {
            Build::Instrumented => "by untorn cc: accesses, locks and functions are seen",
            Build::ThreadSanitizer => "with the compiler's own ThreadSanitizer",
            Build::Plain => "without untorn cc",
            Build::Java | Build::Other => "no native executable",
        };
        vec![InstallationLine { about: "built", text: text.to_owned() }]
    }
}

/// Whether the program can be recorded at all.
fn check(command: &[String], directory: Option<&Path>) -> Result<(), FrontEndError> {
    let Some(name) = command.first() else {
        return Err(FrontEndError::input("there is no command")
            .way_out("write the command as you would start it: untorn check -- ./server"));
    };
    let Some(path) = find_program(name, directory) else {
        return Err(FrontEndError::run(format!("'{name}' was not found"))
            .way_out("name the command as your shell would find it, or by its path"));
    };
    let rebuild = "build it again with CC='untorn cc' CXX='untorn c++', for instance: \
                   make clean && make CC='untorn cc' CXX='untorn c++'; a Rust program with: untorn cargo build";
    match build_of(&path) {
        Build::Instrumented => Ok(()),
        Build::ThreadSanitizer => Err(FrontEndError::input(format!(
            "{} was built with -fsanitize=thread, but without untorn cc",
            path.display()
        ))
        .way_out(rebuild)),
        Build::Plain => Err(FrontEndError::input(format!(
            "{} was built without untorn cc: its accesses cannot be seen",
            path.display()
        ))
        .way_out(rebuild)),
        Build::Java | Build::Other => {
            Err(FrontEndError::input(format!("{} is no native executable", path.display())))
        }
    }
}
