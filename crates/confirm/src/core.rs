//! The problem that is left when all that cannot matter is gone.
//!
//! Variables are dropped whose reads come out right in every order that keeps the threads' own:
//! those of one thread, those that no block reads from outside, those that have only one value.
//! Blocks that touch none of the rest are dropped; what they order stays ordered. Both keep the
//! answer exactly.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use untorn_trace::{ThreadId, VarId};

use crate::blocks::Extract;
use crate::ids::{BlockId, Class, NeedId, Node, Slot};
use crate::order::Order;
use crate::own_read::{Net, Nets};
use crate::rows::Rows;
use crate::structure::topological;
use crate::values::SymbolicValue;

/// What a symbol is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// Equal to itself only. A serial order found so is one whatever the unknown values are.
    Strict,
    /// Equal to whatever helps. If no serial order is found so, there is none whatever they are.
    Loose,
}

/// What a node does to a variable.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    /// Which variable of the core.
    pub slot: u32,
    /// The value that it must find.
    pub ext: Option<Class>,
    /// The value that it leaves, and where it wrote it.
    pub fin: Option<Class>,
    pub fin_at: u32,
}

/// A read that another block has to serve.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    pub node: Node,
    pub slot: u32,
    pub class: Class,
    pub at: u32,
    /// Whether the block also writes the variable.
    pub updates: bool,
}

/// A variable that matters.
#[derive(Clone, Copy, Debug)]
pub struct CoreSlot {
    pub var: VarId,
    pub slot: Slot,
    pub initial: Class,
    /// The class of all unknown values, which serves every read; loose reading only.
    pub wild: Option<Class>,
}

#[derive(Debug)]
pub struct Core {
    /// The transaction of each node; the first entry means nothing. Ascending nodes keep the
    /// order of threads, forks and joins.
    pub blocks: Vec<BlockId>,
    /// The acts of node `n` are `acts[first_act[n]..first_act[n + 1]]`.
    acts: Vec<Act>,
    first_act: Vec<u32>,
    pub slots: Vec<CoreSlot>,
    /// The value of each class.
    pub values: Vec<SymbolicValue>,
    pub needs: Vec<Need>,
    /// The needs of blocks that also write the variable: those of slot `s` are
    /// `updates[first_update[s]..first_update[s + 1]]`.
    pub updates: Vec<NeedId>,
    pub first_update: Vec<u32>,
    /// By slot and by class: the nodes that leave a value there, and that value.
    pub writers: Rows,
    pub sources: Rows,
    /// The nodes of each thread in its order.
    pub chains: Vec<Vec<Node>>,
    /// What every serial order keeps.
    pub order: Order,
    /// A first guess at a serial order, once [`Core::guess`] was given one.
    pub rank: Vec<u32>,
}

impl Core {
    /// The core of the problem, or of its projection to the variables that `counts` names.
    pub fn new(
        extract: &Extract,
        nets: &Nets,
        reading: Reading,
        counts: impl Fn(Slot) -> bool,
    ) -> Self {
        let relevant = relevant(extract, nets, reading);
        let numbers = numbers(|slot| relevant[slot.index()] && counts(slot), relevant.len());
        let mut builder = Builder::new(extract, reading, &numbers);
        builder.nodes(extract, nets);
        builder.finish(extract)
    }

    pub fn nodes(&self) -> usize {
        self.blocks.len()
    }

    pub fn acts(&self, node: Node) -> &[Act] {
        let at = node.index();
        &self.acts[self.first_act[at] as usize..self.first_act[at + 1] as usize]
    }

    pub fn need(&self, need: NeedId) -> &Need {
        &self.needs[need.index()]
    }

    fn group_updates(&mut self) {
        let mut updates: Vec<NeedId> =
            (0..self.needs.len()).map(NeedId::new).filter(|&id| self.need(id).updates).collect();
        updates.sort_by_key(|&id| self.need(id).slot);
        self.first_update = vec![0; self.slots.len() + 1];
        for &id in &updates {
            self.first_update[self.needs[id.index()].slot as usize + 1] += 1;
        }
        for slot in 1..self.first_update.len() {
            self.first_update[slot] += self.first_update[slot - 1];
        }
        self.updates = updates;
    }

