//! The accesses of one variable, grouped by place.

use rustc_hash::FxHashMap;
use untorn_trace::{LockId, Op, ThreadId, VarId};

use super::blocks::Blocks;
use super::pairs::{Pair, Pairs, TornBy};
use super::spread::Spread;
use super::{BlockScope, CandidatePlace};
use crate::facts::{HistoryIndex, SectionId};
use crate::history::{At, Origin};

/// Threads of which a group keeps the first pair.
const KEPT: usize = 5;

/// A lock and whether it is held on its shared side.
pub(super) type Held = (LockId, bool);

/// Pairs of accesses with the same places.
#[derive(Clone, Debug)]
pub(super) struct Locals {
    pub(super) points: [CandidatePlace; 2],
    pub(super) writes: [bool; 2],
    pub(super) torn: TornBy,
    pub(super) origin: Origin,
    pub(super) is_near: bool,
    pub(super) is_branch: bool,
    /// How many pairs each thread has.
    pub(super) counts: Vec<(ThreadId, u64)>,
    /// Some of them: the first of different threads, and the last of all.
    pub(super) firsts: Vec<Pair>,
    pub(super) last: Pair,
    /// Some of all, spread over the whole run.
    pub(super) spread: Spread<Pair>,
    /// Locks that are held from the first to the third access, in every pair.
    pub(super) held: Vec<Held>,
}

/// Accesses with the same place.
#[derive(Clone, Debug)]
pub(super) struct Remotes {
    pub(super) point: CandidatePlace,
    pub(super) writes: bool,
    /// By thread, in order.
    pub(super) events: Vec<(ThreadId, Vec<At>)>,
    /// Locks that are held at every one of them.
    pub(super) held: Vec<Held>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    pub(super) locals: Vec<Locals>,
    pub(super) remotes: Vec<Remotes>,
}

type LocalKey = ([CandidatePlace; 2], [bool; 2], TornBy, Origin, [bool; 2]);

/// Groups under construction; kept in the order of their first member, so that the outcome does
/// not depend on how a hash table sorts.
struct Grouping<'a, 'h> {
    facts: &'a HistoryIndex<'h>,
    groups: Groups,
    local: FxHashMap<LocalKey, usize>,
    remote: FxHashMap<(CandidatePlace, bool), usize>,
}

pub(super) fn of(
    facts: &HistoryIndex<'_>,
    blocks: &Blocks<'_>,
    sources: BlockScope,
    var: VarId,
) -> Groups {
    let mut grouping = Grouping {
        facts,
        groups: Groups::default(),
        local: FxHashMap::default(),
        remote: FxHashMap::default(),
    };
    let mut pairs = Pairs::new(facts, blocks, sources, var);
    let (mut reads, mut writes) = (facts.history.reads(var), facts.history.writes(var));
    loop {
        let (at, is_write) = match (reads.first(), writes.first()) {
            (Some(&read), Some(&write)) if read < write => (read, false),
            (_, Some(&write)) => (write, true),
            (Some(&read), None) => (read, false),
            (None, None) => return grouping.groups,
        };
        if is_write {
            writes = &writes[1..];
        } else {
            reads = &reads[1..];
        }
        let point = CandidatePlace::of(facts.history, at, var);
        grouping.remote(at, point, is_write);
        for pair in pairs.access(at, is_write).into_iter().flatten() {
            grouping.local(pair, var);
        }
    }
}

impl Grouping<'_, '_> {
    fn remote(&mut self, at: At, point: CandidatePlace, writes: bool) {
        let held = self.facts.holds.at(at);
        let new = self.groups.remotes.len();
        let index = *self.remote.entry((point, writes)).or_insert(new);
        if index == new {
            let held = held.iter().map(|&id| lock_of(self.facts, id)).collect();
            self.groups.remotes.push(Remotes { point, writes, events: Vec::new(), held });
        }
        let group = &mut self.groups.remotes[index];
        let here = |own: &Held| held.iter().any(|&id| lock_of(self.facts, id) == *own);
        group.held.retain(here);
        let thread = self.facts.thread(at);
        match group.events.iter_mut().find(|(other, _)| *other == thread) {
            Some((_, events)) => events.push(at),
            None => group.events.push((thread, vec![at])),
        }
    }

    fn local(&mut self, pair: Pair, var: VarId) {
        let history = self.facts.history;
        let writes =
            [pair.first, pair.third].map(|at| matches!(history.event(at).op, Op::Write { .. }));
        let points = [pair.first, pair.third].map(|at| CandidatePlace::of(history, at, var));
        let (torn, origin, is_near) = (pair.torn, pair.origin, pair.is_near);
        let around = self.facts.holds.at(pair.third);
        let across: Vec<Held> = self
            .facts
            .holds
            .at(pair.first)
            .iter()
            .filter(|id| around.contains(id))
            .map(|&id| lock_of(self.facts, id))
            .collect();
        let new = self.groups.locals.len();
        let is_branch = pair.is_branch;
        let key = (points, writes, torn, origin, [is_near, is_branch]);
        let index = *self.local.entry(key).or_insert(new);
        if index == new {
            let (counts, firsts) = (Vec::new(), Vec::new());
            let (held, last) = (across.clone(), pair);
            let spread = Spread::default();
            self.groups.locals.push(Locals {
                points,
                writes,
                torn,
                origin,
                is_near,
                is_branch,
                counts,
                firsts,
                last,
                spread,
                held,
            });
        }
        let group = &mut self.groups.locals[index];
        group.held.retain(|own| across.contains(own));
        let thread = self.facts.thread(pair.first);
        match group.counts.iter_mut().find(|(other, _)| *other == thread) {
            Some((_, count)) => *count += 1,
            None => {
                group.counts.push((thread, 1));
                if group.firsts.len() < KEPT {
                    group.firsts.push(pair);
                }
            }
        }
        group.last = pair;
        group.spread.push(pair);
    }
}

impl Locals {
    /// The pairs that were kept, early ones first.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Pair> {
        let last = Some(&self.last).filter(|last| !self.firsts.contains(last));
        self.firsts.iter().chain(last)
    }
}

fn lock_of(facts: &HistoryIndex<'_>, id: SectionId) -> Held {
    let section = facts.section(id);
    (section.lock, section.shared)
}
