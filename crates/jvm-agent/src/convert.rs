//! From raw records to events: dense ids, names, initial values, blocks.
//!
//! Ids are assigned in the order of first occurrence, so they do not depend on the order in which classes were loaded
//! or objects got their identities: the same schedule gives the same bytes.

mod meaning;
mod monitors;
mod naming;
mod sections;
mod tracked_calls;

use std::io::Write;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use untorn_runtime::ThreadNames;
use untorn_runtime::buffers::{Record, special};
use untorn_trace::VarRole;
use untorn_trace::event::{Access, BlockKind, CallOutcome, Event, Op, Value, ValueKind};
use untorn_trace::formats::utr::{ShapeMemo, Writer};
use untorn_trace::ids::{LabelId, LockId, MemberId, ObjectId, SiteId, ThreadId, VarId};
use untorn_trace::tables::{Tables, VarFacts};

use self::meaning::{Meaning, RecordKind, UNKNOWN};
use crate::instrument::Rewriter;
use crate::sites::CodeSite;
use crate::vars::VarMap;

/// Facts of an object that is used as a lock.
#[derive(Clone, Copy, Debug)]
struct Object {
    lock: Option<LockId>,
    /// The owner of its monitor and the depth, according to the trace.
    holder: ThreadId,
    depth: u32,
}

/// A block that was begun.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    label: LabelId,
    kind: BlockKind,
    /// The object whose monitor guards it; 0 for a method that is listed as atomic.
    object: u32,
    lock: LockId,
}

impl OpenBlock {
    fn begin(self) -> Op {
        Op::Begin { kind: self.kind, label: self.label, lock: self.lock }
    }
}

/// A declared field, or a variable that models other state of an object.
#[derive(Clone, Debug)]
struct Declared {
    class_name: String,
    class: u32,
    name: String,
    role: VarRole,
    member: MemberId,
}

/// An array is named after the first variable that was seen to hold it, and belongs to the same object.
#[derive(Clone, Debug)]
struct ArrayName {
    name: String,
    member: String,
    owner: ObjectId,
}

/// The locks and blocks that a thread gives up while it waits.
#[derive(Clone, Debug, Default)]
struct WaitState {
    depth: u32,
    blocks: Vec<OpenBlock>,
    /// The monitor was entered by code that is not rewritten.
    unseen: bool,
}

impl Default for Object {
    fn default() -> Self {
        Self { lock: None, holder: ThreadId(0), depth: 0 }
    }
}

pub struct Converter {
    pub(crate) rewriter: Arc<Rewriter>,
    /// Names of threads, filled in by the threads that start them.
    thread_names: Arc<ThreadNames>,
    pub tables: Tables,
    /// By site.
    meanings: Vec<Meaning>,
    /// Of accesses, by site; and of branches.
    memos: Vec<ShapeMemo>,
    branch_memo: ShapeMemo,
    /// Names and numbers of declared fields: `com.acme.Account.balance`.
    fields: FxHashMap<String, u32>,
    declared: Vec<Declared>,
    /// By short name.
    class_numbers: FxHashMap<String, u32>,
    /// Short names of classes, and the classes that have them.
    short_names: FxHashMap<String, String>,
    /// By identity (see `place_of_identity`): the number of the object by first occurrence, from 1; 0 if it has not occurred.
    numbers: [Vec<u32>; 2],
    /// By identity: facts of the few objects that are locks.
    objects: FxHashMap<u32, Object>,
    /// By identity, a bit each: whether `array_names` has a name for it.
    named: [Vec<u64>; 2],
    /// Reused for its memory.
    name: String,
    occurred: u32,
    /// Names of arrays: by the number of the object.
    array_names: FxHashMap<u32, ArrayName>,
    vars: VarMap,
    /// Variables that are not in memory, by name: permits of threads.
    named_vars: FxHashMap<String, VarId>,
    /// Open blocks of each thread, innermost last.
    open: Vec<Vec<OpenBlock>>,
    /// Open calls of each thread, innermost last, if calls are tracked.
    calls: Vec<Vec<tracked_calls::OpenCall>>,
    /// Objects whose monitors each thread holds.
    held: Vec<Vec<u32>>,
    /// The monitors that waiting threads gave up.
    waiting: FxHashMap<(ThreadId, u32), WaitState>,
    /// Blocks that begin again after the current event.
    resumed: Vec<OpenBlock>,
    /// By lock: the threads that hold its shared side, and how often.
    readers: FxHashMap<u32, Vec<(ThreadId, u32)>>,
    /// Facts of fields that are accessed by name, by their number.
    named_fields: Vec<Meaning>,
    /// Elements of copied arrays without an event.
    pub left_out: u64,
    /// Accesses whose variable is not known.
    pub unresolved: u64,
    /// Ends without beginnings: caused by exceptions that the JVM threw inside of a probe.
    pub unmatched: u64,
}

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Converter").field("occurred", &self.occurred).finish_non_exhaustive()
    }
}

