//! From raw records to events: dense ids, names, initial values, blocks.
//!
//! Ids are given in the order of first occurrence, so they do not depend on the order in which classes
//! were loaded or objects got their identities: the same schedule gives the same bytes.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use untorn_trace::event::{Access, Event, Hold, Op, Value, ValueKind};
use untorn_trace::ids::{LabelId, LockId, SiteId, ThreadId, VarId};
use untorn_trace::tables::{Site, Tables, VarFacts};

use crate::buffers::{Record, special};
use crate::instrument::{Rewriter, value_kind};
use crate::sites::{CodeSite, FieldName, MethodInfo, SiteInfo, What};
use crate::vars::VarMap;

/// What a place in the code means for the trace; found out when it first tells something.
#[derive(Clone, Copy, Debug)]
struct Meaning {
    op: Told,
    site: SiteId,
    /// Of accesses: how values are shown and what kind of access it is.
    kind: ValueKind,
    access: Access,
    /// Of fields: the number of the field. Of everything named: the label.
    number: u32,
    /// Whether every write of the variable is seen, so that it starts as zero.
    recorded: bool,
    /// Of reads and writes of arrays: the field or variable that holds an array gives it a name.
    holds_array: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    /// Not yet known.
    Unknown,
    /// Not worth an event: a final field.
    Nothing,
    Field {
        write: bool,
    },
    Element {
        write: bool,
    },
    Enter {
        block: bool,
    },
    Exit {
        block: bool,
    },
    Call,
    Return,
    Begin,
    End,
    BeginInitialiser,
    EndInitialiser,
}

const UNKNOWN: Meaning = Meaning {
    op: Told::Unknown,
    site: SiteId::NONE,
    kind: ValueKind::Int,
    access: Access::Plain,
    number: 0,
    recorded: false,
    holds_array: false,
};

/// What is known of an object.
#[derive(Clone, Copy, Debug)]
struct Object {
    /// By order of first occurrence, from 1; 0 if it has not occurred.
    number: u32,
    lock: Option<LockId>,
    /// Whether `array_names` has a name for it.
    named: bool,
    /// Who holds its monitor, and how deep, as far as the trace tells.
    holder: ThreadId,
    depth: u32,
}

/// A block that was begun.
#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    label: LabelId,
    /// The object whose monitor guards it; 0 for a method that is listed as atomic.
    object: u32,
}

/// What a thread gives up while it waits.
#[derive(Clone, Debug, Default)]
struct GivenUp {
    depth: u32,
    blocks: Vec<OpenBlock>,
}

impl Default for Object {
    fn default() -> Self {
        Self { number: 0, lock: None, named: false, holder: ThreadId(0), depth: 0 }
    }
}

pub struct Converter {
    rewriter: Arc<Rewriter>,
    /// Names of threads, filled in by those who start them.
    thread_names: Arc<Mutex<Vec<String>>>,
    pub tables: Tables,
    meanings: Vec<Meaning>,
    /// Names and numbers of declared fields: `com.acme.Account.balance`.
    fields: FxHashMap<String, u32>,
    field_names: Vec<(String, String)>,
    /// Short names of classes, and to whom they belong.
    short_names: FxHashMap<String, String>,
    /// By identity.
    objects: Vec<Object>,
    occurred: u32,
    /// What arrays are called: by the number of the object.
    array_names: FxHashMap<u32, String>,
    vars: VarMap,
    /// Open blocks of each thread, innermost last.
    open: Vec<Vec<OpenBlock>>,
    /// Objects whose monitors each thread holds.
    held: Vec<Vec<u32>>,
    /// What waiting threads gave up, by the monitor that they wait on.
    waiting: FxHashMap<(ThreadId, u32), GivenUp>,
    /// Blocks that begin anew after the event at hand.
    resumed: Vec<OpenBlock>,
    /// Ends without their beginnings: exceptions that the JVM threw inside of a probe.
    pub unmatched: u64,
}

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Converter").field("occurred", &self.occurred).finish_non_exhaustive()
    }
}

impl Converter {
    pub fn new(rewriter: Arc<Rewriter>, thread_names: Arc<Mutex<Vec<String>>>) -> Self {
        Self {
            rewriter,
            thread_names,
            tables: Tables::default(),
            meanings: Vec::new(),
            fields: FxHashMap::default(),
            field_names: Vec::new(),
            short_names: FxHashMap::default(),
            objects: Vec::new(),
            occurred: 0,
            array_names: FxHashMap::default(),
            vars: VarMap::default(),
            open: Vec::new(),
            held: Vec::new(),
            waiting: FxHashMap::default(),
            resumed: Vec::new(),
            unmatched: 0,
        }
    }

