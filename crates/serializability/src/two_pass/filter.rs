//! The first pass: finds edges by last accesses and lets [`Groups`] grow.

use std::ops::ControlFlow;

use smallvec::SmallVec;
use untorn_trace::{Event, EventIdx, Hold, Op, ThreadId};

use super::groups::{Groups, Moves, NodeId};
use super::{Cause, Code, Suspects};
use crate::{Checker, Outcome, Verdict};

/// The cheap pass: see the head of [`super`]. Its outcome is `Serializable` if nothing is
/// suspicious, else `Undecided`.
#[derive(Debug, Default)]
pub struct SccFilter {
    groups: Groups,
    threads: Vec<Thread>,
    vars: Vec<Touches>,
    locks: Vec<Touches>,
    suspects: Option<Suspects>,
}

#[derive(Debug, Default)]
struct Thread {
    depth: u32,
    /// The open block's transaction.
    current: Option<NodeId>,
    /// The transaction before it, if its group is alive.
    previous: Option<NodeId>,
    /// The transaction that forked the thread, until its first operation.
    birth: Option<NodeId>,
}

/// The last accesses of a variable or a lock, unless their group was dead by then.
#[derive(Debug, Default)]
struct Touches {
    writer: Option<NodeId>,
    /// Since that write.
    readers: SmallVec<[NodeId; 4]>,
}

impl SccFilter {
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found suspicious; complete after [`Checker::finish`].
    pub fn suspects(&mut self) -> Suspects {
        self.suspects.take().unwrap_or_else(|| self.groups.suspects())
    }

    fn event(&mut self, event: &Event) {
        let thread = event.thread;
        self.admit(thread);
        let state = &mut self.threads[thread.index()];
        match event.op {
            Op::Begin { label, .. } => {
                state.depth += 1;
                if state.depth == 1 {
                    let node = self.begin(thread, Code::of_block(label, event.site));
                    self.threads[thread.index()].current = Some(node);
                }
            }
            Op::End { .. } if state.depth == 0 => {} // Ends nothing: no operation.
            Op::End { .. } => {
                state.depth -= 1;
                if state.depth == 0
                    && let Some(node) = state.current.take()
                {
                    state.previous = self.groups.close(node);
                }
            }
            op => match state.current {
                Some(node) => self.operation(thread, node, op),
                None => self.outside(thread, op),
            },
        }
    }

    fn admit(&mut self, thread: ThreadId) {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
    }

    /// Opens a transaction with its edges by program order and by fork.
    fn begin(&mut self, thread: ThreadId, code: Code) -> NodeId {
        if self.groups.is_compaction_due(self.vars.len() + self.locks.len()) {
            self.compact();
        }
        let node = self.groups.open(code);
        let state = &mut self.threads[thread.index()];
        if let Some(previous) = state.previous.take() {
            self.groups.edge(previous, node, None);
        }
        if let Some(birth) = state.birth.take() {
            self.groups.edge(birth, node, Some(Cause::Child(thread)));
        }
        node
    }

    /// An operation that is a transaction by itself.
    fn outside(&mut self, thread: ThreadId, op: Op) {
        let node = self.begin(thread, Code::Outside(thread));
        self.operation(thread, node, op);
        let alive = self.groups.close(node);
        self.threads[thread.index()].previous = alive;
        if alive.is_none() {
            self.forget(node, op);
            self.groups.discard(node);
        }
    }

    /// The transaction `node`, which did nothing but `op`, can be in no cycle.
    fn forget(&mut self, node: NodeId, op: Op) {
        if let Op::Fork { child } = op {
            self.threads[child.index()].birth = None;
        } else if let Some((cause, _)) = touched(op) {
            let touches = self.touches(cause);
            touches.readers.retain(|reader| *reader != node);
            touches.writer = touches.writer.filter(|writer| *writer != node);
        }
    }

    fn operation(&mut self, thread: ThreadId, node: NodeId, op: Op) {
        match op {
            Op::Fork { child } if child != thread => {
                self.admit(child);
                self.threads[child.index()].birth = Some(node);
            }
            Op::Join { child } if child != thread => {
                self.admit(child);
                let Thread { current, previous, .. } = self.threads[child.index()];
                if let Some(last) = current.or(previous) {
                    self.groups.edge(last, node, Some(Cause::Child(child)));
                }
            }
            _ => {
                if let Some((cause, writes)) = touched(op) {
                    self.touch(node, cause, writes);
                }
            }
        }
    }

    fn touches(&mut self, cause: Cause) -> &mut Touches {
        let (list, index) = match cause {
            Cause::Var(var) => (&mut self.vars, var.index()),
            Cause::Lock(lock) => (&mut self.locks, lock.index()),
            Cause::Child(_) => unreachable!("a child is not touched"),
        };
        if list.len() <= index {
            list.resize_with(index + 1, Touches::default);
        }
        &mut list[index]
    }

