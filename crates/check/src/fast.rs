//! Open-ancestor sets: the exact verdict and the exact first violating event, at memory speed.
//!
//! **Paper:** none; the problem is Velodrome's (Flanagan, Freund, Yi, PLDI 2008).
//!
//! **Idea.** Only a transaction that is still *open* can close a cycle, so all that matters about a
//! transaction is which open ones reach it: its *open ancestors*. Transactions of one thread are
//! ordered, so what an open transaction `u` reaches in thread `T` is everything from some
//! transaction of `T` on. One number says it all:
//!
//! > `first[T][u]` = the first transaction of thread `T` that `u` reaches;
//! > `u` is an ancestor of the `k`-th transaction of `T` iff `first[T][u] ≤ k`.
//!
//! A variable remembers the transactions that accessed it last as pairs `(T, k)`. These never go
//! stale: nothing has to be rewritten when a transaction ends, collected or merged. The end of `u`
//! drops the column `u`; a pair that no open transaction reaches any more is dead by itself.
//!
//! * An edge from `(T, k)` into the open transaction of `t` closes a cycle iff `first[T][t] ≤ k`.
//! * Otherwise `t` inherits every open ancestor of `(T, k)`, and so does all that `t` reaches.
//! * An operation outside of every block is a transaction that is finished at once. It has only
//!   incoming edges, so it cannot close a cycle.
//! * A fork is an edge into the child's next transaction, a join an edge from its last one.
//!
//! Columns are given to open transactions, not to threads: a program with ten thousand threads of
//! which twenty are inside a block at a time needs twenty. Rows are [`Columns`] wide and widen by
//! themselves.
//!
//! **Promise:** the verdict and the first violating event are those of the definition in
//! [`crate`]; never misses, never invents. It gives no cycle: [`crate::velodrome`] explains.

use std::ops::ControlFlow;

use untorn_trace::{Event, EventIdx, Hold, Op, ThreadId};

use crate::{Checker, Outcome, Verdict};

/// Ways to get it wrong, for the tests that show that such errors would be found. Compiled away.
#[doc(hidden)]
pub mod fault {
    pub const NONE: u8 = 0;
    pub const MERGE_OUTSIDE_INTO_OPEN: u8 = 1;
    pub const OUTSIDE_NOT_SEPARATED: u8 = 2;
    pub const IGNORE_FOREIGN_READ: u8 = 3;
    pub const INNER_END_CLOSES: u8 = 4;
    pub const STALE_COLUMN: u8 = 5;
    pub const NO_GROWTH_TO_FINISHED: u8 = 6;
    pub const NO_GROWTH_TO_OPEN: u8 = 7;
}

/// The default fast path; see the [module](self).
pub type Fast = OpenAncestors<{ fault::NONE }>;

#[derive(Debug)]
pub struct OpenAncestors<const FAULT: u8> {
    /// One of four widths; moves on to the next when more blocks are open at once than it holds.
    width: Width<FAULT>,
    verdict: Verdict,
}

#[derive(Debug)]
enum Width<const F: u8> {
    Columns64(Core<1, F>),
    Columns256(Core<4, F>),
    Columns1024(Core<16, F>),
    Columns4096(Core<64, F>),
}

impl<const F: u8> Default for OpenAncestors<F> {
    fn default() -> Self {
        Self { width: Width::Columns64(Core::default()), verdict: Verdict::Serializable }
    }
}

impl<const F: u8> OpenAncestors<F> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves to the next width; `false` if there is none.
    fn widen(&mut self) -> bool {
        self.width = match &mut self.width {
            Width::Columns64(core) => Width::Columns256(core.widen()),
            Width::Columns256(core) => Width::Columns1024(core.widen()),
            Width::Columns1024(core) => Width::Columns4096(core.widen()),
            Width::Columns4096(_) => return false,
        };
        true
    }
}

impl<const F: u8> Checker for OpenAncestors<F> {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        let mut done = 0;
        loop {
            let rest = &batch[done..];
            let (seen, stop) = match &mut self.width {
                Width::Columns64(core) => core.run(rest),
                Width::Columns256(core) => core.run(rest),
                Width::Columns1024(core) => core.run(rest),
                Width::Columns4096(core) => core.run(rest),
            };
            done += seen;
            match stop {
                Ok(()) => return ControlFlow::Continue(()),
                Err(Stop::Cycle) => {
                    let at = EventIdx(first.0 + done as u64);
                    self.verdict = Verdict::NotSerializable { at, thread: batch[done].thread };
                    return ControlFlow::Break(());
                }
                Err(Stop::Full) => {
                    if !self.widen() {
                        self.verdict = Verdict::Undecided;
                        return ControlFlow::Break(());
                    }
                }
            }
        }
    }

    fn finish(&mut self) -> Outcome {
        Outcome::of(self.verdict)
    }
}

