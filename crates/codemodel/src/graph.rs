//! Directed graphs over dense nodes, and walks over them.

use crate::ids::Node;

/// A directed graph. Edges are kept in both directions, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    succs: Vec<Vec<Node>>,
    preds: Vec<Vec<Node>>,
}

impl Graph {
    pub fn new(nodes: usize) -> Self {
        Self { succs: vec![Vec::new(); nodes], preds: vec![Vec::new(); nodes] }
    }

    pub fn len(&self) -> usize {
        self.succs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.succs.is_empty()
    }

    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.len()).map(Node::new)
    }

    pub fn add_edge(&mut self, from: Node, to: Node) {
        if !self.succs[from.at()].contains(&to) {
            self.succs[from.at()].push(to);
            self.preds[to.at()].push(from);
        }
    }

    pub fn succs(&self, node: Node) -> &[Node] {
        &self.succs[node.at()]
    }

    pub fn preds(&self, node: Node) -> &[Node] {
        &self.preds[node.at()]
    }

    /// The same graph with every edge turned round.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { succs: self.preds.clone(), preds: self.succs.clone() }
    }

    /// Which nodes can be reached from `start`, itself included.
    pub fn reachable(&self, start: Node) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut open = vec![start];
        seen[start.at()] = true;
        while let Some(node) = open.pop() {
            for &next in self.succs(node) {
                if !std::mem::replace(&mut seen[next.at()], true) {
                    open.push(next);
                }
            }
        }
        seen
    }

    /// The nodes that can be reached from `root`, each before its successors but for loops.
    pub fn reverse_postorder(&self, root: Node) -> Vec<Node> {
        let mut order = Vec::with_capacity(self.len());
        let mut seen = vec![false; self.len()];
        let mut stack = vec![(root, 0)];
        seen[root.at()] = true;
        while let Some((node, next)) = stack.last_mut() {
            if let Some(&to) = self.succs[node.at()].get(*next) {
                *next += 1;
                if !std::mem::replace(&mut seen[to.at()], true) {
                    stack.push((to, 0));
                }
            } else {
                order.push(*node);
                stack.pop();
            }
        }
        order.reverse();
        order
    }
}
