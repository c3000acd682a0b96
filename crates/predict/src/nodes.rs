//! The events of a zone that an order is about.

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_trace::{Op, ThreadId, VarId};

use crate::goal::Goal;
use crate::history::{At, Section};
use crate::index::{Cut, Index};
use crate::zone::Zone;

/// A step of a thread: an event on which something depends, with those before it on which nothing
/// does. An update is one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) at: At,
    /// The same, or the second half of the update.
    pub(crate) end: At,
    pub(crate) thread: ThreadId,
    /// The node before it in its thread.
    pub(crate) previous: Option<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// In the order of the history.
    pub(crate) list: Vec<Node>,
    number: FxHashMap<At, u32>,
}

impl Nodes {
    /// The critical sections that a formula must keep apart, by lock: those held where the zone begins and
    /// those entered inside of it.
    pub(crate) fn sections<'h>(&self, index: &Index<'h>, zone: &Zone) -> Vec<&'h Section> {
        let mut sections: Vec<&'h Section> = Vec::new();
        for thread in zone.threads() {
            let held = index.held(thread, zone.base[thread.index()]);
            sections.extend(held.iter().map(|&id| index.section(id)));
        }
        for node in &self.list {
            let entered = index.history.section_at(node.at);
            sections.extend(entered.filter(|section| section.enter == node.at));
        }
        sections.sort_by_key(|section| (section.lock, section.enter));
        sections
    }

    pub(crate) fn new(index: &Index<'_>, goal: &Goal, zone: &Zone) -> Self {
        let history = index.history;
        let filter = Filter::new(index, goal, zone);
        let mut list = Vec::new();
        for thread in zone.threads() {
            let mut skip = None;
            for &at in zone.of_thread(index, thread) {
                if skip == Some(at) || !filter.matters(at) {
                    continue;
                }
                let second = history.second_half(at).filter(|&at| zone.contains(index, at));
                skip = second;
                list.push(Node { at, end: second.unwrap_or(at), thread, previous: None });
            }
        }
        list.sort_unstable_by_key(|node| node.at);
        let mut nodes = Self { list, number: FxHashMap::default() };
        let mut last: Vec<Option<u32>> = vec![None; zone.base.len()];
        for i in 0..nodes.list.len() {
            let node = &mut nodes.list[i];
            node.previous = last[node.thread.index()].replace(i as u32);
            nodes.number.insert(node.at, i as u32);
            nodes.number.insert(node.end, i as u32);
        }
        nodes
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The node of an event, if it has one.
    pub(crate) fn of(&self, at: At) -> Option<u32> {
        self.number.get(&at).copied()
    }
}

/// Which events something depends on.
struct Filter<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    joined: FxHashSet<At>,
    /// Variables that some read of the zone asks something of.
    read: FxHashSet<VarId>,
}

impl<'i, 'a> Filter<'i, 'a> {
    fn new(index: &'i Index<'a>, goal: &'i Goal, zone: &Zone) -> Self {
        let (mut joined, mut read) = (FxHashSet::default(), FxHashSet::default());
        for at in zone.threads().flat_map(|thread| zone.of_thread(index, thread)) {
            match index.history.event(*at).op {
                Op::Join { child } => joined.extend(index.history.of_thread(child).last()),
                Op::Read { var, .. } if index.wanted(*at).is_some() => {
                    read.insert(var);
                }
                _ => {}
            }
        }
        Self { index, goal, joined, read }
    }

    fn matters(&self, at: At) -> bool {
        let history = self.index.history;
        let event = history.event(at);
        let by_kind = match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => {
                self.read.contains(&var)
                    || history.second_half(at).is_some()
                    || history.first_half(at).is_some()
            }
            Op::Acquire { .. } | Op::Release { .. } => history.section_index(at).is_some(),
            Op::Wait { .. }
            | Op::Resume { .. }
            | Op::Notify { .. }
            | Op::Fork { .. }
            | Op::Join { .. } => true,
            _ => false,
        };
        by_kind
            || self.joined.contains(&at)
            || self.goal.events.contains(&at)
            || history.nth(at) == 0 && history.forked(event.thread).is_some()
    }
}

/// The events from a cut on, in the order of the nodes: each node with what its thread does before
/// it.
pub(crate) fn spell_out(index: &Index<'_>, base: &Cut, order: &[Node]) -> Vec<At> {
    let mut done = base.clone();
    let mut steps = Vec::new();
    for node in order {
        let all = index.history.of_thread(node.thread);
        let own = &mut done[node.thread.index()];
        let end = index.history.nth(node.end) + 1;
        steps.extend_from_slice(&all[*own as usize..end as usize]);
        *own = end;
    }
    steps
}
