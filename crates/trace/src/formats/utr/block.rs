//! The `EVTS` section: a block of events in two bit streams.
//!
//! Programs repeat themselves: the same few places do the same few things. A block therefore lists
//! its *shapes* once (operation, flags, site, and the label where the operation has one) and its
//! threads once. An event is then an index of thread and shape, of fixed width, in the first stream,
//! and its target, as wide as its class of targets needs in this block, in the second. Values follow
//! in the order of the events that have one.

use super::Fault;
use super::bytes::{Cursor, PADDING, bits, mask_of, unzigzag, width_of};
use crate::event::{Access, BlockKind, CallOutcome, Event, Hold, Op, Value};
use crate::ids::{LabelId, LockId, ObjectId, SiteId, ThreadId, VarId};
use crate::tables::Tables;

/// Events in a block. More would save a little space; fewer lose less when a file is cut.
pub(super) const BLOCK: usize = 32 * 1024;

/// What the target of an operation counts; each class has its own width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Var = 0,
    Lock = 1,
    Thread = 2,
    Count = 3,
    /// A label: part of the shape, takes no bits in the stream.
    Label = 4,
}

pub(super) const CLASSES: usize = 5;

#[inline]
pub(super) fn class_of(op: &Op) -> Class {
    match op {
        Op::Read { .. } | Op::Write { .. } => Class::Var,
        Op::Acquire { .. }
        | Op::Release { .. }
        | Op::Request { .. }
        | Op::Wait { .. }
        | Op::Resume { .. }
        | Op::Notify { .. } => Class::Lock,
        Op::Fork { .. } | Op::Join { .. } => Class::Thread,
        Op::Branch { .. } | Op::Allocate { .. } | Op::Deallocate { .. } => Class::Count,
        Op::Begin { .. } | Op::End { .. } => Class::Label,
        Op::Call { .. } | Op::Return { .. } | Op::Input { .. } | Op::Argument { .. } => {
            Class::Label
        }
    }
}

/// The number that an event has in the stream of values: its value, or the lock of a block.
#[inline]
pub(super) fn number_of(op: &Op) -> Option<u64> {
    match *op {
        Op::Begin { lock, .. } => (lock != LockId::NONE).then_some(u64::from(lock.0)),
        _ => op.value().map(|value| value.0),
    }
}

/// The bytes that name an operation in a file: its code and its flags.
pub(super) fn code_of(op: &Op) -> (u8, u8) {
    const KNOWN: u8 = 1;
    let known = if number_of(op).is_some() { KNOWN } else { 0 };
    match *op {
        Op::Read { access, .. } => (0, known | (access as u8) << 1),
        Op::Write { access, .. } => (1, known | (access as u8) << 1),
        Op::Acquire { hold, .. } => (2, hold as u8),
        Op::Release { hold, .. } => (3, hold as u8),
        Op::Request { .. } => (4, 0),
        Op::Wait { .. } => (5, 0),
        Op::Resume { .. } => (6, 0),
        Op::Notify { all, .. } => (7, u8::from(all)),
        Op::Fork { .. } => (8, 0),
        Op::Join { .. } => (9, 0),
        Op::Begin { kind, .. } => (10, known | (kind as u8) << 1),
        Op::End { .. } => (11, 0),
        Op::Branch { .. } => (12, 0),
        Op::Call { .. } => (13, known),
        Op::Return { outcome, .. } => (14, known | (outcome as u8) << 1),
        Op::Input { .. } => (15, known),
        Op::Argument { number, .. } => (16, known | number.min(MAX_ARGUMENT) << 1),
        Op::Allocate { .. } => (17, known),
        Op::Deallocate { .. } => (18, 0),
    }
}

/// The last argument that has its own number: there are seven bits for it.
const MAX_ARGUMENT: u8 = 127;

fn access_of(flags: u8) -> Option<Access> {
    [Access::Plain, Access::Volatile, Access::Update].get(usize::from(flags >> 1)).copied()
}

fn begin_of(flags: u8) -> Option<Op> {
    let kind = *BlockKind::ALL.get(usize::from(flags >> 1))?;
    let lock = if flags & 1 == 1 { LockId(0) } else { LockId::NONE };
    Some(Op::Begin { kind, label: LabelId(0), lock })
}

