//! Two traces of one program, event by event: whether a replay was the same run.

use std::path::Path;

use untorn_trace::event::{Event, Op};
use untorn_trace::formats::open::{self, OpenOptions};
use untorn_trace::tables::Tables;
use untorn_trace::{Format, Source, Strictness, show_value};

use crate::FrontEndError;

/// What two traces have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Compared {
    /// All events, of which there are so many.
    Same(u64),
    /// The events before this one, counted from 0. `None` is the end of the run.
    Differs { at: u64, expected: Option<String>, actual: Option<String> },
}

/// Compares two traces. Ids are given by first occurrence, so the same events have the same ids; what they stand for is
/// compared when they first occur. `words` describes an event; [`names`] is enough if nobody reads it.
///
/// # Errors
/// If one of them cannot be read.
pub fn compare(
    old: &Path,
    new: &Path,
    words: &dyn Fn(&Event, &Tables) -> String,
) -> Result<Compared, FrontEndError> {
    let (mut left, mut right) = (Reading::open(old)?, Reading::open(new)?);
    let mut known = Known::default();
    let mut at = 0;
    loop {
        let (x, y) = (left.next()?, right.next()?);
        if x.is_none() && y.is_none() {
            return Ok(Compared::Same(at));
        }
        let means_other =
            |event: &Event| names(event, left.tables()) != names(event, right.tables());
        if x != y || x.is_some_and(|event| known.is_new(&event) && means_other(&event)) {
            // A trace that was cut does not contain what came after.
            if x.is_none() && left.source.notes().cut.is_some() {
                return Ok(Compared::Same(at));
            }
            let expected = x.map(|event| words(&event, left.tables()));
            let actual = y.map(|event| words(&event, right.tables()));
            return Ok(Compared::Differs { at, expected, actual });
        }
        at += 1;
    }
}

/// What has occurred: by kind, the ids.
#[derive(Default)]
struct Known {
    threads: Ids,
    sites: Ids,
    vars: Ids,
    locks: Ids,
    labels: Ids,
}

impl Known {
    /// Whether something occurs for the first time.
    fn is_new(&mut self, event: &Event) -> bool {
        let target = match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => self.vars.add(var.0),
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Request { lock }
            | Op::Wait { lock }
            | Op::Resume { lock }
            | Op::Notify { lock, .. } => self.locks.add(lock.0),
            Op::Fork { child } | Op::Join { child } => self.threads.add(child.0),
            Op::Begin { label: name, .. }
            | Op::End { label: name }
            | Op::Call { method: name, .. }
            | Op::Return { method: name, .. }
            | Op::Argument { method: name, .. }
            | Op::Input { source: name, .. } => self.labels.add(name.0),
            Op::Branch { .. } | Op::Allocate { .. } | Op::Deallocate { .. } => false,
        };
        target | self.threads.add(event.thread.0) | self.sites.add(event.site.0)
    }
}

/// A set of ids, which are dense but for the one that stands for none.
#[derive(Default)]
struct Ids(Vec<bool>);

impl Ids {
    /// Whether it was not there.
    fn add(&mut self, id: u32) -> bool {
        if id == u32::MAX {
            return false;
        }
        let place = id as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, false);
        }
        !std::mem::replace(&mut self.0[place], true)
    }
}

struct Reading {
    source: Box<dyn Source>,
    name: String,
    batch: Vec<Event>,
    next: usize,
}

impl Reading {
    fn open(path: &Path) -> Result<Self, FrontEndError> {
        let options = OpenOptions { format: Some(Format::Utr), strictness: Strictness::Strict };
        let name = path.display().to_string();
        match open::open_known(&open::Input::new(path), &options) {
            Ok((_, source)) => Ok(Self { source, name, batch: Vec::new(), next: 0 }),
            Err(error) => Err(fault(&name, &error)),
        }
    }

    fn tables(&self) -> &Tables {
        self.source.tables()
    }

    fn next(&mut self) -> Result<Option<Event>, FrontEndError> {
        if self.next == self.batch.len() {
            self.source.read(&mut self.batch).map_err(|error| fault(&self.name, &error))?;
            self.next = 0;
        }
        let event = self.batch.get(self.next).copied();
        self.next += 1;
        Ok(event)
    }
}

/// Some of the errors of readers name their file.
fn fault(name: &str, error: &dyn std::fmt::Display) -> FrontEndError {
    let text = error.to_string();
    FrontEndError::input(if text.contains(name) { text } else { format!("{name}: {text}") })
}

/// All that an event names: its thread, its target with the value, its place.
pub fn names(event: &Event, tables: &Tables) -> String {
    let [thread, what] = [tables.thread_name(event.thread), target(event, tables)];
    format!("{thread}: {what}{}", value_and_place(event, tables))
}

/// The value and the place of an event, as they follow its target.
pub fn value_and_place(event: &Event, tables: &Tables) -> String {
    let value = event.value().map_or(String::new(), |value| {
        let kind = match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => tables.var_facts(var).values,
            _ => untorn_trace::ValueKind::Ref,
        };
        format!(" = {}", show_value(value, kind))
    });
    match tables.site_text(event.site) {
        text if text.is_empty() => value,
        text => format!("{value} at {text}"),
    }
}

/// What an event is about, by its name.
pub fn target(event: &Event, tables: &Tables) -> String {
    match event.op {
        Op::Read { var, .. } | Op::Write { var, .. } => tables.var_name(var),
        Op::Acquire { lock, .. }
        | Op::Release { lock, .. }
        | Op::Request { lock }
        | Op::Wait { lock }
        | Op::Resume { lock }
        | Op::Notify { lock, .. } => tables.lock_name(lock),
        Op::Fork { child } | Op::Join { child } => tables.thread_name(child),
        Op::Begin { label, .. } | Op::End { label } => tables.block_name(label, event.site),
        Op::Branch { count } => count.to_string(),
        Op::Call { method, .. } | Op::Return { method, .. } | Op::Argument { method, .. } => {
            tables.block_name(method, event.site)
        }
        Op::Allocate { object, .. } | Op::Deallocate { object } => format!("#{}", object.0),
        Op::Input { source, .. } => tables.block_name(source, event.site),
    }
}
