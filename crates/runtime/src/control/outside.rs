//! Threads that lose the token where the runtime cannot see them: foreign locks, files, sockets.

use untorn_schedule::{Blocker, LockKey, Reason, ThreadId};

use super::{Control, Core, Resumption};
use crate::host::Host;

impl<H: Host> Control<H> {
    /// The current thread is about to block on a lock that is free in the model: lets the others run meanwhile.
    /// [`Control::come_back`] ends it.
    pub fn leave_contended(&self, env: H::Env) {
        let Some(me) = self.holder() else { return };
        let mut core = self.core();
        core.tally.contended += 1;
        self.account(env, &mut core, me);
        self.leave(env, &mut core, me);
    }

    /// The current thread is about to wait for something outside of the program: lets the others run meanwhile.
    /// [`Control::come_back`] ends it.
    pub fn leave_outside(&self, env: H::Env) {
        let Some(me) = self.holder() else { return };
        let mut core = self.core();
        core.tally.awaited += 1;
        self.account(env, &mut core, me);
        self.leave(env, &mut core, me);
    }

    /// An uncontrolled thread notified. Threads that wait in the scheduler are woken only here. `lock` is called only
    /// if some thread waits.
    pub fn notified_outside(&self, lock: impl FnOnce() -> LockKey, all: bool) {
        if !self.is_on() || self.current_thread().is_some() {
            return;
        }
        let mut core = self.core();
        let waits = |thread| {
            matches!(core.scheduler.blocked_on(ThreadId(thread)), Some(Blocker::Wait { .. }))
        };
        if core.over || !(0..core.slots.len() as u32).any(waits) {
            return;
        }
        core.scheduler.notify(lock(), all);
        self.kick(&mut core);
    }

    /// Takes the token from a thread that continues, or stays blocked, without it.
    pub(super) fn leave(&self, env: H::Env, core: &mut Core<H>, me: ThreadId) {
        core.slots[me.index()].away = true;
        let away = core.away();
        core.slots[me.index()].state = self.host.revoke(env, away);
        core.scheduler.block(me, Blocker::Outside);
        self.hand_over(core, Reason::Outside, None);
    }

    /// A controlled thread that lost the token requests it; false if the thread is not controlled or has it.
    pub fn come_back(&self, env: H::Env) -> bool {
        let Some(me) = self.current_thread().filter(|_| self.is_on()) else { return false };
        let mut core = self.core();
        if core.over || !core.slots[me.index()].away {
            return false;
        }
        core.slots[me.index()].away = false;
        core.scheduler.returned(me);
        self.kick(&mut core);
        drop(core);
        matches!(self.wait_for_turn(env, me), Resumption::Turn(_))
    }

    /// The watchdog takes the token from a thread that is blocked in the operating system.
    pub fn steal(&self, env: H::Env, from: ThreadId) {
        let mut core = self.core();
        if core.over || core.scheduler.current() != Some(from) || core.granted.is_some() {
            return;
        }
        core.tally.stolen += 1;
        self.account(env, &mut core, from);
        self.leave(env, &mut core, from);
    }

    /// The thread that has the token, and its progress, for the watchdog.
    pub(crate) fn pulse(&self) -> Option<Pulse> {
        let core = self.core.try_lock()?;
        let thread = core.scheduler.current().filter(|_| !core.over && core.granted.is_none())?;
        let outcome = core.scheduler.outcome();
        let tid = core.slots.get(thread.index())?.tid;
        Some(Pulse { thread, tid, turns: outcome.turns, counted: core.counted })
    }
}

/// What the watchdog compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pulse {
    pub(crate) thread: ThreadId,
    pub(crate) tid: i32,
    turns: u64,
    counted: usize,
}

/// Whether a process that this one has started still runs.
pub(super) fn has_children() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.into_iter().any(|list| !list.trim().is_empty())
}
