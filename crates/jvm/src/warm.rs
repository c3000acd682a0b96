//! Many runs of a program in one JVM, as long as that makes no difference.
//!
//! The first run of a program is made in a fresh JVM. [`WarmRuns::try_out`] then makes the same run in a JVM that has made
//! one before. If output or exit code differ, or the traces are not alike, every run gets a fresh JVM, and
//! [`WarmRuns::why_not`] says why. Traces may differ in what the JDK does when it is used for the first time, and in what
//! depends on identities of objects. Then [`WarmRuns::run`] makes the runs, and takes a new JVM whenever a run may have
//! changed the old one.
//!
//! **Promise:** a run in a JVM that has made others before is a run of the program, under control, with a trace. That it
//! is like the run that a fresh JVM would make was checked once for the program, not for each run: what is reported has to
//! be repeated in a fresh JVM.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use untorn_frontend::{ExitKind, Surroundings, mask_noise};
use untorn_jvm_protocol::server::{RunEnd, ServerRequest};
use untorn_runtime_protocol::Progress;

use crate::launch::{Launch, Start};
use crate::same_run::{self, Comparison};
use crate::server::{ServerJvm, ServerReply};

/// A JVM that is spent after fewer runs has cost more than it saved.
const WORTH_IT: usize = 4;

/// So many JVMs may be spent early before all runs get fresh ones.
const MAX_SPENT_EARLY: usize = 3;

/// Bytes of a trace, and the time that it takes to make it. In a run that takes more the start of a JVM hardly counts,
/// and to try a used JVM takes several runs.
const LARGEST: u64 = 32 << 20;
const LONGEST: Duration = Duration::from_secs(6);

/// How the JVM of a program is started.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    pub launch: &'a Launch,
    pub start: Start<'a>,
    pub surroundings: &'a Surroundings,
    /// Where standard output and standard error of a run go.
    pub output: &'a [PathBuf; 2],
    /// How long a run may take.
    pub patience: Duration,
}

/// How a run in a fresh JVM went.
#[derive(Clone, Copy, Debug)]
pub struct FreshRun<'a> {
    pub exit: ExitKind,
    /// Standard output and standard error.
    pub output: [&'a [u8]; 2],
    pub took: Duration,
}

/// What the agent said at the end of a run, and how the program ended.
#[derive(Clone, Debug)]
pub struct WarmRun {
    pub exit: ExitKind,
    pub progress: Progress,
}

#[derive(Debug)]
enum State {
    Untried,
    On,
    Off(String),
}

/// The JVM of one program that makes many runs, one after the other.
#[derive(Debug)]
pub struct WarmRuns {
    state: State,
    jvm: Option<Jvm>,
    spent_early: usize,
}

#[derive(Debug)]
struct Jvm {
    server: ServerJvm,
    runs: usize,
}

impl WarmRuns {
    pub fn new() -> Self {
        Self { state: State::Untried, jvm: None, spent_early: 0 }
    }

    /// Never.
    pub fn off() -> Self {
        Self { state: State::Off(String::new()), ..Self::new() }
    }

    pub fn is_untried(&self) -> bool {
        matches!(self.state, State::Untried)
    }

    /// Why every run gets a fresh JVM, if that was found out.
    pub fn why_not(&self) -> Option<&str> {
        match &self.state {
            State::Off(why) if !why.is_empty() => Some(why),
            _ => None,
        }
    }

    /// From now on every run gets a fresh JVM.
    pub fn turn_off(&mut self, why: impl Into<String>) {
        self.jvm = None;
        self.state = State::Off(why.into());
    }

    /// A run was made in a fresh JVM: makes the same in one that has made a run before, and compares. The trace of that
    /// run goes to a file beside that of the fresh one, and is removed.
    pub fn try_out(&mut self, program: &Program<'_>, fresh: &FreshRun<'_>) {
        let trace = &program.start.config.trace;
        if fresh.took > LONGEST || trace.metadata().is_ok_and(|file| file.len() > LARGEST) {
            self.turn_off("its runs are long");
            return;
        }
        self.state = State::On;
        let aside = trace.with_extension("again.utr");
        if let Err(why) = self.compare(program, fresh, &aside) {
            self.turn_off(why);
        }
        // It was of use for the comparison only, and need not exist.
        let _ = std::fs::remove_file(aside);
    }

