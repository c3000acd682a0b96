//! Memory for raw records: filled by the probes in the program, emptied by the thread that writes the trace.
//!
//! The number of buffers is fixed. When the writer cannot keep up, the program waits for it: memory
//! stays bounded and no event is lost.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ptr::NonNull;

use untorn_schedule::{Step, ThreadId};

use crate::sync::{Condition, Lock};

/// The record that a probe writes for an access or another event. The front end defines the meaning of `object`,
/// `value` and `index`; the runtime does not read them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Record {
    /// The site; from [`special::FIRST`] on, what native code recorded.
    pub site: u32,
    /// The identity of the object, 0 for none.
    pub object: u32,
    pub value: u64,
    /// The index in an array or similar; of special records, the site.
    pub index: u32,
    /// Branches that the thread took since its previous record.
    pub branches: u32,
}

const _: () = assert!(size_of::<Record>() == Record::SIZE);

impl Record {
    pub const SIZE: usize = 24;
}

/// Kinds of records that native code writes, in place of a site.
pub mod special {
    pub const FIRST: u32 = 0xffff_ff00;
    /// `value`: the thread's number.
    pub const FORK: u32 = FIRST;
    pub const JOIN: u32 = FIRST + 1;
    /// `object`: the monitor.
    pub const WAIT: u32 = FIRST + 2;
    pub const RESUME: u32 = FIRST + 3;
    pub const NOTIFY: u32 = FIRST + 4;
    pub const NOTIFY_ALL: u32 = FIRST + 5;
    pub const REQUEST: u32 = FIRST + 6;
    /// `value`: the number of the thread that gets a permit, or that took it.
    pub const UNPARK: u32 = FIRST + 7;
    pub const PARK: u32 = FIRST + 8;
    /// The same, without a permit: the time limit passed, or the thread was interrupted.
    pub const PARK_TIMEOUT: u32 = FIRST + 9;
    pub const INTERRUPT: u32 = FIRST + 10;
    /// Branches without an event after them before the thread lost the token.
    pub const BRANCHES: u32 = FIRST + 11;
    /// The thread checked whether a descriptor is ready. No event, but part of the schedule.
    pub const LOOK: u32 = FIRST + 12;
}

/// Records in a buffer: small enough for the cache of a core, large enough to make calls of native code rare.
pub const CAPACITY: usize = 8 * 1024;

/// Room for the records of a step that begins before the end of the buffer. The longest step of the JVM is a copy of
/// an array: 256 elements are read and written.
const SLACK: usize = 2 * 256 + 8;

/// Buffers in all: 16 MiB, a tenth of a second of the fastest program.
const BUFFERS: usize = 85;

/// A buffer. Its memory is never freed, so that a late probe cannot write into other memory.
#[derive(Debug)]
pub struct Buffer {
    /// The first of [`CAPACITY`] records, and some [`SLACK`].
    memory: NonNull<Record>,
    /// Records that are filled.
    pub filled: usize,
    /// For each thread change: the first record of the new thread.
    pub runs: Vec<(usize, ThreadId)>,
    /// Turns that ended while it was filled.
    pub turns: Vec<Step>,
}

// SAFETY: the memory belongs to the buffer alone, and lives for ever.
unsafe impl Send for Buffer {}

/// Empty buffers of a run that is over.
#[derive(Debug, Default)]
pub struct SpareBuffers(Vec<Buffer>);

/// Where a thread of an earlier run may write without harm.
static SINK: Lock<Option<usize>> = Lock::new(None);

impl Buffer {
    /// A buffer that nobody reads. All of them share their memory.
    pub(crate) fn sink() -> Self {
        let address = *SINK.lock().get_or_insert_with(|| Self::new().start());
        let memory = std::ptr::with_exposed_provenance_mut::<Record>(address);
        // Never null: it is the address of a buffer.
        let memory = NonNull::new(memory).unwrap_or(NonNull::dangling());
        Self { memory, filled: 0, runs: Vec::new(), turns: Vec::new() }
    }

