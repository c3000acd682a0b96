//! Whether a report that comes from a file can be shown: every index leads somewhere, every number can be counted with.
//!
//! Renderers rely on it. A report is read by [`crate::json::parse`] alone, which refuses what fails here.

use crate::model::{Excerpt, Finding, Report};

/// Blocks nested deeper than this cannot be drawn. No trace of a program comes near it.
const MAX_DEPTH: u32 = 1 << 20;

/// The first thing that is wrong, in words.
pub fn first_fault(report: &Report) -> Option<String> {
    for (place, finding) in report.findings().enumerate() {
        if let Some(fault) = of_finding(finding) {
            return Some(format!("finding {} (number {}): {fault}", place + 1, finding.number));
        }
    }
    let predictions = report.check.iter().flat_map(|check| &check.unreached);
    let excerpts = predictions.flat_map(|prediction| &prediction.sources);
    excerpts.filter_map(of_excerpt).next()
}

fn of_finding(finding: &Finding) -> Option<String> {
    let (transactions, operations) = (finding.transactions.len(), finding.operations.len());
    if finding.number == u32::MAX {
        return Some("its number is too large".to_owned());
    }
    if finding.edges.len() != transactions {
        let edges = finding.edges.len();
        return Some(format!("{edges} edges cannot join {transactions} transactions in a cycle"));
    }
    for edge in &finding.edges {
        if let Some(index) = [edge.from, edge.to].into_iter().find(|&index| index >= operations) {
            return Some(format!("an edge names operation {index} of {operations}"));
        }
    }
    let steps = finding.scene.iter().flat_map(|scene| &scene.steps).chain(&finding.waiting);
    let all = finding.operations.iter().chain(steps.map(|step| &step.operation));
    for index in all.filter_map(|operation| operation.transaction) {
        if index >= transactions {
            return Some(format!("an operation names transaction {index} of {transactions}"));
        }
    }
    let mut blocks = finding.transactions.iter().flat_map(|own| &own.blocks);
    if blocks.any(|block| block.depth > MAX_DEPTH) {
        return Some("a block is nested too deeply".to_owned());
    }
    finding.sources.iter().find_map(of_excerpt)
}

fn of_excerpt(excerpt: &Excerpt) -> Option<String> {
    let lines = u32::try_from(excerpt.lines.len()).unwrap_or(u32::MAX);
    let overflows = excerpt.first.checked_add(lines).is_none();
    overflows.then(|| format!("the excerpt of {} begins at line {}", excerpt.file, excerpt.first))
}
