//! A graph that must stay acyclic while the solver adds and removes edges.
//!
//! After Pearce and Kelly (*A dynamic topological sort algorithm for directed acyclic graphs*, JEA
//! 2007): the nodes are kept in a topological order; an edge that goes forward costs nothing, an
//! edge that goes backward re-orders the nodes between its ends that depend on it. Removing edges
//! leaves the order valid, so backtracking is free.
//!
//! Deviation: an edge may carry a literal, the reason why it is there. If an edge closes a cycle, the
//! cycle with the fewest literals is searched (not just any) and becomes the conflict: short
//! conflicts are what the solver learns from.

use std::collections::VecDeque;

use batsat::theory::TheoryArg;
use batsat::{Lit, Theory, Var};

/// The literal of an edge that is always there.
const FIXED: Lit = Lit::UNDEF;

#[derive(Clone, Copy)]
struct Arc {
    to: u32,
    reason: Lit,
}

/// The graph, as a theory of the solver.
pub(super) struct Acyclic {
    after: Vec<Vec<Arc>>,
    before: Vec<Vec<u32>>,
    /// By node: its place in the topological order; a permutation.
    place: Vec<u32>,
    /// By variable: the edge that it means if true; if false, the edge goes the other way.
    edges: Vec<Option<(u32, u32)>>,
    /// Edges with a literal, in the order in which they were added.
    added: Vec<(u32, u32)>,
    /// How much of the solver's trail has been processed.
    seen: usize,
    levels: Vec<(usize, usize)>,
    marks: Vec<u32>,
    mark: u32,
    conflict: Vec<Lit>,
}

impl std::fmt::Debug for Acyclic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Acyclic({} nodes, {} edges)", self.place.len(), self.added.len())
    }
}

impl Acyclic {
    /// `nodes` nodes, at first in the order of their numbers.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            after: vec![Vec::new(); nodes],
            before: vec![Vec::new(); nodes],
            place: (0..nodes as u32).collect(),
            edges: Vec::new(),
            added: Vec::new(),
            seen: 0,
            levels: Vec::new(),
            marks: vec![0; nodes],
            mark: 0,
            conflict: Vec::new(),
        }
    }

    /// Adds an edge for good; `false` if it closes a cycle.
    pub(super) fn fix(&mut self, from: u32, to: u32) -> bool {
        if from == to || !self.make_room(from, to) {
            return false;
        }
        self.link(from, to, FIXED);
        true
    }

    /// From now on `var` means: `a` before `b`; its negation: `b` before `a`.
    pub(super) fn means(&mut self, var: Var, a: u32, b: u32) {
        let index = var.idx() as usize;
        if self.edges.len() <= index {
            self.edges.resize(index + 1, None);
        }
        self.edges[index] = Some((a, b));
    }

    pub(super) fn place(&self, node: u32) -> u32 {
        self.place[node as usize]
    }

    fn link(&mut self, from: u32, to: u32, reason: Lit) {
        self.after[from as usize].push(Arc { to, reason });
        self.before[to as usize].push(from);
    }

    fn fresh_mark(&mut self) -> u32 {
        self.mark += 1;
        self.mark
    }

    /// Re-orders the nodes so that `from` comes before `to`; `false` if `to` reaches `from`.
    fn make_room(&mut self, from: u32, to: u32) -> bool {
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if high < low {
            return true;
        }
        let mark = self.fresh_mark();
        let mut forward = vec![to];
        self.marks[to as usize] = mark;
        let mut next = 0;
        while next < forward.len() {
            for arc in &self.after[forward[next] as usize] {
                if arc.to == from {
                    return false;
                }
                if self.marks[arc.to as usize] != mark && self.place[arc.to as usize] < high {
                    self.marks[arc.to as usize] = mark;
                    forward.push(arc.to);
                }
            }
            next += 1;
        }
        let mut backward = vec![from];
        self.marks[from as usize] = mark;
        next = 0;
        while next < backward.len() {
            for &node in &self.before[backward[next] as usize] {
                if self.marks[node as usize] != mark && self.place[node as usize] > low {
                    self.marks[node as usize] = mark;
                    backward.push(node);
                }
            }
            next += 1;
        }
        self.rearrange(backward, forward);
        true
    }

    /// Reassigns the positions of all these nodes: first those of `first`, then the others.
    fn rearrange(&mut self, mut first: Vec<u32>, mut second: Vec<u32>) {
        let place = &mut self.place;
        first.sort_unstable_by_key(|&node| place[node as usize]);
        second.sort_unstable_by_key(|&node| place[node as usize]);
        first.append(&mut second);
        let mut places: Vec<u32> = first.iter().map(|&node| place[node as usize]).collect();
        places.sort_unstable();
        for (node, new) in first.into_iter().zip(places) {
            place[node as usize] = new;
        }
    }

    /// Of the ways from `start` to `goal`, the literals of one with the fewest.
    fn shortest(&mut self, start: u32, goal: u32) {
        let mark = self.fresh_mark();
        let mut from: Vec<Option<(u32, Lit)>> = vec![None; self.place.len()];
        let mut queue = VecDeque::from([(start, None)]);
        while let Some((node, reached)) = queue.pop_front() {
            if self.marks[node as usize] == mark {
                continue;
            }
            self.marks[node as usize] = mark;
            from[node as usize] = reached;
            if node == goal {
                break;
            }
            for arc in &self.after[node as usize] {
                if self.marks[arc.to as usize] == mark {
                    continue;
                }
                let step = (arc.to, Some((node, arc.reason)));
                if arc.reason == FIXED {
                    queue.push_front(step);
                } else {
                    queue.push_back(step);
                }
            }
        }
        let mut node = goal;
        while let Some((previous, reason)) = from[node as usize] {
            if reason != FIXED {
                self.conflict.push(!reason);
            }
            node = previous;
        }
    }

    /// Looks at what the solver has decided since; raises a conflict if a cycle closes.
    fn catch_up(&mut self, acts: &mut TheoryArg<'_>) {
        while let Some(&lit) = acts.model().get(self.seen) {
            self.seen += 1;
            let Some(&Some((a, b))) = self.edges.get(lit.var().idx() as usize) else { continue };
            let (from, to) = if lit.sign() { (a, b) } else { (b, a) };
            if self.make_room(from, to) {
                self.link(from, to, lit);
                self.added.push((from, to));
            } else {
                self.conflict.clear();
                self.conflict.push(!lit);
                self.shortest(to, from);
                acts.raise_conflict(&self.conflict, false);
                return;
            }
        }
    }
}

impl Theory for Acyclic {
    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.catch_up(acts);
    }

    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.catch_up(acts);
    }

    fn create_level(&mut self) {
        self.levels.push((self.seen, self.added.len()));
    }

    fn pop_levels(&mut self, n: usize) {
        let Some((seen, added)) = self.levels.drain(self.levels.len() - n..).next() else { return };
        self.seen = seen;
        // Last added, first removed: both ends are the last of their lists.
        for (from, to) in self.added.drain(added..).rev() {
            self.after[from as usize].pop();
            self.before[to as usize].pop();
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        &[] // this theory propagates nothing
    }
}
