//! The owners of monitors according to the trace, and the monitors that a thread gives up while it waits.

use std::io::Write;

use untorn_runtime::buffers::{Record, special};
use untorn_trace::event::Op;
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{LockId, SiteId, ThreadId};

use super::meaning::UNKNOWN;
use super::{Converter, OpenBlock, WaitState};

impl Converter {
    /// Records the owner of a monitor. If another thread owns it according to the trace, the exits of that thread
    /// were lost in a stack overflow, and are inserted here.
    pub(super) fn acquire(
        &mut self,
        thread: ThreadId,
        identity: u32,
        lock: LockId,
        out: &mut Writer<impl Write>,
    ) {
        let object = self.object(identity);
        if object.holder == thread && object.depth > 0 {
            object.depth += 1;
            return;
        }
        let (holder, lost) = (object.holder, object.depth);
        (object.holder, object.depth) = (thread, 1);
        self.held[thread.index()].push(identity);
        for _ in 0..lost {
            self.emit(out, holder, Op::release(lock), SiteId::NONE);
        }
        self.unmatched += u64::from(lost);
    }

    /// Waiting, resuming, notifying, or an attempt to enter.
    pub(super) fn monitor(
        &mut self,
        thread: ThreadId,
        record: &Record,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        let lock = self.lock(record.object, &UNKNOWN);
        let mut unseen = false;
        match record.site {
            special::WAIT => {
                let unseen = self.insert_entry(thread, record.object, lock, out);
                self.waits(thread, record.object, site, unseen, out);
            }
            special::RESUME => unseen = self.resumes(thread, record.object, lock, out),
            _ => {}
        }
        let op = match record.site {
            special::WAIT => Op::Wait { lock },
            special::RESUME => Op::Resume { lock },
            special::REQUEST => Op::Request { lock },
            kind => Op::Notify { lock, all: kind == special::NOTIFY_ALL },
        };
        self.emit(out, thread, op, site);
        if unseen {
            // Its exit will not be seen, either.
            self.object(record.object).depth = 0;
            self.drop_monitor(thread, record.object);
            self.emit(out, thread, Op::release(lock), SiteId::NONE);
        }
        for block in std::mem::take(&mut self.resumed) {
            self.begin(thread, block, site, out);
        }
    }

    /// Monitors are mostly left in the opposite order of being entered.
    pub(super) fn drop_monitor(&mut self, thread: ThreadId, identity: u32) {
        let held = &mut self.held[thread.index()];
        if let Some(at) = held.iter().rposition(|&other| other == identity) {
            held.remove(at);
        }
    }

    /// A thread has ended: the locks that it still holds and its open blocks were left in a stack overflow, or never
    /// released.
    pub(super) fn end_thread(&mut self, thread: ThreadId, out: &mut Writer<impl Write>) {
        self.release_readers(thread, out);
        for identity in std::mem::take(&mut self.held[thread.index()]) {
            let object = self.object(identity);
            if object.holder != thread || object.depth == 0 {
                continue;
            }
            let lost = std::mem::take(&mut object.depth);
            let Some(lock) = object.lock else { continue };
            for _ in 0..lost {
                self.emit(out, thread, Op::release(lock), SiteId::NONE);
            }
            self.unmatched += u64::from(lost);
        }
        for OpenBlock { label, .. } in
            std::mem::take(&mut self.open[thread.index()]).into_iter().rev()
        {
            self.emit(out, thread, Op::End { label }, SiteId::NONE);
            self.unmatched += 1;
        }
    }

    /// Code that is not rewritten (for example `ReferenceQueue.remove`) waits on a monitor whose entry was not
    /// recorded. The thread does hold it, so the entry is inserted before the wait. Returns whether that was
    /// necessary.
    fn insert_entry(
        &mut self,
        thread: ThreadId,
        identity: u32,
        lock: LockId,
        out: &mut Writer<impl Write>,
    ) -> bool {
        let object = self.object(identity);
        if object.holder == thread && object.depth > 0 {
            return false;
        }
        self.acquire(thread, identity, lock, out);
        self.emit(out, thread, Op::acquire(lock), SiteId::NONE);
        true
    }

    /// A waiting thread keeps the depth for later. By waiting it gives up the atomicity of the section on purpose:
    /// the blocks of that monitor, and those inside of them, end here and begin again afterwards.
    fn waits(
        &mut self,
        thread: ThreadId,
        object: u32,
        site: SiteId,
        unseen: bool,
        out: &mut Writer<impl Write>,
    ) {
        let depth = std::mem::take(&mut self.object(object).depth);
        self.drop_monitor(thread, object);
        let open = &mut self.open[thread.index()];
        let first = open.iter().position(|block| block.object == object).unwrap_or(open.len());
        let blocks = open.split_off(first);
        for OpenBlock { label, .. } in blocks.iter().rev() {
            self.emit(out, thread, Op::End { label: *label }, site);
        }
        self.waiting.insert((thread, object), WaitState { depth, blocks, unseen });
    }

    /// Whether the entry was not recorded.
    fn resumes(
        &mut self,
        thread: ThreadId,
        object: u32,
        lock: LockId,
        out: &mut Writer<impl Write>,
    ) -> bool {
        let WaitState { depth, blocks, unseen } =
            self.waiting.remove(&(thread, object)).unwrap_or_default();
        self.acquire(thread, object, lock, out);
        self.object(object).depth = depth.max(1);
        self.resumed = blocks;
        unseen
    }
}
