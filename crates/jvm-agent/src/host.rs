//! The JVM as a `Host` of the runtime: the static fields of the probes, the model of monitors, and threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni::jobject;
use untorn_bytecode::{ClassFile, Tag};
use untorn_runtime::{Host, Moment, WaitDescription};
use untorn_schedule::{Blocker, LockKey, Locks, ThreadId};

use crate::identities::{Counter, EARLY, FIRST};
use crate::jni::Jni;
use crate::jvmti::Jvmti;
use crate::locks::LockWords;
use crate::probe::{Probe, ProbeState};

/// A global reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global(pub(crate) jobject);

// SAFETY: a global reference may be used from every thread.
#[allow(unsafe_code)]
unsafe impl Send for Global {}

/// A controlled thread: its `java.lang.Thread`, and the identity of that object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JavaThread {
    pub(crate) thread: Global,
    pub(crate) object: u32,
}

/// A monitor that a thread is blocked on. The reference lives as long as the thread is blocked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monitor {
    pub(crate) lock: u32,
    pub(crate) object: Global,
}

/// The parts of the agent that access the JVM.
#[derive(Debug)]
pub(crate) struct JvmHost {
    pub(crate) jvmti: Jvmti,
    /// Set before the program begins; without it nothing is controlled.
    pub(crate) probe: OnceLock<Probe>,
    pub(crate) locks: LockWords,
    /// Found when the program begins, if it can be found.
    pub(crate) identities: OnceLock<Option<Counter>>,
    /// The last identity that was given to a text in the code of a class.
    pub(crate) early: AtomicU32,
}

impl JvmHost {
    /// The counter of the JVM from which objects get their identities.
    pub(crate) fn identities(&self, jni: Jni) -> Option<Counter> {
        let next = || {
            let object = jni.new_object().unwrap_or(std::ptr::null_mut());
            let identity = self.jvmti.identity(object);
            jni.drop_local_ref(object);
            identity
        };
        *self.identities.get_or_init(|| Counter::find(next))
    }

    /// The program begins: objects get their identities from a fixed number on.
    pub(crate) fn begin_counting(&self, jni: Jni) {
        if let Some(counter) = self.identities(jni) {
            counter.set(FIRST);
        }
    }

    /// In a JVM that makes many runs: gives an identity to every object that there is, none of them one that a run may
    /// give again. False if that cannot be done.
    pub(crate) fn name_everything(&self, jni: Jni) -> bool {
        if self.identities(jni).is_none() {
            return false;
        }
        let Ok(objects) = self.jvmti.instances(std::ptr::null_mut()) else { return false };
        for object in objects {
            self.jvmti.identity(object);
            jni.drop_local_ref(object);
        }
        true
    }

    /// In a JVM that makes many runs: texts that stand in the code of classes live as long as any class that has them, so
    /// they must not have identities that the next run gives again. They get one of those from before the runs.
    pub(crate) fn name_literals(&self, jni: Jni, class: &ClassFile<'_>) {
        let Some(counter) = self.identities.get().copied().flatten() else { return };
        let now = counter.get();
        counter.set(self.early.load(Ordering::Relaxed).max(EARLY));
        let pool = class.pool();
        for index in (1..pool.count()).filter(|&index| pool.tag(index) == Some(Tag::String)) {
            let text = pool.string(index).ok().and_then(|text| jni.interned(&text));
            if let Some(text) = text {
                self.jvmti.identity(text);
                // Never dropped: the text stays what it is.
                jni.global_ref(text);
                jni.drop_local_ref(text);
            }
        }
        self.early.store(counter.get(), Ordering::Relaxed);
        counter.set(now);
    }

    /// Waits until the JVM has finished with a thread that has run all of its code: some microseconds, unless
    /// somebody holds the monitor of its object, which the JVM needs for it.
    pub(crate) fn await_termination(&self, jni: Jni, thread: jobject) {
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
}

impl Locks for &'static JvmHost {
    fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        self.locks.owner(lock)
    }
}

impl Host for &'static JvmHost {
    type Env = Jni;
    type Thread = JavaThread;
    type State = ProbeState;
    type Lock = Monitor;

    fn position(&self, jni: Jni) -> usize {
        self.probe.get().map_or(0, |probe| probe.pos(jni))
    }

    fn set_window(&self, jni: Jni, position: usize, limit: usize) {
        if let Some(probe) = self.probe.get() {
            probe.set_pos(jni, position);
            probe.set_limit(jni, limit);
        }
    }

    fn take_branches(&self, jni: Jni) -> u32 {
        self.probe.get().map_or(0, |probe| probe.take_branches(jni))
    }

    fn may_stop(&self, jni: Jni, moment: Moment) -> bool {
        let Some(probe) = self.probe.get() else { return false };
        match moment {
            Moment::TurnEnd => !probe.keeps_token(jni, false),
            Moment::RecordedTurnEnd => !probe.keeps_token(jni, true),
            Moment::RecordedTurnEndInside => !probe.is_silent(jni) && !probe.is_quiet(jni),
            // Code of the JDK that runs unrecorded cannot be preempted, because the switch would not be recorded; nor
            // can static initialisers.
            Moment::Leaving => !probe.is_silent(jni) && !probe.is_unstoppable(jni),
        }
    }

    fn grant(&self, jni: Jni, id: ThreadId, thread: &JavaThread, state: ProbeState, away: usize) {
        if let Some(probe) = self.probe.get() {
            probe.give(jni, thread.thread.0, id.0 + 1, state);
            probe.set_away(jni, away);
        }
    }

    fn revoke(&self, jni: Jni, away: usize) -> ProbeState {
        let Some(probe) = self.probe.get() else { return ProbeState::default() };
        let state = probe.state(jni);
        // First of all, so that a thread that is away finds it when no thread has the token.
        probe.set_away(jni, away);
        probe.clear_owner(jni);
        state
    }

    fn bury(&self, jni: Jni, id: ThreadId, thread: &mut JavaThread) {
        if self.locks.depth(thread.object, id) > 0 {
            self.locks.free(thread.object);
        }
        self.await_termination(jni, thread.thread.0);
        jni.drop_global_ref(thread.thread.0);
        thread.thread = Global(std::ptr::null_mut());
    }

    /// The model can be wrong: a stack overflow inside of a probe can hide an exit from it.
    fn amend(&self, jni: Jni, wanted: &Monitor, holder: &JavaThread) -> bool {
        let Ok((owner, _)) = self.jvmti.monitor_owner(wanted.object.0) else { return false };
        let is_held = !owner.is_null() && jni.is_same(owner, holder.thread.0);
        if !is_held {
            self.locks.free(wanted.lock);
        }
        !is_held
    }

    fn describe(
        &self,
        jni: Jni,
        thread: &JavaThread,
        on: &Blocker,
        wanted: Option<&Monitor>,
    ) -> WaitDescription {
        let on = match (on, wanted) {
            (Blocker::Lock(_), Some(wanted)) => {
                let class = self.jvmti.class_name(jni.class_of(wanted.object.0));
                let class = class.map_or("an object".to_owned(), |name| name.replace('/', "."));
                format!("the monitor of {class} #{}", wanted.lock)
            }
            (Blocker::Wait { .. }, _) => "a notification".to_owned(),
            (Blocker::Park { .. }, _) => "a permit".to_owned(),
            (other, _) => other.to_string(),
        };
        WaitDescription { on, frames: self.jvmti.stack(thread.thread.0) }
    }
}
