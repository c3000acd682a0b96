//! The JVM as a `Host` of the runtime: the static fields of the probes, the model of monitors, and threads.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni::jobject;
use untorn_runtime::{Host, Moment, WaitDescription};
use untorn_schedule::{Blocker, LockKey, Locks, ThreadId};

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
}

impl JvmHost {
    /// Waits until the JVM has finished with a thread that has run all of its code. That takes some microseconds,
    /// unless another thread holds the monitor of its object, which the JVM needs for it.
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

impl Locks for JvmHost {
    fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        self.locks.owner(lock)
    }
}

impl Host for JvmHost {
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