impl Converter {
    pub fn new(rewriter: Arc<Rewriter>, thread_names: Arc<ThreadNames>) -> Self {
        Self {
            rewriter,
            thread_names,
            tables: Tables::default(),
            meanings: Vec::new(),
            memos: Vec::new(),
            branch_memo: ShapeMemo::default(),
            fields: FxHashMap::default(),
            declared: Vec::new(),
            class_numbers: FxHashMap::default(),
            short_names: FxHashMap::default(),
            numbers: [Vec::new(), Vec::new()],
            objects: FxHashMap::default(),
            named: [Vec::new(), Vec::new()],
            name: String::new(),
            occurred: 0,
            array_names: FxHashMap::default(),
            vars: VarMap::default(),
            named_vars: FxHashMap::default(),
            open: Vec::new(),
            calls: Vec::new(),
            held: Vec::new(),
            waiting: FxHashMap::default(),
            resumed: Vec::new(),
            readers: FxHashMap::default(),
            named_fields: Vec::new(),
            left_out: 0,
            unresolved: 0,
            unmatched: 0,
        }
    }

    /// Writes the events of some records of one thread.
    pub fn convert(&mut self, thread: ThreadId, records: &[Record], out: &mut Writer<impl Write>) {
        self.know_thread(thread);
        for record in records {
            if record.branches > 0 {
                let branch = Op::Branch { count: record.branches };
                let event = Event::new(thread, branch, SiteId::NONE);
                out.push(&self.tables, &event, &mut self.branch_memo);
            }
            match self.meanings.get(record.site as usize).map(|meaning| meaning.op) {
                Some(RecordKind::Field { write }) => self.access(thread, record, write, out),
                Some(RecordKind::Element { write }) => self.access(thread, record, write, out),
                Some(RecordKind::Nothing) => {}
                _ if record.site >= special::FIRST => self.special(thread, record, out),
                _ => self.coded(thread, record, out),
            }
        }
    }

    /// Writes an event of a rare kind.
    fn emit(&self, out: &mut Writer<impl Write>, thread: ThreadId, op: Op, site: SiteId) {
        let event = Event::new(thread, op, site);
        out.push(&self.tables, &event, &mut ShapeMemo::default());
    }

    fn know_thread(&mut self, thread: ThreadId) {
        while self.tables.threads.len() <= thread.index() {
            let next = self.tables.threads.len();
            let name = self.thread_names.get(next).unwrap_or_else(|| format!("thread {next}"));
            self.tables.threads.push(&name);
            self.open.push(Vec::new());
            self.calls.push(Vec::new());
            self.held.push(Vec::new());
        }
    }

