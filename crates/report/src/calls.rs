//! The calls of a run whose results no sequential order gives, as reports show them.

use serde::{Deserialize, Serialize};

use crate::phrasing::{count, number};

/// The calls of a run, with the order that comes nearest to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallTable {
    /// The class whose object is called.
    pub class: String,
    /// Those before the threads, thread by thread, those after.
    pub rows: Vec<CallRow>,
    /// Sequential orders that keep the order of calls that did not overlap. None of them gives the results.
    pub orders: u64,
    /// The calls in the sequential order whose results differ latest; indices into the rows.
    pub nearest: Vec<usize>,
}

/// One call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallRow {
    /// `before`, `thread 1`, `after`
    pub section: String,
    /// `push(1)`
    pub call: String,
    /// What it returned or threw; empty if it returns nothing.
    pub result: String,
    /// What it gives in the nearest order.
    pub sequential: String,
    /// When it began and ended, by numbers that count both.
    pub span: [u64; 2],
    /// The first call of the nearest order that gives something else.
    pub differs: bool,
}

impl CallRow {
    /// `pop() → 1`
    pub fn text(&self) -> String {
        with_result(&self.call, &self.result)
    }
}

fn with_result(call: &str, result: &str) -> String {
    if result.is_empty() { call.to_owned() } else { format!("{call} → {result}") }
}

impl CallTable {
    /// What is wrong, in a sentence.
    pub fn verdict(&self) -> String {
        let calls = count(self.rows.len() as u64, "call");
        match self.orders {
            1 => format!("the only sequential order of these {calls} gives other results"),
            orders => format!(
                "none of the {} sequential orders of these {calls} gives these results",
                number(orders)
            ),
        }
    }

    /// The order that comes nearest, in a sentence.
    pub fn nearest_order(&self) -> String {
        let rows = self.nearest.iter().filter_map(|&at| self.rows.get(at));
        let step = |row: &CallRow| {
            let call = with_result(&row.call, &row.sequential);
            let here = if row.differs { " (not so here)" } else { "" };
            match row.section.as_str() {
                "before" | "after" => format!("{call}{here}"),
                thread => format!("{thread}: {call}{here}"),
            }
        };
        format!("nearest: {}", rows.map(step).collect::<Vec<_>>().join("; "))
    }

    /// All of it, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let row = |row: &CallRow| {
            format!("{} ({} to {}): {}", row.section, row.span[0], row.span[1], row.text())
        };
        let mut all: Vec<String> = self.rows.iter().map(row).collect();
        all.extend([self.verdict(), self.nearest_order()]);
        all
    }
}
