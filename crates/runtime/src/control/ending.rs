//! The end of a run: by itself, by a deadlock, or because the runtime gives up.

use std::sync::atomic::Ordering;

use untorn_runtime_protocol::DEADLOCK_EXIT;
use untorn_schedule::Deadlock;

use super::core::Slot;
use super::{Control, Core, Leftovers};
use crate::buffers::{Buffer, Record, SpareBuffers};
use crate::host::Host;
use crate::recorder::Ending;
use crate::sync::Guard;

/// How many frames of each thread are shown.
const MAX_FRAMES: usize = 8;

impl<H: Host> Control<H> {
    /// Completes the trace. Threads that still run are not recorded from now on.
    pub fn finish(&self, env: H::Env) {
        if !self.on.swap(false, Ordering::AcqRel) {
            self.recorder.close(None);
            return;
        }
        let mut core = self.core();
        self.finish_core(env, &mut core);
    }

    fn finish_core(&self, env: H::Env, core: &mut Core<H>) {
        if std::mem::replace(&mut core.over, true) {
            return;
        }
        self.host.revoke(env, core.away());
        if let Some(current) = core.scheduler.current().filter(|_| core.granted.is_none()) {
            self.account(env, core, current);
        }
        core.scheduler.cut();
        let empty = self.recorder.buffers.empty();
        let mut last = std::mem::replace(&mut core.buffer, empty);
        // A probe that is just running may still write, but not into memory that is being read.
        self.host.set_window(env, core.buffer.start(), 0);
        last.filled = core.counted.saturating_sub(last.start()) / Record::SIZE;
        last.turns = core.scheduler.drain_turns();
        self.recorder.buffers.send(last);
        let ending = Ending {
            outcome: core.scheduler.outcome(),
            tally: core.tally.clone(),
            threads: core.slots.len() as u32,
        };
        self.recorder.close(Some(ending));
    }

    /// The recording has ended, the program has not: the remaining threads run uncontrolled.
    pub(super) fn let_everybody_go(&self, env: H::Env, mut core: Guard<'_, Core<H>>) {
        self.on.store(false, Ordering::Release);
        self.finish_core(env, &mut core);
        drop(core);
        self.release_all();
    }

    fn release_all(&self) {
        if !self.settings.stays {
            self.tokens.release_all();
        }
    }

    /// After the run: who is left of it.
    pub fn leftovers(&self) -> Leftovers {
        let core = self.core();
        let mut left = Leftovers {
            uncontrolled: (core.tally.uncontrolled + core.tally.virtual_threads) as usize,
            ..Leftovers::default()
        };
        for slot in core.slots.iter().filter(|slot| !slot.ended) {
            let count = match slot {
                Slot { away: true, .. } => &mut left.away,
                Slot { tid: 0, .. } => &mut left.starting,
                _ => &mut left.waiting,
            };
            *count += 1;
        }
        left
    }

    /// After the run, if it left nobody who might still write: its memory, for the next run.
    pub fn retire(&self, env: H::Env) -> SpareBuffers {
        let mut core = self.core();
        // Nobody had a turn after the last thread ended. What the host keeps of it may keep all of the run alive.
        self.bury(env, &mut core);
        let last = std::mem::replace(&mut core.buffer, Buffer::sink());
        self.recorder.buffers.retire(last)
    }

    /// An internal error of the runtime: the program continues without it.
    pub fn give_up(&self, why: &str) {
        if self.on.swap(false, Ordering::AcqRel) {
            self.recorder.fault(why);
            self.tokens.release_all();
        }
    }

    /// Checks whether the locks that threads wait for are really held. True if the model was corrected.
    pub(super) fn amend(&self, env: H::Env, core: &mut Core<H>, deadlock: &Deadlock) -> bool {
        let mut amended = 0;
        for stuck in &deadlock.threads {
            let wanted = core.slots[stuck.thread.index()].wanted.as_ref();
            let holder = stuck.holder.and_then(|holder| core.slots.get(holder.index()));
            let (Some(wanted), Some(holder)) = (wanted, holder) else { continue };
            if self.host.amend(env, wanted, &holder.thread) {
                amended += 1;
            }
        }
        core.tally.amended += amended;
        amended > 0
    }

    /// No thread can ever run again. The program would hang for ever; it is ended here instead.
    pub(super) fn report_deadlock(
        &self,
        env: H::Env,
        mut core: Guard<'_, Core<H>>,
        deadlock: &Deadlock,
    ) {
        let mut words = vec![format!("deadlock: {} threads wait for ever", deadlock.threads.len())];
        for stuck in &deadlock.threads {
            let name = |thread| core.scheduler.name(thread).unwrap_or("?").to_owned();
            let held = stuck
                .holder
                .map_or(String::new(), |holder| format!(", which {} holds", name(holder)));
            let slot = &core.slots[stuck.thread.index()];
            let wait = self.host.describe(env, &slot.thread, &stuck.on, slot.wanted.as_ref());
            words.push(format!("  {} waits for {}{held}", name(stuck.thread), wait.on));
            let frames = wait.frames.iter().take(MAX_FRAMES);
            words.extend(frames.map(|frame| format!("      at {frame}")));
        }
        self.recorder.deadlock(words.join("\n"));
        self.on.store(false, Ordering::Release);
        self.finish_core(env, &mut core);
        let (threads, turns) = (core.slots.len() as u32, core.scheduler.outcome().turns);
        self.recorder.write_progress(&self.settings.progress, threads, turns);
        // The trace is complete, and no thread could do anything more.
        if !self.settings.stays {
            (self.settings.exit)(DEADLOCK_EXIT);
        }
        drop(core);
        self.release_all();
    }

    /// Reports the progress of the run to the command line. If the lock is taken at this moment, the report has no
    /// numbers.
    pub fn report(&self) {
        let (threads, switches) = match self.core.try_lock() {
            Some(core) => (core.slots.len() as u32, core.scheduler.outcome().turns),
            None => (0, 0),
        };
        self.recorder.write_progress(&self.settings.progress, threads, switches);
    }
}
