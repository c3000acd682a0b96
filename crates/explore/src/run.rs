//! A run that was made, ready to be asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_predict::candidates::{
    self, BlockScope, Candidate, CandidatePlace, Limits, Objects, TwoVariableCandidate,
};
use untorn_predict::{At, BlockId, Deadline, Goal, History, HistoryIndex, Origin};
use untorn_trace::{
    EventIdx, LabelId, PrematureTimeout, SiteId, Tables, ValueKind, VarId, VarRole,
};

use crate::arrivals::Arrival;
use crate::exploration::SearchGaps;
use crate::loading::{self, LoadOptions, Loaded};
use crate::places;
use crate::target::{Key, KeyFacts, Shape};
use crate::tracked_calls::{CompositionInstance, TrackedCalls};
use untorn_frontend::RunResult;
use untorn_schedule::RunSpec;

/// Why a trace cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    #[error("{}: {reason}", path.display())]
    Trace { path: PathBuf, reason: String },
}

/// Events of a run that are read again one by one.
const MAX_WHOLE_AGAIN: usize = 8_000_000;

/// One run: its trace in memory, of a long one what threads share.
#[derive(Debug)]
pub struct Run {
    /// Counted from 1.
    pub number: u32,
    pub spec: RunSpec,
    pub result: RunResult,
    pub trace: PathBuf,
    /// Shared with the findings of the run.
    pub tables: Arc<Tables>,
    pub history: History,
    /// Events that nobody looked at: see [`LoadOptions`].
    pub left_out: u64,
    /// How it was read.
    options: LoadOptions,
    /// By event of the history.
    arrivals: Vec<Arrival>,
    sites: FxHashMap<String, SiteId>,
    /// Which variables are parts of one object.
    pub(crate) objects: Objects,
    pub(crate) tracked_calls: TrackedCalls,
    /// Classes with accesses in the trace. Only they are rewritten so that a plan finds every place of them.
    classes: FxHashSet<String>,
}

/// A candidate of a run, by the name it has in every run.
#[derive(Debug)]
pub(crate) struct Suspect {
    pub key: Key,
    /// The block of its first instance.
    pub block: BlockId,
    /// Its block is nothing but the body of a thread or a task.
    pub is_body: bool,
    /// Its accesses are made by calls that look meant to be one step.
    pub is_composed: bool,
    pub instances: u64,
    pub goals: Vec<Goal>,
}

impl Run {
    /// Reads the trace, as far as it counts.
    pub(crate) fn load(
        number: u32,
        spec: RunSpec,
        result: RunResult,
        trace: &Path,
        options: LoadOptions,
    ) -> Result<Self, RunError> {
        let Loaded { tables, history, arrivals, tracked_calls, sites: accessed, left_out } =
            loading::load(trace, &options)?;
        let keys = (0..tables.sites.len()).map(SiteId::from_index);
        let sites = keys.filter_map(|site| Some((places::key(&tables, site)?, site))).collect();
        let classes = accessed.into_iter().filter_map(|site| tables.sites.get(site));
        let classes = classes.map(|site| site.class.to_owned()).collect();
        let objects = Objects::of_trace(&tables);
        Ok(Self {
            number,
            spec,
            result,
            trace: trace.to_owned(),
            tables,
            history,
            left_out,
            options,
            arrivals,
            sites,
            objects,
            tracked_calls,
            classes,
        })
    }

    /// The same run with all its events: what a thread does for itself alone matters to some questions. `None` if it has
    /// too many, or if the trace cannot be read.
    pub(crate) fn whole(&self) -> Option<Self> {
        if self.history.whole_len() > MAX_WHOLE_AGAIN {
            return None;
        }
        let options = LoadOptions { max_whole: MAX_WHOLE_AGAIN, ..self.options.clone() };
        let (spec, result) = (self.spec.clone(), self.result.clone());
        Self::load(self.number, spec, result, &self.trace, options).ok()
    }

    /// How many events the run has, as far as they count.
    pub fn event_count(&self) -> u64 {
        self.history.whole_len() as u64
    }

    /// Where an event stands in the trace.
    pub(crate) fn position(&self, at: At) -> EventIdx {
        EventIdx(u64::from(self.history.position(at)))
    }

    /// How often the thread of an event had come to its place.
    pub(crate) fn arrival(&self, at: At) -> Arrival {
        self.arrivals.get(at.index()).copied().unwrap_or_default()
    }

