//! What a check says of a program in which it found nothing: that it is clean, or why it cannot say so.

use serde::{Deserialize, Serialize};

use crate::phrasing::{count, number};

/// The result of a whole check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckVerdict {
    /// Violations, deadlocks or failures.
    Findings,
    /// Nothing was found, and enough was looked at.
    #[default]
    Clean,
    /// Nothing was found, and too little was looked at.
    Inconclusive,
}

/// Why a check that found nothing says little about the program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Gap {
    Interrupted,
    OneThread,
    /// All runs were stopped.
    NoRunEnded {
        runs: u64,
    },
    EveryRunFailed {
        runs: u64,
    },
    /// Every run that was recorded failed or got stuck, and the program ends well if nobody records it.
    OnlyRecorded {
        runs: u64,
    },
    /// No run was searched for candidates from its beginning to its end.
    NoRunSearched {
        runs: u64,
    },
    /// Candidates that the budget did not suffice for.
    Untried {
        candidates: u64,
        of: u64,
    },
    /// Candidates whose plans could not be followed, or for which none was found.
    NoFinding {
        candidates: u64,
        of: u64,
    },
    /// Events behind the limit on the events of a run.
    NotAnalysed {
        events: u64,
        of: u64,
    },
    /// Interrupted blocks in whose runs something is visible, of which nobody knows whether it is due to that.
    Untested {
        blocks: u64,
    },
    /// Kinds of accesses, or of synchronisation, that were not recorded.
    NotSeen {
        kinds: u64,
    },
}

impl Gap {
    /// Why, as a clause: `time was over before 93 of 95 candidates were tried`.
    pub fn why(&self) -> String {
        match *self {
            Self::Interrupted => "it was interrupted".to_owned(),
            Self::OneThread => "only one thread ever ran, so nothing could be torn".to_owned(),
            Self::NoRunEnded { runs: 1 } => "the only run had to be stopped".to_owned(),
            Self::NoRunEnded { runs } => {
                format!("all {} had to be stopped before their ends", count(runs, "run"))
            }
            Self::EveryRunFailed { runs: 1 } => "the only run failed".to_owned(),
            Self::EveryRunFailed { runs } => format!("all {} failed", count(runs, "run")),
            Self::OnlyRecorded { runs } => format!(
                "{} failed when recorded, though the program ends well as it is",
                count(runs, "run")
            ),
            Self::NoRunSearched { runs } => {
                format!("none of {} was searched for candidates to its end", count(runs, "run"))
            }
            Self::Untried { candidates, of } => format!(
                "the budget was used up before {} of {} were tried",
                number(candidates),
                count(of, "candidate")
            ),
            Self::NoFinding { candidates, of } => {
                format!("{} of {} were not reached", number(candidates), count(of, "candidate"))
            }
            Self::NotAnalysed { events, of } => {
                format!("{} of {} were not looked at", number(events), count(of, "event"))
            }
            Self::Untested { blocks } => format!(
                "something is visible in runs with {}, and whether that is the reason could not be tested",
                count(blocks, "interrupted block")
            ),
            Self::NotSeen { kinds } => {
                format!("{} of operations are not recorded", count(kinds, "kind"))
            }
        }
    }

    /// What to do about it.
    pub fn way_out(&self) -> &'static str {
        match self {
            Self::Interrupted => "let it run to its end",
            Self::OneThread => {
                "choose a test, or arguments, with which the program starts threads; its standard input is empty"
            }
            Self::NoRunEnded { .. } => {
                "give a run more time with --run-time, or choose something that ends"
            }
            Self::OnlyRecorded { .. } => {
                "look at what is listed below: what it depends on may not be recorded; leave that test out"
            }
            Self::EveryRunFailed { .. } => "make the program run to its end first",
            Self::NoRunSearched { .. } | Self::Untried { .. } => {
                "more time (--time 10m), or less to look at (--instrument 'com.acme.*')"
            }
            Self::NoFinding { .. } => "more tries (--per-candidate 20), or look at them with -v",
            Self::NotAnalysed { .. } => {
                "more events (--events), or fewer of them (--instrument 'com.acme.*')"
            }
            Self::Untested { .. } => "look at what is listed below, and replay it",
            Self::NotSeen { .. } => "`untorn doctor` says more",
        }
    }
}

/// All reasons in one line.
pub fn why(gaps: &[Gap]) -> String {
    gaps.iter().map(Gap::why).collect::<Vec<_>>().join("; ")
}

/// What to do about all of them, each advice once.
pub fn way_out(gaps: &[Gap]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for advice in gaps.iter().map(Gap::way_out) {
        if !all.contains(&advice) {
            all.push(advice);
        }
    }
    all.join("; ")
}
