//! Traces as a person writes them in a test: `T0 begin A; T0 w(x); T1 r(x); T0 end`.

use untorn_trace::{Event, Hold, Op, SiteId, Tables, Trace};

/// The trace that `text` describes: steps separated by `;` or line ends, each a thread, an
/// operation and its target in parentheses. `begin` and `end` take an optional label.
///
/// # Panics
/// If a step is not of that form: a test is wrong.
pub fn script(text: &str) -> Trace {
    let mut tables = Tables::default();
    let steps = text.split([';', '\n']).map(str::trim).filter(|step| !step.is_empty());
    let events = steps.map(|step| event(step, &mut tables)).collect();
    Trace { tables, events }
}

fn event(step: &str, tables: &mut Tables) -> Event {
    let (thread, rest) = step.split_once(' ').unwrap_or_else(|| panic!("no operation: {step}"));
    let thread = tables.threads.intern(thread);
    let rest = rest.trim();
    let (name, target) = match rest.split_once(['(', ' ']) {
        Some((name, target)) => (name, target.trim_end_matches(')').trim()),
        None => (rest, ""),
    };
    Event::new(thread, op(name, target, tables), SiteId::NONE)
}

fn op(name: &str, target: &str, tables: &mut Tables) -> Op {
    let hold = Hold::Shared;
    match name {
        "r" => Op::read(tables.vars.intern(target)),
        "w" => Op::write(tables.vars.intern(target)),
        "acq" => Op::acquire(tables.locks.intern(target)),
        "rel" => Op::release(tables.locks.intern(target)),
        "acqs" => Op::Acquire { lock: tables.locks.intern(target), hold },
        "rels" => Op::Release { lock: tables.locks.intern(target), hold },
        "wait" => Op::Wait { lock: tables.locks.intern(target) },
        "resume" => Op::Resume { lock: tables.locks.intern(target) },
        "fork" => Op::Fork { child: tables.threads.intern(target) },
        "join" => Op::Join { child: tables.threads.intern(target) },
        "begin" => Op::begin(tables.labels.intern(target)),
        "end" => Op::End { label: tables.labels.intern(target) },
        _ => panic!("no operation is called {name}"),
    }
}
