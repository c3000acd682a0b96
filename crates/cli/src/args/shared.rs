//! Arguments that several commands have in common.

use clap::{Args, ValueEnum};
use serde::Deserialize;

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
