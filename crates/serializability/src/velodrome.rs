//! Velodrome: exact checking with an explanation and with blame.
//!
//! **Paper:** Flanagan, Freund, Yi, *Velodrome: A Sound and Complete Dynamic Atomicity Checker for
//! Multithreaded Programs*, PLDI 2008.
//!
//! **What we changed, and why.** The paper keeps the graph H of live transactions, collects those
//! that no open transaction reaches and merges those outside of blocks. The graph still grows without
//! bound while one transaction stays open, and since it keeps one edge a pair of nodes, whether a
//! block is blamed depends on which edge was kept. Here the same relation is kept as *first arrivals*
//! (module `arrivals`): how each open transaction first reached each thread.
//!
//! * *Collection*: when a transaction ends, its column goes, and with it every step that only it
//!   reached. What no column covers is the paper's ⊥.
//! * *Merging*: a step outside of blocks is a position of its thread, never a separate object,
//!   so there is nothing to allocate. It keeps its own position: the printed rules merge it
//!   into a transaction that may still run, which loses cycles.
//! * *Blame*: a second matrix holds, for each open block of every nesting level, the arrivals over
//!   *operations* instead of transactions: what the paper calls an increasing cycle. A block is
//!   refuted iff an operation of it comes after an operation of another thread that comes after an
//!   operation of it. This finds every block that is not self-serializable, outer or nested, and no
//!   other, all through the trace and whatever was reported before.
//! * *Increasing is exact*: if the transactions form a cycle and no block is refuted, no increasing
//!   path exists, and the violation is reported without blame.
//!
//! As in the paper, the edge that closes a cycle of transactions is not added: the order stays
//! acyclic. So after the first cycle, one *without blame* that needs such an edge is not seen.
//! Blame does not depend on it.
//!
//! **Promise:** verdict and first violating event are those of the definition in [`crate`]; refuted
//! blocks are exactly those that are not self-serializable; every reported cycle consists of
//! conflicts that happened.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use untorn_trace::{Event, EventIdx, Hold, LabelId, Op, SiteId, ThreadId};

use crate::arrivals::{Access, Arrival, Arrivals, Hop, Mask, Txn};
use crate::{
    Block, Checker, Cycle, Edge, EdgeKind, Outcome, Step, Transaction, Verdict, Violation,
};

#[derive(Debug)]
pub struct Velodrome {
    threads: Vec<Thread>,
    vars: Vec<Location>,
    locks: Vec<Location>,
    /// Columns are open transactions, positions are where transactions begin.
    transactions: Arrivals,
    /// Columns are open blocks of every level, positions are operations.
    blocks: Arrivals,
    verdict: Verdict,
    violations: Vec<Violation>,
    /// The violation that reported a block.
    reported: FxHashMap<BlockKey, usize>,
    /// What the current operation has closed so far.
    closed: ClosedCycles,
}

/// Which blocks of the source count as the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum BlockKey {
    Label(LabelId),
    /// A block without a name is known by its place.
    Site(SiteId),
    /// A cycle without blame, by the key of the transaction that closed it.
    Unblamed(LabelId, SiteId),
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// Open blocks, outermost first.
    stack: Vec<OpenBlock>,
    /// Columns, in `blocks`, of those of them that are not refuted.
    unrefuted: Mask,
    /// Column, in `transactions`, of the open transaction.
    column: u32,
    /// The open transaction has closed a cycle already.
    cyclic: bool,
    last: Option<Access>,
    /// The fork of this thread, until its first operation.
    forked_by: Option<Access>,
}

#[derive(Clone, Copy, Debug)]
struct OpenBlock {
    block: Block,
    column: u32,
}

/// The last accesses of a variable, or of a lock (which acquire and release write).
#[derive(Clone, Debug, Default)]
struct Location {
    writer: Option<Access>,
    /// The last read of each thread since then.
    readers: SmallVec<[Access; 1]>,
}

#[derive(Debug, Default)]
struct ClosedCycles {
    /// A conflict that closes a cycle of transactions.
    cycle: Option<Hop>,
    /// Refuted blocks with the conflict that refutes them.
    refuted: Vec<(u32, Hop)>,
}

