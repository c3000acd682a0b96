//! A recorded run, made ready for questions about its reorderings.
//!
//! Built once, in one pass over the events and with a few words for each of them; every engine
//! shares it.

mod blocks;
mod build;
mod whole;

use untorn_trace::{Access, Event, EventIdx, LabelId, LockId, Op, ThreadId, Value, VarId};

pub use build::HistoryError;
pub use whole::Lifted;
pub(crate) use whole::{Turns, Whole};

/// The position of an event in its history. Histories are held in memory, so 32 bits are plenty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct At(pub u32);

impl At {
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Debug for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl From<At> for EventIdx {
    fn from(at: At) -> Self {
        Self(u64::from(at.0))
    }
}

/// A block of a history, by its begin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

/// Why a segment of code counts as an atomic block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// `begin` and `end` in the trace: synchronized code, lock sections, methods the user named.
    Declared,
    /// One activation of one method (`call` and `return` in the trace).
    Inferred,
}

/// A segment of one thread's events that should be atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub thread: ThreadId,
    pub label: LabelId,
    pub origin: Origin,
    pub begin: At,
    /// `None` if the history ends inside of it.
    pub end: Option<At>,
    /// The next block around it, of whatever origin.
    pub outer: Option<BlockId>,
}

impl Block {
    /// Whether the block has not ended by then. Calls and declared blocks need not nest.
    pub fn contains(&self, at: At) -> bool {
        self.begin <= at && self.end.is_none_or(|end| at <= end)
    }
}

/// A critical section: the outermost hold of one side of a lock by a thread, from an acquire or
/// resume to the release or wait that ends it. A thread that holds both sides is in two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    pub lock: LockId,
    pub thread: ThreadId,
    pub shared: bool,
    pub enter: At,
    /// `None` if the history ends inside of it.
    pub leave: Option<At>,
}

/// What a read read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadFrom {
    Initial,
    Write(At),
}

/// The run.
#[derive(Debug, Default)]
pub struct History {
    events: Vec<Event>,
    initial: Vec<Option<Value>>,
    threads: Vec<Vec<At>>,
    /// By event: its position among its thread's events.
    nth: Vec<u32>,
    /// By event: the innermost block around it; a begin and an end belong to their own block.
    block: Vec<Option<BlockId>>,
    blocks: Vec<Block>,
    /// In the order of their enters.
    sections: Vec<Section>,
    /// By event: its section if it enters or leaves one, else `NO_SECTION`.
    section_at: Vec<u32>,
    /// By variable, in order.
    reads: Vec<Vec<At>>,
    writes: Vec<Vec<At>>,
    /// By event: for a read what it read, for a resume the notification that caused it; as
    /// `At + 1`, 0 for none.
    link: Vec<u32>,
    /// By thread: the fork that started it and the first join that waited for it.
    forked: Vec<Option<At>>,
    joined: Vec<Vec<At>>,
    /// If this is not all of a run.
    whole: Option<Whole>,
    /// Segments of a thread that look like one step (compositions), by their beginnings.
    compositions: Vec<[At; 2]>,
}

const NO_SECTION: u32 = u32::MAX;

/// Stretches that may be open at once; older ones are not searched.
const MAX_STRETCHES: usize = 64;

impl History {
    #[inline]
    pub fn event(&self, at: At) -> &Event {
        &self.events[at.index()]
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// All positions, in order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = At> + use<> {
        (0..self.events.len() as u32).map(At)
    }

    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The events of a thread, in order.
    pub fn of_thread(&self, thread: ThreadId) -> &[At] {
        self.threads.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// How many events of its thread precede it.
    #[inline]
    pub fn nth(&self, at: At) -> u32 {
        self.nth[at.index()]
    }

    /// The event before it in its thread.
    pub fn previous(&self, at: At) -> Option<At> {
        let nth = self.nth(at).checked_sub(1)?;
        Some(self.of_thread(self.event(at).thread)[nth as usize])
    }

    /// The event after it in its thread.
    pub fn next(&self, at: At) -> Option<At> {
        self.of_thread(self.event(at).thread).get(self.nth(at) as usize + 1).copied()
    }

    pub fn var_count(&self) -> usize {
        self.reads.len()
    }

    pub fn reads(&self, var: VarId) -> &[At] {
        &self.reads[var.index()]
    }

    pub fn writes(&self, var: VarId) -> &[At] {
        &self.writes[var.index()]
    }

    pub fn initial(&self, var: VarId) -> Option<Value> {
        self.initial.get(var.index()).copied().flatten()
    }

    /// What a read read. Meaningless for other events.
    #[inline]
    pub fn read_from(&self, read: At) -> ReadFrom {
        match self.link[read.index()].checked_sub(1) {
            Some(write) => ReadFrom::Write(At(write)),
            None => ReadFrom::Initial,
        }
    }

    /// The notification that caused a resume; `None` for one that timed out.
    pub fn cause(&self, resume: At) -> Option<At> {
        self.link[resume.index()].checked_sub(1).map(At)
    }

    /// The innermost block around an event.
    pub fn block_of(&self, at: At) -> Option<BlockId> {
        self.block[at.index()]
    }

    pub fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.0 as usize]
    }

    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The critical sections, in the order of their enters.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section that an event enters or leaves. Re-entering and leaving an inner level is
    /// neither.
    #[inline]
    pub fn section_at(&self, at: At) -> Option<&Section> {
        match self.section_at[at.index()] {
            NO_SECTION => None,
            index => Some(&self.sections[index as usize]),
        }
    }

    /// The number of a section among [`History::sections`], as in [`History::section_at`].
    pub fn section_index(&self, at: At) -> Option<usize> {
        match self.section_at[at.index()] {
            NO_SECTION => None,
            index => Some(index as usize),
        }
    }

    /// The write that an event is the first half of an update with.
    pub fn second_half(&self, at: At) -> Option<At> {
        let Op::Read { var, access: Access::Update, .. } = self.event(at).op else { return None };
        let next = self.next(at)?;
        match self.event(next).op {
            Op::Write { var: written, access: Access::Update, .. } if written == var => Some(next),
            _ => None,
        }
    }

    /// The read that an event is the second half of an update with.
    pub fn first_half(&self, at: At) -> Option<At> {
        let previous = self.previous(at)?;
        (self.second_half(previous) == Some(at)).then_some(previous)
    }

    /// Sets which segments of a thread, from one call to the end of another, look like one step of the method
    /// that makes the calls.
    pub fn set_compositions(&mut self, mut stretches: Vec<[At; 2]>) {
        stretches.sort_unstable();
        self.compositions = stretches;
    }

    /// Whether two events of a thread are in one such stretch.
    pub fn is_composed(&self, first: At, second: At) -> bool {
        let begun = self.compositions.partition_point(|&[begin, _]| begin <= first);
        let recent = self.compositions[..begun].iter().rev().take(MAX_STRETCHES);
        let thread = self.event(first).thread;
        recent.into_iter().any(|&[begin, end]| second <= end && self.event(begin).thread == thread)
    }

    /// The fork that started a thread.
    pub fn forked(&self, thread: ThreadId) -> Option<At> {
        self.forked.get(thread.index()).copied().flatten()
    }

    /// The joins that waited for a thread, in order.
    pub fn joined(&self, thread: ThreadId) -> &[At] {
        self.joined.get(thread.index()).map_or(&[], Vec::as_slice)
    }
}
