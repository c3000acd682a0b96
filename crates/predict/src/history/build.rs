//! One pass over the events.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use untorn_trace::{Event, Hold, LockId, Op, Tables, ThreadId, VarFacts, VarId};

use super::blocks::OpenBlocks;
use super::{At, History, NO_SECTION, Section, Whole};
use crate::projection::Projected;

/// Why a trace cannot be made ready.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("{0} events are more than prediction holds in memory (4 billion)")]
    TooLong(usize),
}

/// One hold of one lock by one thread.
#[derive(Clone, Copy, Debug)]
struct Held {
    section: u32,
    depth: u32,
}

#[derive(Debug, Default)]
struct Builder {
    history: History,
    /// By variable: as `History::link`.
    last_write: Vec<u32>,
    /// By side: a thread that holds a lock shared and takes it exclusively as well is in two sections.
    held: FxHashMap<(ThreadId, LockId, Hold), Held>,
    /// How deep a waiting thread will hold the monitor again.
    before_wait: FxHashMap<(ThreadId, LockId), u32>,
    /// By lock, in order of arrival: threads that wait and have not been notified.
    waiting: FxHashMap<LockId, VecDeque<ThreadId>>,
    notified: FxHashMap<(ThreadId, LockId), At>,
    open: OpenBlocks,
}

impl History {
    /// Makes a well-formed trace ready; of others, what makes no sense is passed over.
    ///
    /// A read reads from the last write before it, whatever the values are. A notification wakes
    /// the thread that has waited longest.
    pub fn new(events: Vec<Event>, tables: &Tables) -> Result<Self, HistoryError> {
        Self::of(events, None, tables)
    }

    /// The same of a projection.
    pub fn of_projection(projected: Projected, tables: &Tables) -> Result<Self, HistoryError> {
        Self::of(projected.events, Some(projected.whole), tables)
    }

    fn of(events: Vec<Event>, whole: Option<Whole>, tables: &Tables) -> Result<Self, HistoryError> {
        if u32::try_from(events.len()).is_err() {
            return Err(HistoryError::TooLong(events.len()));
        }
        let facts = tables.all_var_facts();
        let mut builder = Builder::default();
        builder.history.initial = facts.iter().map(VarFacts::initial).collect();
        builder.history.nth.reserve_exact(events.len());
        builder.history.block.reserve_exact(events.len());
        builder.history.section_at.reserve_exact(events.len());
        builder.history.link.reserve_exact(events.len());
        for (index, event) in events.iter().enumerate() {
            builder.event(At(index as u32), event);
        }
        builder.history.events = events;
        builder.history.whole = whole;
        Ok(builder.history)
    }
}

impl Builder {
    fn event(&mut self, at: At, event: &Event) {
        let history = &mut self.history;
        grow(&mut history.threads, event.thread.index());
        history.nth.push(history.threads[event.thread.index()].len() as u32);
        history.threads[event.thread.index()].push(at);
        history.section_at.push(NO_SECTION);
        history.link.push(0);
        let block = self.open.event(&mut history.blocks, at, event);
        history.block.push(block);
        self.operation(at, event);
    }

    fn operation(&mut self, at: At, event: &Event) {
        let thread = event.thread;
        match event.op {
            Op::Read { var, .. } => {
                self.know(var);
                self.history.reads[var.index()].push(at);
                self.history.link[at.index()] = self.last_write[var.index()];
            }
            Op::Write { var, .. } => {
                self.know(var);
                self.history.writes[var.index()].push(at);
                self.last_write[var.index()] = at.0 + 1;
            }
            Op::Acquire { lock, hold } => self.enter(at, thread, lock, hold, 1),
            Op::Release { lock, hold } => {
                if let Some(held) = self.held.get_mut(&(thread, lock, hold)) {
                    held.depth -= 1;
                    if held.depth == 0 {
                        self.leave(at, thread, lock, hold);
                    }
                }
            }
            Op::Wait { lock } => {
                if let Some(held) = self.held.get(&(thread, lock, Hold::Exclusive)) {
                    self.before_wait.insert((thread, lock), held.depth);
                    self.leave(at, thread, lock, Hold::Exclusive);
                }
                self.waiting.entry(lock).or_default().push_back(thread);
            }
            Op::Resume { lock } => self.resume(at, thread, lock),
            Op::Notify { lock, all } => self.notify(at, lock, all),
            Op::Fork { child } => {
                grow(&mut self.history.forked, child.index());
                self.history.forked[child.index()].get_or_insert(at);
            }
            Op::Join { child } => {
                grow(&mut self.history.joined, child.index());
                self.history.joined[child.index()].push(at);
            }
            _ => {}
        }
    }

    fn know(&mut self, var: VarId) {
        grow(&mut self.history.reads, var.index());
        grow(&mut self.history.writes, var.index());
        grow(&mut self.last_write, var.index());
    }

    fn enter(&mut self, at: At, thread: ThreadId, lock: LockId, hold: Hold, depth: u32) {
        if let Some(held) = self.held.get_mut(&(thread, lock, hold)) {
            held.depth += depth;
            return;
        }
        let section = self.history.sections.len() as u32;
        let shared = hold == Hold::Shared;
        self.history.sections.push(Section { lock, thread, shared, enter: at, leave: None });
        self.history.section_at[at.index()] = section;
        self.held.insert((thread, lock, hold), Held { section, depth });
    }

    fn leave(&mut self, at: At, thread: ThreadId, lock: LockId, hold: Hold) {
        let Some(held) = self.held.remove(&(thread, lock, hold)) else { return };
        self.history.sections[held.section as usize].leave = Some(at);
        self.history.section_at[at.index()] = held.section;
    }

    fn notify(&mut self, at: At, lock: LockId, all: bool) {
        let waiting = self.waiting.entry(lock).or_default();
        let woken = if all { waiting.len() } else { waiting.len().min(1) };
        for thread in waiting.drain(..woken) {
            self.notified.insert((thread, lock), at);
        }
    }

    fn resume(&mut self, at: At, thread: ThreadId, lock: LockId) {
        match self.notified.remove(&(thread, lock)) {
            Some(notify) => self.history.link[at.index()] = notify.0 + 1,
            None => self.waiting.entry(lock).or_default().retain(|&waiter| waiter != thread),
        }
        let depth = self.before_wait.remove(&(thread, lock)).unwrap_or(1);
        self.enter(at, thread, lock, Hold::Exclusive, depth);
    }
}

fn grow<T: Default + Clone>(list: &mut Vec<T>, index: usize) {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
}
