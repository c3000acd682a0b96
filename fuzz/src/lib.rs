//! What every target does with a reader.

use untorn_trace::{BATCH, Event, LabelId, Op, SiteId, Source, Strictness, Tables};

pub const BOTH: [Strictness; 2] = [Strictness::Strict, Strictness::Lenient];

/// Reads to the end or an error. Every event has names, no batch is too long, and the end or error
/// stays.
pub fn read_to_end(source: &mut dyn Source) -> usize {
    let mut batch = Vec::new();
    let mut events = 0;
    let error = loop {
        match source.read(&mut batch) {
            Ok(()) if batch.is_empty() => break None,
            Ok(()) => {}
            Err(error) => break Some(error.to_string()),
        }
        assert!(batch.len() <= BATCH);
        assert!(batch.iter().all(|event| is_named(event, source.tables())));
        events += batch.len();
    };
    assert_eq!(source.read(&mut batch).err().map(|error| error.to_string()), error);
    assert!(batch.is_empty());
    events
}

fn is_named(event: &Event, tables: &Tables) -> bool {
    let label = |label: LabelId| label == LabelId::NONE || label.index() < tables.labels.len();
    let op = match event.op {
        Op::Read { var, .. } | Op::Write { var, .. } => var.index() < tables.vars.len(),
        Op::Acquire { lock, .. }
        | Op::Release { lock, .. }
        | Op::Request { lock }
        | Op::Wait { lock }
        | Op::Resume { lock }
        | Op::Notify { lock, .. } => lock.index() < tables.locks.len(),
        Op::Fork { child } | Op::Join { child } => child.index() < tables.threads.len(),
        Op::Begin { label: name, .. }
        | Op::End { label: name }
        | Op::Call { method: name, .. }
        | Op::Return { method: name, .. }
        | Op::Argument { method: name, .. }
        | Op::Input { source: name, .. } => label(name),
        Op::Branch { .. } | Op::Allocate { .. } | Op::Deallocate { .. } => true,
    };
    let site = event.site == SiteId::NONE || event.site.index() < tables.sites.len();
    op && site && event.thread.index() < tables.threads.len()
}
