//! Detects that no thread can run any more, and why.

use untorn_trace::ids::ThreadId;

use crate::threads::Threads;
use crate::{Blocker, LockKey, Locks};

/// A thread that cannot continue.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct BlockedThread {
    pub thread: ThreadId,
    pub on: Blocker,
    /// The owner of the lock it waits for, if it waits for a lock that is held.
    pub holder: Option<ThreadId>,
}

/// No thread can run, no deadline will pass, and no thread is outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// Every thread that has not ended, in the order of ids.
    pub threads: Vec<BlockedThread>,
    /// Threads each of which waits for a lock that the next one holds, and the last one for one that the first holds.
    pub cycle: Option<Vec<ThreadId>>,
    /// There is such a cycle, so no thread can resolve it. Otherwise an uncontrolled thread might still unpark,
    /// notify or interrupt: report the deadlock only after a grace period.
    pub certain: bool,
}

impl Deadlock {
    /// Call it only when no thread can run. A thread that will time out counts as having done so, because it cannot
    /// continue in another way.
    pub(crate) fn of(threads: &Threads, locks: &dyn Locks) -> Self {
        let wanted = Threads::lock_wanted_in_the_end;
        let stuck = threads.live().iter().filter_map(|&thread| {
            let on = threads.blocker(thread)?;
            let holder = wanted(threads, thread).and_then(|lock| locks.owner(lock));
            Some(BlockedThread { thread, on, holder })
        });
        let cycle = lock_cycle(threads, locks, wanted);
        Self { threads: stuck.collect(), certain: cycle.is_some(), cycle }
    }
}

/// The lock that a thread requests.
type Wanted = fn(&Threads, ThreadId) -> Option<LockKey>;

/// Finds threads that wait for each other's locks in a cycle. Each thread requests at most one lock and a lock has
/// one owner, so following owners from every thread takes linear time.
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
        // The walk came back to itself, unless it only ended here.
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
