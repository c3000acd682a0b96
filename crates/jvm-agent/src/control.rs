//! Who runs: the token, its hand-over, and everything that makes a controlled thread stop.
//!
//! All state is in one mutex, [`Core`], which is taken only when the thread with the token enters native code, when
//! a thread comes back from outside, and by the watchdog. The thread with the token alone moves the
//! position in the buffer; whoever takes the token over finds it where the other left it.

mod blocking;
mod core;
mod ending;
mod outside;
mod ready;
mod threads;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use untorn_schedule::{Next, Reason, ThreadId, Tokens, Waited, Wake};

use crate::buffers::{Buffers, CAPACITY, Record};
use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::locks::LockWords;
use crate::natives::Originals;
use crate::probe::Probe;
use crate::recorder::Recorder;

pub(crate) use self::blocking::Blocked;
pub(crate) use self::core::{Core, Interventions};
pub(crate) use self::outside::Pulse;
pub(crate) use self::ready::Awaited;

/// Events that a thread gets beyond its budget while it must not be stopped.
const GRACE: u64 = 64;

/// How long nothing may happen before a waiting thread looks again: nobody can run, but somebody is
/// outside, or might be woken by a thread that is not ours.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

thread_local! {
    /// The number of the current thread, if it is controlled.
    static ME: Cell<Option<ThreadId>> = const { Cell::new(None) };
    /// The agent itself enters monitors: contention is then not the program's.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// How a thread goes on after it gave the token away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Resumed {
    /// It has the token again.
    Turn(Wake),
    /// Control has ended: it runs free, and must do for real what it asked for.
    Free,
}

pub(crate) struct Control {
    pub(crate) core: Mutex<Core>,
    pub(crate) tokens: Tokens,
    pub(crate) locks: LockWords,
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) thread_names: Arc<Mutex<Vec<String>>>,
    pub(crate) jvmti: Jvmti,
    pub(crate) probe: OnceLock<Probe>,
    pub(crate) originals: Originals,
    pub(crate) recorder: Recorder,
    /// Where the command line looks for how far the run is.
    pub(crate) progress: PathBuf,
    /// A recorded schedule is repeated.
    pub(crate) replaying: bool,
    /// Threads ask the policy before certain events, rather than a plan.
    pub(crate) asks_policy: bool,
    /// The program runs under control.
    pub(crate) on: AtomicBool,
    /// The processor that controlled threads share.
    pub(crate) processor: OnceLock<Option<usize>>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("on", &self.on).finish_non_exhaustive()
    }
}

pub(crate) fn me() -> Option<ThreadId> {
    // The slot is gone while the thread is torn down; it is not controlled any more then.
    ME.try_with(Cell::get).unwrap_or(None)
}

pub(crate) fn set_me(thread: Option<ThreadId>) {
    let _ = ME.try_with(|me| me.set(thread));
}

fn busy() -> bool {
    BUSY.try_with(Cell::get).unwrap_or(true)
}

impl Control {
    pub(crate) fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    /// The current thread, if it is controlled and has the token.
    pub(crate) fn holder(&self) -> Option<ThreadId> {
        let me = me().filter(|_| self.is_on())?;
        (self.core().scheduler.current() == Some(me)).then_some(me)
    }

    /// The same, for a thread that is about to do something: if it lost the token outside, it gets it back first.
    pub(crate) fn present(&self, jni: Jni) -> Option<ThreadId> {
        self.holder().or_else(|| self.come_back(jni).then(me).flatten())
    }

    pub(crate) fn probe(&self) -> Option<&Probe> {
        self.probe.get()
    }

    /// Tells the scheduler how many events the thread has left since it was last told.
    pub(crate) fn account(&self, jni: Jni, core: &mut Core, me: ThreadId) {
        let Some(probe) = self.probe() else { return };
        let pos = probe.pos(jni);
        let events = (pos.saturating_sub(core.counted) / Record::SIZE) as u64;
        core.counted = pos;
        core.left = core.left.saturating_sub(events);
        core.scheduler.ran(me, events);
    }