    /// Whether another run had the same events, all in all.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.event_count() == other.event_count()
            && self.history.events() == other.history.events()
            && self.arrivals == other.arrivals
    }

    /// Sleeps, and waits with a time limit, that ended by time while a thread that could run was held.
    pub(crate) fn premature_timeouts(&self) -> &[PrematureTimeout] {
        self.result.followed.as_ref().map_or(&[], |followed| &followed.premature_timeouts)
    }

    /// Whether a plan can name places of the class of a site.
    pub(crate) fn is_recorded(&self, site: SiteId) -> bool {
        self.tables.sites.get(site).is_some_and(|site| self.classes.contains(site.class))
    }

    /// The site of this run that a key means.
    pub(crate) fn site(&self, key: &str) -> Option<SiteId> {
        self.sites.get(key).copied()
    }

    /// What might be torn, judging by this run; and what nobody looked at.
    pub(crate) fn suspects(
        &self,
        facts: &HistoryIndex<'_>,
        sources: BlockScope,
        deadline: Deadline,
    ) -> (Vec<Suspect>, SearchGaps) {
        let limits = Limits { deadline, ..Limits::default() };
        let found = candidates::find_in(facts, sources, limits, &self.objects);
        let unsearched = SearchGaps {
            runs: 0,
            variables: found.unseen_vars,
            accesses: found.skipped_pairs.unseen,
            combinations: found.left_out + found.skipped_pairs.left_out,
        };
        let ones = found.candidates.into_iter().filter_map(|one| self.one(one));
        let twos = found.pairs.into_iter().filter_map(|pair| self.two(pair));
        let with_calls = |mut suspect: Suspect| {
            self.look_for_calls(&mut suspect);
            suspect
        };
        (ones.chain(twos).map(with_calls).collect(), unsearched)
    }

    /// Whether the accesses of a candidate are made by calls that look meant to be one step.
    fn look_for_calls(&self, suspect: &mut Suspect) {
        let is_composed = |goal: &Goal| {
            let of_thread = |&at: &At| {
                let thread = self.history.event(at).thread;
                let mut own = goal
                    .events
                    .iter()
                    .copied()
                    .filter(|&other| self.history.event(other).thread == thread);
                let both = [own.next(), own.next_back()];
                let [Some(first), Some(last)] = both else { return false };
                self.composition([first.min(last), first.max(last)]).is_some()
            };
            goal.events.iter().any(of_thread)
        };
        suspect.is_composed =
            suspect.key.origin == Origin::Inferred && suspect.goals.iter().any(is_composed);
        suspect.is_body &= !suspect.is_composed;
    }

    /// The calls that look meant to be one step and are around these accesses of one thread.
    pub(crate) fn composition(&self, accesses: [At; 2]) -> Option<CompositionInstance> {
        let thread = self.history.event(accesses[0]).thread;
        self.tracked_calls.composition(thread, accesses)
    }

    fn one(&self, candidate: Candidate) -> Option<Suspect> {
        let shape = Shape::One(candidate.pattern);
        let (origin, block) = (candidate.origin, candidate.block);
        let key = self.key(&candidate.points, shape, origin, block, &[candidate.var])?;
        // What a body reads, changes and writes back is one step, however many lines it takes. That one object takes
        // the place of another says nothing of that kind.
        let values = self.tables.var_facts(candidate.var).values;
        let is_step = candidate.is_dependent && values != ValueKind::Ref;
        let is_body = !is_step && self.is_body(&candidate.points, &candidate.goals, origin, block);
        let (instances, goals) = (candidate.instances, candidate.goals);
        Some(Suspect { key, block, is_body, is_composed: false, instances, goals })
    }

    fn two(&self, pair: TwoVariableCandidate) -> Option<Suspect> {
        let TwoVariableCandidate { writes, same_order, is_one_object, .. } = pair;
        let shape = Shape::Two { writes, same_order, is_one_object };
        let key = self.key(&pair.points, shape, pair.origin, pair.block, &pair.vars)?;
        let is_body = self.is_body(&pair.points, &pair.goals, pair.origin, pair.block);
        let (block, instances, goals) = (pair.block, pair.instances, pair.goals);
        Some(Suspect { key, block, is_body, is_composed: false, instances, goals })
    }

    /// What a candidate is called in every run; `None` if its places are not known.
    fn key(
        &self,
        points: &[CandidatePlace],
        shape: Shape,
        origin: Origin,
        block: BlockId,
        vars: &[VarId],
    ) -> Option<Key> {
        let place = |point: &CandidatePlace| match point {
            CandidatePlace::Site(site) => places::key(&self.tables, *site),
            CandidatePlace::Unknown { .. } => None,
        };
        let mut fields: Vec<String> =
            vars.iter().map(|&var| self.tables.member_name(var)).collect();
        fields.dedup();
        let roles: Vec<VarRole> = vars.iter().map(|&var| self.tables.var_facts(var).role).collect();
        let is_library = |point: &CandidatePlace| match point {
            CandidatePlace::Site(site) => {
                self.tables.sites.get(*site).is_some_and(|site| site.facts.is_library)
            }
            CandidatePlace::Unknown { .. } => false,
        };
        Some(Key {
            method: self.method_of(self.history.block(block).label),
            facts: KeyFacts {
                is_library: points.iter().all(is_library),
                is_sync_state: roles.contains(&VarRole::SyncState),
                is_collection: roles.iter().any(|role| role.is_collection()),
            },
            places: points.iter().map(place).collect::<Option<_>>()?,
            shape,
            origin,
            block: self.name_of(block).to_owned(),
            field: fields.join(" and "),
            members: fields,
        })
    }

    /// Whether the block of a candidate is nothing but the body of a thread or of a task, which nobody means to be
    /// atomic as a whole. One statement of it may still be: `count++`.
    fn is_body(
        &self,
        points: &[CandidatePlace],
        goals: &[Goal],
        origin: Origin,
        block: BlockId,
    ) -> bool {
        if origin == Origin::Declared || self.history.block(block).outer.is_some() {
            return false;
        }
        let line = |point: Option<&CandidatePlace>| match point {
            Some(CandidatePlace::Site(site)) => self.tables.site_text(*site),
            _ => String::new(),
        };
        let label = self.history.block(block).label;
        // The same line in something that the body calls twice is two statements of the body.
        let is_direct = |goal: &Goal| {
            let ends = [goal.events.first(), goal.events.last()].into_iter().flatten();
            ends.into_iter().all(|&at| {
                let own = self.history.block_of(at).map(|id| self.history.block(id).label);
                let site = self.tables.sites.get(self.history.event(at).site);
                own == Some(label) && site.is_none_or(|site| !site.facts.is_library)
            })
        };
        let is_statement =
            line(points.first()) == line(points.last()) && goals.iter().any(is_direct);
        self.tables.label_facts(label).is_entry && !is_statement
    }

    /// The blocks around an event, the innermost first.
    pub(crate) fn blocks_around(&self, at: At) -> impl Iterator<Item = BlockId> {
        std::iter::successors(self.history.block_of(at), |&id| self.history.block(id).outer)
    }

    pub(crate) fn blocks_around_both(
        &self,
        [one, other]: [At; 2],
    ) -> impl Iterator<Item = BlockId> {
        let around: Vec<BlockId> = self.blocks_around(one).collect();
        self.blocks_around(other).filter(move |id| around.contains(id))
    }

    /// The block of that origin around two events: the outermost declared one, the innermost activation.
    pub(crate) fn block_of_origin(&self, events: [At; 2], origin: Origin) -> Option<BlockId> {
        let mut own =
            self.blocks_around_both(events).filter(|&id| self.history.block(id).origin == origin);
        match origin {
            Origin::Declared => own.last(),
            Origin::Inferred => own.next(),
        }
    }

    /// The outermost block around two events that is not the body of a thread or a task.
    pub(crate) fn outermost_call(&self, events: [At; 2]) -> Option<BlockId> {
        let is_entry =
            |id: &BlockId| self.tables.label_facts(self.history.block(*id).label).is_entry;
        self.blocks_around_both(events).take_while(|id| !is_entry(id)).last()
    }

    /// The block around two events: one that is declared if there is one.
    pub(crate) fn block_around_both(&self, events: [At; 2]) -> Option<BlockId> {
        let of = |origin| self.block_of_origin(events, origin);
        of(Origin::Declared).or_else(|| of(Origin::Inferred))
    }

    /// The method that a label names, or is in.
    pub(crate) fn method_of(&self, label: LabelId) -> String {
        match self.tables.label_method(label) {
            Some((class, method)) => format!("{class}.{method}"),
            None => self.tables.labels.get(label).unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn name_of(&self, block: BlockId) -> &str {
        self.tables.labels.get(self.history.block(block).label).unwrap_or_default()
    }
}
