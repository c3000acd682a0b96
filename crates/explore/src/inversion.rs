//! Locks that threads take in different orders: a deadlock that has not happened yet.
//!
//! After Goodlock (Havelund, *Using runtime analysis to guide model checking of Java programs*, SPIN 2000): a
//! thread that holds one lock and takes another makes an edge; a cycle of edges of different threads that no
//! further lock keeps apart may deadlock. What we changed: a cycle is not reported but tried. Each thread
//! takes its outer lock and stops; then one of them goes on. Whether that ends in a deadlock is seen.
//!
//! Promise: may miss (long cycles, threads that never ran at once in one run), never invents.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use untorn_predict::At;
use untorn_schedule::Plan;
use untorn_trace::{LockId, ThreadId};

use crate::run::Run;
use crate::{places, steer};

/// Threads in a cycle. Longer ones exist, but shorter ones nearly always exist beside them.
const MAX_THREADS: usize = 4;

/// Cycles of one run that are tried.
const MAX_CYCLES: usize = 16;

/// Steps of the search for cycles in one run: a second of processor time at most. Locks by the thousand that are taken in
/// all orders have more cycles than anybody tries.
const MAX_STEPS: usize = 1 << 24;

/// A thread takes a lock while it holds another one.
#[derive(Clone, Debug)]
struct Nesting {
    thread: ThreadId,
    outer: (LockId, At),
    inner: (LockId, At),
    /// What else it holds: two nestings with a common guard exclude each other.
    guards: Vec<LockId>,
}

/// A cycle, by its places, and the plan that tries it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Inversion {
    places: Vec<String>,
    plan: Plan,
}

/// The cycles of all runs, each tried once.
#[derive(Debug, Default)]
pub(crate) struct LockOrders {
    /// Not tried yet.
    open: Vec<Inversion>,
    /// The places of all that were found.
    known: BTreeSet<Vec<String>>,
}

impl LockOrders {
    /// Adds the cycles of a run.
    pub(crate) fn add(&mut self, run: &Run) {
        for inversion in find(run) {
            if self.known.insert(inversion.places.clone()) {
                self.open.push(inversion);
            }
        }
    }

    /// The plan that tries the next cycle.
    pub(crate) fn next_plan(&mut self) -> Option<Plan> {
        self.open.pop().map(|inversion| inversion.plan)
    }
}

/// The cycles of a run.
fn find(run: &Run) -> Vec<Inversion> {
    let nestings = nestings(run);
    let mut found: Vec<Inversion> = Vec::new();
    CycleSearch::new(&nestings).run(&mut |path| {
        let cycle: Vec<&Nesting> = path.iter().map(|&i| &nestings[i]).collect();
        if let Some(new) = inversion(run, &cycle)
            && !found.contains(&new)
        {
            found.push(new);
        }
        found.len() < MAX_CYCLES
    });
    found.sort_by_cached_key(|found| (found.places.clone(), found.plan.to_string()));
    found
}

/// The first nesting of each pair of locks in each thread.
fn nestings(run: &Run) -> Vec<Nesting> {
    let mut seen = BTreeSet::new();
    let mut held: Vec<Vec<(LockId, At)>> = vec![Vec::new(); run.history.thread_count()];
    let mut out = Vec::new();
    for section in run.history.sections().iter().filter(|section| !section.shared) {
        let own = &mut held[section.thread.index()];
        let is_open = |&(_, enter): &(LockId, At)| {
            let outer = run.history.section_at(enter).and_then(|outer| outer.leave);
            outer.is_none_or(|leave| leave > section.enter)
        };
        own.retain(is_open);
        for (i, &outer) in own.iter().enumerate() {
            if seen.insert((section.thread, outer.0, section.lock)) {
                let others = own.iter().enumerate().filter(|&(j, _)| j != i);
                let guards = others.map(|(_, &(lock, _))| lock).collect();
                let inner = (section.lock, section.enter);
                out.push(Nesting { thread: section.thread, outer, inner, guards });
            }
        }
        own.push((section.lock, section.enter));
    }
    out
}

/// Looks for cycles: nestings of different threads without a common guard, each of which takes what the next one holds.
struct CycleSearch<'n> {
    all: &'n [Nesting],
    /// Nestings that may be on a cycle, by the lock that is taken first.
    by_outer: FxHashMap<LockId, Vec<usize>>,
    /// Steps that are left.
    steps: usize,
}

impl<'n> CycleSearch<'n> {
    fn new(all: &'n [Nesting]) -> Self {
        let mut by_outer: FxHashMap<LockId, Vec<usize>> = FxHashMap::default();
        for i in on_cycles(all) {
            by_outer.entry(all[i].outer.0).or_default().push(i);
        }
        Self { all, by_outer, steps: MAX_STEPS }
    }

    /// Calls `visit` with each cycle, as positions of nestings, until it says that this is enough.
    fn run(mut self, visit: &mut dyn FnMut(&[usize]) -> bool) {
        let mut starts: Vec<usize> = self.by_outer.values().flatten().copied().collect();
        starts.sort_unstable();
        for start in starts {
            if !self.extend(&mut vec![start], visit) {
                return;
            }
        }
    }

    /// Goes on from the last nesting of the path; a path that comes back is a cycle. Whether the search goes on.
    fn extend(&mut self, path: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize]) -> bool) -> bool {
        let (first, last) = (&self.all[path[0]], &self.all[path[path.len() - 1]]);
        if path.len() > 1 && last.inner.0 == first.outer.0 {
            return visit(path);
        }
        if path.len() == MAX_THREADS {
            return true;
        }
        let nexts = self.by_outer.get(&last.inner.0).cloned().unwrap_or_default();
        // Every cycle is found from each of its nestings; starting with the smallest is enough.
        let start = path[0];
        for next in nexts.into_iter().filter(|&next| next > start) {
            let Some(left) = self.steps.checked_sub(1) else { return false };
            self.steps = left;
            if path.iter().all(|&i| self.all[i].can_overlap(&self.all[next])) {
                path.push(next);
                let goes_on = self.extend(path, visit);
                path.pop();
                if !goes_on {
                    return false;
                }
            }
        }
        true
    }
}

