//! How a trace was made: what was run, how, and the recorder's summary.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the trace came to be.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunMeta {
    /// The program and its arguments; empty if unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What recorded the run: `jvm`, `native`, `simulated`, `generate`, `import`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub front_end: String,
    /// What a replay needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<RunSetup>,
    /// What the recorder counted; missing if the recording was cut short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<RecordingSummary>,
    /// Whatever else a trace has. Nothing here depends on it.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// Under which circumstances the program ran.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSetup {
    pub directory: String,
    /// Variables with their values: few, because nobody wants to find a secret in a file that is passed on.
    pub environment: BTreeMap<String, String>,
    /// The names of all others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_variables: Vec<String>,
    /// The `RunSpec` of crate `schedule`: what decided which thread runs.
    pub run: serde_json::Value,
    /// Data that only the front end reads again.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub front_end: serde_json::Value,
    /// Tells the user who made the file that nobody changed what is run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub seal: String,
}

/// The recorder's summary at the end of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordingSummary {
    pub threads: u64,
    /// Turns of the schedule.
    pub turns: u64,
    /// How often a thread blocked in code without probes, and lost the token.
    pub stolen: u64,
    /// How often a thread waited for something outside of the program.
    pub awaited: u64,
    /// How often a thread blocked on a monitor of code that is not recorded.
    pub contended: u64,
    /// How often the model of a lock was corrected.
    pub amended: u64,
    /// Threads that ran without control.
    pub uncontrolled_threads: u64,
    pub virtual_threads_unseen: u64,
    /// Ends of blocks without their beginnings.
    pub unmatched_ends: u64,
    /// Elements of large copied arrays without an event.
    pub elements_left_out: u64,
    /// Accesses without an event, because their variable is not known: by an address, or by a view of other elements.
    pub accesses_unresolved: u64,
    /// Of a plan or a schedule that was to be followed: how far it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// Places of a plan, or of marks, that the program does not have or did not load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan_missing: Vec<String>,
    /// Where a replay differed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divergence: Option<String>,
    pub coverage: Coverage,
    pub notes: Vec<String>,
}

/// How far a plan or a schedule was followed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Followed {
    pub steps: u64,
    pub of: u64,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<String>,
    /// Sleeps, and waits with a time limit, that ended by time while a thread that could run was held. Not all, if there
    /// are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub premature_timeouts: Vec<PrematureTimeout>,
}

/// A wait that ended by time while another thread was held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PrematureTimeout {
    /// The thread that waited, and the one that was held.
    pub waiter: u32,
    pub held: u32,
    /// Events of the run before the wait ended.
    pub events: u64,
}

/// How much of the program was instrumented.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    pub application_classes: u64,
    pub application_methods: u64,
    /// Classes of libraries of which accesses are recorded.
    pub library_classes: u64,
    /// Classes of which only locks are recorded.
    pub lock_classes: u64,
    pub skipped_classes: u64,
    pub skipped_methods: u64,
    /// What was left as it is, and why, in words.
    pub skipped: Vec<String>,
    /// What the program uses and the recorder does not see, in words.
    pub unseen: Vec<String>,
}
