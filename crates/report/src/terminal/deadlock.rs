//! For each thread: which lock it holds and where it acquired it, which lock it requests and where. The order in time
//! matters less.

use super::{FAINT, INTRUDER, Look, Row, TORN, paragraph, source, table};
use crate::model::Finding;
use crate::operation::Operation;
use crate::story::{lock_names, place_aside, waits, where_stacks_are};
use crate::text::{ellipsis, plain};

pub fn interleaving(finding: &Finding, look: &Look) -> String {
    let names = lock_names(finding);
    let mut rows = Vec::new();
    for (index, own) in finding.transactions.iter().enumerate() {
        let style = if index == 0 { TORN } else { INTRUDER };
        let wants = &finding.edges[index];
        let given = finding.edges[(index + finding.edges.len() - 1) % finding.edges.len()].to;
        for (place, operation) in finding.operations.iter().enumerate() {
            let is_request = place == wants.from;
            if operation.transaction != Some(index)
                || !(is_request || place == given || look.verbose)
            {
                continue;
            }
            let mut row = Row::new(operation, style);
            row.verb = if is_request { "wants" } else { "has" };
            row.object = called(operation, &names);
            row.source = source(finding, &operation.place);
            row.faint = !is_request && place != given;
            if is_request {
                let owner = &finding.operations[wants.to].thread;
                row.mark = format!("← {} has it", ellipsis(&plain(owner), 24));
            }
            rows.push(row);
        }
        debug_assert!(rows.iter().all(|row| !row.thread.is_empty() || own.thread.is_empty()));
    }
    let mut out = table(&rows, look);
    for step in &finding.waiting {
        let text = format!("{}{}.", waits(step, finding.language()), place_aside(&step.operation));
        out.push_str(&paragraph(&text, look));
    }
    if finding.transactions.is_empty() && finding.waiting.is_empty() {
        let text = format!("What they wait for is not in the trace. {}", where_stacks_are(finding));
        out.push_str(&super::paint(&paragraph(&text, look), FAINT, look));
    }
    out
}

/// `left (Object#5)`.
fn called(operation: &Operation, names: &[(String, String)]) -> String {
    let known = names.iter().find(|(full, name)| *full == operation.target && full != name);
    match known {
        Some((full, name)) => {
            format!("{} ({})", ellipsis(&plain(name), 30), ellipsis(&plain(full), 24))
        }
        None => operation.short_object(44),
    }
}
