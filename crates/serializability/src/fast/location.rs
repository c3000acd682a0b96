//! What is remembered of a variable or a lock: sixteen bytes.

use untorn_trace::{LockId, Op, ThreadId, VarId};

/// The row of a thread. Row 0 belongs to no thread and has no ancestors: it represents "no thread"
/// without a branch.
#[inline]
pub(super) fn row_of(thread: ThreadId) -> usize {
    thread.index() + 1
}

/// A transaction: the `number`-th of the thread in `row`, counted from 1. Packed, because every
/// variable holds two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Txn(pub(super) u64);

impl Txn {
    /// No transaction, or one that no open transaction reaches.
    pub(super) const NONE: Self = Self(0);
    pub(super) const NUMBER_BITS: u32 = 40;
    pub(super) const MAX_ROWS: usize = 1 << 23;

    #[inline]
    pub(super) fn new(row: usize, number: u64) -> Self {
        debug_assert!(row < Self::MAX_ROWS && number < 1 << Self::NUMBER_BITS);
        Self((row as u64) << Self::NUMBER_BITS | number)
    }

    /// After all transactions of a row.
    pub(super) fn behind(row: usize) -> Self {
        Self((row as u64 + 1) << Self::NUMBER_BITS)
    }

    #[inline]
    pub(super) fn row(self) -> usize {
        (self.0 >> Self::NUMBER_BITS) as usize
    }

    #[inline]
    pub(super) fn number(self) -> u64 {
        self.0 & ((1 << Self::NUMBER_BITS) - 1)
    }
}

/// The transactions that read a variable since its last write: none, one, or a list in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Readers(pub(super) u64);

impl Readers {
    pub(super) const NONE: Self = Self(0);
    pub(super) const LIST: u64 = 1 << 63;

    #[inline]
    pub(super) fn one(txn: Txn) -> Self {
        Self(txn.0)
    }

    pub(super) fn list(index: usize) -> Self {
        Self(Self::LIST | index as u64)
    }

    #[inline]
    pub(super) fn as_list(self) -> Option<usize> {
        (self.0 & Self::LIST != 0).then_some((self.0 & !Self::LIST) as usize)
    }
}

/// What is remembered of a variable, or of a lock (which acquire and release write).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location {
    pub(super) writer: Txn,
    pub(super) readers: Readers,
}

/// Variables and locks are numbered apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Table {
    Vars,
    Locks,
}

/// An operation that reads or writes a location.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) table: Table,
    pub(super) index: usize,
    pub(super) writes: bool,
}

impl Touch {
    /// By [`Op::code`]. A table, because a jump by the kind of operation is what processors predict
    /// worst in a trace.
    pub(super) const KINDS: [Option<(Table, bool)>; Op::CODES] = {
        let mut kinds = [None; Op::CODES];
        let (var, lock) = (VarId(0), LockId(0));
        kinds[Op::read(var).code()] = Some((Table::Vars, false));
        kinds[Op::write(var).code()] = Some((Table::Vars, true));
        kinds[Op::acquire(lock).code()] = Some((Table::Locks, true));
        kinds[Op::release(lock).code()] = Some((Table::Locks, true));
        kinds[Op::Wait { lock }.code()] = Some((Table::Locks, true));
        kinds[Op::Resume { lock }.code()] = Some((Table::Locks, true));
        kinds
    };

    #[inline]
    pub(super) fn of(op: &Op) -> Option<Self> {
        let (table, writes) = Self::KINDS[op.code()]?;
        Some(Self { table, index: op.target() as usize, writes: writes & !op.is_shared() })
    }
}
