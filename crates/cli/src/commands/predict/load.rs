//! Reads a trace, or of it what predictions are about.

use std::ops::ControlFlow;

use untorn_predict::History;
use untorn_predict::candidates::BlockScope;
use untorn_predict::projection::{Projected, Projector, Sharing, Steering};
use untorn_predict::{HistoryError, Origin};
use untorn_trace::{Event, Tables, ValueKind, VarId};

use super::config::{Patterns, Predict};
use crate::console::Volume;
use crate::exit::{CliError, Result};
use crate::reading::{ReadOptions, Reading, read};

/// A trace that was read.
pub struct Loaded {
    pub reading: Reading,
    pub history: History,
    /// Blocks that count.
    pub blocks: u64,
}

pub fn load(config: &Predict) -> Result<Loaded> {
    let mut sharing = Sharing::default();
    // A pipe gives its events only once. Plans count how often a thread has been at a place, and patterns and other
    // tools may ask about anything.
    let is_whole = config.plans.is_some()
        || config.export.is_some()
        || matches!(config.patterns, Patterns::Events(_));
    let again = !is_whole && config.input.can_be_read_again();
    let mut events = Vec::new();
    let reading = pass(config, "reading", &mut |batch| {
        sharing.add(batch);
        if !again {
            events.extend_from_slice(batch);
        }
    })?;
    let of_origin = |origin| match origin {
        Origin::Inferred if config.sources != BlockScope::All => 0,
        _ => sharing.blocks(origin),
    };
    let blocks = of_origin(Origin::Declared) + of_origin(Origin::Inferred);
    let tables = reading.tables();
    let history = if is_whole {
        History::new(events, tables)
    } else {
        let projected = match again {
            true => projected_again(config, &reading, &sharing)?,
            false => projected(&events, &sharing, tables),
        };
        drop(events);
        projected.and_then(|projected| History::of_projection(projected, tables))
    };
    let fail = |error| CliError::input(format!("{error}, {}", config.input.name()));
    Ok(Loaded { history: history.map_err(fail)?, reading, blocks })
}

fn pass(
    config: &Predict,
    progress: &'static str,
    each: &mut dyn FnMut(&[Event]),
) -> Result<Reading> {
    let quiet = config.volume == Volume::Quiet;
    let manner = ReadOptions { blocks: &config.blocks, progress, quiet };
    read(&config.input, manner, &mut |_, batch| {
        each(batch);
        ControlFlow::Continue(())
    })
}

type OrTooLong = std::result::Result<Projected, HistoryError>;

fn projected_again(config: &Predict, reading: &Reading, sharing: &Sharing) -> Result<OrTooLong> {
    let tables = reading.tables();
    let (steers, elements) = (|var| steers(tables, var), |var| tables.is_element(var));
    let steering = Steering { steers: &steers, elements: &elements };
    let mut projector = Projector::new(sharing, steering);
    let second = pass(config, "reading again", &mut |batch| projector.add(batch))?;
    if second.tally.events != reading.tally.events {
        let what = format!("the trace changed while it was read, {}", config.input.name());
        return Err(CliError::input(what).way_out("wait until it is complete"));
    }
    Ok(projector.finish())
}

fn projected(events: &[Event], sharing: &Sharing, tables: &Tables) -> OrTooLong {
    let (steers, elements) = (|var| steers(tables, var), |var| tables.is_element(var));
    let steering = Steering { steers: &steers, elements: &elements };
    let mut projector = Projector::new(sharing, steering);
    projector.add(events);
    projector.finish()
}

/// Whether a thread that reads another value of the variable goes elsewhere: a reference leads to another object.
pub fn steers(tables: &Tables, var: VarId) -> bool {
    tables.var_facts(var).values == ValueKind::Ref
}
