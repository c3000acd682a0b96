//! The calls of a run whose results no sequential order gives, in a terminal.

use super::{FAINT, Look, TEAR, paint, paragraph};
use crate::calls::{CallRow, CallTable};
use crate::text::{plain, width};

const HEADS: [&str; 5] = ["", "when", "call", "result", "nearest sequential order"];

/// The table and its verdict.
pub(super) fn calls(table: &CallTable, look: &Look) -> String {
    let mut lines = vec![HEADS.map(str::to_owned)];
    lines.extend(table.rows.iter().enumerate().map(|(at, row)| cells(table, at, row)));
    let widths: [usize; 5] =
        std::array::from_fn(|at| lines.iter().map(|line| width(&line[at])).max().unwrap_or(0));
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let mut text = String::new();
        for (cell, width_of) in line.iter().zip(widths) {
            text.push_str(&format!("{cell}{}  ", " ".repeat(width_of - width(cell))));
        }
        let differs = at.checked_sub(1).is_some_and(|row| table.rows[row].differs);
        let mark = if differs { "← differs" } else { "" };
        let style = if at == 0 { FAINT } else { TEAR };
        let line = format!("{text}{mark}");
        let line = line.trim_end();
        let shown = if at == 0 || differs { paint(line, style, look) } else { line.to_owned() };
        out.push_str(&format!("  {shown}\n"));
    }
    out.push_str(&paragraph(&table.verdict(), look));
    out.push_str(&paragraph(&table.nearest_order(), look));
    out
}

/// The section is named once.
fn cells(table: &CallTable, at: usize, row: &CallRow) -> [String; 5] {
    let is_first = at == 0 || table.rows[at - 1].section != row.section;
    let section = if is_first { row.section.clone() } else { String::new() };
    let span = format!("{}–{}", row.span[0], row.span[1]);
    let position = table.nearest.iter().position(|&own| own == at);
    let order = position.map_or_else(String::new, |position| format!("{}. ", position + 1));
    let sequential = format!("{order}{}", row.sequential);
    [section, span, plain(&row.call), plain(&row.result), plain(&sequential)]
}
