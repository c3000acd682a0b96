//! The end of a run: by itself, by a deadlock, or because the agent gives up.
#![allow(unsafe_code)]

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use untorn_jvm_protocol::DEADLOCK_EXIT;
use untorn_schedule::{Blocker, Deadlock};

use super::core::Wanted;
use super::{Control, Core};
use crate::buffers::Record;
use crate::jni::Jni;

impl Control {
    /// Completes the trace. Whoever runs from now on is not recorded.
    pub(crate) fn finish(&self, jni: Option<Jni>) {
        if !self.on.swap(false, Ordering::AcqRel) {
            self.recorder.close(&self.buffers, None);
            return;
        }
        let mut core = self.core();
        self.finish_core(jni, &mut core);
    }

    fn finish_core(&self, jni: Option<Jni>, core: &mut Core) {
        if std::mem::replace(&mut core.over, true) {
            return;
        }
        if let (Some(jni), Some(probe)) = (jni, self.probe()) {
            probe.nobody(jni);
            probe.set_limit(jni, 0);
            if let Some(current) = core.scheduler.current().filter(|_| core.granted.is_none()) {
                self.account(jni, core, current);
            }
        }
        core.scheduler.cut();
        let empty = self.buffers.empty();
        let mut last = std::mem::replace(&mut core.buffer, empty);
        if let (Some(jni), Some(probe)) = (jni, self.probe()) {
            // A probe that is just being run may still write: not into what is being read.
            probe.set_pos(jni, core.buffer.start());
        }
        last.filled = core.counted.saturating_sub(last.start()) / Record::SIZE;
        last.turns = core.scheduler.drain_turns();
        self.buffers.send(last);
        let ending = crate::recorder::Ending {
            outcome: core.scheduler.outcome(),
            tally: core.tally.clone(),
            threads: core.slots.len() as u32,
        };
        self.recorder.close(&self.buffers, Some(ending));
    }

    /// The run is over, the JVM is not: whoever is left runs free.
    pub(super) fn let_everybody_go(&self, jni: Jni, mut core: MutexGuard<'_, Core>) {
        self.on.store(false, Ordering::Release);
        self.finish_core(Some(jni), &mut core);
        drop(core);
        self.tokens.release_all();
    }

    /// Something went wrong inside of the agent: the program goes on without it.
    pub(crate) fn give_up(&self, why: &str) {
        if self.on.swap(false, Ordering::AcqRel) {
            self.recorder.fault(why);
            self.tokens.release_all();
        }
    }

    /// Looks whether the monitors that threads wait for are really held. The model can be wrong: a stack overflow
    /// inside of a probe leaves it with an exit that it has not seen. True if something was put right.
    pub(super) fn amend(&self, jni: Jni, core: &mut Core, deadlock: &Deadlock) -> bool {
        let mut amended = false;
        for stuck in &deadlock.threads {
            let slot = &core.slots[stuck.thread.index()];
            let (Some(holder), Some(wanted)) = (stuck.holder, slot.wanted) else { continue };
            let Ok((owner, _)) = self.jvmti.monitor_owner(wanted.object.0) else { continue };
            let really = core.slots.get(holder.index());
            let held = !owner.is_null()
                && really.is_some_and(|really| jni.is_same(owner, really.thread.0));
            if !held {
                self.locks.free(wanted.lock);
                core.tally.amended += 1;
                amended = true;
            }
        }
        amended
    }

    fn class_of(&self, jni: Jni, wanted: Wanted) -> String {
        let class = self.jvmti.class_name(jni.class_of(wanted.object.0));
        class.map_or("an object".to_owned(), |name| name.replace('/', "."))
    }

    /// No thread can ever run again. The program would hang for ever; it ends here instead.
    pub(super) fn report_deadlock(
        &self,
        jni: Jni,
        mut core: MutexGuard<'_, Core>,
        deadlock: &Deadlock,
    ) {
        let mut words = vec![format!("deadlock: {} threads wait for ever", deadlock.threads.len())];
        for stuck in &deadlock.threads {
            let name = |thread| core.scheduler.name(thread).unwrap_or("?").to_owned();
            let held = stuck
                .holder
                .map_or(String::new(), |holder| format!(", which {} holds", name(holder)));
            let slot = &core.slots[stuck.thread.index()];
            let on = match (stuck.on, slot.wanted) {
                (Blocker::Lock(_), Some(wanted)) => {
                    format!("the monitor of {} #{}", self.class_of(jni, wanted), wanted.lock)
                }
                (Blocker::Wait { .. }, _) => "a notification".to_owned(),
                (Blocker::Park { .. }, _) => "a permit".to_owned(),
                (other, _) => other.to_string(),
            };
            words.push(format!("  {} waits for {on}{held}", name(stuck.thread)));
            let frames = self.jvmti.stack(slot.thread.0);
            words.extend(frames.into_iter().take(8).map(|frame| format!("      at {frame}")));
        }
        self.recorder.deadlock(words.join("\n"));
        self.on.store(false, Ordering::Release);
        self.finish_core(Some(jni), &mut core);
        let (threads, turns) = (core.slots.len() as u32, core.scheduler.outcome().turns);
        self.recorder.write_progress(&self.progress, threads, turns);
        // SAFETY: ends the process at once; the trace is complete and no thread could do anything more.
        unsafe { libc::_exit(DEADLOCK_EXIT) }
    }
}
