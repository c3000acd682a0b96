//! The question "is there a reordering in this zone?" as a formula: solutions are reorderings, reorderings are
//! solutions.
//!
//! For each node a variable encodes whether it is in the reordering; for pairs of nodes whose order matters
//! one encodes which comes first. A pair of critical sections that exclude each other: one ends before
//! the other begins. A read: a write of its value comes before it, and no other write between
//! them. Nodes that are not in the reordering may be anywhere; after all others is always possible,
//! so they never make a solution impossible.

use rustc_hash::FxHashMap;
use untorn_trace::{Op, VarId};

use super::formula::{Formula, Outcome, Truth};
use super::{Budget, MAX_NODES};
use crate::goal::Goal;
use crate::history::{At, ReadFrom, Section};
use crate::index::{Index, ReadConstraint, exclude_each_other};
use crate::nodes::{Node, Nodes, spell_out};
use crate::zone::Zone;

pub(super) struct Encoding<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    zone: &'i Zone,
    nodes: Nodes,
    /// The writes of each variable that have a node, in the order of the run.
    writes: FxHashMap<VarId, Vec<At>>,
    /// By node: it is in the reordering.
    inside: Vec<Truth>,
    formula: Formula,
}

impl<'i, 'a> Encoding<'i, 'a> {
    /// `None` if it would be too long.
    pub(super) fn new(
        index: &'i Index<'a>,
        goal: &'i Goal,
        zone: &'i Zone,
        budget: &Budget,
    ) -> Option<Self> {
        let nodes = Nodes::new(index, goal, zone);
        if nodes.len() > MAX_NODES {
            return None;
        }
        let mut formula = Formula::new(nodes.len(), budget);
        let inside = (0..nodes.len()).map(|_| Truth::If(formula.fresh())).collect();
        let writes = writes_of(index, &nodes);
        Some(Self { index, goal, zone, nodes, writes, inside, formula })
    }

    /// The events that follow the zone's base, if there is a reordering.
    pub(super) fn solve(mut self) -> (Outcome, Vec<At>) {
        self.threads();
        self.goal();
        self.locks();
        self.reads();
        if self.formula.is_too_much() {
            return (Outcome::Unknown, Vec::new());
        }
        match self.formula.solve() {
            Outcome::Yes => (Outcome::Yes, self.reordering()),
            other => (other, Vec::new()),
        }
    }

    fn reordering(&self) -> Vec<At> {
        let inside = |i: &usize| self.formula.holds(self.inside[*i]);
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(inside).collect();
        order.sort_unstable_by_key(|&i| self.formula.place(i as u32));
        let order: Vec<Node> = order.into_iter().map(|i| self.nodes.list[i]).collect();
        let mut steps = spell_out(self.index, &self.zone.base, &order);
        if let Some(end) = self.goal.events.last().and_then(|l| steps.iter().position(|s| s == l)) {
            steps.truncate(end + 1);
        }
        steps
    }

    /// That an event is in the reordering. Not for events on which nothing depends.
    fn is_in(&self, at: At) -> Truth {
        match self.nodes.of(at) {
            Some(node) => self.inside[node as usize],
            None if self.index.contains(&self.zone.base, at) => Truth::Always,
            None => Truth::Never,
        }
    }

    /// That both are in the reordering implies that `a` comes before `b`: what is done comes first.
    fn before(&mut self, a: At, b: At) -> Truth {
        match (self.nodes.of(a), self.nodes.of(b)) {
            (Some(a), Some(b)) => {
                let (from, to) = (self.nodes.list[a as usize], self.nodes.list[b as usize]);
                if from.thread == to.thread {
                    return if a < b { Truth::Always } else { Truth::Never };
                }
                self.formula.before(a, b)
            }
            (None, _) if self.index.contains(&self.zone.base, a) => Truth::Always,
            _ => Truth::Never,
        }
    }

    /// `then` needs `first`, and comes after it.
    fn needs(&mut self, then: At, first: At) {
        let clause = [!self.is_in(then), self.is_in(first)];
        self.formula.clause(clause);
        if let (Some(first), Some(then)) = (self.nodes.of(first), self.nodes.of(then)) {
            self.formula.fix(first, then);
        }
    }

    fn threads(&mut self) {
        let history = self.index.history;
        for i in 0..self.nodes.len() {
            let Node { at, end, thread, previous } = self.nodes.list[i];
            if let Some(previous) = previous {
                self.formula.clause([!self.inside[i], self.inside[previous as usize]]);
                self.formula.fix(previous, i as u32);
            }
            if history.nth(at) == 0
                && let Some(fork) = history.forked(thread)
            {
                self.needs(at, fork);
            }
            // A window may end inside of an update, which is indivisible unless the reordering ends there.
            if end == at
                && history.second_half(at).is_some()
                && self.goal.events.last() != Some(&at)
            {
                self.formula.clause([!self.inside[i]]);
            }
            match history.event(at).op {
                Op::Join { child } => {
                    if let Some(&last) = history.of_thread(child).last() {
                        self.needs(at, last);
                    }
                }
                Op::Resume { .. } => {
                    if let (Some(cause), Some(wait)) = (history.cause(at), history.previous(at)) {
                        self.needs(at, cause);
                        let clause = [!self.is_in(at), self.before(wait, cause)];
                        self.formula.clause(clause);
                    }
                }
                _ => {}
            }
        }
    }

