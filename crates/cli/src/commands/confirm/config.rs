//! What `untorn confirm` is to do.

use std::path::PathBuf;

use untorn_trace::EventIdx;

use super::args::{ConfirmArgs, MethodName};
use crate::config::{Blocks, input};
use crate::console::{Color, Volume};
use crate::exit::{CliError, Result};
use crate::files::{Input, is_dash};

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
            blocks: Blocks::new(args.labels)?,
            json: args.json,
            color: args.output.color(),
            volume: args.output.volume(machine),
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
        Some(_) => Err(CliError::input(format!("the window {text} is empty"))),
        None => Err(CliError::input(format!("{text} is not a window"))
            .way_out("write two positions, as in 1000..1500")),
    }
}
