//! From pairs of accesses to candidates with instances to try.

use rustc_hash::FxHashMap;
use untorn_trace::VarId;

use super::scan::{Group, Instance, Sample};
use super::{SkippedCandidates, TwoVariableCandidate, untaken};
use crate::candidates::{CandidatePlace, Limits};
use crate::facts::HistoryIndex;
use crate::goal::Goal;
use crate::history::{At, BlockId, Origin};

/// Instances of the interrupted block, and of the other one, that are tried with each other.
const LOCALS: usize = 8;

/// What makes two candidates of one run the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PairShape {
    points: [CandidatePlace; 4],
    writes: [bool; 4],
    same_order: bool,
    is_one_object: bool,
    origin: Origin,
}

struct Combiner<'a, 'h> {
    facts: &'a HistoryIndex<'h>,
    limits: Limits,
    known: FxHashMap<PairShape, usize>,
    drafts: Vec<Draft>,
    left_out: u64,
}

struct Draft {
    candidate: TwoVariableCandidate,
    /// Some instance is not ruled out by a lock held around it.
    open: bool,
    /// What may be tried if all else fails.
    crossing: Option<Goal>,
}

pub(super) fn all(
    facts: &HistoryIndex<'_>,
    groups: &[Group],
    limits: Limits,
) -> (Vec<TwoVariableCandidate>, SkippedCandidates) {
    let mut by_vars: FxHashMap<[VarId; 2], Vec<usize>> = FxHashMap::default();
    for (index, group) in groups.iter().enumerate() {
        let mut vars = group.kind.vars;
        vars.sort_unstable();
        by_vars.entry(vars).or_default().push(index);
    }
    let (known, drafts) = (FxHashMap::default(), Vec::new());
    let mut combiner = Combiner { facts, limits, known, drafts, left_out: 0 };
    // That two objects belong together is a bolder guess: they come last, when there are too many.
    let of_one = |wanted: bool| {
        groups.iter().filter(move |group| group.kind.is_torn && group.kind.is_one_object == wanted)
    };
    for local in of_one(true).chain(of_one(false)) {
        let mut vars = local.kind.vars;
        vars.sort_unstable();
        if limits.deadline.is_over() {
            combiner.left_out += by_vars[&vars].len() as u64;
            continue;
        }
        for &other in &by_vars[&vars] {
            combiner.combination(local, &groups[other]);
        }
    }
    for local in of_one(true).chain(of_one(false)) {
        if !limits.deadline.is_over() {
            combiner.untaken(local);
        }
    }
    combiner.finish()
}

/// Whether the accesses of each variable conflict, and neither pair is redundant beside the other.
fn matches(local: &Group, remote: &Group, same_order: bool) -> bool {
    let (local, remote) = (&local.kind, &remote.kind);
    [0, 1].into_iter().all(|i| {
        let k = if same_order { i } else { 1 - i };
        local.foreign[i].includes(remote.writes[k]) && remote.foreign[k].includes(local.writes[i])
    })
}

impl Combiner<'_, '_> {
    fn combination(&mut self, local: &Group, remote: &Group) {
        let same_order = local.kind.vars == remote.kind.vars;
        let instances = instances(local, remote);
        if instances == 0 || !matches(local, remote, same_order) {
            return;
        }
        let ([a, d], [b, c]) = (local.kind.points, remote.kind.points);
        let ([wa, wd], [wb, wc]) = (local.kind.writes, remote.kind.writes);
        let (points, writes) = ([a, b, c, d], [wa, wb, wc, wd]);
        let (origin, vars, is_one_object) =
            (local.kind.origin, local.kind.vars, local.kind.is_one_object);
        let shape = PairShape { points, writes, same_order, is_one_object, origin };
        let blocks = [first_block(local), first_block(remote)];
        let Some(index) = self.draft(shape, blocks, vars) else { return };
        let room = self.limits.goals.saturating_sub(self.drafts[index].candidate.goals.len());
        let (goals, open) = self.goals(local, remote, room.div_ceil(2));
        let crossing = goals.first().filter(|_| !same_order).and_then(|goal| self.crossing(goal));
        let draft = &mut self.drafts[index];
        draft.candidate.instances = draft.candidate.instances.saturating_add(instances);
        draft.open |= open;
        if draft.candidate.goals.is_empty()
            && let Some(goal) = goals.first()
        {
            draft.candidate.block =
                block_of(local, goal.events[0]).unwrap_or(draft.candidate.block);
            draft.candidate.other =
                block_of(remote, goal.events[1]).unwrap_or(draft.candidate.other);
            draft.candidate.vars = vars;
        }
        draft.candidate.goals.extend(goals);
        draft.crossing = draft.crossing.take().or(crossing);
    }

    /// The draft of a candidate, unless there are too many.
    fn draft(&mut self, shape: PairShape, blocks: [BlockId; 2], vars: [VarId; 2]) -> Option<usize> {
        if let Some(&index) = self.known.get(&shape) {
            return Some(index);
        }
        if self.drafts.len() >= self.limits.pairs {
            self.left_out += 1;
            return None;
        }
        self.known.insert(shape, self.drafts.len());
        let PairShape { points, writes, same_order, is_one_object, origin } = shape;
        let [block, other] = blocks;
        let candidate = TwoVariableCandidate {
            points,
            writes,
            same_order,
            is_one_object,
            is_seen: true,
            origin,
            block,
            other,
            vars,
            instances: 0,
            goals: Vec::new(),
        };
        self.drafts.push(Draft { candidate, open: false, crossing: None });
        Some(self.drafts.len() - 1)
    }

