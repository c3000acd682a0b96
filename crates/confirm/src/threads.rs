//! What every serial order has to keep: each thread's order, and that of fork and join.
//!
//! A block that joins a thread which ran while the block was open has waited for it: it cannot have
//! be atomic from beginning to end. It is split before that join, and its two
//! pieces are blocks of their own, just as with `wait`, where the front end cuts.
//!
//! With these cuts the order that is to be kept has no cycle. Say that piece P precedes piece Q
//! because event a of P precedes event b of Q by program order, fork and join. Then a stands
//! before Q's first event in the trace: either b is not a join inside of Q, so that all that precedes
//! b from other threads precedes Q's first event; or it joins a thread that had no event since Q
//! began. So P begins before Q, and no cycle of pieces closes. (Without the cuts there are: a block that
//! forks and joins the same thread; and two blocks, each of which joins what the other forks.)

use untorn_trace::{LabelId, SiteId, ThreadId};

use crate::ids::BlockId;

/// One thread while the trace is read.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Nesting depth of blocks.
    pub depth: u32,
    /// The outermost open block.
    pub open: Open,
    /// The piece of it that collects accesses; made when it is first needed.
    pub piece: Option<BlockId>,
    /// Where the piece starts, in positions of the trace.
    pub piece_start: u32,
    /// The last transaction of the thread.
    last: Option<BlockId>,
    /// Transactions that must precede the thread's next one, beside `last`.
    pending: Vec<BlockId>,
    /// Its last event.
    pub last_at: Option<u32>,
}

/// An outermost block.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    pub label: LabelId,
    pub site: SiteId,
    pub begin: u32,
}

impl Default for Open {
    fn default() -> Self {
        Self { label: LabelId::NONE, site: SiteId::NONE, begin: 0 }
    }
}

/// All threads, and the order of transactions found so far.
#[derive(Debug, Default)]
pub struct Threads {
    threads: Vec<Thread>,
    /// `(before, after)`: the order that every serial order keeps is the closure of these.
    pub edges: Vec<(BlockId, BlockId)>,
}

impl Threads {
    #[inline]
    pub fn get(&mut self, thread: ThreadId) -> &mut Thread {
        if thread.index() >= self.threads.len() {
            self.threads.resize(thread.index() + 1, Thread::default());
        }
        &mut self.threads[thread.index()]
    }

    pub fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.threads.iter()
    }

    /// A new transaction of a thread comes after all that the thread has to wait for.
    #[inline]
    pub fn start(&mut self, thread: ThreadId, block: BlockId) {
        let own = &mut self.threads[thread.index()];
        self.edges.extend(own.last.map(|last| (last, block)));
        for before in own.pending.drain(..) {
            self.edges.push((before, block));
        }
        own.last = Some(block);
    }

    /// `parent` starts `child`; inside of a block, `piece` is its open piece.
    pub fn fork(&mut self, parent: ThreadId, child: ThreadId, piece: Option<BlockId>) {
        let from = self.get(parent);
        let before: Vec<BlockId> = match piece {
            Some(piece) => vec![piece],
            None => from.last.into_iter().chain(from.pending.iter().copied()).collect(),
        };
        self.get(child).pending.extend(before);
    }

    /// Whether a join cuts the open piece of `parent`: `child` ran since it began.
    pub fn join_cuts(&mut self, parent: ThreadId, child: ThreadId) -> bool {
        let start = self.get(parent).piece_start;
        self.get(child).last_at.is_some_and(|last| last >= start)
    }

    /// `parent` has waited for `child`. Inside of a block, `piece` is its open piece. A thread that never
    /// ran orders nothing.
    pub fn join(&mut self, parent: ThreadId, child: ThreadId, piece: Option<BlockId>) {
        let from = self.get(child);
        if from.last_at.is_none() {
            return;
        }
        let waited_for = from.last.into_iter().chain(from.pending.iter().copied());
        let waited_for: Vec<BlockId> = waited_for.collect();
        match piece {
            Some(piece) => self.edges.extend(waited_for.into_iter().map(|block| (block, piece))),
            None => self.get(parent).pending.extend(waited_for),
        }
    }
}
