//! Dominators and post-dominators.
//!
//! Paper: Cooper, Harvey and Kennedy, *A simple, fast dominance algorithm*, 2001. Deviations: the
//! tree is numbered once, so that a question takes two comparisons; a graph in which some node
//! cannot reach the exit (a loop without end) gets pseudo-edges to the exit first, see [`to_exit`].
//!
//! Not petgraph's: the analyses ask millions of times whether one node dominates another. That takes
//! two comparisons here; petgraph has no numbering of the tree and walks up through a hash map.
//!
//! Promise: exact. The tests compare with the definition (remove the node and see what can still be reached).

use crate::graph::Graph;
use crate::ids::Node;

/// The dominator tree of the nodes that can be reached from a root.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// The immediate dominator; the root's is itself, and of unreachable nodes there is none.
    parents: Vec<Option<Node>>,
    /// When a walk over the tree enters and leaves the node. `a` dominates `b` iff `a`'s stretch
    /// holds `b`'s.
    stretches: Vec<(u32, u32)>,
}

impl Dominators {
    pub fn new(graph: &Graph, root: Node) -> Self {
        let order = graph.reverse_postorder(root);
        let mut place = vec![usize::MAX; graph.len()];
        for (at, node) in order.iter().enumerate() {
            place[node.at()] = at;
        }
        let mut parents: Vec<Option<Node>> = vec![None; graph.len()];
        parents[root.at()] = Some(root);
        let mut changed = true;
        while changed {
            changed = false;
            for &node in &order[1..] {
                let known =
                    graph.preds(node).iter().copied().filter(|pred| parents[pred.at()].is_some());
                let found = known.reduce(|a, b| meet(a, b, &parents, &place));
                if found != parents[node.at()] {
                    parents[node.at()] = found;
                    changed = true;
                }
            }
        }
        let stretches = number(&order, &parents);
        Self { parents, stretches }
    }

    /// Whether every way from the root to `b` goes through `a`. False if either is unreachable.
    pub fn dominates(&self, a: Node, b: Node) -> bool {
        if self.parents[a.at()].is_none() || self.parents[b.at()].is_none() {
            return false;
        }
        let ((from, to), (enter, leave)) = (self.stretches[a.at()], self.stretches[b.at()]);
        from <= enter && leave <= to
    }

    /// The closest other dominator; none for the root and for unreachable nodes.
    pub fn parent(&self, node: Node) -> Option<Node> {
        self.parents[node.at()].filter(|&parent| parent != node)
    }
}

/// The closest node that dominates both.
fn meet(mut a: Node, mut b: Node, parents: &[Option<Node>], place: &[usize]) -> Node {
    while a != b {
        while place[a.at()] > place[b.at()] {
            a = parents[a.at()].unwrap_or(a);
        }
        while place[b.at()] > place[a.at()] {
            b = parents[b.at()].unwrap_or(b);
        }
    }
    a
}

fn number(order: &[Node], parents: &[Option<Node>]) -> Vec<(u32, u32)> {
    let mut children = vec![Vec::new(); parents.len()];
    for &node in &order[1..] {
        if let Some(parent) = parents[node.at()] {
            children[parent.at()].push(node);
        }
    }
    let mut stretches = vec![(0, 0); parents.len()];
    let mut clock = 1;
    let mut stack = vec![(order[0], 0)];
    while let Some((node, next)) = stack.last_mut() {
        if let Some(&child) = children[node.at()].get(*next) {
            *next += 1;
            stretches[child.at()].0 = clock;
            stack.push((child, 0));
        } else {
            stretches[node.at()].1 = clock;
            stack.pop();
        }
        clock += 1;
    }
    stretches
}

/// Gives every node of `order`, a reverse postorder, a way to `exit`: of those that have none, the
/// last one gets an edge, until all have one.
pub fn to_exit(graph: &mut Graph, order: &[Node], exit: Node) {
    let mut ends = graph.reversed().reachable(exit);
    for &node in order.iter().rev() {
        if ends[node.at()] {
            continue;
        }
        graph.add_edge(node, exit);
        let mut open = vec![node];
        ends[node.at()] = true;
        while let Some(node) = open.pop() {
            for &pred in graph.preds(node) {
                if !std::mem::replace(&mut ends[pred.at()], true) {
                    open.push(pred);
                }
            }
        }
    }
}

/// Post-dominators of a graph in which every node that matters reaches `exit`.
pub fn post_dominators(graph: &Graph, exit: Node) -> Dominators {
    Dominators::new(&graph.reversed(), exit)
}
