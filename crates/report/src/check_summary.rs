//! What a check did beside finding violations, and how it was called.

use serde::{Deserialize, Serialize};

use crate::coverage::{CheckVerdict, Gap};
use crate::phrasing::{count, number};
use crate::scene::Excerpt;

/// What a check did beside finding violations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CheckSummary {
    pub command: Vec<String>,
    pub runs: u64,
    /// Runs that followed a plan.
    pub directed: u64,
    pub events: u64,
    /// Most threads in one run.
    pub threads: u64,
    pub candidates: u64,
    pub infeasible: u64,
    /// Happened, and nothing speaks against the block.
    pub harmless: u64,
    /// Predicted, and not reached.
    pub unreached: Vec<NoFinding>,
    /// What was not recorded, in words.
    pub unseen: Vec<String>,
    /// Events that were not analysed.
    pub left_out: u64,
    /// What the check says of the program.
    #[serde(default)]
    pub verdict: CheckVerdict,
    /// Why it says little if it found nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    pub interrupted: bool,
    pub milliseconds: u64,
    #[serde(default)]
    pub setting: Setting,
    /// Runs that ended in a deadlock.
    #[serde(default)]
    pub deadlocks: u64,
    /// Runs that ended with exit code 0 and without an uncaught exception.
    #[serde(default)]
    pub good_runs: u64,
    /// Different orders of conflicting operations on one object or lock.
    #[serde(default)]
    pub conflict_orders: u64,
    /// Why the check ended before its time was used, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<String>,
    /// Three-access violations by their places, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triples: Option<Vec<Triple>>,
    /// The part of the work that was done, from 1, and of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<[u32; 2]>,
}

/// The options of a check, so that it can be repeated.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Setting {
    pub instrument: Vec<String>,
    pub exclude: Vec<String>,
    pub atomic: Vec<String>,
    /// Only declared blocks counted.
    pub declared: bool,
    pub all_methods: bool,
    /// Compositions were searched.
    pub compositions: bool,
    /// Which of the JVMs that the command started was selected, by its main class or jar, or by a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Where the program ran, if that was another folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Tells the user who made the report that nobody changed what is run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub seal: String,
}

/// A prediction that did not come true.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NoFinding {
    pub block: String,
    pub variable: String,
    pub pattern: String,
    pub places: Vec<String>,
    pub why: String,
    /// The source around its places, where it was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Excerpt>,
}

/// A three-access violation, as the literature counts them: by the places of its accesses.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Triple {
    pub places: Vec<String>,
    pub pattern: String,
    /// It was made to happen.
    pub happened: bool,
    /// No serial order of the blocks gives the values.
    pub by_values: bool,
    /// The conditions that are printed in the AtomChase paper hold. They are no proof.
    pub by_printed_conditions: bool,
}

/// How many of some triples came how far.
pub fn counted(triples: &[Triple]) -> String {
    let count_of =
        |of: fn(&Triple) -> bool| number(triples.iter().filter(|one| of(one)).count() as u64);
    format!(
        "three-access violations, by places: {}, {} made to happen, {} confirmed by values, {} by the printed conditions",
        count(triples.len() as u64, "candidate"),
        count_of(|one| one.happened),
        count_of(|one| one.by_values),
        count_of(|one| one.by_printed_conditions),
    )
}
