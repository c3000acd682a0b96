//! Whether two traces are of the same run, up to what must differ between a JVM that has just started and one that has
//! made runs before.

use std::path::Path;

use untorn_runtime_protocol::SCHEDULE;
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::formats::utr;
use untorn_trace::source::{Trace, TraceError};
use untorn_trace::{Coverage, Event, Op, RecordingSummary};

/// How two runs by the same description compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    Same,
    /// As many threads do about as much. The first difference, in words.
    Alike(String),
    /// The first difference, in words.
    Different(String),
}

/// # Errors
/// If one of the traces cannot be read.
pub fn compare(one: &Path, other: &Path) -> Result<Comparison, TraceError> {
    let [a, b] = [read(one)?, read(other)?];
    Ok(match difference_of(one, other, &a, &b)? {
        None => Comparison::Same,
        Some(difference) if are_alike(&a, &b) => Comparison::Alike(difference),
        Some(difference) => Comparison::Different(difference),
    })
}

/// The JDK does more when it is used for the first time, and the order of hash tables depends on identities. Neither
/// changes the number of threads, nor how much the application's own code does, beyond a few rounds of a loop.
fn are_alike(a: &Trace, b: &Trace) -> bool {
    let counts = [a, b].map(own_accesses);
    let [few, many] = [counts[0].min(counts[1]), counts[0].max(counts[1])];
    a.tables.threads.len() == b.tables.threads.len() && many - few <= few / 4 + FEW
}

/// More or fewer accesses than these say nothing.
const FEW: usize = 16;

/// Accesses by code of the application.
fn own_accesses(trace: &Trace) -> usize {
    let is_own = |event: &&Event| {
        matches!(event.op, Op::Read { .. } | Op::Write { .. })
            && trace.tables.sites.get(event.site).is_some_and(|site| !site.facts.is_library)
    };
    trace.events.iter().filter(is_own).count()
}

/// The first difference that matters, in words; `None` if it is the same run.
///
/// # Errors
/// If one of the traces cannot be read.
pub fn difference(one: &Path, other: &Path) -> Result<Option<String>, TraceError> {
    let [a, b] = [read(one)?, read(other)?];
    difference_of(one, other, &a, &b)
}

fn difference_of(
    one: &Path,
    other: &Path,
    a: &Trace,
    b: &Trace,
) -> Result<Option<String>, TraceError> {
    if let Some(difference) = difference_of_events(a, b) {
        return Ok(Some(difference));
    }
    if utr::extras(one, SCHEDULE)? != utr::extras(other, SCHEDULE)? {
        return Ok(Some("the schedules differ".to_owned()));
    }
    let named = difference_of_summaries(a, b).or_else(|| difference_of_names(a, b));
    if named.is_none() && bytes(a)? != bytes(b)? {
        return Ok(Some("names or facts differ".to_owned()));
    }
    Ok(named)
}

fn difference_of_events(a: &Trace, b: &Trace) -> Option<String> {
    let same = a.events.iter().zip(&b.events).take_while(|(a, b)| a == b).count();
    if same == a.events.len().max(b.events.len()) {
        return None;
    }
    let of = |trace: &Trace| {
        trace.events.get(same).map_or("nothing".to_owned(), |event| {
            let site = trace.tables.sites.get(event.site);
            let place = site.map_or(String::new(), |site| {
                format!(" at {}.{}:{}", site.class, site.method, site.line)
            });
            format!("{:?}{place}", event.op)
        })
    };
    Some(format!("event {} is {} or {}", same + 1, of(a), of(b)))
}

/// The first field that differs, in words.
fn difference_of_summaries(a: &Trace, b: &Trace) -> Option<String> {
    let fields = |trace: &Trace| match serde_json::to_value(&trace.tables.meta.summary) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (a, b) = (fields(a), fields(b));
    let name = a.keys().chain(b.keys()).find(|&name| a.get(name) != b.get(name))?;
    let of = |fields: &serde_json::Map<_, serde_json::Value>| {
        fields.get(name).map_or("nothing".to_owned(), ToString::to_string)
    };
    Some(format!("{name} of the recording is {} or {}", of(&a), of(&b)))
}

fn difference_of_names(a: &Trace, b: &Trace) -> Option<String> {
    let names = |trace: &Trace| {
        let tables = &trace.tables;
        let all = tables.threads.iter().chain(tables.vars.iter()).chain(tables.locks.iter());
        all.chain(tables.labels.iter()).map(str::to_owned).collect::<Vec<_>>()
    };
    let (a, b) = (names(a), names(b));
    let (one, other) = a.iter().zip(&b).find(|(one, other)| one != other)?;
    Some(format!("a name is {one} or {other}"))
}

fn bytes(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::new();
    trace.write(&mut utr::Writer::new(&mut bytes, utr::Compression::None))?;
    Ok(bytes)
}

/// A note of a deadlock without the numbers of objects and the addresses of hidden classes.
fn without_numbers(note: &str) -> String {
    let mut out = String::new();
    for (number, part) in note.split(['#', '$']).enumerate() {
        let part =
            if number == 0 { part } else { part.trim_start_matches(|c: char| c.is_ascii_digit()) };
        let (before, behind) = part.split_once(".0x").unwrap_or((part, ""));
        out.push_str(before);
        out.push_str(behind.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    out
}

/// A trace without what depends on how many classes the JVM has loaded before.
fn read(path: &Path) -> Result<Trace, TraceError> {
    let mut source = open(&Input::new(path), &OpenOptions::default())?;
    let mut trace = Trace::read(&mut *source)?;
    if let Some(summary) = &mut trace.tables.meta.summary {
        let coverage = std::mem::take(&mut summary.coverage);
        *summary = RecordingSummary {
            uncontrolled_threads: 0,
            notes: summary.notes.iter().map(|note| without_numbers(note)).collect(),
            coverage: Coverage { library_classes: 0, lock_classes: 0, ..coverage },
            ..std::mem::take(summary)
        };
    }
    Ok(trace)
}