    /// Adds the events of some records of one thread to `out`.
    pub fn convert(&mut self, thread: ThreadId, records: &[Record], out: &mut Vec<Event>) {
        self.know_thread(thread);
        for record in records {
            if record.branches > 0 {
                let count = record.branches;
                out.push(Event::new(thread, Op::Branch { count }, SiteId::NONE));
            }
            if record.site >= special::FIRST {
                self.special(thread, record, out);
            } else {
                self.coded(thread, record, out);
            }
        }
    }

    fn know_thread(&mut self, thread: ThreadId) {
        while self.tables.threads.len() <= thread.index() {
            let names = self.thread_names.lock().unwrap_or_else(PoisonError::into_inner);
            let next = self.tables.threads.len();
            let name = names.get(next).cloned().unwrap_or_else(|| format!("thread {next}"));
            drop(names);
            self.tables.threads.push(&name);
            self.open.push(Vec::new());
            self.held.push(Vec::new());
        }
    }

    fn coded(&mut self, thread: ThreadId, record: &Record, out: &mut Vec<Event>) {
        let index = record.site as usize;
        if index >= self.meanings.len() {
            self.meanings.resize(index + 1, UNKNOWN);
        }
        let mut meaning = self.meanings[index];
        if meaning.op == Told::Unknown {
            meaning = self.find_meaning(CodeSite(record.site));
            self.meanings[index] = meaning;
        }
        let label = LabelId(meaning.number);
        let mut tell = |op| out.push(Event::new(thread, op, meaning.site));
        match meaning.op {
            Told::Unknown | Told::Nothing => {}
            Told::Field { write } => tell(self.access(&meaning, record, write, meaning.number)),
            Told::Element { write } => tell(self.access(&meaning, record, write, record.index)),
            Told::Enter { block } => {
                if block {
                    self.open[thread.index()].push(OpenBlock { label, object: record.object });
                    tell(Op::Begin { label });
                }
                let lock = self.lock(record.object, &meaning);
                self.acquire(thread, record.object, lock, out);
                out.push(Event::new(
                    thread,
                    Op::Acquire { lock, hold: Hold::Exclusive },
                    meaning.site,
                ));
            }
            Told::Exit { block } => {
                let lock = self.lock(record.object, &meaning);
                let object = self.object(record.object);
                if object.holder == thread && object.depth > 0 {
                    object.depth -= 1;
                    if object.depth == 0 {
                        self.let_go(thread, record.object);
                    }
                    tell(Op::Release { lock, hold: Hold::Exclusive });
                } else {
                    self.unmatched += 1;
                }
                if block {
                    self.end(thread, label, meaning.site, out);
                }
            }
            Told::Call => {
                let value = Value(self.number(record.object).into());
                tell(Op::Call { method: label, known: record.object != 0, value });
            }
            Told::Return => {
                tell(Op::Return { method: label, known: false, value: Value(0) });
            }
            Told::Begin | Told::BeginInitialiser => {
                self.open[thread.index()].push(OpenBlock { label, object: 0 });
                tell(Op::Begin { label });
            }
            Told::End | Told::EndInitialiser => self.end(thread, label, meaning.site, out),
        }
    }

    /// Notes who holds a monitor. If somebody else did, by the trace, that thread's exits were lost in a stack
    /// overflow: they are made up for.
    fn acquire(&mut self, thread: ThreadId, identity: u32, lock: LockId, out: &mut Vec<Event>) {
        let object = self.object(identity);
        if object.holder == thread && object.depth > 0 {
            object.depth += 1;
            return;
        }
        let (holder, lost) = (object.holder, object.depth);
        (object.holder, object.depth) = (thread, 1);
        self.held[thread.index()].push(identity);
        let release = Op::Release { lock, hold: Hold::Exclusive };
        out.extend((0..lost).map(|_| Event::new(holder, release, SiteId::NONE)));
        self.unmatched += u64::from(lost);
    }

