//! Nothing can run any more; and why.

use untorn_trace::ids::ThreadId;

use crate::threads::Threads;
use crate::{Blocker, LockKey, Locks};

/// A thread that cannot go on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    pub thread: ThreadId,
    pub on: Blocker,
    /// Who has the lock it waits for, if it waits for a lock that somebody has.
    pub holder: Option<ThreadId>,
}

/// Nothing can run, no deadline will pass, and nobody is outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// Every thread that has not ended, in the order of ids.
    pub threads: Vec<Stuck>,
    /// Threads each of which waits for a lock that the next one has, and the last one for one that
    /// the first has.
    pub cycle: Option<Vec<ThreadId>>,
    /// There is such a cycle, so nobody can help. Otherwise a thread beyond our control might still
    /// unpark, notify or interrupt: believe the deadlock after a grace period.
    pub certain: bool,
}

impl Deadlock {
    /// Call it only when nothing can run. What will time out has no other future, so it counts as
    /// having done so.
    pub(crate) fn of(threads: &Threads, locks: &dyn Locks) -> Self {
        let wanted = Threads::lock_wanted_in_the_end;
        let stuck = threads.live().iter().filter_map(|&thread| {
            let on = threads.blocker(thread)?;
            let holder = wanted(threads, thread).and_then(|lock| locks.owner(lock));
            Some(Stuck { thread, on, holder })
        });
        let cycle = lock_cycle(threads, locks, wanted);
        Self { threads: stuck.collect(), certain: cycle.is_some(), cycle }
    }
}

/// Which lock a thread wants.
type Wanted = fn(&Threads, ThreadId) -> Option<LockKey>;

/// Finds threads that wait for each other's locks in a circle. Each thread wants at most one lock
/// and a lock has one owner, so following owners from every thread takes linear time.
pub(crate) fn lock_cycle(
    threads: &Threads,
    locks: &dyn Locks,
    wanted: Wanted,
) -> Option<Vec<ThreadId>> {
    let owner_of_wanted = |thread: ThreadId| {
        let owner = locks.owner(wanted(threads, thread)?)?;
        (owner != thread && owner.index() < threads.len()).then_some(owner)
    };
    // The walk that passed a thread first; 0 is none.
    let mut passed_by = vec![0_u32; threads.len()];
    for (walk, &start) in (1..).zip(threads.live()) {
        let mut path = Vec::new();
        let mut at = start;
        while passed_by[at.index()] == 0 {
            passed_by[at.index()] = walk;
            path.push(at);
            match owner_of_wanted(at) {
                Some(owner) => at = owner,
                None => break,
            }
        }
        // The walk came back to itself, unless it merely ended here.
        let entry = path.iter().position(|&thread| thread == at);
        if let Some(entry) = entry.filter(|_| owner_of_wanted(at).is_some()) {
            let mut cycle = path.split_off(entry);
            let first = (0..cycle.len()).min_by_key(|&i| cycle[i])?;
            cycle.rotate_left(first);
            return Some(cycle);
        }
    }
    None
}