    /// Why used JVMs are of no use for this program, if they are not.
    fn compare(
        &mut self,
        program: &Program<'_>,
        fresh: &FreshRun<'_>,
        aside: &Path,
    ) -> Result<(), String> {
        self.run_like(program, fresh, aside)?;
        match same_run::compare(&program.start.config.trace, aside) {
            Ok(Comparison::Same | Comparison::Alike(_)) => Ok(()),
            Ok(Comparison::Different(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Makes the run once more; it must end and print like the fresh one.
    fn run_like(
        &mut self,
        program: &Program<'_>,
        fresh: &FreshRun<'_>,
        trace: &Path,
    ) -> Result<(), String> {
        let mut config = program.start.config.clone();
        config.trace = trace.to_owned();
        let start = Start { config: &config, ..program.start };
        let ran = self.run(&Program { start, ..*program });
        let Some(ran) = ran else {
            return Err(self.why_not().unwrap_or("the JVM could not make two runs").to_owned());
        };
        if ran.exit != fresh.exit {
            return Err("it ends otherwise in a JVM that is used again".to_owned());
        }
        let printed = program.output.each_ref().map(|path| std::fs::read(path).unwrap_or_default());
        let is_alike = |(one, other): (&Vec<u8>, &&[u8])| masked(one) == masked(other);
        if !printed.iter().zip(&fresh.output).all(is_alike) {
            return Err("it prints something else in a JVM that is used again".to_owned());
        }
        Ok(())
    }

    /// Makes the run that the program's configuration describes. `None` if it takes a fresh JVM.
    pub fn run(&mut self, program: &Program<'_>) -> Option<WarmRun> {
        if !matches!(self.state, State::On) {
            return None;
        }
        let mut jvm = match self.jvm.take() {
            Some(jvm) => jvm,
            None => self.start(program)?,
        };
        let request = request(program, false);
        jvm.runs += 1;
        match jvm.server.run(&request, program.patience) {
            Ok(ServerReply::RunEnd(ended)) if ended.progress.fault.is_none() => {
                match &ended.spent {
                    Some(why) => self.spend(&jvm, why),
                    None => self.jvm = Some(jvm),
                }
                Some(WarmRun { exit: exit_of(&ended), progress: ended.progress })
            }
            Ok(ServerReply::Exited(status)) => {
                self.spend(&jvm, "the JVM ends together with the program");
                let progress = program.launch.progress()?;
                Some(WarmRun { exit: exit_of_process(status), progress })
            }
            // Whatever it was, a fresh JVM has it, too, or not.
            _ => {
                self.spend(&jvm, "a run did not end");
                None
            }
        }
    }

    /// A JVM is not used again.
    fn spend(&mut self, jvm: &Jvm, why: &str) {
        if jvm.runs < WORTH_IT {
            self.spent_early += 1;
        }
        if self.spent_early >= MAX_SPENT_EARLY {
            self.turn_off(why);
        }
    }

    /// Starts a JVM and has it make a first run, whose results are not used.
    fn start(&mut self, program: &Program<'_>) -> Option<Jvm> {
        let surround = |command: &mut _| program.surroundings.apply(command);
        let mut server = match ServerJvm::start(program.launch, &program.start, surround) {
            Ok(server) => server,
            Err(error) => {
                self.turn_off(error.to_string());
                return None;
            }
        };
        let why = match server.run(&request(program, true), program.patience) {
            Ok(ServerReply::RunEnd(RunEnd { spent: None, progress, .. }))
                if progress.fault.is_none() =>
            {
                return Some(Jvm { server, runs: 0 });
            }
            Ok(ServerReply::RunEnd(RunEnd { spent: Some(why), .. })) => why,
            Ok(ServerReply::RunEnd(ended)) => ended.progress.fault.unwrap_or_default(),
            Ok(ServerReply::Exited(_)) => "the JVM ends together with the program".to_owned(),
            Ok(ServerReply::TimedOut) => "its first run did not end".to_owned(),
            Err(error) => error.to_string(),
        };
        self.turn_off(why);
        None
    }
}

impl Default for WarmRuns {
    fn default() -> Self {
        Self::new()
    }
}

fn request(program: &Program<'_>, warm_up: bool) -> ServerRequest {
    ServerRequest { config: program.start.config.clone(), output: program.output.clone(), warm_up }
}

fn exit_of(ended: &RunEnd) -> ExitKind {
    // A process has the low byte of what a program says.
    if ended.progress.deadlock { ExitKind::Deadlock } else { ExitKind::Exit(ended.code & 0xff) }
}

fn exit_of_process(status: ExitStatus) -> ExitKind {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitKind::Exit(code),
        (None, signal) => ExitKind::Signal(signal.unwrap_or(0)),
    }
}

/// What was printed, without identities of objects.
fn masked(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).lines().map(mask_noise).collect::<Vec<_>>().join("\n")
}
