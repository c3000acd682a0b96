//! What `untorn verify` is to do.

use std::path::PathBuf;

use untorn_explore::Options;
use untorn_frontend::StopCondition;
use untorn_jvm::ProgramArguments;
use untorn_jvm::jvm_selection::JvmSelector;

use super::args::VerifyArgs;
use crate::config::{duration, initial_seed, stop_condition};
use crate::console::{Color, Volume};
use crate::exit::Result;
use crate::program::program;

#[derive(Debug)]
pub struct Verify {
    pub report: PathBuf,
    /// Which violation of the report; may be missing if there is only one.
    pub number: Option<u32>,
    pub program: ProgramChoice,
    /// Variables of the environment that traces keep.
    pub variables: Vec<String>,
    /// The command of the report is run, whoever made it.
    pub trust: bool,
    /// Except for what the report contains.
    pub options: Options,
    pub out: PathBuf,
    /// When a run is ended that does not end by itself.
    pub stop: StopCondition,
    pub color: Color,
    pub volume: Volume,
}

/// Which program is run.
#[derive(Debug)]
pub enum ProgramChoice {
    Named(ProgramArguments),
    /// That of the report; another one of its JVMs may be selected.
    OfReport(JvmSelector),
}

impl Verify {
    pub fn new(args: VerifyArgs) -> Result<Self> {
        let variables = args.program.env.clone();
        let is_named = !args.program.command.is_empty() || args.program.junit.is_some();
        let program = if is_named {
            ProgramChoice::Named(program(args.program)?)
        } else {
            let (main, test) = (args.program.main, args.program.test);
            ProgramChoice::OfReport(JvmSelector { main, test })
        };
        let mut options = Options {
            time: duration(&args.time)?,
            runs: args.runs.max(1),
            per_candidate: args.per_candidate,
            explore: args.explore,
            seed: args.seed,
            jobs: args.jobs.max(1),
            minimise: 0,
            ..Options::default()
        };
        initial_seed(&mut options, args.seed);
        Ok(Self {
            report: args.report,
            number: args.number,
            program,
            variables,
            trust: args.trust,
            options,
            out: args.out,
            stop: stop_condition(args.stop)?,
            color: args.output.color(),
            volume: args.output.volume(false),
        })
    }
}
