//! The table of the JDK's thread-safe classes: which are atomic by themselves, and what their
//! methods do.
//!
//! A table, because bytecode does not show it: `ConcurrentHashMap.get` writes nothing and
//! `computeIfAbsent` has a dozen writes. Methods are known by name within a family of
//! classes; what the table does not name has no effect.

use untorn_codemodel::Program;
use untorn_codemodel::body::{Action, Body, ValueDef};
use untorn_codemodel::ids::{ClassId, FieldId, MethodId, ValueId};
use untorn_codemodel::types::Types;

/// What a call does to the object that it is asked of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    Read,
    Write,
    /// Looks and writes in one step, and may do nothing: `putIfAbsent`, `computeIfAbsent`.
    Conditional,
    /// Compares with what was read before: `compareAndSet`, `replace(k, old, new)`.
    Compare,
}

impl Op {
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }

    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    Map,
    Collection,
    Number,
    Text,
}

/// A thread-safe class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub class: &'static str,
    pub family: Family,
    /// From before `java.util.concurrent`: often thread-safe by accident.
    pub legacy: bool,
}

const fn entry(class: &'static str, family: Family) -> Entry {
    Entry { class, family, legacy: false }
}

const fn legacy(class: &'static str, family: Family) -> Entry {
    Entry { class, family, legacy: true }
}

use Family::{Collection, Map, Number, Text};

const TABLE: &[Entry] = &[
    entry("java/util/concurrent/ConcurrentMap", Map),
    entry("java/util/concurrent/ConcurrentHashMap", Map),
    entry("java/util/concurrent/ConcurrentSkipListMap", Map),
    entry("java/util/Collections$SynchronizedMap", Map),
    entry("java/util/concurrent/ConcurrentLinkedQueue", Collection),
    entry("java/util/concurrent/ConcurrentLinkedDeque", Collection),
    entry("java/util/concurrent/ConcurrentSkipListSet", Collection),
    entry("java/util/concurrent/ConcurrentHashMap$KeySetView", Collection),
    entry("java/util/concurrent/CopyOnWriteArrayList", Collection),
    entry("java/util/concurrent/CopyOnWriteArraySet", Collection),
    entry("java/util/concurrent/BlockingQueue", Collection),
    entry("java/util/concurrent/BlockingDeque", Collection),
    entry("java/util/concurrent/TransferQueue", Collection),
    entry("java/util/Collections$SynchronizedCollection", Collection),
    entry("java/util/concurrent/atomic/AtomicBoolean", Number),
    entry("java/util/concurrent/atomic/AtomicInteger", Number),
    entry("java/util/concurrent/atomic/AtomicLong", Number),
    entry("java/util/concurrent/atomic/AtomicReference", Number),
    entry("java/util/concurrent/atomic/AtomicIntegerArray", Number),
    entry("java/util/concurrent/atomic/AtomicLongArray", Number),
    entry("java/util/concurrent/atomic/AtomicReferenceArray", Number),
    entry("java/util/concurrent/atomic/AtomicMarkableReference", Number),
    entry("java/util/concurrent/atomic/AtomicStampedReference", Number),
    entry("java/util/concurrent/atomic/Striped64", Number),
    legacy("java/util/Vector", Collection),
    legacy("java/util/Hashtable", Map),
    legacy("java/util/Properties", Map),
    legacy("java/lang/StringBuffer", Text),
];

/// Which classes are in the table, themselves or by their parents.
#[derive(Debug)]
pub struct Boundary {
    /// By class.
    entries: Vec<Option<Entry>>,
}

impl Boundary {
    pub fn new(program: &Program) -> Self {
        let known = |class: ClassId| {
            let name = program.class_name(class);
            TABLE.iter().find(|entry| entry.class == name).copied()
        };
        let direct: Vec<Option<Entry>> =
            (0..program.classes.len()).map(|at| known(ClassId::new(at))).collect();
        let entries = (0..program.classes.len())
            .map(|at| {
                let mut ancestors = program.ancestors(ClassId::new(at)).into_iter();
                ancestors.find_map(|ancestor| direct[ancestor.at()])
            })
            .collect();
        Self { entries }
    }

    pub fn entry(&self, class: ClassId) -> Option<Entry> {
        self.entries.get(class.at()).copied().flatten()
    }

    /// The row of the table for what a field may hold: its type, or what is stored into it, unless
    /// something that is not thread-safe is stored, too.
    pub fn of_field(&self, program: &Program, types: &Types, field: FieldId) -> Option<Entry> {
        let declared = types.result(program.field(field).descriptor);
        if let Some(entry) = declared.and_then(|class| self.entry(class)) {
            return Some(entry);
        }
        let mut entries = types.stored_classes(field)?.iter().map(|&class| self.entry(class));
        let first = entries.next()??;
        entries.all(|entry| entry.is_some()).then_some(first)
    }