    fn new() -> Self {
        let memory = Box::leak(vec![Record::default(); CAPACITY + SLACK].into_boxed_slice());
        let memory = NonNull::from(memory).cast();
        Self { memory, filled: 0, runs: Vec::new(), turns: Vec::new() }
    }

    /// The address of the first record. It leaves Rust: probes write there.
    pub fn start(&self) -> usize {
        self.memory.as_ptr().expose_provenance()
    }

    /// The address at which the buffer counts as full.
    pub fn end(&self) -> usize {
        self.start() + CAPACITY * Record::SIZE
    }

    /// Writes a record for native code.
    ///
    /// # Panics
    /// If the address is not that of a record of this buffer.
    pub fn put(&mut self, address: usize, record: Record) {
        let index = (address - self.start()) / Record::SIZE;
        assert!(index < CAPACITY + SLACK, "a record outside of the buffer");
        // SAFETY: the index is within the memory, which no reference points into.
        unsafe { self.memory.add(index).write_volatile(record) };
    }

    /// A record that was written.
    pub(crate) fn record(&self, index: usize) -> Record {
        debug_assert!(index < CAPACITY + SLACK, "a record outside of the buffer");
        // SAFETY: the index is within the memory, which is initialised and which no reference points into.
        unsafe { self.memory.add(index).read_volatile() }
    }

    /// The records, by thread. Call it only when the program writes to another buffer.
    pub fn records(&self) -> impl Iterator<Item = (ThreadId, &[Record])> {
        let filled = self.filled.min(CAPACITY + SLACK);
        // SAFETY: all records are initialised, and the program has left this buffer.
        let all = unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), filled) };
        let ends = self.runs.iter().skip(1).map(|run| run.0).chain([filled]);
        self.runs
            .iter()
            .zip(ends)
            .map(move |(&(start, thread), end)| (thread, all.get(start..end).unwrap_or_default()))
    }
}

/// Buffers on their way between the program and the writer.
#[derive(Debug)]
pub struct Buffers {
    state: Lock<State>,
    changed: Condition,
}

#[derive(Debug)]
struct State {
    free: Vec<Buffer>,
    made: usize,
    full: VecDeque<Buffer>,
    /// No more buffers will come.
    closed: bool,
}

impl Default for Buffers {
    fn default() -> Self {
        let state = State { free: Vec::new(), made: 0, full: VecDeque::new(), closed: false };
        Self { state: Lock::new(state), changed: Condition::new() }
    }
}

impl Buffers {
    /// Begins with the buffers of an earlier run.
    pub(crate) fn with(spare: SpareBuffers) -> Self {
        let buffers = Self::default();
        {
            let mut state = buffers.state.lock();
            state.made = spare.0.len();
            state.free = spare.0;
        }
        buffers
    }

    /// All buffers that nobody uses any more, and `last`.
    pub(crate) fn retire(&self, last: Buffer) -> SpareBuffers {
        self.give_back(last);
        SpareBuffers(std::mem::take(&mut self.state.lock().free))
    }

    /// An empty buffer; waits until there is one.
    pub fn empty(&self) -> Buffer {
        let mut state = self.state.lock();
        loop {
            if let Some(buffer) = state.free.pop() {
                return buffer;
            }
            // A closed queue has no reader any more: a new buffer is better than a program that hangs.
            if state.made < BUFFERS || state.closed {
                state.made += 1;
                return Buffer::new();
            }
            state = self.changed.wait(state);
        }
    }

    /// Hands a buffer to the writer.
    pub fn send(&self, buffer: Buffer) {
        let mut state = self.state.lock();
        if !state.closed {
            state.full.push_back(buffer);
            self.changed.notify_all();
        }
    }

    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// The next buffer for the writer, in order; `None` when closed and empty.
    pub fn full(&self) -> Option<Buffer> {
        let mut state = self.state.lock();
        loop {
            if let Some(buffer) = state.full.pop_front() {
                return Some(buffer);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state);
        }
    }

    pub fn give_back(&self, mut buffer: Buffer) {
        buffer.filled = 0;
        buffer.runs.clear();
        buffer.turns.clear();
        self.state.lock().free.push(buffer);
        self.changed.notify_all();
    }
}
