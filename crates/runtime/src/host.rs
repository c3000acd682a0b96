//! What the runtime needs of the front end that it runs in.

use std::fmt::Debug;

use untorn_schedule::{Blocker, Locks, ThreadId};

/// When a thread that has the token is to lose it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Its turn is over. A host that spares the thread so many times counts this one.
    TurnEnd,
    /// A recorded turn is over: the thread was stopped here, or right behind, when it was recorded.
    RecordedTurnEnd,
    /// The same, but the thread is inside of the runtime, and may be there on behalf of code that is not recorded.
    RecordedTurnEndInside,
    /// It is about to wait outside, without the token.
    Leaving,
}

/// Why a thread waits, for who reads of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitDescription {
    /// What it waits for: "the monitor of Account #7".
    pub on: String,
    /// Where it stands, innermost first.
    pub frames: Vec<String>,
}

/// A front end, as the runtime sees it: the JVM behind JNI, or a native program.
///
/// # Protocol
///
/// Probes in the program write [`Record`](crate::Record)s, one behind the other, at the *position*; when it reaches the
/// *limit*, the program calls [`Control::limit_reached`](crate::Control::limit_reached). Position, limit and a counter of branches are one
/// for the whole program, because one thread at a time writes: the one that was *granted* the token last. It loses it
/// again when it is *revoked*; a probe in a thread that does not have the token records nothing and, if some
/// threads are *away*, calls [`Control::come_back`](crate::Control::come_back).
///
/// The runtime calls these methods while it holds its lock, so none of them may call the runtime, nor run code of the program
/// that could do so. The calling thread has the token, is about to get it, or is the watchdog, which takes it from
/// a thread that sleeps.
pub trait Host: Locks + Send + Sync {
    /// What is needed to reach the program from the current thread.
    type Env: Copy;
    /// What the host knows of a thread.
    type Thread: Send + Debug;
    /// What of the probes' state belongs to a thread, and goes with it when it loses the token.
    type State: Copy + Default + Send + Debug;
    /// A lock that a thread is blocked on.
    type Lock: Send + Debug;

    /// Where the next record goes.
    fn position(&self, env: Self::Env) -> usize;

    /// Where the next record goes from now on, and where the program is to ask.
    fn set_window(&self, env: Self::Env, position: usize, limit: usize);

    /// The branches since the last record, which are now counted.
    fn take_branches(&self, env: Self::Env) -> u32;

    /// Whether the thread with the token may lose it. Not, for example, inside of what others would wait for unseen.
    fn may_stop(&self, env: Self::Env, moment: Moment) -> bool;

    /// Gives the token to the current thread: its records count from now on. So many threads are away.
    fn grant(
        &self,
        env: Self::Env,
        id: ThreadId,
        thread: &Self::Thread,
        state: Self::State,
        away: usize,
    );

    /// Nobody has the token from now on. Gives the state of the thread that had it.
    fn revoke(&self, env: Self::Env, away: usize) -> Self::State;

    /// Waits until a thread that has ended for the runtime has ended for the program, too, and forgets it.
    fn bury(&self, env: Self::Env, id: ThreadId, thread: &mut Self::Thread);

    /// Before a deadlock is believed: `wanted` may be free, although [`Locks::owner`] says that `holder` has it. True if
    /// so; it has been put right then.
    fn amend(&self, env: Self::Env, wanted: &Self::Lock, holder: &Self::Thread) -> bool;

    /// What a thread of a deadlock waits for, in words.
    fn describe(
        &self,
        env: Self::Env,
        thread: &Self::Thread,
        on: &Blocker,
        wanted: Option<&Self::Lock>,
    ) -> WaitDescription;
}
