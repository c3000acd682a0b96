//! What a trace says of a few variables, and where its threads enter and leave blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{BATCH, Event, Op, Tables, ThreadId, Value, ValueKind, VarId, VarRole};

/// One access.
#[derive(Clone, Debug)]
pub struct Access {
    pub at: u64,
    pub thread: String,
    pub writes: bool,
    /// As a report spells it.
    pub value: Option<String>,
}

/// A thread enters a block or leaves it.
#[derive(Clone, Debug)]
pub struct Boundary {
    pub thread: String,
    pub block: String,
    pub enters: bool,
}

/// A part of a trace, from its start.
#[derive(Debug, Default)]
pub struct Record {
    /// By the name of the variable, in trace order.
    accesses: BTreeMap<String, Vec<Access>>,
    initial: BTreeMap<String, String>,
    pub boundaries: BTreeMap<u64, Boundary>,
    pub threads: BTreeSet<String>,
}

impl Record {
    /// The accesses of the variables with these names up to a position.
    pub fn read(trace: &Path, names: &BTreeSet<&str>, end: u64) -> Option<Self> {
        let mut source = open(&Input::new(trace), &OpenOptions::default()).ok()?;
        let mut reader = Reader { names, ..Reader::new(names) };
        let mut batch: Vec<Event> = Vec::with_capacity(BATCH);
        let mut at = 0;
        loop {
            source.read(&mut batch).ok()?;
            if batch.is_empty() || at > end {
                return Some(reader.record);
            }
            for event in &batch {
                if at <= end {
                    reader.add(at, event, source.tables());
                }
                at += 1;
            }
        }
    }

    /// The accesses of a variable, in trace order.
    pub fn of(&self, variable: &str) -> &[Access] {
        self.accesses.get(variable).map_or(&[], Vec::as_slice)
    }

    /// The accesses of a variable between two positions, without both.
    pub fn between(&self, variable: &str, from: u64, to: u64) -> impl Iterator<Item = &Access> {
        self.of(variable).iter().filter(move |access| from < access.at && access.at < to)
    }

    /// The variable and the access at a position.
    pub fn at(&self, at: u64) -> Option<(&str, &Access)> {
        self.accesses.iter().find_map(|(name, all)| {
            let place = all.binary_search_by_key(&at, |access| access.at).ok()?;
            Some((name.as_str(), &all[place]))
        })
    }

    /// What a variable holds just before a position, as far as the trace tells.
    pub fn value_before(&self, variable: &str, at: u64) -> Option<String> {
        let (past, future): (Vec<&Access>, Vec<&Access>) =
            self.of(variable).iter().partition(|access| access.at < at);
        if let Some(write) = past.iter().rev().find(|access| access.writes) {
            return write.value.clone();
        }
        // Nobody has written it yet: it holds what is read until somebody does.
        let mut unwritten =
            past.into_iter().chain(future.into_iter().take_while(|access| !access.writes));
        let read = unwritten.next().and_then(|access| access.value.clone());
        read.or_else(|| self.initial.get(variable).cloned())
    }
}

struct Reader<'a> {
    names: &'a BTreeSet<&'a str>,
    record: Record,
    /// Names of variables that matter; `None` of the others.
    known: HashMap<VarId, Option<String>>,
    /// The open blocks and calls of each thread.
    open: HashMap<ThreadId, Vec<String>>,
}

impl<'a> Reader<'a> {
    fn new(names: &'a BTreeSet<&'a str>) -> Self {
        Self { names, record: Record::default(), known: HashMap::new(), open: HashMap::new() }
    }

    fn add(&mut self, at: u64, event: &Event, tables: &Tables) {
        match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => self.access(at, event, var, tables),
            Op::Begin { label, .. } | Op::Call { method: label, .. } => {
                let block = tables.block_name(label, event.site);
                self.open.entry(event.thread).or_default().push(block.clone());
                self.boundary(at, event.thread, Some(block), true, tables);
            }
            Op::End { .. } | Op::Return { .. } => {
                let block = self.open.entry(event.thread).or_default().pop();
                self.boundary(at, event.thread, block, false, tables);
            }
            _ => {}
        }
    }

    fn access(&mut self, at: u64, event: &Event, var: VarId, tables: &Tables) {
        let names = self.names;
        let known = self.known.entry(var).or_insert_with(|| {
            let name = tables.var_name(var);
            names.contains(name.as_str()).then_some(name)
        });
        let Some(name) = known.clone() else { return };
        let facts = tables.var_facts(var);
        // Versions of a collection are not what it holds.
        let is_told = !matches!(facts.role, VarRole::Contents | VarRole::KeyedContents);
        if let Some(value) = facts.initial().filter(|_| is_told) {
            self.record.initial.insert(name.clone(), spell(value, facts.values));
        }
        let thread = tables.thread_name(event.thread);
        self.record.threads.insert(thread.clone());
        self.record.accesses.entry(name).or_default().push(Access {
            at,
            thread,
            writes: matches!(event.op, Op::Write { .. }),
            value: event.value().filter(|_| is_told).map(|value| spell(value, facts.values)),
        });
    }

    fn boundary(
        &mut self,
        at: u64,
        thread: ThreadId,
        block: Option<String>,
        enters: bool,
        tables: &Tables,
    ) {
        let (thread, block) = (tables.thread_name(thread), block.unwrap_or_default());
        self.record.boundaries.insert(at, Boundary { thread, block, enters });
    }
}

/// A value in the words of a programmer.
fn spell(value: Value, kind: ValueKind) -> String {
    let bits = value.0;
    match kind {
        ValueKind::Int => format!("{}", bits.cast_signed()),
        ValueKind::Bool if bits == 0 => "false".to_owned(),
        ValueKind::Bool => "true".to_owned(),
        ValueKind::Char => match u32::try_from(bits).ok().and_then(char::from_u32) {
            Some(letter) => format!("{letter:?}"),
            None => format!("'\\u{{{bits:x}}}'"),
        },
        ValueKind::Float => format!("{}", f32::from_bits(bits as u32)),
        ValueKind::Double => format!("{}", f64::from_bits(bits)),
        ValueKind::Ref if bits == 0 => "null".to_owned(),
        ValueKind::Ref => format!("#{bits}"),
    }
}