    /// Takes an order of all blocks as the first guess at a serial order.
    pub fn guess(&mut self, order: &[BlockId]) {
        let mut place = vec![0_u32; order.len()];
        for (i, block) in order.iter().enumerate() {
            place[block.index()] = i as u32;
        }
        for node in 1..self.nodes() {
            self.rank[node] = place[self.blocks[node].index()];
        }
    }

    /// What the node does to a variable of the core.
    pub fn act(&self, node: Node, slot: u32) -> Option<&Act> {
        self.acts(node).iter().find(|act| act.slot == slot)
    }
}

const DROPPED: u32 = u32::MAX;

/// For each variable whether it matters.
pub fn relevant(extract: &Extract, nets: &Nets, reading: Reading) -> Vec<bool> {
    #[derive(Clone, Copy, Default)]
    struct TraceFacts {
        read: bool,
        differs: bool,
    }
    let memory = &extract.memory;
    let mut facts = vec![TraceFacts::default(); memory.variables.len()];
    for net in &nets.nets {
        let initial = memory.resolve(memory.variables[net.slot.index()].initial);
        let own = &mut facts[net.slot.index()];
        if let Some((val, _)) = net.ext {
            own.read |= reading == Reading::Strict || val.known().is_some();
            own.differs |= val != initial;
        }
        own.differs |= net.fin.is_some_and(|(val, _)| val != initial);
    }
    facts.iter().map(|facts| facts.read && facts.differs).collect()
}

/// For each variable its number in the core, or `DROPPED`.
fn numbers(mut counts: impl FnMut(Slot) -> bool, variables: usize) -> Vec<u32> {
    let mut next = 0;
    let number = |i: usize| {
        if !counts(Slot::new(i)) {
            return DROPPED;
        }
        next += 1;
        next - 1
    };
    (0..variables).map(number).collect()
}

struct Builder<'a> {
    numbers: &'a [u32],
    reading: Reading,
    /// The node of each block, or `DROPPED`.
    node_of: Vec<u32>,
    topological: Vec<BlockId>,
    classes: FxHashMap<(u32, SymbolicValue), Class>,
    core: Core,
}

impl<'a> Builder<'a> {
    fn new(extract: &Extract, reading: Reading, numbers: &'a [u32]) -> Self {
        let memory = &extract.memory;
        let core = Core {
            blocks: vec![BlockId(DROPPED)],
            acts: Vec::new(),
            first_act: vec![0],
            slots: Vec::new(),
            values: Vec::new(),
            needs: Vec::new(),
            updates: Vec::new(),
            first_update: Vec::new(),
            writers: Rows::default(),
            sources: Rows::default(),
            chains: Vec::new(),
            order: Order::default(),
            rank: Vec::new(),
        };
        let mut builder = Self {
            numbers,
            reading,
            node_of: vec![DROPPED; extract.blocks.len()],
            topological: topological(extract.blocks.len(), &extract.edges),
            classes: FxHashMap::default(),
            core,
        };
        for (i, variable) in memory.variables.iter().enumerate() {
            if numbers[i] == DROPPED {
                continue;
            }
            let slot = numbers[i];
            let var = variable.var;
            builder.core.slots.push(CoreSlot {
                var,
                slot: Slot::new(i),
                initial: Class(0),
                wild: None,
            });
            let initial = builder.class(slot, memory.resolve(variable.initial));
            builder.core.slots[slot as usize].initial = initial;
            builder.core.acts.push(Act { slot, ext: None, fin: Some(initial), fin_at: 0 });
        }
        builder.core.first_act.push(builder.core.acts.len() as u32);
        builder
    }

    fn class(&mut self, slot: u32, val: SymbolicValue) -> Class {
        let wild = self.reading == Reading::Loose && val.known().is_none();
        let key = if wild { SymbolicValue::Symbol(u32::MAX) } else { val };
        let Core { values, slots, .. } = &mut self.core;
        *self.classes.entry((slot, key)).or_insert_with(|| {
            values.push(val);
            let class = Class::new(values.len() - 1);
            if wild {
                slots[slot as usize].wild = Some(class);
            }
            class
        })
    }