    fn coded(&mut self, thread: ThreadId, record: &Record, out: &mut Writer<impl Write>) {
        let index = record.site as usize;
        if index >= self.meanings.len() {
            self.meanings.resize(index + 1, UNKNOWN);
            self.memos.resize(index + 1, ShapeMemo::default());
        }
        let mut meaning = self.meanings[index];
        if meaning.op == RecordKind::Unknown {
            meaning = self.find_meaning(CodeSite(record.site));
            self.meanings[index] = meaning;
        }
        let (label, site) = (LabelId(meaning.number), meaning.site);
        match meaning.op {
            RecordKind::Unknown | RecordKind::Nothing => {}
            RecordKind::Field { write } | RecordKind::Element { write } => {
                self.access(thread, record, write, out);
            }
            RecordKind::NamedField { write } => self.named_access(thread, record, write, out),
            RecordKind::LeftOut => self.left_out += record.value,
            RecordKind::Unresolved => self.unresolved += record.value,
            RecordKind::Lock { block } => self.section_begins(thread, record, &meaning, block, out),
            RecordKind::Unlock { block } => self.section_ends(thread, record, site, block, out),
            RecordKind::Await => self.awaits(thread, record.object, site, out),
            RecordKind::Awaited => self.awaited(thread, record.object, site, out),
            RecordKind::Enter { block } => {
                let lock = self.lock(record.object, &meaning);
                if block {
                    let (kind, object) = (BlockKind::Synchronized, record.object);
                    self.begin(thread, OpenBlock { label, kind, object, lock }, site, out);
                }
                self.acquire(thread, record.object, lock, out);
                self.emit(out, thread, Op::acquire(lock), site);
            }
            RecordKind::Exit { block } => {
                let lock = self.lock(record.object, &meaning);
                let object = self.object(record.object);
                if object.holder == thread && object.depth > 0 {
                    object.depth -= 1;
                    if object.depth == 0 {
                        self.drop_monitor(thread, record.object);
                    }
                    self.emit(out, thread, Op::release(lock), site);
                } else {
                    self.unmatched += 1;
                }
                if block {
                    self.end(thread, label, site, out);
                }
            }
            RecordKind::TrackedCall => {
                self.tracked_call_begins(thread, label, record.object, site, out);
            }
            RecordKind::TrackedArgument { number } => {
                let value = self.answer(record, meaning.kind);
                let argument = Op::Argument { known: true, number, method: label, value };
                self.emit(out, thread, argument, site);
            }
            RecordKind::TrackedReturn { known } => {
                let answer = known.then(|| self.answer(record, meaning.kind));
                self.tracked_call_ends(thread, label, answer, site, out);
            }
            RecordKind::Call => {
                self.called(thread, label);
                let value = Value(self.number(record.object).into());
                let call = Op::Call { method: label, known: record.object != 0, value };
                let memo = &mut self.memos[index];
                out.push(&self.tables, &Event::new(thread, call, site), memo);
            }
            RecordKind::Return => {
                self.returns(thread, label, out);
                let (outcome, known, value) = (CallOutcome::Returned, false, Value(0));
                let returned = Op::Return { method: label, outcome, known, value };
                let memo = &mut self.memos[index];
                out.push(&self.tables, &Event::new(thread, returned, site), memo);
            }
            RecordKind::Begin | RecordKind::BeginInitialiser => {
                let is_named = meaning.op == RecordKind::Begin;
                let kind = if is_named { BlockKind::Named } else { BlockKind::Initialiser };
                let block = OpenBlock { label, kind, object: 0, lock: LockId::NONE };
                self.begin(thread, block, site, out);
            }
            RecordKind::End | RecordKind::EndInitialiser => self.end(thread, label, site, out),
        }
    }

    fn begin(
        &mut self,
        thread: ThreadId,
        block: OpenBlock,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        self.open[thread.index()].push(block);
        self.emit(out, thread, block.begin(), site);
    }

    /// Ends a block, and the blocks inside of it whose ends were not recorded.
    fn end(
        &mut self,
        thread: ThreadId,
        label: LabelId,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        let open = &mut self.open[thread.index()];
        let Some(depth) = open.iter().rposition(|other| other.label == label) else {
            self.unmatched += 1;
            return;
        };
        self.unmatched += (open.len() - depth - 1) as u64;
        while self.open[thread.index()].len() > depth {
            if let Some(OpenBlock { label, .. }) = self.open[thread.index()].pop() {
                self.emit(out, thread, Op::End { label }, site);
            }
        }
    }

    fn special(&mut self, thread: ThreadId, record: &Record, out: &mut Writer<impl Write>) {
        let child = ThreadId(record.value as u32);
        let site = self.site_of(CodeSite(record.index));
        match record.site {
            special::FORK => {
                self.know_thread(child);
                self.emit(out, thread, Op::Fork { child }, site);
            }
            special::JOIN => {
                self.know_thread(child);
                self.end_thread(child, out);
                self.emit(out, thread, Op::Join { child }, site);
            }
            special::WAIT
            | special::RESUME
            | special::NOTIFY
            | special::NOTIFY_ALL
            | special::REQUEST => self.monitor(thread, record, site, out),
            special::UNPARK => {
                let op = self.permit(child, true, 1);
                self.emit(out, thread, op, site);
            }
            special::PARK => {
                for (write, value) in [(false, 1), (true, 0)] {
                    let op = self.permit(child, write, value);
                    self.emit(out, thread, op, site);
                }
            }
            special::PARK_TIMEOUT => {
                let op = self.permit(child, false, 0);
                self.emit(out, thread, op, site);
            }
            special::INTERRUPT => {
                let name = format!("{}.interrupted", self.name_of_thread(child));
                let var = self.named_var(&name, ValueKind::Bool);
                let (access, known, value) = (Access::Volatile, true, Value(1));
                self.emit(out, thread, Op::Write { var, access, known, value }, site);
            }
            _ => {}
        }
    }

