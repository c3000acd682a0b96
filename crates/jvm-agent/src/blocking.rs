//! Everything in Java that makes a controlled thread wait for others: monitors, waits, permits, time.

use std::cell::Cell;
use std::time::Duration;

use jvmti_bindings::sys::jni::{jint, jobject};
use untorn_runtime::buffers::special;
use untorn_runtime::{Record, Resumption, Signal};
use untorn_schedule::{Arrival, Blocker, LockKey, Nanos, ThreadId, Wake};

use crate::agent::Agent;
use crate::host::{Global, JavaThread, Monitor};
use crate::jni::Jni;
use crate::sites::CodeSite;

/// How often a thread looks whether one that is not controlled has ended.
const POLL: Duration = Duration::from_millis(1);

thread_local! {
    /// The agent itself enters monitors; contention is then not caused by the program.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    /// The site at which the current thread is about to wait.
    static WAIT_SITE: Cell<u32> = const { Cell::new(0) };
}

/// How a blocking call ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocked {
    /// As the program asked.
    Done,
    /// The thread was interrupted.
    Interrupted,
    /// Not controlled: the JVM's own method has to run.
    NotControlled,
}

/// What a thread of the program that cannot go on would be for Java. The numbers are those that `UntornProbe.state`
/// expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitState {
    NotBlocked = 0,
    Blocked = 1,
    Waiting = 2,
    TimedWaiting = 3,
}

impl WaitState {
    fn of(blocker: Blocker) -> Self {
        match blocker {
            Blocker::Lock(_) => Self::Blocked,
            Blocker::Outside => Self::NotBlocked,
            other if other.deadline().is_some() => Self::TimedWaiting,
            _ => Self::Waiting,
        }
    }
}

fn is_busy() -> bool {
    BUSY.try_with(Cell::get).unwrap_or(true)
}

fn record(site: u32, object: u32) -> Record {
    Record { site, object, ..Record::default() }
}

fn is_thread(jni: Jni, thread: jobject) -> impl Fn(&JavaThread) -> bool {
    // The object is not asked for its identity: uncontrolled threads come here, too, at any moment, and identities
    // are assigned in the order of the requests.
    move |known| jni.is_same(known.thread.0, thread)
}

impl Agent {
    /// Why a thread cannot go on. The JVM does not know it: for it all of them run in native code.
    pub(crate) fn wait_state(&self, jni: Jni, thread: jobject) -> WaitState {
        let blocker = self.control().blocked_on(is_thread(jni, thread));
        blocker.map_or(WaitState::NotBlocked, WaitState::of)
    }

    /// The monitor is held by another thread: waits until it is free, and takes it in the model.
    pub(crate) fn contended(&self, jni: Jni, object: jobject, lock: u32, site: u32) {
        let Some(me) = self.control().present(jni) else { return };
        let mut holder = self.control().hold(jni, me);
        holder.record(Record { index: site, ..record(special::REQUEST, lock) });
        let wanted = Monitor { lock, object: Global(jni.global_ref(object)) };
        if let Some(wanted) = holder.block_on_lock(LockKey(lock.into()), wanted) {
            self.host().locks.hold(lock, me, 1);
            jni.drop_global_ref(wanted.object.0);
        }
    }

    /// The thread is about to block on a monitor that is free in the model, because code that is not rewritten holds
    /// it. Other threads run meanwhile.
    pub(crate) fn contended_enter(&self, jni: Jni) {
        if !is_busy() {
            self.control().leave_contended(jni);
        }
    }

    pub(crate) fn contended_entered(&self, jni: Jni) {
        if !is_busy() {
            self.control().come_back(jni);
        }
    }

    pub(crate) fn notified(&self, jni: Jni, lock: u32, all: bool, site: u32) {
        let Some(me) = self.control().present(jni) else { return };
        let mut holder = self.control().hold(jni, me);
        let kind = if all { special::NOTIFY_ALL } else { special::NOTIFY };
        holder.record(Record { index: site, ..record(kind, lock) });
        holder.notify(LockKey(lock.into()), all);
        holder.done();
    }

