//! Open-ancestor sets: the exact verdict and the exact first violating event, at memory speed.
//!
//! **Paper:** none; the problem is Velodrome's (Flanagan, Freund, Yi, PLDI 2008).
//!
//! **Idea.** Only a transaction that is still *open* can close a cycle, so all that matters about a
//! transaction is which open ones reach it: its *open ancestors*. Transactions of one thread are
//! ordered, so what an open transaction `u` reaches in thread `T` is everything from some
//! transaction of `T` on. One number represents all of it:
//!
//! > `first[T][u]` = the first transaction of thread `T` that `u` reaches;
//! > `u` is an ancestor of the `k`-th transaction of `T` iff `first[T][u] ≤ k`.
//!
//! A variable remembers the transactions that accessed it last as pairs `(T, k)`. These never go
//! stale: nothing has to be rewritten when a transaction ends, collected or merged. The end of `u`
//! drops the column `u`; a pair that no open transaction reaches any more is dead by itself.
//!
//! * An edge from `(T, k)` into the open transaction of `t` closes a cycle iff `first[T][t] ≤ k`.
//! * Otherwise `t` inherits every open ancestor of `(T, k)`, and so does all that `t` reaches.
//! * An operation outside of every block is a transaction that is finished at once. It has only
//!   incoming edges, so it cannot close a cycle.
//! * A fork is an edge into the child's next transaction, a join an edge from its last one.
//!
//! Columns are given to open transactions, not to threads: a program with ten thousand threads of
//! which twenty are inside a block at a time needs twenty. Rows widen by themselves.
//!
//! **Promise:** the verdict and the first violating event are those of the definition in
//! [`crate`]; never misses, never invents. It gives no cycle: [`crate::velodrome`] explains.

mod columns;
mod core;
mod location;
mod reader_lists;

use std::ops::ControlFlow;

use untorn_trace::{Event, EventIdx};

use self::core::{Core, Stop};
use crate::{Checker, Outcome, Verdict};

/// Ways to get it wrong, for the tests that show that such errors would be found. Compiled away.
#[doc(hidden)]
pub mod fault {
    pub const NONE: u8 = 0;
    pub const MERGE_OUTSIDE_INTO_OPEN: u8 = 1;
    pub const OUTSIDE_NOT_SEPARATED: u8 = 2;
    pub const IGNORE_FOREIGN_READ: u8 = 3;
    pub const INNER_END_CLOSES: u8 = 4;
    pub const STALE_COLUMN: u8 = 5;
    pub const NO_GROWTH_TO_FINISHED: u8 = 6;
    pub const NO_GROWTH_TO_OPEN: u8 = 7;
}

/// The default fast path; see the [module](self).
pub type Fast = OpenAncestors<{ fault::NONE }>;

#[derive(Debug)]
pub struct OpenAncestors<const FAULT: u8> {
    /// One of four widths; moves on to the next when more blocks are open at once than it holds.
    width: Width<FAULT>,
    verdict: Verdict,
}

#[derive(Debug)]
enum Width<const F: u8> {
    Columns64(Core<1, F>),
    Columns256(Core<4, F>),
    Columns1024(Core<16, F>),
    Columns4096(Core<64, F>),
}

impl<const F: u8> Default for OpenAncestors<F> {
    fn default() -> Self {
        Self { width: Width::Columns64(Core::default()), verdict: Verdict::Serializable }
    }
}

impl<const F: u8> OpenAncestors<F> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves to the next width; `false` if there is none.
    fn widen(&mut self) -> bool {
        self.width = match &mut self.width {
            Width::Columns64(core) => Width::Columns256(core.widen()),
            Width::Columns256(core) => Width::Columns1024(core.widen()),
            Width::Columns1024(core) => Width::Columns4096(core.widen()),
            Width::Columns4096(_) => return false,
        };
        true
    }
}

impl<const F: u8> Checker for OpenAncestors<F> {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        let mut done = 0;
        loop {
            let rest = &batch[done..];
            let (seen, stop) = match &mut self.width {
                Width::Columns64(core) => core.run(rest),
                Width::Columns256(core) => core.run(rest),
                Width::Columns1024(core) => core.run(rest),
                Width::Columns4096(core) => core.run(rest),
            };
            done += seen;
            match stop {
                Ok(()) => return ControlFlow::Continue(()),
                Err(Stop::Cycle) => {
                    let at = EventIdx(first.0 + done as u64);
                    self.verdict = Verdict::NotSerializable { at, thread: batch[done].thread };
                    return ControlFlow::Break(());
                }
                Err(Stop::Full) => {
                    if !self.widen() {
                        self.verdict = Verdict::Undecided;
                        return ControlFlow::Break(());
                    }
                }
            }
        }
    }

    fn finish(&mut self) -> Outcome {
        Outcome::of(self.verdict)
    }
}
