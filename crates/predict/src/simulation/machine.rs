//! Runs a schedule over the recorded events, with values.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use untorn_trace::{Op, ThreadId, VarId};

use crate::facts::HistoryIndex;
use crate::history::{At, ReadFrom};
use crate::simulation::shapes::{Shape, Stretch, ThreadSet};
use crate::simulation::{Knowledge, Triple};
use crate::world::{SuffixReordering, World};

/// Whether a thread's recorded operations can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// Has read what it read: does what it did.
    #[default]
    Same,
    /// Has read something else: does the same operations up to its next branch.
    Tainted,
    /// What it does is unknown.
    Stopped,
}

/// The last write of a variable after the cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LastWrite {
    at: At,
    /// By a tainted thread: the value is unknown.
    tainted: bool,
}

/// Maximal number of steps after a schedule to release locks.
const BEYOND: u32 = 2_000;

#[derive(Debug)]
pub(super) struct Machine<'f, 'h> {
    facts: &'f HistoryIndex<'h>,
    knowledge: &'f Knowledge,
    world: World<'f, 'h>,
    cut: At,
    states: Vec<State>,
    /// By thread: where it became tainted, in the run.
    tainted: Vec<u32>,
    memory: FxHashMap<VarId, LastWrite>,
    /// By thread: events of the schedule that wait, in order.
    queues: Vec<VecDeque<At>>,
    /// Threads with a queue, in the order in which they began to wait.
    waiting: Vec<ThreadId>,
    /// A thread that is needed has stopped.
    is_lost: bool,
}

impl<'f, 'h> Machine<'f, 'h> {
    pub(super) fn new(facts: &'f HistoryIndex<'h>, knowledge: &'f Knowledge) -> Self {
        let threads = facts.history.thread_count();
        Self {
            facts,
            knowledge,
            world: World::new(facts, At(0)),
            cut: At(0),
            states: vec![State::Same; threads],
            tainted: vec![0; threads],
            memory: FxHashMap::default(),
            queues: vec![VecDeque::new(); threads],
            waiting: Vec::new(),
            is_lost: false,
        }
    }

    pub(super) fn reordering(&self) -> SuffixReordering {
        self.world.reordering()
    }

    /// Whether k happens.
    pub(super) fn run(&mut self, shape: &Shape, triple: Triple) -> bool {
        self.restart(shape.cut);
        for part in &shape.parts {
            if self.stretch(part, triple) {
                return true;
            }
            if self.is_lost {
                return false;
            }
        }
        // ThreadSet does not wait has come as far as the schedule leads.
        if self.waiting.is_empty() {
            return false;
        }
        self.clear_the_way(triple)
    }

    /// T2 may hold a lock that T1 needs, others may hold one that either needs: they continue until they
    /// release it. Returns whether k happens.
    fn clear_the_way(&mut self, triple: Triple) -> bool {
        for _ in 0..BEYOND {
            let Some(at) = self.in_the_way(triple) else { return false };
            let has_come = self.offer(at, triple);
            // A thread that stops right before k has come there, and no farther.
            if self.is_lost {
                return false;
            }
            if has_come {
                return true;
            }
        }
        false
    }

    /// The next event of a thread that holds a lock which is waited for.
    fn in_the_way(&self, Triple { i, j, k, .. }: Triple) -> Option<At> {
        let front = |thread: ThreadId| self.queues[thread.index()].front().copied();
        let mut at = front(self.facts.thread(i))?;
        if at == k && !self.world.has_happened(j) {
            at = front(self.facts.thread(j))?;
        }
        for _ in 0..self.queues.len() {
            let holder = self.world.in_the_way(at).into_iter().next()?;
            if self.states[holder.index()] == State::Stopped {
                return None;
            }
            match front(holder) {
                Some(next) => at = next,
                None => return self.world.next(holder),
            }
        }
        None
    }

    /// A thread has read something else.
    fn taint(&mut self, at: At, thread: ThreadId) {
        if self.states[thread.index()] == State::Same {
            self.states[thread.index()] = State::Tainted;
            self.tainted[thread.index()] = self.facts.history.position(at);
        }
    }

    fn restart(&mut self, cut: At) {
        self.cut = cut;
        self.world.restart(cut);
        self.states.fill(State::Same);
        self.memory.clear();
        self.queues.iter_mut().for_each(VecDeque::clear);
        self.waiting.clear();
        self.is_lost = false;
    }

    /// A thread stops for good. If it was needed, nothing brings it back.
    fn stop(&mut self, thread: ThreadId, triple: Triple) {
        self.states[thread.index()] = State::Stopped;
        let needed = [triple.i, triple.j, triple.k];
        self.is_lost |= needed
            .iter()
            .any(|&at| self.facts.thread(at) == thread && !self.world.has_happened(at));
    }

