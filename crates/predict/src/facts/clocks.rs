//! The order that holds in every plan: program order, forks, joins, notifications.
//!
//! Vector clocks (Fidge, Mattern), kept only where they change: an event has the clock of the last
//! fork target, join or resume of its thread.

use untorn_trace::{Op, ThreadId};

use crate::history::{At, History};

/// How much of every other thread comes before the events of a thread.
#[derive(Debug)]
pub struct Clocks {
    /// By thread: from which of its events on, and how many events of each thread come before.
    changes: Vec<Vec<(u32, Box<[u32]>)>>,
}

impl Clocks {
    pub(super) fn new(history: &History) -> Self {
        let mut clocks = Self { changes: vec![Vec::new(); history.thread_count()] };
        for thread in 0..history.thread_count() {
            clocks.start(history, ThreadId::from_index(thread));
        }
        // Forks come before the events of the child, so one pass in order is enough.
        for at in history.all() {
            let event = history.event(at);
            match event.op {
                Op::Fork { child } if history.forked(child) == Some(at) => {
                    let seen = clocks.all(at, history);
                    clocks.raise(child, 0, &seen, history);
                }
                Op::Join { child } if child.index() < history.thread_count() => {
                    if let Some(&last) = history.of_thread(child).last().filter(|&&last| last < at)
                    {
                        let seen = clocks.all(last, history);
                        clocks.raise(event.thread, history.nth(at), &seen, history);
                    }
                }
                Op::Resume { .. } => {
                    if let Some(cause) = history.cause(at) {
                        let seen = clocks.all(cause, history);
                        clocks.raise(event.thread, history.nth(at), &seen, history);
                    }
                }
                _ => {}
            }
        }
        clocks
    }

    fn start(&mut self, history: &History, thread: ThreadId) {
        let none = vec![0; history.thread_count()].into_boxed_slice();
        self.changes[thread.index()].push((0, none));
    }

    fn raise(&mut self, thread: ThreadId, from: u32, seen: &[u32], _history: &History) {
        let Some(list) = self.changes.get_mut(thread.index()) else { return };
        let Some((start, last)) = list.last_mut() else { return };
        if last.iter().zip(seen).all(|(old, new)| old >= new) {
            return;
        }
        let merged = last.iter().zip(seen).map(|(&old, &new)| old.max(new)).collect();
        if *start == from {
            *last = merged;
        } else {
            list.push((from, merged));
        }
    }

    fn row(&self, at: At, history: &History) -> &[u32] {
        let list = &self.changes[history.event(at).thread.index()];
        let nth = history.nth(at);
        let place = list.partition_point(|&(from, _)| from <= nth);
        &list[place - 1].1
    }

    /// How many events of another thread come before the event in every plan.
    #[inline]
    pub fn seen(&self, at: At, thread: ThreadId, history: &History) -> u32 {
        self.row(at, history)[thread.index()]
    }

    /// How many events of each thread are at or before the event in every plan.
    pub fn all(&self, at: At, history: &History) -> Vec<u32> {
        let mut seen = self.row(at, history).to_vec();
        seen[history.event(at).thread.index()] = history.nth(at) + 1;
        seen
    }

    /// Raises `prefix` to all that is at or before the event.
    pub fn join_into(&self, at: At, history: &History, prefix: &mut [u32]) {
        for (own, &seen) in prefix.iter_mut().zip(self.row(at, history)) {
            *own = (*own).max(seen);
        }
        let own = &mut prefix[history.event(at).thread.index()];
        *own = (*own).max(history.nth(at) + 1);
    }
}
