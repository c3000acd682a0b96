//! `untorn trace validate`: the events that cannot have happened.

use untorn_report::phrasing::{count, number};
use untorn_report::text::plain;
use untorn_trace::validate::Validator;
use untorn_trace::{BATCH, EventIdx};

use crate::console::{Console, Progress};
use crate::exit::{Exit, Result};
use crate::files::Input;

use super::warn_of_losses;

pub fn run(input: &Input, console: &mut Console) -> Result<Exit> {
    let mut source = input.open()?;
    let mut validator = Validator::new();
    let mut events = 0;
    let mut batch = Vec::with_capacity(BATCH);
    let mut progress = Progress::new("validating", false);
    loop {
        source.read(&mut batch).map_err(|error| input.fault(&error))?;
        if batch.is_empty() {
            break;
        }
        validator.events(EventIdx(events), &batch);
        events += batch.len() as u64;
        progress.at(events);
    }
    drop(progress);
    for defect in validator.defects() {
        console.put(&format!("{}\n", plain(&defect.describe(source.tables()))))?;
    }
    let rest = validator.count().saturating_sub(validator.defects().len() as u64);
    if rest > 0 {
        console.put(&format!("and {} more\n", number(rest)))?;
    }
    let notes = source.notes();
    warn_of_losses(input, source.as_ref(), console);
    let name = plain(&input.name());
    let verdict = match validator.count() {
        0 => format!("{name}: well-formed, {}\n", count(events, "event")),
        n => format!("{name}: ill-formed, {} in {}\n", count(n, "defect"), count(events, "event")),
    };
    console.put(&verdict)?;
    let sound = validator.count() == 0 && notes.cut.is_none() && notes.skipped == 0;
    Ok(if sound { Exit::Clean } else { Exit::BadInput })
}
