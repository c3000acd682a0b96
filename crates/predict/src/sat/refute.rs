//! A proof that there is no reordering, from a part of what every reordering contains.
//!
//! Some events are in every reordering: those of the goal and what they need for certain. Of these, the last
//! few of each thread are the nodes; what a reordering asks of them is written down, and where it speaks of
//! an event that is no node, something weaker: "before an event that is too old" becomes "before the
//! first node of its thread", "after an event that may or may not be in the reordering" becomes "after the
//! last node of its thread", and constraints that do not concern nodes are left out. Every reordering is a solution, so
//! without a solution there is no reordering. A solution means nothing.

use untorn_trace::{Op, ThreadId, VarId};

use super::formula::{Formula, Outcome, Truth};
use super::{Budget, MAX_NODES};
use crate::goal::Goal;
use crate::history::{At, ReadFrom, Section};
use crate::index::{Cut, Index, ReadConstraint, exclude_each_other};
use crate::nodes::{Node, Nodes};
use crate::rows::Row;
use crate::zone::Zone;

pub(super) struct Refutation<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    zone: Zone,
    nodes: Nodes,
    /// By thread: its first and its last node.
    ends: Vec<Option<(u32, u32)>>,
    /// By node: how many events it needs of each thread.
    rows: Vec<Row>,
    formula: Formula,
}

impl<'i, 'a> Refutation<'i, 'a> {
    /// With the last `back` certain events of each thread.
    pub(super) fn new(index: &'i Index<'a>, goal: &'i Goal, back: u32, budget: &Budget) -> Self {
        let limit = certain(index, goal);
        // With many threads, those of the goal matter most.
        let others = back.min((4 * back / limit.len().max(1) as u32).max(2));
        let mut base: Cut = limit.iter().map(|limit| limit.saturating_sub(others)).collect();
        for &at in &goal.events {
            let thread = index.history.event(at).thread.index();
            base[thread] = limit[thread].saturating_sub(back);
        }
        for &at in &goal.events {
            // A long block: its own events are worth more than what came before it.
            let (thread, nth) = (index.history.event(at).thread.index(), index.history.nth(at));
            if limit[thread] - nth <= back.saturating_mul(4) {
                base[thread] = base[thread].min(nth);
            }
        }
        let zone = Zone { base, limit, is_whole: false };
        let nodes = Nodes::new(index, goal, &zone);
        let mut ends = vec![None; zone.base.len()];
        for (i, node) in nodes.list.iter().enumerate() {
            let (first, _) = ends[node.thread.index()].unwrap_or((i as u32, 0));
            ends[node.thread.index()] = Some((first, i as u32));
        }
        let formula = Formula::new(nodes.len(), budget);
        Self { index, goal, zone, nodes, ends, rows: Vec::new(), formula }
    }

    /// Whether there is certainly no reordering.
    pub(super) fn succeeds(mut self) -> bool {
        if self.nodes.len() > MAX_NODES {
            return false;
        }
        self.needs();
        self.threads();
        self.goal();
        self.locks();
        self.reads();
        !self.formula.is_too_much() && self.formula.solve() == Outcome::No
    }

    fn is_old(&self, at: At) -> bool {
        self.index.contains(&self.zone.base, at)
    }

    fn thread_of(&self, at: At) -> ThreadId {
        self.index.history.event(at).thread
    }

    /// The node that stands in for an event as an upper bound; `None` if there is no constraint.
    fn at_or_behind(&self, at: At) -> Option<u32> {
        if self.is_old(at) {
            self.ends[self.thread_of(at).index()].map(|(first, _)| first)
        } else {
            self.nodes.of(at)
        }
    }

    /// The node that stands in for an event as a lower bound; `None` if there is no constraint.
    fn at_or_ahead(&self, at: At) -> Option<u32> {
        if self.is_old(at) {
            None
        } else if self.index.contains(&self.zone.limit, at) {
            self.nodes.of(at)
        } else {
            self.ends[self.thread_of(at).index()].map(|(_, last)| last)
        }
    }

