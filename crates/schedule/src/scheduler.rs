//! The scheduler: one thread runs at a time, and it decides which one is next.

use untorn_trace::ids::ThreadId;

use crate::deadlock::{self, Deadlock};
use crate::plan::follow::PlanFollower;
use crate::policy::{Arrival, Choice};
use crate::premature_timeouts::Delays;
use crate::replay::{Instruction, Patience, ScheduleFollower};
use crate::threads::{State, Threads};
use crate::{
    Blocker, Decision, GoOrHold, LockKey, Locks, Marks, Nanos, Outcome, Plan, PlanFailure,
    PointIndex, Policy, PolicyKind, Reason, Rng, Schedule, Step, Turn,
};

/// What the scheduler follows in a run: the steering that was asked for, or a recorded schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    Policy(PolicyKind),
    /// Repeat a recorded run; if that is impossible, run to block.
    Replay(Schedule),
    /// Follow the prefix, then the policy.
    Prefix(Schedule, PolicyKind),
    /// Follow the plan, then the policy.
    Plan(Plan, PolicyKind),
}

/// Options of a scheduler. The defaults suit all runs, except for the seed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Options {
    pub seed: u64,
    /// The longest turn, so that a thread that spins does not run for ever.
    pub quantum: u64,
    /// How much time passes with every event.
    pub tick: Nanos,
    /// When the run begins.
    pub start: Nanos,
    /// While a thread is outside, wait for it ([`Decision::Idle`]) instead of letting the clock jump to a deadline.
    /// Otherwise a thread that waits for its result would time out at once. The front end must then call
    /// [`Scheduler::stop_waiting`] when it has waited long enough.
    pub patient: bool,
    /// Uncontrolled threads unpark, notify and own locks. A replay then waits ([`Decision::Idle`], until
    /// [`Scheduler::stop_waiting`]) for a thread that only they can have woken.
    pub foreign_wakers: bool,
    /// A plan is given up when so many events were executed since its last step,
    pub plan_events: u64,
    /// or so many turns ended for another reason than their budget,
    pub plan_turns: u64,
    /// or so many events were executed in turns, one after the other, that all ended because their thread yielded.
    pub plan_polling: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            quantum: 1_000_000,
            tick: Nanos(10),
            start: Nanos(0),
            patient: false,
            foreign_wakers: false,
            plan_events: 1_000_000_000,
            plan_turns: 200_000,
            plan_polling: 100_000,
        }
    }
}

/// What is asked before the policy, with how far it was followed.
#[derive(Debug)]
enum Guide {
    Nothing,
    Replay(ScheduleFollower),
    Plan(Box<PlanFollower>),
}

/// The turn that has not ended.
#[derive(Copy, Clone, Debug)]
struct Open {
    turn: Turn,
    events: u64,
    /// How the thread blocked. It may have been woken again before the turn ended.
    blocked: Option<Blocker>,
    /// Points at which it may be held that it passed since its last event.
    passed: u64,
    /// It is held where it was held before: it has not moved.
    stands_still: bool,
}

/// See the [crate] for the protocol.
#[derive(Debug)]
pub struct Scheduler {
    options: Options,
    rng: Rng,
    threads: Threads,
    policy: Box<dyn Policy>,
    guide: Guide,
    open: Option<Open>,
    now: Nanos,
    events: u64,
    turns: u64,
    /// The last turn that ended, until it was passed to the policy.
    last: Option<Step>,
    /// Turns that ended since the last drain.
    ended: Vec<Step>,
    /// The front end has waited long enough. Holds until a thread runs.
    stop_waiting: bool,
    lock_cycle: Option<Vec<ThreadId>>,
    delays: Delays,
    /// Reused for its allocation: POS asks at every event.
    candidates: Vec<ThreadId>,
}

