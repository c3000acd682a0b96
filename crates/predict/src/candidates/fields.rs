//! Candidates of two variables: fields that belong together, written or read one after the other.
//!
//! After MUVI (Lu, Park, Hu, Ma, Jiang, Li, Popa, Zhou, *MUVI: automatically inferring multi-variable
//! access correlations*, SOSP 2007) and the eleven problematic interleavings of atomic sets (Vaziri, Tip,
//! Dolby, *Associating synchronization constraints with data in an object-oriented language*, POPL 2006).
//! Six of those are about two variables: one block accesses x and then y, another thread's block accesses both,
//! and of x one comes first, of y the other one.
//!
//! What we changed.
//! * Two variables belong together if each of the two blocks accesses both: a pool's counter and its list, two accounts
//!   of a transfer. That is all a single run can show; MUVI counts over a whole program. Those of one object
//!   ([`Objects`]) come first, and candidates say which they are: that two objects belong together is a bolder guess.
//! * Each access may read or write, as long as the two of x conflict and the two of y do. The published
//!   patterns have pairs of reads and pairs of writes only. The mixed ones are write skew: *no reader
//!   there, so write*, while the other one checks *no writer there, so read*.
//! * Only pairs that add something new, as for one variable: if the block accesses x or y once more
//!   between the two, and that access conflicts, too, then whatever interrupts this pair interrupts a shorter one,
//!   or one of a single variable.
//! * The other block lies inside of the pair; if it accesses y first, then it may also end after it,
//!   and such a goal is the last one to try.
//!
//! * Of two blocks that check what the other one writes, a good run shows one write only: see [`untaken`].
//!
//! Promise: every quadruple of the history (declared blocks) that is unserializable and not redundant in
//! the above sense belongs to a candidate, unless [`SkippedCandidates`] counts it. A block that accesses
//! more than [`scan::WINDOW`] variables of one object between the two, or of any object if the two are of
//! different ones, is not seen as a pair.
//! Linear in the trace, but for the number of places that come together at one pair of variables.

mod combine;
mod scan;
mod untaken;

use rustc_hash::FxHashMap;
use untorn_trace::tables::convention;
use untorn_trace::{ObjectId, Op, Tables, VarId, VarRole};

use super::blocks::Blocks;
use super::{BlockScope, CandidatePlace, Limits, is_shared};
use crate::facts::HistoryIndex;
use crate::goal::Goal;
use crate::history::{At, BlockId, History, Origin, ReadFrom};
use crate::outline::Outline;

/// Which variables are parts of one object. The default knows no variables: then no pairs are looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Objects {
    /// By variable: its object, if it is a part of one.
    of: Vec<Option<u32>>,
}

impl Objects {
    /// By variable: a number for its object.
    pub fn new(of: Vec<Option<u32>>) -> Self {
        Self { of }
    }

    /// From the facts of the trace; for a variable without facts, from its name: `Account#1.balance`.
    pub fn of_trace(tables: &Tables) -> Self {
        #[derive(PartialEq, Eq, Hash)]
        enum Owner<'a> {
            Object(ObjectId),
            Named(&'a str),
        }
        let mut numbers = FxHashMap::default();
        let of = tables.vars.iter().enumerate().map(|(index, name)| {
            let facts = tables.var_facts(VarId::from_index(index));
            let owner = match facts.role {
                VarRole::Unknown => Owner::Named(convention::owner(name)?),
                _ if facts.owner == ObjectId::NONE => return None,
                _ => Owner::Object(facts.owner),
            };
            let fresh = numbers.len() as u32;
            Some(*numbers.entry(owner).or_insert(fresh))
        });
        Self { of: of.collect() }
    }

    pub fn of(&self, var: VarId) -> Option<u32> {
        self.of.get(var.index()).copied().flatten()
    }
}

/// Four places of the program: a block that accesses two variables, and another one that comes between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TwoVariableCandidate {
    /// The first access of the interrupted block, the two of the other thread, the second of the interrupted block.
    pub points: [CandidatePlace; 4],
    /// Which of them write.
    pub writes: [bool; 4],
    /// Whether the other thread accesses the variables in the same order.
    pub same_order: bool,
    /// Whether both variables are parts of one object.
    pub is_one_object: bool,
    /// Whether both blocks made both of their accesses in this run. If not, its goals lead to where the other thread may
    /// take the branch that the first one took, and `points` are what both would do there.
    pub is_seen: bool,
    pub origin: Origin,
    /// The interrupted block of its first instance, and the block that comes between.
    pub block: BlockId,
    pub other: BlockId,
    /// In the order of the interrupted block.
    pub vars: [VarId; 2],
    /// How many quadruples of events match it, in whatever order they happened.
    pub instances: u64,
    /// Some of them, to be tried in this order; four events each, or three if it was not seen. The last may have its last
    /// two events the other way round: see the module.
    pub goals: Vec<Goal>,
}

impl TwoVariableCandidate {
    /// Four letters, in the order of the places.
    pub fn letters(&self) -> String {
        self.writes.iter().map(|&writes| if writes { 'W' } else { 'R' }).collect()
    }

    /// Part of a goal that is as good as the whole: all but its last event, which is still to come, and that
    /// event. Often there is a reordering for the part and none for the whole: a thread that has read half of
    /// a change holds a lock, and what it does next is unknown. See [`TwoVariableCandidate::is_pending`].
    pub fn early(goal: &Goal) -> Option<(Goal, At)> {
        let (&last, before) = goal.events.split_last()?;
        Some((Goal::new(before), last))
    }

    /// Whether an event that is not in a reordering will follow: its thread has not come there, and goes on as
    /// it did, because it has read what it read. `reordering` is one of strength precise or under, where
    /// only the last read of a thread may differ.
    pub fn is_pending(history: &History, outline: &Outline, event: At) -> bool {
        let thread = history.event(event).thread;
        let Some((last, source)) = outline.last_with_source(history, thread) else { return true };
        let Op::Read { var, .. } = history.event(last).op else { return last < event };
        let value = match source {
            ReadFrom::Initial => history.initial(var),
            ReadFrom::Write(write) => history.event(write).value(),
        };
        let same = value.is_some() && value == history.event(last).value();
        last < event && (same || source == history.read_from(last))
    }
}

/// Candidates that are not worth asking about, or were too many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SkippedCandidates {
    /// A lock rules out every instance that was examined.
    pub guarded: u64,
    /// Forks and joins, or a lock, do.
    pub ordered: u64,
    /// Combinations of places that were too many, or came when time was over.
    pub left_out: u64,
    /// Accesses that were not examined because time was over.
    pub unseen: u64,
}

pub(super) fn find(
    facts: &HistoryIndex<'_>,
    blocks: &Blocks<'_>,
    sources: BlockScope,
    limits: Limits,
    objects: &Objects,
) -> (Vec<TwoVariableCandidate>, SkippedCandidates) {
    let history = facts.history;
    let owners: Vec<Option<scan::Owner>> = (0..history.var_count())
        .map(VarId::from_index)
        .map(|var| is_shared(history, var).then(|| objects.of(var)))
        .collect();
    // A single variable makes no pair.
    if objects.of.is_empty() || owners.iter().flatten().nth(1).is_none() {
        return (Vec::new(), SkippedCandidates::default());
    }
    let scanned = scan::all(facts, blocks, sources, limits.deadline, &owners);
    let (pairs, untried) = combine::all(facts, &scanned.groups, limits);
    let left_out = untried.left_out + scanned.left_out;
    (pairs, SkippedCandidates { unseen: scanned.unseen, left_out, ..untried })
}
