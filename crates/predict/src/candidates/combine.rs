//! From groups of places to candidates with instances to try.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use untorn_trace::{ThreadId, VarId};

use super::groups::{Groups, Held, Locals, Remotes};
use super::pairs::{Pair, TornBy};
use super::untaken_branch::{self, UntakenBranch};
use super::{Candidate, CandidatePlace, Candidates, Limits, dependence, rank};
use crate::facts::HistoryIndex;
use crate::goal::{Goal, Pattern};
use crate::history::{At, BlockId, Origin};

/// Threads whose accesses are tried as the second event of a pair.
const OTHERS: usize = 4;

/// Pairs with an access of another thread close by that are tried for one that is not ordered.
const CLOSEST: usize = 4;

type Key = ([CandidatePlace; 3], Pattern, Origin);

pub(super) struct Combiner<'a, 'h> {
    facts: &'a HistoryIndex<'h>,
    limits: Limits,
    known: FxHashMap<Key, usize>,
    candidates: Vec<Draft>,
    left_out: u64,
}

struct Draft {
    candidate: Candidate,
    /// Some instance is not ruled out by a lock held around it.
    open: bool,
}

impl<'a, 'h> Combiner<'a, 'h> {
    pub(super) fn new(facts: &'a HistoryIndex<'h>, limits: Limits) -> Self {
        Self { facts, limits, known: FxHashMap::default(), candidates: Vec::new(), left_out: 0 }
    }

    /// Returns whether time was enough for all of it.
    pub(super) fn variable(&mut self, var: VarId, groups: &Groups) -> bool {
        for local in &groups.locals {
            if self.limits.deadline.is_over() {
                return false;
            }
            if local.is_branch || !self.counts(local, groups) {
                continue;
            }
            for remote in &groups.remotes {
                if remote.writes == (local.torn == TornBy::ByWrite) {
                    self.combination(var, local, remote);
                }
            }
        }
        for local in
            groups.locals.iter().filter(|local| self.counts(local, groups)).collect::<Vec<_>>()
        {
            for branch in untaken_branch::of(self.facts, local, &groups.remotes) {
                self.untaken_branch(var, local, branch);
            }
        }
        true
    }

    /// Whether the pairs are one step of their block: near, or held together by the value.
    fn counts(&self, local: &Locals, groups: &Groups) -> bool {
        local.is_near
            || dependence::is_data(self.facts, local)
            || dependence::is_control(self.facts, local, &groups.remotes)
    }

    /// Adds a candidate for an untaken branch, unless a thread was seen to take it.
    fn untaken_branch(&mut self, var: VarId, local: &Locals, branch: UntakenBranch) {
        let [check, act] = local.points;
        let (points, pattern) = ([check, act, act], Pattern::ReadWriteWrite);
        let Some(index) = self.draft(points, pattern, local.origin, branch.block, var) else {
            return;
        };
        let draft = &mut self.candidates[index];
        if draft.open && draft.candidate.is_seen {
            return;
        }
        draft.candidate.is_seen = false;
        draft.open = true;
        draft.candidate.instances += 1;
        if draft.candidate.goals.len() < self.limits.goals {
            draft.candidate.goals.push(branch.goal);
        }
    }

    /// The draft of a candidate, unless there are too many.
    fn draft(
        &mut self,
        points: [CandidatePlace; 3],
        pattern: Pattern,
        origin: Origin,
        block: BlockId,
        var: VarId,
    ) -> Option<usize> {
        let key = (points, pattern, origin);
        if let Some(&index) = self.known.get(&key) {
            return Some(index);
        }
        if self.candidates.len() >= self.limits.candidates {
            self.left_out += 1;
            return None;
        }
        self.known.insert(key, self.candidates.len());
        let (instances, goals, is_seen) = (0, Vec::new(), true);
        let is_dependent = false;
        self.candidates.push(Draft {
            candidate: Candidate {
                points,
                pattern,
                origin,
                block,
                var,
                is_seen,
                is_dependent,
                instances,
                goals,
            },
            open: false,
        });
        Some(self.candidates.len() - 1)
    }

    fn combination(&mut self, var: VarId, local: &Locals, remote: &Remotes) {
        let instances = instances(local, remote);
        if instances == 0 {
            return;
        }
        let Some(&Pair { block, .. }) = local.firsts.first() else { return };
        let pattern = pattern(local.writes, remote.writes);
        let points = [local.points[0], remote.point, local.points[1]];
        let Some(index) = self.draft(points, pattern, local.origin, block, var) else { return };
        let draft = &mut self.candidates[index];
        if !std::mem::replace(&mut draft.candidate.is_seen, true) {
            // A thread was seen to do what was only assumed.
            draft.open = false;
            draft.candidate.instances = 0;
            draft.candidate.goals.clear();
            (draft.candidate.block, draft.candidate.var) = (block, var);
        }
        draft.candidate.instances += instances;
        draft.candidate.is_dependent |= dependence::is_data(self.facts, local);
        if exclude_each_other(&local.held, &remote.held) {
            return;
        }
        draft.open = true;
        let room = self.limits.goals.saturating_sub(draft.candidate.goals.len());
        // Leave room for other variables, that is, objects.
        let share = room.div_ceil(2);
        let goals = self.goals(local, remote, share);
        self.candidates[index].candidate.goals.extend(goals);
    }

