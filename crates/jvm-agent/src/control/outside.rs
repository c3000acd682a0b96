//! Threads that lose the token where we cannot see them: foreign monitors, files, sockets.

use jvmti_bindings::sys::jni::jobject;
use untorn_schedule::{Blocker, LockKey, Reason, ThreadId};

use super::{Control, Core, Resumed, busy, me};
use crate::jni::Jni;

impl Control {
    /// The thread is about to block on a monitor that the model takes to be free, because code that is not
    /// rewritten holds it: lets the others run meanwhile.
    pub(crate) fn contended_enter(&self, jni: Jni) {
        if busy() {
            return;
        }
        let Some(me) = self.holder() else { return };
        let mut core = self.core();
        core.tally.contended += 1;
        self.account(jni, &mut core, me);
        self.leave(jni, &mut core, me);
    }

    /// A thread that is not ours notified. Who waits in the scheduler hears of it only from us.
    pub(crate) fn notified_outside(&self, object: jobject, all: bool) {
        if !self.is_on() || me().is_some() {
            return;
        }
        let mut core = self.core();
        let waits = |thread| {
            matches!(core.scheduler.blocked_on(ThreadId(thread)), Some(Blocker::Wait { .. }))
        };
        if core.over || !(0..core.slots.len() as u32).any(waits) {
            return;
        }
        // Only now: identities count up as they are asked for, and those of others must not depend on this.
        let lock = self.jvmti.identity(object);
        core.scheduler.notify(LockKey(lock.into()), all);
        self.kick(&mut core);
    }

    /// Takes the token from a thread that goes on, or stays blocked, without it.
    pub(super) fn leave(&self, jni: Jni, core: &mut Core, me: ThreadId) {
        let Some(probe) = self.probe() else { return };
        core.slots[me.index()].own = probe.own(jni);
        core.slots[me.index()].away = true;
        probe.set_away(jni, core.slots.iter().filter(|slot| slot.away).count());
        probe.nobody(jni);
        core.scheduler.block(me, Blocker::Outside);
        self.hand_over(core, Reason::Outside, None);
    }

    /// A controlled thread that lost the token wants it back; false if the thread is not controlled or has it.
    pub(crate) fn come_back(&self, jni: Jni) -> bool {
        let Some(me) = me().filter(|_| self.is_on()) else { return false };
        let mut core = self.core();
        if core.over || !core.slots[me.index()].away {
            return false;
        }
        core.slots[me.index()].away = false;
        core.scheduler.returned(me);
        self.kick(&mut core);
        drop(core);
        matches!(self.wait_for_turn(jni, me), Resumed::Turn(_))
    }

    pub(crate) fn contended_entered(&self, jni: Jni) {
        if !busy() {
            self.come_back(jni);
        }
    }

    /// The watchdog takes the token from a thread that is blocked in the operating system.
    pub(crate) fn steal(&self, jni: Jni, from: ThreadId) {
        let mut core = self.core();
        if core.over || core.scheduler.current() != Some(from) || core.granted.is_some() {
            return;
        }
        core.tally.stolen += 1;
        self.account(jni, &mut core, from);
        self.leave(jni, &mut core, from);
    }

    /// The thread that has the token, and how far it is: what the watchdog watches.
    pub(crate) fn pulse(&self) -> Option<Pulse> {
        let core = self.core.try_lock().ok()?;
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