    /// Ends a block, and those inside of it that were left without a word.
    fn end(&mut self, thread: ThreadId, label: LabelId, site: SiteId, out: &mut Vec<Event>) {
        let open = &mut self.open[thread.index()];
        let Some(depth) = open.iter().rposition(|other| other.label == label) else {
            self.unmatched += 1;
            return;
        };
        self.unmatched += (open.len() - depth - 1) as u64;
        for OpenBlock { label, .. } in open.drain(depth..).rev() {
            out.push(Event::new(thread, Op::End { label }, site));
        }
    }

    fn special(&mut self, thread: ThreadId, record: &Record, out: &mut Vec<Event>) {
        let child = ThreadId(record.value as u32);
        let site = self.site_of(CodeSite(record.index));
        let mut tell = |op| out.push(Event::new(thread, op, site));
        match record.site {
            special::FORK => {
                self.know_thread(child);
                tell(Op::Fork { child });
            }
            special::JOIN => {
                self.know_thread(child);
                self.settle(child, out);
                out.push(Event::new(thread, Op::Join { child }, site));
            }
            special::WAIT
            | special::RESUME
            | special::NOTIFY
            | special::NOTIFY_ALL
            | special::REQUEST => {
                let lock = self.lock(record.object, &UNKNOWN);
                match record.site {
                    special::WAIT => self.waits(thread, record.object, site, out),
                    special::RESUME => self.resumes(thread, record.object, lock, out),
                    _ => {}
                }
                let mut tell = |op| out.push(Event::new(thread, op, site));
                tell(match record.site {
                    special::WAIT => Op::Wait { lock },
                    special::RESUME => Op::Resume { lock },
                    special::REQUEST => Op::Request { lock },
                    kind => Op::Notify { lock, all: kind == special::NOTIFY_ALL },
                });
                for block in std::mem::take(&mut self.resumed) {
                    self.open[thread.index()].push(block);
                    out.push(Event::new(thread, Op::Begin { label: block.label }, site));
                }
            }
            special::UNPARK => tell(self.permit(child, true, 1)),
            special::PARK => {
                tell(self.permit(child, false, 1));
                tell(self.permit(child, true, 0));
            }
            special::PARK_IN_VAIN => tell(self.permit(child, false, 0)),
            special::INTERRUPT => {
                let name = format!("{}.interrupted", self.name_of_thread(child));
                let var = self.named_var(&name, ValueKind::Bool);
                tell(Op::Write { var, access: Access::Volatile, known: true, value: Value(1) });
            }
            _ => {}
        }
    }

    /// Monitors are mostly left in the opposite order of being entered.
    fn let_go(&mut self, thread: ThreadId, identity: u32) {
        let held = &mut self.held[thread.index()];
        if let Some(at) = held.iter().rposition(|&other| other == identity) {
            held.remove(at);
        }
    }

    /// A thread has ended: what it still holds or has open was left in a stack overflow.
    fn settle(&mut self, thread: ThreadId, out: &mut Vec<Event>) {
        for identity in std::mem::take(&mut self.held[thread.index()]) {
            let object = self.object(identity);
            if object.holder != thread || object.depth == 0 {
                continue;
            }
            let lost = std::mem::take(&mut object.depth);
            let Some(lock) = object.lock else { continue };
            let release = Op::Release { lock, hold: Hold::Exclusive };
            out.extend((0..lost).map(|_| Event::new(thread, release, SiteId::NONE)));
            self.unmatched += u64::from(lost);
        }
        for OpenBlock { label, .. } in
            std::mem::take(&mut self.open[thread.index()]).into_iter().rev()
        {
            out.push(Event::new(thread, Op::End { label }, SiteId::NONE));
            self.unmatched += 1;
        }
    }

    /// A waiting thread keeps its depth for later. Who waits gives up on purpose that what the monitor guards is one
    /// step: the blocks of that monitor, and those inside of them, end here and begin anew afterwards.
    fn waits(&mut self, thread: ThreadId, object: u32, site: SiteId, out: &mut Vec<Event>) {
        let depth = std::mem::take(&mut self.object(object).depth);
        self.let_go(thread, object);
        let open = &mut self.open[thread.index()];
        let first = open.iter().position(|block| block.object == object).unwrap_or(open.len());
        let blocks = open.split_off(first);
        for OpenBlock { label, .. } in blocks.iter().rev() {
            out.push(Event::new(thread, Op::End { label: *label }, site));
        }
        self.waiting.insert((thread, object), GivenUp { depth, blocks });
    }

