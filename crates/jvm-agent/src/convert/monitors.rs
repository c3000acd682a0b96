//! Who holds which monitor, as far as the trace says, and what a thread gives up while it waits.

use std::io::Write;

use untorn_runtime::buffers::{Record, special};
use untorn_trace::event::Op;
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{LockId, SiteId, ThreadId};

use super::meaning::UNKNOWN;
use super::{Converter, GivenUp, OpenBlock};

impl Converter {
    /// Notes who holds a monitor. If somebody else did, by the trace, that thread's exits were lost in a stack
    /// overflow: they are made up for.
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

    /// Waiting, resuming, notifying, or being about to enter.
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
                let unseen = self.make_up_for_entry(thread, record.object, lock, out);
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
            // Nor will its exit be seen.
            self.object(record.object).depth = 0;
            self.let_go(thread, record.object);
            self.emit(out, thread, Op::release(lock), SiteId::NONE);
        }
        for block in std::mem::take(&mut self.resumed) {
            self.begin(thread, block, site, out);
        }
    }

    /// Monitors are mostly left in the opposite order of being entered.
    pub(super) fn let_go(&mut self, thread: ThreadId, identity: u32) {
        let held = &mut self.held[thread.index()];
        if let Some(at) = held.iter().rposition(|&other| other == identity) {
            held.remove(at);
        }
    }

    /// A thread has ended: what it still holds or has open was left in a stack overflow, or was never given back.
    pub(super) fn settle(&mut self, thread: ThreadId, out: &mut Writer<impl Write>) {
        self.settle_readers(thread, out);
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

    /// Code that is not rewritten (`ReferenceQueue.remove`, for one) waits on a monitor that the trace does not
    /// know to be held. It is held: an entry that is recorded late makes sense of the wait. True if it had to be
    /// recorded.
    fn make_up_for_entry(
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

    /// A waiting thread keeps its depth for later. Who waits gives up on purpose that what the monitor guards is one
    /// step: the blocks of that monitor, and those inside of them, end here and begin anew afterwards.
    fn waits(
        &mut self,
        thread: ThreadId,
        object: u32,
        site: SiteId,
        unseen: bool,
        out: &mut Writer<impl Write>,
    ) {
        let depth = std::mem::take(&mut self.object(object).depth);
        self.let_go(thread, object);
        let open = &mut self.open[thread.index()];
        let first = open.iter().position(|block| block.object == object).unwrap_or(open.len());
        let blocks = open.split_off(first);
        for OpenBlock { label, .. } in blocks.iter().rev() {
            self.emit(out, thread, Op::End { label: *label }, site);
        }
        self.waiting.insert((thread, object), GivenUp { depth, blocks, unseen });
    }

    /// Whether its entry was not seen.
    fn resumes(
        &mut self,
        thread: ThreadId,
        object: u32,
        lock: LockId,
        out: &mut Writer<impl Write>,
    ) -> bool {
        let GivenUp { depth, blocks, unseen } =
            self.waiting.remove(&(thread, object)).unwrap_or_default();
        self.acquire(thread, object, lock, out);
        self.object(object).depth = depth.max(1);
        self.resumed = blocks;
        unseen
    }
}