    fn goal(&mut self) {
        for &at in &self.goal.events {
            let inside = self.is_in(at);
            self.formula.clause([inside]);
        }
        for pair in self.goal.events.windows(2) {
            match (self.nodes.of(pair[0]), self.nodes.of(pair[1])) {
                // The halves of an update are one node; they are in order if they are named so.
                (Some(a), Some(b)) if a == b && pair[0] < pair[1] => {}
                (Some(a), Some(b)) => self.formula.fix(a, b),
                _ => self.formula.contradict(),
            }
        }
    }

    fn locks(&mut self) {
        let sections = self.nodes.sections(self.index, self.zone);
        for (i, a) in sections.iter().enumerate() {
            for b in sections[i + 1..].iter().take_while(|b| b.lock == a.lock) {
                if exclude_each_other(a, b) && !self.formula.is_too_much() {
                    self.exclude(a, b);
                }
            }
        }
    }

    /// If both are entered, one is left before the other is entered.
    fn exclude(&mut self, a: &Section, b: &Section) {
        let (in_a, in_b) = (self.is_in(a.enter), self.is_in(b.enter));
        let a_first = self.before(a.enter, b.enter);
        self.leave_first(a, b, [!in_a, !in_b, !a_first]);
        self.leave_first(b, a, [!in_a, !in_b, a_first]);
    }

    fn leave_first(&mut self, first: &Section, then: &Section, unless: [Truth; 3]) {
        let [x, y, z] = unless;
        match first.leave {
            Some(leave) => {
                let (inside, order) = (self.is_in(leave), self.before(leave, then.enter));
                self.formula.clause([x, y, z, inside]);
                self.formula.clause([x, y, z, order]);
            }
            None => self.formula.clause(unless),
        }
    }

    fn reads(&mut self) {
        for i in 0..self.nodes.len() {
            let at = self.nodes.list[i].at;
            let Op::Read { var, .. } = self.index.history.event(at).op else { continue };
            let Some(wanted) = self.index.wanted(at) else { continue };
            let Some(counts) = self.counts(at) else { continue };
            if self.formula.is_too_much() {
                return;
            }
            self.read(at, var, wanted, counts);
        }
    }

    /// When a read must return its recorded value. `None`: never.
    fn counts(&self, read: At) -> Option<Truth> {
        if !self.goal.events.contains(&read) || self.index.history.second_half(read).is_some() {
            return Some(self.is_in(read));
        }
        // Some later event of its thread is in the reordering; the next that has a node decides.
        let own = self.nodes.of(read)?;
        let thread = self.nodes.list[own as usize].thread;
        let next =
            (own as usize + 1..self.nodes.len()).find(|&i| self.nodes.list[i].thread == thread)?;
        Some(self.inside[next])
    }

    fn read(&mut self, read: At, var: VarId, wanted: ReadConstraint, counts: Truth) {
        let history = self.index.history;
        let all = self.writes.get(&var).map_or(&[][..], Vec::as_slice).iter().copied();
        let own = history.second_half(read);
        let (good, bad): (Vec<At>, Vec<At>) = all
            .filter(|&write| Some(write) != own)
            .partition(|&write| self.index.satisfies(wanted, var, ReadFrom::Write(write)));
        let mut ways = vec![!counts];
        let at_first = self.index.last_write(var, &self.zone.base);
        if self.index.satisfies(wanted, var, at_first) {
            let way = Truth::If(self.formula.fresh());
            ways.push(way);
            for &other in &bad {
                let clause = [!way, !self.is_in(other), self.before(read, other)];
                self.formula.clause(clause);
            }
        }
        for &write in &good {
            let comes_first = self.before(write, read);
            if comes_first == Truth::Never {
                continue;
            }
            if self.formula.is_too_much() {
                return;
            }
            let way = Truth::If(self.formula.fresh());
            ways.push(way);
            let inside = self.is_in(write);
            self.formula.clause([!way, inside]);
            self.formula.clause([!way, comes_first]);
            for &other in &bad {
                let gone = [self.before(other, write), self.before(read, other)];
                self.formula.clause([!way, !self.is_in(other), gone[0], gone[1]]);
            }
        }
        self.formula.clause(ways);
    }
}

/// The writes of each variable that have a node, in the order of the run. An update is a node of two events.
fn writes_of(index: &Index<'_>, nodes: &Nodes) -> FxHashMap<VarId, Vec<At>> {
    let mut writes: FxHashMap<VarId, Vec<At>> = FxHashMap::default();
    for node in &nodes.list {
        let second = (node.end != node.at).then_some(node.end);
        for at in std::iter::once(node.at).chain(second) {
            if let Op::Write { var, .. } = index.history.event(at).op {
                writes.entry(var).or_default().push(at);
            }
        }
    }
    for list in writes.values_mut() {
        list.sort_unstable();
    }
    writes
}