impl Default for Velodrome {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            vars: Vec::new(),
            locks: Vec::new(),
            transactions: Arrivals::default(),
            blocks: Arrivals::default(),
            verdict: Verdict::Serializable,
            violations: Vec::new(),
            reported: FxHashMap::default(),
            closed: ClosedCycles::default(),
        }
    }
}

impl Checker for Velodrome {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        for (i, event) in batch.iter().enumerate() {
            if event.op.is_conflicting() {
                self.event(EventIdx(first.0 + i as u64), event);
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) -> Outcome {
        Outcome {
            verdict: self.verdict,
            violations: std::mem::take(&mut self.violations),
            warnings: Vec::new(),
        }
    }
}

impl Velodrome {
    pub fn new() -> Self {
        Self::default()
    }

    fn event(&mut self, at: EventIdx, event: &Event) {
        self.grow_threads(event.thread);
        if let Op::Begin { label, .. } = event.op {
            self.begin(event.thread, Block { label, site: event.site, begin: at });
        }
        let me = Access { at, event: *event, txn: self.transaction(at, event) };
        if let Some(fork) = self.threads[me.thread()].forked_by.take() {
            self.edge(&fork, &me, EdgeKind::Fork);
        }
        match event.op {
            Op::Read { var, .. } => self.read(&me, var.index(), EdgeKind::Variable(var)),
            Op::Write { var, .. } => self.write(&me, var.index(), EdgeKind::Variable(var)),
            Op::Acquire { lock, hold: Hold::Shared } | Op::Release { lock, hold: Hold::Shared } => {
                self.read(&me, lock.index(), EdgeKind::Lock(lock));
            }
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Wait { lock }
            | Op::Resume { lock } => self.write(&me, lock.index(), EdgeKind::Lock(lock)),
            Op::Fork { child } => self.fork(&me, child),
            Op::Join { child } => self.join(&me, child),
            _ => {}
        }
        self.threads[me.thread()].last = Some(me);
        if self.closed.cycle.is_some() || !self.closed.refuted.is_empty() {
            self.report(&me);
        }
        if let Op::End { .. } = event.op {
            self.end(event.thread);
        }
    }

    #[inline]
    fn grow_threads(&mut self, thread: ThreadId) {
        if thread.index() >= self.threads.len() {
            let len = thread.index() + 1;
            self.threads.resize(len, Thread::default());
            self.transactions.grow_threads(len);
            self.blocks.grow_threads(len);
        }
    }

    /// The transaction that an operation at `at` belongs to.
    #[inline]
    fn transaction(&self, at: EventIdx, event: &Event) -> Txn {
        match self.threads[event.thread.index()].stack.first() {
            Some(OpenBlock { block, .. }) => {
                Txn { begin: block.begin, label: block.label, site: block.site }
            }
            None => Txn { begin: at, label: LabelId::NONE, site: event.site },
        }
    }

    fn begin(&mut self, thread: ThreadId, block: Block) {
        let state = &mut self.threads[thread.index()];
        if state.stack.is_empty() {
            state.column = self.transactions.open(thread, block.begin);
            state.cyclic = false;
        }
        let column = self.blocks.open(thread, block.begin);
        state.unrefuted.insert(column as usize);
        state.stack.push(OpenBlock { block, column });
    }

    fn end(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        let Some(OpenBlock { column, .. }) = state.stack.pop() else {
            return; // only in traces that are not well-formed: an end without its begin
        };
        state.unrefuted.remove(column as usize);
        self.blocks.close(thread, column);
        if state.stack.is_empty() {
            self.transactions.close(thread, state.column);
        }
    }

    fn locations(&mut self, why: EdgeKind) -> &mut Vec<Location> {
        if let EdgeKind::Lock(_) = why { &mut self.locks } else { &mut self.vars }
    }

    #[inline]
    fn location(&mut self, index: usize, why: EdgeKind) -> &mut Location {
        let locations = self.locations(why);
        if index >= locations.len() {
            locations.resize(index + 1, Location::default());
        }
        &mut locations[index]
    }

    fn read(&mut self, me: &Access, index: usize, why: EdgeKind) {
        if let Some(writer) = self.location(index, why).writer {
            self.edge(&writer, me, why);
        }
        let readers = &mut self.location(index, why).readers;
        if let Some(mine) = readers.iter_mut().find(|r| r.event.thread == me.event.thread) {
            *mine = *me;
            return;
        }
        if readers.len() == readers.capacity() {
            let mut all = std::mem::take(readers);
            all.retain(|r| self.may_be_alive(r));
            self.location(index, why).readers = all;
        }
        self.location(index, why).readers.push(*me);
    }

