//! What happens at each event.

use untorn_trace::{Event, Op, ThreadId};

use super::columns::Columns;
use super::fault;
use super::location::{Location, Readers, Table, Touch, Txn, row_of};
use super::reader_lists::ReaderLists;

/// Why [`Core::run`] stopped before the end of its batch, at the event that was not processed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// The event closes a cycle.
    Cycle,
    /// More blocks are open at once than there are columns, or there are more threads than a
    /// [`Txn`] can name.
    Full,
}

#[derive(Clone, Debug)]
struct Thread<const W: usize> {
    /// The open transactions that reach this thread, the thread's own one included.
    /// Invariant: column `u` is in it iff `first[thread][u]` is valid.
    ancestors: Columns<W>,
    /// The column of the open transaction; empty outside of blocks.
    own: Columns<W>,
    /// Blocks entered and not left.
    depth: u32,
    /// The column of the open transaction; meaningful while `depth > 0`.
    column: u32,
}

impl<const W: usize> Thread<W> {
    const NEW: Self = Self { ancestors: Columns::EMPTY, own: Columns::EMPTY, depth: 0, column: 0 };
}

/// Where a thread is: all that an access usually needs to know of it.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// The current transaction, or the last one; number 0 before the first.
    now: Txn,
    /// 1 outside of blocks, where every operation is a transaction by itself; otherwise 0.
    step: u64,
    /// No open transaction reaches an earlier transaction of this thread. Invariant: at most the
    /// least `first[thread][u]` over the thread's ancestors; after all transactions if there are none. Raised
    /// only when it has misled us.
    alive_from: Txn,
}

impl Clock {
    fn new(row: usize) -> Self {
        Self { now: Txn::new(row, 0), step: 1, alive_from: Txn::behind(row) }
    }
}

/// The matrix and the state it is about; `W` words of columns.
#[derive(Debug)]
pub(super) struct Core<const W: usize, const F: u8> {
    threads: Vec<Thread<W>>,
    clocks: Vec<Clock>,
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
            threads: vec![Thread::NEW],
            clocks: vec![Clock::new(0)],
            first: vec![0; Self::STRIDE],
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
    pub(super) fn run(&mut self, events: &[Event]) -> (usize, Result<(), Stop>) {
        for (i, event) in events.iter().enumerate() {
            if let Err(stop) = self.event(event) {
                return (i, Err(stop));
            }
        }
        (events.len(), Ok(()))
    }

    #[inline]
    fn event(&mut self, event: &Event) -> Result<(), Stop> {
        let t = row_of(event.thread);
        if t >= self.clocks.len() {
            self.grow_threads(event.thread)?;
        }
        if let Some(touch) = Touch::of(&event.op) {
            return self.touch(t, touch);
        }
        match event.op {
            Op::Begin { .. } => self.begin(t),
            Op::End { .. } => {
                self.end(t);
                Ok(())
            }
            _ => self.rare_event(t, event),
        }
    }

    /// Apart from [`Core::event`], which has fewer cases to distinguish without it.
    #[inline(never)]
    fn rare_event(&mut self, t: usize, event: &Event) -> Result<(), Stop> {
        match event.op {
            Op::Fork { child } => self.fork(t, child),
            Op::Join { child } => self.join(t, child),
            _ => Ok(()),
        }
    }

    #[cold]
    fn grow_threads(&mut self, thread: ThreadId) -> Result<(), Stop> {
        if row_of(thread) >= Txn::MAX_ROWS {
            return Err(Stop::Full);
        }
        self.clocks.extend((self.clocks.len()..=row_of(thread)).map(Clock::new));
        self.threads.resize(self.clocks.len(), Thread::NEW);
        self.first.resize(self.threads.len() * Self::STRIDE, 0);
        Ok(())
    }

    #[inline]
    fn locations(&mut self, table: Table) -> &mut Vec<Location> {
        if table == Table::Vars { &mut self.vars } else { &mut self.locks }
    }

    /// The transaction that the next operation of `t` belongs to: the open one, or a new one of
    /// its own.
    #[inline]
    fn enter(&mut self, t: usize) -> Txn {
        let clock = &mut self.clocks[t];
        if F != fault::OUTSIDE_NOT_SEPARATED {
            clock.now.0 += clock.step;
        }
        clock.now
    }

    /// An access. What nearly always happens is decided by a single branch: traces are hard to
    /// predict, and a mispredicted branch costs as much as all the rest.
    #[inline]
    fn touch(&mut self, t: usize, touch: Touch) -> Result<(), Stop> {
        let Touch { table, index, writes } = touch;
        let me = self.enter(t);
        let locations = self.locations(table);
        if index >= locations.len() {
            grow(locations, index);
        }
        let Location { writer, readers } = locations[index];
        let reader = Txn(readers.0 & !Readers::LIST);
        let foreign = self.is_foreign(writer, t) | self.is_foreign(reader, t);
        let many = readers.0 & Readers::LIST != 0;
        if foreign | many | (F != fault::NONE) {
            return self.touch_carefully(t, touch, me);
        }
        // What no open transaction reaches now, none ever will: it need not be remembered.
        let kept = if self.may_be_alive(me) { me } else { Txn::NONE };
        self.locations(table)[index] = Location {
            writer: if writes { kept } else { writer },
            readers: if writes { Readers::NONE } else { Readers::one(kept) },
        };
        Ok(())
    }

