//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::console::Color;

const EXIT_CODES: &str = "\
Exit codes:
  0  checked, and nothing torn (warnings that may be false alarms do not count)
  1  violations found
  2  bad usage or bad input: also a trace without blocks, because nothing was checked
  3  could not run: a file cannot be written, checkers contradict each other";

const EXAMPLES: &str = "\
Examples:
  untorn check -- java -cp classes Bank       find, prove and keep what can be torn
  untorn replay untorn-out/report.json 1      see the first violation happen again
  untorn record -- java -cp classes Bank      run a program and keep its trace
  untorn replay run.utr                       run it again, the very same way
  untorn analyze run.std                      check a RAPID trace and explain what is torn
  untorn analyze --svg torn.svg run.jsonl     draw it, too
  untorn predict run.utr                      what can be torn if threads run in another order
  untorn trace info run.utr                   what is in a trace
  untorn trace convert run.std run.utr        the same trace, smaller and faster to read";

/// Finds the places where code that must run as one step can be torn apart by another thread, and
/// proves it.
#[derive(Parser, Debug)]
#[command(name = "untorn", version, arg_required_else_help = true)]
#[command(after_help = sections(EXAMPLES, EXIT_CODES))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Two sections below each other.
fn sections(first: &str, second: &str) -> String {
    format!("{first}\n\n{second}")
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Find what can be torn in a Java program, make it happen, prove it, keep it for replay
    Check(CheckArgs),
    /// Run a Java program, schedule its threads, and keep an exact trace
    Record(RecordArgs),
    /// Repeat a recorded run, event by event
    Replay(ReplayArgs),
    /// Check a recorded trace for blocks that were torn
    Analyze(AnalyzeArgs),
    /// Find blocks that another order of the same events tears
    Predict(PredictArgs),
    /// Decide whether a recorded trace is atomic by its values
    Confirm(ConfirmArgs),
    /// Look at, convert, make, cut and validate traces
    #[command(subcommand)]
    Trace(TraceCommand),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Blocks that are meant to be atomic: synchronized code and what --atomic names (declared); and one call of a
method that touches the same field twice (inferred), which is reported only if the values prove the harm. Every
violation happened in a run; its trace and its schedule are kept. The program runs many times, with an empty
standard input; its output is kept beside the report.

Exit codes: 0 nothing found, 1 violations, 2 bad usage, 3 could not run.

Examples:
  untorn check -- java -cp classes Bank
  untorn check --time 5m --atomic 'com.acme.*.transfer' -- java -jar app.jar
  untorn check --blocks declared -- java -cp classes Bank")]
pub struct CheckArgs {
    /// Time for all runs together, such as 30s, 5m or 1h
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub time: String,

    /// Runs at most
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub runs: u32,

    /// Directed runs for one candidate
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub per_candidate: u32,

    /// Time for one run; the default is 20 times the first
    #[arg(long, value_name = "TIME")]
    pub run_time: Option<String>,

    /// Events of each run that are looked at
    #[arg(long, value_name = "N", default_value_t = 8_000_000)]
    pub events: usize,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Which blocks count
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = BlocksName::All)]
    pub blocks: BlocksName,

    /// Where the report, the traces and the program's output go
    #[arg(long, short, value_name = "FOLDER", default_value = "untorn-out")]
    pub out: PathBuf,

    /// Record these classes of the JDK, too; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub instrument: Vec<String>,

    /// Do not record these classes, only their locks; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// These methods are meant to be atomic; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,

    /// When to use colour
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,

    /// Print only violations
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Print each run, and everything that was not reached
    #[arg(long, short)]
    pub verbose: bool,

    /// The program, as it is started without untorn
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
The exit code is that of the program. Untorn's own failures are 2 (bad usage) and 3 (could not run); a
deadlock is 1. Without --policy each thread runs until it blocks; the same seed gives the same trace.

Examples:
  untorn record -- java -cp classes Bank
  untorn record -o torn.utr --policy random --seed 7 -- java -jar app.jar
  untorn record --plan bank.plan -- java -cp classes Bank
  untorn record --atomic 'com.acme.*.transfer' --instrument 'java.util.concurrent.*' -- java -cp app Main

