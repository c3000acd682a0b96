//! The one event type that every checker sees and every format ends in.

use crate::ids::{LabelId, LockId, ObjectId, SiteId, ThreadId, VarId};

/// One step of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub thread: ThreadId,
    pub site: SiteId,
    pub op: Op,
}

// Checkers stream millions of events per second through the cache: a larger event is a slower tool.
const _: () = assert!(size_of::<Event>() == 24);

/// The exact bits of a value. How to show them is a property of the variable ([`ValueKind`]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Value(pub u64);

impl Value {
    /// A signed integer, sign-extended to 64 bits.
    #[inline]
    pub const fn int(value: i64) -> Self {
        Self(value.cast_unsigned())
    }
}

/// How the bits of a variable's values are to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum ValueKind {
    /// A signed integer, sign-extended.
    #[default]
    Int = 0,
    /// `0` is false, everything else true.
    Bool = 1,
    /// A UTF-16 code unit or Unicode scalar.
    Char = 2,
    /// IEEE single precision in the low 32 bits.
    Float = 3,
    /// IEEE double precision.
    Double = 4,
    /// The identity of an object; `0` is null.
    Ref = 5,
}

/// How an access takes part in the memory model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Access {
    #[default]
    Plain = 0,
    /// A volatile field, a `std::atomic`, a VarHandle access.
    Volatile = 1,
    /// One half of an indivisible read-modify-write: its read is directly followed, in the whole
    /// trace, by its write.
    Update = 2,
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Hold {
    #[default]
    Exclusive = 0,
    /// The reading side of a read/write lock.
    Shared = 1,
}

/// Why a block should be atomic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum BlockKind {
    /// Not known, as in imported traces.
    #[default]
    Unknown = 0,
    /// A synchronized method or statement.
    Synchronized = 1,
    /// A critical section of an explicit lock.
    LockSection = 2,
    /// The user listed the method as atomic.
    Named = 3,
    /// A class initialiser, which the language runs as one step.
    Initialiser = 4,
    /// An analysis inferred it.
    Inferred = 5,
    /// Two calls that look like one atomic step (a composition).
    Composed = 6,
}

impl BlockKind {
    /// By number, as files have it.
    pub const ALL: [Self; 7] = [
        Self::Unknown,
        Self::Synchronized,
        Self::LockSection,
        Self::Named,
        Self::Initialiser,
        Self::Inferred,
        Self::Composed,
    ];

    /// Its name in text formats.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 7] =
            ["unknown", "synchronized", "lock", "named", "initialiser", "inferred", "composed"];
        NAMES[self as usize]
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum CallOutcome {
    #[default]
    Returned = 0,
    /// With an exception, or by unwinding.
    Threw = 1,
}

/// What a thread did.
///
/// `known` beside a `value` says whether the front end recorded it; use [`Event::value`] to get
/// both at once. (An `Option<Value>` would cost eight bytes in every event.)
///
/// Small fields stand first and the representation is fixed, so that the 32-bit target has the same
/// place in every variant: [`Op::with_target`] then compiles to one store, without a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Op {
    Read {
        access: Access,
        known: bool,
        var: VarId,
        value: Value,
    },
    Write {
        access: Access,
        known: bool,
        var: VarId,
        value: Value,
    },
    /// Acquires a lock, perhaps reentrantly.
    Acquire {
        hold: Hold,
        lock: LockId,
    },
    /// Gives back one level of a lock.
    Release {
        hold: Hold,
        lock: LockId,
    },
    /// Is about to acquire; the acquire follows when the lock is free.
    Request {
        lock: LockId,
    },
    /// Starts to wait on a monitor: releases it completely, whatever its depth.
    Wait {
        lock: LockId,
    },
    /// Returns from a wait: holds the monitor again, at its former depth.
    Resume {
        lock: LockId,
    },
    Notify {
        all: bool,
        lock: LockId,
    },
    Fork {
        child: ThreadId,
    },
    Join {
        child: ThreadId,
    },
    /// Enters a block that should be atomic. Blocks nest.
    Begin {
        kind: BlockKind,
        label: LabelId,
        /// The lock that guards the block, [`LockId::NONE`] if there is none or it is not known. The
        /// acquire is an event of its own.
        lock: LockId,
    },
    /// Leaves the innermost open block.
    End {
        label: LabelId,
    },
    /// The thread took this many branches since its previous event.
    Branch {
        count: u32,
    },
    /// Calls a library method on a receiver; the value is the receiver's identity.
    Call {
        known: bool,
        method: LabelId,
        value: Value,
    },
    /// Comes back from it; the value is the result.
    Return {
        known: bool,
        outcome: CallOutcome,
        method: LabelId,
        value: Value,
    },
    /// A value that came from outside the program, such as a random number or a line read.
    Input {
        known: bool,
        source: LabelId,
        value: Value,
    },
    /// An argument of the call before it.
    Argument {
        known: bool,
        /// Counted from 1.
        number: u8,
        method: LabelId,
        value: Value,
    },
    /// Memory is allocated, for front ends that know it; the value is its size in bytes.
    Allocate {
        known: bool,
        object: ObjectId,
        value: Value,
    },
    /// Memory is given back.
    Deallocate {
        object: ObjectId,
    },
}

impl Op {
    /// Takes the place of an event that does not count, so that all others keep their positions. No
    /// checker sees anything in it.
    pub const HIDDEN: Self = Self::Branch { count: 0 };

    /// A block of which only the name is known.
    #[inline]
    pub const fn begin(label: LabelId) -> Self {
        Self::Begin { kind: BlockKind::Unknown, label, lock: LockId::NONE }
    }

    #[inline]
    pub const fn read(var: VarId) -> Self {
        Self::Read { var, access: Access::Plain, known: false, value: Value(0) }
    }

