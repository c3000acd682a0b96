//! Turns a contradiction of the saturation into a reason that names blocks and accesses.

use std::collections::VecDeque;

use untorn_trace::EventIdx;

use crate::blocks::{Block, Extract};
use crate::core::{Core, Need};
use crate::ids::{NeedId, Node};
use crate::lost_update::LostUpdate;
use crate::order::{OrderKind, Step};
use crate::own_read::OwnRead;
use crate::rows::ones;
use crate::saturation::{Contradiction, Saturation};
use crate::verdict::{Excluded, Forced, NoSource, OrderReason, Party, Point, Reason, Update};

pub fn own_read(extract: &Extract, torn: &OwnRead) -> Reason {
    Reason::OwnRead {
        block: extract.blocks[torn.block.index()],
        var: extract.memory.variables[torn.slot.index()].var,
        access: Point { at: event(torn.access), value: Some(torn.had) },
        wrote: torn.wrote,
        read: Point { at: event(torn.read), value: Some(torn.got) },
    }
}

pub fn exhausted(extract: &Extract, core: &Core, states: u64) -> Reason {
    let blocks = core.blocks[1..].iter().map(|block| extract.blocks[block.index()]).collect();
    Reason::Exhausted { states, blocks, vars: core.slots.iter().map(|slot| slot.var).collect() }
}

/// The reason of a contradiction that `known` derived.
pub fn reason(
    extract: &Extract,
    core: &Core,
    known: &Saturation,
    contradiction: &Contradiction,
) -> Reason {
    let teller = Explainer { extract, core, known };
    match contradiction {
        Contradiction::NoSource(id) => teller.no_source(*id),
        Contradiction::LostUpdate(lost) => teller.lost_update(lost),
        Contradiction::Cycle(cycle) => teller.cycle(cycle.0),
    }
}

fn event(at: u32) -> EventIdx {
    EventIdx(u64::from(at))
}

struct Explainer<'a> {
    extract: &'a Extract,
    core: &'a Core,
    known: &'a Saturation,
}

