//! Does a violation matter, and why? Or why not?
//!
//! **Idea:** Narayanasamy et al., *Automatically Classifying Benign and Harmful Data Races Using Replay Analysis*, PLDI
//! 2007: most of what breaks a rule does no harm, and a tool that does not tell these apart is not read.
//!
//! **What we changed, and why.** Harm is decided by undoing the interruption (`exploration/counterfactual.rs`). Here is
//! what remains: violations in which nothing is visible, or it is not known why. Each pattern is a statement about the
//! values in the trace, never about names.
//!
//! **Promise:** nothing that is visible and due to the interruption is benign, and neither is what calls returned that
//! they do not return otherwise. The reason of a benign one is true of its trace.

mod contents;
mod knew;

use rustc_hash::FxHashSet;
use untorn_predict::{At, BlockId, History, Origin, Pattern};
use untorn_trace::{BlockKind, Op, SiteId, ThreadId, Value, ValueKind, VarId};

use crate::instance::Instance;
use crate::judge::{Judgement, Values};
use crate::places;
use crate::run::Run;
use crate::target::{Key, Shape};

/// How much a violation matters: the first matter most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Significance {
    /// Something is visible, and goes away if the interruption is undone.
    Visible,
    /// A call returned what it does not return otherwise.
    WrongResult,
    /// A write is lost: what overwrote it rests on an older value.
    LostUpdate,
    /// The values that were read belong to no serial order.
    InconsistentRead,
    /// Both threads wrote the same, and a block that finds it there writes nothing: each acted as if it were alone.
    ActedTwice,
    /// Updates are lost of a number that nothing but such updates ever reads, beside what the block does otherwise.
    Statistic,
    /// The user said that the block is atomic, and it was interrupted; some serial order gives the same values.
    ConflictOnly,
    /// The same, and it could not be decided whether some serial order gives the values.
    ConflictUndecided,
    /// Something is visible, and whether it is due to the interruption could not be tested; nothing else speaks against
    /// it.
    Untested,
    /// It does no harm as far as this run shows.
    Benign(Benign),
}

/// Why a violation does no harm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Benign {
    /// What came between wrote the value that was there anyway.
    SameValue,
    /// Both made an object of the same kind with the same contents, and nobody changed the one that was replaced.
    SameContents,
    /// A value that is put back at the end of the block was seen meanwhile, by code that writes nothing.
    PutBack,
    /// It is about fields inside of objects of the language's library, and nothing shows.
    LibraryInsides,
    /// A critical section that overwrote a value had seen what else came with it, and the value that was read before had
    /// no part in it.
    SawTheChange,
    /// A critical section was interrupted, and some serial order gives the same values.
    Serial,
    /// A critical section was interrupted, and it could not be decided whether some serial order gives the values.
    Undecided,
}

impl Significance {
    /// Counted from 1; what matters most comes first.
    pub const fn rank(self) -> u32 {
        match self {
            Self::Visible => 1,
            Self::WrongResult => 2,
            Self::LostUpdate => 3,
            Self::InconsistentRead => 4,
            Self::ActedTwice => 5,
            Self::Statistic => 6,
            Self::ConflictOnly | Self::ConflictUndecided => 7,
            Self::Untested => 8,
            Self::Benign(_) => 9,
        }
    }

    pub const fn benign(self) -> Option<Benign> {
        match self {
            Self::Benign(why) => Some(why),
            _ => None,
        }
    }
}

/// What is asked about.
pub(crate) struct Assessment<'r> {
    pub run: &'r Run,
    pub key: &'r Key,
    pub instance: &'r Instance,
    pub judged: &'r Judgement,
    /// Runs that are at hand.
    pub runs: &'r [&'r Run],
}