A plan has a step a line, THREAD @ PLACE [read|write|acquire|release] [#N]:
  alice @ Bank.java:12 read
  bob   @ Bank.java:15 write")]
pub struct RecordArgs {
    /// The trace to write
    #[arg(long, short, value_name = "FILE", default_value = "run.utr")]
    pub output: PathBuf,

    /// Who runs when
    #[arg(long, value_enum, value_name = "POLICY", default_value_t = PolicyName::RunToBlock)]
    pub policy: PolicyName,

    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Events after which a thread that never blocks lets others run
    #[arg(long, value_name = "EVENTS", default_value_t = 1_000_000)]
    pub quantum: u64,

    /// A plan to follow: the order in which certain events shall happen
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Record these classes of the JDK, too; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub instrument: Vec<String>,

    /// Do not record these classes, only their locks; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// These methods are meant to be atomic; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,

    /// Milliseconds that a thread may be blocked outside before others go on
    #[arg(long, value_name = "MS", default_value_t = 200)]
    pub patience: u64,

    /// Let threads use all processors; switches are slower
    #[arg(long)]
    pub no_pin: bool,

    /// Print nothing of our own
    #[arg(long, short)]
    pub quiet: bool,

    /// The program, as you would start it
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PolicyName {
    /// Each thread runs until it blocks
    RunToBlock,
    /// Random thread, random number of events
    Random,
    /// Random priorities with a few changes (PCT)
    Pct,
    /// A fresh random priority for each event (POS); slow
    Pos,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Command, directory and environment come from the trace (variables that look like secrets are not kept there and
come from the current environment). The exit code is that of the program; 3 if the run differs from the recorded
one, which is then shown at its first point.

Examples:
  untorn replay run.utr
  untorn replay untorn-out/report.json 3
  untorn replay --debug run.utr        waits for a debugger at port 5005")]
pub struct ReplayArgs {
    /// The trace, or the report of `untorn check`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Which violation of the report
    #[arg(value_name = "NUMBER")]
    pub number: Option<u32>,

    /// Keep the trace of the replay
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Wait for a debugger (JDWP) before the program begins
    #[arg(long)]
    pub debug: bool,

    /// Port for the debugger
    #[arg(long, value_name = "PORT", default_value_t = 5005)]
    pub port: u16,

    /// Print nothing of our own, except a divergence
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args, Debug)]
#[command(after_help = sections(
    "\
Without --with, the fast checker decides; if it finds a violation, Velodrome reads the trace once
more and explains each torn block. A trace from standard input is read by Velodrome at once.

Examples:
  untorn analyze run.std
  zstdcat run.std.zst | untorn analyze -
  untorn analyze --atomic 'com.acme.Bank.*' --not-atomic '*.toString' run.jsonl
  untorn analyze --with fast,velodrome,aerodrome,atomizer run.std
  untorn analyze --quiet --json report.json run.utr",
    EXIT_CODES,
))]
pub struct AnalyzeArgs {
    /// Traces to check; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Checkers to run, separated by commas
    #[arg(long, value_name = "CHECKERS", value_delimiter = ',')]
    pub with: Vec<CheckerName>,

    #[command(flatten)]
    pub input: InputArgs,

    /// Only blocks with such a label count; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,

    /// Blocks with such a label do not count; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub not_atomic: Vec<String>,

    /// Write the cycles as Graphviz graphs
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,

    /// Draw the cycles as an SVG picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write everything that was found as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,

    /// Also show positions, the extent of blocks, and the operations around a cycle
    #[arg(long, short)]
    pub verbose: bool,

    /// Print no findings and no summary, only errors and warnings; the exit code tells
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Exit codes: 0 nothing predicted, 1 predictions, 2 bad usage or input (also: no blocks in the trace), 3 could
not run. What the labels mean: docs/prediction.md.

Examples:
  untorn predict run.utr
  untorn predict --strength lock --pattern RWW run.utr
  untorn predict --strength filtered --filter avfilter run.jsonl
  untorn predict --plans plans run.utr && untorn record --plan plans/1.plan -- java -cp classes Bank")]
pub struct PredictArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub input: InputArgs,

    /// Report only what holds in this sense; without it, each prediction says how sure it is
    #[arg(long, value_enum, value_name = "STRENGTH")]
    pub strength: Option<StrengthName>,

