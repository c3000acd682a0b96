//! Follows a plan.
//!
//! **Paper:** Eslamimehr, Lesani, *AtomChase: Directed Search Towards Atomicity Violations*, ISSRE
//! 2015: the directed execution.
//!
//! Each thread is held before its next planned event until the steps before it are done. The thread of the current
//! step runs. Others run only when it cannot continue by itself: preferably the owner of the lock that it requests or
//! the thread whose end it waits for, for a few events at a time, so that it continues as soon as it can.
//!
//! **What we changed, and why.**
//! * A thread that spins or polls until another does something *can* run, but must not run for
//!   ever: after a quantum, or several naps or yields, another thread gets a turn. If nothing comes
//!   of it for long, the plan is given up.
//! * A thread that sleeps is not waited for: the clock jumps, which is as if the others had been
//!   slow. A plan that keeps time lets them go on first, and is given up rather than let their time limits pass. One
//!   that is outside is waited for, until the front end has waited enough: only then it may need the others' help.
//! * Threads without further steps are held at the places that the plan lists ([`Plan::holds`]): otherwise they would
//!   overwrite what the steps are about. One that is needed, because it has a lock that the thread of the step wants or
//!   because nobody else can run, is let go for good.
//! * If a thread executes a planned event too early, before earlier steps of that thread, the event is let through:
//!   the steps before it may still be possible, and the longest executable prefix is wanted.
//!
//! **Promise:** events execute in the order of the plan as long as it is followed. It never hangs: a plan that cannot
//! be followed is released with a reason, and the run continues.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use untorn_trace::ids::ThreadId;

use crate::policy::next_in_round;
use crate::replay::{Instruction, Patience};
use crate::threads::{State, Threads};
use crate::{
    AbandonedPlan, Blocker, GoOrHold, Locks, Options, Plan, PlanFailure, PlanStep, PlanThread,
    PointIndex, Reason, Step,
};

/// Events for a thread that runs to unblock the thread of the step. They are few, because it may do so early.
const HELP: u64 = 128;

/// How often the thread of a step may sleep or yield before it is considered to poll, and others get a turn.
const PAUSES: u32 = 3;

#[derive(Debug)]
struct Planned {
    thread: PlanThread,
    /// The thread, once it was started.
    id: Option<ThreadId>,
    site: PointIndex,
    occurrence: u32,
    /// The event was executed too early.
    passed: bool,
}

/// The steps of one thread that are not yet done.
#[derive(Debug, Default)]
struct RemainingSteps {
    /// Ascending.
    steps: VecDeque<usize>,
    /// The same by the event that the thread reaches. Two steps may name the same event.
    by_event: BTreeMap<(PointIndex, u32), Vec<usize>>,
}

/// A thread that was allowed to execute its planned event.
#[derive(Copy, Clone, Debug)]
struct Executing {
    thread: ThreadId,
    /// Whether it was allowed in the open turn. What it executed in that turn before does not count.
    this_turn: bool,
}

#[derive(Debug)]
pub(crate) struct PlanFollower {
    steps: Vec<Planned>,
    /// The current step.
    at: usize,
    /// The threads of the plan that were started.
    own: BTreeMap<ThreadId, RemainingSteps>,
    /// How often a thread reached a point.
    arrivals: BTreeMap<(ThreadId, PointIndex), u32>,
    /// Threads that are before a planned event, and its step.
    held: BTreeMap<ThreadId, usize>,
    /// Where threads without further steps are held.
    holds: BTreeSet<PointIndex>,
    /// Those that are held there.
    bystanders: BTreeSet<ThreadId>,
    /// Those that were let go because they are needed.
    needed: BTreeSet<ThreadId>,
    executing: Option<Executing>,
    /// The thread of the step lets another thread run first.
    resting: bool,
    /// How often it slept or yielded since the last step was done.
    pauses: u32,
    /// The thread of the step is outside, and waiting for it had no effect.
    stays_outside: bool,
    /// The thread that ran last to unblock the leader, and for how many consecutive events; 0 if it stopped by
    /// itself.
    helper: (ThreadId, u64),
    /// Since the last step was done.
    events: u64,
    turns: u64,
    /// Events of the last turns, one after the other, that all ended because their thread yielded.
    polling: u64,
    options: Options,
    keeps_time: bool,
    abandoned: Option<AbandonedPlan>,
}

