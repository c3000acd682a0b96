//! Control dependence.
//!
//! Paper: Ferrante, Ottenstein and Warren, *The program dependence graph and its use in
//! optimization*, TOPLAS 1987. A node depends on a branch if one way out of the branch leads to the
//! node for certain and another may avoid it. Deviations: none; loops without end are made to end
//! first ([`crate::dominators::to_exit`]).
//!
//! Promise: exact with respect to the graph. The tests compare with the definition.

use crate::dominators::Dominators;
use crate::graph::Graph;
use crate::ids::Node;

/// On which branches each node depends directly.
#[derive(Clone, Debug)]
pub struct ControlDependence {
    branches: Vec<Vec<Node>>,
}

impl ControlDependence {
    /// `post` are the post-dominators of `graph`; only nodes that are `reached` count.
    pub fn new(graph: &Graph, reached: &[bool], post: &Dominators) -> Self {
        let mut branches = vec![Vec::new(); graph.len()];
        for branch in graph.nodes().filter(|node| reached[node.at()]) {
            let stop = post.parent(branch);
            for &to in graph.succs(branch) {
                let mut node = Some(to).filter(|&to| !post.dominates(to, branch) || to == branch);
                while let Some(found) = node.filter(|&found| Some(found) != stop) {
                    let list: &mut Vec<Node> = &mut branches[found.at()];
                    if list.last() != Some(&branch) {
                        list.push(branch);
                    }
                    node = post.parent(found);
                }
            }
        }
        Self { branches }
    }

    pub fn branches(&self, node: Node) -> &[Node] {
        &self.branches[node.at()]
    }
}
