//! A question about a history as a planning problem: facts, and actions that need some, add some and
//! delete some.
//!
//! After Razavi, Farzan and McIlraith, *Predicting atomicity violations in concurrent programs via planning*,
//! 2011: an action for each event, one more for each write that a read can be
//! coupled with, facts for what is done, which thread holds which lock and what a variable holds.
//!
//! Deviations. A thread's position is one fact at a time, so that no action needs "not executed".
//! Locks are a fact a thread and side ("does not hold it"), which gives read/write locks and
//! re-entrance without negation. Variables hold values rather than writes where only values are
//! asked for. The goal is a chain of events; a read of the goal has an action that ignores the value
//! and after which its thread cannot continue. A wait has two actions: before its notification, and after it, too
//! late. An update is one action.

use rustc_hash::FxHashMap;
use untorn_trace::{LockId, Op, ThreadId, Value, VarId};

use crate::goal::Goal;
use crate::history::{At, ReadFrom};
use crate::index::{Index, ReadConstraint};
use crate::nodes::{Node, Nodes};
use crate::zone::Zone;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Proposition {
    /// A thread has done so many of its nodes.
    At(ThreadId, u32),
    Done(u32),
    /// A thread does not hold a lock on a side (shared: true).
    Without(LockId, bool, ThreadId),
    Holds(VarId, Content),
    /// The wait of a resume (a node) came before its notification.
    Waited(u32),
    /// A notification has not been given yet.
    Fresh(u32),
}

/// The value of a variable, as far as some read can distinguish it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Content {
    /// What it held when the question began.
    First,
    Of(At),
    Value(Option<Value>),
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Action {
    /// The node that it performs.
    pub(crate) node: u32,
    /// Distinguishes the actions of one node.
    pub(crate) variant: u32,
    pub(crate) needs: Vec<u32>,
    pub(crate) adds: Vec<u32>,
    pub(crate) deletes: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) nodes: Nodes,
    pub(crate) facts: Vec<Proposition>,
    pub(crate) actions: Vec<Action>,
    pub(crate) start: Vec<u32>,
    /// `None` if an event of the goal is out of reach.
    pub(crate) goal: Option<u32>,
}

impl Task {
    pub(crate) fn new(index: &Index<'_>, goal: &Goal, zone: &Zone) -> Self {
        let nodes = Nodes::new(index, goal, zone);
        let mut writer = Writer {
            index,
            goal,
            zone,
            nodes,
            numbers: FxHashMap::default(),
            facts: Vec::new(),
            actions: Vec::new(),
            contents: FxHashMap::default(),
            by_source: Vec::new(),
        };
        writer.find_contents();
        writer.write();
        let start = writer.start();
        let last = goal.events.last().and_then(|&at| writer.nodes.of(at));
        let goal = last.map(|node| writer.fact(Proposition::Done(node)));
        let Writer { nodes, facts, actions, .. } = writer;
        Self { nodes, facts, actions, start, goal }
    }
}

struct Writer<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    zone: &'i Zone,
    nodes: Nodes,
    numbers: FxHashMap<Proposition, u32>,
    facts: Vec<Proposition>,
    actions: Vec<Action>,
    /// The values that each variable can hold, each with a representative source.
    contents: FxHashMap<VarId, Vec<(Content, ReadFrom)>>,
    /// Variables of which some read asks for a certain write.
    by_source: Vec<VarId>,
}

impl Writer<'_, '_> {
    fn fact(&mut self, fact: Proposition) -> u32 {
        *self.numbers.entry(fact).or_insert_with(|| {
            self.facts.push(fact);
            self.facts.len() as u32 - 1
        })
    }