/// Why [`Core::run`] stopped before the end of its batch, at the event that was not processed.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// The event closes a cycle.
    Cycle,
    /// More blocks are open at once than there are columns, or there are more threads than a
    /// [`Txn`] can name.
    Full,
}

/// A transaction: the `number`-th of its thread, counted from 1. Packed, because variables hold two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Txn(u64);

impl Txn {
    /// No transaction, or one that no open transaction reaches.
    const NONE: Self = Self(0);
    const NUMBER_BITS: u32 = 40;
    const MAX_THREADS: usize = 1 << 23;

    #[inline]
    fn new(thread: usize, number: u64) -> Self {
        debug_assert!(thread < Self::MAX_THREADS && number < 1 << Self::NUMBER_BITS);
        Self((thread as u64) << Self::NUMBER_BITS | number)
    }

    #[inline]
    fn thread(self) -> usize {
        (self.0 >> Self::NUMBER_BITS) as usize
    }

    #[inline]
    fn number(self) -> u64 {
        self.0 & ((1 << Self::NUMBER_BITS) - 1)
    }
}

/// The transactions that read a variable since its last write: none, one, or a list in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Readers(u64);

impl Readers {
    const NONE: Self = Self(0);
    const LIST: u64 = 1 << 63;

    #[inline]
    fn one(txn: Txn) -> Self {
        Self(txn.0)
    }

    fn list(index: usize) -> Self {
        Self(Self::LIST | index as u64)
    }

    #[inline]
    fn as_list(self) -> Option<usize> {
        (self.0 & Self::LIST != 0).then_some((self.0 & !Self::LIST) as usize)
    }
}

/// What is remembered of a variable, or of a lock (which acquire and release write).
#[derive(Clone, Copy, Debug, Default)]
struct Location {
    writer: Txn,
    readers: Readers,
}

/// A set of columns, that is of open transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Columns<const W: usize>([u64; W]);

impl<const W: usize> Columns<W> {
    const EMPTY: Self = Self([0; W]);

    #[inline]
    fn contains(&self, column: usize) -> bool {
        self.0[column / 64] >> (column % 64) & 1 == 1
    }

    #[inline]
    fn insert(&mut self, column: usize) {
        self.0[column / 64] |= 1 << (column % 64);
    }

    #[inline]
    fn remove(&mut self, column: usize) {
        self.0[column / 64] &= !(1 << (column % 64));
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    #[inline]
    fn minus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    #[inline]
    fn union(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = usize> + use<W> {
        self.0.into_iter().enumerate().flat_map(|(i, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                (word != 0).then(|| {
                    word &= word - 1;
                    i * 64 + bit
                })
            })
        })
    }
}

#[derive(Clone, Debug)]
struct Thread<const W: usize> {
    /// The open transactions that reach this thread, the thread's own one included.
    /// Invariant: column `u` is in it iff `first[thread][u]` is valid.
    ancestors: Columns<W>,
    /// The number of the current transaction, or of the last one; 0 before the first.
    number: u64,
    /// Blocks entered and not left.
    depth: u32,
    /// The column of the open transaction; meaningful while `depth > 0`.
    column: u32,
}

impl<const W: usize> Thread<W> {
    const NEW: Self = Self { ancestors: Columns::EMPTY, number: 0, depth: 0, column: 0 };
}

#[derive(Debug)]
struct Core<const W: usize, const F: u8> {
    threads: Vec<Thread<W>>,
    /// Row-major, `64 * W` columns a thread; see the module's definition.
    first: Vec<u64>,
    vars: Vec<Location>,
    locks: Vec<Location>,
    /// `reached[u]`: the other threads that have column `u` among their ancestors.
    reached: Vec<Vec<u32>>,
    /// Columns that no open transaction uses.
    free: Vec<u32>,
    readers: ReaderLists,
}

