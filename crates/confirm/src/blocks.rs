//! The transactions of a trace and what they read and wrote.
//!
//! The outermost block makes a transaction; an access outside of every block is a transaction by itself,
//! except that the two halves of an indivisible update (`Access::Update`, a read directly followed
//! by its write) stay together. A block that is open at the end of the trace ends there. Where a
//! block is cut, see [`threads`](crate::threads). Locks, waits and notifications order nothing
//! here: blocks run one after the other, so no lock is ever contended.

use untorn_trace::{Access, Event, EventIdx, LabelId, Op, SiteId, Tables, ThreadId, VarId};

use crate::ids::{BlockId, Slot};
use crate::threads::{Open, Threads};
use crate::values::{Memory, SymbolicValue};
use crate::window::Window;

/// A transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub thread: ThreadId,
    /// `None` for an access outside of every block.
    pub label: Option<LabelId>,
    /// Where the block begins, or the lone access stands.
    pub site: SiteId,
    /// The outermost begin, or the lone access.
    pub begin: EventIdx,
    /// Its first and last access; `first` identifies the transaction.
    pub first: EventIdx,
    pub last: EventIdx,
    /// Whether it has any access; one without is not part of a serial order.
    pub(crate) accesses: bool,
}

impl Block {
    pub(crate) fn relocate(&mut self, place: &dyn Fn(EventIdx) -> EventIdx) {
        self.begin = place(self.begin);
        self.first = place(self.first);
        self.last = place(self.last);
    }
}

/// A read or write of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub block: BlockId,
    pub slot: Slot,
    pub at: u32,
    pub writes: bool,
    pub val: SymbolicValue,
}

/// All that the question is about.
#[derive(Debug, Default)]
pub struct Extract {
    pub blocks: Vec<Block>,
    /// In the order of the trace.
    pub touches: Vec<Touch>,
    pub memory: Memory,
    /// `(before, after)`: what every serial order keeps.
    pub edges: Vec<(BlockId, BlockId)>,
    /// Blocks cut in front of a join.
    pub cuts: u32,
    /// Blocks that were open at the end.
    pub open: u32,
}

impl Extract {
    /// The transactions of `events`, or of a window of them that starts with the memory that the
    /// events before it left.
    pub fn new(events: &[Event], tables: &Tables, window: Option<Window>) -> Self {
        let Window { from, to } = window.unwrap_or_else(|| Window::all(events));
        let end = (to.0 as usize).min(events.len());
        let start = (from.0 as usize).min(end);
        let mut reader = Reader { tables, threads: Threads::default(), found: Self::default() };
        for (i, event) in events[..start].iter().enumerate() {
            reader.before_window(i as u32, event);
        }
        reader.enter_window(start as u32);
        for (i, event) in events[start..end].iter().enumerate() {
            reader.event((start + i) as u32, event, &events[..end]);
        }
        let mut found = reader.found;
        found.open = reader.threads.iter().filter(|thread| thread.depth > 0).count() as u32;
        found.edges = reader.threads.edges;
        found
    }
}

struct Reader<'a> {
    tables: &'a Tables,
    threads: Threads,
    found: Extract,
}

