//! Arguments that several commands have in common.

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::console::{Color, Volume};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlocksName {
    Declared,
    All,
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

/// When to use colours.
#[derive(Args, Clone, Copy, Debug)]
pub struct ColorArgs {
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
}

/// What goes to standard output. A command whose output needs other words changes them with `mut_arg`.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    #[command(flatten)]
    colors: ColorArgs,

    /// Also show positions, the extent of blocks, and the operations around a cycle
    #[arg(long, short)]
    verbose: bool,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
}

impl OutputArgs {
    pub fn color(&self) -> Color {
        self.colors.color
    }

    /// How much to print. Nothing if standard output is for a machine: text and a machine's format on one stream would
    /// be useless.
    pub fn volume(&self, to_machine: bool) -> Volume {
        Volume::of(self.quiet || to_machine, self.verbose)
    }
}

/// Which blocks of a trace count.
#[derive(Args, Clone, Debug, Default)]
pub struct LabelArgs {
    /// Only blocks with such a label count; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,

    /// Blocks with such a label do not count; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub not_atomic: Vec<String>,
}

/// What of a program is recorded.
#[derive(Args, Clone, Debug, Default)]
pub struct ScopeArgs {
    /// Record these classes of the JDK, too; `*` stands for any text; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub instrument: Vec<String>,

    /// Do not record these classes, only their locks; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// These methods are meant to be atomic; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub atomic: Vec<String>,
}

/// When a program is ended that does not end by itself.
#[derive(Args, Clone, Debug, Default)]
pub struct StopArgs {
    /// End a run when a line of the program's output contains this text, in which `*` stands for any text; with --drive,
    /// start the client then
    #[arg(long, value_name = "TEXT")]
    pub until: Option<String>,

    /// A client to run against the program, as `sh` understands it; when it ends, the program is ended. If it fails, the
    /// run has failed
    #[arg(long, value_name = "COMMAND")]
    pub drive: Option<String>,

    /// End a run after so much time, such as 10s
    #[arg(long, value_name = "TIME")]
    pub stop_after: Option<String>,
}
