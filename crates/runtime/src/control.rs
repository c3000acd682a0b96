//! Control of the threads: the token, context switches, and everything that makes a controlled thread stop.
//!
//! All state is protected by one lock, [`Core`], which is taken only when the thread with the token enters the
//! runtime, when a thread returns from outside, and by the watchdog. Only the thread with the token moves the
//! position in the buffer; the next thread with the token continues there.

mod blocking;
mod core;
mod ending;
mod outside;
mod ready;
mod repetition;
mod threads;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use untorn_schedule::{Decision, Reason, Scheduler, ThreadId, Wake};

use crate::buffers::{CAPACITY, Record, special};
use crate::host::{Host, Moment};
use crate::recorder::Recorder;
use crate::sync::{Guard, Lock};
use crate::token::{Tokens, WaitResult};

pub use self::blocking::{Holder, Signal};
pub(crate) use self::core::{Core, Interventions};
pub(crate) use self::outside::Pulse;
pub use self::ready::AwaitedDescriptor;
pub use self::threads::{ThreadNames, current_processor};

/// Events that a thread gets beyond its budget while it must not be preempted.
const GRACE: u64 = 64;

/// How long a thread waits for the token before it checks whether any thread can run at all. While no thread can, one
/// may still return from outside, or be woken by an uncontrolled thread.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// So many checks in a row must find that no thread can run before that is a deadlock.
const DEADLOCK_CHECKS: u32 = 10;

/// After so many checks a thread that replays a schedule continues without the threads that are outside.
const REPLAY_CHECKS: u32 = 100;

thread_local! {
    /// The number of the current thread, if it is controlled, and by which [`Control`].
    static ME: Cell<Option<(u32, ThreadId)>> = const { Cell::new(None) };
}

/// How many [`Control`]s there were in this process. A thread that an earlier run left behind is not controlled by the
/// next one.
static CONTROLS: AtomicU32 = AtomicU32::new(0);

/// How a thread continues after it gave up the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumption {
    /// It has the token again.
    Turn(Wake),
    /// Control has ended: the thread runs uncontrolled, and must really execute what it asked for.
    Free,
}

/// What a thread has found so far while it waited for the token.
#[derive(Debug, Default)]
struct Checks {
    all: u32,
    /// Those at the end, one after the other, that found that no thread can run, and no child process either.
    stuck: u32,
}

/// What does not change during a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file in which the command line finds the progress of the run.
    pub progress: PathBuf,
    /// A recorded schedule is repeated.
    pub replaying: bool,
    /// Threads ask the policy before certain events, and not a plan.
    pub asks_policy: bool,
    /// The processor that controlled threads share: switches are several times faster there.
    pub processor: Option<usize>,
    /// Ends the process because of a deadlock. If it returns, all threads run uncontrolled.
    pub exit: fn(i32),
    /// The process goes on with another run after this one. So nobody is let go at the end of this run: threads that
    /// wait for the token wait for ever.
    pub stays: bool,
}

/// The threads that a run has left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leftovers {
    /// They wait for a token that will never come, and do no harm.
    pub waiting: usize,
    /// They were started, and have yet to come to where they will wait.
    pub starting: usize,
    /// They run, or are blocked outside, and may do anything.
    pub away: usize,
    /// Threads that the run started and that nobody controls.
    pub uncontrolled: usize,
}

/// Controls the threads of a program. The documentation of a method states if other threads may run inside of it.
#[derive(Debug)]
pub struct Control<H: Host> {
    host: H,
    core: Lock<Core<H>>,
    tokens: Tokens,
    thread_names: Arc<ThreadNames>,
    recorder: Arc<Recorder>,
    settings: Settings,
    /// Tells its threads from those of an earlier run in the same process.
    number: u32,
    /// The program runs under control.
    on: AtomicBool,
}

impl<H: Host> Control<H> {
    pub fn new(
        host: H,
        scheduler: Scheduler,
        recorder: Arc<Recorder>,
        thread_names: Arc<ThreadNames>,
        settings: Settings,
    ) -> Self {
        Self {
            core: Lock::new(Core::new(scheduler, recorder.buffers.empty())),
            host,
            tokens: Tokens::new(),
            thread_names,
            recorder,
            settings,
            number: CONTROLS.fetch_add(1, Ordering::Relaxed),
            on: AtomicBool::new(false),
        }
    }

    /// The number of the current thread, if it is controlled.
    pub fn current_thread(&self) -> Option<ThreadId> {
        // The slot is gone while the thread is torn down; it is not controlled any more then.
        let (number, me) = ME.try_with(Cell::get).unwrap_or(None)?;
        (number == self.number).then_some(me)
    }

    fn set_current_thread(&self, thread: Option<ThreadId>) {
        let _ = ME.try_with(|me| me.set(thread.map(|thread| (self.number, thread))));
    }

