//! The serial orders, played through: what would each block have read?
//!
//! A block that reads what it read in the run also writes what it wrote. As soon as a read would
//! have returned something else, the order is refuted, and what the block would have written then
//! is not known; such cells stay open. Orders are played through only if the scene is complete and
//! no other thread accessed the variables: otherwise the answer could be wrong.

use serde::Serialize;

use super::{Node, StoryInput};
use crate::claim::Claim;
use crate::operation::{Action, Operation};
use crate::phrasing;

/// More transactions than this make too many orders for a table.
const MAX_BLOCKS: usize = 3;
const MAX_VARIABLES: usize = 2;
const MAX_COLUMNS: usize = 6;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SerialOrders {
    /// The transactions.
    pub parts: Vec<Node>,
    pub columns: Vec<String>,
    pub orders: Vec<Order>,
    pub observed: Vec<Option<String>>,
    pub verdict: String,
    #[serde(skip)]
    pub claim: Claim,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Order {
    /// The transactions in this order.
    pub nodes: Vec<usize>,
    pub cells: Vec<Cell>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cell {
    /// Absent if it depends on code that was not run that way.
    pub value: Option<String>,
    pub differs: bool,
}

impl SerialOrders {
    /// No order gives what was observed.
    pub fn is_refuted(&self) -> bool {
        self.orders.iter().all(|order| order.cells.iter().any(|cell| cell.differs))
    }
}

struct Access<'a> {
    node: usize,
    variable: usize,
    operation: &'a Operation,
}

/// The accesses of all transactions to the variables, in trace order, and the values before.
struct Play<'a> {
    accesses: Vec<Access<'a>>,
    before: Vec<&'a str>,
    /// Those that read: a column each. The final values follow.
    reads: Vec<usize>,
}

pub fn orders(plot: &StoryInput<'_>) -> Option<SerialOrders> {
    let scene = plot.finding.scene.as_ref().filter(|scene| scene.whole)?;
    let count = plot.finding.transactions.len();
    if !(2..=MAX_BLOCKS).contains(&count) || !(1..=MAX_VARIABLES).contains(&plot.variables.len()) {
        return None;
    }
    let mut accesses = Vec::new();
    for operation in scene.steps.iter().map(|step| &step.operation) {
        if matches!(operation.action, Action::Read | Action::Write) {
            operation.value.as_ref()?;
            let variable = plot.variable(&operation.target)?;
            accesses.push(Access { node: operation.transaction?, variable, operation });
        }
    }
    let before: Option<Vec<&str>> =
        plot.variables.iter().map(|variable| variable.before.as_deref()).collect();
    let is_read = |index: &usize| accesses[*index].operation.action == Action::Read;
    let reads: Vec<usize> = (0..accesses.len()).filter(is_read).collect();
    let play = Play { before: before?, reads, accesses };
    if play.reads.len() + play.before.len() > MAX_COLUMNS || play.reads.is_empty() {
        return None;
    }
    let observed = play.observed();
    let orders: Vec<Order> = permutations(count)
        .into_iter()
        .filter(|nodes| play.keeps_threads(nodes))
        .map(|nodes| play.through(&nodes, &observed))
        .collect();
    let verdict = verdict(plot, &orders);
    let claim = play.claim(count, &orders);
    Some(SerialOrders {
        claim,
        parts: parts(plot, &play),
        columns: columns(plot, &play),
        orders,
        observed,
        verdict,
    })
}

