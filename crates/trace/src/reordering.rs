//! Whether a sequence of events is a feasible reordering of a trace: the validator that the reordering of every
//! prediction is shown to.
//!
//! Written from the definition in `untorn-predict`'s crate documentation alone, and shares nothing with the engines
//! that make reorderings. It steps through a reordering event by event and asks of each whether it may come next; there
//! are no orders, no closures, no critical sections.

mod facts;
mod outline;

use std::collections::BTreeMap;

use crate::{Event, EventIdx, LockId, Op, ThreadId, Value, VarId};

pub use facts::ReorderingFacts;
pub use outline::{Outline, OutlineChecker};

/// How much is asked of the reads of a reordering.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReorderingRule {
    /// Nothing: threads, locks and notifications only.
    Lock,
    /// Each read returns the value that it returned. One that did not return what its write wrote, or of which that is
    /// not known, reads from that write.
    SameValue,
    /// Each read reads from the write that it read from.
    SameSource,
}

impl ReorderingRule {
    pub const ALL: [Self; 3] = [Self::Lock, Self::SameValue, Self::SameSource];
}

/// Why a sequence of events is no reordering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReorderingFault {
    /// The trace has no event of that number.
    NoSuchEvent(EventIdx),
    /// Not the next event of its thread.
    OutOfOrder(EventIdx),
    /// Its thread has not been forked.
    NotForked(EventIdx),
    /// Joins a thread that has events left.
    JoinsTooEarly(EventIdx),
    /// Takes a lock that another thread holds.
    LockHeld(EventIdx, LockId),
    /// Returns from a wait whose notification is missing, or came before the wait.
    NotNotified(EventIdx),
    /// Comes between the halves of another thread's update.
    InsideUpdate(EventIdx),
    /// Reads something else, and it is not the last event of its thread.
    ReadsOther(EventIdx),
    /// Comes before an earlier event of the goal.
    GoalOutOfOrder(EventIdx),
    /// The reordering does not contain the whole goal, or does not end with it.
    GoalNotLast,
}

/// Whether `reordering` is one: `initial` gives the initial values, `goal` the events that it must reach.
///
/// # Errors
/// The first event that may not come next.
pub fn check_reordering(
    events: &[Event],
    initial: &dyn Fn(VarId) -> Option<Value>,
    goal: &[EventIdx],
    reordering: &[EventIdx],
    rule: ReorderingRule,
) -> Result<(), ReorderingFault> {
    let facts = ReorderingFacts::new(events, initial);
    let question = Question::new(&facts, goal, rule)?;
    let mut state = question.start();
    for &at in reordering {
        question.step(&mut state, at)?;
    }
    if reordering.last() == goal.last() && question.is_reached(&state) {
        Ok(())
    } else {
        Err(ReorderingFault::GoalNotLast)
    }
}

/// Everything about the way so far that matters for what may follow.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// By thread: how many of its events have happened.
    done: Vec<usize>,
    /// By variable: its last write, as [`Question::memory_of`] distinguishes writes.
    memory: Vec<Option<usize>>,
    /// Resumes whose notification came before the wait.
    missed: Vec<usize>,
    /// Threads that read something else, with that read: they do nothing more.
    stopped: BTreeMap<ThreadId, usize>,
    /// The second half of the update that has begun.
    pending: Option<usize>,
}

/// A trace, and what a reordering of it shall lead to.
#[derive(Debug)]
pub struct Question<'a> {
    facts: &'a ReorderingFacts<'a>,
    goal: Vec<usize>,
    rule: ReorderingRule,
}

