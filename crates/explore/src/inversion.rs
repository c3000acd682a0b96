//! Locks that threads take in different orders: a deadlock that has not happened yet.
//!
//! After Goodlock (Havelund, *Using runtime analysis to guide model checking of Java programs*, SPIN 2000): a
//! thread that holds one lock and takes another makes an edge; a cycle of edges of different threads that no
//! further lock keeps apart may deadlock. What we changed: a cycle is not reported but tried. Each thread
//! takes its outer lock and stops; then one of them goes on. Whether that ends in a deadlock is seen.
//!
//! Promise: may miss (long cycles, threads that never ran at once in one run), never invents.

use std::collections::BTreeSet;

use untorn_predict::At;
use untorn_schedule::Plan;
use untorn_trace::{LockId, ThreadId};

use crate::run::Run;
use crate::{places, steer};

/// Threads in a cycle. Longer ones exist, but shorter ones nearly always exist beside them.
const MAX_THREADS: usize = 4;

/// Cycles of one run that are tried.
const MAX_CYCLES: usize = 16;

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
    let mut found = Vec::new();
    for first in 0..nestings.len() {
        extend(run, &nestings, &mut vec![first], &mut found);
        if found.len() >= MAX_CYCLES {
            break;
        }
    }
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

/// Goes on from the last nesting of the path; a path that comes back is a cycle.
fn extend(run: &Run, all: &[Nesting], path: &mut Vec<usize>, found: &mut Vec<Inversion>) {
    let (first, last) = (&all[path[0]], &all[path[path.len() - 1]]);
    if path.len() > 1 && last.inner.0 == first.outer.0 {
        let cycle: Vec<&Nesting> = path.iter().map(|&i| &all[i]).collect();
        if let Some(new) = inversion(run, &cycle)
            && !found.contains(&new)
        {
            found.push(new);
        }
        return;
    }
    if path.len() == MAX_THREADS || found.len() >= MAX_CYCLES {
        return;
    }
    // Every cycle is found from each of its nestings; starting with the smallest is enough.
    for next in path[0] + 1..all.len() {
        let nesting = &all[next];
        let apart = path.iter().all(|&i| {
            let other = &all[i];
            other.thread != nesting.thread
                && !other.guards.iter().any(|guard| nesting.guards.contains(guard))
        });
        if apart && nesting.outer.0 == last.inner.0 {
            path.push(next);
            extend(run, all, path, found);
            path.pop();
        }
    }
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