    /// Executes the events of a segment; returns whether k has happened. Ends early if it cannot continue.
    fn stretch(&mut self, part: &Stretch, triple: Triple) -> bool {
        match part.who {
            ThreadSet::Only(thread) => {
                let events = self.facts.history.of_thread(thread);
                let start = events.partition_point(|&at| at < part.from);
                let events = events[start..].iter().take_while(|&&at| at < part.to);
                let mut events = events.copied();
                events.any(|at| self.is_lost || self.offer(at, triple)) && !self.is_lost
            }
            who => {
                let facts = self.facts;
                let mut events = (part.from.0..part.to.0).map(At).filter(|&at| {
                    let thread = facts.thread(at);
                    match who {
                        ThreadSet::All | ThreadSet::Only(_) => true,
                        ThreadSet::Without(other) => thread != other,
                        ThreadSet::Both(one, other) => thread == one || thread == other,
                    }
                });
                events.any(|at| self.is_lost || self.offer(at, triple)) && !self.is_lost
            }
        }
    }

    /// The schedule reaches an event; returns whether k has happened by it.
    fn offer(&mut self, at: At, triple: Triple) -> bool {
        let thread = self.facts.thread(at);
        if self.states[thread.index()] == State::Stopped || self.world.has_happened(at) {
            return false;
        }
        let queue = &mut self.queues[thread.index()];
        if queue.back().is_some_and(|&last| at <= last) {
            return false;
        }
        if !queue.is_empty() {
            queue.push_back(at);
            return false;
        }
        // A schedule may leave out events of a thread only at its end.
        if self.world.next(thread) != Some(at) {
            return false;
        }
        if !self.may_happen(at, triple) {
            self.queues[thread.index()].push_back(at);
            self.waiting.push(thread);
            return false;
        }
        self.happen(at, triple);
        at == triple.k || (!self.waiting.is_empty() && self.wake(triple))
    }

    /// Runs the threads that waited as far as they can go; returns whether k has happened.
    fn wake(&mut self, triple: Triple) -> bool {
        let mut index = 0;
        while index < self.waiting.len() {
            let thread = self.waiting[index];
            let mut moved = false;
            while let Some(&at) = self.queues[thread.index()].front() {
                if self.states[thread.index()] == State::Stopped {
                    self.queues[thread.index()].clear();
                    break;
                }
                if !self.may_happen(at, triple) {
                    break;
                }
                self.queues[thread.index()].pop_front();
                self.happen(at, triple);
                moved = true;
                if at == triple.k {
                    return true;
                }
            }
            if self.queues[thread.index()].is_empty() {
                self.waiting.remove(index);
            } else {
                index += 1;
            }
            if moved {
                index = 0; // it may have left a lock that an earlier one waits for
            }
        }
        false
    }

    fn may_happen(&self, at: At, Triple { i, from, j, k }: Triple) -> bool {
        let too_early =
            (at == from && !self.world.has_happened(i)) || (at == k && !self.world.has_happened(j));
        !too_early && self.world.is_enabled(at)
    }

    fn happen(&mut self, at: At, triple: Triple) {
        let event = self.facts.history.event(at);
        let state = self.states[event.thread.index()];
        let unsure = match event.op {
            Op::Branch { count } => count > 0,
            Op::Read { var, .. } | Op::Write { var, .. } if self.knowledge.is_element(var) => true,
            _ => !self.knowledge.branches,
        };
        let heeds = self.facts.history.heeds(at);
        let unsure = unsure || self.tainted[event.thread.index()] < heeds;
        if state == State::Tainted && unsure {
            self.stop(event.thread, triple);
            return;
        }
        self.world.execute(at);
        match event.op {
            Op::Write { var, .. } => {
                self.memory.insert(var, LastWrite { at, tainted: state == State::Tainted });
            }
            Op::Read { var, .. } if !self.reads_the_same(at, var) => {
                if self.knowledge.steers(var) {
                    self.stop(event.thread, triple);
                } else {
                    self.taint(at, event.thread);
                }
            }
            _ => {}
        }
    }

    /// Whether a read that happens now returns what it returned.
    fn reads_the_same(&self, read: At, var: VarId) -> bool {
        let history = self.facts.history;
        let recorded = history.read_from(read);
        let source = match self.memory.get(&var) {
            Some(written) if written.tainted => return false,
            Some(written) => ReadFrom::Write(written.at),
            None => match history.writes(var).partition_point(|&write| write < self.cut) {
                0 => ReadFrom::Initial,
                count => ReadFrom::Write(history.writes(var)[count - 1]),
            },
        };
        if source == recorded {
            return true;
        }
        let value = match source {
            ReadFrom::Initial => history.initial(var),
            ReadFrom::Write(write) => history.event(write).value(),
        };
        value.is_some() && value == history.event(read).value()
    }
}
