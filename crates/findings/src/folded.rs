//! What happened and is not counted as a finding.

use untorn_explore::{AtomicityViolation, Evidence, Failure, Outcome};
use untorn_report::folded::{FoldReason, Folded};

use crate::check::file_name;

/// All that depends on timing only.
pub fn folded(outcome: &Outcome) -> Vec<Folded> {
    let violations = outcome.timed_violations.iter().map(violation);
    let failures = outcome.timed_failures.iter().map(failure);
    violations.chain(failures).flatten().collect()
}

fn violation(found: &AtomicityViolation) -> Option<Folded> {
    let key = &found.key;
    folded_by_time(format!("{} is not atomic ({})", key.block, key.field), &found.evidence)
}

fn failure(found: &Failure) -> Option<Folded> {
    folded_by_time(found.kind.to_string(), &found.evidence)
}

fn folded_by_time(headline: String, evidence: &Evidence) -> Option<Folded> {
    let outrun = evidence.outrun?;
    let tables = &evidence.tables;
    let trace = file_name(&evidence.trace);
    Some(Folded {
        headline,
        why: FoldReason::TimingOnly {
            sleeper: tables.thread_name(outrun.sleeper),
            held: tables.thread_name(outrun.held),
            place: outrun.site.map(|site| tables.site_text(site)).unwrap_or_default(),
        },
        replay: format!("untorn replay {}", evidence.trace.display()),
        trace,
    })
}