/// The inverse of [`code_of`], with target and value still to come.
fn op_of(code: u8, flags: u8) -> Option<Op> {
    let (known, value) = (flags & 1 == 1, Value(0));
    let outcome = if flags >> 1 == 1 { CallOutcome::Threw } else { CallOutcome::Returned };
    let object = ObjectId(0);
    let hold = if flags & 1 == 1 { Hold::Shared } else { Hold::Exclusive };
    let (var, lock, child, label) = (VarId(0), LockId(0), ThreadId(0), LabelId(0));
    let op = match code {
        0 => Op::Read { var, access: access_of(flags)?, known, value },
        1 => Op::Write { var, access: access_of(flags)?, known, value },
        2 => Op::Acquire { lock, hold },
        3 => Op::Release { lock, hold },
        4 => Op::Request { lock },
        5 => Op::Wait { lock },
        6 => Op::Resume { lock },
        7 => Op::Notify { lock, all: flags & 1 == 1 },
        8 => Op::Fork { child },
        9 => Op::Join { child },
        10 => begin_of(flags)?,
        11 => Op::End { label },
        12 => Op::Branch { count: 0 },
        13 => Op::Call { method: label, known, value },
        14 => Op::Return { method: label, outcome, known, value },
        15 => Op::Input { source: label, known, value },
        16 => Op::Argument { method: label, number: flags >> 1, known, value },
        17 => Op::Allocate { object, known, value },
        18 => Op::Deallocate { object },
        _ => return None,
    };
    // Flags that the operation does not have must be zero, or the file is corrupt.
    (code_flags(&op) & flags == flags).then_some(op)
}

/// All flags that an operation of this kind may have.
fn code_flags(op: &Op) -> u8 {
    match op {
        Op::Read { .. } | Op::Write { .. } => 0b111,
        Op::Begin { .. } => 0b1111,
        Op::Return { .. } => 0b11,
        Op::Argument { .. } => u8::MAX,
        Op::Acquire { .. } | Op::Release { .. } | Op::Notify { .. } => 1,
        Op::Call { .. } | Op::Input { .. } | Op::Allocate { .. } => 1,
        _ => 0,
    }
}

/// An id that may be absent, as a number.
pub(super) fn optional(id: u32) -> u64 {
    u64::from(id.wrapping_add(1))
}

fn read_optional(cursor: &mut Cursor<'_>, defined: usize, what: &str) -> Result<u32, Fault> {
    let number = cursor.varint()?;
    if number > defined as u64 {
        return Err(Fault::new(format!("it uses {what} {}, which is not defined", number - 1)));
    }
    Ok((number as u32).wrapping_sub(1))
}

/// A shape, ready to become an event: only thread, target and value are missing.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Has the label, where the target is one, and target 0 otherwise.
    op: Op,
    site: SiteId,
    /// Width and mask of the target in its stream; 0 for a label.
    width: u32,
    mask: u32,
    /// The first target that the tables do not define.
    limit: u64,
}

impl Shape {
    /// Fills the dictionary up to a power of two; no target is defined for it.
    const INVALID: Self = Self { op: Op::HIDDEN, site: SiteId::NONE, width: 0, mask: 0, limit: 0 };
}

/// Unpacks a block, some events at a time. Holds places in the payload, not the payload itself,
/// which may be mapped.
#[derive(Debug, Default)]
pub(super) struct BlockReader {
    /// Both dictionaries are filled up to a power of two, so that no index is out of bounds: with
    /// one of the threads, whichever, and with a shape that is a fault.
    threads: Vec<ThreadId>,
    shapes: Vec<Shape>,
    thread_bits: u32,
    shape_bits: u32,
    has_values: bool,
    /// The first lock that the tables do not define.
    lock_limit: u64,
    heads: std::ops::Range<usize>,
    targets: std::ops::Range<usize>,
    /// Events, bits of targets and bytes of the payload that have been consumed.
    done: usize,
    target_at: usize,
    values_at: usize,
    count: usize,
}

