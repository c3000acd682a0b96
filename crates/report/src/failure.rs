//! A run that failed, as reports show it: what happened, whether it depends on the schedule, and what it needs.

use serde::{Deserialize, Serialize};

use crate::calls::CallTable;
use crate::model::Evidence;
use crate::operation::{Action, Operation};
use crate::phrasing::{count, number};
use crate::replayed::Replayed;

/// Whether a failure depends on the schedule, judging by the runs that were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dependence {
    /// Some run of the same program with the same input ended well.
    Schedule,
    /// Every run failed.
    EverySchedule,
}

/// A way in which runs failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Counted together with the violations of the report.
    pub number: u32,
    /// What went wrong: the exceptions that ended threads, the exit code, or that the run did not end.
    pub headline: String,
    /// Where the exceptions come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    pub dependence: Dependence,
    /// Runs that failed in this way, and runs that ended well.
    pub occurrences: u64,
    pub good_runs: u64,
    /// What it needs: operations that must happen in this order. Empty if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<FailureStep>,
    /// Without any one of the steps it did not happen.
    #[serde(default)]
    pub is_minimal: bool,
    /// Runs that were made to find the steps.
    #[serde(default)]
    pub cause_runs: u64,
    /// The calls of the run, if it is about their results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallTable>,
    pub evidence: Evidence,
}

/// One operation that a failure needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailureStep {
    pub operation: Operation,
    /// The failure did not happen when this operation and the next one changed places.
    #[serde(default)]
    pub decides: bool,
}

impl Failure {
    /// What the runs say of the schedule.
    pub fn label(&self) -> &'static str {
        match self.dependence {
            Dependence::Schedule => "depends on the schedule",
            Dependence::EverySchedule => "fails in every schedule tried",
        }
    }

    /// How often it was seen, in words.
    pub fn frequency(&self) -> String {
        let failed = count(self.occurrences, "run");
        match self.good_runs {
            0 => format!("{failed} failed in this way, and no run ended well"),
            good => format!("{failed} failed in this way, {} ended well", number(good)),
        }
    }

    /// What it needs, as a sentence; empty if that is not known.
    pub fn cause(&self) -> String {
        let needs = if self.is_minimal { "needs" } else { "happens with" };
        match self.steps.len() {
            0 if self.is_minimal => {
                "needs no preemption: it fails when every thread runs until it blocks".to_owned()
            }
            0 => String::new(),
            1 => format!("{needs} one operation at the right time"),
            steps => format!("{needs} {} operations in this order", number(steps as u64)),
        }
    }

    /// All that is known of it, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut all: Vec<String> = self.places.iter().map(|place| format!("at {place}")).collect();
        all.extend(self.calls.iter().flat_map(CallTable::sentences));
        all.push(format!("{}: {}", self.label(), self.frequency()));
        if self.steps.is_empty() {
            all.extend(Some(self.cause()).filter(|cause| !cause.is_empty()));
        } else {
            let steps: Vec<String> =
                self.steps.iter().map(|step| sentence_part(&step.operation)).collect();
            all.push(format!("{}: {}", self.cause(), steps.join(", then ")));
        }
        all.extend(self.deciding_pairs());
        let replayed = self.evidence.replayed;
        all.extend((replayed != Replayed::Exactly).then(|| replayed.label()));
        all
    }

    /// The pairs of neighbouring steps whose order decides, as sentences.
    pub fn deciding_pairs(&self) -> Vec<String> {
        let pairs = self.steps.windows(2).filter(|pair| pair[0].decides);
        pairs
            .map(|pair| {
                let [first, second] = [&pair[0].operation, &pair[1].operation].map(sentence_part);
                format!("it does not fail if {second} comes before {first}")
            })
            .collect()
    }
}

/// `Bob's write of Account#1.balance (Bank.java:42)`
fn sentence_part(operation: &Operation) -> String {
    let verb = match operation.action {
        Action::Read => "read of",
        Action::Write => "write of",
        Action::Acquire => "acquire of",
        _ => "operation on",
    };
    let place = match operation.place.as_str() {
        "" => String::new(),
        place => format!(" ({place})"),
    };
    format!("{}'s {verb} {}{place}", operation.thread, operation.target)
}
