//! Orders that hold in every serial order, and what follows from them: the refuter.
//!
//! It generalises the conditions of AtomChase (Eslamimehr, Lesani, ISSRE 2015) to any number of threads and
//! variables and to initial values.
//!
//! For a read of x by block b that must find value v, the *candidates* are the blocks that leave v
//! in x, do not run after b, and have no other writer of x between them and b. In every serial order
//! one of them is the last writer of x before b: its source. Rules, to a fixpoint:
//!
//! * no candidate, or an order that would close a cycle: not atomic;
//! * S: one candidate s. s runs before b, and every other writer of x before s or after b;
//! * G: several. What is or precedes every one precedes b; a writer of x that leaves something else
//!   and runs after every one runs after b;
//! * M: blocks that read x and then write it need different sources (`lost_update`).
//!
//! Probing tries each candidate of a read as its only one; a contradiction removes it.
//!
//! Promise: each rule adds only orders that hold in every serial order, so a contradiction proves
//! that there is none. It may miss: not finding one proves nothing.

use crate::core::{Core, Need};
use crate::ids::{NeedId, Node};
use crate::lost_update::{self, LostUpdate};
use crate::order::{Cycle, Order, OrderKind};
use crate::rows::{Rows, ones, size};

/// Why there is no serial order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Contradiction {
    Cycle(Cycle),
    /// No candidate is left as the source of the read.
    NoSource(NeedId),
    LostUpdate(LostUpdate),
}

impl From<Cycle> for Contradiction {
    fn from(cycle: Cycle) -> Self {
        Self::Cycle(cycle)
    }
}

/// What is known of all serial orders.
#[derive(Clone, Debug, Default)]
pub struct Saturation {
    pub order: Order,
    /// By need: its candidates. Only shrinks.
    pub candidates: Rows,
    /// A row for intermediate results.
    scratch: Vec<u64>,
}

impl Saturation {
    /// The orders from threads, forks and joins, and from the values.
    pub fn new(core: &Core) -> Self {
        let nodes = core.nodes();
        let mut candidates = Rows::new(core.needs.len(), nodes);
        for (i, need) in core.needs.iter().enumerate() {
            let row = candidates.row_mut(i);
            row.copy_from_slice(core.sources.row(need.class.index()));
            if let Some(wild) = core.slots[need.slot as usize].wild {
                unite(row, core.sources.row(wild.index()));
            }
            candidates.remove(i, need.node.index());
        }
        let scratch = vec![0; candidates.words()];
        let mut order = core.order.clone();
        order.logs = true;
        Self { order, candidates, scratch }
    }

    /// Applies all rules until nothing new follows.
    pub fn saturate(&mut self, core: &Core) -> Result<(), Contradiction> {
        lost_update::check(core, &self.candidates)?;
        self.rules(core)?;
        lost_update::check(core, &self.candidates)?;
        Ok(())
    }

    /// Rules S and G until nothing new follows.
    fn rules(&mut self, core: &Core) -> Result<(), Contradiction> {
        let needs = core.needs.len();
        let (mut at, mut quiet) = (0, 0);
        while quiet < needs {
            let added = self.order.added;
            self.rule(core, NeedId::new(at))?;
            quiet = if self.order.added == added { quiet + 1 } else { 0 };
            at = if at + 1 == needs { 0 } else { at + 1 };
        }
        Ok(())
    }

    fn rule(&mut self, core: &Core, id: NeedId) -> Result<(), Contradiction> {
        let need = core.need(id);
        self.prune(core, id, need);
        let row = self.candidates.row(id.index());
        let mut found = ones(row);
        match (found.next(), found.next()) {
            (None, _) => Err(Contradiction::NoSource(id)),
            (Some(source), None) => self.single(core, id, need, Node::new(source)),
            (Some(_), Some(_)) => self.several(core, id, need),
        }
    }

    /// Removes candidates that run after the reader or whose value another writer has
    /// overwritten before it.
    fn prune(&mut self, core: &Core, id: NeedId, need: &Need) {
        let Self { order, candidates, .. } = self;
        let row = candidates.row_mut(id.index());
        let (before, after) = (order.before(need.node), order.after(need.node));
        let writers = core.writers.row(need.slot as usize);
        for (own, after) in row.iter_mut().zip(after) {
            *own &= !after;
        }
        for word in 0..row.len() {
            for writer in ones(&[writers[word] & before[word]]) {
                let gone = order.before(Node::new(word * 64 + writer));
                for (own, gone) in row.iter_mut().zip(gone) {
                    *own &= !gone;
                }
            }
        }
    }

