//! Writes JSON lines, with every table in its order: a name is defined where its first use would
//! give it another id, and nowhere else.

use std::borrow::Cow;
use std::io::Write;

use serde_json::{Map, Value as Json, json};

use crate::event::{Access, Event, Hold, Op, Value, ValueKind};
use crate::formats::unique::UniqueNames;
use crate::ids::{LabelId, LockId, SiteId, ThreadId, VarId};
use crate::source::{Lossy, Sink, TraceError};
use crate::tables::{RunMeta, Site, SiteTable, Tables, VarFacts};

use super::{VERSION, value};

/// Writes JSON lines. Nothing is lost but one thing, counted in [`Sink::lossy`]: of names that occur
/// more than once in a table, all but the first get `~2`, `~3` and so on behind them.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    meta: Option<RunMeta>,
    threads: Names<ThreadId>,
    vars: Names<VarId>,
    locks: Names<LockId>,
    labels: Names<LabelId>,
    /// What was written of a site, which is all there is of it.
    sites: Vec<Json>,
    known_sites: usize,
    /// The facts that lines written so far give a reader; shorter than the table if the rest is
    /// not known.
    facts: Vec<VarFacts>,
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
            sites: Vec::new(),
            known_sites: 0,
            facts: Vec::new(),
            lossy: Lossy::default(),
        }
    }

    /// Takes up what was added to the tables.
    fn follow(&mut self, tables: &Tables) {
        self.threads.names.follow(&tables.threads);
        self.vars.names.follow(&tables.vars);
        self.locks.names.follow(&tables.locks);
        self.labels.names.follow(&tables.labels);
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
            Op::Begin { label } => self.labelled("begin", "label", label, None, line),
            Op::End { label } => self.labelled("end", "label", label, None, line),
            Op::Call { method, .. } => {
                let value = op.value().map(|value| value::write(value, ValueKind::Ref));
                self.labelled("call", "method", method, value, line)
            }
            Op::Return { method, .. } => {
                self.labelled("return", "method", method, op.value().map(int), line)
            }
            Op::Input { source, .. } => {
                self.labelled("input", "source", source, op.value().map(int), line)
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
        self.set_facts(var, facts, &name);
        line.insert("op".to_owned(), word.into());
        line.insert("var".to_owned(), name);
        if let Some(value) = op.value() {
            line.insert("value".to_owned(), value::write(value, facts.kind));
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

    fn labelled(
        &mut self,
        word: &str,
        field: &str,
        label: LabelId,
        value: Option<Json>,
        line: &mut Fields,
    ) -> Result<(), TraceError> {
        line.insert("op".to_owned(), word.into());
        if label != LabelId::NONE {
            line.insert(field.to_owned(), self.labels.used(label, "label", &mut self.buffer)?);
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
            let facts = tables.var_facts(var);
            if facts == VarFacts::default() {
                self.vars.define(index + 1, "var", &mut self.buffer);
            } else {
                self.set_facts(var, facts, &name);
            }
            self.vars.known = index + 1;
        }
    }

    /// Makes sure that a reader knows the facts of a variable.
    fn set_facts(&mut self, var: VarId, facts: VarFacts, name: &Json) {
        if self.facts.get(var.index()).copied().unwrap_or_default() == facts {
            return;
        }
        let mut line = Map::new();
        line.insert("var".to_owned(), name.clone());
        line.insert("kind".to_owned(), value::kind_name(facts.kind).into());
        let initial = facts.initial.map(|initial| value::write(initial, facts.kind));
        line.extend(initial.map(|initial| ("initial".to_owned(), initial)));
        put(&mut self.buffer, &Json::Object(line));
        if self.facts.len() <= var.index() {
            self.facts.resize(var.index() + 1, VarFacts::default());
        }
        self.facts[var.index()] = facts;
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

/// A site as text if that says everything, else as an object.
fn place(site: &Site<'_>) -> Json {
    let text = site.to_string();
    let mut read_back = SiteTable::default();
    let id = read_back.intern_loc(&text);
    if read_back.get(id) == Some(*site) {
        return Json::from(text);
    }
    let mut parts = Map::new();
    let mut add = |name: &str, part: &str| {
        if !part.is_empty() {
            parts.insert(name.to_owned(), part.into());
        }
    };
    add("file", site.file);
    add("method", site.method);
    add("class", site.class);
    add("loc", site.loc);
    if site.line != 0 {
        parts.insert("line".to_owned(), site.line.into());
    }
    Json::Object(parts)
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
        self.define_vars(tables, tables.vars.len());
        for index in 0..tables.all_var_facts().len() {
            let var = VarId::from_index(index);
            if let Some(name) = self.vars.names.get(var).map(Json::from) {
                self.set_facts(var, tables.var_facts(var), &name);
            }
        }
        self.flush()?;
        Ok(self.out.flush()?)
    }

    fn lossy(&self) -> Option<&Lossy> {
        Some(&self.lossy)
    }
}
