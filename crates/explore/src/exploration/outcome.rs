//! What comes of a chase.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use untorn_schedule::Plan;

use super::Failure;
use crate::compositions::CompositionId;
use crate::conflict_order::Saturation;
use crate::deadlock::DeadlockState;
use crate::judge::Judged;
use crate::run::{Run, RunError};
use crate::target::{Key, Unreached};
use untorn_frontend::FrontEndError;

/// What happens, for who watches.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A run is about to begin, for this target.
    Running {
        number: u32,
        target: Option<&'a Key>,
        open: usize,
    },
    RunEnded {
        run: &'a Run,
        new: usize,
    },
    Found(&'a Finding),
    /// A run failed in a way that no run before did.
    Failed(&'a Failure),
    Deadlocked(&'a Deadlock),
    /// A run is about to begin that may show a finding in a simpler way.
    Simplifying {
        number: u32,
        finding: &'a Finding,
    },
    /// A run is about to begin that shows whether a failure needs all that it seems to need.
    SimplifyingFailure {
        number: u32,
        failure: &'a Failure,
    },
}

/// A violation that happened.
#[derive(Debug)]
pub struct Finding {
    /// Counted from 1 in the order of discovery, together with deadlocks.
    pub number: u32,
    pub key: Key,
    pub judged: Judged,
    /// The run that shows it.
    pub run: u32,
    pub trace: PathBuf,
    pub tables: Arc<untorn_trace::Tables>,
    /// Other candidates of the same block and field that happened, too.
    pub alike: u32,
    /// How long it took to find.
    pub after: Duration,
    /// How often a thread that could go on was stopped in that run, if the front end tells.
    pub preemptions: Option<u64>,
    /// Ways to make it happen again, the simplest first.
    pub(crate) recipes: Vec<Plan>,
}

impl Finding {
    /// The name of the block that tears the other one, if it is one.
    pub(crate) fn intruder(&self) -> Option<String> {
        let block = self.judged.intruder?;
        self.tables.labels.get(block).map(str::to_owned)
    }
}

/// A way in which runs got stuck.
#[derive(Debug)]
pub struct Deadlock {
    /// Counted together with findings.
    pub number: u32,
    /// The first run that shows it.
    pub run: u32,
    pub trace: PathBuf,
    pub tables: Arc<untorn_trace::Tables>,
    pub stuck: DeadlockState,
    pub(crate) signature: Vec<String>,
    /// Later runs that got stuck in the same way.
    pub alike: u32,
    pub after: Duration,
    pub preemptions: Option<u64>,
}

/// What of the runs nobody looked at for candidates, because time was over or it was too much.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unsearched {
    /// Runs that ended when time was over.
    pub runs: u32,
    /// Shared variables.
    pub variables: u64,
    /// Accesses of two variables of one object.
    pub accesses: u64,
    /// Combinations of places.
    pub combinations: u64,
}

impl std::ops::AddAssign for Unsearched {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.variables += other.variables;
        self.accesses += other.accesses;
        self.combinations += other.combinations;
    }
}

/// All that came of a chase.
#[derive(Debug, Default)]
pub struct Outcome {
    pub findings: Vec<Finding>,
    /// Candidates that were not reached, and why; harmless ones are counted apart.
    pub unreached: Vec<(Key, Unreached)>,
    pub harmless: u64,
    /// Candidates whose block is the body of a thread or a task: not chased.
    pub bodies: u64,
    /// Candidates in all, and those proved infeasible.
    pub candidates: u64,
    pub infeasible: u64,
    pub runs: u32,
    pub directed: u32,
    pub events: u64,
    pub left_out: u64,
    pub unsearched: Unsearched,
    /// Most threads seen in a run.
    pub threads: usize,
    /// Runs that ended in a deadlock, and the different ways in which they did.
    pub deadlocks: u32,
    pub deadlocked: Vec<Deadlock>,
    /// The different ways in which runs failed. A failure that a finding explains is told with the finding.
    pub failures: Vec<Failure>,
    /// Runs with a failure of a kind that was not kept, because there were too many kinds.
    pub more_failures: u32,
    /// Runs that ended well: with exit code 0 and without an uncaught exception.
    pub good_runs: u32,
    /// Runs that did not end by themselves.
    pub timed_out: u32,
    /// What the front end could not see, in words.
    pub unseen: BTreeSet<String>,
    /// Whether the block that alone was to be chased occurred at all.
    pub is_seen: bool,
    /// Methods that were refuted while every one was said to be atomic.
    pub refuted: BTreeSet<String>,
    /// Compositions whose calls were both made in one go of their method.
    pub compositions_made: BTreeSet<CompositionId>,
    /// Runs that showed something in a process that had made runs before, and did not show it in a fresh one.
    pub unrepeated: u32,
    /// Different orders of conflicting operations that runs had.
    pub conflict_orders: u64,
    /// Why it ended before the budget was used.
    pub saturation: Option<Saturation>,
    /// Ended by the user.
    pub interrupted: bool,
    pub time: Duration,
}

impl Outcome {
    /// The number of what is found next.
    pub(crate) fn next_number(&self) -> u32 {
        (self.findings.len() + self.deadlocked.len()) as u32 + 1
    }

    /// All that was found so far, of whatever kind.
    pub(crate) fn finding_count(&self) -> usize {
        self.findings.len() + self.deadlocked.len() + self.failures.len()
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExploreError {
    #[error(transparent)]
    FrontEnd(#[from] FrontEndError),
    #[error(transparent)]
    Evidence(#[from] RunError),
}