    /// The same for a value.
    pub fn of_value(
        &self,
        program: &Program,
        types: &Types,
        (method, body): (MethodId, &Body),
        value: ValueId,
    ) -> Option<Entry> {
        if let ValueDef::Instr(at) = body.value(value) {
            let instr = body.instr(*at);
            match instr.action {
                Action::Get(field) => return self.of_field(program, types, field),
                Action::Cast(class) => {
                    let inner = *instr.operands.first()?;
                    let found = self.of_value(program, types, (method, body), inner);
                    return found.or_else(|| self.entry(class));
                }
                _ => {}
            }
        }
        self.entry(types.value(program, method, body, value)?.class)
    }

    /// Every class whose state is in the table.
    pub fn classes() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|entry| entry.class)
    }
}

/// What a method does, by its family, name and number of parameters.
pub fn op(family: Family, name: &str, parameters: usize) -> Option<Op> {
    match family {
        Map => map_op(name, parameters),
        Collection => collection_op(name),
        Number => number_op(name),
        Text => text_op(name),
    }
}

#[rustfmt::skip]
fn map_op(name: &str, parameters: usize) -> Option<Op> {
    Some(match (name, parameters) {
        ("get" | "containsKey" | "containsValue" | "contains" | "isEmpty" | "size"
        | "mappingCount" | "getOrDefault" | "keys" | "elements" | "keySet" | "values" | "entrySet"
        | "forEach" | "getProperty" | "firstKey" | "lastKey" | "firstEntry" | "lastEntry"
        | "floorKey" | "floorEntry" | "ceilingKey" | "ceilingEntry" | "lowerKey" | "lowerEntry"
        | "higherKey" | "higherEntry" | "propertyNames" | "stringPropertyNames" | "search" | "reduce"
        | "navigableKeySet" | "descendingMap" | "headMap" | "tailMap" | "subMap", _) => Op::Read,
        ("remove", 2) | ("replace", 3) => Op::Compare,
        ("putIfAbsent" | "computeIfAbsent" | "computeIfPresent" | "compute" | "merge", _)
        | ("replace", 2) => Op::Conditional,
        ("put" | "putAll" | "remove" | "clear" | "setProperty" | "replaceAll"
        | "pollFirstEntry" | "pollLastEntry" | "load", _) => Op::Write,
        _ => return None,
    })
}

#[rustfmt::skip]
fn collection_op(name: &str) -> Option<Op> {
    Some(match name {
        "get" | "contains" | "containsAll" | "isEmpty" | "size" | "indexOf" | "lastIndexOf"
        | "iterator" | "listIterator" | "descendingIterator" | "toArray" | "peek" | "peekFirst"
        | "peekLast" | "element" | "elementAt" | "firstElement" | "lastElement" | "first" | "last"
        | "getFirst" | "getLast" | "elements" | "remainingCapacity" | "forEach" | "stream"
        | "subList" | "floor" | "ceiling" | "higher" | "lower" | "copyInto" | "search" | "empty"
        | "capacity" => Op::Read,
        "addIfAbsent" | "addAllAbsent" => Op::Conditional,
        "add" | "addAll" | "addElement" | "addFirst" | "addLast" | "insertElementAt" | "offer"
        | "offerFirst" | "offerLast" | "put" | "putFirst" | "putLast" | "push" | "set"
        | "setElementAt" | "remove" | "removeAll" | "removeIf" | "removeElement"
        | "removeElementAt" | "removeAllElements" | "removeFirst" | "removeLast" | "retainAll"
        | "removeFirstOccurrence" | "removeLastOccurrence" | "poll" | "pollFirst" | "pollLast"
        | "pop" | "take" | "takeFirst" | "takeLast" | "drainTo" | "clear" | "replaceAll" | "sort"
        | "setSize" | "transfer" | "tryTransfer" => Op::Write,
        _ => return None,
    })
}

fn number_op(name: &str) -> Option<Op> {
    Some(match name {
        "get" | "getPlain" | "getOpaque" | "getAcquire" | "intValue" | "longValue" | "sum"
        | "getReference" | "isMarked" | "getStamp" => Op::Read,
        "set" | "lazySet" | "setPlain" | "setOpaque" | "setRelease" | "add" | "increment"
        | "decrement" | "reset" | "accumulate" | "sumThenReset" => Op::Write,
        name if name.starts_with("compareAnd") || name.starts_with("weakCompareAnd") => Op::Compare,
        "attemptMark" | "attemptStamp" => Op::Compare,
        name if name.starts_with("getAnd") || name.ends_with("AndGet") => Op::Write,
        _ => return None,
    })
}

fn text_op(name: &str) -> Option<Op> {
    Some(match name {
        "length" | "charAt" | "toString" | "substring" | "indexOf" | "lastIndexOf"
        | "codePointAt" | "getChars" => Op::Read,
        "append" | "insert" | "delete" | "deleteCharAt" | "replace" | "reverse" | "setCharAt"
        | "setLength" => Op::Write,
        _ => return None,
    })
}

/// What a method of an ordinary collection of the JDK does to its content, by name alone.
pub fn plain_op(name: &str, parameters: usize) -> Op {
    let known = map_op(name, parameters).or_else(|| collection_op(name)).or_else(|| text_op(name));
    known.unwrap_or(Op::Read)
}

/// The class of explicit locks.
pub const LOCK: &str = "java/util/concurrent/locks/Lock";
