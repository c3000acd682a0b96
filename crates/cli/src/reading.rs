//! One reading of a trace from its start: every pass of every command goes through here.

use std::ops::ControlFlow;

use untorn_report::phrasing;
use untorn_report::text::plain;
use untorn_serializability::block_filter::BlockFilter;
use untorn_trace::validate::Validator;
use untorn_trace::{BATCH, Event, EventIdx, Notes, Op, Source, Strictness, Tables};

use crate::config::Blocks;
use crate::console::Progress;
use crate::exit::{CliError, Result};
use crate::files::Input;

/// Defects listed in an error.
const LISTED: usize = 5;

/// What a reading saw.
pub struct Reading {
    source: Box<dyn Source + Send>,
    pub tally: Tally,
    /// Impossible events that were left out.
    pub defects: u64,
    /// The first of them in words.
    pub first_defects: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub events: u64,
    /// Begins of blocks in the trace, and those that count.
    pub blocks: u64,
    pub counted_blocks: u64,
    /// Events that no conflict checker looks at.
    pub invisible: u64,
}

impl Reading {
    pub fn tables(&self) -> &Tables {
        self.source.tables()
    }

    pub fn notes(&self) -> &Notes {
        self.source.notes()
    }
}

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions<'a> {
    pub blocks: &'a Blocks,
    /// The text of the progress line.
    pub progress: &'static str,
    pub quiet: bool,
}

/// Reads the trace and hands well-formed batches to `each`, until it breaks or the trace ends.
/// An impossible event is an error, or left out if the input is to be read leniently.
pub fn read(
    input: &Input,
    manner: ReadOptions<'_>,
    each: &mut dyn FnMut(EventIdx, &[Event]) -> ControlFlow<()>,
) -> Result<Reading> {
    let mut source = input.open()?;
    let mut filter = (!manner.blocks.are_all())
        .then(|| BlockFilter::new(&manner.blocks.atomic, &manner.blocks.not_atomic));
    let mut validator = Validator::new();
    let mut tally = Tally::default();
    let mut progress = Progress::new(manner.progress, manner.quiet);
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.read(&mut batch).map_err(|error| input.fault(&error))?;
        if batch.is_empty() {
            break;
        }
        let first = EventIdx(tally.events);
        tally.events += batch.len() as u64;
        match input.strictness {
            _ if source.is_well_formed() => {}
            Strictness::Strict => validator.events(first, &batch),
            Strictness::Lenient => leave_out_defects(&mut validator, first, &mut batch),
        }
        if validator.count() > 0 && input.strictness == Strictness::Strict {
            return Err(ill_formed(input, &validator, source.tables()));
        }
        tally.add(&batch);
        match &mut filter {
            Some(filter) => {
                filter.apply(source.tables(), &mut batch);
                tally.counted_blocks += begins(&batch);
            }
            None => tally.counted_blocks = tally.blocks,
        }
        progress.at(tally.events);
        if each(first, &batch).is_break() {
            break;
        }
    }
    drop(progress);
    let first_defects = describe(&validator, source.tables());
    Ok(Reading { source, tally, defects: validator.count(), first_defects })
}

impl Tally {
    fn add(&mut self, batch: &[Event]) {
        // One walk for both: this runs on every event of every trace.
        for event in batch {
            self.blocks += u64::from(matches!(event.op, Op::Begin { .. }));
            self.invisible += u64::from(!event.op.is_conflicting());
        }
    }
}

fn begins(batch: &[Event]) -> u64 {
    batch.iter().filter(|event| matches!(event.op, Op::Begin { .. })).count() as u64
}

/// Turns each event that cannot have happened into one that no checker sees, so that checkers
/// always get a trace that a program can have left.
fn leave_out_defects(validator: &mut Validator, first: EventIdx, batch: &mut [Event]) {
    for (i, event) in batch.iter_mut().enumerate() {
        let before = validator.count();
        validator.events(EventIdx(first.0 + i as u64), std::slice::from_ref(event));
        if validator.count() > before {
            event.op = Op::HIDDEN;
        }
    }
}

fn describe(validator: &Validator, tables: &Tables) -> Vec<String> {
    let words = validator.defects().iter().take(LISTED);
    words.map(|defect| plain(&defect.describe(tables))).collect()
}

fn ill_formed(input: &Input, validator: &Validator, tables: &Tables) -> CliError {
    let mut lines = describe(validator, tables);
    let rest = validator.count().saturating_sub(LISTED as u64);
    if rest > 0 {
        lines.push(format!("and at least {} more", phrasing::number(rest)));
    }
    CliError::input(format!("the trace cannot have happened, {}", input.name()))
        .details(lines)
        .way_out(format!(
            "`untorn trace validate {}` lists all; `--lenient` leaves such events out",
            input.name()
        ))
}
