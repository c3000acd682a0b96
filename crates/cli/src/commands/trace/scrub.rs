//! `untorn trace scrub`: a copy of a trace that can be shown to anybody.
//!
//! Names of classes, methods, fields, threads and files of sources stay: an analysis is about them. Values become
//! numbers in the order of their first occurrence. Equal values stay equal, different ones different, and zero stays
//! zero, so every verdict is the same. What a replay needs goes: command, folder, variables, schedule, standard input.

use std::collections::HashMap;

use untorn_trace::{
    BATCH, Event, Op, RecordingSummary, RunMeta, Site, SiteTable, Tables, Value, ValueKind, VarRole,
};

use crate::console::Console;
use crate::exit::{CliError, Exit, Result};
use crate::files::{Input, Output};

use super::warn_of_losses;

pub fn run(input: &Input, output: &Output, console: &Console) -> Result<Exit> {
    if !input.can_be_read_again() {
        return Err(CliError::input(format!("{}: it has to be read twice", input.name()))
            .way_out("write it into a file first"));
    }
    // First all names: those that come late may be in words of those that come early.
    let mut source = input.open()?;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.read(&mut batch).map_err(|error| input.fault(&error))?;
        if batch.is_empty() {
            break;
        }
    }
    let mut scrubber = Scrubber::default();
    let tables = scrubber.tables(source.tables());
    let mut source = input.open()?;
    let mut sink = output.create()?;
    loop {
        source.read(&mut batch).map_err(|error| input.fault(&error))?;
        if batch.is_empty() {
            break;
        }
        for event in &mut batch {
            *event = scrubber.event(*event, &tables);
        }
        sink.write(&tables, &batch).map_err(|error| output.fault(&error))?;
    }
    sink.finish(&tables).map_err(|error| output.fault(&error))?;
    warn_of_losses(input, source.as_ref(), console);
    Ok(Exit::Clean)
}

#[derive(Debug, Default)]
struct Scrubber {
    values: HashMap<u64, u64>,
    /// Texts in names of variables: keys of maps, for instance.
    texts: HashMap<String, usize>,
    folders: HashMap<String, usize>,
}

impl Scrubber {
    fn tables(&mut self, from: &Tables) -> Tables {
        let mut tables = Tables::default();
        for name in from.threads.iter() {
            tables.threads.push(&self.name(name));
        }
        for (index, name) in from.vars.iter().enumerate() {
            let var = untorn_trace::VarId::from_index(index);
            let is_keyed = from.var_facts(var).role == VarRole::KeyedContents;
            let name = if is_keyed { self.key(name) } else { self.name(name) };
            tables.vars.push(&name);
        }
        for name in from.locks.iter() {
            tables.locks.push(&self.name(name));
        }
        for name in from.labels.iter() {
            tables.labels.push(&self.name(name));
        }
        for name in from.members.iter() {
            tables.members.push(&self.name(name));
        }
        self.sites(&mut tables.sites, &from.sites);
        for (index, &facts) in from.all_var_facts().iter().enumerate() {
            let initial = facts.initial().map(|value| self.value(value, facts.values, facts.role));
            let var = untorn_trace::VarId::from_index(index);
            tables.set_var_facts(var, facts.with_initial(initial));
        }
        for (index, &range) in from.all_var_ranges().iter().enumerate() {
            tables.set_var_range(untorn_trace::VarId::from_index(index), range);
        }
        for index in 0..from.labels.len() {
            let label = untorn_trace::LabelId::from_index(index);
            tables.set_label_facts(label, from.label_facts(label));
        }
        tables.meta = meta(&from.meta);
        tables
    }

    /// Every symbol becomes another one or stays, and no two become one: all ids stay.
    fn sites(&mut self, sites: &mut SiteTable, from: &SiteTable) {
        let files: Vec<_> = from.rows().iter().map(|row| row.file).collect();
        let mut symbols: Vec<String> = from.symbols().iter().map(str::to_owned).collect();
        for file in files {
            symbols[file.index()] = self.file(from.symbol(file));
        }
        for symbol in &symbols {
            sites.intern_symbol(symbol);
        }
        for index in 0..from.len() {
            let id = untorn_trace::SiteId::from_index(index);
            let Some(site) = from.get(id) else { continue };
            let file = from.rows()[index].file;
            sites.intern(&Site { file: &symbols[file.index()], ..site });
        }
    }

    /// A file of sources, without the folders of a machine.
    fn file(&mut self, path: &str) -> String {
        match path.rsplit_once('/') {
            Some((folder, name)) if path.starts_with('/') => {
                let next = self.folders.len() + 1;
                let number = *self.folders.entry(folder.to_owned()).or_insert(next);
                format!("folder-{number}/{name}")
            }
            _ => path.to_owned(),
        }
    }

