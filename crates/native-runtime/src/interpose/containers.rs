//! Maps, sets and lists of C++: the functions of its library that link and unlink their nodes.
//!
//! What else containers do is compiled into the program and seen. Of what these functions write, what has changed is
//! recorded, after they have done it: no other thread runs in between.

use std::ffi::c_void;

use super::real;
use crate::abi::stub;
use crate::probe::{self, MAX_PIECES, Piece};
use crate::sites::{self, Kind};

/// A node, by its address; 0 is none.
type Node = usize;

/// Members of a node of a tree, and their sizes: colour, parent, left, right (bits/stl_tree.h).
const TREE: [(usize, usize); 4] = [(0, 4), (PARENT, 8), (LEFT, 8), (RIGHT, 8)];
const PARENT: usize = 8;
const LEFT: usize = 16;
const RIGHT: usize = 24;

/// Members of a node of a list: next, previous (bits/stl_list.h).
const LIST: [(usize, usize); 2] = [(0, 8), (PREVIOUS, 8)];
const PREVIOUS: usize = 8;

/// No tree that fits into memory is higher.
const HIGHEST: usize = 96;

fn link(node: Node, member: usize) -> Node {
    match node {
        0 => 0,
        _ => Piece { address: node + member, size: 8 }.load() as usize,
    }
}

/// What a step may change, and what was there before.
struct Before(Vec<(Piece, u64)>);

impl Before {
    fn new(nodes: &[Node], members: &[(usize, usize)]) -> Self {
        let mut nodes: Vec<Node> = nodes.iter().copied().filter(|&node| node != 0).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let pieces = nodes.into_iter().flat_map(|node| {
            members.iter().map(move |&(offset, size)| Piece { address: node + offset, size })
        });
        Self(pieces.map(|piece| (piece, piece.load())).collect())
    }

    fn record(self, site: u32) {
        let changed = self.0.into_iter().map(|(piece, before)| (piece, before, piece.load()));
        let changed = changed.filter(|(_, before, now)| before != now).take(MAX_PIECES);
        changed.for_each(|(piece, _, now)| probe::put(site, piece, now));
    }
}

/// Does something to a container. `before` looks at what it may change.
fn change<T>(at: Node, pc: usize, before: impl FnOnce() -> Before, real: impl FnOnce() -> T) -> T {
    if !probe::is_owner() && !probe::outsider() {
        return real();
    }
    probe::settle();
    let site = sites::find(pc, Kind::Write);
    if !probe::ready(site, at, true) {
        return real();
    }
    let before = before();
    let result = real();
    before.record(site.number());
    result
}

/// A node and all above it up to the root, with what is up to two steps below them: what a rotation reaches.
fn way_up(from: Node, header: Node) -> Vec<Node> {
    let mut nodes = vec![header, link(header, PARENT), link(header, LEFT), link(header, RIGHT)];
    let mut node = from;
    for _ in 0..HIGHEST {
        if node == 0 || node == header {
            break;
        }
        for child in [link(node, LEFT), link(node, RIGHT)] {
            nodes.extend([child, link(child, LEFT), link(child, RIGHT)]);
        }
        nodes.push(node);
        node = link(node, PARENT);
    }
    nodes
}

/// The next node in order, if there is one below.
fn successor(node: Node) -> Node {
    let mut next = link(node, RIGHT);
    for _ in 0..HIGHEST {
        match link(next, LEFT) {
            0 => break,
            left => next = left,
        }
    }
    next
}

fn at(node: *mut c_void) -> Node {
    node.expose_provenance()
}

extern "C" fn tree_insert(
    left: bool,
    node: *mut c_void,
    parent: *mut c_void,
    header: *mut c_void,
    pc: usize,
) {
    let before = || {
        let mut nodes = way_up(at(parent), at(header));
        nodes.push(at(node));
        Before::new(&nodes, &TREE)
    };
    // SAFETY: as the program promises, here and below.
    let real = || unsafe {
        real::_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
            left, node, parent, header,
        );
    };
    change(at(header), pc, before, real);
}

extern "C" fn tree_erase(node: *mut c_void, header: *mut c_void, pc: usize) -> *mut c_void {
    let before = || {
        let below = match (link(at(node), LEFT), link(at(node), RIGHT)) {
            (0, _) | (_, 0) => at(node),
            _ => successor(at(node)),
        };
        Before::new(&way_up(below, at(header)), &TREE)
    };
    let real = || unsafe {
        real::_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node, header)
    };
    change(at(header), pc, before, real)
}

fn list_nodes(nodes: &[*mut c_void]) -> Before {
    let around = |&node: &*mut c_void| [at(node), link(at(node), 0), link(at(node), PREVIOUS)];
    Before::new(&nodes.iter().flat_map(around).collect::<Vec<_>>(), &LIST)
}

extern "C" fn list_hook(node: *mut c_void, position: *mut c_void, pc: usize) {
    // The new node itself has no neighbours yet.
    let before = || {
        let nodes = [at(node), at(position), link(at(position), PREVIOUS)];
        Before::new(&nodes, &LIST)
    };
    let real = || unsafe { real::_ZNSt8__detail15_List_node_base7_M_hookEPS0_(node, position) };
    change(at(position), pc, before, real);
}

extern "C" fn list_unhook(node: *mut c_void, pc: usize) {
    let real = || unsafe { real::_ZNSt8__detail15_List_node_base9_M_unhookEv(node) };
    change(at(node), pc, || list_nodes(&[node]), real);
}

extern "C" fn list_transfer(node: *mut c_void, first: *mut c_void, last: *mut c_void, pc: usize) {
    let real =
        || unsafe { real::_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(node, first, last) };
    change(at(node), pc, || list_nodes(&[node, first, last]), real);
}

stub! {
    _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_ "r8" => tree_insert;
    _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ "rdx" => tree_erase;
    _ZNSt8__detail15_List_node_base7_M_hookEPS0_ "rdx" => list_hook;
    _ZNSt8__detail15_List_node_base9_M_unhookEv "rsi" => list_unhook;
    _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_ "rcx" => list_transfer;
}