    fn find_contents(&mut self) {
        let history = self.index.history;
        for node in &self.nodes.list {
            if let Some(ReadConstraint::Source(_)) = self.index.wanted(node.at)
                && let Op::Read { var, .. } = history.event(node.at).op
            {
                self.by_source.push(var);
            }
        }
        for i in 0..self.nodes.len() {
            let Node { at, end, .. } = self.nodes.list[i];
            for at in [at, end] {
                if let Op::Read { var, .. } | Op::Write { var, .. } = history.event(at).op {
                    let first = self.index.last_write(var, &self.zone.base);
                    let content = self.content(var, first, true);
                    self.contents.entry(var).or_insert_with(|| vec![(content, first)]);
                }
                if let Op::Write { var, .. } = history.event(at).op {
                    let content = self.content(var, ReadFrom::Write(at), false);
                    let known = self.contents.entry(var).or_default();
                    if !known.iter().any(|(other, _)| *other == content) {
                        known.push((content, ReadFrom::Write(at)));
                    }
                }
            }
        }
    }

    fn content(&self, var: VarId, source: ReadFrom, is_first: bool) -> Content {
        match source {
            _ if !self.by_source.contains(&var) => Content::Value(self.index.value_of(var, source)),
            ReadFrom::Write(at) if !is_first => Content::Of(at),
            _ => Content::First,
        }
    }

    fn start(&mut self) -> Vec<u32> {
        let mut start = Vec::new();
        for thread in self.zone.threads() {
            start.push(self.fact(Proposition::At(thread, 0)));
        }
        for i in 0..self.facts.len() {
            let holds = match self.facts[i] {
                Proposition::Without(lock, shared, thread) => {
                    let held = self.index.held(thread, self.zone.base[thread.index()]);
                    !held.iter().any(|&id| {
                        let section = self.index.section(id);
                        section.lock == lock && section.shared == shared
                    })
                }
                Proposition::Holds(var, content) => {
                    self.contents.get(&var).is_some_and(|known| known[0].0 == content)
                }
                Proposition::Fresh(_) => true,
                Proposition::Waited(resume) => {
                    let wait = self.index.history.previous(self.nodes.list[resume as usize].at);
                    wait.is_some_and(|wait| self.index.contains(&self.zone.base, wait))
                }
                Proposition::At(..) | Proposition::Done(_) => false,
            };
            if holds {
                start.push(i as u32);
            }
        }
        start
    }

    fn write(&mut self) {
        let mut counts = vec![0; self.zone.base.len()];
        for node in 0..self.nodes.len() as u32 {
            let thread = self.nodes.list[node as usize].thread;
            let place = counts[thread.index()];
            counts[thread.index()] += 1;
            if let Some(action) = self.common(node, place) {
                self.variants(action, thread, place);
            }
        }
    }

    /// What all actions of a node have in common. `None`: it can never happen.
    fn common(&mut self, node: u32, place: u32) -> Option<Action> {
        let history = self.index.history;
        let Node { at, end, thread, .. } = self.nodes.list[node as usize];
        let mut action = Action { node, ..Action::default() };
        let here = self.fact(Proposition::At(thread, place));
        action.needs.push(here);
        action.deletes.push(here);
        let done = self.fact(Proposition::Done(node));
        action.adds.push(done);
        let last = self.goal.events.last().copied();
        if end == at && history.second_half(at).is_some() && last != Some(at) {
            return None;
        }
        if let (0, Some(fork)) = (history.nth(at), history.forked(thread)) {
            self.need_done(&mut action, fork)?;
        }
        self.need_goal(&mut action, [at, end])?;
        match history.event(at).op {
            Op::Join { child } => {
                if let Some(&last) = history.of_thread(child).last() {
                    self.need_done(&mut action, last)?;
                }
            }
            Op::Resume { .. } => self.resume(&mut action, at)?,
            Op::Notify { .. } => {
                let fresh = self.fact(Proposition::Fresh(node));
                action.deletes.push(fresh);
            }
            _ => {}
        }
        self.section(&mut action, at);
        Some(action)
    }

    fn need_done(&mut self, action: &mut Action, at: At) -> Option<()> {
        match self.nodes.of(at) {
            Some(node) => {
                let done = self.fact(Proposition::Done(node));
                action.needs.push(done);
                Some(())
            }
            None => self.index.contains(&self.zone.base, at).then_some(()),
        }
    }

