//! What `untorn predict` is to do.

use std::num::NonZero;
use std::path::PathBuf;

use untorn_predict::Pattern;
use untorn_predict::avfilter::Reading;
use untorn_predict::candidates::BlockScope;
use untorn_predict::pattern::EventPattern;
use untorn_trace::reordering::ReorderingRule;

use super::args::{EngineName, FilterName, PredictArgs, StrengthName};
use crate::config::{Blocks, input, sources_of};
use crate::console::{Color, Volume};
use crate::exit::{CliError, Result};
use crate::files::{Input, is_dash};

#[derive(Debug)]
pub struct Predict {
    pub input: Input,
    pub method: Method,
    pub blocks: Blocks,
    pub sources: BlockScope,
    pub patterns: Patterns,
    pub jobs: usize,
    pub budget: u32,
    pub limit: usize,
    pub engine: EngineName,
    pub plans: Option<PathBuf>,
    pub export: Option<(ExportFormat, PathBuf)>,
    pub json: Option<PathBuf>,
    pub color: Color,
    pub volume: Volume,
}

/// What is looked for.
#[derive(Debug)]
pub enum Patterns {
    /// Torn blocks, with these patterns; all if empty.
    Torn(Vec<Pattern>),
    /// Events in these orders, in blocks or not.
    Events(Vec<EventPattern>),
}

/// A format of other tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExportFormat {
    Pddl,
    SmtLib,
}

/// What decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The surest that holds: same value, simulation, lock-valid.
    Surest,
    Only(Certainty),
}

/// How sure a prediction is; surer ones first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// Every read reads from the same write.
    Source,
    /// Every read returns the same value.
    Value,
    /// A simulation with values gets there.
    Simulated,
    AvFilter(Reading),
    Locks,
}

impl Certainty {
    /// In the words of a report.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Locks => "locks allow it",
            Self::AvFilter(_) => "passes AVFilter",
            Self::Source | Self::Value | Self::Simulated => "can happen",
        }
    }

    /// How that is known.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locks => "lock-valid",
            Self::Simulated => "simulation",
            Self::AvFilter(Reading::Best) => "AVFilter",
            Self::AvFilter(Reading::Printed) => "AVFilter as printed",
            Self::Source => "same source",
            Self::Value => "same value",
        }
    }

    /// What the validator asks of the reorderings. Those of the filters change what is read.
    pub const fn rule(self) -> ReorderingRule {
        match self {
            Self::Locks | Self::Simulated | Self::AvFilter(_) => ReorderingRule::Lock,
            Self::Source => ReorderingRule::SameSource,
            Self::Value => ReorderingRule::SameValue,
        }
    }
}

impl Predict {
    pub fn new(args: PredictArgs) -> Result<Self> {
        if args.jobs == Some(0) {
            return Err(CliError::input("--jobs 0 would decide nothing"));
        }
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let machine = args.json.as_ref().is_some_and(|path| is_dash(path));
        let volume = args.output.volume(machine);
        Ok(Self {
            input: input(&args.file, &args.input),
            method: method(args.strength, args.filter),
            blocks: Blocks::new(args.labels)?,
            sources: sources_of(args.blocks),
            patterns: patterns(&args.pattern)?,
            jobs: args.jobs.unwrap_or(processors),
            budget: args.budget,
            limit: args.limit,
            engine: args.engine,
            plans: args.plans,
            export: export(&args.export)?,
            json: args.json,
            color: args.output.color(),
            volume,
        })
    }
}

fn export(words: &[String]) -> Result<Option<(ExportFormat, PathBuf)>> {
    let [format, folder] = words else { return Ok(None) };
    let format = match format.as_str() {
        "pddl" => ExportFormat::Pddl,
        "smt2" => ExportFormat::SmtLib,
        other => {
            let what = format!("no format for --export is called '{other}'");
            return Err(CliError::input(what).way_out("the formats are pddl and smt2"));
        }
    };
    Ok(Some((format, PathBuf::from(folder))))
}

const fn method(strength: Option<StrengthName>, filter: FilterName) -> Method {
    let Some(strength) = strength else { return Method::Surest };
    Method::Only(match (strength, filter) {
        (StrengthName::Lock, _) => Certainty::Locks,
        (StrengthName::Filtered, FilterName::Simulation) => Certainty::Simulated,
        (StrengthName::Filtered, FilterName::Avfilter) => Certainty::AvFilter(Reading::Best),
        (StrengthName::Filtered, FilterName::AvfilterPrinted) => {
            Certainty::AvFilter(Reading::Printed)
        }
        (StrengthName::Precise, _) => Certainty::Value,
        (StrengthName::Under, _) => Certainty::Source,
    })
}

/// Letters, or events in an order: whatever has a `<` in it.
fn patterns(texts: &[String]) -> Result<Patterns> {
    let (events, letters): (Vec<&String>, Vec<&String>) =
        texts.iter().partition(|text| text.contains('<'));
    if events.is_empty() {
        let words = letters.iter().flat_map(|text| text.split(','));
        return words
            .map(|word| letters_of(word.trim()))
            .collect::<Result<_>>()
            .map(Patterns::Torn);
    }
    if let Some(word) = letters.first() {
        let what = format!("--pattern '{word}' beside a pattern of events");
        return Err(CliError::input(what).way_out("ask for one or the other"));
    }
    let parsed = events.into_iter().map(|text| {
        EventPattern::parse(text).map_err(|error| {
            CliError::input(format!("--pattern '{text}': {error}"))
                .way_out("docs/prediction.md shows what can be said")
        })
    });
    parsed.collect::<Result<_>>().map(Patterns::Events)
}

fn letters_of(word: &str) -> Result<Pattern> {
    let known = Pattern::ALL.into_iter();
    known.into_iter().find(|known| known.letters().eq_ignore_ascii_case(word)).ok_or_else(|| {
        let all = Pattern::ALL.map(Pattern::letters).join(", ");
        CliError::input(format!("no pattern is called '{word}'")).way_out(format!(
            "the patterns are {all}; or put events in an order, as in 'r(x)@A < w(x)@B < r(x)@A'"
        ))
    })
}
