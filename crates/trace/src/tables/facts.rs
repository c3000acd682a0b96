//! What a front end knows of variables and labels beside their names.

use crate::event::{Value, ValueKind};
use crate::ids::{MemberId, ObjectId, SymbolId};

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum VarRole {
    /// Not known, as in imported traces.
    #[default]
    Unknown = 0,
    /// A field of an object.
    Field = 1,
    /// A static field of a class.
    Static = 2,
    /// An element of an array.
    Element = 3,
    /// The content of a collection. Its values are versions: they only show that something changed.
    Contents = 4,
    /// What a map holds for one key. Its values are versions, too.
    KeyedContents = 5,
    /// The state of a latch, a semaphore or a future: it orders threads and holds no data.
    SyncState = 6,
    /// Of a thread: its permit to pass a park, or its interrupt flag.
    ThreadState = 7,
    /// A range of addresses; see [`AddressRange`].
    Memory = 8,
}

impl VarRole {
    /// By number, as files have it.
    pub const ALL: [Self; 9] = [
        Self::Unknown,
        Self::Field,
        Self::Static,
        Self::Element,
        Self::Contents,
        Self::KeyedContents,
        Self::SyncState,
        Self::ThreadState,
        Self::Memory,
    ];

    /// Its name in text formats.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 9] = [
            "unknown", "field", "static", "element", "contents", "keyed", "sync", "thread",
            "memory",
        ];
        NAMES[self as usize]
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether it is the content of a collection.
    pub const fn is_collection(self) -> bool {
        matches!(self, Self::Contents | Self::KeyedContents)
    }
}

/// What is known of a variable beside its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VarFacts {
    /// How its values are shown.
    pub values: ValueKind,
    pub role: VarRole,
    has_initial: bool,
    /// The object that it is a part of, or [`ObjectId::NONE`]. Of an element: the owner of the variable in
    /// which the array was first found.
    pub owner: ObjectId,
    /// The declared variable: the same for every object. See [`Tables::member_name`](super::Tables::member_name).
    pub member: MemberId,
    initial: Value,
}

// Traces have millions of variables.
const _: () = assert!(size_of::<VarFacts>() == 24);

impl Default for VarFacts {
    fn default() -> Self {
        Self {
            values: ValueKind::default(),
            role: VarRole::default(),
            has_initial: false,
            owner: ObjectId::NONE,
            member: MemberId::NONE,
            initial: Value(0),
        }
    }
}

impl VarFacts {
    /// A variable of which only its values are known.
    pub fn new(values: ValueKind, initial: Option<Value>) -> Self {
        Self::default().with_values(values).with_initial(initial)
    }

    /// The value before the first write of the trace.
    pub fn initial(&self) -> Option<Value> {
        self.has_initial.then_some(self.initial)
    }

    #[must_use]
    pub fn with_initial(self, initial: Option<Value>) -> Self {
        Self { has_initial: initial.is_some(), initial: initial.unwrap_or_default(), ..self }
    }

    /// What the variable is, and of what it is a part.
    #[must_use]
    pub fn with_place(self, role: VarRole, owner: ObjectId, member: MemberId) -> Self {
        Self { role, owner, member, ..self }
    }

    #[must_use]
    pub fn with_values(self, values: ValueKind) -> Self {
        Self { values, ..self }
    }
}

/// Where a variable lies in memory, for front ends that know it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AddressRange {
    pub address: u64,
    /// In bytes; 0 if the variable has no address.
    pub size: u32,
}

/// What is known of a label beside its text: the method that it is, or that its block is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LabelFacts {
    /// Both are the empty symbol if they are not known.
    pub class: SymbolId,
    pub method: SymbolId,
    /// A method of a library.
    pub is_library: bool,
    /// Where a thread or a task begins: the whole of it is never meant to be atomic.
    pub is_entry: bool,
}