impl PlanFollower {
    pub(crate) fn new(plan: &Plan, options: Options) -> Self {
        let planned = |(step, site): (&PlanStep, PointIndex)| Planned {
            thread: step.thread.clone(),
            id: None,
            site,
            occurrence: step.occurrence,
            passed: false,
        };
        Self {
            steps: plan.steps.iter().zip(plan.sites()).map(planned).collect(),
            at: 0,
            own: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            held: BTreeMap::new(),
            holds: plan.hold_sites().into_iter().collect(),
            bystanders: BTreeSet::new(),
            needed: BTreeSet::new(),
            executing: None,
            resting: false,
            pauses: 0,
            stays_outside: false,
            helper: (ThreadId(0), 0),
            events: 0,
            turns: 0,
            polling: 0,
            options,
            keeps_time: plan.keeps_time,
            abandoned: None,
        }
    }

    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.at, self.steps.len())
    }

    pub(crate) fn abandoned(&self) -> Option<&AbandonedPlan> {
        self.abandoned.as_ref()
    }

    pub(crate) fn keeps_time(&self) -> bool {
        self.keeps_time
    }

    /// The plan is not followed any further.
    pub(crate) fn give_up(&mut self, why: PlanFailure) {
        let held = self.held.iter().filter(|&(_, &step)| step != self.at);
        let held = held.map(|(&thread, &step)| (thread, step)).collect();
        self.abandoned = Some(AbandonedPlan { step: self.at, why, held });
    }

    fn is_over(&self) -> bool {
        self.abandoned.is_some() || self.at == self.steps.len()
    }

    /// The thread of the current step, if it was started.
    fn leader(&self) -> Option<ThreadId> {
        self.steps.get(self.at).and_then(|step| step.id)
    }

    fn is_held(&self, thread: ThreadId) -> bool {
        self.held.get(&thread).is_some_and(|&step| step != self.at)
            || self.bystanders.contains(&thread)
    }

    /// Whether a thread that comes to these places is held because it has nothing to do with the plan.
    fn is_bystander(&self, thread: ThreadId, sites: &[PointIndex]) -> bool {
        self.own.get(&thread).is_none_or(|own| own.steps.is_empty())
            && !self.needed.contains(&thread)
            && sites.iter().any(|site| self.holds.contains(site))
    }

    /// Lets a bystander go that can run, if there is one.
    fn free_bystander(&mut self, threads: &Threads, locks: &dyn Locks) -> Option<ThreadId> {
        let mut bystanders = self.bystanders.iter().copied();
        let next = bystanders.find(|&thread| threads.can_run(thread, locks))?;
        self.let_go(next);
        Some(next)
    }

    /// Lets a thread go that was held beside the plan.
    fn let_go(&mut self, thread: ThreadId) {
        self.bystanders.remove(&thread);
        self.needed.insert(thread);
    }

    pub(crate) fn spawned(&mut self, thread: ThreadId, name: &str) {
        for (i, step) in self.steps.iter_mut().enumerate().filter(|(_, step)| step.id.is_none()) {
            let same = match &step.thread {
                PlanThread::Id(id) => *id == thread,
                PlanThread::Name(planned) => planned == name,
            };
            if same {
                step.id = Some(thread);
                let own = self.own.entry(thread).or_default();
                own.steps.push_back(i);
                own.by_event.entry((step.site, step.occurrence)).or_default().push(i);
            }
        }
    }

    pub(crate) fn at_sites(&mut self, thread: ThreadId, sites: &[PointIndex]) -> GoOrHold {
        if self.is_over() {
            return GoOrHold::Go { stop_after: false };
        }
        if self.executing.is_some_and(|executing| executing.thread == thread) {
            if sites.contains(&self.steps[self.at].site) {
                return GoOrHold::Go { stop_after: true };
            }
            // It continued: at some points, such as in a class initialiser, a thread cannot be stopped.
            self.step_is_done(thread);
            if self.is_over() {
                return GoOrHold::Go { stop_after: false };
            }
        }
        if self.is_bystander(thread, sites) {
            self.bystanders.insert(thread);
            return GoOrHold::Hold;
        }
        let Some(own) = self.own.get(&thread) else { return GoOrHold::Go { stop_after: false } };
        if !self.held.contains_key(&thread) {
            for &site in sites {
                *self.arrivals.entry((thread, site)).or_default() += 1;
            }
        }
        let event = |&site: &PointIndex| (site, self.arrivals.get(&(thread, site)).copied());
        let events = sites.iter().map(event).filter_map(|(site, n)| Some((site, n?)));
        let here = events.filter_map(|event| own.by_event.get(&event)).flatten().copied();
        let here: Vec<usize> = here.filter(|&step| step >= self.at).collect();
        let due = own.steps.front().copied().filter(|step| here.contains(step));
        if let Some(step) = due.filter(|&step| step != self.at) {
            self.held.insert(thread, step);
            return GoOrHold::Hold;
        }
        self.held.remove(&thread);
        for step in here.into_iter().filter(|&step| due != Some(step)) {
            self.steps[step].passed = true;
        }
        if due.is_some() {
            self.executing = Some(Executing { thread, this_turn: true });
        }
        GoOrHold::Go { stop_after: due.is_some() }
    }

    /// `why` is the reason that the front end passed: a wait is a planned event that blocks its thread.
    pub(crate) fn turn_ended(&mut self, step: Step, why: Reason, threads: &Threads) {
        if self.is_over() {
            return;
        }
        self.events = self.events.saturating_add(step.events);
        self.turns += u64::from(step.reason != Reason::Budget);
        let polls = step.reason == Reason::Yielded;
        self.polling = if polls { self.polling.saturating_add(step.events) } else { 0 };
        let leads = self.leader() == Some(step.thread);
        if self.executing.is_some_and(|executing| executing.thread == step.thread) {
            self.has_executed(step, why);
        } else if leads {
            let sleeps = matches!(threads.blocker(step.thread), Some(Blocker::Sleep { .. }));
            let pauses = sleeps || step.reason == Reason::Yielded;
            self.pauses += u32::from(pauses);
            self.resting = step.reason == Reason::Budget || (pauses && self.pauses > PAUSES);
        }
        if !leads {
            self.resting = false;
            let stretch = if self.helper.0 == step.thread { self.helper.1 } else { 0 };
            let goes_on = step.reason == Reason::Budget;
            self.helper =
                (step.thread, if goes_on { stretch.saturating_add(step.events) } else { 0 });
        }
    }

    /// The turn of a thread that was allowed to execute its planned event has ended: checks whether it did.
    fn has_executed(&mut self, step: Step, why: Reason) {
        let Some(executing) = &mut self.executing else { return };
        // It stops right after the event. If the turn ended otherwise, the thread blocked within it.
        let done = match executing.this_turn {
            true => matches!(why, Reason::Plan | Reason::Budget),
            false => step.events > 0,
        };
        executing.this_turn = false;
        let thread = executing.thread;
        if done {
            self.step_is_done(thread);
        }
    }

    fn step_is_done(&mut self, thread: ThreadId) {
        if let Some(own) = self.own.get_mut(&thread) {
            debug_assert_eq!(own.steps.front(), Some(&self.at), "a thread's steps in order");
            own.steps.pop_front();
        }
        self.executing = None;
        self.at += 1;
        (self.events, self.turns, self.polling, self.pauses) = (0, 0, 0, 0);
        self.resting = false;
    }

    pub(crate) fn instruct(
        &mut self,
        threads: &Threads,
        locks: &dyn Locks,
        patience: Patience,
    ) -> Instruction {
        if self.is_over() {
            return Instruction::Policy;
        }
        self.try_instruct(threads, locks, patience).unwrap_or_else(|why| {
            self.give_up(why);
            Instruction::Policy
        })
    }

    fn try_instruct(
        &mut self,
        threads: &Threads,
        locks: &dyn Locks,
        patience: Patience,
    ) -> Result<Instruction, PlanFailure> {
        let (events, turns) = (self.events, self.turns);
        let polls_in_vain = self.polling > self.options.plan_polling;
        if events > self.options.plan_events || turns > self.options.plan_turns || polls_in_vain {
            return Err(PlanFailure::NoProgress { events, turns });
        }
        let leader = self.leader();
        if let Some(thread) = leader {
            self.check_reachable(thread, threads)?;
            let outside = threads.is_outside(thread);
            self.stays_outside = outside && (self.stays_outside || patience.exhausted);
            if outside && !self.stays_outside {
                return Ok(Instruction::Idle);
            }
            // Who keeps time lets others go on while the leader sleeps.
            let sleeps = matches!(threads.blocker(thread), Some(Blocker::Sleep { .. }));
            let waits = self.resting || (self.keeps_time && sleeps);
            if !waits && let Some(instruction) = self.lead(thread, threads, locks, patience) {
                return Ok(instruction);
            }
        }
        if let Some(thread) = self.find_helper(leader, threads, locks)? {
            let spins = leader.is_some_and(|leader| threads.can_run(leader, locks));
            // A thread with planned events must not run further than necessary: it might acquire the lock that the
            // leader needs and hold it while it waits for its own turn.
            let planned = self.own.get(&thread).is_some_and(|own| !own.steps.is_empty());
            let budget = match (spins, planned) {
                (true, _) => patience.quantum,
                (false, true) => 1,
                (false, false) => HELP,
            };
            return Ok(Instruction::Run { thread, budget: budget.max(1), leave: false });
        }
        self.resting = false;
        let next = threads.anyone_runs_at(locks);
        let leads = |leader: &ThreadId| {
            !self.keeps_time || next.is_none() || threads.can_run(*leader, locks)
        };
        if let Some(instruction) =
            leader.filter(leads).and_then(|thread| self.lead(thread, threads, locks, patience))
        {
            return Ok(instruction);
        }
        let outside = threads.any_outside() && !patience.exhausted;
        if outside && patience.patient {
            return Ok(Instruction::Idle);
        }
        if let Some(deadline) = next {
            return Ok(Instruction::Jump(deadline));
        }
        if outside {
            return Ok(Instruction::Idle);
        }
        if let Some(thread) = self.free_bystander(threads, locks) {
            return Ok(Instruction::Run { thread, budget: HELP, leave: false });
        }
        Err(leader.map_or(PlanFailure::NoSuchThread, |thread| stuck(thread, threads, locks)))
    }

    fn check_reachable(&self, thread: ThreadId, threads: &Threads) -> Result<(), PlanFailure> {
        if self.steps[self.at].passed {
            Err(PlanFailure::Passed { thread })
        } else if threads.has_ended(thread) {
            Err(PlanFailure::ThreadEnded { thread })
        } else {
            Ok(())
        }
    }

    /// Lets the thread of the step continue, if it can run or if it only waits for a deadline.
    fn lead(
        &self,
        thread: ThreadId,
        threads: &Threads,
        locks: &dyn Locks,
        patience: Patience,
    ) -> Option<Instruction> {
        if threads.can_run(thread, locks) {
            // Its next event is the planned one, if it blocked within that.
            let budget = if self.executing.is_some() { 1 } else { patience.quantum.max(1) };
            return Some(Instruction::Run { thread, budget, leave: false });
        }
        match threads.state(thread) {
            State::Blocked { on: Blocker::Sleep { deadline }, .. } => {
                Some(Instruction::Jump(deadline))
            }
            _ => None,
        }
    }

    /// A thread that may run while the leader cannot. An error if the leader waits for one that is held before a step.
    fn find_helper(
        &mut self,
        leader: Option<ThreadId>,
        threads: &Threads,
        locks: &dyn Locks,
    ) -> Result<Option<ThreadId>, PlanFailure> {
        if let Some(leader) = leader {
            let needed = last_needed(leader, threads, locks);
            if needed != leader && self.bystanders.contains(&needed) {
                self.let_go(needed);
            }
            if needed != leader && self.is_held(needed) {
                return Err(stuck(leader, threads, locks));
            }
            if needed != leader && threads.can_run(needed, locks) {
                return Ok(Some(needed));
            }
        }
        let may_help = |thread: &ThreadId| {
            Some(*thread) != leader && !self.is_held(*thread) && threads.can_run(*thread, locks)
        };
        let others: Vec<ThreadId> = threads.live().iter().copied().filter(may_help).collect();
        if others.is_empty() {
            // One that spins or polls may wait for what a bystander does.
            return Ok(if self.resting { self.free_bystander(threads, locks) } else { None });
        }
        let (last, stretch) = self.helper;
        let goes_on = stretch > 0 && stretch < self.options.quantum && others.contains(&last);
        Ok(Some(if goes_on { last } else { next_in_round(&others, last) }))
    }
}

/// The thread that `thread` waits for, directly or indirectly: the owner of a lock, or a thread that must end. Itself
/// if it waits for none.
fn last_needed(thread: ThreadId, threads: &Threads, locks: &dyn Locks) -> ThreadId {
    let mut at = thread;
    // At most as many steps as there are threads: they may wait for each other in a cycle.
    for _ in 0..threads.live().len() {
        let needed = match threads.state(at) {
            State::WantsLock { lock, .. } => locks.owner(lock),
            State::Blocked { on: Blocker::Join { thread, deadline: None }, .. } => Some(thread),
            _ => None,
        };
        match needed.filter(|&needed| needed != at && !threads.has_ended(needed)) {
            Some(needed) => at = needed,
            None => break,
        }
    }
    at
}

fn stuck(thread: ThreadId, threads: &Threads, locks: &dyn Locks) -> PlanFailure {
    let on = threads.blocker(thread).unwrap_or(Blocker::Outside);
    let holder = threads.wanted_lock(thread).and_then(|lock| locks.owner(lock));
    match on {
        Blocker::Outside => PlanFailure::StayedOutside { thread },
        _ => PlanFailure::Blocked { thread, on, holder },
    }
}
