//! The serial orders, played through: what would each block have read?
//!
//! A block that reads what it read in the run also writes what it wrote. As soon as a read would
//! have returned something else, the order is refuted, and what the block would have written then
//! is not known; such cells stay open. Orders are played through only if the scene is complete and
//! nobody else touched the variables: otherwise the answer could be wrong.

use serde::Serialize;

use super::{Plot, short_variable};
use crate::operation::{Action, Operation};
use crate::words;

/// More transactions than this make too many orders for a table.
const MOST_BLOCKS: usize = 3;
const MOST_COLUMNS: usize = 6;

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SerialOrders {
    pub columns: Vec<String>,
    pub orders: Vec<Order>,
    pub observed: Vec<Option<String>>,
    pub verdict: String,
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

/// The accesses of all transactions to one variable, in trace order.
struct Play<'a> {
    accesses: Vec<(usize, &'a Operation)>,
    before: &'a str,
}

pub fn orders(plot: &Plot<'_>) -> Option<SerialOrders> {
    let scene = plot.finding.scene.as_ref().filter(|scene| scene.whole)?;
    let count = plot.finding.transactions.len();
    let [variable] = plot.variables.as_slice() else { return None };
    if !(2..=MOST_BLOCKS).contains(&count) {
        return None;
    }
    let mut accesses = Vec::new();
    for step in &scene.steps {
        let operation = &step.operation;
        if matches!(operation.action, Action::Read | Action::Write) {
            operation.value.as_ref()?;
            accesses.push((operation.transaction?, operation));
        }
    }
    let play = Play { accesses, before: variable.before.as_deref()? };
    let reads: Vec<usize> = play.reads();
    if reads.len() + 1 > MOST_COLUMNS || reads.is_empty() {
        return None;
    }
    let mut observed: Vec<Option<String>> =
        reads.iter().map(|&index| play.accesses[index].1.value.clone()).collect();
    observed.push(play.last_write(&play.accesses).map(str::to_owned));
    let orders: Vec<Order> = permutations(count)
        .into_iter()
        .map(|nodes| play.through(&nodes, &reads, observed.last().and_then(Option::as_deref)))
        .collect();
    let columns = columns(plot, &play, &reads);
    let verdict = verdict(plot, &orders);
    Some(SerialOrders { columns, orders, observed, verdict })
}

impl<'a> Play<'a> {
    fn reads(&self) -> Vec<usize> {
        let is_read = |index: &usize| self.accesses[*index].1.action == Action::Read;
        (0..self.accesses.len()).filter(is_read).collect()
    }

    fn last_write(&self, accesses: &[(usize, &'a Operation)]) -> Option<&'a str> {
        let write = accesses.iter().rev().find(|(_, op)| op.action == Action::Write);
        write.map_or(Some(self.before), |(_, op)| op.value.as_deref())
    }

    fn through(&self, nodes: &[usize], reads: &[usize], ended: Option<&str>) -> Order {
        let mut cells = vec![Cell { value: None, differs: false }; reads.len() + 1];
        let mut now = Some(self.before);
        for &node in nodes {
            let mut as_seen = true;
            for (index, (_, op)) in
                self.accesses.iter().enumerate().filter(|(_, (own, _))| *own == node)
            {
                if op.action == Action::Write {
                    now = op.value.as_deref().filter(|_| as_seen);
                    continue;
                }
                let differs = now.is_some_and(|now| Some(now) != op.value.as_deref());
                as_seen &= !differs && now.is_some();
                let column = reads.iter().position(|&read| read == index);
                if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                    *cell = Cell { value: now.map(str::to_owned), differs };
                }
            }
        }
        let differs = now.is_some() && now != ended;
        let last = cells.len() - 1;
        cells[last] = Cell { value: now.map(str::to_owned), differs };
        Order { nodes: nodes.to_vec(), cells }
    }
}

fn columns(plot: &Plot<'_>, play: &Play<'_>, reads: &[usize]) -> Vec<String> {
    let own = |index: usize| &plot.finding.transactions[play.accesses[index].0].thread;
    let name = |&index: &usize| {
        let alike = reads.iter().filter(|&&other| own(other) == own(index)).count() > 1;
        let earlier =
            reads.iter().filter(|&&other| other < index && own(other) == own(index)).count();
        match (alike, earlier) {
            (false, _) => format!("{} reads", own(index)),
            (true, 0) => format!("{} reads first", own(index)),
            (true, 1) => format!("{} reads again", own(index)),
            (true, more) => format!("{} reads ({})", own(index), more + 1),
        }
    };
    let last = play.accesses.first().map_or("", |(_, op)| short_variable(&op.target));
    reads.iter().map(name).chain([format!("Final {last}")]).collect()
}

fn verdict(plot: &Plot<'_>, orders: &[Order]) -> String {
    let fits = orders.iter().find(|order| order.cells.iter().all(|cell| !cell.differs));
    match fits {
        None if orders.len() == 2 => "Neither order gives what was observed.".to_owned(),
        None => format!("None of the {} orders gives what was observed.", orders.len()),
        Some(order) => {
            let names: Vec<&String> =
                order.nodes.iter().map(|&node| &plot.finding.transactions[node].thread).collect();
            format!(
                "The order {} gives the same values here: the block was torn, but these values do not show it.",
                words::list(&names, 4)
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