    pub fn host(&self) -> &H {
        &self.host
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn core(&self) -> Guard<'_, Core<H>> {
        self.core.lock()
    }

    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// The current thread, if it is controlled and has the token.
    pub fn holder(&self) -> Option<ThreadId> {
        let me = self.current_thread().filter(|_| self.is_on())?;
        (self.core().scheduler.current() == Some(me)).then_some(me)
    }

    /// The same, but a thread that lost the token outside gets it back first.
    pub fn present(&self, env: H::Env) -> Option<ThreadId> {
        self.holder().or_else(|| self.come_back(env).then(|| self.current_thread()).flatten())
    }

    /// Reports to the scheduler how many events the thread has recorded since the last report.
    fn account(&self, env: H::Env, core: &mut Core<H>, me: ThreadId) {
        let position = self.host.position(env);
        let events = (position.saturating_sub(core.counted) / Record::SIZE) as u64;
        core.counted = position;
        core.left = core.left.saturating_sub(events);
        core.scheduler.ran(me, events);
    }

    /// Sets the limit: the end of the budget or of the buffer, or where the turn is looked at. All events must have
    /// been reported.
    fn set_window(&self, env: H::Env, core: &Core<H>) {
        let records = usize::try_from(core.left).unwrap_or(CAPACITY).min(CAPACITY);
        let limit = (core.counted + records * Record::SIZE).min(core.buffer.end());
        let next_look = if self.settings.replaying { usize::MAX } else { core.next_look };
        let limit = limit.min(next_look.max(core.counted));
        self.host.set_window(env, core.counted, limit);
    }

    /// Sends a full buffer to the writer and continues in an empty one. All events must have been reported; the
    /// window must be set afterwards.
    fn next_buffer(&self, core: &mut Core<H>, me: ThreadId) {
        let mut full = std::mem::replace(&mut core.buffer, self.recorder.buffers.empty());
        full.filled = (core.counted - full.start()) / Record::SIZE;
        full.turns = core.scheduler.drain_turns();
        self.recorder.buffers.send(full);
        core.buffer.runs.push((0, me));
        core.counted = core.buffer.start();
        core.look_later(me);
    }

    /// Records something that did not come from a probe.
    fn emit(&self, env: H::Env, core: &mut Core<H>, me: ThreadId, record: Record) {
        self.account(env, core, me);
        if core.counted >= core.buffer.end() {
            self.next_buffer(core, me);
        }
        let (at, branches) = (core.counted, self.host.take_branches(env));
        core.buffer.put(at, Record { branches, ..record });
        core.counted += Record::SIZE;
        core.left = core.left.saturating_sub(1);
        core.scheduler.ran(me, 1);
        if core.counted >= core.buffer.end() {
            self.next_buffer(core, me);
        }
        self.set_window(env, core);
    }

    fn turn_end(&self) -> Moment {
        if self.settings.replaying { Moment::RecordedTurnEnd } else { Moment::TurnEnd }
    }

    /// The position has reached the limit. Others may run before this returns.
    pub fn limit_reached(&self, env: H::Env) {
        let Some(me) = self.current_thread() else { return };
        let mut core = self.core();
        if core.over {
            // Compiled code of a loop may have cached that it is recorded.
            self.host.set_window(env, core.buffer.start(), 0);
            return;
        }
        self.account(env, &mut core, me);
        let is_repeating = !self.settings.replaying && core.is_repeating(me);
        if core.counted >= core.buffer.end() {
            self.next_buffer(&mut core, me);
            self.set_window(env, &core);
        }
        if core.left == 0 && !self.host.may_stop(env, self.turn_end()) {
            core.left = GRACE;
        }
        if core.left > 0 && is_repeating && self.host.may_stop(env, self.turn_end()) {
            self.pass(env, core, me, Reason::Yielded);
        } else if core.left > 0 {
            self.set_window(env, &core);
        } else {
            let why = if core.stop_after { Reason::Plan } else { Reason::Budget };
            core.stop_after = false;
            self.pass(env, core, me, why);
        }
    }

    /// Gives the token to the next thread and returns with the next turn. The scheduler must have been informed of
    /// what happened.
    fn pass(
        &self,
        env: H::Env,
        mut core: Guard<'_, Core<H>>,
        me: ThreadId,
        why: Reason,
    ) -> Resumption {
        let leaves = core.leave && core.left == 0;
        core.slots[me.index()].away = leaves;
        let away = core.away();
        core.slots[me.index()].state = self.host.revoke(env, away);
        let next = self.decide(&mut core, why).filter(|&next| leaves || next != me);
        if leaves {
            // As in the recorded run: the thread continues without the token until its next event.
            drop(core);
            next.inspect(|&next| self.tokens.give(next));
            return Resumption::Free;
        }
        if core.granted.is_some_and(|turn| turn.thread == me) {
            return Resumption::Turn(self.take(env, &mut core, me));
        }
        // The woken thread may run at once, on this very processor, and needs the lock first.
        drop(core);
        next.inspect(|&next| self.tokens.give(next));
        self.wait_for_turn(env, me)
    }