    fn write(&mut self, me: &Access, index: usize, why: EdgeKind) {
        let location = self.location(index, why);
        let before = location.writer.replace(*me);
        if let Some(writer) = before {
            self.edge(&writer, me, why);
        }
        if !self.location(index, why).readers.is_empty() {
            for reader in std::mem::take(&mut self.location(index, why).readers) {
                self.edge(&reader, me, why);
            }
        }
    }

    /// Whether an open block may reach the access. Both matrices count: an edge that closed a cycle
    /// is only in the one over operations.
    #[inline]
    fn may_be_alive(&self, access: &Access) -> bool {
        self.transactions.may_be_alive(access.thread(), access.txn.begin)
            || self.blocks.may_be_alive(access.thread(), access.at)
    }

    fn fork(&mut self, me: &Access, child: ThreadId) {
        self.grow_threads(child);
        if child != me.event.thread {
            self.threads[child.index()].forked_by = Some(*me);
        }
    }

    fn join(&mut self, me: &Access, child: ThreadId) {
        if let Some(last) = self.threads.get(child.index()).and_then(|thread| thread.last) {
            self.edge(&last, me, EdgeKind::Join);
        }
    }

    /// The operation `to` comes after the conflicting operation `from`.
    #[inline]
    fn edge(&mut self, from: &Access, to: &Access, why: EdgeKind) {
        let (source, t) = (from.thread(), to.thread());
        if source == t {
            return;
        }
        let theirs = self.transactions.known(source);
        let thread = &self.threads[t];
        let open = !thread.stack.is_empty();
        if self.transactions.may_be_alive(source, from.txn.begin)
            && (theirs.exceeds(self.transactions.known(t))
                || open && theirs.contains(thread.column as usize))
        {
            self.order_transactions(&Hop { from: *from, to: *to, why });
        }
        let theirs = self.blocks.known(source);
        if self.blocks.may_be_alive(source, from.at)
            && (theirs.exceeds(self.blocks.known(t)) || theirs.meets(&self.threads[t].unrefuted))
        {
            self.order_operations(&Hop { from: *from, to: *to, why });
        }
    }

    /// Transactions: notes a cycle, or makes `hop.to` inherit all that reaches `hop.from`.
    fn order_transactions(&mut self, hop: &Hop) {
        let (source, t) = (hop.from.thread(), hop.to.thread());
        let position = hop.from.txn.begin;
        let open = !self.threads[t].stack.is_empty();
        let column = self.threads[t].column;
        if open && self.transactions.is_after(source, column, position) {
            self.closed.cycle.get_or_insert(*hop);
            return;
        }
        let fresh = self.transactions.known(source).select(self.transactions.known(t), false);
        let arrival = Arrival { since: hop.to.txn.begin, hop: Some(*hop) };
        let mut gained: SmallVec<[u32; 8]> = SmallVec::new();
        for u in fresh {
            if self.transactions.is_after(source, u, position) {
                self.transactions.learn(t, u, arrival);
                gained.push(u);
            }
        }
        if gained.is_empty() {
            self.transactions.raise_alive_from(source);
        } else if open {
            self.transactions.spread(column, &gained);
        }
    }

    /// Operations: notes refuted blocks, and makes `hop.to` hear of all that `hop.from` heard of.
    fn order_operations(&mut self, hop: &Hop) {
        let (source, t) = (hop.from.thread(), hop.to.thread());
        for block in self.blocks.known(source).select(&self.threads[t].unrefuted, true) {
            if self.blocks.is_after(source, block, hop.from.at) {
                self.threads[t].unrefuted.remove(block as usize);
                self.closed.refuted.push((block, *hop));
            }
        }
        let arrival = Arrival { since: hop.to.at, hop: Some(*hop) };
        let mut gained = false;
        for block in self.blocks.known(source).select(self.blocks.known(t), false) {
            if self.blocks.is_after(source, block, hop.from.at) {
                self.blocks.learn(t, block, arrival);
                gained = true;
            }
        }
        if !gained {
            self.blocks.raise_alive_from(source);
        }
    }