impl<const W: usize, const F: u8> Default for Core<W, F> {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            first: Vec::new(),
            vars: Vec::new(),
            locks: Vec::new(),
            reached: vec![Vec::new(); 64 * W],
            free: (0..64 * W as u32).rev().collect(),
            readers: ReaderLists::default(),
        }
    }
}

impl<const W: usize, const F: u8> Core<W, F> {
    const STRIDE: usize = 64 * W;

    /// Processes events until one cannot be; returns how many were.
    fn run(&mut self, events: &[Event]) -> (usize, Result<(), Stop>) {
        for (i, event) in events.iter().enumerate() {
            if let Err(stop) = self.event(event) {
                return (i, Err(stop));
            }
        }
        (events.len(), Ok(()))
    }

    #[inline]
    fn event(&mut self, event: &Event) -> Result<(), Stop> {
        let t = event.thread.index();
        if t >= self.threads.len() {
            self.grow_threads(event.thread)?;
        }
        match event.op {
            Op::Read { var, .. } => self.read::<VARS>(t, var.index()),
            Op::Write { var, .. } => self.write::<VARS>(t, var.index()),
            Op::Acquire { lock, hold: Hold::Shared } | Op::Release { lock, hold: Hold::Shared } => {
                self.read::<LOCKS>(t, lock.index())
            }
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Wait { lock }
            | Op::Resume { lock } => self.write::<LOCKS>(t, lock.index()),
            Op::Begin { .. } => self.begin(t),
            Op::End { .. } => {
                self.end(t);
                Ok(())
            }
            Op::Fork { child } => self.fork(t, child),
            Op::Join { child } => self.join(t, child),
            Op::Branch { .. }
            | Op::Call { .. }
            | Op::Return { .. }
            | Op::Input { .. }
            | Op::Request { .. }
            | Op::Notify { .. } => Ok(()),
        }
    }

    #[cold]
    fn grow_threads(&mut self, thread: ThreadId) -> Result<(), Stop> {
        if thread.index() >= Txn::MAX_THREADS {
            return Err(Stop::Full);
        }
        self.threads.resize(thread.index() + 1, Thread::NEW);
        self.first.resize(self.threads.len() * Self::STRIDE, 0);
        Ok(())
    }

    #[inline]
    fn locations<const TABLE: bool>(&mut self) -> &mut Vec<Location> {
        if TABLE == VARS { &mut self.vars } else { &mut self.locks }
    }

    #[inline]
    fn location<const TABLE: bool>(&mut self, index: usize) -> Location {
        let locations = self.locations::<TABLE>();
        match locations.get(index) {
            Some(&location) => location,
            None => {
                grow(locations, index);
                Location::default()
            }
        }
    }

    /// The transaction that the next operation of `t` belongs to: the open one, or a new one of
    /// its own.
    #[inline]
    fn enter(&mut self, t: usize) -> Txn {
        let thread = &mut self.threads[t];
        if thread.depth == 0 && F != fault::OUTSIDE_NOT_SEPARATED {
            thread.number += 1;
        }
        Txn::new(t, thread.number)
    }

    #[inline]
    fn read<const TABLE: bool>(&mut self, t: usize, index: usize) -> Result<(), Stop> {
        let location = self.location::<TABLE>(index);
        let mut me = self.enter(t);
        // The same transaction has accessed it and nobody has written since: nothing changes.
        if location.writer == me || location.readers == Readers::one(me) {
            return Ok(());
        }
        self.edge(location.writer, t)?;
        if F == fault::MERGE_OUTSIDE_INTO_OPEN && self.is_merged(location.writer, t) {
            me = location.writer;
        }
        // What no open transaction reaches now, none ever will: it need not be remembered.
        if !self.threads[t].ancestors.is_empty() {
            let readers = self.add_reader(location.readers, me);
            self.locations::<TABLE>()[index].readers = readers;
        }
        Ok(())
    }

    #[inline]
    fn write<const TABLE: bool>(&mut self, t: usize, index: usize) -> Result<(), Stop> {
        let location = self.location::<TABLE>(index);
        let mut me = self.enter(t);
        // The same transaction wrote it and nobody has accessed it since: nothing changes.
        if location.writer == me
            && (location.readers == Readers::NONE || F == fault::IGNORE_FOREIGN_READ)
        {
            return Ok(());
        }
        self.edge(location.writer, t)?;
        match location.readers.as_list() {
            None => self.edge(Txn(location.readers.0), t)?,
            Some(list) => {
                for i in 0..self.readers.lists[list].len() {
                    self.edge(self.readers.lists[list][i], t)?;
                }
                self.readers.release(list);
            }
        }
        if F == fault::MERGE_OUTSIDE_INTO_OPEN && self.is_merged(location.writer, t) {
            me = location.writer;
        }
        let writer = if self.threads[t].ancestors.is_empty() { Txn::NONE } else { me };
        self.locations::<TABLE>()[index] = Location { writer, readers: Readers::NONE };
        Ok(())
    }

