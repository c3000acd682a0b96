//! Writes JSON lines, with every table in its order: a name is defined where its first use would
//! give it another id, and nowhere else.

use std::borrow::Cow;
use std::io::Write;

use serde_json::{Map, Value as Json, json};

use crate::event::{Access, BlockKind, CallOutcome, Event, Hold, Op, Value, ValueKind};
use crate::formats::unique::UniqueNames;
use crate::ids::{LabelId, LockId, MemberId, SiteId, ThreadId, VarId};
use crate::recording::RunMeta;
use crate::source::{Lossy, Sink, TraceError};
use crate::tables::{AddressRange, LabelFacts, Tables, VarFacts};

use super::facts::{place, put_label, put_variable};
use super::{VERSION, value};

/// Writes JSON lines. Nothing is lost but one thing, counted in [`Sink::lossy`]: of names that occur
/// more than once in a table, all but the first get `~2`, `~3` and so on appended.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    meta: Option<RunMeta>,
    threads: Names<ThreadId>,
    vars: Names<VarId>,
    locks: Names<LockId>,
    labels: Names<LabelId>,
    members: Names<MemberId>,
    /// What was written of a site, which is all there is of it.
    sites: Vec<Json>,
    known_sites: usize,
    /// The facts that lines written so far give a reader; shorter than the table if the rest is
    /// not known.
    facts: Vec<(VarFacts, AddressRange)>,
    label_facts: Vec<LabelFacts>,
    lossy: Lossy,
}

/// The names of one table, and how many of them a reader has met.
#[derive(Debug)]
struct Names<Id> {
    names: UniqueNames<Id>,
    known: usize,
}

impl<Id: From<u32> + Into<u32> + Copy> Names<Id> {
    fn new() -> Self {
        Self { names: UniqueNames::new(|name| Cow::Borrowed(name)), known: 0 }
    }

    /// The name of `id`. Names that a reader has to meet before are written to `buffer` first.
    fn used(&mut self, id: Id, field: &str, buffer: &mut Vec<u8>) -> Result<Json, TraceError> {
        let index = id.into();
        self.define(index as usize, field, buffer);
        let name = self.names.get(id);
        let name = name.ok_or_else(|| TraceError::Other(format!("no name for {field} {index}")))?;
        self.known = self.known.max(index as usize + 1);
        Ok(Json::from(name))
    }

    /// Writes the definitions that are missing before `end`.
    fn define(&mut self, end: usize, field: &str, buffer: &mut Vec<u8>) {
        while self.known < end
            && let Some(name) = self.names.get((self.known as u32).into())
        {
            put(buffer, &json!({ field: name }));
            self.known += 1;
        }
    }
}

fn put(buffer: &mut Vec<u8>, line: &Json) {
    // Writing to memory does not fail, and Display of JSON is JSON.
    let _ = writeln!(buffer, "{line}");
}

impl<W: Write> Writer<W> {
    /// Text is written when it is this long.
    const FULL: usize = 64 * 1024;