    fn resumes(&mut self, thread: ThreadId, object: u32, lock: LockId, out: &mut Vec<Event>) {
        let GivenUp { depth, blocks } = self.waiting.remove(&(thread, object)).unwrap_or_default();
        self.acquire(thread, object, lock, out);
        self.object(object).depth = depth.max(1);
        self.resumed = blocks;
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
        if let Some(var) = self.tables.vars.find(name) {
            return var;
        }
        let var = self.tables.vars.push(name);
        self.tables.set_var_facts(var, VarFacts { kind, initial: Some(Value(0)) });
        var
    }

    fn access(&mut self, meaning: &Meaning, record: &Record, write: bool, slot: u32) -> Op {
        let value = match meaning.kind {
            ValueKind::Ref => Value(self.number(record.value as u32).into()),
            // The probe sign-extends; the upper half of a float is not part of it.
            ValueKind::Float => Value(record.value & 0xffff_ffff),
            _ => Value(record.value),
        };
        let var = match self.vars.find(record.object, slot) {
            Some(var) => var,
            None => self.new_var(meaning, record, write, slot, value),
        };
        if meaning.holds_array && value.0 != 0 {
            self.name_array(record.value as u32, value.0 as u32, var);
        }
        let access = meaning.access;
        match write {
            true => Op::Write { var, access, known: true, value },
            false => Op::Read { var, access, known: true, value },
        }
    }

    fn new_var(
        &mut self,
        meaning: &Meaning,
        record: &Record,
        write: bool,
        slot: u32,
        value: Value,
    ) -> VarId {
        let number = self.number(record.object);
        let name = match meaning.op {
            Told::Element { .. } => match self.array_names.get(&number) {
                Some(holder) => format!("{holder}[{slot}]"),
                None => format!("{}#{number}[{slot}]", self.field_names[meaning.number as usize].1),
            },
            _ => {
                let (class, field) = &self.field_names[slot as usize];
                if record.object == 0 {
                    format!("{class}.{field}")
                } else {
                    format!("{class}#{number}.{field}")
                }
            }
        };
        let var = self.tables.vars.push(&name);
        let initial = match write {
            false => Some(value),
            true => meaning.recorded.then_some(Value(0)),
        };
        self.tables.set_var_facts(var, VarFacts { kind: meaning.kind, initial });
        self.vars.insert(record.object, slot, var);
        var
    }

    /// An array is called after the first variable that was seen to hold it.
    fn name_array(&mut self, identity: u32, number: u32, holder: VarId) {
        if std::mem::replace(&mut self.object(identity).named, true) {
            return;
        }
        let name = self.tables.vars.get(holder).unwrap_or_default().to_owned();
        self.array_names.insert(number, name);
    }

    fn object(&mut self, identity: u32) -> &mut Object {
        let index = identity as usize;
        if index >= self.objects.len() {
            self.objects.resize(index + 1, Object::default());
        }
        &mut self.objects[index]
    }

    /// The number of an object by first occurrence; 0 is null.
    fn number(&mut self, identity: u32) -> u32 {
        if identity == 0 {
            return 0;
        }
        let next = self.occurred + 1;
        let object = self.object(identity);
        if object.number == 0 {
            object.number = next;
            self.occurred = next;
            return next;
        }
        object.number
    }

    fn lock(&mut self, identity: u32, meaning: &Meaning) -> LockId {
        if let Some(lock) = self.object(identity).lock {
            return lock;
        }
        let number = self.number(identity);
        let name = match self.lock_owner(meaning) {
            Some((class, true)) => format!("{class}.class"),
            Some((class, false)) => format!("{class}#{number}"),
            None => format!("Object#{number}"),
        };
        let lock = self.tables.locks.push(&name);
        self.object(identity).lock = Some(lock);
        lock
    }

    /// For the monitor of a synchronized method: the class, and whether it is the class that is locked.
    fn lock_owner(&mut self, meaning: &Meaning) -> Option<(String, bool)> {
        if !matches!(meaning.op, Told::Enter { .. }) || !meaning.recorded {
            return None;
        }
        let (class, is_static) = self
            .tables
            .sites
            .get(meaning.site)
            .map(|site| (site.class.to_owned(), meaning.holds_array))?;
        Some((self.short_name(&class.replace('.', "/")), is_static))
    }

    fn site_of(&mut self, code: CodeSite) -> SiteId {
        let rewriter = Arc::clone(&self.rewriter);
        let sites = rewriter.sites.read().unwrap_or_else(PoisonError::into_inner);
        let Some(info) = sites.get(code) else { return SiteId::NONE };
        sites.method(info.method).map_or(SiteId::NONE, |method| self.intern_site(info, method))
    }

