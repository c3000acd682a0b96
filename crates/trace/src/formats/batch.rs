//! A batch being filled, and the part of the [`Source`](crate::Source) protocol that all readers
//! here share.

use crate::event::{Event, Op};
use crate::ids::{LabelId, LockId, ObjectId, SiteId, ThreadId, VarId};
use crate::source::{BATCH, TraceError};

/// A batch being filled. Its vector is as long as a full batch until this is dropped, so that an
/// event is stored without asking whether there is room.
pub(super) struct Batch<'a> {
    events: &'a mut Vec<Event>,
    /// Index of the first event that does not belong to the batch.
    filled: usize,
}

impl<'a> Batch<'a> {
    /// Calls `advance` until the batch is full or it returns `false`, which means the end. An error is
    /// kept in `failed` and given when the events before it have been handed out, and ever after.
    pub(super) fn fill(
        events: &'a mut Vec<Event>,
        failed: &mut Option<TraceError>,
        mut advance: impl FnMut(&mut Self) -> Result<bool, TraceError>,
    ) -> Result<(), TraceError> {
        const BLANK: Event = Event::new(ThreadId(0), Op::read(VarId(0)), SiteId::NONE);
        // A caller that passes the same vector again finds it long enough nearly always.
        events.resize(BATCH, BLANK);
        let mut batch = Self { events, filled: 0 };
        while failed.is_none() && !batch.is_full() {
            match advance(&mut batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => *failed = Some(error),
            }
        }
        match failed {
            Some(error) if batch.filled == 0 => Err(error.clone()),
            _ => Ok(()),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.filled == self.events.len()
    }

    /// The room for the next events; call [`Batch::filled`] afterwards.
    pub(super) fn room(&mut self) -> &mut [Event] {
        &mut self.events[self.filled..]
    }

    /// Takes the first `count` events of the room.
    pub(super) fn filled(&mut self, count: usize) {
        self.filled += count;
        debug_assert!(self.filled <= self.events.len());
    }

    /// Adds an event to a batch that is not full.
    pub(super) fn push(&mut self, event: Event) {
        self.events[self.filled] = event;
        self.filled += 1;
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.events.truncate(self.filled);
    }
}

/// Sets what an operation works on. Every operation has one number that says so, all of them at the
/// same place in memory: naming each makes this one store and no choice.
#[inline(always)]
pub(super) fn set_target(op: &mut Op, id: u32) {
    match op {
        Op::Read { var: VarId(target), .. }
        | Op::Write { var: VarId(target), .. }
        | Op::Acquire { lock: LockId(target), .. }
        | Op::Release { lock: LockId(target), .. }
        | Op::Request { lock: LockId(target) }
        | Op::Wait { lock: LockId(target) }
        | Op::Resume { lock: LockId(target) }
        | Op::Notify { lock: LockId(target), .. }
        | Op::Fork { child: ThreadId(target) }
        | Op::Join { child: ThreadId(target) }
        | Op::Begin { label: LabelId(target), .. }
        | Op::End { label: LabelId(target) }
        | Op::Branch { count: target }
        | Op::Call { method: LabelId(target), .. }
        | Op::Return { method: LabelId(target), .. }
        | Op::Input { source: LabelId(target), .. }
        | Op::Argument { method: LabelId(target), .. }
        | Op::Allocate { object: ObjectId(target), .. }
        | Op::Deallocate { object: ObjectId(target) } => *target = id,
    }
}
