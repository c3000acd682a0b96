//! Groups of transactions: union-find with a count of open members, and a log of the edges found.

use std::num::NonZeroU32;

use rustc_hash::FxHashSet;

use super::{Cause, Code, Suspects};

/// A transaction, or several finished ones of one group. Valid until the next compaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct NodeId(NonZeroU32);

impl NodeId {
    fn new(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("compaction keeps the nodes few"))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Edges are numbered in the order in which they are found.
type Time = u64;

/// The time of what has not happened.
const NEVER: Time = Time::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Leads to the root of the group; the root's is itself.
    parent: NodeId,
    code: Code,
    open: bool,
    /// When it first was the source of an edge.
    gave: Time,
    /// Only at the root: how many members are open. The group is alive while it is not 0.
    open_members: u32,
    /// Only at the root: an index into `Groups::hot`, once the group has something hot.
    hot: Option<NonZeroU32>,
    /// Only at the root: all of the group's log from the first to the second time is hot already.
    scanned: (Time, Time),
    /// Only at the root: whether the log names members.
    logged: bool,
}

/// The edges of a group that a cycle may use.
#[derive(Debug, Default)]
struct SuspiciousEdges {
    suspicious: bool,
    edges: Suspects,
}

/// An edge that was found: its target, the target's code and the cause.
#[derive(Clone, Copy, Debug)]
struct FoundEdge {
    time: Time,
    member: NodeId,
    code: Code,
    cause: Option<Cause>,
}

#[derive(Debug)]
pub(super) struct Groups {
    nodes: Vec<Node>,
    now: Time,
    /// In order of time.
    log: Vec<FoundEdge>,
    /// Length of the log after the last compaction.
    log_kept: usize,
    /// By [`Node::hot`] less one; entries of dead and merged groups are taken again.
    hot: Vec<SuspiciousEdges>,
    free_hot: Vec<NonZeroU32>,
    suspects: Suspects,
    /// Below these many nodes or log entries a compaction is not worth it.
    pub(super) min_compaction: usize,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            now: 0,
            log: Vec::new(),
            log_kept: 0,
            hot: Vec::new(),
            free_hot: Vec::new(),
            suspects: Suspects::default(),
            min_compaction: 4096,
        }
    }
}

/// Where the nodes went in a compaction; `None` for members of dead groups.
pub(super) struct Moves(Vec<Option<NodeId>>);

impl Moves {
    pub(super) fn apply(&self, node: &mut Option<NodeId>) {
        *node = node.and_then(|node| self.of(node));
    }

    pub(super) fn of(&self, node: NodeId) -> Option<NodeId> {
        self.0[node.index()]
    }
}

impl Groups {
    /// A compaction visits all `places`, so there should be as many nodes to gain.
    pub(super) fn is_compaction_due(&self, places: usize) -> bool {
        let gain = self.min_compaction + if self.min_compaction > 0 { places } else { 0 };
        self.nodes.len() >= gain || self.log.len() >= gain + 2 * self.log_kept
    }

