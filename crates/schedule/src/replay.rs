//! Follows a recorded schedule and detects the first divergence.
//!
//! The schedule contains which thread ran, for how many events, and why the turn ended. If the scheduler ended it
//! (budget, plan, outside), the same budget ends it again. If the thread did (it blocked, yielded, ended), it gets
//! one event more than it needs, so that a divergence is detected. If it was held before an event, it runs up to the
//! next point where it could be held: its actions up to there have no events, but other threads may have observed
//! them.
//!
//! What depends on external time may differ and is no divergence: a thread that goes outside in the middle of a step
//! is waited for and then finishes the step; one that returns early waits for its turn. A turn that was imposed and
//! had no events is skipped. The recording of a faithful replay is the schedule itself. The clock needs no entry in
//! the schedule: it jumps if, and only if, the thread whose turn it is waits for nothing but its deadline, which is
//! exactly when it jumped in the recorded run.

use untorn_trace::ids::ThreadId;

use crate::threads::{State, Threads};
use crate::{Blocker, Divergence, Locks, Nanos, Reason, Schedule, Step};

/// The next action that a schedule or a plan requires.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Instruction {
    Run {
        thread: ThreadId,
        budget: u64,
        leave: bool,
    },
    /// This turn has ended: it had no events, or will never be finished. Record it and ask again.
    Note(Step),
    /// Let the clock jump to that time, then ask again.
    Jump(Nanos),
    Idle,
    /// Nothing is prescribed: the policy decides.
    Policy,
}

/// What the follower may assume.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Patience {
    /// Budget of a turn that nothing else bounds.
    pub(crate) quantum: u64,
    /// Uncontrolled threads may wake controlled ones.
    pub(crate) foreign_wakers: bool,
    /// The clock may not jump while a thread is outside.
    pub(crate) patient: bool,
    /// Waiting had no effect.
    pub(crate) exhausted: bool,
}

#[derive(Debug)]
pub(crate) struct ScheduleFollower {
    steps: Vec<Step>,
    /// The step to follow next, or being followed.
    at: usize,
    /// Events of it that were executed in earlier parts. Invariant: at most what the step allows.
    done: u64,
    /// The run must end where the schedule does.
    whole: bool,
    divergence: Option<Divergence>,
}