    /// Makes a node of each block that touches a variable of the core.
    fn nodes(&mut self, extract: &Extract, nets: &Nets) {
        let mut first_net = vec![u32::MAX; extract.blocks.len()];
        for (i, net) in nets.nets.iter().enumerate().rev() {
            first_net[net.block.index()] = i as u32;
        }
        for i in 0..self.topological.len() {
            let block = self.topological[i];
            let start = first_net[block.index()] as usize;
            let own = nets.nets.get(start..).unwrap_or(&[]);
            let node = Node::new(self.core.blocks.len());
            let acts = self.core.acts.len();
            for net in own.iter().take_while(|net| net.block == block) {
                self.act(node, net);
            }
            if self.core.acts.len() > acts {
                self.node_of[block.index()] = node.0;
                self.core.blocks.push(block);
                self.core.first_act.push(self.core.acts.len() as u32);
            }
        }
    }

    fn act(&mut self, node: Node, net: &Net) {
        let slot = self.numbers[net.slot.index()];
        if slot == DROPPED {
            return;
        }
        let strict = self.reading == Reading::Strict;
        let ext = net.ext.filter(|(val, _)| strict || val.known().is_some());
        if ext.is_none() && net.fin.is_none() {
            return;
        }
        let (ext, ext_at) = ext.map_or((None, 0), |(val, at)| (Some(self.class(slot, val)), at));
        let (fin, fin_at) =
            net.fin.map_or((None, 0), |(val, at)| (Some(self.class(slot, val)), at));
        self.core.acts.push(Act { slot, ext, fin, fin_at });
        if let Some(class) = ext {
            let need = Need { node, slot, class, at: ext_at, updates: fin.is_some() };
            self.core.needs.push(need);
        }
    }

    fn finish(mut self, extract: &Extract) -> Core {
        let nodes = self.core.blocks.len();
        self.core.order = self.order(extract);
        let core = &mut self.core;
        core.writers = Rows::new(core.slots.len(), nodes);
        core.sources = Rows::new(core.values.len(), nodes);
        for node in (0..nodes).map(Node::new) {
            let at = node.index();
            for act in &core.acts[core.first_act[at] as usize..core.first_act[at + 1] as usize] {
                if let Some(class) = act.fin {
                    core.writers.insert(act.slot as usize, at);
                    core.sources.insert(class.index(), at);
                }
            }
        }
        core.group_updates();
        core.rank = vec![0; nodes];
        let mut chains: FxHashMap<ThreadId, usize> = FxHashMap::default();
        for node in 1..nodes {
            let thread = extract.blocks[core.blocks[node].index()].thread;
            let next = core.chains.len();
            let chain = *chains.entry(thread).or_insert(next);
            if chain == next {
                core.chains.push(Vec::new());
            }
            core.chains[chain].push(Node::new(node));
        }
        self.core
    }

    /// The order of threads, forks and joins among nodes: dropped blocks hand it on.
    fn order(&self, extract: &Extract) -> Order {
        type Few = SmallVec<[Node; 2]>;
        let mut order = Order::new(self.core.blocks.len());
        let mut before: Vec<Few> = vec![Few::new(); extract.blocks.len()];
        let incoming = Incoming::new(extract);
        for &block in &self.topological {
            let mut own = Few::new();
            for &earlier in incoming.of(block) {
                let node = self.node_of[earlier.index()];
                if node != DROPPED {
                    own.push(Node(node));
                } else {
                    own.extend_from_slice(&before[earlier.index()]);
                }
            }
            own.sort_unstable();
            own.dedup();
            let node = self.node_of[block.index()];
            if node != DROPPED {
                for &earlier in &own {
                    order.append(earlier, Node(node));
                }
                order.append(Node::START, Node(node));
            }
            before[block.index()] = own;
        }
        order.mirror();
        order
    }
}

/// The blocks directly before each block.
struct Incoming {
    first: Vec<u32>,
    from: Vec<BlockId>,
}

impl Incoming {
    fn new(extract: &Extract) -> Self {
        let mut first = vec![0_u32; extract.blocks.len() + 1];
        for (_, to) in &extract.edges {
            first[to.index() + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut from = vec![BlockId(0); extract.edges.len()];
        for &(earlier, later) in &extract.edges {
            from[next[later.index()] as usize] = earlier;
            next[later.index()] += 1;
        }
        Self { first, from }
    }

    fn of(&self, block: BlockId) -> &[BlockId] {
        let at = block.index();
        &self.from[self.first[at] as usize..self.first[at + 1] as usize]
    }
}