    #[inline]
    pub const fn write(var: VarId) -> Self {
        Self::Write { var, access: Access::Plain, known: false, value: Value(0) }
    }

    #[inline]
    pub const fn acquire(lock: LockId) -> Self {
        Self::Acquire { lock, hold: Hold::Exclusive }
    }

    #[inline]
    pub const fn release(lock: LockId) -> Self {
        Self::Release { lock, hold: Hold::Exclusive }
    }

    /// The same operation with a recorded value; operations that carry none are returned as they are.
    #[must_use]
    pub const fn with_value(mut self, new: Value) -> Self {
        match &mut self {
            Self::Read { known, value, .. }
            | Self::Write { known, value, .. }
            | Self::Call { known, value, .. }
            | Self::Return { known, value, .. }
            | Self::Input { known, value, .. }
            | Self::Argument { known, value, .. }
            | Self::Allocate { known, value, .. } => {
                *known = true;
                *value = new;
            }
            _ => {}
        }
        self
    }

    /// A number for the kind of operation, for tables indexed by it; see [`Op::CODES`]. Compiles to
    /// a single load.
    #[inline]
    pub const fn code(&self) -> usize {
        match self {
            Self::Read { .. } => 0,
            Self::Write { .. } => 1,
            Self::Acquire { .. } => 2,
            Self::Release { .. } => 3,
            Self::Request { .. } => 4,
            Self::Wait { .. } => 5,
            Self::Resume { .. } => 6,
            Self::Notify { .. } => 7,
            Self::Fork { .. } => 8,
            Self::Join { .. } => 9,
            Self::Begin { .. } => 10,
            Self::End { .. } => 11,
            Self::Branch { .. } => 12,
            Self::Call { .. } => 13,
            Self::Return { .. } => 14,
            Self::Input { .. } => 15,
            Self::Argument { .. } => 16,
            Self::Allocate { .. } => 17,
            Self::Deallocate { .. } => 18,
        }
    }

    /// How many kinds of operations there are; every [`Op::code`] is below.
    pub const CODES: usize = 19;

    /// Whether a lock is taken or given back on its shared side.
    #[inline]
    pub const fn is_shared(&self) -> bool {
        let (Self::Acquire { hold, .. } | Self::Release { hold, .. }) = self else { return false };
        matches!(hold, Hold::Shared)
    }

    /// The 32-bit id or number that the operation is about: a variable, lock, thread, label, count.
    #[inline]
    pub const fn target(&self) -> u32 {
        match *self {
            Self::Read { var, .. } | Self::Write { var, .. } => var.0,
            Self::Acquire { lock, .. }
            | Self::Release { lock, .. }
            | Self::Request { lock }
            | Self::Wait { lock }
            | Self::Resume { lock }
            | Self::Notify { lock, .. } => lock.0,
            Self::Fork { child } | Self::Join { child } => child.0,
            Self::Begin { label, .. } | Self::End { label } => label.0,
            Self::Branch { count } => count,
            Self::Call { method, .. }
            | Self::Return { method, .. }
            | Self::Argument { method, .. } => method.0,
            Self::Input { source, .. } => source.0,
            Self::Allocate { object, .. } | Self::Deallocate { object } => object.0,
        }
    }

    /// The same operation about another target.
    #[inline]
    #[must_use]
    pub const fn with_target(mut self, target: u32) -> Self {
        match &mut self {
            Self::Read { var, .. } | Self::Write { var, .. } => *var = VarId(target),
            Self::Acquire { lock, .. }
            | Self::Release { lock, .. }
            | Self::Request { lock }
            | Self::Wait { lock }
            | Self::Resume { lock }
            | Self::Notify { lock, .. } => *lock = LockId(target),
            Self::Fork { child } | Self::Join { child } => *child = ThreadId(target),
            Self::Begin { label, .. } | Self::End { label } => *label = LabelId(target),
            Self::Branch { count } => *count = target,
            Self::Call { method, .. }
            | Self::Return { method, .. }
            | Self::Argument { method, .. } => *method = LabelId(target),
            Self::Input { source, .. } => *source = LabelId(target),
            Self::Allocate { object, .. } | Self::Deallocate { object } => {
                *object = ObjectId(target);
            }
        }
        self
    }

    /// The recorded value, where there is one.
    #[inline]
    pub const fn value(&self) -> Option<Value> {
        match *self {
            Self::Read { known: true, value, .. }
            | Self::Write { known: true, value, .. }
            | Self::Call { known: true, value, .. }
            | Self::Return { known: true, value, .. }
            | Self::Input { known: true, value, .. }
            | Self::Argument { known: true, value, .. }
            | Self::Allocate { known: true, value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether the operation can conflict with another thread's, or delimits a block. All others
    /// ([`Op::Branch`], calls, inputs, allocations, requests, notifications) are invisible to conflict checkers:
    /// they neither open a transaction nor make an edge. (A notification is made while holding its
    /// monitor, so the wait that it ends is ordered after it by the monitor already.)
    #[inline]
    pub const fn is_conflicting(&self) -> bool {
        !matches!(
            self,
            Self::Branch { .. }
                | Self::Call { .. }
                | Self::Return { .. }
                | Self::Input { .. }
                | Self::Argument { .. }
                | Self::Allocate { .. }
                | Self::Deallocate { .. }
                | Self::Request { .. }
                | Self::Notify { .. }
        )
    }
}

impl Event {
    #[inline]
    pub const fn new(thread: ThreadId, op: Op, site: SiteId) -> Self {
        Self { thread, site, op }
    }

    /// The recorded value, where there is one.
    #[inline]
    pub const fn value(&self) -> Option<Value> {
        self.op.value()
    }
}
