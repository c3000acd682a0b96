//! What happened and is not counted as a finding.

use untorn_explore::{AtomicityViolation, Benign, Evidence, Failure, Outcome, Significance};
use untorn_report::folded::{BenignPattern, FoldReason, FoldedFinding};

use crate::check::file_name;

/// All that depends on timing only, and what did no harm.
pub fn folded(outcome: &Outcome) -> Vec<FoldedFinding> {
    let violations = outcome.timed_violations.iter().map(violation);
    let failures = outcome.timed_failures.iter().map(failure);
    let folded = outcome.folded.iter().map(without_harm);
    let recorded =
        outcome.recorded_failures.iter().map(|own| (own.kind.to_string(), &own.evidence));
    let stuck = outcome.recorded_deadlocks.iter().map(|own| ("deadlock".to_owned(), &own.evidence));
    let recorded =
        recorded.chain(stuck).map(|(headline, evidence)| Some(only_recorded(headline, evidence)));
    violations.chain(failures).chain(folded).chain(recorded).flatten().collect()
}

fn violation(found: &AtomicityViolation) -> Option<FoldedFinding> {
    folded_by_time(headline(found), &found.evidence)
}

fn headline(found: &AtomicityViolation) -> String {
    let key = &found.key;
    format!("{} is not atomic ({}, {})", key.block, key.field, key.shape.letters())
}

fn only_recorded(headline: String, evidence: &Evidence) -> FoldedFinding {
    FoldedFinding {
        headline,
        why: FoldReason::OnlyRecorded,
        trace: file_name(&evidence.trace),
        replay: replay_of(evidence),
    }
}

/// Without harm, or nobody knows.
fn without_harm(found: &AtomicityViolation) -> Option<FoldedFinding> {
    let why = match found.significance {
        Significance::Benign(why) => FoldReason::Benign { pattern: pattern(why) },
        _ => FoldReason::Untested { effect: found.judged.untested.first()?.to_string() },
    };
    Some(FoldedFinding {
        headline: headline(found),
        why,
        trace: file_name(&found.evidence.trace),
        replay: replay_of(&found.evidence),
    })
}

fn pattern(why: Benign) -> BenignPattern {
    match why {
        Benign::SameValue => BenignPattern::SameValue,
        Benign::SameContents => BenignPattern::SameContents,
        Benign::PutBack => BenignPattern::PutBack,
        Benign::LibraryInsides => BenignPattern::LibraryInsides,
        Benign::SawTheChange => BenignPattern::SawTheChange,
        Benign::Serial => BenignPattern::Serial,
        Benign::Undecided => BenignPattern::Undecided,
    }
}

fn replay_of(evidence: &Evidence) -> String {
    format!("untorn replay {}", evidence.trace.display())
}

fn failure(found: &Failure) -> Option<FoldedFinding> {
    folded_by_time(found.kind.to_string(), &found.evidence)
}

fn folded_by_time(headline: String, evidence: &Evidence) -> Option<FoldedFinding> {
    let sleep = evidence.premature_sleep?;
    let tables = &evidence.tables;
    let trace = file_name(&evidence.trace);
    Some(FoldedFinding {
        headline,
        why: FoldReason::TimingOnly {
            sleeper: tables.thread_name(sleep.sleeper),
            held: tables.thread_name(sleep.held),
            place: sleep.site.map(|site| tables.site_text(site)).unwrap_or_default(),
        },
        replay: replay_of(evidence),
        trace,
    })
}