    /// An event of the goal comes after the ones before it.
    fn need_goal(&mut self, action: &mut Action, events: [At; 2]) -> Option<()> {
        for (i, &at) in self.goal.events.iter().enumerate() {
            if i == 0 || !events.contains(&at) {
                continue;
            }
            let before = self.goal.events[i - 1];
            let both_halves = events.contains(&before) && before < at;
            if !both_halves {
                self.need_done(action, before)?;
            }
        }
        Some(())
    }

    fn resume(&mut self, action: &mut Action, at: At) -> Option<()> {
        let history = self.index.history;
        let (Some(cause), Some(wait)) = (history.cause(at), history.previous(at)) else {
            return Some(());
        };
        self.need_done(action, cause)?;
        let (notified, waited) = (self.nodes.of(cause).is_none(), self.nodes.of(wait).is_none());
        match (notified, waited) {
            (true, true) => Some(()),
            (true, false) => None,
            (false, _) => {
                let waited = self.fact(Proposition::Waited(action.node));
                action.needs.push(waited);
                Some(())
            }
        }
    }

    fn section(&mut self, action: &mut Action, at: At) {
        let index = self.index;
        let Some(section) = index.history.section_at(at) else { return };
        let own = self.fact(Proposition::Without(section.lock, section.shared, section.thread));
        if section.enter != at {
            action.adds.push(own);
            return;
        }
        action.deletes.push(own);
        let mut rivals: Vec<(ThreadId, bool)> = Vec::new();
        for (thread, list) in index.rivals(section) {
            // Sections that are over or out of reach do not matter.
            let last = index.last_entered(list, self.zone.limit[thread.index()]);
            let Some(last) = last.map(|id| index.section(id)) else { continue };
            let is_over = last.leave.is_some_and(|leave| index.contains(&self.zone.base, leave));
            if !is_over {
                rivals.push((thread, last.shared));
            }
        }
        for (thread, shared) in rivals {
            let free = self.fact(Proposition::Without(section.lock, shared, thread));
            action.needs.push(free);
        }
    }

    fn variants(&mut self, mut action: Action, thread: ThreadId, place: u32) {
        let history = self.index.history;
        let Node { at, end, .. } = self.nodes.list[action.node as usize];
        if let Op::Write { var, .. } = history.event(end).op {
            self.set(&mut action, var, end);
        }
        let next = self.fact(Proposition::At(thread, place + 1));
        let wanted = self.index.wanted(at);
        if let (Op::Read { var, .. }, Some(wanted)) = (history.event(at).op, wanted) {
            let is_free = self.goal.events.contains(&at) && history.second_half(at).is_none();
            if is_free {
                // It may read anything, but then its thread cannot continue.
                self.actions.push(action.clone());
                action.variant += 1;
            }
            action.adds.push(next);
            for (content, source) in self.contents.get(&var).cloned().unwrap_or_default() {
                if self.index.satisfies(wanted, var, source) {
                    let mut coupled = action.clone();
                    let holds = self.fact(Proposition::Holds(var, content));
                    coupled.needs.push(holds);
                    self.actions.push(coupled);
                    action.variant += 1;
                }
            }
            return;
        }
        action.adds.push(next);
        if let Op::Wait { .. } = history.event(at).op
            && let Some(resume) = history.next(at)
            && let (Some(node), Some(cause)) = (self.nodes.of(resume), history.cause(resume))
            && let Some(notify) = self.nodes.of(cause)
        {
            let mut in_time = action.clone();
            let (fresh, waited) =
                (self.fact(Proposition::Fresh(notify)), self.fact(Proposition::Waited(node)));
            in_time.needs.push(fresh);
            in_time.adds.push(waited);
            self.actions.push(in_time);
            action.variant += 1;
        }
        self.actions.push(action);
    }

    /// The variable holds what `write` writes, and nothing else.
    fn set(&mut self, action: &mut Action, var: VarId, write: At) {
        let content = self.content(var, ReadFrom::Write(write), false);
        for (other, _) in self.contents.get(&var).cloned().unwrap_or_default() {
            let holds = self.fact(Proposition::Holds(var, other));
            if other == content {
                action.adds.push(holds);
            } else {
                action.deletes.push(holds);
            }
        }
    }
}