    /// An uncontrolled thread notified.
    pub(crate) fn notified_outside(&self, object: jobject, all: bool) {
        // The identity is requested only if a thread waits: identities are assigned in the order of the requests, and
        // those of other objects must not depend on this.
        let lock = || LockKey(self.host().jvmti.identity(object).into());
        self.control().notified_outside(lock, all);
    }

    pub(crate) fn wait_site(&self, site: u32) {
        if self.control().current_thread().is_some() {
            WAIT_SITE.set(site);
        }
    }

    /// `object.wait(millis)`.
    pub(crate) fn wait(&self, jni: Jni, object: jobject, millis: i64) -> Blocked {
        let Some(me) = self.control().present(jni) else { return Blocked::NotControlled };
        let lock = self.host().jvmti.identity(object);
        let Some(depth) = self.depth(jni, object, lock, me).filter(|_| millis >= 0) else {
            return Blocked::NotControlled; // The JVM throws the exception.
        };
        if self.originals.take_interrupt(jni) {
            return Blocked::Interrupted;
        }
        let index = WAIT_SITE.take();
        let mut holder = self.control().hold(jni, me);
        holder.record(Record { index, ..record(special::WAIT, lock) });
        let deadline = (millis > 0).then(|| holder.now().after(from_millis(millis)));
        let entries = self.leave_monitor(jni, object, lock, depth);
        let resumed = if holder.has_ended(|thread| thread.object == lock) {
            // The thread of this object has ended in the model; only this monitor kept the JVM from reporting it.
            drop(holder);
            self.host().await_termination(jni, object);
            Resumption::Turn(Wake::Notified)
        } else if deadline.is_none()
            && !holder.knows(|thread| thread.object == lock)
            && !self.host().jvmti.is_terminated(object)
        {
            // Nobody notifies when a thread ends that is not controlled. It is one of the JDK's own.
            drop(holder);
            self.await_uncontrolled(jni, object);
            Resumption::Turn(Wake::Notified)
        } else {
            holder.block(Blocker::Wait { lock: LockKey(lock.into()), deadline })
        };
        self.enter_monitor(jni, object, entries);
        let Resumption::Turn(wake) = resumed else { return Blocked::Done };
        self.host().locks.hold(lock, me, depth);
        self.control().record(jni, me, Record { index, ..record(special::RESUME, lock) });
        self.ending(jni, wake)
    }

    /// Waits until a thread has ended that is not controlled, while others run.
    fn await_uncontrolled(&self, jni: Jni, thread: jobject) {
        self.control().leave_contended(jni);
        while self.control().is_on() && !self.host().jvmti.is_terminated(thread) {
            std::thread::sleep(POLL);
        }
        self.control().come_back(jni);
    }

    /// How deep the current thread holds a monitor; `None` if it does not.
    fn depth(&self, jni: Jni, object: jobject, lock: u32, me: ThreadId) -> Option<u32> {
        let known = self.host().locks.depth(lock, me);
        if known > 0 {
            return Some(known);
        }
        // Entered by code that is not rewritten: the JVM is asked.
        let (owner, depth) = self.host().jvmti.monitor_owner(object).ok()?;
        let is_mine = self.control().with_thread(me, is_thread(jni, owner));
        is_mine.then_some(depth).filter(|&depth| depth > 0)
    }

    /// Leaves a monitor completely. Returns how often the JVM counts it as entered: it does not count entries that it
    /// never saw contended, and the count must be restored.
    fn leave_monitor(&self, jni: Jni, object: jobject, lock: u32, depth: u32) -> u32 {
        self.host().locks.free(lock);
        if depth == 1 {
            return u32::from(jni.monitor_exit(object));
        }
        // One exit too many throws, and creating the exception runs Java code that is not the program's.
        let silenced = self.host().probe.get().map(|probe| (probe, probe.silence(jni)));
        let entries = (0..depth).take_while(|_| jni.monitor_exit(object)).count() as u32;
        if let Some((probe, owner)) = silenced {
            probe.unsilence(jni, owner);
        }
        entries
    }

