//! Everything that makes a controlled thread wait for others: monitors, waits, permits, time.

use jvmti_bindings::sys::jni::{jint, jobject};
use untorn_schedule::{Arrival, AtSite, Blocker, LockKey, Nanos, Reason, ThreadId, Wake};

use super::core::{Global, Wanted};
use super::{BUSY, Control, Resumed};
use crate::buffers::{Record, special};
use crate::jni::Jni;
use crate::sites::CodeSite;

/// How a blocking call ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocked {
    /// As the program asked.
    Done,
    /// The thread was interrupted.
    Interrupted,
    /// Not for us to decide: the JVM's own method has to do it.
    NotOurs,
}

impl Control {
    fn record(site: u32, object: u32) -> Record {
        Record { site, object, ..Record::default() }
    }

    /// The monitor is held by another thread: waits until it is free, and takes it in the model.
    pub(crate) fn contended(&self, jni: Jni, object: jobject, lock: u32, site: u32) {
        let Some(me) = self.present(jni) else { return };
        let mut core = self.core();
        let request = Record { index: site, ..Self::record(special::REQUEST, lock) };
        self.emit(jni, &mut core, me, request);
        let global = Global(jni.global_ref(object));
        core.slots[me.index()].wanted = Some(Wanted { lock, object: global });
        core.scheduler.block(me, Blocker::Lock(LockKey(lock.into())));
        if let Resumed::Turn(_) = self.pass(jni, core, me, Reason::Blocked) {
            self.locks.hold(lock, me, 1);
            self.core().slots[me.index()].wanted = None;
            jni.drop_global_ref(global.0);
        }
    }

    pub(crate) fn notified(&self, jni: Jni, lock: u32, all: bool, site: u32) {
        let Some(me) = self.present(jni) else { return };
        let mut core = self.core();
        let kind = if all { special::NOTIFY_ALL } else { special::NOTIFY };
        self.emit(jni, &mut core, me, Record { index: site, ..Self::record(kind, lock) });
        core.scheduler.notify(LockKey(lock.into()), all);
        drop(core);
        self.end_if_due(jni);
    }

    pub(crate) fn wait_site(&self, site: u32) {
        if let Some(me) = super::me() {
            self.core().slots[me.index()].wait_site = site;
        }
    }

    /// `object.wait(millis)`.
    pub(crate) fn wait(&self, jni: Jni, object: jobject, millis: i64) -> Blocked {
        let Some(me) = self.present(jni) else { return Blocked::NotOurs };
        let lock = self.jvmti.identity(object);
        let Some(depth) = self.depth(jni, object, lock, me).filter(|_| millis >= 0) else {
            return Blocked::NotOurs; // The JVM says what is wrong.
        };
        if self.originals.take_interrupt(jni) {
            return Blocked::Interrupted;
        }
        let mut core = self.core();
        let index = std::mem::take(&mut core.slots[me.index()].wait_site);
        let wait = Record { index, ..Self::record(special::WAIT, lock) };
        self.emit(jni, &mut core, me, wait);
        let deadline = (millis > 0).then(|| core.scheduler.now().after(from_millis(millis)));
        let entries = self.leave_monitor(jni, object, lock, depth);
        let resumed = if core.slots.iter().any(|slot| slot.ended && slot.object == lock) {
            // The thread behind the object has ended for us; only this monitor kept the JVM from saying so.
            drop(core);
            self.await_termination(jni, object);
            Resumed::Turn(Wake::Notified)
        } else {
            core.scheduler.block(me, Blocker::Wait { lock: LockKey(lock.into()), deadline });
            self.pass(jni, core, me, Reason::Blocked)
        };
        self.enter_monitor(jni, object, entries);
        let Resumed::Turn(wake) = resumed else { return Blocked::Done };
        self.locks.hold(lock, me, depth);
        let mut core = self.core();
        let resume = Record { index, ..Self::record(special::RESUME, lock) };
        self.emit(jni, &mut core, me, resume);
        drop(core);
        self.end_if_due(jni);
        self.ending(jni, wake)
    }