    fn name_of_thread(&mut self, thread: ThreadId) -> String {
        self.know_thread(thread);
        self.tables.thread_name(thread)
    }

    /// The permit of a thread is a volatile variable: what precedes `unpark` comes before the
    /// return from `park`.
    fn permit(&mut self, thread: ThreadId, write: bool, value: u64) -> Op {
        let name = format!("{}#{}.permit", self.name_of_thread(thread), thread.0);
        let var = self.named_var(&name, ValueKind::Int);
        let (access, known, value) = (Access::Volatile, true, Value(value));
        match write {
            true => Op::Write { var, access, known, value },
            false => Op::Read { var, access, known, value },
        }
    }

    fn named_var(&mut self, name: &str, kind: ValueKind) -> VarId {
        if let Some(&var) = self.named_vars.get(name) {
            return var;
        }
        let var = self.tables.vars.push(name);
        let facts = VarFacts::new(kind, Some(Value(0)));
        let facts = facts.with_place(VarRole::ThreadState, ObjectId::NONE, MemberId::NONE);
        self.tables.set_var_facts(var, facts);
        self.named_vars.insert(name.to_owned(), var);
        var
    }

    /// An access of a field or an element, which nearly all records are.
    #[inline]
    fn access(
        &mut self,
        thread: ThreadId,
        record: &Record,
        write: bool,
        out: &mut Writer<impl Write>,
    ) {
        self.access_as(thread, record, write, self.meanings[record.site as usize], out);
    }

    /// An access of a field whose number the record has.
    fn named_access(
        &mut self,
        thread: ThreadId,
        record: &Record,
        write: bool,
        out: &mut Writer<impl Write>,
    ) {
        let field = self.named_field(record.index);
        let place = self.meanings[record.site as usize];
        let access = if place.access == Access::Plain { field.access } else { place.access };
        if field.op != RecordKind::Nothing {
            let meaning = Meaning { site: place.site, access, ..field };
            self.access_as(thread, record, write, meaning, out);
        }
    }

    #[inline]
    fn access_as(
        &mut self,
        thread: ThreadId,
        record: &Record,
        write: bool,
        meaning: Meaning,
        out: &mut Writer<impl Write>,
    ) {
        let is_element = matches!(meaning.op, RecordKind::Element { .. });
        let slot = if is_element { record.index } else { meaning.number };
        let (kind, access, site) = (meaning.kind, meaning.access, meaning.site);
        let holds_array = meaning.holds_array;
        let value = match kind {
            ValueKind::Ref => Value(self.number(record.value as u32).into()),
            // The probe sign-extends; the upper half of a float is not part of it.
            ValueKind::Float => Value(record.value & 0xffff_ffff),
            _ => Value(record.value),
        };
        let var = match self.vars.find(record.object, slot) {
            Some(var) => var,
            None => self.new_var(record, write, slot, value, meaning),
        };
        if holds_array && value.0 != 0 {
            self.name_array(record, value.0 as u32, slot, meaning);
        }
        let op = match write {
            true => Op::Write { var, access, known: true, value },
            false => Op::Read { var, access, known: true, value },
        };
        let memo = &mut self.memos[record.site as usize];
        out.push(&self.tables, &Event::new(thread, op, site), memo);
    }

    #[cold]
    fn new_var(
        &mut self,
        record: &Record,
        write: bool,
        slot: u32,
        value: Value,
        meaning: Meaning,
    ) -> VarId {
        self.name_var(record.object, slot, meaning);
        let var = self.tables.vars.push(&self.name);
        let initial = match write {
            false => Some(value),
            true => meaning.recorded.then_some(Value(0)),
        };
        let (role, owner, member) = self.place_of(record.object, slot, meaning);
        let facts = VarFacts::new(meaning.kind, initial).with_place(role, owner, member);
        self.tables.set_var_facts(var, facts);
        self.vars.insert(record.object, slot, var);
        var
    }
}