    /// Turns what the operation `me` has closed into a violation.
    #[cold]
    fn report(&mut self, me: &Access) {
        let closed = std::mem::take(&mut self.closed);
        if !self.verdict.is_violation() {
            debug_assert!(closed.cycle.is_some(), "an increasing path is a path");
            self.verdict = Verdict::NotSerializable { at: me.at, thread: me.event.thread };
        }
        if closed.refuted.is_empty() {
            self.report_unblamed(closed.cycle, me);
        } else {
            self.report_refuted(&closed.refuted, me.thread());
        }
        self.threads[me.thread()].cyclic = true;
    }

    fn report_unblamed(&mut self, cycle: Option<Hop>, me: &Access) {
        let Some(hop) = cycle else { return };
        if self.threads[me.thread()].cyclic {
            return; // the transaction has been reported already, perhaps with blame
        }
        let key = BlockKey::Unblamed(me.txn.label, me.txn.site);
        if let Some(&known) = self.reported.get(&key) {
            self.violations[known].occurrences += 1;
            return;
        }
        let path = path(&self.transactions, self.threads[me.thread()].column, &hop);
        self.add_violation(cycle_of(&path), Vec::new(), &[key]);
    }

    fn report_refuted(&mut self, refuted: &[(u32, Hop)], t: usize) {
        let hops: FxHashMap<u32, Hop> = refuted.iter().copied().collect();
        let mut news = Vec::new();
        let mut keys = Vec::new();
        let mut is_news = FxHashSet::default();
        let mut innermost = None;
        for OpenBlock { block, column } in &self.threads[t].stack {
            let Some(&hop) = hops.get(column) else { continue };
            let key = match block.label {
                LabelId::NONE => BlockKey::Site(block.site),
                label => BlockKey::Label(label),
            };
            if let Some(&known) = self.reported.get(&key) {
                self.violations[known].occurrences += 1;
            } else if is_news.insert(key) {
                news.push(*block);
                keys.push(key);
                innermost = Some((*column, hop));
            }
        }
        if let Some((column, hop)) = innermost {
            let path = path(&self.blocks, column, &hop);
            self.add_violation(cycle_of(&path), news, &keys);
        }
    }

    fn add_violation(&mut self, cycle: Cycle, refuted: Vec<Block>, keys: &[BlockKey]) {
        for &key in keys {
            self.reported.insert(key, self.violations.len());
        }
        self.violations.push(Violation { cycle, refuted, occurrences: 1 });
    }
}

/// The conflicts that lead from the block of `column` back to it, the last one being `closing`.
fn path(arrivals: &Arrivals, column: u32, closing: &Hop) -> Vec<Hop> {
    let home = closing.to.thread();
    let mut path = vec![*closing];
    let mut from = closing.from;
    while from.thread() != home {
        let Some(hop) = arrivals.cell(from.thread(), column).hop else {
            unreachable!("only the block's own thread heard of it without a conflict")
        };
        path.push(hop);
        from = hop.from;
    }
    path.reverse();
    path
}

/// Lays the transactions between the conflicts of a path. Where a thread is entered in one
/// transaction and left in a later one, program order joins the two.
fn cycle_of(path: &[Hop]) -> Cycle {
    let mut cycle = Cycle { transactions: Vec::new(), edges: Vec::new() };
    for (i, hop) in path.iter().enumerate() {
        if i > 0 {
            let entered = &path[i - 1].to;
            if entered.txn != hop.from.txn {
                cycle.transactions.push(transaction(entered));
                cycle.edges.push(Edge {
                    from: step(entered),
                    to: step(&hop.from),
                    why: EdgeKind::ProgramOrder,
                });
            }
        }
        cycle.transactions.push(transaction(&hop.from));
        cycle.edges.push(Edge { from: step(&hop.from), to: step(&hop.to), why: hop.why });
    }
    cycle
}

fn step(access: &Access) -> Step {
    Step { at: access.at, event: access.event }
}

fn transaction(access: &Access) -> Transaction {
    let Txn { begin, label, site } = access.txn;
    let is_block = begin != access.at || matches!(access.event.op, Op::Begin { .. });
    Transaction {
        thread: access.event.thread,
        block: is_block.then_some(Block { label, site, begin }),
    }
}