    /// How deep the current thread holds a monitor; `None` if it does not.
    fn depth(&self, jni: Jni, object: jobject, lock: u32, me: ThreadId) -> Option<u32> {
        let known = self.locks.depth(lock, me);
        if known > 0 {
            return Some(known);
        }
        // Entered by code that is not rewritten: the JVM knows.
        let (owner, depth) = self.jvmti.monitor_owner(object).ok()?;
        let thread = self.core().slots[me.index()].thread;
        jni.is_same(owner, thread.0).then_some(depth).filter(|&depth| depth > 0)
    }

    /// Leaves a monitor altogether. Gives how often the JVM thinks that it was entered: it does not count entries
    /// that it never saw contended, and must get back what it counted.
    fn leave_monitor(&self, jni: Jni, object: jobject, lock: u32, depth: u32) -> u32 {
        self.locks.free(lock);
        if depth == 1 {
            return u32::from(jni.monitor_exit(object));
        }
        // One exit too many throws, and making an exception is Java code that is not the program's.
        let silenced = self.probe().map(|probe| (probe, probe.silence(jni)));
        let entries = (0..depth).take_while(|_| jni.monitor_exit(object)).count() as u32;
        if let Some((probe, owner)) = silenced {
            probe.unsilence(jni, owner);
        }
        entries
    }

    fn enter_monitor(&self, jni: Jni, object: jobject, entries: u32) {
        BUSY.with(|busy| busy.set(true));
        for _ in 0..entries {
            jni.monitor_enter(object);
        }
        BUSY.with(|busy| busy.set(false));
    }

    /// How a wait or sleep ends, by why the thread was woken.
    fn ending(&self, jni: Jni, wake: Wake) -> Blocked {
        if wake == Wake::Interrupted && self.originals.take_interrupt(jni) {
            Blocked::Interrupted
        } else {
            Blocked::Done
        }
    }

    /// `Thread.sleep`, in virtual time.
    pub(crate) fn sleep(&self, jni: Jni, nanos: i64) -> Blocked {
        let Some(me) = self.present(jni).filter(|_| nanos >= 0) else { return Blocked::NotOurs };
        if self.originals.take_interrupt(jni) {
            return Blocked::Interrupted;
        }
        let mut core = self.core();
        self.account(jni, &mut core, me);
        let deadline = core.scheduler.now().after(Nanos(nanos.cast_unsigned()));
        core.scheduler.block(me, Blocker::Sleep { deadline });
        match self.pass(jni, core, me, Reason::Blocked) {
            Resumed::Turn(wake) => self.ending(jni, wake),
            Resumed::Free => Blocked::NotOurs,
        }
    }

    pub(crate) fn yields(&self, jni: Jni) -> Blocked {
        let Some(me) = self.present(jni) else { return Blocked::NotOurs };
        let mut core = self.core();
        self.account(jni, &mut core, me);
        self.pass(jni, core, me, Reason::Yielded);
        Blocked::Done
    }

    /// `Unsafe.park`. Returning without reason is allowed, so nothing can go wrong here.
    pub(crate) fn park(&self, jni: Jni, absolute: bool, time: i64) -> Blocked {
        let Some(me) = self.present(jni) else { return Blocked::NotOurs };
        let thread = self.core().slots[me.index()].thread;
        if time < 0 || (absolute && time == 0) || self.originals.is_interrupted(jni, thread.0) {
            return Blocked::Done;
        }
        let mut core = self.core();
        self.account(jni, &mut core, me);
        let deadline = match (absolute, time) {
            (false, 0) => None,
            (false, nanos) => Some(core.scheduler.now().after(Nanos(nanos.cast_unsigned()))),
            (true, millis) => Some(from_millis(millis)),
        };
        core.scheduler.block(me, Blocker::Park { deadline });
        let wake = if core.scheduler.blocked_on(me).is_none() {
            drop(core);
            Wake::Ready // There was a permit.
        } else {
            match self.pass(jni, core, me, Reason::Blocked) {
                Resumed::Turn(wake) => wake,
                Resumed::Free => return Blocked::Done,
            }
        };
        let kind = if wake == Wake::Ready { special::PARK } else { special::PARK_TIMEOUT };
        let mut core = self.core();
        let record = Record { value: me.0.into(), ..Self::record(kind, 0) };
        self.emit(jni, &mut core, me, record);
        drop(core);
        self.end_if_due(jni);
        Blocked::Done
    }

