//! Mutexes and locks for readers and writers, and the critical sections between taking and giving them.

use std::fs::File;

use rustc_hash::FxHashMap;
use untorn_trace::event::{BlockKind, Hold, Op};
use untorn_trace::formats::utr::Writer;
use untorn_trace::ids::{LockId, SiteId, ThreadId};

use super::Converter;
use super::activations::OpenBlock;
use super::meaning::Meaning;

/// A lock, as the trace has it.
#[derive(Clone, Debug)]
struct Known {
    lock: LockId,
    holder: ThreadId,
    depth: u32,
    /// Who holds its shared side, and how often.
    readers: Vec<(ThreadId, u32)>,
}

/// The mutex and the blocks that a thread gave up to wait.
#[derive(Clone, Debug, Default)]
struct Waiting {
    depth: u32,
    blocks: Vec<OpenBlock>,
}

#[derive(Debug, Default)]
pub(super) struct LockModel {
    known: FxHashMap<usize, Known>,
    waiting: FxHashMap<(ThreadId, usize), Waiting>,
}

impl LockModel {
    /// Free locks there are no more.
    pub(super) fn forget(&mut self, address: usize, bytes: usize) {
        let end = address.saturating_add(bytes);
        self.known.retain(|at, lock| {
            !(address..end).contains(at) || lock.depth > 0 || !lock.readers.is_empty()
        });
    }
}

impl Converter {
    fn known_lock(&mut self, address: usize) -> &mut Known {
        if !self.locks.known.contains_key(&address) {
            let name = self.name_of_object(address);
            let lock = self.tables.locks.push(&name);
            let new = Known { lock, holder: ThreadId(0), depth: 0, readers: Vec::new() };
            self.locks.known.insert(address, new);
        }
        self.locks.known.entry(address).or_insert_with(|| unreachable!("inserted above"))
    }

    fn begin_section(
        &mut self,
        thread: ThreadId,
        address: usize,
        lock: LockId,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        let (label, kind) = (meaning.label, BlockKind::LockSection);
        self.begin_block(thread, OpenBlock { label, kind, address, lock }, meaning.site, out);
    }

    pub(super) fn acquire(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        self.force_free(thread, address, out);
        let known = self.known_lock(address);
        known.holder = thread;
        known.depth += 1;
        let lock = known.lock;
        self.begin_section(thread, address, lock, meaning, out);
        self.emit(out, thread, Op::acquire(lock), meaning.site);
    }

    /// A thread begins to wait for a lock that is not free.
    pub(super) fn request(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        let lock = self.known_lock(address).lock;
        self.emit(out, thread, Op::Request { lock }, meaning.site);
    }

    /// A lock that another thread still holds in the trace is really free: it was made anew, or given back by somebody
    /// else.
    fn force_free(&mut self, thread: ThreadId, address: usize, out: &mut Writer<File>) {
        let known = self.known_lock(address);
        let (lock, holder, depth) = (known.lock, known.holder, known.depth);
        let readers: Vec<_> = known.readers.extract_if(.., |reader| reader.0 != thread).collect();
        if holder != thread {
            known.depth = 0;
            for _ in 0..depth {
                self.emit(out, holder, Op::release(lock), SiteId::NONE);
                self.unmatched += 1;
            }
        }
        for (reader, depth) in readers {
            for _ in 0..depth {
                let release = Op::Release { hold: Hold::Shared, lock };
                self.emit(out, reader, release, SiteId::NONE);
                self.unmatched += 1;
            }
        }
    }

    pub(super) fn release(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        let known = self.known_lock(address);
        if known.holder != thread || known.depth == 0 {
            self.unmatched += 1;
            return;
        }
        known.depth -= 1;
        let lock = known.lock;
        self.emit(out, thread, Op::release(lock), meaning.site);
        self.end_section(thread, address, meaning.site, out);
    }