impl Assessment<'_> {
    pub(crate) fn significance(&self) -> Significance {
        if self.judged.effects.len() > self.judged.untested.len() {
            return Significance::Visible;
        }
        if self.judged.composed.as_ref().is_some_and(|composed| composed.surprise.is_some()) {
            return Significance::WrongResult;
        }
        if let Some(why) = self.benign() {
            return Significance::Benign(why);
        }
        let loses_data = self.is_lost_update() && !self.key.facts.is_collection;
        let is_unknown = !self.judged.untested.is_empty() && !loses_data;
        if is_unknown || !self.judged.is_violation(self.key) {
            return Significance::Untested;
        }
        match self.judged.values {
            // If nobody reads what is left in the end, some serial order gives what was read, but leaves another value.
            _ if self.is_lost_update() => self.kind_of_loss(),
            Values::NotAtomic { .. } => Significance::InconsistentRead,
            Values::Atomic if self.is_named() => Significance::ConflictOnly,
            Values::Undecided(_) if self.is_named() => Significance::ConflictUndecided,
            Values::Atomic => Significance::Benign(Benign::Serial),
            Values::Undecided(_) => Significance::Benign(Benign::Undecided),
        }
    }

    /// The first pattern that fits.
    fn benign(&self) -> Option<Benign> {
        let is_inferred = self.key.origin == Origin::Inferred;
        let is_composed = self.judged.composed.is_some();
        let patterns: [(Benign, bool); 5] = [
            (Benign::SameValue, self.changes_nothing()),
            (
                Benign::SameContents,
                contents::may_be_same(self) && self.in_whole_run(contents::are_same),
            ),
            (Benign::PutBack, self.is_put_back() && self.in_whole_run(|own| own.is_put_back())),
            (
                Benign::SawTheChange,
                is_inferred
                    && !is_composed
                    && knew::replaced_object(self).is_some()
                    && self.in_whole_run(knew::saw_the_change),
            ),
            (
                Benign::LibraryInsides,
                is_inferred && !is_composed && self.key.facts.is_library && !self.is_lost_update(),
            ),
        ];
        patterns.into_iter().find(|(_, fits)| *fits).map(|(why, _)| why)
    }

    /// Whether a pattern fits that is also about what a thread does for itself alone, which is left out of a long run. If
    /// the run is too long to be read again, nothing is said.
    fn in_whole_run(&self, fits: fn(&Assessment<'_>) -> bool) -> bool {
        if !self.run.history.is_projection() {
            return fits(self);
        }
        let Some(run) = self.run.whole() else { return false };
        let instance = self.instance.relocate(|at| At(self.run.history.position(at)));
        let Self { key, judged, runs, .. } = *self;
        fits(&Assessment { run: &run, key, instance: &instance, judged, runs })
    }

    fn history(&self) -> &History {
        &self.run.history
    }

    fn var(&self, at: At) -> VarId {
        VarId(self.history().event(at).op.target())
    }

    fn thread(&self) -> ThreadId {
        self.history().event(self.instance.own[0]).thread
    }

    fn is_lost_update(&self) -> bool {
        matches!(self.key.shape, Shape::One(Pattern::ReadWriteWrite))
    }

    /// Whether the user named the block.
    fn is_named(&self) -> bool {
        let own = self.run.block_of_origin(self.instance.own, self.key.origin);
        own.is_some_and(|id| {
            let begin = self.history().block(id).begin;
            matches!(self.history().event(begin).op, Op::Begin { kind: BlockKind::Named, .. })
        })
    }

    /// What others wrote to a variable of the block between its accesses.
    fn foreign_writes(&self) -> Vec<At> {
        let [first, last] = self.instance.own;
        let mut vars = vec![self.var(first), self.var(last)];
        vars.dedup();
        let between = |var: VarId| {
            let writes = self.history().writes(var);
            let from = writes.partition_point(|&at| at < first);
            writes[from..].iter().copied().take_while(move |&at| at < last)
        };
        let foreign = |at: &At| self.history().event(*at).thread != self.thread();
        vars.into_iter().flat_map(between).filter(foreign).collect()
    }

    /// Whether every write of another thread between the accesses wrote what was there; if there is none, whether the
    /// block itself did so with its last one.
    fn changes_nothing(&self) -> bool {
        let foreign = self.foreign_writes();
        let is_same = |&at: &At| leaves_as_is(self.history(), at);
        match foreign.is_empty() {
            false => foreign.iter().all(is_same),
            true => is_same(&self.instance.own[1]),
        }
    }

    /// What it means that a write was overwritten.
    fn kind_of_loss(&self) -> Significance {
        match () {
            () if self.is_never_read() => Significance::Statistic,
            () if self.writes_the_same() && self.is_left_if_found() => Significance::ActedTwice,
            () => Significance::LostUpdate,
        }
    }

    /// Whether the block overwrote a value with the same one.
    fn writes_the_same(&self) -> bool {
        let ([_, write], [_, intruder]) = (self.instance.own, self.instance.other);
        let value = |at: At| self.history().event(at).value();
        value(write).is_some() && value(write) == value(intruder)
    }

    /// Whether in some run the block found what it writes here, and did not write.
    fn is_left_if_found(&self) -> bool {
        let [read, write] = self.instance.own;
        let value = self.history().event(write).value();
        let site = self.history().event(read).site;
        let Some(place) = places::key(&self.run.tables, site) else { return false };
        let finds = |run: &Run, site: SiteId, at: At| {
            let event = run.history.event(at);
            event.site == site && matches!(event.op, Op::Read { .. }) && event.value() == value
        };
        let leaves = |run: &Run, at: At| {
            let own = |id: &BlockId| {
                run.name_of(*id) == self.key.block
                    && run.history.block(*id).origin == self.key.origin
            };
            let block = run.blocks_around(at).filter(own).last();
            let end = block.and_then(|id| run.history.block(id).end);
            end.is_some_and(|end| writes(&run.history, at, end).next().is_none())
        };
        let mut runs = self.runs.iter().copied().chain([self.run]);
        runs.any(|run| {
            let site = run.site(&place);
            site.is_some_and(|site| {
                run.history.all().any(|at| finds(run, site, at) && leaves(run, at))
            })
        })
    }

    /// Whether all reads of the variable, and of the same one of other objects, only serve to write it anew by the same
    /// step, and to count is not all that the block does.
    fn is_never_read(&self) -> bool {
        let var = self.var(self.instance.own[1]);
        let facts = self.run.tables.var_facts(var);
        if !self.is_lost_update()
            || facts.values != ValueKind::Int
            || facts.role.is_collection()
            || !self.has_other_purpose(var)
        {
            return false;
        }
        let mut steps = FxHashSet::default();
        let alike = (0..self.history().var_count())
            .map(|index| VarId(index as u32))
            .filter(|&other| other == var || self.is_same_member(var, other));
        for var in alike {
            for &read in self.history().reads(var) {
                let Some(step) = self.step_of(read, var) else { return false };
                steps.insert(step);
            }
        }
        steps.len() == 1 && !steps.contains(&0)
    }

    /// Whether the block accesses other variables besides.
    fn has_other_purpose(&self, var: VarId) -> bool {
        let history = self.history();
        let block = self.run.block_of_origin(self.instance.own, self.key.origin);
        let Some(block) = block.map(|id| history.block(id)) else { return false };
        let end = block.end.unwrap_or(self.instance.own[1]);
        let within = std::iter::successors(history.next(block.begin), |&at| history.next(at));
        within.take_while(|&at| at <= end).any(|at| {
            matches!(history.event(at).op, Op::Read { var: other, .. } | Op::Write { var: other, .. }
                if other != var && !self.is_same_member(var, other))
        })
    }

    fn is_same_member(&self, var: VarId, other: VarId) -> bool {
        let tables = &self.run.tables;
        let member = tables.var_facts(var).member;
        member == tables.var_facts(other).member
            && tables.member_name(var) == tables.member_name(other)
    }

    /// By how much the thread then changes the variable, if that is the next thing that it does to it, in the same
    /// activation.
    fn step_of(&self, read: At, var: VarId) -> Option<i64> {
        let history = self.history();
        let next = std::iter::successors(history.next(read), |&at| history.next(at))
            .take(MAX_STEP)
            .find(|&at| is_access_of(history.event(at).op, var))?;
        let is_write = matches!(history.event(next).op, Op::Write { .. });
        let is_here = history.block_of(read) == history.block_of(next);
        let (from, to) = (history.event(read).value()?, history.event(next).value()?);
        (is_write && is_here).then(|| (to.0 as i64).wrapping_sub(from.0 as i64))
    }

    /// Whether the block's last write takes back its first one, and who saw it meanwhile wrote nothing afterwards.
    fn is_put_back(&self) -> bool {
        let [first, last] = self.instance.own;
        let history = self.history();
        let before = value_before(history, first);
        matches!(self.key.shape, Shape::One(Pattern::WriteReadWrite))
            && before.is_some()
            && history.event(last).value() == before
            && history.event(first).value() != before
            && self.writes_nothing_after(self.instance.other[0])
    }

    /// Whether a thread writes nothing between this event and the end of the outermost call that it is in.
    fn writes_nothing_after(&self, at: At) -> bool {
        let call = self.run.outermost_call([at, at]);
        let end = call.and_then(|id| self.history().block(id).end);
        end.is_some_and(|end| writes(self.history(), at, end).next().is_none())
    }
}

/// What the thread of an event writes between that and another one of it.
fn writes(history: &History, from: At, until: At) -> impl Iterator<Item = At> {
    let after = std::iter::successors(history.next(from), |&at| history.next(at));
    let is_write = |at: &At| matches!(history.event(*at).op, Op::Write { .. });
    after.take_while(move |&at| at <= until).filter(is_write)
}

/// Events of a thread between the halves of a step.
const MAX_STEP: usize = 64;

fn is_access_of(op: Op, wanted: VarId) -> bool {
    matches!(op, Op::Read { var, .. } | Op::Write { var, .. } if var == wanted)
}

/// What a variable held before a write to it.
fn value_before(history: &History, write: At) -> Option<Value> {
    let var = VarId(history.event(write).op.target());
    let writes = history.writes(var);
    let earlier = writes.partition_point(|&at| at < write);
    match earlier.checked_sub(1) {
        Some(before) => history.event(writes[before]).value(),
        None => history.initial(var),
    }
}

/// Whether a write wrote what was there.
fn leaves_as_is(history: &History, at: At) -> bool {
    let event = history.event(at);
    let is_write = matches!(event.op, Op::Write { .. });
    is_write && event.value().is_some() && event.value() == value_before(history, at)
}
