//! Puts the events of a closure into an order that is a reordering.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use untorn_trace::{Access, Op, ThreadId};

use crate::answer::UndecidedCause;
use crate::goal::Goal;
use crate::history::At;
use crate::lock_valid::LockValidAnswer;
use crate::lock_valid::closure::Closure;
use crate::world::World;

/// Steps beyond what is needed, to leave locks, before giving up.
const BEYOND: u32 = 20_000;

/// Steps that a thread which is not needed may take to leave a lock.
const CLEARED: usize = 64;

/// States that the search visits before giving up, and how long a stretch it tries at all.
const STATES: usize = 3_000;
const STRETCH: u32 = 600;

/// Whether the search may end with a proof: it tries only what begins with the history and is no longer than a stretch.
pub(super) fn may_refute(closure: &Closure<'_, '_>) -> bool {
    closure.extent.iter().map(|&count| u64::from(count)).sum::<u64>() <= u64::from(STRETCH)
}

pub(super) fn find(
    world: &mut World<'_, '_>,
    closure: &Closure<'_, '_>,
    goal: &Goal,
) -> LockValidAnswer {
    let against = closure.edges.iter().filter(|edge| edge.source > edge.target);
    let Some(cut) = against.map(|edge| edge.target).min() else {
        return LockValidAnswer::Undecided(UndecidedCause::Incomplete);
    };
    let order = Order { closure, goal };
    world.restart(cut);
    if order.walk(world, cut) || order.greedy(world, false) {
        return LockValidAnswer::Feasible(world.reordering());
    }
    world.restart(cut);
    if order.greedy(world, true) {
        return LockValidAnswer::Feasible(world.reordering());
    }
    order.search(world, cut)
}

struct Order<'a, 'f, 'h> {
    closure: &'a Closure<'f, 'h>,
    goal: &'a Goal,
}