impl Reader<'_> {
    fn slot(&mut self, var: VarId) -> Slot {
        let tables = self.tables;
        self.found.memory.slot(var, || tables.var_facts(var).initial())
    }

    /// Before the window only memory and the nesting of blocks matter.
    fn before_window(&mut self, at: u32, event: &Event) {
        let index = EventIdx(u64::from(at));
        match event.op {
            Op::Read { var, .. } => {
                let slot = self.slot(var);
                self.found.memory.read(slot, event.value(), index);
            }
            Op::Write { var, .. } => {
                let slot = self.slot(var);
                self.found.memory.write(slot, event.value(), index);
            }
            Op::Begin { label, .. } => self.begin(at, event, label),
            Op::End { .. } => self.end(event),
            _ => {}
        }
    }

    fn enter_window(&mut self, start: u32) {
        let threads: Vec<ThreadId> =
            (0..self.threads.iter().count()).map(ThreadId::from_index).collect();
        for thread in threads {
            self.threads.get(thread).piece_start = start;
        }
    }

    fn event(&mut self, at: u32, event: &Event, events: &[Event]) {
        match event.op {
            Op::Read { var, .. } => self.access(at, event, var, false, events),
            Op::Write { var, .. } => self.access(at, event, var, true, events),
            Op::Begin { label, .. } => self.begin(at, event, label),
            Op::End { .. } => self.end(event),
            Op::Fork { child } => {
                let piece = self.open_piece(at, event);
                self.threads.fork(event.thread, child, piece);
            }
            Op::Join { child } => self.join(at, event, child),
            _ => {}
        }
        self.threads.get(event.thread).last_at = Some(at);
    }

    fn begin(&mut self, at: u32, event: &Event, label: LabelId) {
        let thread = self.threads.get(event.thread);
        if thread.depth == 0 {
            thread.open = Open { label, site: event.site, begin: at };
            thread.piece = None;
            thread.piece_start = at;
        }
        thread.depth += 1;
    }

    fn end(&mut self, event: &Event) {
        let thread = self.threads.get(event.thread);
        thread.depth = thread.depth.saturating_sub(1);
        if thread.depth == 0 {
            thread.piece = None;
        }
    }

    /// The open piece of the event's thread; `None` outside of blocks.
    fn open_piece(&mut self, at: u32, event: &Event) -> Option<BlockId> {
        let thread = self.threads.get(event.thread);
        if thread.depth == 0 {
            return None;
        }
        if thread.piece.is_some() {
            return thread.piece;
        }
        let Open { label, site, begin } = thread.open;
        let piece = self.add_block(at, event.thread, Some(label), site, begin);
        self.threads.get(event.thread).piece = Some(piece);
        Some(piece)
    }

    fn add_block(
        &mut self,
        at: u32,
        thread: ThreadId,
        label: Option<LabelId>,
        site: SiteId,
        begin: u32,
    ) -> BlockId {
        let block = BlockId::new(self.found.blocks.len());
        let (begin, at) = (EventIdx(u64::from(begin)), EventIdx(u64::from(at)));
        let new = Block { thread, label, site, begin, first: at, last: at, accesses: false };
        self.found.blocks.push(new);
        self.threads.start(thread, block);
        block
    }

    fn access(&mut self, at: u32, event: &Event, var: VarId, writes: bool, events: &[Event]) {
        let index = EventIdx(u64::from(at));
        let slot = self.slot(var);
        self.found.memory.touch(slot, event.thread);
        let block = match self.open_piece(at, event) {
            Some(piece) => piece,
            None if is_second_half(at, event, events) && self.halves_meet(at, slot) => {
                self.found.touches[self.found.touches.len() - 1].block
            }
            None => self.add_block(at, event.thread, None, event.site, at),
        };
        let memory = &mut self.found.memory;
        let val = match writes {
            true => memory.write(slot, event.value(), index),
            false => memory.read(slot, event.value(), index),
        };
        let own = &mut self.found.blocks[block.index()];
        if !own.accesses {
            (own.accesses, own.first) = (true, index);
        }
        own.last = index;
        self.found.touches.push(Touch { block, slot, at, writes, val });
    }

    /// Whether the access before was recorded, as the first half must have been: it may stand
    /// before the window.
    fn halves_meet(&self, at: u32, slot: Slot) -> bool {
        self.found.touches.last().is_some_and(|last| last.at + 1 == at && last.slot == slot)
    }

    fn join(&mut self, at: u32, event: &Event, child: ThreadId) {
        let inside = self.threads.get(event.thread).depth > 0;
        if inside && self.threads.join_cuts(event.thread, child) {
            let thread = self.threads.get(event.thread);
            thread.piece = None;
            thread.piece_start = at;
            self.found.cuts += 1;
        }
        let piece = self.open_piece(at, event);
        self.threads.join(event.thread, child, piece);
    }
}

/// Whether the event is the write of an indivisible update whose read comes directly before it.
fn is_second_half(at: u32, event: &Event, events: &[Event]) -> bool {
    let Op::Write { access: Access::Update, var, .. } = event.op else { return false };
    let Some(before) = at.checked_sub(1).map(|before| &events[before as usize]) else {
        return false;
    };
    before.thread == event.thread
        && matches!(before.op, Op::Read { access: Access::Update, var: same, .. } if same == var)
}
