//! From runs that failed to the failure that reports show.

use std::path::Path;

use untorn_explore as explore;
use untorn_explore::FailureKind;
use untorn_report::Operation;
use untorn_report::failure::{Dependence, Failure, FailureStep};
use untorn_report::model::Evidence;

use crate::check::{file_name, replay, replayed};

/// The failure as reports show it. `folder` is where the report will be.
pub fn failure(found: &explore::Failure, folder: &Path) -> Failure {
    let (dependence, good_runs) = match found.dependence {
        explore::Dependence::Schedule { good_runs } => (Dependence::Schedule, good_runs.into()),
        explore::Dependence::EverySchedule => (Dependence::EverySchedule, 0),
    };
    let step = |step: &explore::CauseStep| FailureStep {
        operation: Operation::new(step.at, &step.event, &found.evidence.tables),
        decides: step.decides,
    };
    let cause = found.cause.as_ref();
    Failure {
        number: found.number,
        headline: found.kind.to_string(),
        places: places(&found.kind),
        dependence,
        occurrences: u64::from(found.evidence.alike) + 1,
        good_runs,
        steps: cause.map_or_else(Vec::new, |cause| cause.steps.iter().map(step).collect()),
        is_minimal: cause.is_some_and(|cause| cause.is_minimal),
        cause_runs: cause.map_or(0, |cause| cause.runs.into()),
        calls: None,
        evidence: Evidence {
            trace: file_name(&found.evidence.trace),
            run: found.evidence.run,
            replay: replay(folder, found.number),
            inputs: found.evidence.inputs.to_string(),
            replayed: replayed(found.evidence.replay),
            milliseconds: found.evidence.after.as_millis() as u64,
            preemptions: found.evidence.preemptions,
            ..Evidence::default()
        },
    }
}

/// Where an exception comes from.
fn places(kind: &FailureKind) -> Vec<String> {
    match kind {
        FailureKind::Uncaught(exception) => exception.place.iter().cloned().collect(),
        FailureKind::Exit(_)
        | FailureKind::Signal(_)
        | FailureKind::Hang
        | FailureKind::WrongResults(_) => Vec::new(),
    }
}
