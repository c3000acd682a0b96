//! What the configs of several commands have in common.

use std::path::{Path, PathBuf};
use std::time::Duration;

use untorn_frontend::StopCondition;
use untorn_jvm::config::ScopeConfig;
use untorn_predict::candidates::BlockScope;
use untorn_trace::{Format, Strictness};

use crate::args::{BlocksName, FormatName, InputArgs, LabelArgs, ScopeArgs, StopArgs};
use crate::exit::{CliError, Result};
use crate::files::{Input, is_dash};

/// Which labels count as blocks.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    pub atomic: Vec<String>,
    pub not_atomic: Vec<String>,
}

impl Blocks {
    pub fn new(LabelArgs { atomic, not_atomic }: LabelArgs) -> Result<Self> {
        if atomic.iter().chain(&not_atomic).any(String::is_empty) {
            return Err(CliError::input(
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

/// What of a program is recorded, as the common options want it.
pub fn scope(ScopeArgs { instrument, exclude, atomic }: ScopeArgs) -> ScopeConfig {
    ScopeConfig { instrument, exclude, atomic, ..ScopeConfig::default() }
}

pub fn sources_of(blocks: BlocksName) -> BlockScope {
    match blocks {
        BlocksName::Declared => BlockScope::Declared,
        BlocksName::All => BlockScope::All,
    }
}

/// Moves the seeds of the runs to start with.
pub fn initial_seed(options: &mut untorn_explore::Options, by: u64) {
    for spec in &mut options.initial {
        spec.seed = spec.seed.wrapping_add(by);
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
        _ => Err(CliError::input(format!("'{text}' is not a time")).way_out("write 30s, 5m or 1h")),
    }
}

/// When a program is ended that does not end by itself.
pub fn stop_condition(args: StopArgs) -> Result<StopCondition> {
    let StopArgs { until, drive, stop_after } = args;
    let is_empty = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
    if is_empty(&until) {
        return Err(CliError::input("--until '' is in every line")
            .way_out("write what the program says when it is ready: --until 'Started in'"));
    }
    if is_empty(&drive) {
        return Err(CliError::input("--drive '' is no command")
            .way_out("write it as for a shell: --drive 'curl -s localhost:8080/buy'"));
    }
    let after = stop_after.as_deref().map(duration).transpose()?;
    Ok(StopCondition { after, until, drive })
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

/// Refuses `-` for more than one file.
pub fn at_most_one_dash(paths: &[impl AsRef<Path>], why: &str) -> Result<()> {
    if paths.iter().filter(|path| is_dash(path.as_ref())).count() > 1 {
        return Err(CliError::input(format!("`-` was given twice: {why}")));
    }
    Ok(())
}
