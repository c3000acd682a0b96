//! First arrivals: for each open block and each thread, the first operation of the thread
//! that comes after the block, and the conflict by which the news arrived.
//!
//! The order of a thread's operations makes one such arrival enough: whatever the thread does later
//! comes after the block too. So the history of an open block takes one cell a thread, however long
//! the trace, and following the cells back gives a path of real conflicts.

use smallvec::SmallVec;
use untorn_trace::{Event, EventIdx, LabelId, SiteId, ThreadId};

use crate::EdgeKind;

/// An operation, and the transaction it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub at: EventIdx,
    pub event: Event,
    pub txn: Txn,
}

/// A transaction, named by where it begins: at its `begin`, or at its only operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Txn {
    pub begin: EventIdx,
    pub label: LabelId,
    pub site: SiteId,
}

impl Access {
    #[inline]
    pub fn thread(&self) -> usize {
        self.event.thread.index()
    }
}

/// A conflict between two threads, earlier operation first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub from: Access,
    pub to: Access,
    pub why: EdgeKind,
}

/// A set of columns; as long as its largest member needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mask(SmallVec<[u64; 2]>);

impl Mask {
    #[inline]
    pub fn contains(&self, column: usize) -> bool {
        self.0.get(column / 64).is_some_and(|word| word >> (column % 64) & 1 == 1)
    }

    pub fn insert(&mut self, column: usize) {
        if self.0.len() <= column / 64 {
            self.0.resize(column / 64 + 1, 0);
        }
        self.0[column / 64] |= 1 << (column % 64);
    }

    pub fn remove(&mut self, column: usize) {
        if let Some(word) = self.0.get_mut(column / 64) {
            *word &= !(1 << (column % 64));
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    #[inline]
    fn word(&self, i: usize) -> u64 {
        self.0.get(i).copied().unwrap_or(0)
    }

    /// Whether some column of `self` is not in `other`.
    #[inline]
    pub fn exceeds(&self, other: &Self) -> bool {
        self.0.iter().enumerate().any(|(i, &word)| word & !other.word(i) != 0)
    }

    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// The columns that are in `self` and, depending on `keep`, in `other` or not in it.
    pub fn select(&self, other: &Self, keep: bool) -> SmallVec<[u32; 8]> {
        let mut columns = SmallVec::new();
        for (i, &word) in self.0.iter().enumerate() {
            let theirs = other.word(i);
            let mut rest = word & if keep { theirs } else { !theirs };
            while rest != 0 {
                columns.push((i * 64) as u32 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        columns
    }

    pub fn columns(&self) -> SmallVec<[u32; 8]> {
        self.select(self, true)
    }
}

/// How a thread first heard of an open block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// From this position of the thread on, everything comes after the block.
    pub since: EventIdx,
    /// By which conflict the news came; `None` in the block's own thread.
    pub hop: Option<Hop>,
}

#[derive(Clone, Debug)]
struct Row {
    /// The columns this thread has heard of. Invariant: exactly their cells are valid.
    known: Mask,
    cells: Vec<Arrival>,
    /// No open block reaches the positions before this one. Invariant: at most the least `since`
    /// of the known cells. Raised only when it has misled us.
    alive_from: EventIdx,
}

impl Default for Row {
    fn default() -> Self {
        Self { known: Mask::default(), cells: Vec::new(), alive_from: NEVER }
    }
}

/// After every position.
const NEVER: EventIdx = EventIdx(u64::MAX);

impl Row {
    fn forget(&mut self, column: usize) {
        self.known.remove(column);
        if self.known.is_empty() {
            self.alive_from = NEVER;
        }
    }
}

/// A matrix of arrivals: a row a thread, a column an open block. Columns are recycled.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    rows: Vec<Row>,
    /// The threads, other than the block's own, that have heard of the column.
    reached: Vec<Vec<u32>>,
    free: Vec<u32>,
}

impl Arrivals {
    pub fn grow_threads(&mut self, threads: usize) {
        if self.rows.len() < threads {
            self.rows.resize(threads, Row::default());
        }
    }

    /// A column for a block that `thread` enters at `since`.
    pub fn open(&mut self, thread: ThreadId, since: EventIdx) -> u32 {
        let column = self.free.pop().unwrap_or_else(|| {
            self.reached.push(Vec::new());
            self.reached.len() as u32 - 1
        });
        self.set(thread.index(), column as usize, Arrival { since, hop: None });
        column
    }

    /// The block has ended: no cycle can go through it any more, so its arrivals are dropped.
    pub fn close(&mut self, thread: ThreadId, column: u32) {
        self.rows[thread.index()].forget(column as usize);
        for i in 0..self.reached[column as usize].len() {
            let other = self.reached[column as usize][i] as usize;
            self.rows[other].forget(column as usize);
        }
        self.reached[column as usize].clear();
        self.free.push(column);
    }

    #[inline]
    pub fn known(&self, thread: usize) -> &Mask {
        &self.rows[thread].known
    }

    pub fn cell(&self, thread: usize, column: u32) -> &Arrival {
        debug_assert!(self.rows[thread].known.contains(column as usize));
        &self.rows[thread].cells[column as usize]
    }

    /// Whether position `at` of `thread` comes after the block of `column`.
    #[inline]
    pub fn is_after(&self, thread: usize, column: u32, at: EventIdx) -> bool {
        self.rows[thread].known.contains(column as usize) && self.cell(thread, column).since <= at
    }

    /// Whether position `at` of `thread` may come after an open block; if it comes after none now,
    /// it never will.
    #[inline]
    pub fn may_be_alive(&self, thread: usize, at: EventIdx) -> bool {
        at >= self.rows[thread].alive_from
    }

    /// To be called when [`Arrivals::may_be_alive`] was true and nothing was found.
    pub fn raise_alive_from(&mut self, thread: usize) {
        let row = &mut self.rows[thread];
        let known = row.known.columns();
        let since = known.iter().map(|&column| row.cells[column as usize].since);
        row.alive_from = since.min().unwrap_or(NEVER);
    }

    /// Passes to `thread` a column that it does not have yet.
    pub fn learn(&mut self, thread: usize, column: u32, arrival: Arrival) {
        debug_assert!(!self.rows[thread].known.contains(column as usize));
        self.reached[column as usize].push(thread as u32);
        self.set(thread, column as usize, arrival);
    }

    fn set(&mut self, thread: usize, column: usize, arrival: Arrival) {
        let row = &mut self.rows[thread];
        row.known.insert(column);
        if row.cells.len() <= column {
            row.cells.resize(column + 1, arrival);
        }
        row.cells[column] = arrival;
        row.alive_from = row.alive_from.min(arrival.since);
    }

    /// All that comes after `column` now comes after `more`, too.
    pub fn spread(&mut self, column: u32, more: &[u32]) {
        for i in 0..self.reached[column as usize].len() {
            let thread = self.reached[column as usize][i] as usize;
            let arrival = *self.cell(thread, column);
            for &other in more {
                if !self.rows[thread].known.contains(other as usize) {
                    self.learn(thread, other, arrival);
                } else if self.cell(thread, other).since > arrival.since {
                    self.rows[thread].cells[other as usize] = arrival;
                }
            }
        }
    }
}