    fn end_section(
        &mut self,
        thread: ThreadId,
        address: usize,
        site: SiteId,
        out: &mut Writer<File>,
    ) {
        self.end_block(thread, |block| block.address == address, site, out);
    }

    pub(super) fn acquire_shared(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        let known = self.known_lock(address);
        let lock = known.lock;
        match known.readers.iter_mut().find(|reader| reader.0 == thread) {
            Some((_, depth)) => *depth += 1,
            None => known.readers.push((thread, 1)),
        }
        self.begin_section(thread, address, lock, meaning, out);
        self.emit(out, thread, Op::Acquire { hold: Hold::Shared, lock }, meaning.site);
    }

    pub(super) fn release_shared(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        let known = self.known_lock(address);
        let lock = known.lock;
        let Some(at) = known.readers.iter().position(|reader| reader.0 == thread) else {
            self.unmatched += 1;
            return;
        };
        known.readers[at].1 -= 1;
        if known.readers[at].1 == 0 {
            known.readers.remove(at);
        }
        self.emit(out, thread, Op::Release { hold: Hold::Shared, lock }, meaning.site);
        self.end_section(thread, address, meaning.site, out);
    }

    /// A thread gives up a mutex, all of its levels, to wait. By waiting it gives up the atomicity of the section on
    /// purpose: its blocks, and those inside of them, end here and begin again afterwards.
    pub(super) fn awaits(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        let known = self.known_lock(address);
        if known.holder != thread || known.depth == 0 {
            return;
        }
        let depth = std::mem::take(&mut known.depth);
        let lock = known.lock;
        let open = &mut self.stacks.0[thread.index()].blocks;
        let first = open.iter().position(|block| block.address == address);
        let blocks = open.split_off(first.unwrap_or(open.len()));
        for _ in 0..depth {
            self.emit(out, thread, Op::release(lock), meaning.site);
        }
        for block in blocks.iter().rev() {
            self.emit(out, thread, Op::End { label: block.label }, meaning.site);
        }
        self.locks.waiting.insert((thread, address), Waiting { depth, blocks });
    }

    pub(super) fn awaited(
        &mut self,
        thread: ThreadId,
        address: usize,
        meaning: Meaning,
        out: &mut Writer<File>,
    ) {
        self.show_activations(thread, out);
        let Some(Waiting { depth, blocks }) = self.locks.waiting.remove(&(thread, address)) else {
            return;
        };
        self.force_free(thread, address, out);
        for block in blocks {
            self.begin_block(thread, block, meaning.site, out);
        }
        let known = self.known_lock(address);
        known.holder = thread;
        known.depth = depth;
        let lock = known.lock;
        for _ in 0..depth {
            self.emit(out, thread, Op::acquire(lock), meaning.site);
        }
    }

    /// A thread has ended while it held locks: for the trace, nobody holds them.
    pub(super) fn forget_held(&mut self, thread: ThreadId, out: &mut Writer<File>) {
        let held = |known: &Known| {
            (known.holder == thread && known.depth > 0)
                || known.readers.iter().any(|reader| reader.0 == thread)
        };
        let mut left: Vec<(LockId, usize)> = Vec::new();
        for (&address, known) in &self.locks.known {
            if held(known) {
                left.push((known.lock, address));
            }
        }
        // In the order of their numbers, because the order of the table differs between runs.
        left.sort_unstable();
        for (lock, address) in left {
            let known = self.known_lock(address);
            let own = if known.holder == thread { std::mem::take(&mut known.depth) } else { 0 };
            let shared: u32 = known
                .readers
                .extract_if(.., |reader| reader.0 == thread)
                .map(|(_, depth)| depth)
                .sum();
            for _ in 0..own {
                self.emit(out, thread, Op::release(lock), SiteId::NONE);
            }
            for _ in 0..shared {
                self.emit(out, thread, Op::Release { hold: Hold::Shared, lock }, SiteId::NONE);
            }
        }
    }
}
