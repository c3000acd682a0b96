//! The order that holds in every reordering: program order, forks, joins, notifications.
//!
//! Vector clocks (Fidge, Mattern), kept only where they change: an event has the clock of the last
//! fork target, join or resume of its thread.

use untorn_trace::{Op, ThreadId};

use crate::history::{At, History};
use crate::rows::{Row, Rows};

/// How much of every other thread comes before the events of a thread.
#[derive(Debug)]
pub struct Clocks {
    /// By thread: from which of its events on, and how many events of each thread come before. Before the first
    /// entry nothing does.
    changes: Vec<Vec<(u32, Row)>>,
    rows: Rows,
}

impl Clocks {
    pub(super) fn new(history: &History) -> Self {
        let threads = history.thread_count();
        let mut clocks = Self { changes: vec![Vec::new(); threads], rows: Rows::new(threads) };
        // Forks come before the events of the child, so one pass in order is enough.
        for at in history.all() {
            let event = history.event(at);
            match event.op {
                Op::Fork { child } if history.forked(child) == Some(at) => {
                    clocks.raise(child, 0, at, history);
                }
                Op::Join { child } if child.index() < threads => {
                    if let Some(&last) = history.of_thread(child).last().filter(|&&last| last < at)
                    {
                        clocks.raise(event.thread, history.nth(at), last, history);
                    }
                }
                Op::Resume { .. } => {
                    if let Some(cause) = history.cause(at) {
                        clocks.raise(event.thread, history.nth(at), cause, history);
                    }
                }
                _ => {}
            }
        }
        clocks
    }

    /// From one of its events on, a thread comes after an event and all before that.
    fn raise(&mut self, thread: ThreadId, from: u32, seen: At, history: &History) {
        if thread.index() >= self.changes.len() {
            return;
        }
        let told = self.row(seen, history);
        let told = self.rows.with(told, history.event(seen).thread, history.nth(seen) + 1);
        let list = &mut self.changes[thread.index()];
        let known = list.last().map_or(Row::default(), |&(_, row)| row);
        let joined = self.rows.join(known, told);
        match list.last_mut() {
            _ if joined == known => {}
            Some((start, last)) if *start == from => *last = joined,
            _ => list.push((from, joined)),
        }
    }

    fn row(&self, at: At, history: &History) -> Row {
        let list = &self.changes[history.event(at).thread.index()];
        let nth = history.nth(at);
        let place = list.partition_point(|&(from, _)| from <= nth);
        place.checked_sub(1).map_or(Row::default(), |last| list[last].1)
    }

    /// How many events of another thread come before the event in every reordering.
    #[inline]
    pub fn seen(&self, at: At, thread: ThreadId, history: &History) -> u32 {
        self.rows.get(self.row(at, history), thread)
    }

    /// Raises `prefix` to all that is at or before the event.
    pub fn join_into(&self, at: At, history: &History, prefix: &mut [u32]) {
        self.rows.join_into(self.row(at, history), prefix);
        let own = &mut prefix[history.event(at).thread.index()];
        *own = (*own).max(history.nth(at) + 1);
    }
}