    /// Gives a permit to a thread; not ours to give if the thread is not controlled.
    pub(crate) fn unpark(&self, jni: Jni, thread: jobject) -> Blocked {
        if !self.is_on() || thread.is_null() {
            return Blocked::NotOurs;
        }
        let holder = self.present(jni);
        let mut core = self.core();
        let Some(target) = core.find(jni, thread).filter(|_| !core.over) else {
            return Blocked::NotOurs;
        };
        if let Some(me) = holder {
            let record = Record { value: target.0.into(), ..Self::record(special::UNPARK, 0) };
            self.emit(jni, &mut core, me, record);
        }
        core.scheduler.unpark(target);
        self.kick(&mut core);
        drop(core);
        self.end_if_due(jni);
        Blocked::Done
    }

    /// The flag is set; now wake the thread if it waits.
    pub(crate) fn interrupted(&self, jni: Jni, thread: jobject) {
        if !self.is_on() {
            return;
        }
        let holder = self.present(jni);
        let mut core = self.core();
        let Some(target) = core.find(jni, thread) else { return };
        if let Some(me) = holder {
            let record = Record { value: target.0.into(), ..Self::record(special::INTERRUPT, 0) };
            self.emit(jni, &mut core, me, record);
        }
        core.scheduler.interrupt(target);
        self.kick(&mut core);
        drop(core);
        self.end_if_due(jni);
    }

    /// Native code has made a record. Who makes one in Java asks behind it whether the turn is over; here that goes
    /// unnoticed until the next record, which does not matter unless a recorded turn ended just here, because
    /// the thread was held before its next event.
    pub(crate) fn end_if_due(&self, jni: Jni) {
        if !self.replaying || self.holder().is_none() {
            return;
        }
        let Some(probe) = self.probe() else { return };
        let may_stop = probe.own(jni).silence == 0 && !probe.is_quiet(jni);
        let core = self.core();
        let due = core.left == 0 && !core.over && may_stop;
        drop(core);
        if due {
            self.turn(jni);
        }
    }

    /// Before an event that the plan names, or that the policy wants to hear of: waits until it is due.
    pub(crate) fn at_site(&self, jni: Jni, site: jint, plan: &crate::plans::PlanSites) {
        let Some(me) = self.present(jni) else { return };
        // A recorded schedule never has it stop where it must not.
        if self.asks_policy
            && !self.replaying
            && self.probe().is_none_or(|probe| probe.keeps_token(jni, false))
        {
            let mut core = self.core();
            self.account(jni, &mut core, me);
            core.scheduler.passes(me);
            return;
        }
        let asked = plan.at(CodeSite(site.cast_unsigned()));
        let arrival = Arrival { marks: &asked.named, access: asked.access };
        loop {
            let mut core = self.core();
            self.account(jni, &mut core, me);
            match core.scheduler.arrives(me, &arrival) {
                AtSite::Go { stop_after } => {
                    if stop_after {
                        core.left = 1;
                        core.stop_after = true;
                        self.set_limit(jni, &core);
                    }
                    return;
                }
                AtSite::Hold => {
                    if self.pass(jni, core, me, Reason::Held) == Resumed::Free {
                        return;
                    }
                }
            }
        }
    }

    /// Virtual time. Asking takes some, so that a loop that waits for a moment comes to an end.
    pub(crate) fn now(&self, jni: Jni) -> Option<Nanos> {
        let me = self.present(jni)?;
        let mut core = self.core();
        self.account(jni, &mut core, me);
        core.asked += 1;
        let asked = Nanos(core.asked * 100);
        Some(core.scheduler.now().after(asked))
    }
}

fn from_millis(millis: i64) -> Nanos {
    Nanos(millis.max(0).cast_unsigned().saturating_mul(1_000_000))
}