    pub fn new(out: W) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(2 * Self::FULL),
            meta: None,
            threads: Names::new(),
            vars: Names::new(),
            locks: Names::new(),
            labels: Names::new(),
            members: Names::new(),
            sites: Vec::new(),
            known_sites: 0,
            facts: Vec::new(),
            label_facts: Vec::new(),
            lossy: Lossy::default(),
        }
    }

    /// Takes up what was added to the tables.
    fn follow(&mut self, tables: &Tables) {
        self.threads.names.follow(&tables.threads);
        self.vars.names.follow(&tables.vars);
        self.locks.names.follow(&tables.locks);
        self.labels.names.follow(&tables.labels);
        self.members.names.follow(&tables.members);
        self.lossy.names = self.threads.names.changed()
            + self.vars.names.changed()
            + self.locks.names.changed()
            + self.labels.names.changed();
        let known = self.sites.len();
        let new = (known..tables.sites.len()).filter_map(|i| tables.sites.get(SiteId(i as u32)));
        self.sites.extend(new.map(|site| place(&site)));
        if self.meta.as_ref() != Some(&tables.meta) {
            let mut header = Map::new();
            header.insert("untorn".to_owned(), VERSION.into());
            if let Ok(meta) = serde_json::to_value(&tables.meta)
                && (self.meta.is_some() || tables.meta != RunMeta::default())
            {
                header.insert("meta".to_owned(), meta);
            }
            put(&mut self.buffer, &Json::Object(header));
            self.meta = Some(tables.meta.clone());
        }
    }

    fn event(&mut self, tables: &Tables, event: &Event) -> Result<(), TraceError> {
        let mut line = Map::new();
        if let Op::Fork { child } | Op::Join { child } = event.op {
            // The line itself will introduce its thread, and then a child only if that comes next.
            let next = self.threads.known.max(event.thread.index() + 1);
            if child.index() > next {
                self.threads.define(child.index(), "thread", &mut self.buffer);
            }
        }
        let thread = self.threads.used(event.thread, "thread", &mut self.buffer)?;
        line.insert("t".to_owned(), thread);
        self.op(tables, &event.op, &mut line)?;
        if event.site != SiteId::NONE {
            self.define_sites(event.site.index());
            let place = self.sites.get(event.site.index());
            let fault = || TraceError::Other(format!("no text for site {}", event.site.0));
            line.insert("at".to_owned(), place.ok_or_else(fault)?.clone());
            self.known_sites = self.known_sites.max(event.site.index() + 1);
        }
        put(&mut self.buffer, &Json::Object(line));
        Ok(())
    }

    fn op(&mut self, tables: &Tables, op: &Op, line: &mut Fields) -> Result<(), TraceError> {
        match *op {
            Op::Read { var, access, .. } => self.access(tables, "read", var, access, op, line),
            Op::Write { var, access, .. } => self.access(tables, "write", var, access, op, line),
            Op::Acquire { lock, hold } => self.lock("acquire", lock, hold, line),
            Op::Release { lock, hold } => self.lock("release", lock, hold, line),
            Op::Request { lock } => self.lock("request", lock, Hold::Exclusive, line),
            Op::Wait { lock } => self.lock("wait", lock, Hold::Exclusive, line),
            Op::Resume { lock } => self.lock("resume", lock, Hold::Exclusive, line),
            Op::Notify { lock, all } => {
                let word = if all { "notify_all" } else { "notify" };
                self.lock(word, lock, Hold::Exclusive, line)
            }
            Op::Fork { child } => self.child("fork", child, line),
            Op::Join { child } => self.child("join", child, line),
            Op::Begin { kind, label, lock } => self.begin(tables, kind, label, lock, line),
            Op::End { label } => self.labelled(tables, "end", "label", label, None, line),
            Op::Call { method, .. } => {
                let value = op.value().map(|value| value::write(value, ValueKind::Ref));
                self.labelled(tables, "call", "method", method, value, line)
            }
            Op::Return { method, outcome, .. } => {
                if outcome == CallOutcome::Threw {
                    line.insert("outcome".to_owned(), "threw".into());
                }
                self.labelled(tables, "return", "method", method, op.value().map(int), line)
            }
            Op::Input { source, .. } => {
                self.labelled(tables, "input", "source", source, op.value().map(int), line)
            }
            Op::Argument { method, number, .. } => {
                line.insert("number".to_owned(), number.into());
                self.labelled(tables, "argument", "method", method, op.value().map(int), line)
            }
            Op::Allocate { object, .. } => {
                line.insert("op".to_owned(), "allocate".into());
                line.insert("object".to_owned(), object.0.into());
                line.extend(op.value().map(|value| ("value".to_owned(), int(value))));
                Ok(())
            }
            Op::Deallocate { object } => {
                line.insert("op".to_owned(), "deallocate".into());
                line.insert("object".to_owned(), object.0.into());
                Ok(())
            }
            Op::Branch { count } => {
                line.insert("op".to_owned(), "branch".into());
                line.insert("count".to_owned(), count.into());
                Ok(())
            }
        }
    }

    fn access(
        &mut self,
        tables: &Tables,
        word: &str,
        var: VarId,
        access: Access,
        op: &Op,
        line: &mut Fields,
    ) -> Result<(), TraceError> {
        let facts = tables.var_facts(var);
        self.define_vars(tables, var.index());
        let name = self.vars.used(var, "var", &mut self.buffer)?;
        self.set_facts(tables, var, &name);
        line.insert("op".to_owned(), word.into());
        line.insert("var".to_owned(), name);
        if let Some(value) = op.value() {
            line.insert("value".to_owned(), value::write(value, facts.values));
        }
        match access {
            Access::Plain => None,
            Access::Volatile => line.insert("access".to_owned(), "volatile".into()),
            Access::Update => line.insert("access".to_owned(), "update".into()),
        };
        Ok(())
    }

    fn lock(
        &mut self,
        word: &str,
        lock: LockId,
        hold: Hold,
        line: &mut Fields,
    ) -> Result<(), TraceError> {
        line.insert("op".to_owned(), word.into());
        line.insert("lock".to_owned(), self.locks.used(lock, "lock", &mut self.buffer)?);
        if hold == Hold::Shared {
            line.insert("hold".to_owned(), "shared".into());
        }
        Ok(())
    }

    fn child(&mut self, word: &str, child: ThreadId, line: &mut Fields) -> Result<(), TraceError> {
        line.insert("op".to_owned(), word.into());
        line.insert("child".to_owned(), self.threads.used(child, "thread", &mut self.buffer)?);
        Ok(())
    }

    fn begin(
        &mut self,
        tables: &Tables,
        kind: BlockKind,
        label: LabelId,
        lock: LockId,
        line: &mut Fields,
    ) -> Result<(), TraceError> {
        if kind != BlockKind::Unknown {
            line.insert("kind".to_owned(), kind.name().into());
        }
        if lock != LockId::NONE {
            line.insert("lock".to_owned(), self.locks.used(lock, "lock", &mut self.buffer)?);
        }
        self.labelled(tables, "begin", "label", label, None, line)
    }

    fn labelled(
        &mut self,
        tables: &Tables,
        word: &str,
        field: &str,
        label: LabelId,
        value: Option<Json>,
        line: &mut Fields,
    ) -> Result<(), TraceError> {
        line.insert("op".to_owned(), word.into());
        if label != LabelId::NONE {
            let name = self.labels.used(label, "label", &mut self.buffer)?;
            self.set_label_facts(tables, label, &name);
            line.insert(field.to_owned(), name);
        }
        line.extend(value.map(|value| ("value".to_owned(), value)));
        Ok(())
    }

    /// Writes the definitions of sites that are missing before `end`.
    fn define_sites(&mut self, end: usize) {
        for site in self.sites.iter().take(end).skip(self.known_sites) {
            put(&mut self.buffer, &json!({ "site": site }));
        }
        self.known_sites = self.known_sites.max(end);
    }

    /// Writes the definitions of variables that are missing before `end`, with their facts.
    fn define_vars(&mut self, tables: &Tables, end: usize) {
        for index in self.vars.known..end {
            let var = VarId::from_index(index);
            let Some(name) = self.vars.names.get(var).map(Json::from) else { return };
            if tables.var_facts(var) == VarFacts::default() && tables.var_range(var).is_none() {
                self.vars.define(index + 1, "var", &mut self.buffer);
            } else {
                self.set_facts(tables, var, &name);
            }
            self.vars.known = index + 1;
        }
    }

    /// Makes sure that a reader knows the facts of a variable.
    fn set_facts(&mut self, tables: &Tables, var: VarId, name: &Json) {
        let facts = (tables.var_facts(var), tables.var_range(var).unwrap_or_default());
        if self.facts.get(var.index()).copied().unwrap_or_default() == facts {
            return;
        }
        let mut line = Map::new();
        line.insert("var".to_owned(), name.clone());
        put_variable(&mut line, facts.0, facts.1);
        if facts.0.member != MemberId::NONE
            && let Ok(member) = self.members.used(facts.0.member, "member", &mut self.buffer)
        {
            line.insert("member".to_owned(), member);
        }
        put(&mut self.buffer, &Json::Object(line));
        if self.facts.len() <= var.index() {
            self.facts.resize(var.index() + 1, Default::default());
        }
        self.facts[var.index()] = facts;
    }

    /// Makes sure that a reader knows the facts of a label.
    fn set_label_facts(&mut self, tables: &Tables, label: LabelId, name: &Json) {
        let facts = tables.label_facts(label);
        if self.label_facts.get(label.index()).copied().unwrap_or_default() == facts {
            return;
        }
        let mut line = Map::new();
        line.insert("label".to_owned(), name.clone());
        put_label(&mut line, facts, tables);
        put(&mut self.buffer, &Json::Object(line));
        if self.label_facts.len() <= label.index() {
            self.label_facts.resize(label.index() + 1, LabelFacts::default());
        }
        self.label_facts[label.index()] = facts;
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

type Fields = Map<String, Json>;

fn int(value: Value) -> Json {
    value::write(value, ValueKind::Int)
}

impl<W: Write> Sink for Writer<W> {
    fn write(&mut self, tables: &Tables, events: &[Event]) -> Result<(), TraceError> {
        self.follow(tables);
        for event in events {
            self.event(tables, event)?;
            if self.buffer.len() >= Self::FULL {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, tables: &Tables) -> Result<(), TraceError> {
        self.follow(tables);
        self.threads.define(tables.threads.len(), "thread", &mut self.buffer);
        self.locks.define(tables.locks.len(), "lock", &mut self.buffer);
        self.labels.define(tables.labels.len(), "label", &mut self.buffer);
        self.define_sites(tables.sites.len());
        self.members.define(tables.members.len(), "member", &mut self.buffer);
        self.define_vars(tables, tables.vars.len());
        for index in 0..tables.all_var_facts().len().max(tables.all_var_ranges().len()) {
            let var = VarId::from_index(index);
            if let Some(name) = self.vars.names.get(var).map(Json::from) {
                self.set_facts(tables, var, &name);
            }
        }
        for index in 0..tables.labels.len() {
            let label = LabelId::from_index(index);
            if let Some(name) = self.labels.names.get(label).map(Json::from) {
                self.set_label_facts(tables, label, &name);
            }
        }
        self.flush()?;
        Ok(self.out.flush()?)
    }

    fn lossy(&self) -> Option<&Lossy> {
        Some(&self.lossy)
    }
}