impl ScheduleFollower {
    /// Follows the schedule; with `whole`, running beyond its end is a divergence.
    pub(crate) fn new(schedule: Schedule, whole: bool) -> Self {
        Self { steps: schedule.steps, at: 0, done: 0, whole, divergence: None }
    }

    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.at, self.steps.len())
    }

    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// The step to follow; `None` at the end and after a divergence.
    fn step(&self) -> Option<Step> {
        self.steps.get(self.at).copied().filter(|_| self.divergence.is_none())
    }

    /// Compares a turn with its step. Returns what goes into the new recording: nothing if the step continues later.
    pub(crate) fn turn_ended(&mut self, actual: Step) -> Option<Step> {
        let Some(wanted) = self.step() else { return Some(actual) };
        let done = self.done.saturating_add(actual.events);
        let total = Step { events: done, ..actual };
        // At the end of a budget it does not matter what the thread was about to do.
        let as_wanted = actual.reason == wanted.reason || wanted.reason.is_imposed();
        let stopped = matches!(actual.reason, Reason::Budget | Reason::Outside);
        if wanted.reason == Reason::Cut {
            self.advance();
            Some(total)
        } else if done == wanted.events && as_wanted {
            self.advance();
            Some(wanted)
        } else if actual.reason == Reason::Cut {
            Some(total)
        } else if stopped && done < allowance(wanted) {
            // The front end stopped early, or the thread is outside and was not in the recording: continue later.
            self.done = done;
            None
        } else {
            let words = match actual.reason {
                Reason::Budget | Reason::Plan | Reason::Held => {
                    format!("it had executed {done} and went on")
                }
                reason => format!("it {} after {}", verb(reason), events(done)),
            };
            self.diverge(words);
            Some(total)
        }
    }

    pub(crate) fn instruct(
        &mut self,
        threads: &mut Threads,
        locks: &dyn Locks,
        patience: Patience,
    ) -> Instruction {
        let Some(step) = self.step() else { return Instruction::Policy };
        let thread = step.thread;
        if !threads.can_run(thread, locks) {
            if let Some(deadline) = threads.runs_at(thread, locks) {
                return Instruction::Jump(deadline);
            }
            if !patience.exhausted && may_be_woken(threads, thread, locks, patience.foreign_wakers)
            {
                return Instruction::Idle;
            }
            self.diverge(why_not(threads, thread, locks));
            let begun = Step { thread, events: self.done, reason: Reason::Outside };
            return if self.done > 0 { Instruction::Note(begun) } else { Instruction::Policy };
        }
        if step.events == 0 && step.reason.is_imposed() {
            threads.settle(thread);
            self.advance();
            return Instruction::Note(step);
        }
        let budget = match step.reason {
            Reason::Cut => patience.quantum.max(1),
            _ => allowance(step).saturating_sub(self.done),
        };
        Instruction::Run { thread, budget, leave: step.reason == Reason::Outside }
    }

    /// The policy lets a thread continue.
    pub(crate) fn policy_runs(&mut self, thread: ThreadId) {
        let cut = self.steps.last().is_some_and(|last| last.reason == Reason::Cut);
        if self.whole && !cut && self.divergence.is_none() {
            self.divergence = Some(Divergence {
                step: self.at,
                expected: "the end of the run".to_owned(),
                actual: format!("thread #{} can go on", thread.0),
            });
        }
    }

    /// Whether a thread that reaches a point where it may be held was held there, after so many events of the open
    /// turn.
    pub(crate) fn holds(&self, thread: ThreadId, events: u64) -> bool {
        self.step().is_some_and(|step| {
            let done = self.done.saturating_add(events);
            step.reason == Reason::Held && step.thread == thread && step.events == done
        })
    }

    fn advance(&mut self) {
        self.at += 1;
        self.done = 0;
    }

    fn diverge(&mut self, actual: String) {
        let Some(wanted) = self.step() else { return };
        let expected = match wanted.reason {
            Reason::Cut => format!("thread #{} to run", wanted.thread.0),
            reason => {
                let (thread, n) = (wanted.thread.0, events(wanted.events));
                format!("thread #{thread} to run {n} until it {}", verb(reason))
            }
        };
        self.divergence = Some(Divergence { step: self.at, expected, actual });
    }
}

/// Events after which the turn must have ended.
const fn allowance(step: Step) -> u64 {
    if step.reason.is_imposed() { step.events } else { step.events.saturating_add(1) }
}

fn events(n: u64) -> String {
    if n == 1 { "1 event".to_owned() } else { format!("{n} events") }
}

const fn verb(reason: Reason) -> &'static str {
    match reason {
        Reason::Budget | Reason::Plan | Reason::Cut | Reason::Held => "was stopped",
        Reason::Blocked => "blocked",
        Reason::Yielded => "yielded",
        Reason::Ended => "ended",
        Reason::Outside => "went outside",
    }
}

/// Whether an uncontrolled thread could still let the thread run.
fn may_be_woken(threads: &Threads, thread: ThreadId, locks: &dyn Locks, foreign: bool) -> bool {
    match threads.state(thread) {
        State::Outside => true,
        State::Blocked { on: Blocker::Park { .. } | Blocker::Wait { .. }, .. } => foreign,
        State::WantsLock { lock, .. } => {
            foreign && locks.owner(lock).is_some_and(|owner| owner.index() >= threads.len())
        }
        _ => false,
    }
}

fn why_not(threads: &Threads, thread: ThreadId, locks: &dyn Locks) -> String {
    let id = thread.0;
    if threads.name(thread).is_none() {
        return format!("there is no thread #{id}");
    }
    let Some(on) = threads.blocker(thread) else { return format!("thread #{id} has ended") };
    let holder = threads.wanted_lock(thread).and_then(|lock| locks.owner(lock));
    match holder {
        Some(holder) => format!("thread #{id} waits for {on}, which thread #{} has", holder.0),
        None => format!("thread #{id} waits for {on}"),
    }
}