impl Explainer<'_> {
    fn party(&self, node: Node) -> Party {
        (node != Node::START).then(|| self.block(node))
    }

    fn block(&self, node: Node) -> Block {
        self.extract.blocks[self.core.blocks[node.index()].index()]
    }

    fn read(&self, need: &Need) -> Point {
        Point { at: event(need.at), value: self.core.values[need.class.index()].known() }
    }

    /// What a node leaves in a slot. The virtual first block leaves it at the very start.
    fn write(&self, node: Node, slot: u32) -> Point {
        let act = self.core.act(node, slot);
        let value = act.and_then(|act| act.fin).map(|fin| self.core.values[fin.index()]);
        Point {
            at: event(act.map_or(0, |act| act.fin_at)),
            value: value.and_then(|value| value.known()),
        }
    }

    fn no_source(&self, id: NeedId) -> Reason {
        let need = self.core.need(id);
        let order = &self.known.order;
        let writers = self.core.writers.row(need.slot as usize);
        let overwriter = |source: Node| {
            let earlier = order.before(need.node);
            let between = writers.iter().zip(earlier).zip(order.after(source));
            let between: Vec<u64> = between.map(|((w, b), a)| w & b & a).collect();
            ones(&between).next().map(Node::new)
        };
        let until = order.log.len();
        let mut reported = ReportedOrders { forced: Vec::new(), steps: vec![false; until] };
        let mut excluded = Vec::new();
        for source in ones(self.core.sources.row(need.class.index())).map(Node::new) {
            if source == need.node {
                continue;
            }
            let why = if order.has(need.node, source) {
                self.path(need.node, source, until, &mut reported);
                Excluded::Later
            } else if let Some(by) = overwriter(source) {
                self.path(source, by, until, &mut reported);
                self.path(by, need.node, until, &mut reported);
                Excluded::Overwritten(self.block(by))
            } else {
                Excluded::Contradiction
            };
            excluded.push((self.party(source), why));
        }
        Reason::NoSource(NoSource {
            block: self.block(need.node),
            var: self.core.slots[need.slot as usize].var,
            read: self.read(need),
            orders: reported.forced,
            passing: if excluded.is_empty() { self.passing(need) } else { None },
            excluded,
        })
    }

    /// The blocks that wrote the value that was read, and then replaced it.
    fn passing(&self, need: &Need) -> Option<(Block, EventIdx)> {
        let slot = self.core.slots[need.slot as usize].slot;
        let reader = self.core.blocks[need.node.index()];
        let before = self.extract.touches.iter().take_while(|touch| touch.at < need.at);
        let write = before
            .filter(|touch| touch.slot == slot && touch.writes && touch.block != reader)
            .last()?;
        let same = self.extract.memory.resolve(write.val) == self.core.values[need.class.index()];
        same.then(|| (self.extract.blocks[write.block.index()], event(write.at)))
    }

    fn lost_update(&self, lost: &LostUpdate) -> Reason {
        let update = |id: &NeedId| {
            let need = self.core.need(*id);
            let block = self.block(need.node);
            Update { block, read: self.read(need), write: self.write(need.node, need.slot) }
        };
        Reason::LostUpdate {
            var: self.core.slots[lost.slot as usize].var,
            updates: lost.updates.iter().map(update).collect(),
            sources: lost.sources.iter().map(|&source| self.party(source)).collect(),
        }
    }

    fn cycle(&self, last: Step) -> Reason {
        let mut reported =
            ReportedOrders { forced: Vec::new(), steps: vec![false; self.known.order.log.len()] };
        let until = self.known.order.log.len();
        self.premise(&last, until, &mut reported);
        self.path(last.to, last.from, until, &mut reported);
        reported.forced.push(self.forced(&last));
        Reason::Cycle(reported.forced)
    }

    /// Explains why `from` precedes `to`, by what was known when `until` steps had been made.
    fn path(&self, from: Node, to: Node, until: usize, reported: &mut ReportedOrders) {
        for hop in self.hops(from, to, until) {
            match hop {
                Hop::Kept(from, to) => {
                    let (from, to) = (self.party(from), self.party(to));
                    let kept = Forced { from, to, because: OrderReason::Kept };
                    // That initial values come first goes without saying.
                    if from.is_some() && to.is_some() && !reported.forced.contains(&kept) {
                        reported.forced.push(kept);
                    }
                }
                Hop::Step(i) if !reported.steps[i] => {
                    reported.steps[i] = true;
                    let step = self.known.order.log[i];
                    self.premise(&step, i, reported);
                    reported.forced.push(self.forced(&step));
                }
                Hop::Step(_) => {}
            }
        }
    }

    /// Explains the order that a step uses.
    fn premise(&self, step: &Step, until: usize, reported: &mut ReportedOrders) {
        match step.why {
            OrderKind::NotBetweenEarly(id) => {
                self.path(step.from, self.core.need(id).node, until, reported);
            }
            OrderKind::NotBetweenLate(id, source) => {
                self.path(source, step.to, until, reported);
                self.report_source(id, source, reported);
            }
            _ => {}
        }
        if let OrderKind::NotBetweenEarly(id) = step.why {
            self.report_source(id, step.to, reported);
        }
    }

    /// Adds that a read has only one source, unless a step contains it already.
    fn report_source(&self, id: NeedId, source: Node, reported: &mut ReportedOrders) {
        let step =
            Step { from: source, to: self.core.need(id).node, why: OrderKind::OnlySource(id) };
        let forced = self.forced(&step);
        if !reported.forced.contains(&forced) {
            reported.forced.push(forced);
        }
    }

    fn hops(&self, from: Node, to: Node, until: usize) -> Vec<Hop> {
        let log = &self.known.order.log[..until];
        let mut came: Vec<Option<Hop>> = vec![None; self.core.nodes()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            let steps = log.iter().enumerate().filter(|(_, step)| step.from == node);
            let steps = steps.map(|(i, step)| (step.to, Hop::Step(i)));
            let kept = ones(self.core.order.after(node)).map(Node::new);
            for (next, hop) in steps.chain(kept.map(|next| (next, Hop::Kept(node, next)))) {
                if next != from && came[next.index()].is_none() {
                    came[next.index()] = Some(hop);
                    queue.push_back(next);
                }
            }
        }
        let mut hops = Vec::new();
        let mut at = to;
        while at != from {
            let Some(hop) = came[at.index()] else { break };
            hops.push(hop);
            at = match hop {
                Hop::Kept(from, _) => from,
                Hop::Step(i) => log[i].from,
            };
        }
        hops.reverse();
        hops
    }

    fn forced(&self, step: &Step) -> Forced {
        let (OrderKind::OnlySource(id)
        | OrderKind::NotBetweenEarly(id)
        | OrderKind::NotBetweenLate(id, _)
        | OrderKind::EverySource(id)
        | OrderKind::AfterEverySource(id)) = step.why;
        let need = self.core.need(id);
        let var = self.core.slots[need.slot as usize].var;
        let read = self.read(need);
        let because = match step.why {
            OrderKind::OnlySource(_) => {
                let write = self.write(step.from, need.slot);
                OrderReason::Read { var, write: (step.from != Node::START).then_some(write), read }
            }
            OrderKind::NotBetweenEarly(_) => {
                OrderReason::NotBetweenEarly { var, reader: self.block(need.node), read }
            }
            OrderKind::NotBetweenLate(_, source) => {
                OrderReason::NotBetweenLate { var, source: self.party(source), read }
            }
            OrderKind::EverySource(_) => OrderReason::EverySource { var, read },
            OrderKind::AfterEverySource(_) => OrderReason::AfterEverySource { var, read },
        };
        Forced { from: self.party(step.from), to: self.party(step.to), because }
    }
}

/// The orders reported so far.
struct ReportedOrders {
    forced: Vec<Forced>,
    /// Which steps of the log are in it.
    steps: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
enum Hop {
    Kept(Node, Node),
    Step(usize),
}
