//! Which blocks and variables are in a tangle: the conflict graph and its components.
//!
//! Nodes are transactions; an edge leads from the earlier to the later of two conflicting accesses, and
//! wherever threads, forks and joins order. Take the strongly connected components in topological order.
//!
//! *If every component is a single transaction, that order is a serial order:* each pair of conflicting
//! accesses has the order of the trace, so each read comes after the same write as in the trace.
//! More generally the components may be serialised one by one, as long as each leaves what later ones
//! read: this gives a first guess (inside of a component by the ends of blocks), which is
//! checked before it is used.
//!
//! *A component cannot be refuted on its own.* A block outside of it may write a value that a block of it
//! read, and be moved into its midst: `W w(x,0)`, then `A` and `B` each `r(x)=0 w(x,1)`, interleaved. {A, B}
//! is a component with no serial order, but A W B is one. What may be left out for refuting are whole
//! variables: a serial order of all is one of any selection. So refuting first looks at the
//! variables on which the blocks of some component conflict with each other, with all blocks that
//! touch them.
//!
//! The components are found by hand and not by petgraph, because their numbers also order components
//! that no conflict orders, and so choose the serial order that is tried and shown first. petgraph
//! promises some topological order only.

use crate::blocks::Extract;
use crate::ids::{BlockId, Slot};

/// The conflict graph, sorted.
#[derive(Debug)]
pub struct Tangle {
    /// All blocks, such that a component follows those that conflict orders before it; inside of a
    /// component by the ends of blocks.
    pub order: Vec<BlockId>,
    /// By variable of the trace: whether blocks of one component conflict on it.
    pub tangled: Vec<bool>,
}

impl Tangle {
    /// `counts` selects the variables that matter.
    pub fn new(extract: &Extract, counts: &[bool]) -> Self {
        let conflicts = conflicts(extract, counts);
        let mut edges: Vec<(BlockId, BlockId)> = extract.edges.clone();
        edges.extend(conflicts.iter().map(|&(from, to, _)| (from, to)));
        let component = components(extract.blocks.len(), &edges);
        let mut tangled = vec![false; extract.memory.variables.len()];
        for (from, to, slot) in conflicts {
            tangled[slot.index()] |= component[from.index()] == component[to.index()];
        }
        let mut order: Vec<BlockId> = (0..extract.blocks.len()).map(BlockId::new).collect();
        order.sort_by_key(|block| (component[block.index()], extract.blocks[block.index()].last));
        Self { order, tangled }
    }
}

/// Pairs of blocks with conflicting accesses on variables that matter, as few as give the same
/// reachability.
fn conflicts(extract: &Extract, counts: &[bool]) -> Vec<(BlockId, BlockId, Slot)> {
    #[derive(Clone, Default)]
    struct Last {
        writer: Option<BlockId>,
        readers: Vec<BlockId>,
    }
    let mut last = vec![Last::default(); extract.memory.variables.len()];
    let mut found = Vec::new();
    for touch in &extract.touches {
        if !counts[touch.slot.index()] {
            continue;
        }
        let own = &mut last[touch.slot.index()];
        let mut edge = |from: BlockId| {
            if from != touch.block {
                found.push((from, touch.block, touch.slot));
            }
        };
        own.writer.into_iter().for_each(&mut edge);
        if touch.writes {
            own.readers.drain(..).for_each(edge);
            own.writer = Some(touch.block);
        } else if own.readers.last() != Some(&touch.block) {
            own.readers.push(touch.block);
        }
    }
    found
}

/// For each block the number of its strongly connected component, numbered topologically
/// (Tarjan 1972, without recursion).
fn components(blocks: usize, edges: &[(BlockId, BlockId)]) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let mut first = vec![0_u32; blocks + 1];
    edges.iter().for_each(|(from, _)| first[from.index() + 1] += 1);
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut fill = first.clone();
    let mut to = vec![0_u32; edges.len()];
    for (from, later) in edges {
        to[fill[from.index()] as usize] = later.0;
        fill[from.index()] += 1;
    }
    let mut next = first.clone();
    let (mut index, mut low) = (vec![UNSEEN; blocks], vec![0_u32; blocks]);
    let mut component = vec![UNSEEN; blocks];
    let (mut stack, mut path, mut count, mut done) = (Vec::new(), Vec::new(), 0, 0);
    for root in 0..blocks {
        if index[root] == UNSEEN {
            path.push(root);
        }
        while let Some(&at) = path.last() {
            if index[at] == UNSEEN {
                (index[at], low[at]) = (count, count);
                count += 1;
                stack.push(at);
            }
            if next[at] < first[at + 1] {
                let later = to[next[at] as usize] as usize;
                next[at] += 1;
                if index[later] == UNSEEN {
                    path.push(later);
                } else if component[later] == UNSEEN {
                    low[at] = low[at].min(index[later]);
                }
                continue;
            }
            path.pop();
            if let Some(&parent) = path.last() {
                low[parent] = low[parent].min(low[at]);
            }
            if low[at] == index[at] {
                while let Some(member) = stack.pop() {
                    component[member] = done;
                    if member == at {
                        break;
                    }
                }
                done += 1;
            }
        }
    }
    // Tarjan finds components in reverse topological order.
    component.iter().map(|&own| done - 1 - own).collect()
}
