//! Eraser: is there a lock that protects all accesses of a variable?
//!
//! Savage, Burrows, Nelson, Sobalvarro and Anderson, *Eraser: a dynamic data race detector for
//! multithreaded programs*, TOCS 1997. Each variable is virgin, exclusive to its first thread, shared
//! (read by several) or shared-modified; from its second thread on, the set of its candidate locks
//! is intersected with the locks held at each access. A shared-modified variable without candidate
//! is reported, once.
//!
//! What we changed: read and write sides of read/write locks as in the paper's section 2.3; locksets
//! are interned and their intersections remembered; volatile and atomic accesses are
//! synchronisation themselves and are not judged; a wait gives up its monitor.
//!
//! Promise: none about the trace. A warning generalises to runs that were not seen and may be a
//! false alarm (hand-over by fork, join or flag); what one thread did alone, or what was
//! initialised before it was shared, is not warned about.

use std::ops::ControlFlow;

use untorn_trace::{Access, Event, EventIdx, Op, ThreadId, VarId};

use crate::Checker;
use crate::lockset::{Change, HeldLocks, LocksetId};
use crate::outcome::{Outcome, Step, Verdict, Warning};

/// The locking discipline of a trace so far: what Eraser and Atomizer both know.
#[derive(Debug, Default)]
pub(crate) struct Discipline {
    held: HeldLocks,
    vars: Vec<State>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Virgin,
    /// Touched by one thread only.
    Exclusive(ThreadId),
    /// Read by several threads since it was shared, protected by these locks.
    Shared(LocksetId),
    Modified(LocksetId),
}

/// The verdict of the locking discipline on an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    /// A lock protects the variable, or it needs none yet.
    Protected,
    /// No lock does, as just became clear.
    JustLost,
    Unprotected,
}

impl Discipline {
    /// Sees a lock operation; `None` if it is another one.
    pub(crate) fn lock_operation(&mut self, thread: ThreadId, op: Op) -> Option<Change> {
        self.held.apply(thread, op)
    }

    pub(crate) fn access(&mut self, thread: ThreadId, var: VarId, writes: bool) -> Guard {
        if self.vars.len() <= var.index() {
            self.vars.resize(var.index() + 1, State::Virgin);
        }
        let protecting = if writes {
            self.held.protecting_writes(thread)
        } else {
            self.held.protecting_reads(thread)
        };
        let before = self.vars[var.index()];
        let mut meet = |candidates| self.held.sets.intersect(candidates, protecting);
        let after = match before {
            State::Virgin => State::Exclusive(thread),
            State::Exclusive(owner) if owner == thread => before,
            // All locks were candidates until now.
            State::Exclusive(_) if writes => State::Modified(protecting),
            State::Exclusive(_) => State::Shared(protecting),
            State::Shared(candidates) if !writes => State::Shared(meet(candidates)),
            State::Shared(candidates) | State::Modified(candidates) => {
                State::Modified(meet(candidates))
            }
        };
        self.vars[var.index()] = after;
        match after {
            State::Modified(LocksetId::EMPTY) if before == after => Guard::Unprotected,
            State::Modified(LocksetId::EMPTY) => Guard::JustLost,
            _ => Guard::Protected,
        }
    }
}

/// The checker: see the head of this file.
#[derive(Debug, Default)]
pub struct Eraser {
    discipline: Discipline,
    warnings: Vec<Warning>,
}

impl Eraser {
    pub fn new() -> Self {
        Self::default()
    }

    fn event(&mut self, at: EventIdx, event: &Event) {
        let (var, access, writes) = match event.op {
            Op::Read { var, access, .. } => (var, access, false),
            Op::Write { var, access, .. } => (var, access, true),
            op => {
                self.discipline.lock_operation(event.thread, op);
                return;
            }
        };
        if access == Access::Plain
            && self.discipline.access(event.thread, var, writes) == Guard::JustLost
        {
            let at = Step { at, event: *event };
            self.warnings.push(Warning::Unprotected { var, at });
        }
    }
}

impl Checker for Eraser {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        for (offset, event) in batch.iter().enumerate() {
            self.event(EventIdx(first.0 + offset as u64), event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) -> Outcome {
        let warnings = std::mem::take(&mut self.warnings);
        Outcome { warnings, ..Outcome::of(Verdict::Undecided) }
    }
}
