//! What `untorn analyze` is to do.

use std::path::PathBuf;

use super::args::{AnalyzeArgs, CheckerName};
use crate::config::{Blocks, at_most_one_dash, input};
use crate::console::{Color, Volume};
use crate::exit::Result;
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

impl Analyze {
    pub fn new(args: AnalyzeArgs) -> Result<Self> {
        at_most_one_dash(&args.files, "standard input can be read only once")?;
        let outputs: Vec<&PathBuf> =
            [&args.dot, &args.svg, &args.json].into_iter().flatten().collect();
        at_most_one_dash(
            &outputs,
            "only one of --dot, --svg and --json can go to standard output",
        )?;
        let volume = args.output.volume(outputs.iter().any(|path| is_dash(path)));
        Ok(Self {
            inputs: args.files.iter().map(|file| input(file, &args.input)).collect(),
            plan: plan(&args.with),
            blocks: Blocks::new(args.labels)?,
            dot: args.dot,
            svg: args.svg,
            json: args.json,
            color: args.output.color(),
            volume,
        })
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