    /// What filters at strength `filtered`
    #[arg(long, value_enum, value_name = "FILTER", default_value_t = FilterName::Simulation)]
    pub filter: FilterName,

    /// What decides at strengths precise and under
    #[arg(long, value_enum, value_name = "ENGINE", default_value_t = EngineName::Sat)]
    pub engine: EngineName,

    /// Which blocks count: those that the trace declares, or activations of methods as well
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = BlocksName::All)]
    pub blocks: BlocksName,

    /// Only blocks with such a label count; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,

    /// Blocks with such a label do not count; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub not_atomic: Vec<String>,

    /// Only these patterns, separated by commas: RWR, RWW, WWR, WRW, WWW
    #[arg(long, value_enum, value_name = "LETTERS", value_delimiter = ',', ignore_case = true)]
    pub pattern: Vec<PatternName>,

    /// Threads that decide candidates; the outcome does not depend on it [default: all processors]
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,

    /// Decisions of the solver for each instance, at strengths precise and under
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub budget: u32,

    /// Predictions to report; all are counted
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,

    /// Write a plan for `untorn record --plan` for each prediction into this folder
    #[arg(long, value_name = "DIR")]
    pub plans: Option<PathBuf>,

    /// Write the questions of the reported predictions for other tools: pddl or smt2, and a folder
    #[arg(long, num_args = 2, value_names = ["FORMAT", "DIR"])]
    pub export: Vec<String>,

    /// Write everything that was found as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,

    /// Also show positions of events, and what the plan changes
    #[arg(long, short)]
    pub verbose: bool,

    /// Print no predictions and no summary, only errors and warnings; the exit code tells
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StrengthName {
    /// Locks, forks, joins, notifications allow it; values may not
    Lock,
    /// A simulation with values and branches gets there
    Filtered,
    /// Every read returns what it returned: it can happen
    Precise,
    /// Every read reads from the same write
    Under,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FilterName {
    /// Simulated schedules; keeps only what can happen
    Simulation,
    /// AVFilter in its best reading; may be wrong
    Avfilter,
    /// AVFilter as printed; may be wrong
    AvfilterPrinted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum EngineName {
    /// Closures, then a solver
    Sat,
    /// The forward planner
    Planner,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum BlocksName {
    Declared,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PatternName {
    #[value(name = "RWR")]
    Rwr,
    #[value(name = "RWW")]
    Rww,
    #[value(name = "WWR")]
    Wwr,
    #[value(name = "WRW")]
    Wrw,
    #[value(name = "WWW")]
    Www,
}

#[derive(Args, Debug)]
#[command(after_help = "\
A trace is atomic by values if its blocks can run one after the other, each thread's in their order, such
that every read returns what it returned. A cycle of conflicts may still be atomic in this sense.

Examples:
  untorn confirm run.utr
  untorn confirm --atomic 'Account.*' run.jsonl
  untorn confirm --events 120,133,140 run.utr     only the blocks around these events
  untorn confirm --window 1000..1500 run.utr

Exit codes:
  0  atomic
  1  not atomic
  2  bad usage or bad input: also a trace without blocks, because nothing was checked
  3  undecided: the budget is used up, values are missing, the trace contradicts itself")]
pub struct ConfirmArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// How to decide
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = MethodName::Default)]
    pub with: MethodName,

    /// Judge only these events, as a trace of their own; B is not included
    #[arg(long, value_name = "A..B", conflicts_with = "events")]
    pub window: Option<String>,

    /// Judge only the window around these events and their blocks, separated by commas
    #[arg(long, value_name = "I,J,K", value_delimiter = ',')]
    pub events: Vec<u64>,

    /// Steps to search before giving up
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub budget: u64,

    #[command(flatten)]
    pub input: InputArgs,

    /// Only blocks with such a label count; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,

    /// Blocks with such a label do not count; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub not_atomic: Vec<String>,

    /// Write the answer as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,

    /// Also show positions, and the serial order of an atomic trace
    #[arg(long, short)]
    pub verbose: bool,

    /// Print no answer, only errors and warnings; the exit code tells
    #[arg(long, short, conflicts_with = "verbose")]
    pub quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MethodName {
    /// All stages, cheapest first; exact within the budget
    Default,
    /// Only what one block can prove
    OwnRead,
    /// Only what follows without searching
    Saturation,
    /// Only a greedy search for a serial order
    Serialiser,
    /// The search alone, for comparison
    Exact,
    /// The conditions printed in the AtomChase paper, for comparison; may be wrong
    Printed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CheckerName {
    /// Open-ancestor sets: exact verdict, first violating event, no explanation
    Fast,
    /// Exact, explains every torn block
    Velodrome,
    /// Exact verdict by vector clocks
    Aerodrome,
    /// Warns of blocks that do not acquire, take one step, and release; may be wrong
    Atomizer,
    /// Warns of variables that no lock protects throughout; may be wrong
    Eraser,
    /// Finds suspicious transactions cheaply, then checks only these; reads the trace twice
    TwoPass,
}

/// How to read a trace.
#[derive(Args, Clone, Debug, Default)]
pub struct InputArgs {
    /// The format of the trace, where its content does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FormatName>,

    /// Count and pass over malformed lines and impossible events
    #[arg(long)]
    pub lenient: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FormatName {
    /// Untorn's binary format
    Utr,
    /// RAPID's text format
    Std,
    /// RAPID's binary format; can only be read
    Rapidbin,
    /// One JSON object a line
    Jsonl,
}

#[derive(Subcommand, Debug)]
pub enum TraceCommand {
    /// Show what is in a trace
    Info(InfoArgs),
    /// Write a trace in another format
    Convert(ConvertArgs),
    /// Make a trace of a given shape
    Generate(GenerateArgs),
    /// Keep a part of a trace
    Cut(CutArgs),
    /// List the events of a trace that cannot have happened
    Validate(ValidateArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  untorn trace info run.std
  gunzip -c run.std.gz | untorn trace info -")]
pub struct InfoArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
The format of OUT follows from its name (.utr, .std, .jsonl, each also with .gz or .zst), or from
--to. What that format cannot express is left out and counted.

Examples:
  untorn trace convert run.std run.utr
  untorn trace convert run.utr - --to jsonl | less")]
pub struct ConvertArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "IN")]
    pub file: PathBuf,

    /// The file to write; `-` is standard output
    #[arg(value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<FormatName>,

    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
The same shape, numbers and seed always give the same trace.

Examples:
  untorn trace generate mix --events 5000000 --threads 8 -o mix.std
  untorn trace generate small --violation -o - --to std | untorn analyze -")]
pub struct GenerateArgs {
    /// What the trace looks like
    #[arg(value_enum, value_name = "SHAPE")]
    pub shape: ShapeName,

    /// How many events
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub events: u64,

    /// How many threads [default: 8, for pipe 64]
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,

    /// Chooses one of the traces of this shape
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Put a violation near the end
    #[arg(long)]
    pub violation: bool,

    /// The file to write; `-` is standard output
    #[arg(long, short, value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Option<FormatName>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ShapeName {
    /// Long, short and nested blocks, shared and local variables
    Mix,
    /// Blocks of one to three accesses
    Small,
    /// Blocks of about two hundred accesses
    Large,
    /// Almost all accesses are to variables of the own thread
    Local,
    /// One block stays open for the whole trace
    Hold,
    /// A million variables
    Manyvars,
    /// Every transaction reads what the still open ones before it wrote
    Pipe,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Events are counted from 0; the one at --to is not kept. Names and places keep their tables. A part
of a trace may be ill-formed: what was begun or acquired before it is missing.

Examples:
  untorn trace cut run.utr --from 1000000 --to 1000500 -o window.jsonl")]
pub struct CutArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "IN")]
    pub file: PathBuf,

    /// The first event to keep
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub from: u64,

    /// The first event not to keep; without it, all up to the end are kept
    #[arg(long, value_name = "M")]
    pub to: Option<u64>,

    /// The file to write; `-` is standard output
    #[arg(long, short, value_name = "OUT")]
    pub out: PathBuf,

    /// The format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to_format: Option<FormatName>,

    #[command(flatten)]
    pub input: InputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Exits with 0 if the trace is well-formed, and with 2 if it is not.

Examples:
  untorn trace validate run.std")]
pub struct ValidateArgs {
    /// The trace; `-` is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub input: InputArgs,
}
