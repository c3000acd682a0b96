//! What makes two findings the same: for merging, for baselines and for fingerprints.
//!
//! A violation of a check is the same if its block, its variable and its pattern are: which the check itself uses to
//! distinguish findings. All that happens inside of the JDK's objects is one variable and one pattern. A finding without
//! such a name is the same if its blocks, its variables and the kinds of access are. Line numbers, thread names, object
//! numbers, array indices and values may change: a finding stays the same across runs and small edits of the source.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use untorn_trace::generic_name;

use crate::failure::Failure;
use crate::model::{Finding, Report};

/// The version of the rule below; it is part of SARIF's property name.
pub const VERSION: &str = "untorn/v3";

/// A short hexadecimal name of the identity.
pub fn fingerprint(finding: &Finding) -> String {
    fingerprint_of(&identity(finding))
}

/// A short form of an identity.
pub fn fingerprint_of(identity: &str) -> String {
    let hash = Sha256::digest(identity.as_bytes());
    hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

/// The identity as text: two findings with the same text have the same fix.
pub fn identity(finding: &Finding) -> String {
    match &finding.evidence {
        Some(evidence) if !evidence.identity.is_empty() => evidence.identity.clone(),
        _ => shape(finding),
    }
}

/// The blocks and the conflicts, without what changes from run to run. Each part ends in a zero byte.
fn shape(finding: &Finding) -> String {
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
            let (a, b) = (generic_name(&from.target), generic_name(&to.target));
            format!("{} {a} > {} {b}", from.action.verb(), to.action.verb())
        })
        .collect();
    // A cycle has no first edge.
    edges.sort();
    let parts = blocks.into_iter().chain(edges.iter().map(String::as_str));
    parts.flat_map(|part| [part, "\0"]).collect()
}

/// Removes the findings that an older report has, too. Gives their number.
pub fn subtract(report: &mut Report, old: &Report) -> usize {
    let known: BTreeSet<String> = old.findings().map(fingerprint).collect();
    let known_failures: BTreeSet<String> = old.failures.iter().map(of_failure).collect();
    let before = report.findings().count() + report.failures.len();
    report.failures.retain(|failure| !known_failures.contains(&of_failure(failure)));
    report.findings.retain(|finding| !known.contains(&fingerprint(finding)));
    for trace in &mut report.traces {
        trace.findings.retain(|finding| !known.contains(&fingerprint(finding)));
    }
    before - report.findings().count() - report.failures.len()
}

/// What makes failures of two checks the same: where exceptions come from; else what is said of it. Messages often
/// contain values, so they do not count if there is a place.
pub fn of_failure(failure: &Failure) -> String {
    let kind = failure.headline.split(": ").next().unwrap_or_default();
    match failure.places.as_slice() {
        [] => format!("failure {}", failure.headline),
        places => format!("failure {kind} at {}", places.join(", ")),
    }
}