    /// Adds a candidate for branches that were not taken, unless a thread was seen to take them.
    fn untaken(&mut self, local: &Group) {
        let ([check, act], vars) = (local.kind.points, local.kind.vars);
        let shape = PairShape {
            points: [check, check, act, act],
            writes: [false, false, true, true],
            same_order: false,
            is_one_object: local.kind.is_one_object,
            origin: local.kind.origin,
        };
        for (goal, other) in untaken::of(self.facts, local) {
            let Some(index) = self.draft(shape, [first_block(local), other], vars) else { return };
            let draft = &mut self.drafts[index];
            if draft.candidate.is_seen && draft.candidate.instances > 0 {
                return;
            }
            (draft.open, draft.candidate.is_seen) = (true, false);
            draft.candidate.instances += 1;
            if draft.candidate.goals.len() < self.limits.goals {
                draft.candidate.goals.push(goal);
            }
        }
    }

    /// Up to `most` instances that are neither ordered nor guarded, near ones first; and whether some
    /// is not guarded.
    fn goals(&self, local: &Group, remote: &Group, most: usize) -> (Vec<Goal>, bool) {
        let (mut found, mut open) = (Vec::new(), false);
        for own in local.samples.iter().take(LOCALS) {
            for pair in spread(own.pairs.kept()) {
                for other in remote.samples.iter().filter(|other| other.thread != own.thread) {
                    for between in other.pairs.kept() {
                        if self.is_guarded(pair, between) {
                            continue;
                        }
                        open = true;
                        if !self.is_ordered(pair, between) {
                            let events = [pair.first, between.first, between.second, pair.second];
                            let from = events.into_iter().min().unwrap_or(pair.first);
                            let to = events.into_iter().max().unwrap_or(pair.second);
                            let gap = self.facts.history.distance(from, to);
                            found.push((gap, Goal::new(&events)));
                        }
                    }
                }
            }
        }
        found.sort_by(|a, b| (a.0, &a.1.events).cmp(&(b.0, &b.1.events)));
        found.truncate(most);
        (found.into_iter().map(|(_, goal)| goal).collect(), open)
    }

    fn is_guarded(&self, pair: &Instance, between: &Instance) -> bool {
        [between.first, between.second]
            .into_iter()
            .any(|at| self.facts.is_guarded(pair.first, at, pair.second))
    }

    fn is_ordered(&self, pair: &Instance, between: &Instance) -> bool {
        self.facts.is_ordered(between.first, pair.first)
            || self.facts.is_ordered(pair.second, between.second)
    }

    /// The other block ends after the pair: x of the one, y of the other, then the rest.
    fn crossing(&self, goal: &Goal) -> Option<Goal> {
        let &[a, b, c, d] = &goal.events[..] else { return None };
        let crossed = self.facts.is_guarded(b, d, c) || self.facts.is_ordered(c, d);
        (!crossed).then(|| Goal::new(&[a, b, d, c]))
    }

    fn finish(self) -> (Vec<TwoVariableCandidate>, SkippedCandidates) {
        let mut untried =
            SkippedCandidates { left_out: self.left_out, ..SkippedCandidates::default() };
        let mut candidates = Vec::new();
        for Draft { mut candidate, open, crossing } in self.drafts {
            if !open {
                untried.guarded += 1;
            } else if candidate.goals.is_empty() {
                untried.ordered += 1;
            } else {
                candidate.goals.extend(crossing);
                candidates.push(candidate);
            }
        }
        candidates.sort_by_key(|candidate| {
            let first = candidate.goals.first().map(|goal| goal.events.clone());
            (!candidate.is_seen, candidate.origin, !candidate.is_one_object, first)
        });
        (candidates, untried)
    }
}

/// The first few and the last.
fn spread(kept: &[Instance]) -> impl Iterator<Item = &Instance> {
    let last = kept.last().filter(|_| kept.len() > LOCALS);
    kept.iter().take(LOCALS).chain(last)
}

fn first_block(group: &Group) -> BlockId {
    group.samples[0].pairs.kept()[0].block
}

fn block_of(group: &Group, first: At) -> Option<BlockId> {
    let mut kept = group.samples.iter().flat_map(|sample| sample.pairs.kept());
    kept.find(|instance| instance.first == first).map(|instance| instance.block)
}

/// How many pairs of instances there are, of different threads.
fn instances(local: &Group, remote: &Group) -> u64 {
    let all: u64 = remote.samples.iter().map(|sample| sample.pairs.seen()).sum();
    let of = |own: &Sample| {
        let same = remote.samples.iter().find(|other| other.thread == own.thread);
        same.map_or(0, |same| same.pairs.seen())
    };
    let each = local.samples.iter().map(|own| own.pairs.seen().saturating_mul(all - of(own)));
    each.fold(0, u64::saturating_add)
}