    /// Nodes and log entries.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.nodes.len(), self.log.len())
    }

    /// A new transaction, in a new group.
    pub(super) fn open(&mut self, code: Code) -> NodeId {
        let id = NodeId::new(self.nodes.len());
        self.nodes.push(Node {
            parent: id,
            code,
            open: true,
            gave: NEVER,
            open_members: 1,
            hot: None,
            scanned: (NEVER, 0),
            logged: false,
        });
        id
    }

    /// The transaction ends. Gives it back if its group is still alive.
    pub(super) fn close(&mut self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].open = false;
        let root = self.root(node);
        let state = &mut self.nodes[root.index()];
        state.open_members -= 1;
        if state.open_members > 0 {
            return Some(node);
        }
        if let Some(hot) = state.hot.take() {
            let SuspiciousEdges { suspicious, edges } = self.take_hot(hot);
            if suspicious {
                self.suspects.add(edges);
            }
        }
        None
    }

    /// Drops the newest node, which has ended and which nothing refers to.
    pub(super) fn discard(&mut self, node: NodeId) {
        let Node { parent, logged, .. } = self.nodes[node.index()];
        if node.index() + 1 == self.nodes.len() && parent == node && !logged {
            self.nodes.pop();
        }
    }

    pub(super) fn is_open(&self, node: NodeId) -> bool {
        self.nodes[node.index()].open
    }

    pub(super) fn is_alive(&mut self, node: NodeId) -> bool {
        let root = self.root(node);
        self.nodes[root.index()].open_members > 0
    }

    pub(super) fn root(&mut self, mut node: NodeId) -> NodeId {
        loop {
            let parent = self.nodes[node.index()].parent;
            if parent == node {
                return node;
            }
            let grandparent = self.nodes[parent.index()].parent;
            self.nodes[node.index()].parent = grandparent;
            node = grandparent;
        }
    }

    /// An edge was found. `from` may be over, `to` is open. Returns whether `from` can still be in a
    /// cycle.
    pub(super) fn edge(&mut self, from: NodeId, to: NodeId, cause: Option<Cause>) -> bool {
        if from == to {
            return true;
        }
        if !self.is_alive(from) {
            return false;
        }
        debug_assert!(self.is_open(to));
        self.now += 1;
        let giver = &mut self.nodes[from.index()];
        if giver.open {
            giver.gave = giver.gave.min(self.now);
        }
        let (a, b) = (self.root(from), self.root(to));
        let root = self.unite(a, b);
        let Node { code, gave, .. } = self.nodes[to.index()];
        self.log.push(FoundEdge { time: self.now, member: to, code, cause });
        self.nodes[root.index()].logged = true;
        if gave != NEVER {
            self.heat(root, gave);
            if a == b {
                self.hot_of(root).suspicious = true;
            }
        }
        true
    }

    /// Makes every edge hot that the group found since `from`.
    fn heat(&mut self, root: NodeId, from: Time) {
        let (scanned_from, scanned_to) = self.nodes[root.index()].scanned;
        let covered = scanned_from <= from && from <= scanned_to;
        let new_from = if covered { scanned_to + 1 } else { from };
        let start = self.log.partition_point(|found| found.time < new_from);
        for i in start..self.log.len() {
            let FoundEdge { member, code, cause, .. } = self.log[i];
            if self.root(member) == root {
                let edges = &mut self.hot_of(root).edges;
                edges.codes.insert(code);
                edges.causes.extend(cause);
            }
        }
        let oldest = if covered { scanned_from } else { from };
        self.nodes[root.index()].scanned = (oldest, self.now);
    }

    fn hot_of(&mut self, root: NodeId) -> &mut SuspiciousEdges {
        let Self { hot, free_hot, nodes, .. } = self;
        let id = *nodes[root.index()].hot.get_or_insert_with(|| {
            free_hot.pop().unwrap_or_else(|| {
                hot.push(SuspiciousEdges::default());
                NodeId::new(hot.len() - 1).0
            })
        });
        &mut hot[id.get() as usize - 1]
    }

    fn take_hot(&mut self, id: NonZeroU32) -> SuspiciousEdges {
        self.free_hot.push(id);
        std::mem::take(&mut self.hot[id.get() as usize - 1])
    }

    /// Makes one group of two, given by their roots.
    fn unite(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if a == b {
            return a;
        }
        // The larger log stays where it is; a transaction that just began has none.
        let (root, child) = if self.nodes[a.index()].logged { (a, b) } else { (b, a) };
        let lesser = &mut self.nodes[child.index()];
        lesser.parent = root;
        let Node { open_members, hot, logged, .. } = *lesser;
        (lesser.open_members, lesser.hot) = (0, None);
        let whole = &mut self.nodes[root.index()];
        whole.open_members += open_members;
        if logged {
            whole.scanned = (NEVER, 0);
        }
        if let Some(hot) = hot {
            let SuspiciousEdges { suspicious, edges } = self.take_hot(hot);
            let whole = self.hot_of(root);
            whole.suspicious |= suspicious;
            whole.edges.add(edges);
        }
        root
    }

    /// Keeps the open transactions, one node for all finished ones of each group alive, and of the
    /// log what a later edge can still make hot.
    pub(super) fn compact(&mut self) -> Moves {
        let moves = self.compact_nodes();
        let oldest = self.nodes.iter().filter(|n| n.open).map(|n| n.gave).min();
        let mut seen_codes: FxHashSet<(NodeId, Code)> = FxHashSet::default();
        let mut seen_causes: FxHashSet<(NodeId, Option<Cause>)> = FxHashSet::default();
        let mut log = std::mem::take(&mut self.log);
        log.reverse();
        // Newest first: only the last edge with this code, and with this cause, matters.
        log.retain_mut(|found| {
            let Some(member) = moves.of(found.member) else { return false };
            found.member = member;
            let root = self.root(member);
            let new_code = seen_codes.insert((root, found.code));
            let new_cause = seen_causes.insert((root, found.cause));
            oldest.is_some_and(|oldest| found.time >= oldest) && (new_code || new_cause)
        });
        log.reverse();
        self.log_kept = log.len();
        self.log = log;
        moves
    }

    fn compact_nodes(&mut self) -> Moves {
        let mut kept: Vec<Node> = Vec::new();
        let mut new_roots: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        for (node, new_root) in self.nodes.iter().zip(&mut new_roots) {
            if node.open_members > 0 {
                // A root's new node must not be an open transaction: an edge from a finished
                // member to that one would look like no edge at all.
                let id = NodeId::new(kept.len());
                kept.push(Node { parent: id, open: false, gave: NEVER, ..*node });
                *new_root = Some(id);
            }
        }
        let mut moves = Vec::with_capacity(self.nodes.len());
        for i in 0..self.nodes.len() {
            let root = self.root(NodeId::new(i));
            let node = self.nodes[i];
            moves.push(match new_roots[root.index()] {
                Some(parent) if node.open => {
                    let id = NodeId::new(kept.len());
                    kept.push(Node { parent, open_members: 0, hot: None, ..node });
                    Some(id)
                }
                other => other,
            });
        }
        self.nodes = kept;
        Moves(moves)
    }

    /// All suspects, those of groups that are still alive too.
    pub(super) fn suspects(&mut self) -> Suspects {
        let mut suspects = std::mem::take(&mut self.suspects);
        for SuspiciousEdges { suspicious, edges } in self.hot.drain(..) {
            if suspicious {
                suspects.add(edges);
            }
        }
        suspects
    }
}

impl Suspects {
    fn add(&mut self, other: Self) {
        self.codes.extend(other.codes);
        self.causes.extend(other.causes);
    }
}