    /// What is left of "`a` comes before `b`".
    fn before(&mut self, a: At, b: At) -> Truth {
        match (self.at_or_ahead(a), self.at_or_behind(b)) {
            (Some(a), Some(b)) => self.before_node(a, b),
            _ => Truth::Always,
        }
    }

    fn before_node(&mut self, a: u32, b: u32) -> Truth {
        let thread = |node: u32| self.nodes.list[node as usize].thread;
        if thread(a) == thread(b) {
            return if a <= b { Truth::Always } else { Truth::Never };
        }
        if self.precedes(a, b) {
            return Truth::Always;
        }
        if self.precedes(b, a) {
            return Truth::Never;
        }
        self.formula.before(a, b)
    }

    fn fix(&mut self, a: At, b: At) {
        if let (Some(a), Some(b)) = (self.at_or_ahead(a), self.at_or_behind(b))
            && a != b
        {
            self.formula.fix(a, b);
        }
    }

    /// What every node needs for certain, also by way of events that are no nodes.
    fn needs(&mut self) {
        let (index, history) = (self.index, self.index.history);
        let mut by_thread: Vec<Vec<u32>> = vec![Vec::new(); self.ends.len()];
        for (i, node) in self.nodes.list.iter().enumerate() {
            by_thread[node.thread.index()].push(i as u32);
            // A read of the goal may do without its source.
            let free = self.goal.events.contains(&node.at) && !self.goes_on(node.at);
            let from = if free { history.previous(node.at) } else { Some(node.at) };
            self.rows.push(from.map_or(Row::default(), |at| index.must().needed_by(history, at)));
        }
        let some = by_thread.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty());
        let some: Vec<_> = some.map(|(i, nodes)| (ThreadId::from_index(i), nodes)).collect();
        for &(_, nodes) in &some {
            let mut known = Row::default();
            for &i in nodes {
                let row = self.rows[i as usize];
                if known == row {
                    continue;
                }
                known = row;
                for &(thread, theirs) in &some {
                    let count = index.must().count(row, thread);
                    let nth = |&j: &u32| history.nth(self.nodes.list[j as usize].at);
                    let before = theirs.partition_point(|j| nth(j) < count);
                    if before > 0 && theirs[before - 1] != i {
                        self.formula.fix(theirs[before - 1], i);
                    }
                }
            }
        }
    }

    /// Whether node `b` needs node `a`.
    fn precedes(&self, a: u32, b: u32) -> bool {
        let Node { at, thread, .. } = self.nodes.list[a as usize];
        self.index.history.nth(at) < self.index.must().count(self.rows[b as usize], thread)
    }

    /// Whether some later event of the thread of an event is certain.
    fn goes_on(&self, at: At) -> bool {
        let nth = self.index.history.nth(at);
        nth + 1 < self.zone.limit[self.thread_of(at).index()]
    }

    fn threads(&mut self) {
        let history = self.index.history;
        for i in 0..self.nodes.len() {
            let Node { at, thread, previous, .. } = self.nodes.list[i];
            if let Some(previous) = previous {
                self.formula.fix(previous, i as u32);
            }
            if history.nth(at) == 0
                && let Some(fork) = history.forked(thread)
            {
                self.fix(fork, at);
            }
            match history.event(at).op {
                Op::Join { child } => {
                    if let Some(&last) = history.of_thread(child).last() {
                        self.fix(last, at);
                    }
                }
                Op::Resume { .. } => {
                    if let (Some(cause), Some(wait)) = (history.cause(at), history.previous(at)) {
                        self.fix(cause, at);
                        self.fix(wait, cause);
                    }
                }
                _ => {}
            }
        }
    }

    fn goal(&mut self) {
        for pair in self.goal.events.windows(2) {
            match (self.nodes.of(pair[0]), self.nodes.of(pair[1])) {
                (Some(a), Some(b)) if a == b && pair[0] < pair[1] => {}
                (Some(a), Some(b)) => self.formula.fix(a, b),
                _ => {} // an event of the goal that is too old: its order is lost
            }
        }
    }

    fn locks(&mut self) {
        let sections = self.nodes.sections(self.index, &self.zone);
        for (i, a) in sections.iter().enumerate() {
            for b in sections[i + 1..].iter().take_while(|b| b.lock == a.lock) {
                if exclude_each_other(a, b) && !self.formula.is_too_much() {
                    let (a_first, b_first) = (self.leaves_first(a, b), self.leaves_first(b, a));
                    self.formula.clause([a_first, b_first]);
                }
            }
        }
    }

    fn leaves_first(&mut self, first: &Section, then: &Section) -> Truth {
        first.leave.map_or(Truth::Never, |leave| self.before(leave, then.enter))
    }

    fn reads(&mut self) {
        for i in 0..self.nodes.len() {
            let at = self.nodes.list[i].at;
            let Op::Read { var, .. } = self.index.history.event(at).op else { continue };
            let Some(wanted) = self.index.wanted(at) else { continue };
            let may_differ = self.goal.events.contains(&at)
                && self.index.history.second_half(at).is_none()
                && !self.goes_on(at);
            if !may_differ && !self.formula.is_too_much() {
                self.read(at, var, wanted);
            }
        }
    }

    fn read(&mut self, read: At, var: VarId, wanted: ReadConstraint) {
        let own = self.index.history.second_half(read);
        let mut question = Read { at: read, var, wanted, good: Vec::new(), bad: Vec::new() };
        // Only nodes: lists are sorted by thread, and the window is at the end of what is certain.
        for (thread, list) in self.index.writes_of(var) {
            let nth = |at: &u32| self.index.history.nth(At(*at));
            let from = list.partition_point(|at| nth(at) < self.zone.base[thread.index()]);
            let to = list.partition_point(|at| nth(at) < self.zone.limit[thread.index()]);
            for write in list[from..to].iter().map(|&at| At(at)) {
                if Some(write) == own || self.nodes.of(write).is_none() {
                    continue;
                }
                if self.index.satisfies(wanted, var, ReadFrom::Write(write)) {
                    question.good.push(write);
                } else {
                    question.bad.push(write);
                }
            }
        }
        let mut ways = Vec::new();
        self.offer_nodes(&question, &mut ways);
        self.offer_others(&question, &mut ways);
        self.offer_initial(&question, &mut ways);
        self.formula.clause(ways);
    }

    fn offer_nodes(&mut self, read: &Read, ways: &mut Vec<Truth>) {
        for &write in &read.good {
            let first = self.before(write, read.at);
            if first == Truth::Never {
                continue;
            }
            if self.formula.is_too_much() {
                return;
            }
            let way = Truth::If(self.formula.fresh());
            ways.push(way);
            self.formula.clause([!way, first]);
            for &other in &read.bad {
                let gone = [self.before(other, write), self.before(read.at, other)];
                self.formula.clause([!way, gone[0], gone[1]]);
            }
        }
    }

    /// Writes of each thread that are too old or not certain.
    fn offer_others(&mut self, read: &Read, ways: &mut Vec<Truth>) {
        let index = self.index;
        let mut offer = |this: &mut Self, thread: ThreadId, list: &[u32]| {
            let nth = |at: &u32| index.history.nth(At(*at));
            let old = list.partition_point(|at| nth(at) < this.zone.base[thread.index()]);
            let future = list.partition_point(|at| nth(at) < this.zone.limit[thread.index()]);
            if let Some(last) = old.checked_sub(1) {
                this.offer_old(read, thread, At(list[last]), ways);
            }
            if let Some(&first) = list.get(future) {
                this.offer_future(read, thread, At(first), ways);
            }
        };
        match read.wanted {
            ReadConstraint::Source(ReadFrom::Initial) => {}
            ReadConstraint::Source(ReadFrom::Write(write)) => {
                offer(self, index.history.event(write).thread, &[write.0]);
            }
            ReadConstraint::Value(value) => {
                for (thread, list) in index.writes_alike(read.var, value) {
                    offer(self, thread, list);
                }
            }
        }
    }

    /// `write` is the last of a thread's writes that are good and too old.
    fn offer_old(&mut self, read: &Read, thread: ThreadId, write: At, ways: &mut Vec<Truth>) {
        let Some((first, _)) = self.ends[thread.index()] else {
            ways.push(Truth::Always);
            return;
        };
        let way = Truth::If(self.formula.fresh());
        ways.push(way);
        for &other in &read.bad {
            let node = self.nodes.of(other).unwrap_or(first);
            let before = if self.thread_of(other) == thread {
                Truth::Never
            } else {
                self.before_node(node, first)
            };
            let after = self.before(read.at, other);
            self.formula.clause([!way, before, after]);
        }
        // The thread itself may have overwritten it, still before its first node.
        let overwritten = self.index.writes_of(read.var).any(|(other, list)| {
            let old = list.partition_point(|&at| self.is_old(At(at)));
            other == thread && old > 0 && At(list[old - 1]) > write
        });
        if overwritten {
            let node = self.nodes.of(read.at);
            let early = if self.thread_of(read.at) == thread {
                Truth::Never
            } else {
                node.map_or(Truth::Always, |node| self.before_node(node, first))
            };
            self.formula.clause([!way, early]);
        }
    }

    /// `write` is the first of a thread's writes that are good and may be in the reordering or not.
    fn offer_future(&mut self, read: &Read, thread: ThreadId, write: At, ways: &mut Vec<Truth>) {
        let index = self.index;
        let own = self.thread_of(read.at) == thread;
        let needs = |first: At| index.must().precedes(index.history, first, write);
        let last = self.goal.events.last().copied();
        let too_late = last.is_some_and(|last| self.thread_of(last) == thread || needs(last));
        if own || too_late || needs(read.at) {
            return;
        }
        match (self.ends[thread.index()], self.nodes.of(read.at)) {
            (Some((_, last)), Some(node)) => ways.push(self.before_node(last, node)),
            _ => ways.push(Truth::Always),
        }
    }

    /// There is no write before it.
    fn offer_initial(&mut self, read: &Read, ways: &mut Vec<Truth>) {
        if !self.index.satisfies(read.wanted, read.var, ReadFrom::Initial) {
            return;
        }
        let way = Truth::If(self.formula.fresh());
        ways.push(way);
        for &other in read.bad.iter().chain(&read.good) {
            let after = self.before(read.at, other);
            self.formula.clause([!way, after]);
        }
        let lists: Vec<(ThreadId, At)> = self
            .index
            .writes_of(read.var)
            .filter_map(|(thread, list)| list.first().map(|&at| (thread, At(at))))
            .filter(|&(_, first)| self.is_old(first))
            .collect();
        for (thread, first) in lists {
            let after = if self.thread_of(read.at) == thread {
                Truth::Never
            } else {
                self.before(read.at, first)
            };
            self.formula.clause([!way, after]);
        }
    }
}

/// A read and the nodes that write its variable.
struct Read {
    at: At,
    var: VarId,
    wanted: ReadConstraint,
    good: Vec<At>,
    bad: Vec<At>,
}

/// What is in every reordering.
fn certain(index: &Index<'_>, goal: &Goal) -> Cut {
    let history = index.history;
    let mut cut = vec![0; history.thread_count()];
    for &at in &goal.events {
        index.must().add_past(history, &mut cut, at);
    }
    for &at in &goal.events {
        let own = &mut cut[history.event(at).thread.index()];
        *own = (*own).max(history.nth(at) + 1);
    }
    cut
}
