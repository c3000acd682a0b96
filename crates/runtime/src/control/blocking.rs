//! Everything that blocks a controlled thread, or unblocks others: locks, waits, permits, time.

use untorn_schedule::{Arrival, Blocker, GoOrHold, LockKey, Nanos, Reason, ThreadId, Wake};

use super::{Control, Core, Resumption};
use crate::buffers::Record;
use crate::host::Host;
use crate::sync::Guard;

/// The virtual time that reading the clock takes, so that a loop that waits for a moment terminates.
const CLOCK_READING: u64 = 100;

/// How a thread wakes another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Gives it the permit that it parks for.
    Permit,
    /// Interrupts it if it waits.
    Interrupt,
}

/// The current thread while it has the token and holds the runtime's lock. While one exists, no code of the program may
/// run on this thread.
#[derive(Debug)]
pub struct Holder<'a, H: Host> {
    control: &'a Control<H>,
    core: Guard<'a, Core<H>>,
    env: H::Env,
    me: ThreadId,
}

impl<H: Host> Holder<'_, H> {
    /// Writes a record of what the thread does.
    pub fn record(&mut self, record: Record) {
        self.control.emit(self.env, &mut self.core, self.me, record);
    }

    /// Virtual time. It includes the events so far.
    pub fn now(&mut self) -> Nanos {
        self.control.account(self.env, &mut self.core, self.me);
        self.core.scheduler.now()
    }

    /// Wakes one or all of the threads that wait on a lock. Returns how many.
    pub fn notify(&mut self, lock: LockKey, all: bool) -> usize {
        self.core.scheduler.notify(lock, all)
    }

    /// Whether a thread of the host has ended.
    pub fn has_ended(&self, is_it: impl Fn(&H::Thread) -> bool) -> bool {
        self.core.slots.iter().any(|slot| slot.ended && is_it(&slot.thread))
    }

    /// Whether a thread of the host is controlled, or was.
    pub fn knows(&self, is_it: impl Fn(&H::Thread) -> bool) -> bool {
        self.core.slots.iter().any(|slot| is_it(&slot.thread))
    }

    /// Blocks the thread and lets others run until it can continue.
    pub fn block(mut self, on: Blocker) -> Resumption {
        self.control.account(self.env, &mut self.core, self.me);
        self.core.scheduler.block(self.me, on);
        self.control.pass(self.env, self.core, self.me, Reason::Blocked)
    }

    /// The same for a lock that another thread holds. Returns `wanted` when the lock is free: the caller then marks it
    /// as taken in its model. Returns `None` if control has ended.
    pub fn block_on_lock(mut self, lock: LockKey, wanted: H::Lock) -> Option<H::Lock> {
        let (control, me) = (self.control, self.me);
        self.core.slots[me.index()].wanted = Some(wanted);
        match self.block(Blocker::Lock(lock)) {
            Resumption::Turn(_) => control.core().slots[me.index()].wanted.take(),
            Resumption::Free => None,
        }
    }

    /// Blocks the thread until it gets a permit; not at all if it has one.
    pub fn park(mut self, deadline: Option<Nanos>) -> Resumption {
        self.control.account(self.env, &mut self.core, self.me);
        self.core.scheduler.block(self.me, Blocker::Park { deadline });
        if self.core.scheduler.blocked_on(self.me).is_none() {
            return Resumption::Turn(Wake::Ready);
        }
        self.control.pass(self.env, self.core, self.me, Reason::Blocked)
    }

    /// Lets other threads run first.
    pub fn yield_turn(mut self) -> Resumption {
        self.control.account(self.env, &mut self.core, self.me);
        self.control.pass(self.env, self.core, self.me, Reason::Yielded)
    }

    /// Releases the runtime's lock. In a replay, other threads may run before this returns.
    pub fn done(self) {
        let (control, env) = (self.control, self.env);
        drop(self.core);
        control.end_if_due(env);
    }
}

