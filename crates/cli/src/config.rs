//! Arguments that passed every check. Nothing below this module knows clap.

use std::path::{Path, PathBuf};
use std::time::Duration;

use untorn_trace::{EventIdx, Format, Strictness};

use untorn_jvm::config::ScopeConfig;
use untorn_predict::candidates::Sources;

use crate::args::{
    AnalyzeArgs, BlocksName, CheckArgs, CheckerName, ConfirmArgs, FormatName, InputArgs,
    MethodName, PolicyName, RecordArgs, ReplayArgs,
};
use crate::console::{Color, Volume};
use crate::exit::{Failure, Result};
use crate::files::{Input, is_dash};
use crate::program::Program;
use crate::reports;

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
    pub fn new(atomic: Vec<String>, not_atomic: Vec<String>) -> Result<Self> {
        if atomic.iter().chain(&not_atomic).any(String::is_empty) {
            return Err(Failure::input(
                "an empty pattern matches no label, in --atomic or --not-atomic",
            )
            .way_out("write '*' for every label"));
        }
        Ok(Self { atomic, not_atomic })
    }

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
        // Text and a machine's format on one stream would serve nobody.
        let machine = outputs.iter().any(|path| is_dash(path));
        let volume = Volume::of(args.quiet || machine, args.verbose);
        Ok(Self {
            inputs: args.files.iter().map(|file| input(file, &args.input)).collect(),
            plan: plan(&args.with),
            blocks: Blocks::new(args.atomic, args.not_atomic)?,
            dot: args.dot,
            svg: args.svg,
            json: args.json,
            color: args.color,
            volume,
        })
    }
}

/// What `untorn confirm` is to do.
#[derive(Debug)]
pub struct Confirm {
    pub input: Input,
    pub method: untorn_confirm::Method,
    pub part: Part,
    pub budget: u64,
    pub blocks: Blocks,
    pub json: Option<PathBuf>,
    pub color: Color,
    pub volume: Volume,
}

/// Which part of a trace counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    All,
    Window(untorn_confirm::Window),
    /// What is around these events.
    Around(Vec<EventIdx>),
}

impl Confirm {
    pub fn new(args: ConfirmArgs) -> Result<Self> {
        use untorn_confirm::Method;
        let machine = args.json.as_deref().is_some_and(is_dash);
        let part = match args.window {
            Some(text) => Part::Window(window(&text)?),
            None if args.events.is_empty() => Part::All,
            None => Part::Around(args.events.into_iter().map(EventIdx).collect()),
        };
        Ok(Self {
            input: input(&args.file, &args.input),
            method: match args.with {
                MethodName::Default => Method::All,
                MethodName::OwnRead => Method::OwnRead,
                MethodName::Saturation => Method::Saturation,
                MethodName::Serialiser => Method::Serialiser,
                MethodName::Exact => Method::Exact,
                MethodName::Printed => Method::Printed,
            },
            part,
            budget: args.budget,
            blocks: Blocks::new(args.atomic, args.not_atomic)?,
            json: args.json,
            color: args.color,
            volume: Volume::of(args.quiet || machine, args.verbose),
        })
    }
}

