//! What must have happened before an event: vector clocks, kept where they change.
//!
//! An event of thread `t` knows how many events of every other thread it needs. That changes only
//! where the clock of `t` changes: at its start, at a join, at a notified return from a wait, at a read
//! that keeps its source. All events up to the next such place share a row.

use untorn_trace::{Op, ThreadId};

use super::Cut;
use crate::history::{At, History, ReadFrom};

#[derive(Debug, Default)]
pub(crate) struct Clocks {
    threads: usize,
    /// By thread: the position from which a row counts, and the row. Sorted.
    starts: Vec<Vec<(u32, u32)>>,
    /// Row after row, `threads` numbers each. A thread's number of itself is not kept.
    rows: Vec<u32>,
}

impl Clocks {
    /// `keeps` selects the reads that need their source.
    pub(crate) fn new(history: &History, keeps: impl Fn(At) -> bool) -> Self {
        let threads = history.thread_count();
        let mut clocks =
            Self { threads, starts: vec![Vec::new(); threads], rows: vec![0; threads] };
        let mut scratch = vec![0; threads];
        for at in history.all() {
            let event = history.event(at);
            let thread = event.thread;
            let mut learns = false;
            let mut learn = |clocks: &Self, from: At| {
                if !learns {
                    scratch.clear();
                    scratch.extend_from_slice(clocks.row(thread, history.nth(at)));
                }
                learns = true;
                clocks.join(history, &mut scratch, from);
            };
            if history.nth(at) == 0
                && let Some(fork) = history.forked(thread)
                && fork < at
            {
                learn(&clocks, fork);
            }
            match event.op {
                Op::Read { .. } => match history.read_from(at) {
                    ReadFrom::Write(write)
                        if history.event(write).thread != thread && keeps(at) =>
                    {
                        learn(&clocks, write);
                    }
                    _ => {}
                },
                Op::Join { child } => {
                    if let Some(&last) = history.of_thread(child).last()
                        && last < at
                    {
                        learn(&clocks, last);
                    }
                }
                Op::Resume { .. } => {
                    if let Some(cause) = history.cause(at) {
                        learn(&clocks, cause);
                    }
                }
                _ => {}
            }
            if learns {
                clocks.keep(thread, history.nth(at), &mut scratch);
            }
        }
        clocks
    }

    fn keep(&mut self, thread: ThreadId, nth: u32, row: &mut [u32]) {
        row[thread.index()] = 0;
        if *self.row(thread, nth) != *row {
            let number = (self.rows.len() / self.threads) as u32;
            self.rows.extend_from_slice(row);
            self.starts[thread.index()].push((nth, number));
        }
    }

    fn row(&self, thread: ThreadId, nth: u32) -> &[u32] {
        let list = &self.starts[thread.index()];
        // While a clock is built, mostly the last row is asked for.
        let row = match list.last() {
            None => 0,
            Some(&(start, row)) if start <= nth => row as usize,
            Some(_) => match list.partition_point(|&(start, _)| start <= nth) {
                0 => 0,
                n => list[n - 1].1 as usize,
            },
        };
        &self.rows[row * self.threads..(row + 1) * self.threads]
    }

    fn join(&self, history: &History, into: &mut [u32], at: At) {
        let thread = history.event(at).thread;
        let nth = history.nth(at);
        for (mine, theirs) in into.iter_mut().zip(self.row(thread, nth)) {
            *mine = (*mine).max(*theirs);
        }
        let own = &mut into[thread.index()];
        *own = (*own).max(nth + 1);
    }

    /// By thread: how many events an event needs of the other ones. Events with the same needs have the
    /// same slice.
    pub(crate) fn needed_by(&self, history: &History, at: At) -> &[u32] {
        self.row(history.event(at).thread, history.nth(at))
    }

    /// Whether `then` needs `first`, an event of another thread.
    pub(crate) fn precedes(&self, history: &History, first: At, then: At) -> bool {
        let row = self.row(history.event(then).thread, history.nth(then));
        history.nth(first) < row[history.event(first).thread.index()]
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