    /// Decides which thread is next, and wakes it, unless it is `taker`, which is about to check by itself.
    fn hand_over(&self, core: &mut Core<H>, why: Reason, taker: Option<ThreadId>) {
        let next = self.decide(core, why).filter(|&next| taker != Some(next));
        next.inspect(|&next| self.tokens.give(next));
    }

    /// Decides which thread is next. That thread still has to be woken.
    #[must_use]
    fn decide(&self, core: &mut Core<H>, why: Reason) -> Option<ThreadId> {
        core.deadlock = None;
        Self::wake_ready(core);
        match core.scheduler.next(why, &self.host) {
            Decision::Run(turn) => {
                core.granted = Some(turn);
                return Some(turn.thread);
            }
            Decision::Deadlock(deadlock) => core.deadlock = Some(deadlock),
            Decision::Idle | Decision::Finished => {}
        }
        None
    }

    /// If no thread has the token, gives it to one that can run now.
    fn kick(&self, core: &mut Core<H>) {
        if core.scheduler.current().is_none() && core.granted.is_none() && !core.over {
            self.hand_over(core, Reason::Budget, None);
        }
    }

    /// Waits until the token is here, and takes it.
    fn wait_for_turn(&self, env: H::Env, me: ThreadId) -> Resumption {
        let mut checks = Checks::default();
        loop {
            match self.tokens.wait_for_turn_timeout(me, CHECK_INTERVAL) {
                Err(_) => return Resumption::Free,
                Ok(WaitResult::Turn) => {
                    let mut core = self.core();
                    if core.granted.is_some_and(|turn| turn.thread == me) {
                        return Resumption::Turn(self.take(env, &mut core, me));
                    }
                }
                Ok(WaitResult::TimedOut) => {
                    self.check_for_deadlock(env, &mut checks);
                }
            }
        }
    }

    /// Nothing happened for a while. If no thread has the token, continues without the threads that are outside. If
    /// no thread can ever run, that is a deadlock.
    fn check_for_deadlock(&self, env: H::Env, checks: &mut Checks) {
        checks.all += 1;
        let stuck = std::mem::take(&mut checks.stuck);
        let mut core = self.core();
        if core.over || core.scheduler.current().is_some() || core.granted.is_some() {
            return;
        }
        if let Some(deadlock) = core.deadlock.take() {
            if self.amend(env, &mut core, &deadlock) {
                self.kick(&mut core);
                return;
            }
            // Unless the threads wait for each other in a cycle, a thread that is not controlled may still wake one
            // of them. Such a thread also tells of the end of a child process, a while after it: the time counts from
            // then on.
            if !outside::has_children() {
                checks.stuck = stuck + 1;
            }
            if deadlock.certain || checks.stuck >= DEADLOCK_CHECKS {
                self.report_deadlock(env, core, &deadlock);
                return;
            }
        }
        // A schedule that is being replayed is not given up because a file or a socket is slower than in the recorded
        // run.
        if !self.settings.replaying || checks.all >= REPLAY_CHECKS {
            core.scheduler.stop_waiting();
        }
        self.kick(&mut core);
    }

    /// Begins the turn that was granted to the current thread.
    fn take(&self, env: H::Env, core: &mut Core<H>, me: ThreadId) -> Wake {
        let Some(turn) = core.granted.take() else { return Wake::Ready };
        self.bury(env, core);
        core.slots[me.index()].awaited = None;
        core.left = turn.budget;
        core.leave = turn.leave;
        let position = self.host.position(env);
        core.counted = position;
        if position >= core.buffer.end() {
            self.next_buffer(core, me);
        } else {
            let first = (position - core.buffer.start()) / Record::SIZE;
            core.begin_run(first, me);
            core.look_later(me);
        }
        let slot = &core.slots[me.index()];
        self.host.grant(env, me, &slot.thread, slot.state, core.away());
        self.set_window(env, core);
        turn.wake
    }

    /// The program has branched many times without an event, as a spin loop does. Other threads may run before this
    /// returns.
    pub fn spinning(&self, env: H::Env) {
        let Some(me) = self.current_thread() else { return };
        let mut core = self.core();
        if core.over
            || core.scheduler.current() != Some(me)
            || !self.host.may_stop(env, self.turn_end())
        {
            self.host.take_branches(env);
            return;
        }
        let record = Record { site: special::BRANCHES, ..Record::default() };
        self.emit(env, &mut core, me, record);
        self.pass(env, core, me, Reason::Yielded);
    }

    /// The runtime itself has written a record. A probe checks the limit after each of its records; the runtime does
    /// not, so the end of the turn is noticed only at the next record. That matters in a replay only: the recorded
    /// turn may have ended here, because a policy held the thread before its next event.
    fn end_if_due(&self, env: H::Env) {
        if !self.settings.replaying || self.holder().is_none() {
            return;
        }
        let may_stop = self.host.may_stop(env, Moment::RecordedTurnEndInside);
        let core = self.core();
        let due = core.left == 0 && !core.over && may_stop;
        drop(core);
        if due {
            self.limit_reached(env);
        }
    }
}
