//! JSON lines: the easy way in and out. One object a line, all data of an event, specified
//! in `docs/jsonl.md`.
//!
//! **Version rule.** A header line, if there is one, contains `"untorn": 2`. A reader takes that and
//! version 1, which has fewer fields, and refuses other versions, fields and operations it does not know: what it
//! passed over might change the meaning.

mod facts;
mod value;
mod write;

use std::borrow::Cow;
use std::io::Read;

use serde::{Deserialize, Deserializer};

use crate::event::{Access, Event, Hold, Op, ValueKind};
use crate::ids::{LabelId, LockId, ObjectId, SiteId, ThreadId, VarId};
use crate::recording::RunMeta;
use crate::source::{Notes, Source, Strictness, TraceError};
use crate::tables::{AddressRange, Tables, VarFacts};

use self::facts::{LabelParts, SiteParts};
use super::batch::Batch;
use super::window::{LONGEST_LINE, Window};
pub use write::Writer;

/// The version of the format that is written, in the header line.
const VERSION: u64 = 2;
/// The oldest version that is read: what came later are further fields.
const OLDEST: u64 = 1;

/// Reads JSON lines.
#[derive(Debug)]
pub struct Reader {
    window: Window,
    /// Inside a line that is longer than allowed and is being passed over.
    in_long_line: bool,
    strictness: Strictness,
    /// Lines read so far, good ones and others.
    lines: u64,
    tables: Tables,
    notes: Notes,
    failed: Option<TraceError>,
}

impl Reader {
    /// Reads text that is in memory, or mapped there.
    pub fn new(bytes: impl AsRef<[u8]> + Send + 'static, strictness: Strictness) -> Self {
        Self::over(Window::whole(bytes), strictness)
    }

    /// Reads text piece by piece.
    pub fn stream(stream: Box<dyn Read + Send>, strictness: Strictness) -> Self {
        Self::over(Window::stream(stream), strictness)
    }

    fn over(window: Window, strictness: Strictness) -> Self {
        Self {
            window,
            in_long_line: false,
            strictness,
            lines: 0,
            tables: Tables::default(),
            notes: Notes::default(),
            failed: None,
        }
    }

    /// Takes a step towards the end of the input; returns `false` at the end.
    fn advance(&mut self, batch: &mut Batch<'_>) -> Result<bool, TraceError> {
        let (bytes, last) = self.window.rest();
        let newline = bytes.iter().take(LONGEST_LINE + 1).position(|&byte| byte == b'\n');
        let (line, used) = match newline {
            Some(end) => (&bytes[..end], end + 1),
            None if bytes.len() > LONGEST_LINE => return self.long_line(),
            None if !last => {
                self.window.more()?;
                return Ok(true);
            }
            None if bytes.is_empty() => {
                self.notes.cut = self.window.cut().map(str::to_owned);
                return Ok(false);
            }
            None => (bytes, bytes.len()),
        };
        if self.in_long_line {
            self.in_long_line = false;
        } else {
            self.lines += 1;
            // What is left of a line in a cut stream may look whole and mean something else.
            let is_cut = newline.is_none() && self.window.cut().is_some();
            match read_line(line, &mut self.tables) {
                _ if is_cut => {}
                Ok(Some(event)) => batch.push(event),
                Ok(None) => {}
                Err(reason) => self.fault(reason)?,
            }
        }
        self.window.consume(used);
        Ok(true)
    }

    /// Refuses a line that is too long, or skips the available part of it.
    fn long_line(&mut self) -> Result<bool, TraceError> {
        if !self.in_long_line {
            self.lines += 1;
            self.fault(format!("longer than {LONGEST_LINE} bytes"))?;
            self.in_long_line = true;
        }
        self.window.consume(LONGEST_LINE);
        Ok(true)
    }

    /// Refuses or passes over the line counted last.
    fn fault(&mut self, reason: String) -> Result<(), TraceError> {
        let error = TraceError::Line { line: self.lines, reason };
        if self.strictness == Strictness::Strict {
            return Err(error);
        }
        self.notes.skip(|| error.to_string());
        Ok(())
    }
}

impl Source for Reader {
    fn read(&mut self, batch: &mut Vec<Event>) -> Result<(), TraceError> {
        let mut failed = self.failed.take();
        let result = Batch::fill(batch, &mut failed, |batch| self.advance(batch));
        self.failed = failed;
        result
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }
}