    fn enter_monitor(&self, jni: Jni, object: jobject, entries: u32) {
        BUSY.set(true);
        for _ in 0..entries {
            jni.monitor_enter(object);
        }
        BUSY.set(false);
    }

    /// How a wait or sleep ends, by the reason of the wake-up.
    fn ending(&self, jni: Jni, wake: Wake) -> Blocked {
        if wake == Wake::Interrupted && self.originals.take_interrupt(jni) {
            Blocked::Interrupted
        } else {
            Blocked::Done
        }
    }

    /// `Thread.sleep`, in virtual time.
    pub(crate) fn sleep(&self, jni: Jni, nanos: i64) -> Blocked {
        let me = self.control().present(jni).filter(|_| nanos >= 0);
        let Some(me) = me else { return Blocked::NotControlled };
        if self.originals.take_interrupt(jni) {
            return Blocked::Interrupted;
        }
        let mut holder = self.control().hold(jni, me);
        let deadline = holder.now().after(Nanos(nanos.cast_unsigned()));
        match holder.block(Blocker::Sleep { deadline }) {
            Resumption::Turn(wake) => self.ending(jni, wake),
            Resumption::Free => Blocked::NotControlled,
        }
    }

    pub(crate) fn yields(&self, jni: Jni) -> Blocked {
        let Some(me) = self.control().present(jni) else { return Blocked::NotControlled };
        self.control().hold(jni, me).yield_turn();
        Blocked::Done
    }

    /// `Unsafe.park`. Spurious returns are allowed, so nothing can go wrong here.
    pub(crate) fn park(&self, jni: Jni, absolute: bool, time: i64) -> Blocked {
        let Some(me) = self.control().present(jni) else { return Blocked::NotControlled };
        let thread = self.control().with_thread(me, |thread| thread.thread);
        if time < 0 || (absolute && time == 0) || self.originals.is_interrupted(jni, thread.0) {
            return Blocked::Done;
        }
        let mut holder = self.control().hold(jni, me);
        let deadline = match (absolute, time) {
            (false, 0) => None,
            (false, nanos) => Some(holder.now().after(Nanos(nanos.cast_unsigned()))),
            (true, millis) => Some(from_millis(millis)),
        };
        let Resumption::Turn(wake) = holder.park(deadline) else { return Blocked::Done };
        let kind = if wake == Wake::Ready { special::PARK } else { special::PARK_TIMEOUT };
        self.control().record(jni, me, Record { value: me.0.into(), ..record(kind, 0) });
        Blocked::Done
    }

    /// Gives a permit to a thread; `NotControlled` if the thread is not controlled.
    pub(crate) fn unpark(&self, jni: Jni, thread: jobject) -> Blocked {
        let of = |target: ThreadId| Record { value: target.0.into(), ..record(special::UNPARK, 0) };
        if !thread.is_null()
            && self.control().signal(jni, is_thread(jni, thread), Signal::Permit, of)
        {
            Blocked::Done
        } else {
            Blocked::NotControlled
        }
    }

    /// The interrupt flag is set; wakes the thread if it waits.
    pub(crate) fn interrupted(&self, jni: Jni, thread: jobject) {
        let of =
            |target: ThreadId| Record { value: target.0.into(), ..record(special::INTERRUPT, 0) };
        self.control().signal(jni, is_thread(jni, thread), Signal::Interrupt, of);
    }

    /// Before an event that the plan names, or that the policy asks for: waits until it is permitted.
    pub(crate) fn at_site(&self, jni: Jni, site: jint) {
        let site = CodeSite(site.cast_unsigned());
        let Some(asked) = self.rewriter.plan.at(site, &self.rewriter.sites) else { return };
        self.control().arrive(jni, &Arrival { marks: &asked.named, access: asked.access });
    }
}

fn from_millis(millis: i64) -> Nanos {
    Nanos(millis.max(0).cast_unsigned().saturating_mul(1_000_000))
}
