//! From a closed set on towards the goal, event by event.

use smallvec::SmallVec;
use untorn_trace::{Op, ThreadId, VarId};

use crate::goal::Goal;
use crate::history::{At, ReadFrom};
use crate::index::{Cut, Index, exclude_each_other};

/// The maximal number of events of a tail.
const MAX_STEPS: usize = 2000;
/// How many threads may wait for each other in a row.
const DEEPEST: usize = 12;

pub(super) struct Tail<'i, 'a> {
    index: &'i Index<'a>,
    goal: &'i Goal,
    base: &'i Cut,
    /// How many events of each thread have happened.
    done: Cut,
    steps: Vec<At>,
    /// The last writes of the tail.
    written: SmallVec<[(VarId, At); 8]>,
    /// Threads that wait for others to get somewhere.
    busy: SmallVec<[ThreadId; 8]>,
    /// Threads that read something else than in the history: they do nothing more.
    stopped: SmallVec<[ThreadId; 4]>,
}

/// What an event waits for.
enum Obstacle {
    None,
    /// It can happen, but reads something else, and its thread ends there.
    Differs,
    /// Another thread has to do so many of its events first.
    Until(ThreadId, u32),
    Never,
}

impl<'i, 'a> Tail<'i, 'a> {
    pub(super) fn new(index: &'i Index<'a>, goal: &'i Goal, base: &'i Cut) -> Self {
        Self {
            index,
            goal,
            base,
            done: base.clone(),
            steps: Vec::new(),
            written: SmallVec::new(),
            busy: SmallVec::new(),
            stopped: SmallVec::new(),
        }
    }

    /// The events up to the last of the goal, if this way leads there.
    pub(super) fn run(mut self) -> Option<Vec<At>> {
        for &at in &self.goal.events {
            let target = self.index.history.nth(at) + 1;
            if !self.advance(self.index.history.event(at).thread, target) {
                return None;
            }
        }
        // A thread that ran only to unblock another may have completed the goal.
        let last = self.goal.events.last()?;
        let end = self.steps.iter().position(|at| at == last)?;
        self.steps.truncate(end + 1);
        Some(self.steps)
    }

    fn advance(&mut self, thread: ThreadId, target: u32) -> bool {
        if self.done[thread.index()] >= target {
            return true;
        }
        if self.busy.contains(&thread) || self.busy.len() >= DEEPEST {
            return false;
        }
        self.busy.push(thread);
        let arrived = self.advance_to(thread, target);
        self.busy.pop();
        arrived
    }

    fn advance_to(&mut self, thread: ThreadId, target: u32) -> bool {
        while self.done[thread.index()] < target {
            let next = self.done[thread.index()] as usize;
            let Some(&at) = self.index.history.of_thread(thread).get(next) else { return false };
            if !self.clear_way(at) || self.steps.len() >= MAX_STEPS {
                return false;
            }
        }
        true
    }

    /// Executes `at`, and before it everything that it waits for.
    fn clear_way(&mut self, at: At) -> bool {
        // Two threads may take turns in being in the way; a few rounds are plenty.
        for _ in 0..8 {
            match self.obstacle(at) {
                Obstacle::None => return self.execute(at),
                Obstacle::Differs => {
                    self.stopped.push(self.index.history.event(at).thread);
                    return self.execute(at);
                }
                Obstacle::Until(thread, target) => {
                    if !self.advance(thread, target) {
                        return false;
                    }
                }
                Obstacle::Never => return false,
            }
        }
        false
    }

    fn execute(&mut self, at: At) -> bool {
        let event = self.index.history.event(at);
        self.steps.push(at);
        self.done[event.thread.index()] += 1;
        if let Op::Write { var, .. } = event.op {
            match self.written.iter_mut().find(|(known, _)| *known == var) {
                Some((_, last)) => *last = at,
                None => self.written.push((var, at)),
            }
        }
        match self.index.history.second_half(at) {
            Some(second) if self.goal.events.last() != Some(&at) => self.clear_way(second),
            _ => true,
        }
    }

    fn has_happened(&self, at: At) -> bool {
        self.index.contains(&self.done, at)
    }

    fn until(&self, at: At) -> Obstacle {
        let history = self.index.history;
        Obstacle::Until(history.event(at).thread, history.nth(at) + 1)
    }

    fn obstacle(&self, at: At) -> Obstacle {
        let history = self.index.history;
        let event = history.event(at);
        if self.stopped.contains(&event.thread) || self.comes_too_early(at) {
            return Obstacle::Never;
        }
        if history.nth(at) == 0
            && let Some(fork) = history.forked(event.thread)
            && !self.has_happened(fork)
        {
            return self.until(fork);
        }
        match event.op {
            Op::Read { var, .. } => self.read_obstacle(at, var),
            Op::Join { child } => match history.of_thread(child).last() {
                Some(&last) if !self.has_happened(last) => self.until(last),
                _ => Obstacle::None,
            },
            Op::Acquire { .. } => self.lock_obstacle(at),
            Op::Resume { .. } => match history.cause(at) {
                Some(cause) if !self.has_happened(cause) => self.until(cause),
                Some(cause) if !self.waited_before(at, cause) => Obstacle::Never,
                _ => self.lock_obstacle(at),
            },
            _ => Obstacle::None,
        }
    }

    fn comes_too_early(&self, at: At) -> bool {
        match self.goal.events.iter().position(|&wanted| wanted == at) {
            Some(place) => !self.goal.events[..place].iter().all(|&e| self.has_happened(e)),
            None => false,
        }
    }

    fn lock_obstacle(&self, at: At) -> Obstacle {
        let history = self.index.history;
        let Some(mine) = history.section_at(at) else { return Obstacle::None };
        for thread in (0..self.done.len()).map(|t| ThreadId(t as u32)) {
            for &id in self.index.held(thread, self.done[thread.index()]) {
                let theirs = self.index.section(id);
                if exclude_each_other(mine, theirs) {
                    return theirs.leave.map_or(Obstacle::Never, |leave| self.until(leave));
                }
            }
        }
        Obstacle::None
    }

    fn read_obstacle(&self, at: At, var: VarId) -> Obstacle {
        let Some(wanted) = self.index.wanted(at) else { return Obstacle::None };
        if self.index.satisfies(wanted, var, self.memory(var)) {
            return Obstacle::None;
        }
        let history = self.index.history;
        if self.goal.events.contains(&at) && history.second_half(at).is_none() {
            return Obstacle::Differs;
        }
        match history.read_from(at) {
            ReadFrom::Write(write) if !self.has_happened(write) => self.until(write),
            _ => Obstacle::Never,
        }
    }

    fn memory(&self, var: VarId) -> ReadFrom {
        match self.written.iter().find(|(known, _)| *known == var) {
            Some(&(_, write)) => ReadFrom::Write(write),
            None => self.index.last_write(var, self.base),
        }
    }

    /// Whether the wait of a resume came before the notification; both have happened.
    fn waited_before(&self, resume: At, cause: At) -> bool {
        let Some(wait) = self.index.history.previous(resume) else { return false };
        let place = |wanted: At| self.steps.iter().position(|&at| at == wanted);
        // What is in the base comes in the order of the history, and first.
        match (place(wait), place(cause)) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wait), Some(cause)) => wait < cause,
        }
    }
}
