//! A native program as a `Host` of the runtime: the state of the hooks, the model of mutexes, and threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use untorn_runtime::{Host, Moment, WaitDescription};
use untorn_schedule::{Blocker, LockKey, Locks, ThreadId};

use crate::interpose::real;
use crate::locks::LockTable;
use crate::probe::{self, HOT, Spins, own_block};
use crate::symbols;

#[derive(Debug)]
pub(crate) struct NativeHost {
    pub(crate) locks: LockTable,
    /// How many reasons there are that no thread may be preempted: the loader holds its lock.
    pub(crate) unstoppable: AtomicUsize,
}

/// A controlled thread.
#[derive(Clone, Debug)]
pub(crate) struct NativeThread(pub(crate) Arc<ThreadFacts>);

#[derive(Debug, Default)]
pub(crate) struct ThreadFacts {
    /// Its number among those that were started.
    pub(crate) number: usize,
    /// The C library's name of it, once it is known.
    pub(crate) handle: AtomicU64,
    /// The system's number, once it runs.
    pub(crate) tid: AtomicI32,
    /// Another thread has cancelled it.
    pub(crate) cancelled: AtomicBool,
    /// A signal came for it while it could not be handled.
    pub(crate) signalled: AtomicBool,
}

/// A mutex that a thread is blocked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) address: usize,
}

impl NativeHost {
    pub(crate) const fn new() -> Self {
        Self { locks: LockTable::new(), unstoppable: AtomicUsize::new(0) }
    }
}

impl Locks for NativeHost {
    fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        self.locks.owner(lock)
    }
}

impl Host for NativeHost {
    type Env = ();
    type Thread = NativeThread;
    type State = Spins;
    type Lock = Wanted;

    fn position(&self, (): ()) -> usize {
        HOT.position.load(Ordering::Relaxed)
    }

    fn set_window(&self, (): (), position: usize, limit: usize) {
        HOT.position.store(position, Ordering::Relaxed);
        HOT.limit.store(limit, Ordering::Relaxed);
    }

    fn take_branches(&self, (): ()) -> u32 {
        0
    }

    fn may_stop(&self, (): (), _moment: Moment) -> bool {
        self.unstoppable.load(Ordering::Relaxed) == 0
    }

    fn grant(&self, (): (), _id: ThreadId, _thread: &NativeThread, state: Spins, away: usize) {
        HOT.away.store(away, Ordering::Relaxed);
        probe::set_spins(state);
        HOT.owner.store(own_block(), Ordering::Release);
    }

    fn revoke(&self, (): (), away: usize) -> Spins {
        // The thread is here, or it sleeps in the system: what it was about to write it has written.
        probe::settle();
        HOT.away.store(away, Ordering::Relaxed);
        HOT.owner.store(0, Ordering::Release);
        probe::spins()
    }

    /// The C library gives the memory of a thread to the next one, but only when the thread is gone. Which memory that
    /// is must not depend on timing.
    fn bury(&self, (): (), _id: ThreadId, thread: &mut NativeThread) {
        const PATIENCE: Duration = Duration::from_millis(500);
        let begin = Instant::now();
        let tid = thread.0.tid.load(Ordering::Relaxed);
        while tid != 0 && exists(tid) && begin.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }

    /// The model can be wrong: a mutex in memory that was overwritten with zeros is free.
    fn amend(&self, (): (), wanted: &Wanted, _holder: &NativeThread) -> bool {
        let mutex = wanted.address as *mut libc::pthread_mutex_t;
        // SAFETY: a thread is about to take this mutex, so it is one.
        let taken = unsafe { real::pthread_mutex_trylock(mutex) } == 0;
        if taken {
            // SAFETY: taken above.
            unsafe { real::pthread_mutex_unlock(mutex) };
            self.locks.free(wanted.address);
        }
        taken
    }

    fn describe(
        &self,
        (): (),
        _thread: &NativeThread,
        on: &Blocker,
        wanted: Option<&Wanted>,
    ) -> WaitDescription {
        let on = match (on, wanted) {
            (Blocker::Lock(_), Some(wanted)) => {
                format!("the mutex {}", symbols::name_of_memory(wanted.address))
            }
            (Blocker::Wait { lock, .. }, _) => {
                let address = (lock.0 << 1 >> 1) as usize;
                format!("a change of {}", symbols::name_of_memory(address))
            }
            (other, _) => other.to_string(),
        };
        WaitDescription { on, frames: Vec::new() }
    }
}

/// Whether a thread of this process has not ended.
fn exists(tid: i32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe {
        real::raw_syscall(libc::SYS_tgkill, [libc::getpid() as usize, tid as usize, 0, 0, 0, 0])
            == 0
    }
}