/// The event of a line; none for a header, a definition or an empty line.
fn read_line(line: &[u8], tables: &mut Tables) -> Result<Option<Event>, String> {
    match line.trim_ascii_start().first() {
        None => return Ok(None),
        Some(b'{') => {}
        // serde would also take a list for an object without names.
        Some(_) => return Err("expected an object, which starts with '{'".to_owned()),
    }
    let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| in_words(&error))?;
    // Nothing is added to the tables before the whole line is known to be good.
    Ok(Line::new(fields, tables)?.apply(tables))
}

/// The message of serde, with the column in front and without the list of all fields.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    let reason = text[..end].split(", expected one of").next().unwrap_or_default();
    format!("column {}: {reason}", error.column())
}

/// Every field any line may have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Fields<'a> {
    untorn: Option<u64>,
    meta: Option<RunMeta>,
    t: Option<Cow<'a, str>>,
    op: Option<Cow<'a, str>>,
    thread: Option<Cow<'a, str>>,
    var: Option<Cow<'a, str>>,
    lock: Option<Cow<'a, str>>,
    label: Option<Cow<'a, str>>,
    site: Option<SiteParts<'a>>,
    kind: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "even_null")]
    initial: Option<serde_json::Value>,
    #[serde(default, deserialize_with = "even_null")]
    value: Option<serde_json::Value>,
    access: Option<Cow<'a, str>>,
    hold: Option<Cow<'a, str>>,
    child: Option<Cow<'a, str>>,
    method: Option<Cow<'a, str>>,
    source: Option<Cow<'a, str>>,
    count: Option<u32>,
    at: Option<SiteParts<'a>>,
    outcome: Option<Cow<'a, str>>,
    number: Option<u8>,
    object: Option<u32>,
    role: Option<Cow<'a, str>>,
    owner: Option<Cow<'a, str>>,
    member: Option<Cow<'a, str>>,
    address: Option<u64>,
    size: Option<u32>,
    class: Option<Cow<'a, str>>,
    library: Option<bool>,
    entry: Option<bool>,
}

/// `null` is a value, and something else than no field.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(from).map(Some)
}

