//! Running blocks one after the other, forwards and backwards.

use smallvec::SmallVec;

use crate::core::Core;
use crate::ids::{Class, Node};
use crate::order::Order;

/// A prefix of a serial order, and the memory after it.
#[derive(Debug)]
pub struct Replay<'a> {
    pub core: &'a Core,
    /// Orders to keep: those of the core, and what else is known to hold.
    order: &'a Order,
    done: Vec<u64>,
    /// How many nodes of each chain have run.
    pub next: Vec<u32>,
    /// The value of each slot.
    pub memory: Vec<Class>,
    /// Reads of each value yet to run, and of each slot; blocks yet to run that leave the value.
    reads_left: Vec<u32>,
    slot_reads_left: Vec<u32>,
    sources_left: Vec<u32>,
    /// The nodes that have run, with the chain of each.
    pub executed: Vec<(Node, u32)>,
    /// Overwritten values, to go back.
    overwritten: Vec<Class>,
}

/// The effect of running a node now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outlook {
    /// It cannot run now: something must run before it, or its reads would differ.
    Blocked,
    /// It writes nothing that will be read.
    Harmless,
    /// It overwrites values that so many reads still need.
    Overwrites(u32),
    /// It overwrites a value that a read still needs and no block can write again.
    Fatal,
}

/// Which block to try first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preference {
    /// That which comes first in the guessed order.
    Guess,
    /// That which destroys the fewest values still to be read.
    Frugal,
}

/// Chains that can continue, with their priorities: the best last.
pub type Choices = SmallVec<[(u32, u32, u32); 8]>;

impl<'a> Replay<'a> {
    pub fn new(core: &'a Core, order: &'a Order) -> Self {
        let mut new = Self {
            core,
            order,
            done: vec![0; core.nodes().div_ceil(64)],
            next: vec![0; core.chains.len()],
            memory: core.slots.iter().map(|slot| slot.initial).collect(),
            reads_left: vec![0; core.values.len()],
            slot_reads_left: vec![0; core.slots.len()],
            sources_left: vec![0; core.values.len()],
            executed: Vec::with_capacity(core.nodes()),
            overwritten: Vec::new(),
        };
        new.done[0] |= 1; // the virtual first block
        for need in &core.needs {
            new.reads_left[need.class.index()] += 1;
            new.slot_reads_left[need.slot as usize] += 1;
        }
        for node in (1..core.nodes()).map(Node::new) {
            for class in core.acts(node).iter().filter_map(|act| act.fin) {
                new.sources_left[class.index()] += 1;
            }
        }
        new
    }

    pub fn is_complete(&self) -> bool {
        self.executed.len() + 1 == self.core.nodes()
    }

    /// The next node of a chain.
    pub fn front(&self, chain: usize) -> Option<Node> {
        self.core.chains[chain].get(self.next[chain] as usize).copied()
    }

    pub fn outlook(&self, node: Node) -> Outlook {
        let before = self.order.before(node);
        if before.iter().zip(&self.done).any(|(before, done)| before & !done != 0) {
            return Outlook::Blocked;
        }
        let (mut lost, mut fatal, mut changes) = (0, false, false);
        for act in self.core.acts(node) {
            let slot = act.slot as usize;
            let now = self.memory[slot];
            let wild = self.core.slots[slot].wild;
            if act.ext.is_some_and(|needed| needed != now && wild != Some(now)) {
                return Outlook::Blocked;
            }
            let Some(fin) = act.fin else { continue };
            // Even a write of the same value may be needed later, to bring it back.
            changes |= self.slot_reads_left[slot] > u32::from(act.ext.is_some());
            if fin == now {
                continue;
            }
            let own = u32::from(act.ext == Some(now));
            let readers = self.reads_left[now.index()] - own;
            if readers > 0 {
                lost += readers;
                let back = self.sources_left[now.index()] > 0
                    || wild.is_some_and(|wild| {
                        self.sources_left[wild.index()] > 0 || fin == wild || now == wild
                    });
                fatal |= !back;
            }
        }
        match (fatal, changes) {
            (true, _) => Outlook::Fatal,
            (false, false) => Outlook::Harmless,
            (false, true) => Outlook::Overwrites(lost),
        }
    }

    /// Runs the next node of a chain; its outlook must not be `Blocked`.
    pub fn run(&mut self, chain: usize) {
        let Some(node) = self.front(chain) else { return };
        for act in self.core.acts(node) {
            if let Some(class) = act.ext {
                self.reads_left[class.index()] -= 1;
                self.slot_reads_left[act.slot as usize] -= 1;
            }
            if let Some(class) = act.fin {
                self.sources_left[class.index()] -= 1;
                self.overwritten.push(self.memory[act.slot as usize]);
                self.memory[act.slot as usize] = class;
            }
        }
        self.done[node.index() / 64] |= 1 << (node.index() % 64);
        self.next[chain] += 1;
        self.executed.push((node, chain as u32));
    }

    /// Takes back nodes until only `count` have run.
    pub fn back_to(&mut self, count: usize) {
        while self.executed.len() > count {
            let Some((node, chain)) = self.executed.pop() else { return };
            for act in self.core.acts(node).iter().rev() {
                if let Some(class) = act.fin {
                    self.sources_left[class.index()] += 1;
                    let before = self.overwritten.pop();
                    self.memory[act.slot as usize] = before.unwrap_or(class);
                }
                if let Some(class) = act.ext {
                    self.reads_left[class.index()] += 1;
                    self.slot_reads_left[act.slot as usize] += 1;
                }
            }
            self.done[node.index() / 64] &= !(1 << (node.index() % 64));
            self.next[chain as usize] -= 1;
        }
    }

    /// Runs everything that is harmless. If some serial order continues from here, then also one that begins
    /// with a block that can run now and writes nothing that is still read: pulling it to the
    /// front changes nothing for others.
    pub fn run_harmless(&mut self) {
        let mut progress = true;
        while progress {
            progress = false;
            for chain in 0..self.core.chains.len() {
                while let Some(node) = self.front(chain) {
                    if self.outlook(node) != Outlook::Harmless {
                        break;
                    }
                    self.run(chain);
                    progress = true;
                }
            }
        }
    }

    /// The chains that can continue.
    pub fn choices(&self, preference: Preference) -> Choices {
        let mut found = Choices::new();
        for chain in 0..self.core.chains.len() {
            let Some(node) = self.front(chain) else { continue };
            if let Outlook::Overwrites(lost) = self.outlook(node) {
                let rank = self.core.rank[node.index()];
                found.push(match preference {
                    Preference::Guess => (rank, lost, chain as u32),
                    Preference::Frugal => (lost, rank, chain as u32),
                });
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// What determines the continuations: which blocks have run, and the memory as far as it will be read.
    pub fn key(&self, key: &mut Vec<u32>) {
        key.clear();
        key.extend_from_slice(&self.next);
        for (slot, class) in self.memory.iter().enumerate() {
            key.push(if self.slot_reads_left[slot] == 0 { u32::MAX } else { class.0 });
        }
    }
}