    fn touch(&mut self, node: NodeId, cause: Cause, writes: bool) {
        let touches = self.touches(cause);
        let writer = touches.writer;
        if writes {
            touches.writer = Some(node);
            let readers = std::mem::take(&mut touches.readers);
            for &reader in &readers {
                self.groups.edge(reader, node, Some(cause));
            }
        } else if writer == Some(node) || touches.readers.contains(&node) {
            return; // No write since then: the same edges as before.
        } else {
            if touches.readers.len() >= 4 && touches.readers.len().is_power_of_two() {
                let mut readers = std::mem::take(&mut touches.readers);
                self.thin_out(&mut readers);
                self.touches(cause).readers = readers;
            }
            self.touches(cause).readers.push(node);
        }
        if let Some(writer) = writer
            && !self.groups.edge(writer, node, Some(cause))
            && !writes
        {
            self.touches(cause).writer = None;
        }
    }

    /// Drops readers of dead groups, and all but one of a group's finished ones.
    fn thin_out(&mut self, readers: &mut SmallVec<[NodeId; 4]>) {
        let mut seen: SmallVec<[NodeId; 8]> = SmallVec::new();
        readers.retain(|reader| {
            if self.groups.is_open(*reader) {
                return true;
            }
            let root = self.groups.root(*reader);
            let keep = self.groups.is_alive(root) && !seen.contains(&root);
            seen.push(root);
            keep
        });
    }

    fn compact(&mut self) {
        let moves = self.groups.compact();
        for thread in &mut self.threads {
            moves.apply(&mut thread.current);
            moves.apply(&mut thread.previous);
            moves.apply(&mut thread.birth);
        }
        for touches in self.vars.iter_mut().chain(&mut self.locks) {
            touches.compact(&moves);
        }
    }
}

impl Touches {
    fn compact(&mut self, moves: &Moves) {
        moves.apply(&mut self.writer);
        let mut kept: SmallVec<[NodeId; 4]> = SmallVec::new();
        for reader in self.readers.iter().filter_map(|reader| moves.of(*reader)) {
            if !kept.contains(&reader) {
                kept.push(reader);
            }
        }
        self.readers = kept;
    }
}

/// The place an operation touches, and whether it changes it.
fn touched(op: Op) -> Option<(Cause, bool)> {
    match op {
        Op::Read { var, .. } => Some((Cause::Var(var), false)),
        Op::Write { var, .. } => Some((Cause::Var(var), true)),
        Op::Acquire { lock, hold } | Op::Release { lock, hold } => {
            Some((Cause::Lock(lock), hold == Hold::Exclusive))
        }
        Op::Wait { lock } | Op::Resume { lock } => Some((Cause::Lock(lock), true)),
        _ => None,
    }
}

impl Checker for SccFilter {
    fn events(&mut self, _first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        for event in batch.iter().filter(|event| event.op.is_conflicting()) {
            self.event(event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) -> Outcome {
        let suspects = self.groups.suspects();
        let acquitted = suspects.is_empty();
        self.suspects = Some(suspects);
        Outcome::of(if acquitted { Verdict::Serializable } else { Verdict::Undecided })
    }
}

#[cfg(test)]
mod tests {
    use untorn_testkit::{
        Knobs, Shape, ShapeSource, ShapeSpec, Tear, cases, first_violation, for_random_traces,
        for_rings,
    };

    use super::*;
    use crate::aerodrome::AeroDrome;
    use crate::two_pass::Filtered;

    /// A filter that compacts whenever it can: small traces never would.
    fn eager() -> SccFilter {
        let mut filter = SccFilter::new();
        filter.groups.min_compaction = 0;
        filter
    }

    fn agrees_when_compacting(events: &[Event]) -> Result<(), String> {
        let mut filter = eager();
        let _ = filter.events(EventIdx(0), events);
        filter.finish();
        let mut second = Filtered::new(AeroDrome::new(), filter.suspects());
        let _ = second.events(EventIdx(0), events);
        let (found, expected) = (second.finish().verdict, first_violation(events));
        if found.is_violation() == expected.is_some() {
            Ok(())
        } else {
            Err(format!("{found:?}, the oracle says {expected:?}"))
        }
    }

    #[test]
    fn compaction_loses_nothing() {
        for_random_traces(&Knobs::small(), 0..cases(200_000, 4_000_000), agrees_when_compacting);
        for_random_traces(&Knobs::medium(), 0..2_000, agrees_when_compacting);
        for_rings(0..cases(300_000, 6_000_000), agrees_when_compacting);
    }

    /// Not even a transaction on which everything depends makes the first pass keep the trace.
    #[test]
    fn memory_does_not_grow_with_the_trace() {
        for shape in [Shape::Mix, Shape::Hold, Shape::Pipe] {
            let spec = ShapeSpec { tear: Tear::At(1000), ..ShapeSpec::new(shape, 300_000) };
            let mut filter = SccFilter::new();
            for event in ShapeSource::new(spec).expect("sound") {
                let _ = filter.events(EventIdx(0), &[event]);
            }
            let (nodes, log) = filter.groups.sizes();
            assert!(nodes < 10_000 && log < 20_000, "{shape:?}: {nodes} nodes, log of {log}");
        }
    }
}