impl Scheduler {
    pub fn new(mode: Mode, options: Options) -> Self {
        let (guide, kind) = match mode {
            Mode::Policy(kind) => (Guide::Nothing, kind),
            Mode::Replay(schedule) => {
                (Guide::Replay(ScheduleFollower::new(schedule, true)), PolicyKind::RunToBlock)
            }
            Mode::Prefix(schedule, kind) => {
                (Guide::Replay(ScheduleFollower::new(schedule, false)), kind)
            }
            Mode::Plan(plan, kind) => {
                (Guide::Plan(Box::new(PlanFollower::new(&plan, options))), kind)
            }
        };
        let mut rng = Rng::new(options.seed);
        let policy = kind.build(options.quantum, &mut rng);
        Self { guide, ..Self::bare(policy, rng, options) }
    }

    /// A scheduler with a policy that has no name.
    pub fn with_policy(policy: Box<dyn Policy>, options: Options) -> Self {
        Self::bare(policy, Rng::new(options.seed), options)
    }

    fn bare(policy: Box<dyn Policy>, rng: Rng, options: Options) -> Self {
        Self {
            options,
            rng,
            threads: Threads::default(),
            policy,
            guide: Guide::Nothing,
            open: None,
            now: options.start,
            events: 0,
            turns: 0,
            last: None,
            ended: Vec::new(),
            stop_waiting: false,
            lock_cycle: None,
            delays: Delays::default(),
            candidates: Vec::new(),
        }
    }

    /// A new thread; it can run. Ids are dense: the first is 0.
    pub fn spawn(&mut self, name: &str) -> ThreadId {
        let thread = self.threads.spawn(name);
        self.policy.spawned(thread, &mut self.rng);
        if let Guide::Plan(plan) = &mut self.guide {
            plan.spawned(thread, name);
        }
        thread
    }

    /// The thread could not be started after all.
    pub fn abandon(&mut self, thread: ThreadId) {
        self.end(thread);
    }

    /// The thread has ended. Wakes the threads that join it.
    pub fn end(&mut self, thread: ThreadId) {
        self.expire();
        self.threads.end(thread);
    }

    /// The thread cannot continue until what it waits for is there. If it is there already (a permit was kept, the
    /// joined thread has ended), it is not blocked ([`Scheduler::blocked_on`]) and may continue its turn.
    pub fn block(&mut self, thread: ThreadId, on: Blocker) {
        self.expire();
        self.threads.block(thread, on);
        let blocks = self.threads.blocker(thread).is_some();
        if let Some(open) = self.open.as_mut().filter(|open| open.turn.thread == thread) {
            open.blocked = blocks.then_some(on);
            if !blocks {
                self.threads.run(thread);
            }
        }
    }

    /// Gives a permit, as Java's `LockSupport`: a parked thread continues; otherwise one permit is kept for the next
    /// time it would park.
    pub fn unpark(&mut self, thread: ThreadId) {
        self.expire();
        self.threads.unpark(thread);
    }

    /// Wakes the thread if it waits, is parked, sleeps or joins. Does not remember the interrupt: the front end keeps
    /// the flag.
    pub fn interrupt(&mut self, thread: ThreadId) {
        self.expire();
        self.threads.interrupt(thread);
    }

    /// Wakes the thread that has waited longest on the lock, or all; they then request the lock. Returns how many.
    pub fn notify(&mut self, lock: LockKey, all: bool) -> usize {
        self.expire();
        self.threads.notify(lock, all)
    }

    /// A thread that was outside is back and needs the token. Ask for the next turn if no thread has the token.
    pub fn returned(&mut self, thread: ThreadId) {
        self.threads.returned(thread);
    }

    /// The thread executed so many more events in its turn. Call it before anything else that happens at that moment:
    /// deadlines are measured by it. Events without the token do not count.
    pub fn ran(&mut self, thread: ThreadId, events: u64) {
        let Some(open) = self.open.as_mut().filter(|open| open.turn.thread == thread) else {
            return;
        };
        open.events = open.events.saturating_add(events);
        if events > 0 {
            open.passed = 0;
            self.delays.ran(thread);
        }
        self.events = self.events.saturating_add(events);
        self.now = self.now.after(Nanos(events.saturating_mul(self.options.tick.0)));
    }