    /// Up to `most` instances that are neither ordered nor guarded, of different pairs and threads.
    fn goals(&self, local: &Locals, remote: &Remotes, most: usize) -> Vec<Goal> {
        let mut found: Vec<Goal> = Vec::new();
        if most > 0 {
            found.extend(self.nearest(local, remote));
        }
        // Then one for each pair, then more of them.
        for round in 0..3 {
            for pair in local.kept() {
                if found.len() >= most {
                    return found;
                }
                let next = self.choices(pair, remote).into_iter().nth(round);
                let goal = next.map(|second| Goal::new(&[pair.first, second, pair.third]));
                found.extend(goal.filter(|goal| !found.contains(goal)));
            }
        }
        found
    }

    /// The instance whose events are closest together: little of the run is to be put in another order.
    fn nearest(&self, local: &Locals, remote: &Remotes) -> Option<Goal> {
        let pairs = local.spread.kept();
        let mut near: SmallVec<[(u32, usize); 32]> =
            pairs.iter().map(|pair| self.gap(pair, remote)).zip(0..).collect();
        near.sort_unstable();
        near.into_iter().take(CLOSEST).find_map(|(_, index)| {
            let pair = &pairs[index];
            let second = self.choices(pair, remote).into_iter().next()?;
            Some(Goal::new(&[pair.first, second, pair.third]))
        })
    }

    /// How far away the next access of another thread is.
    fn gap(&self, pair: &Pair, remote: &Remotes) -> u32 {
        let own = self.facts.thread(pair.first);
        let others = remote.events.iter().filter(|(thread, _)| *thread != own);
        let gaps = others.map(|(_, events)| {
            let place = events.partition_point(|&at| at < pair.third);
            let after = events
                .get(place)
                .map_or(u32::MAX, |&at| self.facts.history.distance(pair.third, at));
            let before = place.checked_sub(1).map(|before| events[before]);
            after.min(before.map_or(u32::MAX, |at| self.facts.history.distance(at, pair.first)))
        });
        gaps.min().unwrap_or(u32::MAX)
    }

    /// Accesses of other threads that may come between the pair, the nearest first.
    fn choices(&self, pair: &Pair, remote: &Remotes) -> Vec<At> {
        let own = self.facts.thread(pair.first);
        let mut near: Vec<(u32, At)> = Vec::new();
        for (thread, events) in remote.events.iter().filter(|(thread, _)| *thread != own) {
            near.extend(self.concurrent(pair, *thread, events).into_iter().flatten());
            if near.len() >= OTHERS * 3 {
                break;
            }
        }
        near.retain(|&(_, at)| !self.facts.is_guarded(pair.first, at, pair.third));
        near.sort_unstable();
        near.dedup();
        near.into_iter().map(|(_, at)| at).collect()
    }

    /// Of one thread's accesses, those nearest to the pair on either side that are not ordered with
    /// it by forks, joins and notifications; with their distance.
    fn concurrent(&self, pair: &Pair, thread: ThreadId, events: &[At]) -> [Option<(u32, At)>; 3] {
        let (facts, history) = (self.facts, self.facts.history);
        let seen = facts.clocks.seen(pair.first, thread, history);
        let from = events.partition_point(|&at| history.nth(at) < seen);
        let to = events.partition_point(|&at| !facts.is_ordered(pair.third, at));
        if from >= to {
            return [None; 3];
        }
        let free = &events[from..to];
        let place = free.partition_point(|&at| at < pair.third);
        let distance = |at: At| {
            if at < pair.first {
                history.distance(at, pair.first)
            } else {
                history.distance(pair.third, at)
            }
        };
        let with = |at: &At| (distance(*at), *at);
        // The last but one may be reachable where the last before is not.
        [
            free.get(place).map(with),
            place.checked_sub(1).and_then(|before| free.get(before)).map(with),
            free.last().map(with),
        ]
    }

    pub(super) fn finish(self) -> Candidates {
        let mut found = Candidates { left_out: self.left_out, ..Candidates::default() };
        for Draft { candidate, open } in self.candidates {
            if !open {
                found.guarded += 1;
            } else if candidate.goals.is_empty() {
                found.ordered += 1;
            } else {
                found.candidates.push(candidate);
            }
        }
        found.candidates.sort_by_key(|candidate| {
            let first = candidate.goals.first().map(|goal| goal.events.clone());
            (!candidate.is_seen, rank(candidate.origin, candidate.pattern), first)
        });
        found
    }
}

/// How many pairs of threads' events there are, of different threads.
fn instances(local: &Locals, remote: &Remotes) -> u64 {
    let all: u64 = remote.events.iter().map(|(_, events)| events.len() as u64).sum();
    let of = |thread: ThreadId| {
        let own = remote.events.iter().find(|(other, _)| *other == thread);
        own.map_or(0, |(_, events)| events.len() as u64)
    };
    let each = local.counts.iter().map(|&(thread, count)| count.saturating_mul(all - of(thread)));
    each.fold(0, u64::saturating_add)
}

fn exclude_each_other(local: &[Held], remote: &[Held]) -> bool {
    local.iter().any(|&(lock, shared)| {
        remote.iter().any(|&(other, other_shared)| lock == other && !(shared && other_shared))
    })
}

fn pattern(local: [bool; 2], remote: bool) -> Pattern {
    match (local, remote) {
        ([true, true], false) => Pattern::WriteReadWrite,
        ([false, false], _) => Pattern::ReadWriteRead,
        ([false, true], _) => Pattern::ReadWriteWrite,
        ([true, false], _) => Pattern::WriteWriteRead,
        ([true, true], true) => Pattern::WriteWriteWrite,
    }
}