impl Order<'_, '_, '_> {
    fn last(&self) -> At {
        *self.goal.events.last().expect("a goal with a closure has events")
    }

    /// Whether everything that must come first has happened.
    fn is_allowed(&self, world: &World<'_, '_>, at: At) -> bool {
        let mut edges = self.closure.edges.iter().filter(|edge| edge.target == at);
        if edges.any(|edge| !world.has_happened(edge.source)) {
            return false;
        }
        at != self.last()
            || self.goal.events.iter().all(|&goal| goal == at || world.has_happened(goal))
    }

    fn is_ready(&self, world: &World<'_, '_>, at: At) -> bool {
        world.is_enabled(at) && self.is_allowed(world, at)
    }

    /// Walks along the history: a needed event happens if it may, else its thread waits until some
    /// event that can make a difference has happened. What `greedy` does, without asking all threads
    /// at each step; it continues where this cannot.
    fn walk(&self, world: &mut World<'_, '_>, cut: At) -> bool {
        let (facts, last) = (world.facts(), self.last());
        let history = facts.history;
        let mut waiting: SmallVec<[ThreadId; 8]> = SmallVec::new();
        let end = (0..self.closure.extent.len()).filter_map(|index| {
            let nth = self.closure.extent[index].checked_sub(1)?;
            history.of_thread(ThreadId::from_index(index)).get(nth as usize).copied()
        });
        let Some(end) = end.max() else { return false };
        for at in (cut.0..=end.0).map(At) {
            let thread = facts.thread(at);
            let needed = history.nth(at) < self.closure.extent[thread.index()];
            if !needed || waiting.contains(&thread) {
                continue;
            }
            if self.is_indifferent(world, at) {
                world.pass(at);
                continue;
            }
            if !self.is_ready(world, at) && !self.clear_the_way(world, at) {
                waiting.push(thread);
                continue;
            }
            world.execute(at);
            if at == last || (self.wakes(world, at) && self.wake(world, &mut waiting)) {
                return true;
            }
        }
        false
    }

    /// Whether an event may happen whenever its thread reaches it, and no thread waits for it: most of
    /// them.
    fn is_indifferent(&self, world: &World<'_, '_>, at: At) -> bool {
        let history = world.facts().history;
        let plain = match history.event(at).op {
            Op::Read { access, .. } | Op::Write { access, .. } => access != Access::Update,
            Op::Begin { .. }
            | Op::End { .. }
            | Op::Branch { .. }
            | Op::Call { .. }
            | Op::Return { .. } => true,
            _ => false,
        };
        plain
            && world.updating().is_none()
            && history.nth(at) > 0
            && !self.goal.events.contains(&at)
            && history.next(at).is_some()
            && self.closure.edges.iter().all(|edge| edge.source != at && edge.target != at)
    }

    /// Lets threads that are not needed any more leave the lock that an event waits for.
    fn clear_the_way(&self, world: &mut World<'_, '_>, at: At) -> bool {
        let own = world.facts().thread(self.last());
        for _ in 0..CLEARED {
            let idle = world.in_the_way(at).into_iter().find(|&holder| {
                holder != own && world.done(holder) >= self.closure.extent[holder.index()]
            });
            let step = idle.and_then(|holder| world.next(holder));
            let Some(step) = step.filter(|&step| self.is_ready(world, step)) else { break };
            world.execute(step);
        }
        self.is_ready(world, at)
    }

    /// Whether other threads may continue because of the event.
    fn wakes(&self, world: &World<'_, '_>, at: At) -> bool {
        let history = world.facts().history;
        match history.event(at).op {
            Op::Read { .. } | Op::Write { .. } => {
                self.goal.events.contains(&at)
                    || self.closure.edges.iter().any(|edge| edge.source == at)
                    || history.first_half(at).is_some()
                    || history.next(at).is_none()
            }
            Op::Begin { .. }
            | Op::End { .. }
            | Op::Branch { .. }
            | Op::Call { .. }
            | Op::Return { .. }
            | Op::Acquire { .. } => history.next(at).is_none(),
            _ => true,
        }
    }

    /// Runs the threads that wait, the earliest first; returns whether the reordering is complete.
    fn wake(&self, world: &mut World<'_, '_>, waiting: &mut SmallVec<[ThreadId; 8]>) -> bool {
        loop {
            let next = waiting
                .iter()
                .filter(|thread| world.done(**thread) < self.closure.extent[thread.index()])
                .filter_map(|&thread| world.next(thread))
                .filter(|&at| self.is_ready(world, at))
                .min();
            let Some(next) = next else { return false };
            world.execute(next);
            if next == self.last() {
                return true;
            }
        }
    }

    /// The needed events in the order of the history, as far as they may happen. With `early`, the
    /// threads take turns the other way round: the one that was last goes first.
    fn greedy(&self, world: &mut World<'_, '_>, early: bool) -> bool {
        let last = self.last();
        let mut beyond = 0;
        loop {
            let next = match world.updating() {
                Some(thread) => world.next(thread).filter(|&at| self.is_ready(world, at)),
                None => self.choose(world, early),
            };
            let next = next.or_else(|| {
                beyond += 1;
                (beyond < BEYOND).then(|| self.unblock(world)).flatten()
            });
            let Some(next) = next else { return false };
            world.execute(next);
            if next == last {
                return true;
            }
        }
    }

    fn choose(&self, world: &World<'_, '_>, early: bool) -> Option<At> {
        let threads = 0..self.closure.extent.len();
        let needed = threads.filter_map(|index| {
            let thread = ThreadId::from_index(index);
            let next = world.next(thread)?;
            (world.done(thread) < self.closure.extent[index] && self.is_ready(world, next))
                .then_some(next)
        });
        if early { needed.max() } else { needed.min() }
    }

    /// An event of a blocking thread: it holds a lock that a needed event waits for.
    fn unblock(&self, world: &World<'_, '_>) -> Option<At> {
        let count = self.closure.extent.len();
        let mut waiting: Vec<ThreadId> = (0..count)
            .filter(|&index| world.done(ThreadId::from_index(index)) < self.closure.extent[index])
            .map(ThreadId::from_index)
            .collect();
        let mut asked = vec![false; count];
        let own = world.facts().thread(self.last());
        while let Some(thread) = waiting.pop() {
            let Some(next) = world.next(thread) else { continue };
            for holder in world.in_the_way(next) {
                if holder == own && world.next(own) == Some(self.last()) {
                    continue;
                }
                let Some(step) = world.next(holder) else { continue };
                if self.is_ready(world, step) && step != self.last() {
                    return Some(step);
                }
                if !std::mem::replace(&mut asked[holder.index()], true) {
                    waiting.push(holder);
                }
            }
        }
        None
    }

    /// Tries all orders, within bounds. Complete if nothing was cut off: then it is a proof.
    fn search(&self, world: &mut World<'_, '_>, cut: At) -> LockValidAnswer {
        world.restart(cut);
        let threads = (0..self.closure.extent.len()).map(ThreadId::from_index);
        let stretch: u32 = threads
            .map(|thread| self.closure.extent[thread.index()].saturating_sub(world.done(thread)))
            .sum();
        if stretch > STRETCH {
            return LockValidAnswer::Undecided(UndecidedCause::Budget);
        }
        let mut seen = FxHashSet::default();
        let found = self.dive(world, &mut seen);
        match found {
            Some(done) => LockValidAnswer::Feasible(done.reordering()),
            None if seen.len() >= STATES => LockValidAnswer::Undecided(UndecidedCause::Budget),
            None if cut == At(0) => LockValidAnswer::Infeasible,
            None => LockValidAnswer::Undecided(UndecidedCause::Incomplete),
        }
    }

    fn dive<'f, 'h>(
        &self,
        world: &World<'f, 'h>,
        seen: &mut FxHashSet<Vec<u32>>,
    ) -> Option<World<'f, 'h>> {
        let mut stack = vec![world.clone()];
        while let Some(world) = stack.pop() {
            let mut ready: Vec<At> = (0..self.closure.extent.len())
                .filter_map(|index| world.next(ThreadId::from_index(index)))
                .filter(|&at| self.is_ready(&world, at))
                .collect();
            // The earliest is tried first, so it goes last onto the stack.
            ready.sort_unstable_by(|a, b| b.cmp(a));
            for at in ready {
                let mut next = world.clone();
                next.execute(at);
                if at == self.last() {
                    return Some(next);
                }
                if seen.len() < STATES && seen.insert(self.fingerprint(&next)) {
                    stack.push(next);
                }
            }
        }
        None
    }

    /// What two partial runs must have in common to have the same continuations.
    fn fingerprint(&self, world: &World<'_, '_>) -> Vec<u32> {
        let count = self.closure.extent.len();
        let mut print: Vec<u32> =
            (0..count).map(|index| world.done(ThreadId::from_index(index))).collect();
        // A notification that came before its wait is lost.
        let facts = world.facts();
        for index in 0..count {
            let thread = ThreadId::from_index(index);
            if let Some(next) = world.next(thread)
                && matches!(facts.history.event(next).op, Op::Resume { .. })
            {
                print.push(u32::from(world.is_enabled(next)));
            }
        }
        print
    }
}
