//! What makes two findings the same, across runs and small edits of the source: the block, the fields
//! and the kinds of access. Line numbers, thread names, object numbers and values may change.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::model::{Finding, Report};

/// The version of the rule below; it stands in SARIF's property name.
pub const VERSION: &str = "untorn/v1";

/// A short hexadecimal name.
pub fn fingerprint(finding: &Finding) -> String {
    let mut blocks: Vec<&str> = finding.refuted().map(|block| block.name.as_str()).collect();
    if blocks.is_empty() {
        let outer = finding.transactions.iter().filter_map(|own| own.blocks.first());
        blocks = outer.map(|block| block.name.as_str()).collect();
    }
    blocks.sort_unstable();
    blocks.dedup();
    let mut edges: Vec<String> = finding
        .edges
        .iter()
        .map(|edge| {
            let (from, to) = (&finding.operations[edge.from], &finding.operations[edge.to]);
            let (a, b) = (without_number(&from.target), without_number(&to.target));
            format!("{} {a} > {} {b}", from.action.verb(), to.action.verb())
        })
        .collect();
    // A cycle has no first edge.
    edges.sort();
    let mut hasher = Sha256::new();
    for part in blocks.iter().copied().chain(edges.iter().map(String::as_str)) {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    hasher.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

/// Objects are numbered in the order of a run: `Account#1.balance` is `Account.balance`.
fn without_number(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('#') {
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

/// Removes the findings that an older report has, too. Gives their number.
pub fn subtract(report: &mut Report, old: &Report) -> usize {
    let known: BTreeSet<String> = old.findings().map(fingerprint).collect();
    let before = report.findings().count();
    report.findings.retain(|finding| !known.contains(&fingerprint(finding)));
    for trace in &mut report.traces {
        trace.findings.retain(|finding| !known.contains(&fingerprint(finding)));
    }
    before - report.findings().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_numbers_do_not_count() {
        assert_eq!(without_number("Account#12.balance"), "Account.balance");
        assert_eq!(without_number("int[]#3[7]"), "int[][7]");
        assert_eq!(without_number("balance"), "balance");
    }
}