    /// Rule S.
    fn single(
        &mut self,
        core: &Core,
        id: NeedId,
        need: &Need,
        source: Node,
    ) -> Result<(), Contradiction> {
        let reader = need.node;
        self.order.add(source, reader, OrderKind::OnlySource(id))?;
        let writers = core.writers.row(need.slot as usize);
        for (word, &writers) in writers.iter().enumerate() {
            let others = writers & !bit(source, word) & !bit(reader, word);
            let early = others & self.order.before(reader)[word] & !self.order.before(source)[word];
            for writer in ones(&[early]).map(|bit| Node::new(word * 64 + bit)) {
                self.order.add(writer, source, OrderKind::NotBetweenEarly(id))?;
            }
            let late = others & self.order.after(source)[word] & !self.order.after(reader)[word];
            for writer in ones(&[late]).map(|bit| Node::new(word * 64 + bit)) {
                self.order.add(reader, writer, OrderKind::NotBetweenLate(id, source))?;
            }
        }
        Ok(())
    }

    /// Rule G.
    fn several(&mut self, core: &Core, id: NeedId, need: &Need) -> Result<(), Contradiction> {
        let reader = need.node;
        let Self { order, candidates, scratch } = self;
        let row = candidates.row(id.index());
        scratch.fill(u64::MAX);
        for source in ones(row).map(Node::new) {
            for (word, common) in scratch.iter_mut().enumerate() {
                *common &= order.before(source)[word] | bit(source, word);
            }
        }
        for (word, &common) in scratch.iter().enumerate() {
            let missing = common & !order.before(reader)[word];
            for early in ones(&[missing]).map(|bit| Node::new(word * 64 + bit)) {
                order.add(early, reader, OrderKind::EverySource(id))?;
            }
        }
        let writers = core.writers.row(need.slot as usize);
        scratch.copy_from_slice(writers);
        for (common, own) in scratch.iter_mut().zip(row) {
            *common &= !own;
        }
        for source in ones(row).map(Node::new) {
            for (common, after) in scratch.iter_mut().zip(order.after(source)) {
                *common &= after;
            }
        }
        for (word, &common) in scratch.iter().enumerate() {
            let missing = common & !order.after(reader)[word] & !bit(reader, word);
            for late in ones(&[missing]).map(|bit| Node::new(word * 64 + bit)) {
                order.add(reader, late, OrderKind::AfterEverySource(id))?;
            }
        }
        Ok(())
    }

    /// Leaves one candidate to a need.
    pub fn assume(&mut self, need: NeedId, source: Node) {
        self.candidates.row_mut(need.index()).fill(0);
        self.candidates.insert(need.index(), source.index());
    }

    /// Becomes a copy without the log, keeping its own allocations.
    pub fn copy_from(&mut self, other: &Self) {
        self.order.copy_from(&other.order);
        self.candidates.copy_from(&other.candidates);
        self.scratch.resize(other.scratch.len(), 0);
    }
}

/// How far probing got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Probed {
    Contradiction(Contradiction),
    /// Nothing more follows.
    Done,
    /// The budget is used up.
    Spent,
}

/// Tries each candidate of each read; needs a saturated `known`. Each trial costs one of `budget`.
pub fn probe(core: &Core, known: &mut Saturation, budget: &mut u64) -> Probed {
    let mut trial = Saturation::default();
    loop {
        let mut progress = false;
        for id in (0..core.needs.len()).map(NeedId::new) {
            let row = known.candidates.row(id.index());
            if size(row) < 2 {
                continue;
            }
            let sources: Vec<Node> = ones(row).map(Node::new).collect();
            for source in sources {
                if *budget == 0 {
                    return Probed::Spent;
                }
                *budget -= 1;
                trial.copy_from(known);
                trial.assume(id, source);
                if trial.saturate(core).is_ok() {
                    continue;
                }
                progress = true;
                known.candidates.remove(id.index(), source.index());
                if let Err(contradiction) = known.saturate(core) {
                    return Probed::Contradiction(contradiction);
                }
                if !known.candidates.has(id.index(), source.index()) && size_of(known, id) < 2 {
                    break;
                }
            }
        }
        if !progress {
            return Probed::Done;
        }
    }
}

fn size_of(known: &Saturation, need: NeedId) -> usize {
    size(known.candidates.row(need.index()))
}

#[inline]
fn bit(node: Node, word: usize) -> u64 {
    if node.index() / 64 == word { 1 << (node.index() % 64) } else { 0 }
}

#[inline]
fn unite(row: &mut [u64], other: &[u64]) {
    for (own, other) in row.iter_mut().zip(other) {
        *own |= other;
    }
}
