//! Candidates: possible atomicity violations, as three points of the program, with events to try them on.
//!
//! After AVIO (Lu, Tucek, Qin, Zhou, *AVIO: detecting atomicity violations via access interleaving
//! invariants*, ASPLOS 2006), McPatom and PENELOPE: two accesses of a block and one of another thread
//! to the same variable that no serial order explains.
//!
//! What we changed.
//! * Only pairs that add information. If another access of the block lies between the two, a write
//!   in between interrupts one of the two shorter pairs as well, whatever it is; so for writes of other
//!   threads only *neighbouring* accesses matter, and for reads only neighbouring writes. The number
//!   of pairs is linear in the number of accesses.
//! * Pairs are grouped by their places for each variable, and groups are combined, not events: a variable with
//!   a hundred thousand accesses costs what its few places cost. For each candidate a handful of
//!   instances is kept: different threads, variables, early and late, with events of the other thread
//!   near in time.
//! * A block that is not declared is an activation of a method ([`Origin::Inferred`]): the innermost
//!   one that contains both accesses, if no declared block and no critical section does. Two accesses
//!   that merely follow each other in a loop do not count: see [`pairs`].
//! * A read and a write that different activations make, below one method, count if the write was seen to depend on the
//!   read: see [`dependence`].
//! * Of a check and an act in one method, the run may show both in one thread and the check alone in
//!   another, because the first one had acted by then: see [`untaken_branch`].
//! * Two variables that are accessed together are a candidate, too: see [`fields`].
//!
//! Promise: every unserializable triple of the history (declared blocks) that is not redundant in the
//! above sense belongs to a candidate, unless [`Candidates`] counts it as left out. A candidate whose
//! instances are all ordered or guarded is dropped and counted, too.

mod blocks;
mod combine;
mod dependence;
mod fields;
mod forward;
mod groups;
mod pairs;
mod spread;
mod untaken_branch;

use untorn_trace::{LabelId, SiteId, ThreadId, VarId};

use crate::deadline::Deadline;
use crate::facts::HistoryIndex;
use crate::goal::{Goal, Pattern};
use crate::history::{At, BlockId, History, Origin};

use blocks::Blocks;
use combine::Combiner;
pub use fields::{Objects, SkippedCandidates, TwoVariableCandidate};

/// A point of the program, as exactly as the trace gives it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CandidatePlace {
    Site(SiteId),
    /// The trace has no source positions: a thread, its innermost block, a variable.
    Unknown {
        thread: ThreadId,
        label: LabelId,
        var: VarId,
    },
}

impl CandidatePlace {
    fn of(history: &History, at: At, var: VarId) -> Self {
        let event = history.event(at);
        if event.site != SiteId::NONE {
            return Self::Site(event.site);
        }
        let label = history.block_of(at).map_or(LabelId::NONE, |block| history.block(block).label);
        Self::Unknown { thread: event.thread, label, var }
    }
}

/// Three points of the program whose interleaving may violate atomicity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The first and third of one block, the second of another thread.
    pub points: [CandidatePlace; 3],
    pub pattern: Pattern,
    pub origin: Origin,
    /// The block of the first of its instances.
    pub block: BlockId,
    pub var: VarId,
    /// Whether the interrupted block made both of its accesses in this run. If not, see [`untaken_branch`]: then goals
    /// lead to where its thread may take the other branch, and `points` are what it would do there.
    pub is_seen: bool,
    /// Whether different values of its first access were seen to lead to different values of its last, a write.
    pub is_dependent: bool,
    /// How many triples of events match it, in whatever order they happened.
    pub instances: u64,
    /// Some of them, to be tried in this order; none is ordered or guarded for sure.
    pub goals: Vec<Goal>,
}

/// Which blocks count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BlockScope {
    /// Those that the trace declares.
    Declared,
    /// Activations of methods as well.
    #[default]
    All,
}

/// How far to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Candidates, over all variables.
    pub candidates: usize,
    /// Instances kept of each.
    pub goals: usize,
    /// Candidates of two variables.
    pub pairs: usize,
    /// What is not examined by then is left out, and counted.
    pub deadline: Deadline,
}

impl Default for Limits {
    fn default() -> Self {
        let deadline = Deadline::NEVER;
        Self { candidates: 200_000, goals: 6, pairs: 20_000, deadline }
    }
}

/// The candidates of a history, and how many were left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidates {
    /// Declared blocks first; then, of the inferred ones, lost updates; then in order of time. What was not
    /// seen comes behind what was.
    pub candidates: Vec<Candidate>,
    /// Candidates whose every instance is ruled out by a lock held around it.
    pub guarded: u64,
    /// Candidates of which every examined instance is ordered by forks and joins, or guarded.
    pub ordered: u64,
    /// Combinations of program points that were left out because there were too many.
    pub left_out: u64,
    /// Shared variables that were not examined, or not completely, because time was over.
    pub unseen_vars: u64,
    /// Candidates of two variables; declared blocks first, then in order of time.
    pub pairs: Vec<TwoVariableCandidate>,
    pub skipped_pairs: SkippedCandidates,
}

/// Finds the candidates of a history, of one variable each.
pub fn find(facts: &HistoryIndex<'_>, sources: BlockScope, limits: Limits) -> Candidates {
    find_in(facts, sources, limits, &Objects::default())
}

/// Finds the candidates of a history, those of two variables of one object as well.
pub fn find_in(
    facts: &HistoryIndex<'_>,
    sources: BlockScope,
    limits: Limits,
    objects: &Objects,
) -> Candidates {
    let blocks = Blocks::new(facts.history);
    let mut combiner = Combiner::new(facts, limits);
    let mut unseen_vars = 0;
    for index in 0..facts.history.var_count() {
        let var = VarId::from_index(index);
        if !is_shared(facts.history, var) {
            continue;
        }
        let is_seen = !limits.deadline.is_over() && {
            let groups = groups::of(facts, &blocks, sources, var);
            combiner.variable(var, &groups)
        };
        unseen_vars += u64::from(!is_seen);
    }
    let (pairs, skipped_pairs) = fields::find(facts, &blocks, sources, limits, objects);
    Candidates { pairs, skipped_pairs, unseen_vars, ..combiner.finish() }
}

/// Whether two threads access the variable, and one writes.
fn is_shared(history: &History, var: VarId) -> bool {
    let (reads, writes) = (history.reads(var), history.writes(var));
    let Some(&first) = writes.first() else { return false };
    let thread = history.event(first).thread;
    writes.iter().chain(reads).any(|&at| history.event(at).thread != thread)
}

/// How likely a candidate matters: smaller is more likely.
fn rank(origin: Origin, pattern: Pattern) -> u8 {
    match (origin, pattern) {
        (Origin::Declared, _) => 0,
        // Read, compute, write: typical of code that should be atomic.
        (Origin::Inferred, Pattern::ReadWriteWrite) => 1,
        // Reading twice is what polling does on purpose.
        (Origin::Inferred, Pattern::ReadWriteRead) => 3,
        (Origin::Inferred, _) => 2,
    }
}