    /// The next event of `thread` conflicts with one that was just executed: see
    /// [`Policy::conflicted`].
    pub fn conflicted(&mut self, thread: ThreadId) {
        self.policy.conflicted(thread, &mut self.rng);
    }

    /// What [`Decision::Idle`] waits for does not come. The next decision is made without it: the clock jumps, or
    /// the schedule or the plan is given up. Holds until a thread runs.
    pub fn stop_waiting(&mut self) {
        self.stop_waiting = true;
    }

    /// Ends the recording in the middle of a turn: the program is about to end.
    pub fn cut(&mut self) {
        self.close(Reason::Cut);
    }

    /// The thread is about to execute an event at a point of the plan. Ask once each time it reaches the point, and
    /// again when it gets its turn after an [`GoOrHold::Hold`]; not again if it blocks within the event.
    pub fn at_site(&mut self, thread: ThreadId, site: PointIndex) -> GoOrHold {
        self.at_sites(thread, &[site])
    }

    /// The same for an event that matches several points of the plan (`A.java:12` and `A.java:12 read`).
    pub fn at_sites(&mut self, thread: ThreadId, sites: &[PointIndex]) -> GoOrHold {
        self.arrives(thread, &Arrival { marks: sites, access: None })
    }

    /// The same, with the facts of the event. Under a policy the sites are [`Marks`], which [`Scheduler::mark`]
    /// passes; [`PolicyKind::announced_events`] determines for which events to call it.
    pub fn arrives(&mut self, thread: ThreadId, at: &Arrival<'_>) -> GoOrHold {
        let again = self.threads.leaves_hold(thread);
        let own = self.open.filter(|open| open.turn.thread == thread);
        let answer = match &mut self.guide {
            Guide::Plan(plan) => plan.at_sites(thread, at.marks),
            Guide::Nothing if self.policy.arrives(thread, at, &mut self.rng) => GoOrHold::Hold,
            Guide::Replay(replay) if !again => match own {
                Some(open) if replay.holds(thread, open.events) => GoOrHold::Hold,
                _ => GoOrHold::Go { stop_after: false },
            },
            _ => GoOrHold::Go { stop_after: false },
        };
        if answer == GoOrHold::Hold {
            self.threads.hold(thread);
        }
        if let Some(open) = self.open.as_mut().filter(|open| open.turn.thread == thread) {
            open.passed += u64::from(answer != GoOrHold::Hold && !again);
            open.stands_still = again && answer == GoOrHold::Hold;
        }
        answer
    }

    /// The thread reaches a point at which it would have to ask, but must not be stopped there.
    pub fn passes(&mut self, thread: ThreadId) {
        if let Some(open) = self.open.as_mut().filter(|open| open.turn.thread == thread) {
            open.passed += 1;
        }
    }

    /// Passes the marks to the policy.
    pub fn mark(&mut self, marks: &Marks) {
        self.policy.marked(marks);
    }

    /// Virtual time: events times tick, plus jumps. It jumps to the earliest deadline when no thread can run.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The thread that has the token.
    pub fn current(&self) -> Option<ThreadId> {
        self.open.map(|open| open.turn.thread)
    }

    /// The name given at the start of the thread.
    pub fn name(&self, thread: ThreadId) -> Option<&str> {
        self.threads.name(thread)
    }

    /// What the thread is blocked on now, if it is.
    pub fn blocked_on(&self, thread: ThreadId) -> Option<Blocker> {
        self.threads.blocker(thread)
    }

