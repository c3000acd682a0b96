//! Two traces of one program, event by event.

use untorn_trace::event::{Event, Op};
use untorn_trace::tables::Tables;
use untorn_trace::{Source, show_value};

use crate::exit::Result;
use crate::files::Input;

pub enum Compared {
    Same(u64),
    Differs { at: u64, expected: String, actual: String },
}

/// Compares two traces. Ids are given by first occurrence, so the same events have the same ids; what they stand for is
/// compared when they first occur.
pub fn compare(old: &Input, new: &Input) -> Result<Compared> {
    let (mut a, mut b) = (old.open()?, new.open()?);
    let (mut left, mut right) = (Reading::default(), Reading::default());
    let mut known = Known::default();
    let mut at = 0;
    loop {
        let (x, y) = (left.next(a.as_mut(), old)?, right.next(b.as_mut(), new)?);
        if x.is_none() && y.is_none() {
            return Ok(Compared::Same(at));
        }
        let means_other = |event: Event| words(&event, a.tables()) != words(&event, b.tables());
        if x != y || x.is_some_and(|event| known.is_new(&event) && means_other(event)) {
            // A trace that was cut does not contain what came after.
            if x.is_none() && a.notes().cut.is_some() {
                return Ok(Compared::Same(at));
            }
            let shown = |event: Option<Event>, tables: &Tables| {
                event.map_or("the end of the run".to_owned(), |event| words(&event, tables))
            };
            let (expected, actual) = (shown(x, a.tables()), shown(y, b.tables()));
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

#[derive(Default)]
struct Reading {
    batch: Vec<Event>,
    next: usize,
}

impl Reading {
    fn next(&mut self, source: &mut dyn Source, input: &Input) -> Result<Option<Event>> {
        if self.next == self.batch.len() {
            source.read(&mut self.batch).map_err(|error| input.fault(&error))?;
            self.next = 0;
        }
        let event = self.batch.get(self.next).copied();
        self.next += 1;
        Ok(event)
    }
}

/// An event in words.
fn words(event: &Event, tables: &Tables) -> String {
    let thread = tables.thread_name(event.thread);
    let what = untorn_report::Action::of(event.op).verb();
    let target = target(event, tables);
    let value = event.value().map_or(String::new(), |value| {
        let kind = match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => tables.var_facts(var).values,
            _ => untorn_trace::ValueKind::Ref,
        };
        format!(" = {}", show_value(value, kind))
    });
    let place = match tables.site_text(event.site) {
        text if text.is_empty() => text,
        text => format!(" at {text}"),
    };
    format!("{thread}: {what} {target}{value}{place}")
}

fn target(event: &Event, tables: &Tables) -> String {
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