    /// The printed rule that [`fault::MERGE_OUTSIDE_INTO_OPEN`] follows.
    fn is_merged(&self, source: Txn, t: usize) -> bool {
        source != Txn::NONE && self.threads[t].depth == 0 && {
            let owner = &self.threads[source.thread()];
            owner.depth > 0 && owner.number == source.number()
        }
    }

    /// An operation of the current transaction of `t` comes after transaction `source`.
    #[inline]
    fn edge(&mut self, source: Txn, t: usize) -> Result<(), Stop> {
        if source == Txn::NONE || source.thread() == t {
            return Ok(());
        }
        let theirs = &self.threads[source.thread()].ancestors;
        let thread = &self.threads[t];
        let fresh = theirs.minus(&thread.ancestors);
        let mine = thread.depth > 0 && theirs.contains(thread.column as usize);
        if fresh.is_empty() && !mine {
            return Ok(());
        }
        self.learn(source, t, fresh, mine, self.threads[t].number)
    }

    /// The slow part of [`Core::edge`]: `fresh` are the columns that thread `t` may inherit as of
    /// its transaction `number`; `mine` says that the open transaction of `t` reaches the source's
    /// thread.
    fn learn(
        &mut self,
        source: Txn,
        t: usize,
        fresh: Columns<W>,
        mine: bool,
        number: u64,
    ) -> Result<(), Stop> {
        let row = source.thread() * Self::STRIDE;
        let column = self.threads[t].column as usize;
        if mine && self.first[row + column] <= source.number() {
            return Err(Stop::Cycle);
        }
        let mut gained = Columns::EMPTY;
        for u in fresh.iter() {
            if self.first[row + u] <= source.number() {
                gained.insert(u);
                self.first[t * Self::STRIDE + u] = number;
                self.reached[u].push(t as u32);
            }
        }
        self.threads[t].ancestors.union(&gained);
        if self.threads[t].depth > 0 && !gained.is_empty() {
            self.spread(column, &gained);
        }
        Ok(())
    }

    /// The open transaction of `column` has `gained` ancestors: so has all that it reaches.
    fn spread(&mut self, column: usize, gained: &Columns<W>) {
        for i in 0..self.reached[column].len() {
            let t = self.reached[column][i] as usize;
            let open = self.threads[t].depth > 0;
            if F == fault::NO_GROWTH_TO_OPEN && open || F == fault::NO_GROWTH_TO_FINISHED && !open {
                continue;
            }
            let row = t * Self::STRIDE;
            let since = self.first[row + column];
            for u in gained.iter() {
                if !self.threads[t].ancestors.contains(u) {
                    self.threads[t].ancestors.insert(u);
                    self.reached[u].push(t as u32);
                    self.first[row + u] = since;
                } else if self.first[row + u] > since {
                    self.first[row + u] = since;
                }
            }
        }
    }

    fn begin(&mut self, t: usize) -> Result<(), Stop> {
        if self.threads[t].depth == 0 {
            let column = self.free.pop().ok_or(Stop::Full)?;
            debug_assert!(F != fault::NONE || self.reached[column as usize].is_empty());
            let thread = &mut self.threads[t];
            thread.number += 1;
            thread.column = column;
            thread.ancestors.insert(column as usize);
            self.first[t * Self::STRIDE + column as usize] = thread.number;
        }
        self.threads[t].depth += 1;
        Ok(())
    }

    fn end(&mut self, t: usize) {
        let thread = &mut self.threads[t];
        if thread.depth == 0 {
            return; // only in traces that are not well-formed: an end without its begin
        }
        thread.depth = if F == fault::INNER_END_CLOSES { 0 } else { thread.depth - 1 };
        if thread.depth > 0 {
            return;
        }
        let column = thread.column as usize;
        thread.ancestors.remove(column);
        let mut reached = std::mem::take(&mut self.reached[column]);
        if F != fault::STALE_COLUMN {
            for &other in &reached {
                self.threads[other as usize].ancestors.remove(column);
            }
        }
        reached.clear();
        self.reached[column] = reached; // keeps its allocation
        self.free.push(column as u32);
    }