impl Play<'_> {
    fn claim(&self, count: usize, orders: &[Order]) -> Claim {
        let of = |node: usize| self.accesses.iter().filter(move |access| access.node == node);
        let parts =
            (0..count).map(|node| of(node).map(|access| access.operation.at).collect()).collect();
        let fits = fitting(orders).map(|order| order.nodes.clone());
        Claim::Serial { parts, orders: orders.len(), fits }
    }

    /// What was read, and what was left.
    fn observed(&self) -> Vec<Option<String>> {
        let mut now: Vec<Option<String>> =
            self.before.iter().map(|value| Some((*value).to_owned())).collect();
        for Access { variable, operation, .. } in &self.accesses {
            now[*variable].clone_from(&operation.value);
        }
        let reads = self.reads.iter().map(|&index| self.accesses[index].operation.value.clone());
        reads.chain(now).collect()
    }

    /// Whether transactions of one thread come in the order in which the thread ran them.
    fn keeps_threads(&self, nodes: &[usize]) -> bool {
        let first = |node: usize| self.accesses.iter().find(|access| access.node == node);
        let place =
            |node: usize| first(node).map(|access| (&access.operation.thread, access.operation.at));
        nodes.iter().enumerate().all(|(index, &node)| {
            let later = nodes[index + 1..].iter().filter_map(|&other| place(other));
            place(node).is_none_or(|(own, at)| {
                later.into_iter().all(|(thread, then)| thread != own || at < then)
            })
        })
    }

    fn through(&self, nodes: &[usize], observed: &[Option<String>]) -> Order {
        let mut cells = vec![Cell { value: None, differs: false }; observed.len()];
        let mut now: Vec<Option<&str>> = self.before.iter().map(|value| Some(*value)).collect();
        for &node in nodes {
            let mut as_seen = true;
            let own = self.accesses.iter().enumerate().filter(|(_, access)| access.node == node);
            for (index, Access { variable, operation, .. }) in own {
                let here = &mut now[*variable];
                if operation.action == Action::Write {
                    *here = operation.value.as_deref().filter(|_| as_seen);
                    continue;
                }
                let differs = here.is_some_and(|here| Some(here) != operation.value.as_deref());
                as_seen &= !differs && here.is_some();
                if let Some(column) = self.reads.iter().position(|&read| read == index) {
                    cells[column] = Cell { value: here.map(str::to_owned), differs };
                }
            }
        }
        for (cell, (left, ended)) in
            cells[self.reads.len()..].iter_mut().zip(now.iter().zip(&observed[self.reads.len()..]))
        {
            let differs = left.is_some() && *left != ended.as_deref();
            *cell = Cell { value: left.map(str::to_owned), differs };
        }
        Order { nodes: nodes.to_vec(), cells }
    }
}

/// The transactions by name; single accesses of one thread are distinguished by their variable.
fn parts(plot: &StoryInput<'_>, play: &Play<'_>) -> Vec<Node> {
    let part = |(node, own): (usize, &crate::Transaction)| {
        let mut accesses = play.accesses.iter().filter(|access| access.node == node);
        let first = accesses.next().filter(|_| accesses.next().is_none());
        let lone = first.filter(|_| own.blocks.is_empty() && plot.variables.len() > 1);
        Node {
            name: match lone {
                Some(access) => {
                    format!("{} ({})", own.thread, plot.variables[access.variable].name)
                }
                None => own.thread.clone(),
            },
            block: String::new(),
            lane: plot.lane(&own.thread).unwrap_or(0),
        }
    };
    plot.finding.transactions.iter().enumerate().map(part).collect()
}

fn columns(plot: &StoryInput<'_>, play: &Play<'_>) -> Vec<String> {
    let several = plot.variables.len() > 1;
    let same = |a: usize, b: usize| {
        let (a, b) = (&play.accesses[a], &play.accesses[b]);
        a.operation.thread == b.operation.thread && a.variable == b.variable
    };
    let name = |&index: &usize| {
        let access = &play.accesses[index];
        let thread = &access.operation.thread;
        let x = if several {
            format!(" {}", plot.variables[access.variable].name)
        } else {
            String::new()
        };
        let alike = play.reads.iter().filter(|&&other| same(other, index)).count() > 1;
        let earlier =
            play.reads.iter().filter(|&&other| other < index && same(other, index)).count();
        match (alike, earlier) {
            (false, _) => format!("{thread} reads{x}"),
            (true, 0) => format!("{thread} reads{x} first"),
            (true, 1) => format!("{thread} reads{x} again"),
            (true, more) => format!("{thread} reads{x} ({})", more + 1),
        }
    };
    let last = plot.variables.iter().map(|variable| format!("Final {}", variable.name));
    play.reads.iter().map(name).chain(last).collect()
}

/// The first order that gives what was observed.
fn fitting(orders: &[Order]) -> Option<&Order> {
    orders.iter().find(|order| order.cells.iter().all(|cell| !cell.differs))
}

fn verdict(plot: &StoryInput<'_>, orders: &[Order]) -> String {
    match fitting(orders) {
        None if orders.len() == 2 => "Neither order gives what was observed.".to_owned(),
        None => format!("None of the {} orders gives what was observed.", orders.len()),
        Some(order) => {
            let names: Vec<&String> =
                order.nodes.iter().map(|&node| &plot.finding.transactions[node].thread).collect();
            format!(
                "The order {} gives the same values here: the block was torn, but these values do not show it.",
                phrasing::list(&names, 4)
            )
        }
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(count - 1) {
        for place in (0..count).rev() {
            let mut order = shorter.clone();
            order.insert(place, count - 1);
            all.push(order);
        }
    }
    all.sort();
    all
}
