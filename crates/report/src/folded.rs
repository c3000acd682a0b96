//! What happened and is not counted: it is listed below the findings, with the reason.

use serde::{Deserialize, Serialize};

/// Something that would be a finding, but for its reason to be folded.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FoldedFinding {
    /// What it would be called as a finding.
    pub headline: String,
    pub why: FoldReason,
    /// The trace with its schedule, relative to the report.
    pub trace: String,
    /// The command that shows it again.
    pub replay: String,
}

/// Why it is not counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FoldReason {
    /// A thread slept, or waited with a time limit, while another one was held that would have gone on.
    TimingOnly {
        sleeper: String,
        held: String,
        /// Where the sleeper was last seen before: `PoolTest.java:31`.
        place: String,
    },
    /// It did no harm, and the values show why.
    Benign { pattern: BenignPattern },
    /// It happened in every run that was recorded, and the program ends well if nobody records it.
    OnlyRecorded,
    /// Something is visible in the run, and whether the interruption is the reason could not be tested.
    Untested { effect: String },
}

/// Why an interruption did no harm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BenignPattern {
    SameValue,
    SameContents,
    PutBack,
    LibraryInsides,
    SawTheChange,
    Serial,
    Undecided,
}

impl BenignPattern {
    /// The reason, as a clause.
    pub const fn why(self) -> &'static str {
        match self {
            Self::SameValue => "what was written in between was there already",
            Self::SameContents => {
                "both threads made an object with the same contents, and the one that was replaced never changes"
            }
            Self::PutBack => {
                "the block puts the value back, and the code that saw it meanwhile writes nothing"
            }
            Self::LibraryInsides => {
                "it is about fields inside of library objects, and nothing shows outside"
            }
            Self::SawTheChange => {
                "the critical section that overwrote the value had seen the change, and went by it"
            }
            Self::Serial => "some serial order of the critical sections gives the same values",
            Self::Undecided => {
                "it could not be decided whether a serial order of the critical sections gives the same values"
            }
        }
    }
}

impl Default for FoldReason {
    fn default() -> Self {
        Self::TimingOnly { sleeper: String::new(), held: String::new(), place: String::new() }
    }
}

impl FoldedFinding {
    /// The headline with the reason, as one line.
    pub fn line(&self) -> String {
        match &self.why {
            FoldReason::Benign { pattern } => {
                format!("without harm: {}: {}", self.headline, pattern.why())
            }
            FoldReason::OnlyRecorded => format!(
                "only when recorded: {}: in every run, though the program ends well as it is",
                self.headline
            ),
            FoldReason::Untested { effect } => format!(
                "not tested: {}: visible: {effect}; it could not be tested whether the interruption is the reason",
                self.headline
            ),
            FoldReason::TimingOnly { sleeper, held, place } => {
                let place =
                    if place.is_empty() { String::new() } else { format!(" after {place}") };
                format!(
                    "depends on timing only: {}: a sleep or time limit of {sleeper}{place} must pass while {held}, \
                     which could go on, does not",
                    self.headline
                )
            }
        }
    }
}
