//! Deciding by cases: the saturation with choices, for what is too wide to search block by block.
//!
//! No paper. (A SAT solver over the order of blocks could do the same.) Where the saturation comes to rest
//! without a contradiction, a choice is open: either a read has several candidates, or it has one and some
//! other writer of the variable is neither before that source nor after the reader.
//! Each way to choose is tried in turn, saturated, and given to the serialiser.
//!
//! Promise: exact, or `Spent`. Every serial order makes one of the choices, so if all lead to a
//! contradiction there is none. When no choice is open, every order that keeps what must hold is a serial
//! order: each read has one candidate s that runs before it, and every other writer runs before s or after
//! the reader.

use crate::core::Core;
use crate::exact::SearchResult;
use crate::ids::{NeedId, Node};
use crate::order::OrderKind;
use crate::rows::{ones, size};
use crate::saturation::Saturation;
use crate::serialiser::serialise;

/// Steps of the budget that a case costs: it is dearer than a state of the search.
const COST: u64 = 50;

/// Steps for the serialiser in each case, beside one a block.
const GREEDY: u64 = 16;

/// A choice that is open.
enum Choice {
    /// Which candidate serves the read.
    Source(NeedId),
    /// Whether the writer runs before the source of the read, or after the reader.
    Side(NeedId, Node, Node),
}

/// Looks for a serial order; `known` must be saturated.
pub fn decide(core: &Core, known: &Saturation, budget: &mut u64) -> SearchResult {
    let mut first = Saturation::default();
    first.copy_from(known);
    let mut open = vec![first];
    let mut cases = 0;
    while let Some(mut case) = open.pop() {
        if *budget < COST {
            return SearchResult::Spent;
        }
        *budget -= COST;
        cases += 1;
        if case.saturate(core).is_err() {
            continue;
        }
        let steps = GREEDY + core.nodes() as u64;
        if let Some(order) = serialise(core, &case.order, steps) {
            return SearchResult::Found(order);
        }
        match choice(core, &case) {
            Some(Choice::Source(need)) => {
                let row = case.candidates.row(need.index());
                let sources: Vec<Node> = ones(row).map(Node::new).collect();
                for source in sources {
                    let mut next = case.clone();
                    next.assume(need, source);
                    open.push(next);
                }
            }
            Some(Choice::Side(need, source, writer)) => {
                let reader = core.need(need).node;
                let mut late = case.clone();
                // Neither closes a cycle: the two are not ordered yet.
                if late.order.add(reader, writer, OrderKind::NotBetweenLate(need, source)).is_ok() {
                    open.push(late);
                }
                if case.order.add(writer, source, OrderKind::NotBetweenEarly(need)).is_ok() {
                    open.push(case);
                }
            }
            None => return SearchResult::Found(any_order(core, &case)),
        }
    }
    SearchResult::None(cases)
}

/// The open choice with the fewest ways.
fn choice(core: &Core, case: &Saturation) -> Option<Choice> {
    let needs = || (0..core.needs.len()).map(NeedId::new);
    let ways = |need: NeedId| size(case.candidates.row(need.index()));
    if let Some(need) = needs().filter(|&need| ways(need) > 1).min_by_key(|&need| ways(need)) {
        return Some(Choice::Source(need));
    }
    needs().find_map(|id| {
        let need = core.need(id);
        let source = ones(case.candidates.row(id.index())).next().map(Node::new)?;
        let mut writers = ones(core.writers.row(need.slot as usize)).map(Node::new);
        let writer = writers.find(|&writer| {
            writer != source
                && writer != need.node
                && !case.order.has(writer, source)
                && !case.order.has(need.node, writer)
        })?;
        Some(Choice::Side(id, source, writer))
    })
}

/// Some order that keeps what must hold: a block with fewer predecessors comes first.
fn any_order(core: &Core, case: &Saturation) -> Vec<Node> {
    let mut nodes: Vec<Node> = (1..core.nodes()).map(Node::new).collect();
    nodes.sort_by_key(|&node| size(case.order.before(node)));
    nodes
}