impl<'a> Question<'a> {
    /// # Errors
    /// If the goal names an event that the trace does not have.
    pub fn new(
        facts: &'a ReorderingFacts<'a>,
        goal: &[EventIdx],
        rule: ReorderingRule,
    ) -> Result<Self, ReorderingFault> {
        let known = |&at: &EventIdx| match usize::try_from(at.0) {
            Ok(index) if index < facts.events.len() => Ok(index),
            _ => Err(ReorderingFault::NoSuchEvent(at)),
        };
        let goal = goal.iter().map(known).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { facts, goal, rule })
    }

    /// Before the first event.
    pub fn start(&self) -> State {
        State {
            done: vec![0; self.facts.threads.len()],
            memory: vec![None; self.facts.var_count],
            missed: Vec::new(),
            stopped: BTreeMap::new(),
            pending: None,
        }
    }

    fn has_happened(&self, state: &State, index: usize) -> bool {
        (self.facts.nth[index] as usize) < state.done[self.facts.events[index].thread.index()]
    }

    /// Whether every event of the goal has happened.
    pub fn is_reached(&self, state: &State) -> bool {
        self.goal.iter().all(|&index| self.has_happened(state, index))
    }

    /// Does `at`, if it may come next.
    ///
    /// # Errors
    /// Why it may not.
    pub fn step(&self, state: &mut State, at: EventIdx) -> Result<(), ReorderingFault> {
        let facts = self.facts;
        let index = usize::try_from(at.0).unwrap_or(usize::MAX);
        let Some(event) = facts.events.get(index) else {
            return Err(ReorderingFault::NoSuchEvent(at));
        };
        let thread = event.thread;
        if facts.nth[index] as usize != state.done[thread.index()] {
            return Err(ReorderingFault::OutOfOrder(at));
        }
        if let Some(&read) = state.stopped.get(&thread) {
            return Err(ReorderingFault::ReadsOther(EventIdx(read as u64)));
        }
        if state.pending.is_some_and(|half| half != index) {
            return Err(ReorderingFault::InsideUpdate(at));
        }
        if facts.forks[thread.index()].is_some_and(|fork| !self.has_happened(state, fork)) {
            return Err(ReorderingFault::NotForked(at));
        }
        self.check_goal(state, index)?;
        self.check_operation(state, index)?;
        self.check_read(state, index)?;
        self.apply(state, index);
        Ok(())
    }

    /// What each thread would do next, by thread.
    pub fn next_events(&self, state: &State) -> Vec<EventIdx> {
        let next = self.facts.threads.iter().zip(&state.done);
        let next = next.filter_map(|(events, &done)| events.get(done));
        next.map(|&index| EventIdx(u64::from(index))).collect()
    }

    fn check_goal(&self, state: &State, index: usize) -> Result<(), ReorderingFault> {
        let Some(place) = self.goal.iter().position(|&wanted| wanted == index) else {
            return Ok(());
        };
        // An event that the goal names twice never has all of its forerunners behind it.
        let last = self.goal.iter().rposition(|&wanted| wanted == index).unwrap_or(place);
        if self.goal[..last].iter().all(|&earlier| self.has_happened(state, earlier)) {
            Ok(())
        } else {
            Err(ReorderingFault::GoalOutOfOrder(EventIdx(index as u64)))
        }
    }

    fn check_operation(&self, state: &State, index: usize) -> Result<(), ReorderingFault> {
        let (facts, at) = (self.facts, EventIdx(index as u64));
        let thread = facts.events[index].thread;
        let free = |lock: LockId, exclusive: bool| {
            let taken = (0..state.done.len()).any(|other| {
                other != thread.index()
                    && facts.holds(other, state.done[other]).iter().any(|hold| {
                        hold.lock == lock && (hold.exclusive > 0 || exclusive && hold.shared > 0)
                    })
            });
            if taken { Err(ReorderingFault::LockHeld(at, lock)) } else { Ok(()) }
        };
        match facts.events[index].op {
            Op::Acquire { lock, hold } => free(lock, hold == crate::Hold::Exclusive),
            Op::Resume { lock } => {
                if let Some(&(_, notify)) = facts.causes.get(&index)
                    && (!self.has_happened(state, notify) || state.missed.contains(&index))
                {
                    return Err(ReorderingFault::NotNotified(at));
                }
                free(lock, true)
            }
            Op::Join { child } => match facts.threads.get(child.index()) {
                Some(all) if state.done[child.index()] < all.len() => {
                    Err(ReorderingFault::JoinsTooEarly(at))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// A read that may not return what it would return. One that may, and does, stops its thread:
    /// see [`Question::apply`].
    fn check_read(&self, state: &State, index: usize) -> Result<(), ReorderingFault> {
        let may_differ = self.goal.contains(&index) && self.facts.second_half.get(index).is_none();
        if self.reads_same(state, index) || may_differ {
            Ok(())
        } else {
            Err(ReorderingFault::ReadsOther(EventIdx(index as u64)))
        }
    }

    fn reads_same(&self, state: &State, index: usize) -> bool {
        let Op::Read { var, .. } = self.facts.events[index].op else { return true };
        let (source, now) = (self.facts.sources.get(index), state.memory[var.index()]);
        match self.rule {
            ReorderingRule::Lock => true,
            ReorderingRule::SameSource => source == now,
            ReorderingRule::SameValue => {
                let value = self.facts.events[index].value();
                source == now
                    || (self.facts.is_about_value(index, var)
                        && self.facts.value_of(var, now) == value)
            }
        }
    }

    fn apply(&self, state: &mut State, index: usize) {
        let facts = self.facts;
        let thread = facts.events[index].thread;
        if !self.reads_same(state, index) {
            state.stopped.insert(thread, index);
        }
        if let Op::Write { var, .. } = facts.events[index].op {
            state.memory[var.index()] = self.memory_of(var, index);
        }
        if matches!(facts.events[index].op, Op::Notify { .. }) {
            for &resume in facts.caused.get(&index).into_iter().flatten() {
                let wait = facts.causes.get(&resume).map(|&(wait, _)| wait);
                if wait.is_some_and(|wait| !self.has_happened(state, wait)) {
                    state.missed.push(resume);
                }
            }
            state.missed.sort_unstable();
        }
        state.pending = facts.second_half.get(index);
        state.done[thread.index()] += 1;
    }

    /// The write as the memory remembers it: only what some rule needs is distinguished, so that
    /// the search meets the same state again more often.
    fn memory_of(&self, var: VarId, write: usize) -> Option<usize> {
        match self.rule {
            ReorderingRule::Lock => None,
            ReorderingRule::SameValue if self.facts.by_value[var.index()] => {
                Some(self.facts.first_alike[write] as usize)
            }
            _ => Some(write),
        }
    }
}