impl BlockReader {
    /// Opens a block that must start at event `first`.
    pub fn open(payload: &[u8], first: u64, tables: &Tables) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(payload, 0);
        let found = cursor.u64()?;
        if found != first {
            return Err(Fault::new(format!("it starts at event {found} instead of {first}")));
        }
        let count = cursor.varint()? as usize;
        if count > BLOCK {
            return Err(Fault::new(format!("it claims {count} events, more than {BLOCK}")));
        }
        let lock_limit = tables.locks.len() as u64;
        let mut block = Self { count, lock_limit, ..Self::default() };
        block.read_threads(&mut cursor, tables)?;
        block.read_shapes(&mut cursor, tables)?;
        if count > 0 && block.threads.is_empty() {
            return Err(Fault::new("it has events of no thread"));
        }
        block.heads = take_stream(&mut cursor)?;
        block.targets = take_stream(&mut cursor)?;
        block.values_at = cursor.at;
        let head_bits = (block.thread_bits + block.shape_bits) as usize;
        if (count * head_bits).div_ceil(8) + PADDING > block.heads.len() {
            return Err(Fault::new("its streams end before its events do"));
        }
        Ok(block)
    }

    fn read_threads(&mut self, cursor: &mut Cursor<'_>, tables: &Tables) -> Result<(), Fault> {
        for _ in 0..cursor.count()? {
            let thread = ThreadId(cursor.varint32()?);
            if thread.index() >= tables.threads.len() {
                return Err(Fault::new(format!("it uses thread {}, not defined", thread.0)));
            }
            self.threads.push(thread);
        }
        self.thread_bits = width_of(self.threads.len());
        if let Some(&any) = self.threads.first() {
            self.threads.resize(1 << self.thread_bits, any);
        }
        Ok(())
    }

    fn read_shapes(&mut self, cursor: &mut Cursor<'_>, tables: &Tables) -> Result<(), Fault> {
        for _ in 0..cursor.count()? {
            self.shapes.push(read_shape(cursor, tables)?);
        }
        let widths = cursor.take(4)?;
        if widths.iter().any(|&width| width > 32) {
            return Err(Fault::new("a target of more than 32 bits"));
        }
        for shape in &mut self.shapes {
            if let Some(&width) = widths.get(class_of(&shape.op) as usize) {
                shape.width = u32::from(width);
                shape.mask = mask_of(shape.width);
            }
        }
        self.has_values = self.shapes.iter().any(|shape| number_of(&shape.op).is_some());
        self.shape_bits = width_of(self.shapes.len());
        self.shapes.resize(1 << self.shape_bits, Shape::INVALID);
        Ok(())
    }

    pub fn is_done(&self) -> bool {
        self.done == self.count
    }

    /// Appends the next events to `out`, at most `limit`.
    pub fn read(
        &mut self,
        payload: &[u8],
        limit: usize,
        out: &mut Vec<Event>,
    ) -> Result<(), Fault> {
        let start = out.len();
        self.read_without_values(payload, limit, out)?;
        if self.has_values {
            let mut values = Cursor::new(payload, self.values_at);
            for event in &mut out[start..] {
                if event.value().is_some() {
                    event.op = event.op.with_value(Value(unzigzag(values.number()?)));
                } else if let Op::Begin { lock, .. } = &mut event.op
                    && *lock != LockId::NONE
                {
                    *lock = read_lock(&mut values, self.lock_limit)?;
                }
            }
            self.values_at = values.at;
        }
        Ok(())
    }

    /// The inner loop of reading: no branch depends on the data, faults are collected.
    fn read_without_values(
        &mut self,
        payload: &[u8],
        limit: usize,
        out: &mut Vec<Event>,
    ) -> Result<(), Fault> {
        let thread_bits = self.thread_bits;
        let (thread_mask, shape_mask) = (mask_of(thread_bits), mask_of(self.shape_bits));
        let head_bits = (thread_bits + self.shape_bits) as usize;
        let (threads, shapes) = (&self.threads[..], &self.shapes[..]);
        let (heads, targets) = (&payload[self.heads.clone()], &payload[self.targets.clone()]);
        let end = self.count.min(self.done + limit);
        let mut target_at = self.target_at;
        let mut faulty = false;
        out.extend((self.done..end).map(|i| {
            let head = bits(heads, i * head_bits);
            let (thread, shape) = (head & thread_mask, (head >> thread_bits) & shape_mask);
            let shape = &shapes[shape as usize];
            let target = bits(targets, target_at) & shape.mask;
            target_at += shape.width as usize;
            faulty |= u64::from(target) >= shape.limit;
            let op = shape.op.with_target(shape.op.target() | target);
            Event { thread: threads[thread as usize], site: shape.site, op }
        }));
        if faulty {
            return Err(Fault::new("an event uses something that is not defined"));
        }
        if target_at.div_ceil(8) + PADDING > targets.len() {
            return Err(Fault::new("its streams end before its events do"));
        }
        self.done = end;
        self.target_at = target_at;
        Ok(())
    }
}

fn read_shape(cursor: &mut Cursor<'_>, tables: &Tables) -> Result<Shape, Fault> {
    let (code, flags) = (cursor.byte()?, cursor.byte()?);
    let op = op_of(code, flags)
        .ok_or_else(|| Fault::new(format!("an operation of unknown code {code}, flags {flags}")))?;
    let site = SiteId(read_optional(cursor, tables.sites.len(), "site")?);
    let class = class_of(&op);
    let op = match class {
        Class::Label => op.with_target(read_optional(cursor, tables.labels.len(), "label")?),
        _ => op,
    };
    let limit = match class {
        Class::Var => tables.vars.len() as u64,
        Class::Lock => tables.locks.len() as u64,
        Class::Thread => tables.threads.len() as u64,
        Class::Count | Class::Label => u64::MAX,
    };
    Ok(Shape { op, site, width: 0, mask: 0, limit })
}

fn read_lock(values: &mut Cursor<'_>, limit: u64) -> Result<LockId, Fault> {
    let number = unzigzag(values.number()?);
    if number >= limit {
        return Err(Fault::new(format!("a block of lock {number}, which is not defined")));
    }
    Ok(LockId(number as u32))
}

fn take_stream(cursor: &mut Cursor<'_>) -> Result<std::ops::Range<usize>, Fault> {
    let len = cursor.count()?;
    if len < PADDING {
        return Err(Fault::new("a stream without its padding"));
    }
    let start = cursor.at;
    cursor.take(len)?;
    Ok(start..start + len)
}
