//! Threads come and go.
#![allow(unsafe_code)]

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni::jobject;
use untorn_schedule::{LockKey, Reason, ThreadId};

use super::core::{Global, Slot};
use super::{Control, Core, me, set_me};
use crate::buffers::{Record, special};
use crate::jni::Jni;
use crate::jvmti::ThreadFacts;
use crate::probe::ProbeState;

/// Branches without an event after which a thread is taken to spin.
const SPIN: i32 = 20_000;

impl Control {
    /// The program begins: the current thread is its first.
    pub(crate) fn begin(&self, jni: Jni, thread: jobject) {
        let Some(probe) = self.probe() else { return };
        if self.on.load(Ordering::Acquire) {
            return;
        }
        probe.set_locks(jni, self.locks.base());
        probe.set_spin(jni, SPIN);
        let mut core = self.core();
        let name = self.jvmti.thread_facts(thread).map_or("main".to_owned(), |facts| facts.name);
        let me = self.add(jni, &mut core, thread, &name);
        core.slots[me.index()].tid = tid();
        set_me(Some(me));
        self.pin();
        probe.set_pos(jni, core.buffer.start());
        self.on.store(true, Ordering::Release);
        // There is only this thread: the first turn is its own.
        self.hand_over(&mut core, Reason::Budget, Some(me));
        self.take(jni, &mut core, me);
    }

    fn add(&self, jni: Jni, core: &mut Core, thread: jobject, name: &str) -> ThreadId {
        let id = core.scheduler.spawn(name);
        let object = self.jvmti.identity(thread);
        core.slots.push(Slot {
            thread: Global(jni.global_ref(thread)),
            object,
            tid: 0,
            own: ProbeState::default(),
            away: false,
            ended: false,
            daemon: false,
            wanted: None,
            wait_site: 0,
            awaited: None,
        });
        self.thread_names.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        id
    }

    /// Before a thread is started: it becomes controlled if its parent is, unless it belongs to the JDK.
    pub(crate) fn starts(&self, jni: Jni, thread: jobject) -> Option<ThreadId> {
        let Some(me) = self.present(jni) else {
            if self.is_on() {
                self.core().tally.uncontrolled += 1;
            }
            return None;
        };
        let ThreadFacts { name, group, daemon } = self.jvmti.thread_facts(thread).ok()?;
        if group == "system" || group == "InnocuousThreadGroup" {
            self.core().tally.uncontrolled += 1;
            return None;
        }
        let mut core = self.core();
        let child = self.add(jni, &mut core, thread, &name);
        core.slots[child.index()].daemon = daemon;
        let record = Record { site: special::FORK, value: u64::from(child.0), ..Record::default() };
        self.emit(jni, &mut core, me, record);
        Some(child)
    }

    /// The JVM could not start the thread.
    pub(crate) fn did_not_start(&self, child: ThreadId) {
        let mut core = self.core();
        core.slots[child.index()].ended = true;
        core.scheduler.abandon(child);
    }

    /// A new thread, before it runs anything: waits for its first turn. False if it is not controlled.
    pub(crate) fn started(&self, jni: Jni, thread: jobject) -> bool {
        if !self.is_on() {
            return false;
        }
        let mut core = self.core();
        let Some(me) = core.find(jni, thread).filter(|me| core.slots[me.index()].tid == 0) else {
            return false;
        };
        core.slots[me.index()].tid = tid();
        drop(core);
        set_me(Some(me));
        self.pin();
        self.wait_for_turn(jni, me);
        true
    }

    /// Whether the object is that of the current thread, as far as that is controlled.
    pub(crate) fn is_current(&self, jni: Jni, thread: jobject) -> bool {
        me().is_some_and(|me| jni.is_same(self.core().slots[me.index()].thread.0, thread))
    }

    /// A virtual thread runs on whatever thread carries it.
    pub(crate) fn unseen_virtual_thread(&self) {
        let mut core = self.core();
        core.tally.virtual_threads += 1;
        if core.tally.virtual_threads == 1 {
            drop(core);
            self.recorder.note(
                "virtual threads are neither recorded nor controlled without -XX:-VMContinuations"
                    .to_owned(),
            );
        }
    }

    /// A thread has run all of its code.
    pub(crate) fn ended(&self, jni: Jni) {
        let Some(me) = me() else { return };
        if !self.is_on() {
            return;
        }
        self.present(jni);
        set_me(None);
        let mut core = self.core();
        if core.over {
            return;
        }
        self.account(jni, &mut core, me);
        let slot = &mut core.slots[me.index()];
        slot.ended = true;
        let object = slot.object;
        core.dying = Some(me);
        core.scheduler.end(me);
        // Whoever joins it waits on its object.
        core.scheduler.notify(LockKey(object.into()), true);
        if let Some(probe) = self.probe() {
            probe.nobody(jni);
        }
        if core.slots.iter().all(|slot| slot.ended || slot.daemon) {
            // The JVM begins to shut down, and the threads that are left run into that wherever they happen to be. What
            // they do then is no part of the run.
            if core.slots.iter().all(|slot| slot.ended) {
                // Nobody is left: a plan that waits for somebody can say so now.
                core.scheduler.next(Reason::Ended, &self.locks);
            }
            self.let_everybody_go(jni, core);
        } else {
            self.hand_over(&mut core, Reason::Ended, None);
        }
    }

    /// A thread that has ended for us is soon dead for the JVM, too. Waits for that, because the program can ask
    /// whether the thread is alive, and the answer must not depend on the moment.
    pub(super) fn bury(&self, jni: Jni, core: &mut Core) {
        let Some(dead) = core.dying.take() else { return };
        let slot = &core.slots[dead.index()];
        let Global(thread) = slot.thread;
        if self.locks.depth(slot.object, dead) > 0 {
            self.locks.free(slot.object);
        }
        self.await_termination(jni, thread);
        jni.drop_global_ref(thread);
        core.slots[dead.index()].thread = Global(std::ptr::null_mut());
    }

    /// Waits until the JVM has finished with a thread that has run all of its code: some microseconds, unless
    /// somebody holds the monitor of its object, which the JVM needs for it.
    pub(super) fn await_termination(&self, jni: Jni, thread: jobject) {
        const PATIENCE: Duration = Duration::from_millis(500);
        let begin = Instant::now();
        while !self.jvmti.is_terminated(thread) && begin.elapsed() < PATIENCE {
            let owner = self.jvmti.monitor_owner(thread).map_or(thread, |(owner, _)| owner);
            if !owner.is_null() && !jni.is_same(owner, thread) {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Before `join` returns.
    pub(crate) fn joined(&self, jni: Jni, thread: jobject) {
        let Some(me) = self.present(jni) else { return };
        let object = self.jvmti.identity(thread);
        let mut core = self.core();
        let ended = core.slots.iter().position(|slot| slot.ended && slot.object == object);
        if let Some(child) = ended {
            let record = Record { site: special::JOIN, value: child as u64, ..Record::default() };
            self.emit(jni, &mut core, me, record);
        }
        drop(core);
        self.end_if_due(jni);
    }

    /// Binds the current thread to the processor that all controlled threads share.
    fn pin(&self) {
        let Some(&Some(processor)) = self.processor.get() else { return };
        // SAFETY: the set is local and of the size that is passed.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(processor, &mut set);
            // Without it hand-overs are slower, nothing else.
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
}

fn tid() -> i32 {
    // SAFETY: has no arguments and cannot fail.
    unsafe { libc::gettid() }
}