impl Nesting {
    /// Whether both may be in progress at once.
    fn can_overlap(&self, other: &Self) -> bool {
        self.thread != other.thread && !self.guards.iter().any(|guard| other.guards.contains(guard))
    }
}

/// The nestings that may be on a cycle: what is taken inside is also held by somebody who takes another lock, and what
/// is held is also taken by somebody who holds one. Nearly all programs order nearly all of their locks: this leaves
/// little.
fn on_cycles(all: &[Nesting]) -> Vec<usize> {
    let mut locks: FxHashMap<LockId, Uses> = FxHashMap::default();
    for (i, nesting) in all.iter().enumerate() {
        locks.entry(nesting.outer.0).or_default().as_outer.push(i);
        locks.entry(nesting.inner.0).or_default().as_inner.push(i);
    }
    let mut counts: FxHashMap<LockId, [usize; 2]> = locks
        .iter()
        .map(|(&lock, uses)| (lock, [uses.as_outer.len(), uses.as_inner.len()]))
        .collect();
    let mut ends: Vec<LockId> =
        counts.iter().filter(|(_, count)| count.contains(&0)).map(|(&lock, _)| lock).collect();
    let mut is_left = vec![true; all.len()];
    while let Some(lock) = ends.pop() {
        let uses = &locks[&lock];
        for &i in uses.as_outer.iter().chain(&uses.as_inner) {
            if !std::mem::replace(&mut is_left[i], false) {
                continue;
            }
            for (role, lock) in [all[i].outer.0, all[i].inner.0].into_iter().enumerate() {
                let count = counts.entry(lock).or_default();
                count[role] -= 1;
                if count[role] == 0 {
                    ends.push(lock);
                }
            }
        }
    }
    (0..all.len()).filter(|&i| is_left[i]).collect()
}

/// The nestings in which a lock is taken first, and second.
#[derive(Default)]
struct Uses {
    as_outer: Vec<usize>,
    as_inner: Vec<usize>,
}

fn inversion(run: &Run, cycle: &[&Nesting]) -> Option<Inversion> {
    let takes = cycle.iter().map(|nesting| nesting.outer.1).chain([cycle[0].inner.1]);
    let events: Vec<At> = takes.collect();
    let keys = cycle.iter().flat_map(|nesting| [nesting.outer.1, nesting.inner.1]);
    let mut places: Vec<String> = keys
        .map(|at| places::key(&run.tables, run.history.event(at).site))
        .collect::<Option<_>>()?;
    places.sort_unstable();
    Some(Inversion { places, plan: steer::bare_plan(run, &events)? })
}

#[cfg(test)]
mod tests {
    use untorn_schedule::Rng;

    use super::*;

    /// All paths of nestings, whether they can be on a cycle or not.
    fn brute_force(all: &[Nesting], path: &mut Vec<usize>, out: &mut BTreeSet<Vec<usize>>) {
        let (first, last) = (path[0], path[path.len() - 1]);
        if path.len() > 1 && all[last].inner.0 == all[first].outer.0 {
            out.insert(path.clone());
            return;
        }
        if path.len() == MAX_THREADS {
            return;
        }
        for next in first + 1..all.len() {
            let follows = all[last].inner.0 == all[next].outer.0;
            if follows && path.iter().all(|&i| all[i].can_overlap(&all[next])) {
                path.push(next);
                brute_force(all, path, out);
                path.pop();
            }
        }
    }

    fn random_nestings(rng: &mut Rng) -> Vec<Nesting> {
        let (locks, count) = (2 + rng.below(6), 1 + rng.below(12));
        let lock = |rng: &mut Rng| LockId(rng.below(locks) as u32);
        let nesting = |_| {
            let thread = ThreadId(rng.below(4) as u32);
            let (outer, inner) = ((lock(rng), At(0)), (lock(rng), At(0)));
            let guards = (0..rng.below(2)).map(|_| lock(rng)).collect();
            Nesting { thread, outer, inner, guards }
        };
        (0..count).map(nesting).collect()
    }

    fn cycles(all: &[Nesting]) -> BTreeSet<Vec<usize>> {
        let mut out = BTreeSet::new();
        CycleSearch::new(all).run(&mut |path| out.insert(path.to_vec()));
        out
    }

    #[test]
    fn every_cycle_is_found() {
        let mut rng = Rng::new(1);
        let mut with_cycles = 0;
        for _ in 0..20_000 {
            let all = random_nestings(&mut rng);
            let mut expected = BTreeSet::new();
            for first in 0..all.len() {
                brute_force(&all, &mut vec![first], &mut expected);
            }
            assert_eq!(cycles(&all), expected, "{all:?}");
            with_cycles += u32::from(!expected.is_empty());
        }
        assert!(with_cycles > 2_000, "only {with_cycles} of the programs have a cycle");
    }

    #[test]
    fn locks_that_are_ordered_take_no_time() {
        let nesting = |i: u32| Nesting {
            thread: ThreadId(i % 64),
            outer: (LockId(i % 300), At(0)),
            inner: (LockId(i % 300 + 1 + i / 300), At(0)),
            guards: Vec::new(),
        };
        let all: Vec<Nesting> = (0..60_000).map(nesting).collect();
        assert_eq!(on_cycles(&all), [0; 0]);
        assert!(cycles(&all).is_empty());
    }
}
