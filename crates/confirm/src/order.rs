//! An order of nodes that is kept transitively closed while pairs are added.

use crate::ids::{NeedId, Node};
use crate::rows::{Rows, ones};

/// Why one node must run before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderKind {
    /// `from` is the only block that can have served the read of `to`.
    OnlySource(NeedId),
    /// `from` wrote the variable and runs before the reader, and `to` is what it read: `from` must
    /// not come in between.
    NotBetweenEarly(NeedId),
    /// `to` wrote the variable and runs after this source of `from`: it must not come in between.
    NotBetweenLate(NeedId, Node),
    /// `from` is or precedes every block that can have served the read of `to`.
    EverySource(NeedId),
    /// `to` wrote something else after every block that can have served the read of `from`.
    AfterEverySource(NeedId),
}

/// A pair that was added, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub from: Node,
    pub to: Node,
    pub why: OrderKind,
}

/// The pair would close a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cycle(pub Step);

#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Row `n`: what precedes `n`. Transposed `after`; both transitively closed and irreflexive.
    before: Rows,
    after: Rows,
    nodes: usize,
    /// Pairs added so far.
    pub added: u64,
    /// The pairs, if the caller asked for them.
    pub log: Vec<Step>,
    pub logs: bool,
}

impl Order {
    /// The order with no pair.
    pub fn new(nodes: usize) -> Self {
        let rows = Rows::new(nodes, nodes);
        Self { before: rows.clone(), after: rows, nodes, added: 0, log: Vec::new(), logs: false }
    }

    #[inline]
    pub fn has(&self, from: Node, to: Node) -> bool {
        self.after.has(from.index(), to.index())
    }

    #[inline]
    pub fn before(&self, node: Node) -> &[u64] {
        self.before.row(node.index())
    }

    #[inline]
    pub fn after(&self, node: Node) -> &[u64] {
        self.after.row(node.index())
    }

    /// Puts everything that precedes `earlier`, and it, before `later`; for nodes that are added in an
    /// order in which nothing precedes a former one. The rows `after` are made by [`Order::mirror`].
    pub fn append(&mut self, earlier: Node, later: Node) {
        self.before.include(later.index(), earlier.index());
        self.before.insert(later.index(), earlier.index());
    }

    /// Completes an order that was made by [`Order::append`].
    pub fn mirror(&mut self) {
        let Self { before, after, nodes, .. } = self;
        for later in 0..*nodes {
            for earlier in ones(before.row(later)) {
                after.insert(earlier, later);
            }
        }
    }

    /// Adds a pair and closes the order again.
    #[inline]
    pub fn add(&mut self, from: Node, to: Node, why: OrderKind) -> Result<(), Cycle> {
        if self.has(from, to) {
            return Ok(());
        }
        self.add_new(Step { from, to, why })
    }

    fn add_new(&mut self, step: Step) -> Result<(), Cycle> {
        let Step { from, to, .. } = step;
        if from == to || self.has(to, from) {
            return Err(Cycle(step));
        }
        self.added += 1;
        if self.logs {
            self.log.push(step);
        }
        let Self { before, after, .. } = self;
        let words = before.words();
        for word in 0..words {
            // A row only grows by what comes after `to`, so walking over a copy of each word is safe.
            let mut early = before.row(from.index())[word];
            if word == from.index() / 64 {
                early |= 1 << (from.index() % 64);
            }
            for node in ones(&[early]).map(|bit| word * 64 + bit) {
                if !after.has(node, to.index()) {
                    after.include(node, to.index());
                    after.insert(node, to.index());
                }
            }
            let mut late = after.row(to.index())[word];
            if word == to.index() / 64 {
                late |= 1 << (to.index() % 64);
            }
            for node in ones(&[late]).map(|bit| word * 64 + bit) {
                if !before.has(node, from.index()) {
                    before.include(node, from.index());
                    before.insert(node, from.index());
                }
            }
        }
        Ok(())
    }

    /// Becomes a copy without the log, keeping its own allocations.
    pub fn copy_from(&mut self, other: &Self) {
        self.before.copy_from(&other.before);
        self.after.copy_from(&other.after);
        (self.nodes, self.added, self.logs) = (other.nodes, other.added, false);
        self.log.clear();
    }
}
