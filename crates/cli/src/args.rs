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
  untorn record -- java -cp classes Bank      run a program and keep its trace
  untorn replay run.utr                       run it again, the very same way
  untorn analyze run.std                      check a RAPID trace and explain what is torn
  untorn analyze --svg torn.svg run.jsonl     draw it, too
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
    /// Run a Java program, schedule its threads, and keep an exact trace
    Record(RecordArgs),
    /// Repeat a recorded run, event by event
    Replay(ReplayArgs),
    /// Check a recorded trace for blocks that were torn
    Analyze(AnalyzeArgs),
    /// Look at, convert, make, cut and validate traces
    #[command(subcommand)]
    Trace(TraceCommand),
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
  untorn replay --debug run.utr        waits for a debugger at port 5005")]
pub struct ReplayArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

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