/// `A..B`, not empty.
fn window(text: &str) -> Result<untorn_confirm::Window> {
    let bounds = text.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match bounds {
        Some((from, to)) if from < to => {
            Ok(untorn_confirm::Window { from: EventIdx(from), to: EventIdx(to) })
        }
        Some(_) => Err(Failure::input(format!("the window {text} is empty"))),
        None => Err(Failure::input(format!("{text} is not a window"))
            .way_out("write two positions, as in 1000..1500")),
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
    /// Where a policy that holds threads is to hold them, as text.
    pub marks: Option<String>,
    pub scope: ScopeConfig,
    pub patience_ms: u64,
    pub pin: bool,
    pub quiet: bool,
    pub program: Program,
}

impl Record {
    pub fn new(args: RecordArgs) -> Result<Self> {
        let program = Program::new(args.program)?;
        if args.quantum == 0 {
            return Err(Failure::input("--quantum 0 would let no thread run"));
        }
        let policy = match args.policy {
            PolicyName::RunToBlock => "run-to-block",
            PolicyName::Random => "random",
            PolicyName::Pct => "pct",
            PolicyName::Pos => "pos",
            PolicyName::Atomfuzzer => "atomfuzzer",
            PolicyName::Adversarial => "adversarial",
        };
        let marks = marks(args.policy, args.marks.as_deref())?;
        let scope = ScopeConfig {
            instrument: args.instrument,
            exclude: args.exclude,
            atomic: args.atomic,
            ..ScopeConfig::default()
        };
        Ok(Self {
            out: args.output,
            policy: policy.to_owned(),
            seed: args.seed,
            quantum: args.quantum,
            plan: args.plan.as_deref().map(read_plan).transpose()?,
            marks,
            scope,
            patience_ms: args.patience,
            pin: !args.no_pin,
            quiet: args.quiet,
            program,
        })
    }
}

/// Where the policy is to hold threads, judging by an earlier trace.
fn marks(policy: PolicyName, trace: Option<&Path>) -> Result<Option<String>> {
    let find = match policy {
        PolicyName::Atomfuzzer => untorn_explore::marks::second_acquisitions,
        PolicyName::Adversarial => untorn_explore::marks::suspicious,
        _ if trace.is_some() => {
            return Err(Failure::input("--marks goes with --policy atomfuzzer or adversarial"));
        }
        _ => return Ok(None),
    };
    let Some(trace) = trace else {
        return Err(Failure::input("this policy has to know the program from an earlier run")
            .way_out("record it once as it is, then add --marks run.utr and another --output"));
    };
    let marks = untorn_explore::marks::of_trace(trace, find)
        .map_err(|error| Failure::input(error.to_string()))?;
    if marks.marks.is_empty() {
        return Err(Failure::input(format!(
            "{} has no place at which this policy would hold a thread",
            trace.display()
        )));
    }
    Ok(Some(marks.to_string()))
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
    pub fn new(args: ReplayArgs) -> Result<Self> {
        let ReplayArgs { file, number, output: out, debug, port, quiet } = args;
        let is_report = file.extension().is_some_and(|end| end == "json");
        let file = match (is_report, number) {
            (true, number) => trace_of(&file, number)?,
            (false, None) => file,
            (false, Some(_)) => {
                return Err(Failure::input("a number goes with a report, not with a trace")
                    .way_out("untorn replay untorn-out/report.json 1"));
            }
        };
        Ok(Self { file, out, debug, port, quiet })
    }
}

/// The trace that shows a violation of a report.
fn trace_of(path: &Path, number: Option<u32>) -> Result<PathBuf> {
    let report = reports::read_report(path)?;
    let evidence = reports::evidence(&report, path, number, "replay")?;
    Ok(path.parent().unwrap_or(Path::new("")).join(&evidence.trace))
}

/// More JVMs at once than this help nobody.
const MOST_JOBS: usize = 256;

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
    pub color: Color,
    pub volume: Volume,
    pub program: Program,
}

impl Check {
    pub fn new(args: CheckArgs) -> Result<Self> {
        let program = Program::new(args.program)?;
        let blocks = Blocks::new(Vec::new(), args.not_atomic)?;
        let blocks_of = if args.all_methods { BlocksName::Declared } else { args.blocks };
        let mut options = untorn_explore::Options {
            time: duration(&args.time)?,
            runs: args.runs.max(1),
            per_candidate: args.per_candidate,
            explore: args.explore,
            sources: sources_of(blocks_of),
            all_methods: args.all_methods,
            jobs: args.jobs.clamp(1, MOST_JOBS),
            shard: args.shard.as_deref().map(shard).transpose()?.unwrap_or_default(),
            minimise: args.minimise,
            most_events: args.events.max(1),
            strategy: crate::methods::together(&args.with)?,
            not_atomic: blocks.not_atomic,
            ..untorn_explore::Options::default()
        };
        initial_seed(&mut options, args.seed);
        let volume = Volume::of(args.quiet, args.verbose);
        let mut atomic = args.atomic;
        if args.all_methods {
            atomic.push("*".to_owned());
        }
        Ok(Self {
            options,
            out: args.out,
            sources: source_roots(args.source),
            scope: ScopeConfig {
                instrument: args.instrument,
                exclude: args.exclude,
                atomic,
                ..ScopeConfig::default()
            },
            compositions: args.compositions,
            run_time: args.run_time.as_deref().map(duration).transpose()?,
            color: args.color,
            volume,
            program,
        })
    }
}

/// `2/8`: the second of eight.
fn shard(text: &str) -> Result<untorn_explore::Shard> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((index, count)) if (1..=count).contains(&index) => {
            Ok(untorn_explore::Shard { index: index - 1, count })
        }
        _ => Err(Failure::input(format!("'{text}' is not a part of the work"))
            .way_out("write 1/8, 2/8 and so on up to 8/8")),
    }
}

pub fn sources_of(blocks: BlocksName) -> Sources {
    match blocks {
        BlocksName::Declared => Sources::Declared,
        BlocksName::All => Sources::All,
    }
}

/// Moves the seeds of the runs to start with.
pub fn initial_seed(options: &mut untorn_explore::Options, by: u64) {
    for how in &mut options.initial {
        if let untorn_explore::How::Policy { seed, .. } = how {
            *seed = seed.wrapping_add(by);
        }
    }
}

/// The current folder, if none is named.
pub fn source_roots(named: Vec<PathBuf>) -> Vec<PathBuf> {
    if named.is_empty() { vec![PathBuf::from(".")] } else { named }
}

/// `90`, `90s`, `5m`, `1h`, `500ms`.
pub fn duration(text: &str) -> Result<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    match digits.parse::<u64>() {
        Ok(value) if unit > 0 => Ok(Duration::from_millis(value.saturating_mul(unit))),
        _ => Err(Failure::input(format!("'{text}' is not a time")).way_out("write 30s, 5m or 1h")),
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
