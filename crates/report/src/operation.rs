//! One event of a trace, with its names, as a report shows it.

use serde::{Deserialize, Serialize};
use untorn_trace::{
    Access, Event, EventIdx, Hold, Op, SiteId, Tables, Value, ValueKind, show_value,
};

use crate::text::{ellipsis, middle_ellipsis, plain, width};

/// What a thread did, with every name spelled out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Operation {
    /// The position in the trace, counted from 0.
    pub at: u64,
    pub thread: String,
    /// The index of its transaction in the finding; absent outside of a finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<usize>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    pub action: Action,
    /// The variable, lock, thread, block or method.
    pub target: String,
    /// The value read or written, as a programmer would write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `volatile`, `update`, `contents` or `shared`, where it is not the plain case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Read,
    Write,
    Acquire,
    Release,
    Request,
    Wait,
    Resume,
    Notify,
    NotifyAll,
    Fork,
    Join,
    Begin,
    End,
    Branch,
    Call,
    Return,
    Input,
    Argument,
    Allocate,
    Deallocate,
}

impl Action {
    /// The kind of an operation.
    pub fn of(op: Op) -> Self {
        match op {
            Op::Read { .. } => Self::Read,
            Op::Write { .. } => Self::Write,
            Op::Acquire { .. } => Self::Acquire,
            Op::Release { .. } => Self::Release,
            Op::Request { .. } => Self::Request,
            Op::Wait { .. } => Self::Wait,
            Op::Resume { .. } => Self::Resume,
            Op::Notify { all: false, .. } => Self::Notify,
            Op::Notify { all: true, .. } => Self::NotifyAll,
            Op::Fork { .. } => Self::Fork,
            Op::Join { .. } => Self::Join,
            Op::Begin { .. } => Self::Begin,
            Op::End { .. } => Self::End,
            Op::Branch { .. } => Self::Branch,
            Op::Call { .. } => Self::Call,
            Op::Return { .. } => Self::Return,
            Op::Input { .. } => Self::Input,
            Op::Argument { .. } => Self::Argument,
            Op::Allocate { .. } => Self::Allocate,
            Op::Deallocate { .. } => Self::Deallocate,
        }
    }

    /// The word for what happens: `read`.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::Request => "request",
            Self::Wait => "wait",
            Self::Resume => "resume",
            Self::Notify => "notify",
            Self::NotifyAll => "notify all",
            Self::Fork => "fork",
            Self::Join => "join",
            Self::Begin => "begin",
            Self::End => "end",
            Self::Branch => "branch",
            Self::Call => "call",
            Self::Return => "return",
            Self::Input => "input",
            Self::Argument => "argument",
            Self::Allocate => "allocate",
            Self::Deallocate => "deallocate",
        }
    }

    /// The word for what happened: `wrote`.
    pub fn past(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "wrote",
            Self::Acquire => "acquired",
            Self::Release => "released",
            Self::Request => "requested",
            Self::Wait => "gave up",
            Self::Resume => "took back",
            Self::Notify | Self::NotifyAll => "notified",
            Self::Fork => "started",
            Self::Join => "joined",
            Self::Begin => "began",
            Self::End => "ended",
            Self::Branch => "branched",
            Self::Call => "called",
            Self::Return => "returned from",
            Self::Input => "got input from",
            Self::Argument => "passed",
            Self::Allocate => "allocated",
            Self::Deallocate => "released",
        }
    }
}

/// The manner of a call that looks at a collection, or changes it: what it holds then is not known.
const CONTENTS: &str = "contents";

impl Operation {
    /// Whether it is about what a collection holds.
    pub fn is_of_contents(&self) -> bool {
        self.manner.as_deref() == Some(CONTENTS)
    }

    /// The event at position `at`, with the names of `tables`.
    pub fn new(at: EventIdx, event: &Event, tables: &Tables) -> Self {
        let (target, manner) = describe(event.op, event.site, tables);
        let value = event.value().and_then(|value| shown(event.op, value, tables));
        Self {
            at: at.0,
            thread: tables.thread_name(event.thread),
            transaction: None,
            place: place(event.site, tables),
            action: Action::of(event.op),
            target,
            value,
            manner: manner.map(str::to_owned),
        }
    }

    /// The target with its value: `balance → 20`, `balance ← 5`, `m (shared)`.
    pub fn object(&self) -> String {
        format!("{}{}", self.target, self.suffix())
    }

    /// The same, harmless and cut to `columns`: the name is cut before the value.
    pub fn short_object(&self, columns: usize) -> String {
        let suffix = ellipsis(&plain(&self.suffix()), columns / 2);
        let room = columns.saturating_sub(width(&suffix));
        format!("{}{suffix}", middle_ellipsis(&plain(&self.target), room))
    }

    fn suffix(&self) -> String {
        let mut text = String::new();
        if let Some(value) = &self.value {
            let arrow = if self.action == Action::Write { "←" } else { "→" };
            text.push_str(&format!(" {arrow} {value}"));
        }
        if let Some(manner) = &self.manner {
            text.push_str(&format!(" ({manner})"));
        }
        text
    }
}

/// The source position of an event or a block. RAPID's bare numbers get the prefix `loc`.
pub fn place(site: SiteId, tables: &Tables) -> String {
    let text = tables.site_text(site);
    let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if number { format!("loc {text}") } else { text }
}

fn shown(op: Op, value: Value, tables: &Tables) -> Option<String> {
    match op {
        Op::Read { var, .. } | Op::Write { var, .. } => tables.shown_value(var, value),
        Op::Call { .. } => Some(show_value(value, ValueKind::Ref)),
        _ => Some(show_value(value, ValueKind::Int)),
    }
}

/// The target of an operation, and how it is done where it is not the plain case.
fn describe(op: Op, site: SiteId, tables: &Tables) -> (String, Option<&'static str>) {
    let label = |label| tables.labels.get(label).unwrap_or("?").to_owned();
    match op {
        Op::Read { var, access, .. } | Op::Write { var, access, .. } => {
            let manner = match access {
                _ if tables.var_facts(var).role.is_collection() => Some(CONTENTS),
                Access::Plain => None,
                Access::Volatile => Some("volatile"),
                Access::Update => Some("update"),
            };
            (tables.var_name(var), manner)
        }
        Op::Acquire { lock, hold } | Op::Release { lock, hold } => {
            (tables.lock_name(lock), (hold == Hold::Shared).then_some("shared"))
        }
        Op::Request { lock }
        | Op::Wait { lock }
        | Op::Resume { lock }
        | Op::Notify { lock, .. } => (tables.lock_name(lock), None),
        Op::Fork { child } | Op::Join { child } => (tables.thread_name(child), None),
        Op::Begin { label, .. } | Op::End { label } => (tables.block_name(label, site), None),
        Op::Branch { count } => (format!("{count}×"), None),
        Op::Call { method: name, .. }
        | Op::Return { method: name, .. }
        | Op::Input { source: name, .. } => (label(name), None),
        Op::Argument { number, method, .. } => {
            (format!("argument {number} of {}", label(method)), None)
        }
        Op::Allocate { object, .. } | Op::Deallocate { object } => (format!("#{}", object.0), None),
    }
}
