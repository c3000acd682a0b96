//! Critical sections of the locks of java.util.concurrent. They are recorded like those of monitors, with three
//! differences: a lock has a shared side; sections need not nest, and then the inner blocks are split where the outer
//! one ends; and a thread that waits for a condition releases the lock by a separate record, because it executes
//! other events in between.

use std::io::Write;

use untorn_runtime::buffers::Record;
use untorn_trace::event::{BlockKind, Hold, Op};
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{LabelId, LockId, SiteId, ThreadId};

use super::meaning::Meaning;
use super::{Converter, OpenBlock, WaitState};

/// The value of a record that `UntornLocks` writes.
const SHARED: u64 = 1;
const KINDS: [&str; 3] = ["ReentrantLock", "ReentrantReadWriteLock", "StampedLock"];

impl Converter {
    pub(super) fn section_begins(
        &mut self,
        thread: ThreadId,
        record: &Record,
        meaning: &Meaning,
        block: bool,
        out: &mut Writer<impl Write>,
    ) {
        let (identity, site) = (record.object, meaning.site);
        let lock = self.section_lock(record);
        if block {
            let (label, kind) = (LabelId(meaning.number), BlockKind::LockSection);
            self.begin(thread, OpenBlock { label, kind, object: identity, lock }, site, out);
        }
        if record.value & SHARED == 0 {
            self.drop_readers(thread, identity, lock, out);
            self.acquire(thread, identity, lock, out);
            self.emit(out, thread, Op::acquire(lock), site);
        } else {
            let readers = self.readers.entry(identity).or_default();
            match readers.iter_mut().find(|reader| reader.0 == thread) {
                Some((_, depth)) => *depth += 1,
                None => readers.push((thread, 1)),
            }
            self.emit(out, thread, Op::Acquire { hold: Hold::Shared, lock }, site);
        }
    }

    pub(super) fn section_ends(
        &mut self,
        thread: ThreadId,
        record: &Record,
        site: SiteId,
        block: bool,
        out: &mut Writer<impl Write>,
    ) {
        let lock = self.section_lock(record);
        let hold = if record.value & SHARED == 0 { Hold::Exclusive } else { Hold::Shared };
        let held = match hold {
            Hold::Exclusive => self.leave_lock(thread, record.object),
            Hold::Shared => self.leave_shared(thread, record.object),
        };
        if !held {
            // Acquired before the program began, or by another thread.
            self.unmatched += 1;
            return;
        }
        self.emit(out, thread, Op::Release { hold, lock }, site);
        if block {
            self.end_section_block(thread, record.object, site, out);
        }
    }

    /// Releases one level; false if the thread does not hold the lock.
    fn leave_lock(&mut self, thread: ThreadId, identity: u32) -> bool {
        let object = self.object(identity);
        if object.holder != thread || object.depth == 0 {
            return false;
        }
        object.depth -= 1;
        if object.depth == 0 {
            self.drop_monitor(thread, identity);
        }
        true
    }

    fn leave_shared(&mut self, thread: ThreadId, identity: u32) -> bool {
        let readers = self.readers.entry(identity).or_default();
        let Some(at) = readers.iter().position(|reader| reader.0 == thread) else { return false };
        readers[at].1 -= 1;
        if readers[at].1 == 0 {
            readers.remove(at);
        }
        true
    }

    /// Ends the innermost block of that lock. The blocks inside of it end as well and begin again: the part before
    /// the end and the part after it are checked separately.
    fn end_section_block(
        &mut self,
        thread: ThreadId,
        identity: u32,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        let open = &mut self.open[thread.index()];
        let Some(at) = open.iter().rposition(|block| block.object == identity) else { return };
        let mut blocks = open.split_off(at);
        for OpenBlock { label, .. } in blocks.iter().rev() {
            self.emit(out, thread, Op::End { label: *label }, site);
        }
        blocks.remove(0);
        self.reopen(thread, blocks, site, out);
    }

    fn reopen(
        &mut self,
        thread: ThreadId,
        blocks: Vec<OpenBlock>,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        for block in blocks {
            self.begin(thread, block, site, out);
        }
    }

    /// Readers of a lock that is now held for writing: another thread released it for them.
    fn drop_readers(
        &mut self,
        thread: ThreadId,
        identity: u32,
        lock: LockId,
        out: &mut Writer<impl Write>,
    ) {
        let Some(readers) = self.readers.get_mut(&identity) else { return };
        let gone: Vec<_> = readers.extract_if(.., |reader| reader.0 != thread).collect();
        for (reader, depth) in gone {
            for _ in 0..depth {
                let release = Op::Release { hold: Hold::Shared, lock };
                self.emit(out, reader, release, SiteId::NONE);
            }
            self.unmatched += u64::from(depth);
        }
    }

    /// A thread has ended while it held shared sides.
    pub(super) fn release_readers(&mut self, thread: ThreadId, out: &mut Writer<impl Write>) {
        let mut held: Vec<u32> = Vec::new();
        for (&identity, readers) in &self.readers {
            if readers.iter().any(|reader| reader.0 == thread) {
                held.push(identity);
            }
        }
        // In the order of objects, because the order of the table differs between runs.
        held.sort_unstable();
        for identity in held {
            let Some(lock) = self.object(identity).lock else { continue };
            while self.leave_shared(thread, identity) {
                let release = Op::Release { hold: Hold::Shared, lock };
                self.emit(out, thread, release, SiteId::NONE);
                self.unmatched += 1;
            }
        }
    }

    /// Before a thread waits for a condition: as for a monitor, the blocks of its lock end here.
    pub(super) fn awaits(
        &mut self,
        thread: ThreadId,
        identity: u32,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        let object = *self.object(identity);
        let Some(lock) = object.lock.filter(|_| object.holder == thread && object.depth > 0) else {
            return;
        };
        let open = &mut self.open[thread.index()];
        let first = open.iter().position(|block| block.object == identity).unwrap_or(open.len());
        let blocks = open.split_off(first);
        for _ in 0..object.depth {
            self.leave_lock(thread, identity);
            self.emit(out, thread, Op::release(lock), site);
        }
        for OpenBlock { label, .. } in blocks.iter().rev() {
            self.emit(out, thread, Op::End { label: *label }, site);
        }
        self.waiting
            .insert((thread, identity), WaitState { depth: object.depth, blocks, unseen: false });
    }

    pub(super) fn awaited(
        &mut self,
        thread: ThreadId,
        identity: u32,
        site: SiteId,
        out: &mut Writer<impl Write>,
    ) {
        let Some(WaitState { depth, blocks, .. }) = self.waiting.remove(&(thread, identity)) else {
            return;
        };
        let Some(lock) = self.object(identity).lock else { return };
        self.reopen(thread, blocks, site, out);
        for _ in 0..depth {
            self.acquire(thread, identity, lock, out);
            self.emit(out, thread, Op::acquire(lock), site);
        }
    }

    fn section_lock(&mut self, record: &Record) -> LockId {
        if let Some(lock) = self.object(record.object).lock {
            return lock;
        }
        let kind = KINDS.get((record.value >> 1) as usize).copied().unwrap_or("Lock");
        let number = self.number(record.object);
        let lock = self.tables.locks.push(&format!("{kind}#{number}"));
        self.object(record.object).lock = Some(lock);
        lock
    }
}