impl<H: Host> Control<H> {
    /// For the thread that has the token; see [`Control::present`].
    pub fn hold(&self, env: H::Env, me: ThreadId) -> Holder<'_, H> {
        Holder { control: self, core: self.core(), env, me }
    }

    /// Writes a record of what the current thread, which has the token, has done.
    pub fn record(&self, env: H::Env, me: ThreadId, record: Record) {
        let mut holder = self.hold(env, me);
        holder.record(record);
        holder.done();
    }

    /// Wakes a thread by a permit or an interrupt. Any thread may do so; a controlled one writes a record. False if
    /// the thread to be woken is not controlled.
    pub fn signal(
        &self,
        env: H::Env,
        is_it: impl Fn(&H::Thread) -> bool,
        signal: Signal,
        record: impl FnOnce(ThreadId) -> Record,
    ) -> bool {
        if !self.is_on() {
            return false;
        }
        let holder = self.present(env);
        let mut core = self.core();
        let Some(target) = core.find(is_it).filter(|_| !core.over) else { return false };
        if let Some(me) = holder {
            self.emit(env, &mut core, me, record(target));
        }
        match signal {
            Signal::Permit => core.scheduler.unpark(target),
            Signal::Interrupt => core.scheduler.interrupt(target),
        }
        self.kick(&mut core);
        drop(core);
        self.end_if_due(env);
        true
    }

    /// Why a controlled thread cannot go on; `None` if it can, also if it requests a lock that is free.
    pub fn blocked_on(&self, is_it: impl Fn(&H::Thread) -> bool) -> Option<Blocker> {
        if !self.is_on() {
            return None;
        }
        let core = self.core();
        let thread = core.find(is_it)?;
        match core.scheduler.blocked_on(thread)? {
            Blocker::Lock(lock) if self.host.owner(lock).is_none_or(|owner| owner == thread) => {
                None
            }
            blocker => Some(blocker),
        }
    }

    /// Wakes threads that wait, sleep, join or wait for a descriptor, without a record: what they wait for is not there.
    /// Any thread may call it. In a replay it has to be called where it was called in the recorded run.
    pub fn interrupt(&self, is_it: impl Fn(&H::Thread) -> bool) {
        let mut core = self.core();
        if core.over {
            return;
        }
        for index in 0..core.slots.len() {
            if core.slots[index].ended || !is_it(&core.slots[index].thread) {
                continue;
            }
            let thread = ThreadId(index as u32);
            core.slots[index].interrupted = core.slots[index].awaited.is_some();
            core.scheduler.interrupt(thread);
        }
        self.kick(&mut core);
    }

    /// Before an event that the plan names, or that is announced to the policy: waits until the event is permitted.
    pub fn arrive(&self, env: H::Env, arrival: &Arrival<'_>) {
        let Some(me) = self.present(env) else { return };
        // A recorded schedule never stops it where it must not be stopped.
        if self.settings.asks_policy
            && !self.settings.replaying
            && !self.host.may_stop(env, self.turn_end())
        {
            let mut core = self.core();
            self.account(env, &mut core, me);
            core.scheduler.passes(me);
            return;
        }
        loop {
            let mut core = self.core();
            self.account(env, &mut core, me);
            match core.scheduler.arrives(me, arrival) {
                GoOrHold::Go { stop_after } => {
                    if stop_after {
                        core.left = 1;
                        core.stop_after = true;
                        self.set_window(env, &core);
                    }
                    return;
                }
                GoOrHold::Hold => {
                    if self.pass(env, core, me, Reason::Held) == Resumption::Free {
                        return;
                    }
                }
            }
        }
    }

    /// Virtual time, for the program. Reading it takes some.
    pub fn clock(&self, env: H::Env) -> Option<Nanos> {
        let me = self.present(env)?;
        let mut core = self.core();
        self.account(env, &mut core, me);
        core.clock_readings += 1;
        let readings = Nanos(core.clock_readings * CLOCK_READING);
        Some(core.scheduler.now().after(readings))
    }
}