    /// An edge into the next transaction of the child, which is told of it now.
    fn fork(&mut self, t: usize, child: ThreadId) -> Result<(), Stop> {
        if child.index() >= self.threads.len() {
            self.grow_threads(child)?;
        }
        let me = self.enter(t);
        let child = child.index();
        if child == t {
            return Ok(());
        }
        let next = self.threads[child].number + 1;
        if self.threads[child].depth > 0 {
            return self.edge(me, child); // not well-formed: a thread that runs is forked again
        }
        let fresh = self.threads[t].ancestors.minus(&self.threads[child].ancestors);
        self.learn(me, child, fresh, false, next)
    }

    fn join(&mut self, t: usize, child: ThreadId) -> Result<(), Stop> {
        self.enter(t);
        match self.threads.get(child.index()) {
            Some(thread) if thread.number > 0 => {
                let last = Txn::new(child.index(), thread.number);
                self.edge(last, t)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn add_reader(&mut self, readers: Readers, me: Txn) -> Readers {
        if readers == Readers::NONE || readers.0 >> Txn::NUMBER_BITS == me.thread() as u64 {
            return Readers::one(me);
        }
        self.add_further_reader(readers, me)
    }

    fn add_further_reader(&mut self, readers: Readers, me: Txn) -> Readers {
        let Some(list) = readers.as_list() else {
            let other = Txn(readers.0);
            if self.is_dead(other) {
                return Readers::one(me);
            }
            let list = self.readers.take();
            self.readers.lists[list].extend([other, me]);
            return Readers::list(list);
        };
        let same_thread = |r: &Txn| r.thread() == me.thread();
        if let Some(old) = self.readers.lists[list].iter_mut().find(|r| same_thread(r)) {
            *old = me;
            return readers;
        }
        if self.readers.lists[list].len() == self.readers.lists[list].capacity() {
            let mut all = std::mem::take(&mut self.readers.lists[list]);
            all.retain(|&r| !self.is_dead(r));
            self.readers.lists[list] = all;
        }
        self.readers.lists[list].push(me);
        readers
    }

    /// Whether no open transaction reaches `txn`: then none ever will.
    fn is_dead(&self, txn: Txn) -> bool {
        let row = txn.thread() * Self::STRIDE;
        self.threads[txn.thread()].ancestors.iter().all(|u| self.first[row + u] > txn.number())
    }

    fn widen<const V: usize>(&mut self) -> Core<V, F> {
        let mut wide = Core::<V, F>::default();
        let (stride, wide_stride) = (Self::STRIDE, Core::<V, F>::STRIDE);
        wide.first = vec![0; self.threads.len() * wide_stride];
        for (row, wide_row) in self.first.chunks(stride).zip(wide.first.chunks_mut(wide_stride)) {
            wide_row[..stride].copy_from_slice(row);
        }
        wide.threads = self.threads.iter().map(Thread::widen).collect();
        wide.reached[..stride].clone_from_slice(&self.reached);
        wide.free = (stride as u32..wide_stride as u32).rev().chain(self.free.drain(..)).collect();
        wide.vars = std::mem::take(&mut self.vars);
        wide.locks = std::mem::take(&mut self.locks);
        wide.readers = std::mem::take(&mut self.readers);
        wide
    }
}

impl<const W: usize> Thread<W> {
    fn widen<const V: usize>(&self) -> Thread<V> {
        let mut ancestors = Columns::EMPTY;
        ancestors.0[..W].copy_from_slice(&self.ancestors.0);
        Thread { ancestors, number: self.number, depth: self.depth, column: self.column }
    }
}

const VARS: bool = true;
const LOCKS: bool = false;

#[cold]
fn grow(locations: &mut Vec<Location>, index: usize) {
    locations.resize(index + 1, Location::default());
}

/// Lists of readers, recycled.
#[derive(Debug, Default)]
struct ReaderLists {
    lists: Vec<Vec<Txn>>,
    free: Vec<usize>,
}

impl ReaderLists {
    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() - 1
        })
    }

    fn release(&mut self, list: usize) {
        self.lists[list].clear();
        self.free.push(list);
    }
}
