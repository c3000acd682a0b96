//! The current thread inside of the runtime, while it has the token.

use untorn_runtime::{Control, Holder, Resumption};
use untorn_schedule::{Blocker, LockKey, Nanos, ThreadId, Wake};

use crate::cancel;
use crate::host::{NativeHost, Wanted};
use crate::inside::Inside;
use crate::patience;
use crate::probe::{self, HOT, Piece};
use crate::run::{self, Run};
use crate::signals;
use crate::sites::{self, Found, Kind};

/// As long as this lives the current thread is inside of the runtime. It has the token, except while it is blocked, and
/// until the run has ended.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) run: &'static Run,
    pub(crate) me: ThreadId,
    /// The place in the code from which the program came here.
    pc: usize,
    _inside: Inside,
}

/// The turn of the current thread; `None` if it is not controlled, or inside already. Other threads may run before this
/// returns, if it was outside.
#[inline]
pub(crate) fn take(pc: usize) -> Option<Turn> {
    let run = run::current()?;
    if !run.control.is_on() {
        return None;
    }
    let inside = Inside::enter()?;
    if probe::is_owner() {
        probe::settle();
        probe::moves_on();
    }
    let me = run.control.present(())?;
    Some(Turn { run, me, pc, _inside: inside })
}

impl Turn {
    pub(crate) fn control(&self) -> &'static Control<NativeHost> {
        &self.run.control
    }

    pub(crate) fn host(&self) -> &'static NativeHost {
        self.run.control.host()
    }

    pub(crate) fn hold(&self) -> Holder<'static, NativeHost> {
        self.run.control.hold((), self.me)
    }

    fn site(&self, kind: Kind) -> Found {
        sites::find(self.pc, kind)
    }

    /// Before an event: lets others run first if it is their turn. False if the run has ended.
    pub(crate) fn before(&self, kind: Kind, address: usize) -> bool {
        if !probe::is_owner() {
            return false;
        }
        let site = self.site(kind);
        let is_due = HOT.position.load(std::sync::atomic::Ordering::Relaxed)
            >= HOT.limit.load(std::sync::atomic::Ordering::Relaxed);
        if is_due || site.asks() { probe::stop_inside(site, address, true) } else { true }
    }

    /// Records an event that has just happened.
    pub(crate) fn record(&self, kind: Kind, address: usize, value: u64) {
        if probe::is_owner() {
            probe::put(self.site(kind).number(), Piece { address, size: 8 }, value);
        }
    }

    /// An event that nobody decides about.
    pub(crate) fn note(&self, kind: Kind, address: usize, value: u64) {
        if self.before(kind, address) {
            self.record(kind, address, value);
        }
    }

    /// Waits until the mutex is free in the model. False if the run has ended.
    pub(crate) fn await_mutex(&self, address: usize) -> bool {
        let mut requested = false;
        while let Some(owner) = self.host().locks.owner(crate::locks::mutex(address)) {
            if owner == self.me {
                break;
            }
            if !requested {
                self.record(Kind::Request, address, 0);
                requested = true;
            }
            let key = crate::locks::mutex(address);
            if self.hold().block_on_lock(key, Wanted { address }).is_none() {
                return false;
            }
        }
        probe::is_owner()
    }

    /// Blocks until somebody notifies this key, or until a moment. `None` if the run has ended.
    pub(crate) fn await_change(&self, key: LockKey, deadline: Option<Nanos>) -> Option<Wake> {
        match self.hold().block(Blocker::Wait { lock: key, deadline }) {
            Resumption::Turn(wake) => Some(wake),
            Resumption::Free => None,
        }
    }

    /// Whether a wait that was interrupted has to come back to the program: the thread is cancelled, or there is a signal
    /// for it.
    pub(crate) fn is_interrupted(&self) -> bool {
        cancel::is_due() || signals::is_pending()
    }

    /// The program tries again and again until another thread has done something.
    pub(crate) fn wait_for_others(&self) {
        if probe::is_owner() {
            patience::wait(self.run, self.me, self.pc);
        }
    }

    /// Wakes one or all of those that wait for this key.
    pub(crate) fn notify(&self, key: LockKey, all: bool) {
        let mut holder = self.hold();
        holder.notify(key, all);
        holder.done();
    }

    /// Virtual time.
    pub(crate) fn now(&self) -> Nanos {
        self.hold().now()
    }
}
