//! What `untorn check` is to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use untorn_findings::coverage::Demand;
use untorn_frontend::{FrontEnd, Output, RunOptions, StopCondition, Watch};
use untorn_jvm::ProgramArguments;
use untorn_jvm::config::ScopeConfig;
use untorn_schedule::{InputPlace, Inputs};

use super::args::{CheckArgs, FailOn};
use super::linearizable::ClassSelection;
use crate::args::LabelArgs;
use crate::commands::compare::methods;
use crate::config::{
    Blocks, duration, initial_seed, scope, source_roots, sources_of, stop_condition,
};
use crate::console::{Color, Volume};
use crate::exit::{CliError, Result};
use crate::front_ends;
use crate::program::program;

/// More JVMs at once than this make nothing faster.
const MAX_JOBS: usize = 256;

/// What `untorn check` is to do.
#[derive(Debug)]
pub struct Check {
    pub options: untorn_explore::Options,
    pub out: PathBuf,
    /// Where sources are looked for.
    pub sources: Vec<PathBuf>,
    pub scope: ScopeConfig,
    /// Class files are read for calls that look meant to be one step.
    pub compositions: bool,
    pub run_time: Option<Duration>,
    pub fail_on: FailOn,
    /// What must have been looked at for a program to be clean.
    pub demand: Demand,
    /// Too little may have been looked at.
    pub allow_inconclusive: bool,
    /// Every run has a process of its own.
    pub fresh: bool,
    pub color: Color,
    pub volume: Volume,
    pub program: ProgramArguments,
    /// When a run is ended that does not end by itself.
    pub stop: StopCondition,
    /// Results of calls of an object are checked, and nothing else.
    pub linearizable: Option<ClassSelection>,
}

impl Check {
    pub fn new(args: CheckArgs) -> Result<Self> {
        if args.linearizable.is_none() && !args.with_ops.is_empty() {
            return Err(CliError::input("--with-ops names methods, but of which class?")
                .way_out("--linearizable com.acme.Stack --with-ops push,pop"));
        }
        let linearizable =
            args.linearizable.map(|class| request(class, args.with_ops)).transpose()?;
        let program = program(args.program)?;
        let stop = stop_condition(args.stop)?;
        let blocks = Blocks::new(LabelArgs { atomic: Vec::new(), not_atomic: args.not_atomic })?;
        let mut options = untorn_explore::Options {
            time: duration(&args.time)?,
            runs: args.runs.max(1),
            per_candidate: args.per_candidate,
            explore: args.explore,
            seed: args.seed,
            sources: sources_of(args.blocks),
            all_methods: args.all_methods,
            jobs: args.jobs.clamp(1, MAX_JOBS),
            shard: args.shard.as_deref().map(shard).transpose()?.unwrap_or_default(),
            minimise: args.minimise,
            counts_triples: args.count,
            max_events: args.events.map_or(u64::MAX, |most| most.max(1)),
            strategy: methods::together(&args.with)?,
            not_atomic: blocks.not_atomic,
            only_code: args.only,
            searches_inputs: !args.own_inputs,
            inputs: args.stdin.as_deref().map(standard_input).transpose()?.unwrap_or_default(),
            ..untorn_explore::Options::default()
        };
        initial_seed(&mut options, args.seed);
        let mut scope = scope(args.scope);
        if args.all_methods {
            scope.atomic.push("*".to_owned());
        }
        Ok(Self {
            options,
            out: args.out,
            sources: source_roots(args.source),
            scope,
            compositions: args.compositions,
            run_time: args.run_time.as_deref().map(duration).transpose()?,
            fail_on: args.fail_on,
            demand: if args.require_complete { Demand::Complete } else { Demand::Most },
            allow_inconclusive: args.allow_inconclusive,
            fresh: args.fresh,
            color: args.output.color(),
            volume: args.output.volume(false),
            program,
            stop,
            linearizable,
        })
    }
}

impl Check {
    /// The program, ready to be run; what it prints goes into files of the folder.
    pub fn prepare(&self, folder: &Path, watch: Option<Watch>) -> Result<Box<dyn FrontEnd>> {
        let options = RunOptions {
            warm: !self.fresh,
            jobs: self.options.jobs,
            time_limit: Some(self.run_time.unwrap_or_else(|| first_run(self.options.time))),
            // Several on one processor would be slower than none at all.
            pin: self.options.jobs <= 1,
            watch,
            stop: self.stop.clone(),
            ..RunOptions::new(Output::Kept(folder.to_owned()))
        };
        let kind = front_ends::of_program(&self.program);
        Ok(kind.prepare(&front_ends::with_scope(&self.program, &self.scope), options)?)
    }
}

/// How long the first run may take: half of the time. What never ends by itself is looked at all the same.
fn first_run(time: Duration) -> Duration {
    (time / 2).clamp(Duration::from_secs(5), Duration::from_secs(600))
}

/// The largest file that may be standard input: every trace has a copy.
const MAX_INPUT: u64 = 1 << 20;

/// A file that every run reads as its standard input.
fn standard_input(path: &Path) -> Result<Inputs> {
    let cannot = |why: String| {
        CliError::input(format!("cannot take {} as standard input: {why}", path.display()))
            .way_out("--stdin takes a file with text, of a million bytes at most")
    };
    let length = std::fs::metadata(path).map_err(|error| cannot(error.to_string()))?.len();
    if length > MAX_INPUT {
        return Err(cannot(format!("it has {length} bytes")));
    }
    let bytes = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| cannot(error.to_string()))?;
    Ok([(InputPlace::StandardInput, text)].into_iter().collect())
}

fn request(class: String, operations: Vec<String>) -> Result<ClassSelection> {
    let is_name =
        !class.is_empty() && !class.contains(['/', ' ', '|', '*']) && !class.ends_with(".java");
    if !is_name {
        return Err(CliError::input(format!("'{class}' is not the name of a class"))
            .way_out("write it with its package: --linearizable com.acme.Stack"));
    }
    let operations = operations.into_iter().map(|name| name.trim().to_owned());
    Ok(ClassSelection { class, operations: operations.filter(|name| !name.is_empty()).collect() })
}

/// `2/8`: the second of eight.
fn shard(text: &str) -> Result<untorn_explore::Shard> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((index, count)) if (1..=count).contains(&index) => {
            Ok(untorn_explore::Shard { index: index - 1, count })
        }
        _ => Err(CliError::input(format!("'{text}' is not a part of the work"))
            .way_out("write 1/8, 2/8 and so on up to 8/8")),
    }
}