    /// Turns that ended since the last call, oldest first.
    pub fn drain_turns(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.ended)
    }

    /// Threads that wait for each other's locks in a cycle now.
    pub fn lock_cycle(&self, locks: &dyn Locks) -> Option<Vec<ThreadId>> {
        deadlock::lock_cycle(&self.threads, locks, Threads::wanted_lock)
    }

    /// How far the schedule or the plan was followed, and what was detected on the way.
    pub fn outcome(&self) -> Outcome {
        let (followed, of) = match &self.guide {
            Guide::Nothing => (0, 0),
            Guide::Replay(replay) => replay.progress(),
            Guide::Plan(plan) => plan.progress(),
        };
        let divergence = match &self.guide {
            Guide::Replay(replay) => replay.divergence().cloned(),
            _ => None,
        };
        let abandoned = match &self.guide {
            Guide::Plan(plan) => plan.abandoned().cloned(),
            _ => None,
        };
        let lock_cycle = self.lock_cycle.clone();
        let (events, turns) = (self.events, self.turns);
        let premature_timeouts = self.delays.noted().to_vec();
        Outcome {
            events,
            turns,
            followed,
            of,
            divergence,
            abandoned,
            lock_cycle,
            premature_timeouts,
        }
    }

    /// Ends the turn, if one is open, and decides what happens next.
    pub fn next(&mut self, why: Reason, locks: &dyn Locks) -> Decision {
        self.close(why);
        self.expire();
        self.watch_locks(locks);
        let next = self.decide(locks);
        if let Decision::Run(turn) = next {
            let (blocked, passed, stands_still) = (None, 0, false);
            self.open = Some(Open { turn, events: 0, blocked, passed, stands_still });
            self.stop_waiting = false;
        }
        next
    }

    fn expire(&mut self) {
        self.threads.expire(self.now);
    }

    fn jump(&mut self, to: Nanos) {
        self.now = self.now.max(to);
        self.expire();
    }

    /// Records the end of the open turn.
    fn close(&mut self, why: Reason) {
        let Some(Open { turn, events, blocked, passed, stands_still }) = self.open.take() else {
            return;
        };
        let thread = turn.thread;
        let leaves = turn.leave && events >= turn.budget && why.is_imposed();
        if (leaves || why == Reason::Outside) && self.threads.state(thread) == State::Running {
            self.threads.block(thread, Blocker::Outside);
        }
        if why == Reason::Ended {
            self.threads.end(thread);
        }
        self.threads.stop(thread);
        // The actual reason counts, in case the front end passed another one.
        let reason = match blocked {
            _ if why == Reason::Cut => Reason::Cut,
            _ if self.threads.has_ended(thread) => Reason::Ended,
            Some(Blocker::Outside) => Reason::Outside,
            Some(_) => Reason::Blocked,
            None => why,
        };
        let step = Step { thread, events, reason };
        match &mut self.guide {
            Guide::Nothing => self.ended.extend(recorded(step, passed, stands_still)),
            Guide::Replay(replay) => self.ended.extend(replay.turn_ended(step)),
            Guide::Plan(plan) => {
                plan.turn_ended(step, why, &self.threads);
                self.ended.extend(recorded(step, passed, stands_still));
            }
        }
        self.turns += 1;
        self.last = Some(step);
    }

    /// Searches for a cycle when a thread has requested a lock: only then can there be a new one.
    fn watch_locks(&mut self, locks: &dyn Locks) {
        if self.threads.take_lock_wanted() && self.lock_cycle.is_none() {
            self.lock_cycle = self.lock_cycle(locks);
        }
    }

    fn decide(&mut self, locks: &dyn Locks) -> Decision {
        let patience = Patience {
            quantum: self.options.quantum,
            foreign_wakers: self.options.foreign_wakers,
            patient: self.options.patient,
            exhausted: self.stop_waiting,
        };
        loop {
            let instruction = match &mut self.guide {
                Guide::Nothing => Instruction::Policy,
                Guide::Replay(replay) => replay.instruct(&mut self.threads, locks, patience),
                Guide::Plan(plan) => plan.instruct(&self.threads, locks, patience),
            };
            match instruction {
                Instruction::Run { thread, budget, leave } => {
                    let wake = self.threads.run(thread);
                    return Decision::Run(Turn { thread, budget, wake, leave });
                }
                Instruction::Note(step) => self.ended.push(step),
                Instruction::Jump(to) => self.jump_by_guide(to, locks),
                Instruction::Idle => return Decision::Idle,
                Instruction::Policy => return self.by_policy(locks),
            }
        }
    }

    /// A guide may let the clock jump while threads can run. A plan that keeps time is given up instead.
    fn jump_by_guide(&mut self, to: Nanos, locks: &dyn Locks) {
        let jump = [self.now, to];
        if let Guide::Plan(plan) = &mut self.guide {
            let premature = self.delays.premature_after(jump, self.events, &self.threads, locks);
            if let Some(premature) = premature.filter(|_| plan.keeps_time()) {
                plan.give_up(PlanFailure::Outruns {
                    thread: ThreadId(premature.waiter),
                    held: ThreadId(premature.held),
                });
                return;
            }
            self.delays.jumped(jump, premature, &self.threads, locks);
        }
        self.jump(to);
    }

    fn by_policy(&mut self, locks: &dyn Locks) -> Decision {
        loop {
            self.find_candidates(locks);
            if !self.candidates.is_empty() {
                return Decision::Run(self.ask_policy());
            }
            let outside = self.threads.any_outside();
            let waits = outside && self.options.patient && !self.stop_waiting;
            if let Some(deadline) = self.threads.anyone_runs_at(locks).filter(|_| !waits) {
                self.jump(deadline);
            } else if outside {
                return Decision::Idle;
            } else if self.threads.live().is_empty() {
                return Decision::Finished;
            } else {
                let deadlock = Deadlock::of(&self.threads, locks);
                self.lock_cycle = self.lock_cycle.take().or_else(|| deadlock.cycle.clone());
                return Decision::Deadlock(deadlock);
            }
        }
    }

    /// The threads that can run; one that yielded only if no other can.
    fn find_candidates(&mut self, locks: &dyn Locks) {
        let yielded = self.last.filter(|last| last.reason == Reason::Yielded);
        let Self { threads, candidates, .. } = self;
        candidates.clear();
        candidates.extend(threads.live().iter().copied().filter(|&t| threads.can_run(t, locks)));
        if candidates.len() > 1 {
            candidates.retain(|&thread| yielded.is_none_or(|last| last.thread != thread));
        }
    }

    fn ask_policy(&mut self) -> Turn {
        let last = self.last.take();
        let choice = Choice { candidates: &self.candidates, last, events: self.events };
        let (chosen, budget) = self.policy.choose(&choice, &mut self.rng);
        debug_assert!(self.candidates.contains(&chosen), "{:?} chose {chosen:?}", self.policy);
        let is_candidate = self.candidates.binary_search(&chosen).is_ok();
        let thread = if is_candidate { chosen } else { self.candidates[0] };
        if let Guide::Replay(replay) = &mut self.guide {
            replay.policy_runs(thread);
        }
        let wake = self.threads.run(thread);
        Turn { thread, budget: budget.max(1), wake, leave: false }
    }
}

/// The recorded steps of a turn. The events of a held thread do not determine where it is held: it may have passed
/// other such points after the last event. For each there is a step without events, so that a replay holds it there,
/// too, and lets it continue to the next. A thread that is held again where it stands has done nothing.
fn recorded(step: Step, passed: u64, stands_still: bool) -> impl Iterator<Item = Step> {
    let turns = match step.reason {
        Reason::Held if stands_still => 0,
        Reason::Held => 1 + passed,
        _ => 1,
    };
    (0..turns).map(move |turn| if turn == 0 { step } else { Step { events: 0, ..step } })
}