    /// Whether `source` is of another thread than `t`, and may matter.
    #[inline]
    fn is_foreign(&self, source: Txn, t: usize) -> bool {
        (source.row() != t) & self.may_be_alive(source)
    }

    /// Whether an edge from `source` into the current transaction of `t` may change anything.
    #[inline]
    fn may_learn(&self, source: Txn, t: usize) -> bool {
        if !self.is_foreign(source, t) {
            return false;
        }
        let theirs = &self.threads[source.row()];
        let mine = &self.threads[t];
        // The open transaction of the other thread matters only if it is the source itself.
        let hidden = if source < self.clocks[source.row()].now { u64::MAX } else { 0 };
        let news = (0..W).fold(0, |news, i| {
            let reaching = theirs.ancestors.0[i] & !(theirs.own.0[i] & hidden);
            news | reaching & (mine.own.0[i] | !mine.ancestors.0[i])
        });
        news != 0
    }

    /// Whether an open transaction may reach `txn`; if none does, none ever will.
    #[inline]
    fn may_be_alive(&self, txn: Txn) -> bool {
        txn >= self.clocks[txn.row()].alive_from
    }

    /// All cases of [`Core::touch`], one after the other.
    #[inline(never)] // or the usual case would have to spill its registers
    fn touch_carefully(&mut self, t: usize, touch: Touch, mut me: Txn) -> Result<(), Stop> {
        let Touch { table, index, writes } = touch;
        let Location { writer, readers } = self.locations(table)[index];
        // The same transaction made such an access before, and no other came in between: nothing changes.
        let fresh_reads = readers != Readers::NONE && F != fault::IGNORE_FOREIGN_READ;
        if writer == me && !(writes && fresh_reads) {
            return Ok(());
        }
        self.edge(writer, t)?;
        if F == fault::MERGE_OUTSIDE_INTO_OPEN && self.is_merged(writer, t) {
            me = writer;
        }
        if writes {
            self.edges_from_readers(readers, t)?;
        }
        let dead = self.threads[t].ancestors.is_empty();
        let after = match (writes, dead) {
            (true, true) => Location::default(),
            (true, false) => Location { writer: me, readers: Readers::NONE },
            (false, true) => Location { writer, readers },
            (false, false) => Location { writer, readers: self.add_reader(readers, me) },
        };
        self.locations(table)[index] = after;
        Ok(())
    }

    fn edges_from_readers(&mut self, readers: Readers, t: usize) -> Result<(), Stop> {
        let Some(list) = readers.as_list() else {
            return self.edge(Txn(readers.0), t);
        };
        for i in 0..self.readers.lists[list].len() {
            self.edge(self.readers.lists[list][i], t)?;
        }
        self.readers.release(list);
        Ok(())
    }

    /// The printed rule that [`fault::MERGE_OUTSIDE_INTO_OPEN`] follows.
    fn is_merged(&self, source: Txn, t: usize) -> bool {
        source != Txn::NONE && self.threads[t].depth == 0 && {
            let row = source.row();
            self.threads[row].depth > 0 && self.clocks[row].now == source
        }
    }

    /// An operation of the current transaction of `t` comes after transaction `source`.
    #[inline]
    fn edge(&mut self, source: Txn, t: usize) -> Result<(), Stop> {
        if !self.may_learn(source, t) {
            return Ok(());
        }
        let theirs = &self.threads[source.row()].ancestors;
        let thread = &self.threads[t];
        let fresh = theirs.minus(&thread.ancestors);
        let mine = thread.depth > 0 && theirs.contains(thread.column as usize);
        self.learn(source, t, fresh, mine, self.clocks[t].now)
    }

    /// The slow part of [`Core::edge`]: `fresh` are the columns that thread `t` may inherit as of
    /// its transaction `now`; `mine`: the open transaction of `t` reaches the source's
    /// thread.
    fn learn(
        &mut self,
        source: Txn,
        t: usize,
        fresh: Columns<W>,
        mine: bool,
        now: Txn,
    ) -> Result<(), Stop> {
        let row = source.row() * Self::STRIDE;
        let column = self.threads[t].column as usize;
        if mine && self.first[row + column] <= source.number() {
            return Err(Stop::Cycle);
        }
        let mut gained = Columns::EMPTY;
        for u in fresh.iter() {
            if self.first[row + u] <= source.number() {
                gained.insert(u);
                self.first[t * Self::STRIDE + u] = now.number();
                self.reached[u].push(t as u32);
            }
        }
        if gained.is_empty() {
            self.raise_alive_from(source.row());
            return Ok(());
        }
        self.threads[t].ancestors.union(&gained);
        self.clocks[t].alive_from = self.clocks[t].alive_from.min(now);
        if self.threads[t].depth > 0 {
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
            let alive_from = self.clocks[t].alive_from;
            debug_assert!(alive_from <= Txn::new(t, since), "it holds for `column` already");
        }
    }

