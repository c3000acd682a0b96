//! What the runtime requires from a front end.

use std::fmt::Debug;

use untorn_schedule::{Blocker, Locks, ThreadId};

/// Why the thread that has the token could be preempted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Its turn has ended. A host that protects a thread from a number of preemptions counts this one.
    TurnEnd,
    /// Replay: the recorded turn has ended.
    RecordedTurnEnd,
    /// Replay: the recorded turn has ended, and the thread is inside the runtime. Code that is not recorded may have
    /// called it.
    RecordedTurnEndInside,
    /// The thread is about to wait for a descriptor without the token.
    Leaving,
}

/// Why a thread waits, for the report of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitDescription {
    /// What it waits for: "the monitor of Account #7".
    pub on: String,
    /// Its stack, innermost frame first.
    pub frames: Vec<String>,
}

/// A front end, as the runtime sees it: the JVM through JNI, or a native program.
///
/// # Protocol
///
/// Probes in the program write [`Record`](crate::Record)s into a buffer. The next record goes to the *position*. When the
/// position has reached the *limit*, the probe calls [`Control::limit_reached`]. Position, limit and the counter of
/// branches exist once for the whole program, because only one thread writes: the one that has the token.
///
/// [`Host::grant`] gives the token to the current thread, [`Host::revoke`] takes it away. A probe in a thread without the
/// token writes nothing. If some threads are *away* (they lost the token while they were blocked outside), such a probe
/// first calls [`Control::come_back`], which waits for the token if the thread is one of them.
///
/// The runtime calls these methods while it holds its lock. So they must not call the runtime, and must not run code
/// of the program that could do so. The calling thread has the token or is about to get it, or it is the watchdog,
/// which takes the token from a sleeping thread.
///
/// [`Control::limit_reached`]: crate::Control::limit_reached
/// [`Control::come_back`]: crate::Control::come_back
pub trait Host: Locks + Send + Sync {
    /// What is needed to access the program from the current thread.
    type Env: Copy;
    /// The host's data of a thread.
    type Thread: Send + Debug;
    /// The part of the probes' state that belongs to a thread, and moves with it when it loses the token.
    type State: Copy + Default + Send + Debug;
    /// A lock that a thread is blocked on.
    type Lock: Send + Debug;

    /// The address of the next record.
    fn position(&self, env: Self::Env) -> usize;

    /// Sets the address of the next record, and the address at which the program calls the runtime.
    fn set_window(&self, env: Self::Env, position: usize, limit: usize);

    /// The branches since the last record; resets the counter.
    fn take_branches(&self, env: Self::Env) -> u32;

    /// Whether the thread with the token may lose it now. A host returns false where the thread may hold something
    /// that the runtime does not know, such as the lock of a class initialiser: others could block on it unseen.
    fn may_stop(&self, env: Self::Env, moment: Moment) -> bool;

    /// Gives the token to the current thread, which is recorded from now on. `away` threads are away.
    fn grant(
        &self,
        env: Self::Env,
        id: ThreadId,
        thread: &Self::Thread,
        state: Self::State,
        away: usize,
    );

    /// Takes the token away: no thread has it now. Returns the state of the thread that had it.
    fn revoke(&self, env: Self::Env, away: usize) -> Self::State;

    /// Waits until a thread that has ended for the runtime has ended for the program, too, and forgets it.
    fn bury(&self, env: Self::Env, id: ThreadId, thread: &mut Self::Thread);

    /// Before a deadlock is reported: `wanted` may be free, although [`Locks::owner`] returns `holder`. True if so;
    /// the model has been corrected then.
    fn amend(&self, env: Self::Env, wanted: &Self::Lock, holder: &Self::Thread) -> bool;

    /// What a thread of a deadlock waits for, as text.
    fn describe(
        &self,
        env: Self::Env,
        thread: &Self::Thread,
        on: &Blocker,
        wanted: Option<&Self::Lock>,
    ) -> WaitDescription;
}