    /// Where the program has to ask next: the end of the budget or of the buffer.
    fn set_limit(&self, jni: Jni, core: &Core) {
        let Some(probe) = self.probe() else { return };
        let records = usize::try_from(core.left).unwrap_or(CAPACITY).min(CAPACITY);
        let limit = (core.counted + records * Record::SIZE).min(core.buffer.end());
        probe.set_limit(jni, limit);
    }

    /// Sends a full buffer to the writer and goes on in an empty one. Everything is accounted for.
    pub(crate) fn next_buffer(&self, jni: Jni, core: &mut Core, me: ThreadId) {
        let Some(probe) = self.probe() else { return };
        let mut full = std::mem::replace(&mut core.buffer, self.buffers.empty());
        full.filled = (core.counted - full.start()) / Record::SIZE;
        full.turns = core.scheduler.drain_turns();
        self.buffers.send(full);
        core.buffer.runs.push((0, me));
        core.counted = core.buffer.start();
        probe.set_pos(jni, core.counted);
    }

    /// Records something that native code did.
    pub(crate) fn emit(&self, jni: Jni, core: &mut Core, me: ThreadId, record: Record) {
        let Some(probe) = self.probe() else { return };
        self.account(jni, core, me);
        if core.counted >= core.buffer.end() {
            self.next_buffer(jni, core, me);
        }
        let branches = probe.take_branches(jni);
        let at = core.counted;
        core.buffer.put(at, Record { branches, ..record });
        probe.set_pos(jni, at + Record::SIZE);
        self.account(jni, core, me);
        if core.counted >= core.buffer.end() {
            self.next_buffer(jni, core, me);
        }
        self.set_limit(jni, core);
    }

    /// The limit is reached.
    pub(crate) fn turn(&self, jni: Jni) {
        let (Some(me), Some(probe)) = (me(), self.probe()) else { return };
        let mut core = self.core();
        if core.over {
            // The compiled code of a loop may believe for a while that it is still recorded.
            probe.set_pos(jni, core.buffer.start());
            return;
        }
        self.account(jni, &mut core, me);
        if core.counted >= core.buffer.end() {
            self.next_buffer(jni, &mut core, me);
        }
        if core.left == 0 && probe.keeps_token(jni, self.replaying) {
            core.left = GRACE;
        }
        if core.left > 0 {
            self.set_limit(jni, &core);
        } else {
            let why = if core.stop_after { Reason::Plan } else { Reason::Budget };
            core.stop_after = false;
            self.pass(jni, core, me, why);
        }
    }

    /// Gives the token to whoever is next and comes back with the next turn. What happened must have been told
    /// to the scheduler.
    pub(crate) fn pass(
        &self,
        jni: Jni,
        mut core: MutexGuard<'_, Core>,
        me: ThreadId,
        why: Reason,
    ) -> Resumed {
        let Some(probe) = self.probe() else { return Resumed::Free };
        let leaves = core.leave && core.left == 0;
        core.slots[me.index()].own = probe.own(jni);
        let next = self.decide(&mut core, why).filter(|&next| leaves || next != me);
        if leaves {
            // As when it was recorded: the thread goes on without the token until its next event.
            core.slots[me.index()].away = true;
            let away = core.slots.iter().filter(|slot| slot.away).count();
            probe.set_away(jni, away);
            if core.scheduler.current().is_none() {
                probe.nobody(jni);
            }
            drop(core);
            next.inspect(|&next| self.tokens.give(next));
            return Resumed::Free;
        }
        if core.granted.is_some_and(|turn| turn.thread == me) {
            return Resumed::Turn(self.take(jni, &mut core, me));
        }
        // Who is woken may run at once, on this very processor, and needs the core first of all.
        drop(core);
        next.inspect(|&next| self.tokens.give(next));
        self.wait_for_turn(jni, me)
    }

    /// Decides who is next, and wakes that thread, unless it is `taker`, who is about to look.
    pub(crate) fn hand_over(&self, core: &mut Core, why: Reason, taker: Option<ThreadId>) {
        let next = self.decide(core, why).filter(|&next| taker != Some(next));
        next.inspect(|&next| self.tokens.give(next));
    }

