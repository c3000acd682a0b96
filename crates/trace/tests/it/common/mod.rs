//! What the tests of all formats share.

pub mod anything;

use std::io::{self, Read};

use untorn_testkit::Rng;
use untorn_trace::{Event, Notes, Source, Tables, Trace, TraceError};

/// Everything a source gives: the events before an error too.
pub struct Outcome {
    pub events: Vec<Event>,
    pub tables: Tables,
    pub notes: Notes,
    pub error: Option<TraceError>,
}

/// Reads to the end or an error, and checks that the end or the error stays.
pub fn drain(source: &mut dyn Source) -> Outcome {
    let mut events = Vec::new();
    let mut batch = Vec::new();
    let error = loop {
        match source.read(&mut batch) {
            Ok(()) if batch.is_empty() => break None,
            Ok(()) => events.extend_from_slice(&batch),
            Err(error) => break Some(error),
        }
    };
    let again = source.read(&mut batch).err();
    assert_eq!(error.as_ref().map(ToString::to_string), again.map(|error| error.to_string()));
    assert!(batch.is_empty(), "events after the end");
    Outcome { events, tables: source.tables().clone(), notes: source.notes().clone(), error }
}

/// Gives `bytes` in pieces of `size`.
pub struct Pieces {
    pub bytes: Vec<u8>,
    pub at: usize,
    pub size: usize,
}

impl Pieces {
    pub fn stream(bytes: &[u8], size: usize) -> Box<dyn Read + Send> {
        Box::new(Self { bytes: bytes.to_vec(), at: 0, size })
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.size.min(into.len()).min(self.bytes.len() - self.at);
        into[..count].copy_from_slice(&self.bytes[self.at..][..count]);
        self.at += count;
        Ok(count)
    }
}

/// A few random changes: bytes replaced, inserted, removed, doubled, or the end cut off.
pub fn mutate(bytes: &[u8], telling: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(mutated.len() as u32 + 1) as usize;
        let byte = match rng.below(2) {
            0 => rng.bits() as u8,
            _ => telling[rng.below(telling.len() as u32) as usize],
        };
        match rng.below(6) {
            0 => mutated.insert(at, byte),
            1 => mutated.truncate(at),
            2 => drop(mutated.drain(at..(at + 3).min(bytes.len()).max(at).min(mutated.len()))),
            3 => {
                let piece = mutated[at..].iter().take(9).copied().collect::<Vec<u8>>();
                mutated.splice(at..at, piece);
            }
            _ if at < mutated.len() => mutated[at] = byte,
            _ => mutated.push(byte),
        }
    }
    mutated
}

/// All data of the tables, in a form that can be compared.
pub fn describe(tables: &Tables) -> String {
    let names = |names: Vec<&str>| format!("{names:?}\n");
    let mut text = names(tables.threads.iter().collect());
    text += &names(tables.vars.iter().collect());
    text += &names(tables.locks.iter().collect());
    text += &names(tables.labels.iter().collect());
    for index in 0..tables.sites.len() {
        text += &format!("{:?}\n", tables.sites.get(untorn_trace::SiteId(index as u32)));
    }
    for index in 0..tables.vars.len() {
        let var = untorn_trace::VarId(index as u32);
        text += &format!("{:?} {:?}\n", tables.var_facts(var), tables.var_range(var));
    }
    text += &names(tables.members.iter().collect());
    for index in 0..tables.labels.len() {
        let label = untorn_trace::LabelId(index as u32);
        let facts = tables.label_facts(label);
        let [class, method] = [facts.class, facts.method].map(|text| tables.sites.symbol(text));
        text += &format!("{class:?} {method:?} {} {}\n", facts.is_library, facts.is_entry);
    }
    text + &format!("{:?}", tables.meta)
}

pub fn assert_same(found: &Trace, expected: &Trace) {
    assert_eq!(found.events, expected.events);
    assert_eq!(describe(&found.tables), describe(&expected.tables));
}
