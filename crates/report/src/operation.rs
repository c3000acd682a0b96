//! One event of a trace, with its names, as a report shows it.

use serde::{Deserialize, Serialize};
use untorn_trace::{Access, Event, EventIdx, Hold, Op, SiteId, Tables, VarId, show_value};

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
    /// `volatile`, `update` or `shared`, where it is not the plain case.
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
}

impl Action {
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
        }
    }
}

impl Operation {
    /// The event at position `at`, with the names of `tables`.
    pub fn new(at: EventIdx, event: &Event, tables: &Tables) -> Self {
        let (action, target, manner) = describe(event.op, event.site, tables);
        let value = event.value().map(|value| show_value(value, value_kind(event.op, tables)));
        Self {
            at: at.0,
            thread: tables.thread_name(event.thread),
            transaction: None,
            place: tables.site_text(event.site),
            action,
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

fn value_kind(op: Op, tables: &Tables) -> untorn_trace::ValueKind {
    match op {
        Op::Read { var, .. } | Op::Write { var, .. } => tables.var_facts(var).kind,
        Op::Call { .. } => untorn_trace::ValueKind::Ref,
        _ => untorn_trace::ValueKind::Int,
    }
}

fn describe(op: Op, site: SiteId, tables: &Tables) -> (Action, String, Option<&'static str>) {
    let var = |var: VarId, access| {
        let manner = match access {
            Access::Plain => None,
            Access::Volatile => Some("volatile"),
            Access::Update => Some("update"),
        };
        (tables.var_name(var), manner)
    };
    let lock = |lock| tables.lock_name(lock);
    let shared = |hold| (hold == Hold::Shared).then_some("shared");
    let label = |label| tables.labels.get(label).unwrap_or("?").to_owned();
    match op {
        Op::Read { var: v, access, .. } => {
            let (name, manner) = var(v, access);
            (Action::Read, name, manner)
        }
        Op::Write { var: v, access, .. } => {
            let (name, manner) = var(v, access);
            (Action::Write, name, manner)
        }
        Op::Acquire { lock: l, hold } => (Action::Acquire, lock(l), shared(hold)),
        Op::Release { lock: l, hold } => (Action::Release, lock(l), shared(hold)),
        Op::Request { lock: l } => (Action::Request, lock(l), None),
        Op::Wait { lock: l } => (Action::Wait, lock(l), None),
        Op::Resume { lock: l } => (Action::Resume, lock(l), None),
        Op::Notify { lock: l, all: false } => (Action::Notify, lock(l), None),
        Op::Notify { lock: l, all: true } => (Action::NotifyAll, lock(l), None),
        Op::Fork { child } => (Action::Fork, tables.thread_name(child), None),
        Op::Join { child } => (Action::Join, tables.thread_name(child), None),
        Op::Begin { label } => (Action::Begin, tables.block_name(label, site), None),
        Op::End { label } => (Action::End, tables.block_name(label, site), None),
        Op::Branch { count } => (Action::Branch, format!("{count}×"), None),
        Op::Call { method, .. } => (Action::Call, label(method), None),
        Op::Return { method, .. } => (Action::Return, label(method), None),
        Op::Input { source, .. } => (Action::Input, label(source), None),
    }
}