    /// Decides who is next. That thread still has to be woken.
    #[must_use]
    fn decide(&self, core: &mut Core, why: Reason) -> Option<ThreadId> {
        core.stuck = None;
        Self::see_who_is_ready(core);
        match core.scheduler.next(why, &self.locks) {
            Next::Run(turn) => {
                core.granted = Some(turn);
                return Some(turn.thread);
            }
            Next::Deadlock(deadlock) => core.stuck = Some(deadlock),
            Next::Idle | Next::Finished => {}
        }
        None
    }

    /// If nobody has the token, looks whether somebody can have it now.
    pub(crate) fn kick(&self, core: &mut Core) {
        if core.scheduler.current().is_none() && core.granted.is_none() && !core.over {
            self.hand_over(core, Reason::Budget, None);
        }
    }

    /// Waits until the token is here, and takes it.
    pub(crate) fn wait_for_turn(&self, jni: Jni, me: ThreadId) -> Resumed {
        let mut looks = 0;
        loop {
            match self.tokens.wait_for_turn_timeout(me, LOOK_AGAIN) {
                Err(_) => return Resumed::Free,
                Ok(Waited::Turn) => {
                    let mut core = self.core();
                    if core.granted.is_some_and(|turn| turn.thread == me) {
                        return Resumed::Turn(self.take(jni, &mut core, me));
                    }
                }
                Ok(Waited::TimedOut) => {
                    looks += 1;
                    self.look_again(jni, looks);
                }
            }
        }
    }

    /// Nothing happened for a while. If nobody has the token, do what can be done without those who are outside;
    /// if nobody ever can have it, that is a deadlock.
    fn look_again(&self, jni: Jni, looks: u32) {
        let mut core = self.core();
        if core.over || core.scheduler.current().is_some() || core.granted.is_some() {
            return;
        }
        if let Some(deadlock) = core.stuck.take() {
            if self.amend(jni, &mut core, &deadlock) {
                self.kick(&mut core);
                return;
            }
            // A thread that is not ours may still help, unless the threads wait for each other; and one that waits
            // for a child process is woken when that ends, however long it takes.
            if deadlock.certain || looks >= 10 && !outside::has_children() {
                self.report_deadlock(jni, core, &deadlock);
                return;
            }
        }
        // A schedule that is being repeated is not given up because a file or a socket is slower than it was.
        if !self.replaying || looks >= 100 {
            core.scheduler.stop_waiting();
        }
        self.kick(&mut core);
    }

    /// Begins the turn that was granted to the current thread.
    fn take(&self, jni: Jni, core: &mut Core, me: ThreadId) -> Wake {
        let (Some(turn), Some(probe)) = (core.granted.take(), self.probe()) else {
            return Wake::Ready;
        };
        self.bury(jni, core);
        core.slots[me.index()].awaited = None;
        core.left = turn.budget;
        core.leave = turn.leave;
        let pos = probe.pos(jni);
        core.counted = pos;
        if pos >= core.buffer.end() {
            self.next_buffer(jni, core, me);
        } else {
            let first = (pos - core.buffer.start()) / Record::SIZE;
            core.begin_run(first, me);
        }
        let slot = &core.slots[me.index()];
        probe.give(jni, slot.thread.0, me.0 + 1, slot.own);
        probe.set_away(jni, core.slots.iter().filter(|slot| slot.away).count());
        self.set_limit(jni, core);
        turn.wake
    }

    /// Whether the program spins: it branches and branches and nothing happens.
    pub(crate) fn spinning(&self, jni: Jni) {
        let (Some(me), Some(probe)) = (me(), self.probe()) else { return };
        let mut core = self.core();
        if core.over
            || core.scheduler.current() != Some(me)
            || probe.keeps_token(jni, self.replaying)
        {
            probe.take_branches(jni);
            return;
        }
        let record = Record { site: crate::buffers::special::BRANCHES, ..Record::default() };
        self.emit(jni, &mut core, me, record);
        self.pass(jni, core, me, Reason::Yielded);
    }
}