    fn intern_site(&mut self, info: &SiteInfo, method: &MethodInfo) -> SiteId {
        self.tables.sites.intern(&Site {
            file: &method.file,
            line: info.line,
            method: &method.name,
            class: &method.class.replace('/', "."),
            loc: &format!("{}@{}", method.descriptor, info.pc),
        })
    }

    fn find_meaning(&mut self, code: CodeSite) -> Meaning {
        let rewriter = Arc::clone(&self.rewriter);
        let sites = rewriter.sites.read().unwrap_or_else(PoisonError::into_inner);
        let nothing = Meaning { op: Told::Nothing, ..UNKNOWN };
        let Some(info) = sites.get(code) else { return nothing };
        let Some(method) = sites.method(info.method) else { return nothing };
        let site = self.intern_site(info, method);
        let meaning = Meaning { site, ..UNKNOWN };
        let named = |this: &mut Self, op, name: String| Meaning {
            op,
            number: this.tables.labels.intern(&name).0,
            ..meaning
        };
        match &info.what {
            What::Field { write, field } | What::Global { write, field } => {
                let op = Told::Field { write: *write };
                self.field_meaning(Meaning { op, ..meaning }, field)
            }
            What::Element { write, kind, element } => {
                let number = self.field_number("", element);
                let op = Told::Element { write: *write };
                // Arrays of arrays: the element names the array that it holds.
                let holds_array = *kind == ValueKind::Ref;
                Meaning { op, kind: *kind, number, holds_array, ..meaning }
            }
            What::Enter { block, own } => {
                let named = named(self, Told::Enter { block: *block }, block_name(info, method));
                Meaning { recorded: *own, holds_array: method.is_static, ..named }
            }
            What::Exit { block } => {
                named(self, Told::Exit { block: *block }, block_name(info, method))
            }
            What::Call => named(self, Told::Call, method.qualified_name()),
            What::Return => named(self, Told::Return, method.qualified_name()),
            What::Begin => named(self, Told::Begin, method.qualified_name()),
            What::End => named(self, Told::End, method.qualified_name()),
            What::BeginInitialiser => named(self, Told::BeginInitialiser, method.qualified_name()),
            What::EndInitialiser => named(self, Told::EndInitialiser, method.qualified_name()),
            What::Wait | What::Notify => nothing,
        }
    }

    fn field_meaning(&mut self, meaning: Meaning, field: &FieldName) -> Meaning {
        let rewriter = Arc::clone(&self.rewriter);
        let classes = rewriter.classes.read().unwrap_or_else(PoisonError::into_inner);
        let found = classes.declaring(&field.class, &field.name);
        let class = found.map_or(field.class.as_str(), |(class, _)| class);
        let facts = found.map(|(_, facts)| facts);
        if facts.is_some_and(|facts| facts.is_final) {
            return Meaning { op: Told::Nothing, ..meaning };
        }
        let is_volatile = facts.is_some_and(|facts| facts.is_volatile);
        Meaning {
            kind: value_kind(&field.descriptor),
            access: if is_volatile { Access::Volatile } else { Access::Plain },
            number: self.field_number(class, &field.name),
            recorded: facts.is_some_and(|facts| facts.recorded),
            holds_array: field.descriptor.starts_with('['),
            ..meaning
        }
    }

    fn field_number(&mut self, class: &str, name: &str) -> u32 {
        let key = format!("{class}.{name}");
        if let Some(&number) = self.fields.get(&key) {
            return number;
        }
        let number = self.field_names.len() as u32;
        let short = self.short_name(class);
        self.field_names.push((short, name.to_owned()));
        self.fields.insert(key, number);
        number
    }

    /// The name of a class without its package; with it, if another class has that name already.
    fn short_name(&mut self, class: &str) -> String {
        let short = class.rsplit('/').next().unwrap_or(class);
        let owner = self.short_names.entry(short.to_owned()).or_insert_with(|| class.to_owned());
        if owner == class { short.to_owned() } else { class.replace('/', ".") }
    }
}

/// What to call the block that a monitor guards: its method, and the line of a statement.
fn block_name(info: &SiteInfo, method: &MethodInfo) -> String {
    match info.what {
        What::Enter { own: false, .. } | What::Exit { .. } if info.pc != 0 => {
            format!("{} (synchronized)", method.qualified_name())
        }
        _ => method.qualified_name(),
    }
}