    /// A variable that stands for a key of a map: `ConcurrentHashMap#3["ann"]`.
    fn key(&mut self, name: &str) -> String {
        match (name.find('['), name.rfind(']')) {
            (Some(begin), Some(end)) if begin < end => {
                let key = self.text(&name[begin + 1..end]);
                format!("{}[key {key}]{}", &name[..begin], self.name(&name[end + 1..]))
            }
            _ => self.name(name),
        }
    }

    /// A name without the texts between quotation marks.
    fn name(&mut self, name: &str) -> String {
        let Some((before, rest)) = name.split_once('"') else { return name.to_owned() };
        let end = rest.rfind('"').unwrap_or(rest.len());
        let number = self.text(&rest[..end]);
        format!("{before}\"text {number}\"{}", rest.get(end + 1..).unwrap_or_default())
    }

    fn text(&mut self, text: &str) -> usize {
        let next = self.texts.len() + 1;
        *self.texts.entry(text.to_owned()).or_insert(next)
    }

    fn value(&mut self, value: Value, kind: ValueKind, role: VarRole) -> Value {
        let is_number = !matches!(
            role,
            VarRole::Contents | VarRole::KeyedContents | VarRole::SyncState | VarRole::ThreadState
        );
        // A truth value or the number of an object says nothing that could be a secret.
        match kind {
            _ if !is_number || value.0 == 0 => value,
            ValueKind::Bool | ValueKind::Ref => value,
            // As bits: not every large number is one of single precision.
            ValueKind::Int | ValueKind::Char | ValueKind::Float => Value(self.number(value)),
            ValueKind::Double => Value((self.number(value) as f64).to_bits()),
        }
    }

    fn number(&mut self, value: Value) -> u64 {
        let next = self.values.len() as u64 + 1;
        *self.values.entry(value.0).or_insert(next)
    }

    fn event(&mut self, event: Event, tables: &Tables) -> Event {
        let mut of = |var, value| {
            let facts = tables.var_facts(var);
            self.value(value, facts.values, facts.role)
        };
        let op = match event.op {
            Op::Read { access, known, var, value } => {
                Op::Read { access, known, var, value: of(var, value) }
            }
            Op::Write { access, known, var, value } => {
                Op::Write { access, known, var, value: of(var, value) }
            }
            Op::Return { known, outcome, method, value } => {
                Op::Return { known, outcome, method, value: Value(self.number(value)) }
            }
            Op::Argument { known, number, method, value } => {
                Op::Argument { known, number, method, value: Value(self.number(value)) }
            }
            Op::Input { known, source, value } => {
                Op::Input { known, source, value: Value(self.number(value)) }
            }
            other => other,
        };
        Event { op, ..event }
    }
}

/// What stays of the metadata: how much was recorded, and nothing in words.
fn meta(from: &RunMeta) -> RunMeta {
    let summary = from.summary.clone().map(|summary| RecordingSummary {
        notes: Vec::new(),
        plan_missing: Vec::new(),
        divergence: None,
        followed: None,
        ..summary
    });
    RunMeta { seed: from.seed, front_end: from.front_end.clone(), summary, ..RunMeta::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_others_and_as_equal_as_before() {
        let mut scrubber = Scrubber::default();
        let mut of = |value, kind| scrubber.value(Value(value), kind, VarRole::Field).0;
        assert_eq!(of(4711, ValueKind::Int), 1);
        assert_eq!(of(0, ValueKind::Int), 0);
        assert_eq!(of(815, ValueKind::Int), 2);
        assert_eq!(of(4711, ValueKind::Int), 1);
        assert_eq!(of(1, ValueKind::Bool), 1);
        assert_eq!(of(33, ValueKind::Ref), 33);
        assert_eq!(f64::from_bits(of(2.5_f64.to_bits(), ValueKind::Double)), 3.0);
        let version = scrubber.value(Value(9), ValueKind::Int, VarRole::Contents);
        assert_eq!(version, Value(9));
    }

    #[test]
    fn names_lose_their_texts() {
        let mut scrubber = Scrubber::default();
        assert_eq!(scrubber.key("Map#3[\"ann@host\"]"), "Map#3[key 1]");
        assert_eq!(scrubber.key("Map#3[4711]"), "Map#3[key 2]");
        assert_eq!(scrubber.key("Map#4[\"ann@host\"].size"), "Map#4[key 1].size");
        assert_eq!(scrubber.name("Account#7.balance"), "Account#7.balance");
        assert_eq!(scrubber.name("String \"ann\""), "String \"text 3\"");
        assert_eq!(scrubber.file("/home/ann/src/bank.c"), "folder-1/bank.c");
        assert_eq!(scrubber.file("/home/ann/lib/bank.c"), "folder-2/bank.c");
        assert_eq!(scrubber.file("Bank.java"), "Bank.java");
    }
}
