//! What must have happened before an event: vector clocks, kept where they change.
//!
//! An event of thread `t` knows how many events of every other thread it needs. That changes only
//! where the clock of `t` changes: at its start, at a join, at a notified return from a wait, at a read
//! that keeps its source. All events up to the next such place share a row.

use untorn_trace::{Op, ThreadId};

use super::Cut;
use crate::history::{At, History, ReadFrom};
use crate::rows::{Row, Rows};

#[derive(Debug)]
pub(crate) struct Clocks {
    /// By thread: the position from which a row counts, and the row. Sorted.
    starts: Vec<Vec<(u32, Row)>>,
    /// A thread's number of itself is not kept.
    rows: Rows,
}

impl Clocks {
    /// `keeps` selects the reads that need their source.
    pub(crate) fn new(history: &History, keeps: impl Fn(At) -> bool) -> Self {
        let threads = history.thread_count();
        let mut clocks = Self { starts: vec![Vec::new(); threads], rows: Rows::new(threads) };
        for at in history.all() {
            let event = history.event(at);
            let thread = event.thread;
            let forked = history.forked(thread).filter(|&fork| history.nth(at) == 0 && fork < at);
            let source = match event.op {
                Op::Read { .. } => match history.read_from(at) {
                    ReadFrom::Write(write) => {
                        Some(write).filter(|&w| history.event(w).thread != thread && keeps(at))
                    }
                    ReadFrom::Initial => None,
                },
                Op::Join { child } => {
                    history.of_thread(child).last().copied().filter(|&last| last < at)
                }
                Op::Resume { .. } => history.cause(at),
                _ => None,
            };
            for from in forked.into_iter().chain(source) {
                clocks.learn(history, at, from);
            }
        }
        clocks
    }

    /// An event, and all after it of its thread, need another event and what that needs.
    fn learn(&mut self, history: &History, at: At, from: At) {
        let (thread, nth) = (history.event(at).thread, history.nth(at));
        let (other, count) = (history.event(from).thread, history.nth(from) + 1);
        let known = self.row(thread, nth);
        let told = self.row(other, history.nth(from));
        let told = match self.rows.get(told, other) >= count {
            true => told,
            false => self.rows.with(told, other, count),
        };
        let joined = self.rows.join(known, told);
        let joined = self.rows.with(joined, thread, 0);
        if joined != known {
            let list = &mut self.starts[thread.index()];
            match list.last_mut() {
                Some((start, row)) if *start == nth => *row = joined,
                _ => list.push((nth, joined)),
            }
        }
    }

    fn row(&self, thread: ThreadId, nth: u32) -> Row {
        let list = &self.starts[thread.index()];
        // While a clock is built, mostly the last row is asked for.
        match list.last() {
            None => Row::default(),
            Some(&(start, row)) if start <= nth => row,
            Some(_) => match list.partition_point(|&(start, _)| start <= nth) {
                0 => Row::default(),
                n => list[n - 1].1,
            },
        }
    }

    fn join(&self, history: &History, into: &mut [u32], at: At) {
        let thread = history.event(at).thread;
        let nth = history.nth(at);
        self.rows.join_into(self.row(thread, nth), into);
        let own = &mut into[thread.index()];
        *own = (*own).max(nth + 1);
    }

    /// How many events of each other thread an event needs. Events with the same needs mostly have the same row.
    pub(crate) fn needed_by(&self, history: &History, at: At) -> Row {
        self.row(history.event(at).thread, history.nth(at))
    }

    /// How many events of a thread a row has.
    pub(crate) fn count(&self, row: Row, thread: ThreadId) -> u32 {
        self.rows.get(row, thread)
    }

    /// Whether `then` needs `first`, an event of another thread.
    pub(crate) fn precedes(&self, history: &History, first: At, then: At) -> bool {
        let row = self.row(history.event(then).thread, history.nth(then));
        history.nth(first) < self.rows.get(row, history.event(first).thread)
    }

    /// Adds to a cut that is closed an event and what it needs. Returns whether anything was new.
    pub(crate) fn add(&self, history: &History, cut: &mut Cut, at: At) -> bool {
        let new = history.nth(at) >= cut[history.event(at).thread.index()];
        if new {
            self.join(history, cut, at);
        }
        new
    }

    /// Adds what an event needs before it; of a read, not its source.
    pub(crate) fn add_past(&self, history: &History, cut: &mut Cut, at: At) {
        if let Some(previous) = history.previous(at) {
            self.add(history, cut, previous);
        } else if let Some(fork) = history.forked(history.event(at).thread) {
            self.add(history, cut, fork);
        }
        if !matches!(history.event(at).op, Op::Read { .. }) {
            let (thread, nth) = (history.event(at).thread, history.nth(at));
            let own = cut[thread.index()];
            self.join(history, cut, at);
            cut[thread.index()] = own.max(nth);
        }
    }
}
