//! Atomizer: can a block be reduced to one step?
//!
//! Flanagan and Freund, *Atomizer: a dynamic atomicity checker for multithreaded programs*, POPL
//! 2004, as described in *Velodrome*, PLDI 2008. By Lipton's theorem a block is atomic if it consists of
//! right movers, then at most one non-mover, then left movers. Taking a lock is a right mover, giving
//! it back a left mover; an access protected by a lock (by [`crate::eraser`]'s discipline) is
//! both, an unprotected one is neither.
//!
//! What we changed: fork is a left mover and join a right mover; a wait is a release and its return
//! an acquire; volatile accesses are non-movers, the two halves of an atomic update together one; the
//! blocks of one nest are judged each for itself; a block is reported once for each label (or
//! place), with the step that ended its first half and the first step that came too late, and a
//! count of its executions that were not reducible.
//!
//! Promise: none about the trace. Warnings generalise to runs that were not seen and may be false
//! alarms; a variable counts as protected until the access that shows that it is not, so
//! earlier accesses are judged too mildly.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use untorn_trace::{Access, Event, EventIdx, LabelId, Op, SiteId, ThreadId, VarId};

use crate::Checker;
use crate::eraser::{Discipline, Guard};
use crate::lockset::Change;
use crate::outcome::{Block, Outcome, Step, Verdict, Warning};

/// How an operation can be moved past those of other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mover {
    Both,
    Right,
    Left,
    Neither,
}

/// How far the execution of a block has come.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Only right movers so far.
    Before,
    /// This step ended the right movers: only left movers may follow.
    After(Step),
    /// Reported.
    Broken,
}

#[derive(Debug)]
struct Frame {
    block: Block,
    phase: Phase,
}

#[derive(Debug, Default)]
struct Thread {
    /// Open blocks, outermost first.
    frames: Vec<Frame>,
    /// The read of an atomic update and its position: the next event is its write.
    update: Option<(VarId, EventIdx)>,
}

/// The checker: see the head of this file.
#[derive(Debug, Default)]
pub struct Atomizer {
    discipline: Discipline,
    threads: Vec<Thread>,
    reports: Vec<Report>,
    /// By label, or by place for blocks without one.
    by_code: FxHashMap<(LabelId, SiteId), usize>,
}

#[derive(Debug)]
struct Report {
    block: Block,
    commit: Step,
    at: Step,
    occurrences: u64,
}

impl Atomizer {
    pub fn new() -> Self {
        Self::default()
    }

    fn event(&mut self, at: EventIdx, event: &Event) {
        let index = event.thread.index();
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        let frames = &mut self.threads[index].frames;
        match event.op {
            Op::Begin { label, .. } => {
                let block = Block { label, site: event.site, begin: at };
                frames.push(Frame { block, phase: Phase::Before });
            }
            Op::End { .. } => {
                frames.pop();
            }
            _ => match self.mover(at, event) {
                Mover::Both => {}
                mover => self.step(mover, Step { at, event: *event }),
            },
        }
    }

    fn mover(&mut self, at: EventIdx, event: &Event) -> Mover {
        let thread = event.thread;
        match event.op {
            Op::Read { var, access, .. } => self.access(thread, var, access, false, at),
            Op::Write { var, access, .. } => self.access(thread, var, access, true, at),
            Op::Fork { .. } => Mover::Left,
            Op::Join { .. } => Mover::Right,
            op => match self.discipline.lock_operation(thread, op) {
                Some(Change::Taken) => Mover::Right,
                Some(Change::Given) => Mover::Left,
                Some(Change::Nothing) | None => Mover::Both,
            },
        }
    }

    fn access(
        &mut self,
        thread: ThreadId,
        var: VarId,
        access: Access,
        writes: bool,
        at: EventIdx,
    ) -> Mover {
        let update = &mut self.threads[thread.index()].update;
        let read = update.take();
        match access {
            Access::Plain => match self.discipline.access(thread, var, writes) {
                Guard::Protected => Mover::Both,
                Guard::JustLost | Guard::Unprotected => Mover::Neither,
            },
            Access::Update if !writes => {
                *update = Some((var, at));
                Mover::Neither
            }
            // The read before it was the one step that both halves are.
            Access::Update if read.is_some_and(|(v, r)| v == var && r.0 + 1 == at.0) => Mover::Both,
            Access::Update | Access::Volatile => Mover::Neither,
        }
    }

    /// Judges a step in every open block of its thread.
    fn step(&mut self, mover: Mover, step: Step) {
        let Self { threads, reports, by_code, .. } = self;
        for frame in &mut threads[step.event.thread.index()].frames {
            frame.phase = match (frame.phase, mover) {
                (Phase::Before, Mover::Right | Mover::Both) => Phase::Before,
                (Phase::Before, Mover::Neither | Mover::Left) => Phase::After(step),
                (Phase::After(commit), Mover::Left | Mover::Both) => Phase::After(commit),
                (Phase::After(commit), Mover::Right | Mover::Neither) => {
                    report(reports, by_code, frame.block, commit, step);
                    Phase::Broken
                }
                (Phase::Broken, _) => Phase::Broken,
            };
        }
    }
}

fn report(
    reports: &mut Vec<Report>,
    by_code: &mut FxHashMap<(LabelId, SiteId), usize>,
    block: Block,
    commit: Step,
    at: Step,
) {
    let site = if block.label == LabelId::NONE { block.site } else { SiteId::NONE };
    let index = *by_code.entry((block.label, site)).or_insert_with(|| {
        reports.push(Report { block, commit, at, occurrences: 0 });
        reports.len() - 1
    });
    reports[index].occurrences += 1;
}

impl Checker for Atomizer {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        for (offset, event) in batch.iter().enumerate() {
            self.event(EventIdx(first.0 + offset as u64), event);
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) -> Outcome {
        let warning = |report: Report| {
            let Report { block, commit, at, occurrences } = report;
            Warning::NotReducible { block, commit, at, occurrences }
        };
        let warnings = self.reports.drain(..).map(warning).collect();
        Outcome { warnings, ..Outcome::of(Verdict::Undecided) }
    }
}
