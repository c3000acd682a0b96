//! The context of a cycle: a checker gives the operations that make it, a reader also wants to
//! see where the blocks end, which blocks are nested in them, and which other events touched the same
//! variables. A further reading of the trace finds that out; it keeps a few rows for each finding.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use untorn_trace::{Event, EventIdx, LockId, Op, ThreadId, VarId};

use crate::{Block, EdgeKind, Step, Violation};

/// Operations kept around one cycle; more would not be a picture any more.
const MAX_AROUND: usize = 16;

/// What was found around one violation.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// For each transaction of the cycle, the blocks that contain one of its operations.
    pub blocks: Vec<Vec<Extent>>,
    /// Other operations of the cycle's transactions on the same variables and locks, with the index
    /// of their transaction.
    pub around: Vec<(usize, Step)>,
}

/// A block with its end.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub block: Block,
    pub end: Option<EventIdx>,
    pub depth: u32,
}

/// Gathers the context of all violations of a trace in one reading.
#[derive(Debug)]
pub struct Gatherer {
    contexts: Vec<Context>,
    targets: Vec<Targets>,
    /// The operations of all cycles, by position, the next one last.
    steps: Vec<(EventIdx, usize, usize)>,
    /// Transactions of cycles by the position of their begin: violation and index.
    begins: HashMap<EventIdx, Vec<(usize, usize)>>,
    threads: BTreeMap<ThreadId, Thread>,
    /// Recorded blocks that are still open.
    open: usize,
}

#[derive(Debug, Default)]
struct Targets {
    vars: Vec<VarId>,
    locks: Vec<LockId>,
}

#[derive(Debug, Default)]
struct Thread {
    stack: Vec<OpenBlock>,
    /// The cycles in which the open transaction takes part: violation and index.
    watched: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct OpenBlock {
    block: Block,
    /// Where the block was recorded: violation, transaction, and place in its list.
    recorded: Vec<(usize, usize, usize)>,
}

impl Gatherer {
    pub fn new(violations: &[Violation]) -> Self {
        let mut gatherer = Self {
            contexts: Vec::new(),
            targets: Vec::new(),
            steps: Vec::new(),
            begins: HashMap::new(),
            threads: BTreeMap::new(),
            open: 0,
        };
        for (v, violation) in violations.iter().enumerate() {
            let transactions = &violation.cycle.transactions;
            gatherer
                .contexts
                .push(Context { blocks: vec![Vec::new(); transactions.len()], around: Vec::new() });
            for (t, transaction) in transactions.iter().enumerate() {
                if let Some(block) = transaction.block {
                    gatherer.begins.entry(block.begin).or_default().push((v, t));
                }
            }
            let mut targets = Targets::default();
            for (t, edge) in violation.cycle.edges.iter().enumerate() {
                gatherer.steps.push((edge.from.at, v, t));
                gatherer.steps.push((edge.to.at, v, (t + 1) % transactions.len()));
                match edge.why {
                    EdgeKind::Variable(var) => targets.vars.push(var),
                    EdgeKind::Lock(lock) => targets.locks.push(lock),
                    EdgeKind::Fork | EdgeKind::Join | EdgeKind::ProgramOrder => {}
                }
            }
            gatherer.targets.push(targets);
        }
        gatherer.steps.sort_by_key(|&(at, ..)| std::cmp::Reverse(at));
        gatherer
    }

    /// Sees the next events; breaks when nothing more can be learned.
    pub fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        for (i, event) in batch.iter().enumerate() {
            self.event(EventIdx(first.0 + i as u64), event);
        }
        if self.steps.is_empty() && self.open == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The contexts, in the order of the violations.
    pub fn finish(mut self) -> Vec<Context> {
        for context in &mut self.contexts {
            for blocks in &mut context.blocks {
                blocks.sort_by_key(|extent| extent.block.begin);
            }
        }
        self.contexts
    }

    fn event(&mut self, at: EventIdx, event: &Event) {
        let thread = self.threads.entry(event.thread).or_default();
        if let Op::Begin { label, .. } = event.op {
            if thread.stack.is_empty() {
                thread.watched = self.begins.remove(&at).unwrap_or_default();
            }
            let block = Block { label, site: event.site, begin: at };
            thread.stack.push(OpenBlock { block, recorded: Vec::new() });
        }
        while let Some(&(_, violation, transaction)) = self.steps.last().filter(|step| step.0 == at)
        {
            self.steps.pop();
            self.record(event.thread, violation, transaction);
        }
        self.look_around(at, event);
        if let Op::End { .. } = event.op {
            self.end(at, event.thread);
        }
    }

