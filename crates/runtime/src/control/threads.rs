//! Start and end of threads.

use std::sync::atomic::Ordering;

use rustix::thread::{CpuSet, gettid, sched_getcpu, sched_setaffinity};
use untorn_schedule::{LockKey, Reason, ThreadId};

use super::core::Slot;
use super::{Control, Core};
use crate::buffers::{Record, special};
use crate::host::Host;
use crate::sync::Lock;

/// The names of all controlled threads, in the order of their numbers. The thread that writes the trace reads them.
#[derive(Debug, Default)]
pub struct ThreadNames(Lock<Vec<String>>);

impl ThreadNames {
    pub fn get(&self, thread: usize) -> Option<String> {
        self.0.lock().get(thread).cloned()
    }

    fn push(&self, name: &str) {
        self.0.lock().push(name.to_owned());
    }
}

impl<H: Host> Control<H> {
    /// The program begins: the current thread is its first.
    pub fn begin(&self, env: H::Env, name: &str, thread: H::Thread) {
        if self.is_on() {
            return;
        }
        let mut core = self.core();
        let me = self.add(&mut core, name, thread, false);
        core.slots[me.index()].tid = tid();
        self.set_current_thread(Some(me));
        self.pin();
        self.host.set_window(env, core.buffer.start(), core.buffer.start());
        self.on.store(true, Ordering::Release);
        // There is only this thread: the first turn is its own.
        self.hand_over(&mut core, Reason::Budget, Some(me));
        self.take(env, &mut core, me);
    }

    fn add(&self, core: &mut Core<H>, name: &str, thread: H::Thread, daemon: bool) -> ThreadId {
        let id = core.scheduler.spawn(name);
        core.slots.push(Slot::new(thread, daemon));
        self.thread_names.push(name);
        id
    }

    /// Before the current thread, which has the token, starts another one.
    pub fn fork(
        &self,
        env: H::Env,
        me: ThreadId,
        name: &str,
        thread: H::Thread,
        daemon: bool,
    ) -> ThreadId {
        let mut core = self.core();
        let child = self.add(&mut core, name, thread, daemon);
        let record = Record { site: special::FORK, value: u64::from(child.0), ..Record::default() };
        self.emit(env, &mut core, me, record);
        child
    }

    /// The thread could not be started.
    pub fn did_not_start(&self, child: ThreadId) {
        let mut core = self.core();
        core.slots[child.index()].ended = true;
        core.scheduler.abandon(child);
    }

    /// An uncontrolled thread starts.
    pub fn uncontrolled_thread(&self) {
        self.core().tally.uncontrolled += 1;
    }

    /// A thread starts that cannot be controlled: it moves between threads of the system. True if it is the first.
    pub fn virtual_thread(&self) -> bool {
        let mut core = self.core();
        core.tally.virtual_threads += 1;
        core.tally.virtual_threads == 1
    }

    /// A new thread, before it runs anything: waits for its first turn. False if it is not controlled.
    ///
    /// A run may be over before a thread that it has started gets here. If the process goes on with other runs, that
    /// thread waits for ever, like all that are left behind.
    pub fn started(&self, env: H::Env, is_it: impl Fn(&H::Thread) -> bool) -> bool {
        let mut core = self.core();
        let is_left_behind = core.over && self.settings.stays;
        if !(self.is_on() || is_left_behind) {
            return false;
        }
        let Some(me) = core.find(is_it).filter(|me| core.slots[me.index()].tid == 0) else {
            return false;
        };
        core.slots[me.index()].tid = tid();
        drop(core);
        self.set_current_thread(Some(me));
        self.pin();
        self.wait_for_turn(env, me);
        true
    }

    /// The host's data of a controlled thread.
    pub fn with_thread<T>(&self, thread: ThreadId, body: impl FnOnce(&H::Thread) -> T) -> T {
        body(&self.core().slots[thread.index()].thread)
    }

    /// The current thread has run all of its code. Threads that wait on the lock that `joined_on` returns are woken.
    pub fn ended(&self, env: H::Env, joined_on: impl FnOnce(&H::Thread) -> Option<LockKey>) {
        let Some(me) = self.current_thread() else { return };
        if !self.is_on() {
            return;
        }
        self.present(env);
        self.set_current_thread(None);
        let mut core = self.core();
        if core.over {
            return;
        }
        self.account(env, &mut core, me);
        let slot = &mut core.slots[me.index()];
        slot.ended = true;
        let lock = joined_on(&slot.thread);
        core.dying = Some(me);
        core.scheduler.end(me);
        if let Some(lock) = lock {
            core.scheduler.notify(lock, true);
        }
        self.host.revoke(env, core.away());
        if core.slots.iter().all(|slot| slot.ended || slot.daemon) {
            // Only daemons are left. The program shuts down, and what they do then depends on timing: it is not part
            // of the run.
            if core.slots.iter().all(|slot| slot.ended) {
                // No thread is left: a plan that still waits for one reports that now.
                core.scheduler.next(Reason::Ended, &self.host);
            }
            self.let_everybody_go(env, core);
        } else {
            self.hand_over(&mut core, Reason::Ended, None);
        }
    }

    /// A thread that has ended for the runtime soon ends for the program, too. Waits for that: the program can ask
    /// whether the thread is alive, and the answer must not depend on timing.
    pub(super) fn bury(&self, env: H::Env, core: &mut Core<H>) {
        if let Some(dead) = core.dying.take() {
            self.host.bury(env, dead, &mut core.slots[dead.index()].thread);
        }
    }

    /// The current thread has waited for another one to end.
    pub fn joined(&self, env: H::Env, is_it: impl Fn(&H::Thread) -> bool) {
        let Some(me) = self.present(env) else { return };
        let mut core = self.core();
        let ended = core.slots.iter().position(|slot| slot.ended && is_it(&slot.thread));
        if let Some(child) = ended {
            let record = Record { site: special::JOIN, value: child as u64, ..Record::default() };
            self.emit(env, &mut core, me, record);
        }
        drop(core);
        self.end_if_due(env);
    }

    /// Binds the current thread to the processor that all controlled threads share.
    fn pin(&self) {
        let Some(processor) = self.settings.processor else { return };
        let mut set = CpuSet::new();
        set.set(processor);
        // Without it context switches are slower, nothing else.
        let _ = sched_setaffinity(None, &set);
    }
}

fn tid() -> i32 {
    gettid().as_raw_nonzero().get()
}

/// The processor that the current thread runs on; `None` if there is only one anyway.
pub fn current_processor() -> Option<usize> {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    (count > 1).then(sched_getcpu)
}