/// A line that is known to be good.
enum Line<'a> {
    Header(Option<Box<RunMeta>>),
    Thread(Cow<'a, str>),
    Var {
        name: Cow<'a, str>,
        facts: VarFacts,
        member: Option<Cow<'a, str>>,
        range: Option<AddressRange>,
    },
    Member(Cow<'a, str>),
    Lock(Cow<'a, str>),
    Label(Cow<'a, str>, Option<LabelParts<'a>>),
    Site(SiteParts<'a>),
    Event {
        thread: Cow<'a, str>,
        /// With target 0.
        op: Op,
        /// None where the operation has none, or a label that is not given.
        target: Option<Cow<'a, str>>,
        /// The lock of a block.
        lock: Option<Cow<'a, str>>,
        at: Option<SiteParts<'a>>,
    },
}

impl<'a> Line<'a> {
    fn new(mut fields: Fields<'a>, tables: &mut Tables) -> Result<Self, String> {
        let (line, what) = if let Some(version) = fields.untorn.take() {
            if !(OLDEST..=VERSION).contains(&version) {
                return Err(format!(
                    "version {version}, but only versions {OLDEST} to {VERSION} are known"
                ));
            }
            (Self::Header(fields.meta.take().map(Box::new)), "a header".to_owned())
        } else if let Some(op) = fields.op.take() {
            (fields.event(&op, tables)?, format!("op {op:?}"))
        } else {
            fields.definition(tables)?
        };
        match fields.left() {
            Some(field) => Err(format!("field {field:?} does not belong to {what}")),
            None => Ok(line),
        }
    }

    /// Adds what is new to the tables.
    fn apply(self, tables: &mut Tables) -> Option<Event> {
        match self {
            Self::Header(meta) => {
                if let Some(meta) = meta {
                    tables.meta = *meta;
                }
            }
            Self::Thread(name) => drop(tables.threads.intern(&name)),
            Self::Lock(name) => drop(tables.locks.intern(&name)),
            Self::Label(name, parts) => {
                let label = tables.labels.intern(&name);
                if let Some(parts) = parts {
                    let facts = parts.intern(tables);
                    tables.set_label_facts(label, facts);
                }
            }
            Self::Member(name) => drop(tables.members.intern(&name)),
            Self::Site(place) => drop(place.intern(tables)),
            Self::Var { name, mut facts, member, range } => {
                let var = tables.vars.intern(&name);
                if let Some(member) = member {
                    facts.member = tables.members.intern(&member);
                }
                tables.set_var_facts(var, facts);
                if let Some(range) = range {
                    tables.set_var_range(var, range);
                }
            }
            Self::Event { thread, mut op, target, lock, at } => {
                let thread = tables.threads.intern(&thread);
                set_target(&mut op, target.as_deref(), tables);
                if let (Op::Begin { lock: guard, .. }, Some(lock)) = (&mut op, lock) {
                    *guard = tables.locks.intern(&lock);
                }
                let site = at.map_or(SiteId::NONE, |place| place.intern(tables));
                return Some(Event::new(thread, op, site));
            }
        }
        None
    }
}

fn set_target(op: &mut Op, name: Option<&str>, tables: &mut Tables) {
    let text = name.unwrap_or_default();
    match op {
        Op::Read { var, .. } | Op::Write { var, .. } => *var = tables.vars.intern(text),
        Op::Acquire { lock, .. }
        | Op::Release { lock, .. }
        | Op::Request { lock }
        | Op::Wait { lock }
        | Op::Resume { lock }
        | Op::Notify { lock, .. } => *lock = tables.locks.intern(text),
        Op::Fork { child } | Op::Join { child } => *child = tables.threads.intern(text),
        Op::Begin { label, .. }
        | Op::End { label }
        | Op::Call { method: label, .. }
        | Op::Return { method: label, .. }
        | Op::Argument { method: label, .. }
        | Op::Input { source: label, .. } => {
            *label = name.map_or(LabelId::NONE, |name| tables.labels.intern(name));
        }
        // Their numbers are in the line itself.
        Op::Branch { .. } | Op::Allocate { .. } | Op::Deallocate { .. } => {}
    }
}

impl<'a> Fields<'a> {
    fn definition(&mut self, tables: &mut Tables) -> Result<(Line<'a>, String), String> {
        Ok(if let Some(name) = self.thread.take() {
            (Line::Thread(name), "the definition of a thread".to_owned())
        } else if let Some(name) = self.var.take() {
            (self.variable(name, tables)?, "the definition of a variable".to_owned())
        } else if let Some(name) = self.member.take() {
            (Line::Member(name), "the definition of a member".to_owned())
        } else if let Some(name) = self.lock.take() {
            (Line::Lock(name), "the definition of a lock".to_owned())
        } else if let Some(name) = self.label.take() {
            let parts = LabelParts::take(self);
            (Line::Label(name, parts), "the definition of a label".to_owned())
        } else if let Some(place) = self.site.take() {
            (Line::Site(place), "the definition of a site".to_owned())
        } else {
            return Err("neither a header nor a definition nor an event: no \"op\"".to_owned());
        })
    }

    fn event(&mut self, op: &str, tables: &mut Tables) -> Result<Line<'a>, String> {
        let thread = needed(self.t.take(), "t")?;
        let (op, target) = match op {
            "read" | "write" => self.access(op, tables)?,
            "acquire" | "release" | "request" | "wait" | "resume" | "notify" | "notify_all" => {
                self.locking(op)?
            }
            "fork" => (Op::Fork { child: ThreadId(0) }, Some(needed(self.child.take(), "child")?)),
            "join" => (Op::Join { child: ThreadId(0) }, Some(needed(self.child.take(), "child")?)),
            "begin" => (self.begin()?, self.label.take()),
            "end" => (Op::End { label: LabelId::NONE }, self.label.take()),
            "branch" => (Op::Branch { count: needed(self.count.take(), "count")? }, None),
            "call" | "return" | "input" | "argument" => self.label_and_value(op)?,
            "allocate" => (self.allocation()?, None),
            "deallocate" => {
                let object = ObjectId(needed(self.object.take(), "object")?);
                (Op::Deallocate { object }, None)
            }
            _ => return Err(format!("unknown op {op:?}")),
        };
        // Of operations on locks it has been taken already.
        let lock = if matches!(op, Op::Begin { .. }) { self.lock.take() } else { None };
        Ok(Line::Event { thread, op, target, lock, at: self.at.take() })
    }

    fn access(&mut self, op: &str, tables: &mut Tables) -> Result<Target<'a>, String> {
        let name = needed(self.var.take(), "var")?;
        let access = match self.access.take().as_deref() {
            None | Some("plain") => Access::Plain,
            Some("volatile") => Access::Volatile,
            Some("update") => Access::Update,
            Some(other) => return Err(format!("unknown access {other:?}")),
        };
        let kind = facts::of(&name, tables).values;
        let value = self.value.take().map(|value| value::read(&value, kind)).transpose()?;
        let (known, value) = (value.is_some(), value.unwrap_or_default());
        let var = VarId(0);
        let op = match op {
            "read" => Op::Read { var, access, known, value },
            _ => Op::Write { var, access, known, value },
        };
        Ok((op, Some(name)))
    }

    fn locking(&mut self, op: &str) -> Result<Target<'a>, String> {
        let name = needed(self.lock.take(), "lock")?;
        let lock = LockId(0);
        let op = match op {
            "acquire" => Op::Acquire { lock, hold: self.hold()? },
            "release" => Op::Release { lock, hold: self.hold()? },
            "request" => Op::Request { lock },
            "wait" => Op::Wait { lock },
            "resume" => Op::Resume { lock },
            _ => Op::Notify { lock, all: op == "notify_all" },
        };
        Ok((op, Some(name)))
    }

    fn hold(&mut self) -> Result<Hold, String> {
        match self.hold.take().as_deref() {
            None | Some("exclusive") => Ok(Hold::Exclusive),
            Some("shared") => Ok(Hold::Shared),
            Some(other) => Err(format!("unknown hold {other:?}")),
        }
    }

    fn label_and_value(&mut self, op: &str) -> Result<Target<'a>, String> {
        // A receiver is an object; of results and inputs nothing is known, and an integer shows all.
        let kind = if op == "call" { ValueKind::Ref } else { ValueKind::Int };
        let value = self.value.take().map(|value| value::read(&value, kind)).transpose()?;
        let (known, value) = (value.is_some(), value.unwrap_or_default());
        Ok(match op {
            "call" => (Op::Call { method: LabelId::NONE, known, value }, self.method.take()),
            "return" => {
                let outcome = self.outcome()?;
                (Op::Return { method: LabelId::NONE, outcome, known, value }, self.method.take())
            }
            "argument" => {
                let number = needed(self.number.take(), "number")?;
                (Op::Argument { method: LabelId::NONE, number, known, value }, self.method.take())
            }
            _ => (Op::Input { source: LabelId::NONE, known, value }, self.source.take()),
        })
    }

    /// A field that was not used.
    fn left(&self) -> Option<&'static str> {
        let fields = [
            ("meta", self.meta.is_some()),
            ("t", self.t.is_some()),
            ("op", self.op.is_some()),
            ("thread", self.thread.is_some()),
            ("var", self.var.is_some()),
            ("lock", self.lock.is_some()),
            ("label", self.label.is_some()),
            ("site", self.site.is_some()),
            ("kind", self.kind.is_some()),
            ("initial", self.initial.is_some()),
            ("value", self.value.is_some()),
            ("access", self.access.is_some()),
            ("hold", self.hold.is_some()),
            ("child", self.child.is_some()),
            ("method", self.method.is_some()),
            ("source", self.source.is_some()),
            ("count", self.count.is_some()),
            ("at", self.at.is_some()),
            ("outcome", self.outcome.is_some()),
            ("number", self.number.is_some()),
            ("object", self.object.is_some()),
            ("role", self.role.is_some()),
            ("owner", self.owner.is_some()),
            ("member", self.member.is_some()),
            ("address", self.address.is_some()),
            ("size", self.size.is_some()),
            ("class", self.class.is_some()),
            ("library", self.library.is_some()),
            ("entry", self.entry.is_some()),
        ];
        fields.iter().find(|(_, there)| *there).map(|(name, _)| *name)
    }
}

/// An operation with target 0, and its target.
type Target<'a> = (Op, Option<Cow<'a, str>>);

fn needed<T>(field: Option<T>, name: &str) -> Result<T, String> {
    field.ok_or_else(|| format!("field {name:?} is missing"))
}