    /// The open blocks of the thread contain an operation of the cycle.
    fn record(&mut self, thread: ThreadId, violation: usize, transaction: usize) {
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        let blocks = &mut self.contexts[violation].blocks[transaction];
        for (depth, open) in thread.stack.iter_mut().enumerate() {
            if open.recorded.iter().any(|&(v, t, _)| (v, t) == (violation, transaction)) {
                continue;
            }
            if open.recorded.is_empty() {
                self.open += 1;
            }
            open.recorded.push((violation, transaction, blocks.len()));
            let depth = u32::try_from(depth).unwrap_or(u32::MAX);
            blocks.push(Extent { block: open.block, end: None, depth });
        }
    }

    fn look_around(&mut self, at: EventIdx, event: &Event) {
        let Some(thread) = self.threads.get(&event.thread) else { return };
        for &(violation, transaction) in &thread.watched {
            let context = &mut self.contexts[violation];
            if context.around.len() < MAX_AROUND && self.targets[violation].has(event.op) {
                context.around.push((transaction, Step { at, event: *event }));
            }
        }
    }

    fn end(&mut self, at: EventIdx, thread: ThreadId) {
        let Some(thread) = self.threads.get_mut(&thread) else { return };
        let Some(open) = thread.stack.pop() else { return };
        if !open.recorded.is_empty() {
            self.open -= 1;
        }
        for (violation, transaction, place) in open.recorded {
            self.contexts[violation].blocks[transaction][place].end = Some(at);
        }
        if thread.stack.is_empty() {
            thread.watched.clear();
        }
    }
}

impl Targets {
    fn has(&self, op: Op) -> bool {
        match op {
            Op::Read { var, .. } | Op::Write { var, .. } => self.vars.contains(&var),
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Wait { lock }
            | Op::Resume { lock } => self.locks.contains(&lock),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use untorn_testkit::script;

    use super::*;
    use crate::velodrome::Velodrome;
    use crate::{Checker, Outcome};

    fn violations(events: &[Event]) -> Vec<Violation> {
        let mut checker = Velodrome::new();
        let _ = checker.events(EventIdx(0), events);
        let Outcome { violations, .. } = checker.finish();
        violations
    }

    fn gather(text: &str) -> (Vec<Violation>, Vec<Context>) {
        let events = script(text).events;
        let violations = violations(&events);
        let mut gatherer = Gatherer::new(&violations);
        // One event a batch: nothing may depend on how the trace is cut.
        for (i, event) in events.iter().enumerate() {
            let _ = gatherer.events(EventIdx(i as u64), std::slice::from_ref(event));
        }
        (violations, gatherer.finish())
    }

    #[test]
    fn nested_blocks_and_their_ends_are_found() {
        let (violations, contexts) = gather(
            "A begin p; A begin q; A r(x); A begin r; B w(x); A w(x); A end r; A end q; A end p",
        );
        assert_eq!(violations.len(), 1);
        let blocks = &contexts[0].blocks[0];
        let shape: Vec<_> =
            blocks.iter().map(|e| (e.block.begin.0, e.end.map(|end| end.0), e.depth)).collect();
        assert_eq!(shape, [(0, Some(8), 0), (1, Some(7), 1), (3, Some(6), 2)]);
        assert!(contexts[0].blocks[1].is_empty(), "the write of B is outside of every block");
    }

    #[test]
    fn accesses_of_the_same_variable_are_kept() {
        let (_, contexts) = gather(
            "A begin f; A r(x); B begin f; B r(x); B r(z); B w(x); B end f; A w(x); A end f",
        );
        let around: Vec<_> = contexts[0].around.iter().map(|(t, step)| (*t, step.at.0)).collect();
        assert_eq!(around, [(0, 1), (1, 3), (1, 5), (0, 7)]);
    }

    #[test]
    fn a_block_without_an_end_stays_open() {
        let (_, contexts) = gather("A begin f; A r(x); B w(x); A w(x)");
        assert_eq!(contexts[0].blocks[0][0].end, None);
    }

    #[test]
    fn the_reading_ends_when_nothing_is_left() {
        let events = script("A begin f; A r(x); B w(x); A w(x); A end f; A w(x); B w(x)").events;
        let mut gatherer = Gatherer::new(&violations(&events));
        assert!(gatherer.events(EventIdx(0), &events[..4]).is_continue());
        assert!(gatherer.events(EventIdx(4), &events[4..5]).is_break());
    }
}
