//! Arguments that passed every check. Nothing below this module knows clap.

use std::path::{Path, PathBuf};

use untorn_trace::{Format, Strictness};

use untorn_jvm::config::ScopeConfig;

use crate::args::{
    AnalyzeArgs, CheckerName, FormatName, InputArgs, PolicyName, RecordArgs, ReplayArgs,
};
use crate::console::{Color, Volume};
use crate::exit::{Failure, Result};
use crate::files::{Input, is_dash};

/// What `untorn analyze` is to do.
#[derive(Debug)]
pub struct Analyze {
    pub inputs: Vec<Input>,
    pub plan: Plan,
    pub blocks: Blocks,
    pub dot: Option<PathBuf>,
    pub svg: Option<PathBuf>,
    pub json: Option<PathBuf>,
    pub color: Color,
    pub volume: Volume,
}

/// Which checkers run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Plan {
    /// The fast verdict, and an explanation if there is something to explain.
    Explain,
    /// Exactly these, each once.
    Chosen(Vec<CheckerName>),
}

/// Which labels count as blocks.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    pub atomic: Vec<String>,
    pub not_atomic: Vec<String>,
}

impl Blocks {
    pub fn are_all(&self) -> bool {
        self.atomic.is_empty() && self.not_atomic.is_empty()
    }
}

impl Analyze {
    pub fn new(args: AnalyzeArgs) -> Result<Self> {
        at_most_one_dash(&args.files, "standard input can be read only once")?;
        let outputs: Vec<&PathBuf> =
            [&args.dot, &args.svg, &args.json].into_iter().flatten().collect();
        at_most_one_dash(
            &outputs,
            "only one of --dot, --svg and --json can go to standard output",
        )?;
        for pattern in args.atomic.iter().chain(&args.not_atomic) {
            if pattern.is_empty() {
                return Err(Failure::input(
                    "an empty pattern matches no label, in --atomic or --not-atomic",
                )
                .way_out("write '*' for every label"));
            }
        }
        // Text and a machine's format on one stream would serve nobody.
        let machine = outputs.iter().any(|path| is_dash(path));
        let volume = match (args.quiet || machine, args.verbose) {
            (true, _) => Volume::Quiet,
            (false, true) => Volume::Verbose,
            (false, false) => Volume::Normal,
        };
        Ok(Self {
            inputs: args.files.iter().map(|file| input(file, &args.input)).collect(),
            plan: plan(&args.with),
            blocks: Blocks { atomic: args.atomic, not_atomic: args.not_atomic },
            dot: args.dot,
            svg: args.svg,
            json: args.json,
            color: args.color,
            volume,
        })
    }
}

/// What `untorn record` is to do.
#[derive(Debug)]
pub struct Record {
    pub out: PathBuf,
    pub policy: String,
    pub seed: u64,
    pub quantum: u64,
    /// The text of a plan that was found to be one.
    pub plan: Option<String>,
    pub scope: ScopeConfig,
    pub patience_ms: u64,
    pub pin: bool,
    pub quiet: bool,
    pub command: Vec<String>,
}

impl Record {
    pub fn new(args: RecordArgs) -> Result<Self> {
        if args.quantum == 0 {
            return Err(Failure::input("--quantum 0 would let no thread run"));
        }
        let policy = match args.policy {
            PolicyName::RunToBlock => "run-to-block",
            PolicyName::Random => "random",
            PolicyName::Pct => "pct",
            PolicyName::Pos => "pos",
        };
        let scope =
            ScopeConfig { instrument: args.instrument, exclude: args.exclude, atomic: args.atomic };
        Ok(Self {
            out: args.output,
            policy: policy.to_owned(),
            seed: args.seed,
            quantum: args.quantum,
            plan: args.plan.as_deref().map(read_plan).transpose()?,
            scope,
            patience_ms: args.patience,
            pin: !args.no_pin,
            quiet: args.quiet,
            command: args.command,
        })
    }
}

fn read_plan(path: &Path) -> Result<String> {
    let fail = |error: String| Failure::input(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let plan: untorn_schedule::Plan =
        text.parse().map_err(|error: untorn_schedule::PlanError| fail(error.to_string()))?;
    if plan.steps.is_empty() {
        return Err(fail("the plan has no steps".to_owned()));
    }
    Ok(text)
}

/// What `untorn replay` is to do.
#[derive(Debug)]
pub struct Replay {
    pub file: PathBuf,
    pub out: Option<PathBuf>,
    pub debug: bool,
    pub port: u16,
    pub quiet: bool,
}

impl Replay {
    pub fn new(args: ReplayArgs) -> Self {
        let ReplayArgs { file, output: out, debug, port, quiet } = args;
        Self { file, out, debug, port, quiet }
    }
}

/// A trace as the common options want it read.
pub fn input(path: &Path, args: &InputArgs) -> Input {
    Input {
        path: path.to_owned(),
        format: args.format.map(format),
        strictness: if args.lenient { Strictness::Lenient } else { Strictness::Strict },
    }
}

pub fn format(name: FormatName) -> Format {
    match name {
        FormatName::Utr => Format::Utr,
        FormatName::Std => Format::Rapid,
        FormatName::Rapidbin => Format::RapidBin,
        FormatName::Jsonl => Format::JsonLines,
    }
}

fn plan(with: &[CheckerName]) -> Plan {
    let mut names = Vec::new();
    for &name in with {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() { Plan::Explain } else { Plan::Chosen(names) }
}

fn at_most_one_dash(paths: &[impl AsRef<Path>], why: &str) -> Result<()> {
    if paths.iter().filter(|path| is_dash(path.as_ref())).count() > 1 {
        return Err(Failure::input(format!("`-` was given twice: {why}")));
    }
    Ok(())
}