    fn begin(&mut self, t: usize) -> Result<(), Stop> {
        if self.threads[t].depth == 0 {
            let column = self.free.pop().ok_or(Stop::Full)?;
            debug_assert!(F != fault::NONE || self.reached[column as usize].is_empty());
            let (thread, clock) = (&mut self.threads[t], &mut self.clocks[t]);
            clock.now.0 += 1;
            clock.step = 0;
            clock.alive_from = clock.alive_from.min(clock.now);
            thread.column = column;
            thread.ancestors.insert(column as usize);
            thread.own.insert(column as usize);
            self.first[t * Self::STRIDE + column as usize] = clock.now.number();
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
        thread.own = Columns::EMPTY;
        self.clocks[t].step = 1;
        self.forget(t, column);
        let mut reached = std::mem::take(&mut self.reached[column]);
        if F != fault::STALE_COLUMN {
            for &other in &reached {
                self.forget(other as usize, column);
            }
        }
        reached.clear();
        self.reached[column] = reached; // keeps its allocation
        self.free.push(column as u32);
    }

    /// The transaction of `column`, an ancestor of thread `t`, has ended.
    #[inline]
    fn forget(&mut self, t: usize, column: usize) {
        self.threads[t].ancestors.remove(column);
        if self.threads[t].ancestors.is_empty() {
            self.clocks[t].alive_from = Txn::behind(t);
        }
    }

    fn raise_alive_from(&mut self, t: usize) {
        let row = &self.first[t * Self::STRIDE..][..Self::STRIDE];
        let firsts = self.threads[t].ancestors.iter().map(|u| Txn::new(t, row[u]));
        self.clocks[t].alive_from = firsts.min().unwrap_or(Txn::behind(t));
    }

    /// An edge into the next transaction of the child, which gets it now.
    fn fork(&mut self, t: usize, child: ThreadId) -> Result<(), Stop> {
        if row_of(child) >= self.threads.len() {
            self.grow_threads(child)?;
        }
        let me = self.enter(t);
        let child = row_of(child);
        if child == t {
            return Ok(());
        }
        let next = Txn(self.clocks[child].now.0 + 1);
        if self.threads[child].depth > 0 {
            return self.edge(me, child); // not well-formed: a thread that runs is forked again
        }
        let fresh = self.threads[t].ancestors.minus(&self.threads[child].ancestors);
        self.learn(me, child, fresh, false, next)
    }

    fn join(&mut self, t: usize, child: ThreadId) -> Result<(), Stop> {
        self.enter(t);
        match self.clocks.get(row_of(child)) {
            Some(clock) if clock.now.number() > 0 => self.edge(clock.now, t),
            _ => Ok(()),
        }
    }

    #[inline]
    fn add_reader(&mut self, readers: Readers, me: Txn) -> Readers {
        if readers == Readers::NONE || readers.0 >> Txn::NUMBER_BITS == me.row() as u64 {
            return Readers::one(me);
        }
        self.add_further_reader(readers, me)
    }

    fn add_further_reader(&mut self, readers: Readers, me: Txn) -> Readers {
        if let Some(list) = readers.as_list() {
            if !self.readers.replace(list, me) {
                let mut all = std::mem::take(&mut self.readers.lists[list]);
                ReaderLists::prune(&mut all, |txn| self.is_dead(txn));
                all.push(me);
                self.readers.lists[list] = all;
            }
            return readers;
        }
        let other = Txn(readers.0);
        if self.is_dead(other) {
            return Readers::one(me);
        }
        let list = self.readers.take();
        for txn in [other, me] {
            if !self.readers.replace(list, txn) {
                self.readers.lists[list].push(txn);
            }
        }
        Readers::list(list)
    }

    /// Whether no open transaction reaches `txn`: then none ever will.
    fn is_dead(&self, txn: Txn) -> bool {
        let row = txn.row() * Self::STRIDE;
        self.threads[txn.row()].ancestors.iter().all(|u| self.first[row + u] > txn.number())
    }

    pub(super) fn widen<const V: usize>(&mut self) -> Core<V, F> {
        let mut wide = Core::<V, F>::default();
        let (stride, wide_stride) = (Self::STRIDE, Core::<V, F>::STRIDE);
        wide.first = vec![0; self.threads.len() * wide_stride];
        for (row, wide_row) in self.first.chunks(stride).zip(wide.first.chunks_mut(wide_stride)) {
            wide_row[..stride].copy_from_slice(row);
        }
        wide.threads = self.threads.iter().map(Thread::widen).collect();
        wide.clocks = std::mem::take(&mut self.clocks);
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
        let widen = |columns: &Columns<W>| {
            let mut wide = Columns::EMPTY;
            wide.0[..W].copy_from_slice(&columns.0);
            wide
        };
        Thread {
            ancestors: widen(&self.ancestors),
            own: widen(&self.own),
            depth: self.depth,
            column: self.column,
        }
    }
}

#[cold]
fn grow(locations: &mut Vec<Location>, index: usize) {
    locations.resize(index + 1, Location::default());
}
