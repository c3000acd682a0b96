//! Dominators, post-dominators and control dependence against their definitions, on random graphs.

use untorn_codemodel::control::ControlDependence;
use untorn_codemodel::dominators::{Dominators, post_dominators, to_exit};
use untorn_codemodel::graph::Graph;
use untorn_codemodel::ids::Node;
use untorn_testkit::rng::Rng;

/// Random graphs.
fn cases() -> u64 {
    untorn_testkit::cases(20_000, 400_000)
}

/// A graph with few or many edges; node 0 is the beginning and the last one the exit.
fn random(rng: &mut Rng) -> Graph {
    let nodes = rng.between(2, 12);
    let mut graph = Graph::new(nodes as usize);
    for _ in 0..rng.below(nodes * 2 + 1) {
        // Nothing leaves the exit, and nothing enters the beginning in half of the graphs.
        let from = rng.below(nodes - 1);
        let to = if rng.chance(128) { rng.below(nodes) } else { rng.between(1, nodes - 1) };
        graph.add_edge(Node(from), Node(to));
    }
    graph
}

/// Which nodes can be reached without going through `avoided`.
fn reached(graph: &Graph, from: Node, avoided: Option<Node>) -> Vec<bool> {
    let mut seen = vec![false; graph.len()];
    let mut changed = Some(from) != avoided;
    if changed {
        seen[from.at()] = true;
    }
    while std::mem::take(&mut changed) {
        for a in graph.nodes().filter(|a| seen[a.at()]).collect::<Vec<_>>() {
            for &b in graph.succs(a) {
                if Some(b) != avoided && !seen[b.at()] {
                    seen[b.at()] = true;
                    changed = true;
                }
            }
        }
    }
    seen
}

/// `a` dominates `b` iff `b` cannot be reached any more without `a`.
fn dominates(graph: &Graph, root: Node, a: Node, b: Node) -> bool {
    let whole = reached(graph, root, None);
    whole[a.at()] && whole[b.at()] && !reached(graph, root, Some(a))[b.at()]
}

#[test]
fn dominators_are_what_cannot_be_avoided() {
    let mut rng = Rng::new(1);
    for case in 0..cases() {
        let graph = random(&mut rng);
        let found = Dominators::new(&graph, Node(0));
        for a in graph.nodes() {
            for b in graph.nodes() {
                let expected = dominates(&graph, Node(0), a, b);
                assert_eq!(found.dominates(a, b), expected, "case {case}: {a:?} {b:?} {graph:?}");
            }
            // The parent is the dominator that all others dominate.
            if let Some(parent) = found.parent(a) {
                let others = graph.nodes().filter(|&other| other != a && found.dominates(other, a));
                assert!(found.dominates(parent, a) && parent != a);
                assert!(others.into_iter().all(|other| found.dominates(other, parent)));
            }
        }
    }
}

#[test]
fn every_node_ends_and_only_endless_ones_get_an_edge() {
    let mut rng = Rng::new(2);
    for case in 0..cases() {
        let graph = random(&mut rng);
        let exit = Node::new(graph.len() - 1);
        let mut ending = graph.clone();
        to_exit(&mut ending, &graph.reverse_postorder(Node(0)), exit);
        let before = graph.reversed().reachable(exit);
        let after = ending.reversed().reachable(exit);
        let whole = graph.reachable(Node(0));
        for node in graph.nodes() {
            assert!(!whole[node.at()] || after[node.at()], "case {case}: {node:?} in {graph:?}");
            if before[node.at()] {
                assert_eq!(graph.succs(node), ending.succs(node), "case {case}");
            }
        }
    }
}

/// `node` depends on `branch` iff one way out of the branch leads to it for certain and it is not
/// certain at the branch itself.
fn depends(graph: &Graph, exit: Node, node: Node, branch: Node) -> bool {
    let reversed = graph.reversed();
    let certain = |a: Node, b: Node| dominates(&reversed, exit, a, b);
    let after = graph.succs(branch).iter().any(|&next| certain(node, next));
    after && (node == branch || !certain(node, branch))
}

#[test]
fn control_dependence_is_as_defined() {
    let mut rng = Rng::new(3);
    for case in 0..cases() / 2 {
        let mut graph = random(&mut rng);
        let exit = Node::new(graph.len() - 1);
        let order = graph.reverse_postorder(Node(0));
        to_exit(&mut graph, &order, exit);
        let whole = graph.reachable(Node(0));
        let post = post_dominators(&graph, exit);
        let control = ControlDependence::new(&graph, &whole, &post);
        for branch in graph.nodes().filter(|node| whole[node.at()]) {
            for node in graph.nodes().filter(|node| whole[node.at()]) {
                let expected = depends(&graph, exit, node, branch);
                let found = control.branches(node).contains(&branch);
                assert_eq!(found, expected, "case {case}: {node:?} on {branch:?} in {graph:?}");
            }
        }
    }
}
