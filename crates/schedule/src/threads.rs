//! The state of every thread, and the changes that other threads make to it.

use untorn_trace::ids::ThreadId;

use crate::{Blocker, LockKey, Locks, Nanos, Wake};

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Can run at once; `Wake` is the reason that it will be given.
    Runnable(Wake),
    /// Has the token.
    Running,
    /// Can run when the lock is free.
    WantsLock {
        lock: LockKey,
        wake: Wake,
    },
    /// Waits for something that is neither a lock nor outside. `since` orders waiters: the longest waiting one is
    /// notified first.
    Blocked {
        on: Blocker,
        since: u64,
    },
    Outside,
    Ended,
}

#[derive(Debug)]
struct Thread {
    name: String,
    state: State,
    /// An `unpark` that came while the thread was not parked.
    permit: bool,
    /// It is before an event at which it was held, and will ask there again.
    held: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Threads {
    all: Vec<Thread>,
    /// Threads that have not ended, ascending.
    live: Vec<ThreadId>,
    /// A lower bound of all deadlines; `None` if no thread has a deadline.
    soonest: Option<Nanos>,
    /// How often a thread began to wait.
    waits: u64,
    /// Some thread requested a lock since [`Threads::take_lock_wanted`].
    lock_wanted: bool,
}

impl Threads {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn live(&self) -> &[ThreadId] {
        &self.live
    }

    pub(crate) fn name(&self, thread: ThreadId) -> Option<&str> {
        self.all.get(thread.index()).map(|thread| thread.name.as_str())
    }

    /// The state; a thread that was never started counts as ended.
    pub(crate) fn state(&self, thread: ThreadId) -> State {
        self.all.get(thread.index()).map_or(State::Ended, |thread| thread.state)
    }

    pub(crate) fn is_outside(&self, thread: ThreadId) -> bool {
        self.state(thread) == State::Outside
    }

    pub(crate) fn any_outside(&self) -> bool {
        self.live.iter().any(|&thread| self.is_outside(thread))
    }

    pub(crate) fn has_ended(&self, thread: ThreadId) -> bool {
        self.state(thread) == State::Ended
    }

    /// It was held where it is.
    pub(crate) fn hold(&mut self, thread: ThreadId) {
        if let Some(thread) = self.all.get_mut(thread.index()) {
            thread.held = true;
        }
    }

    /// Whether it was where it was held; resets that.
    pub(crate) fn leaves_hold(&mut self, thread: ThreadId) -> bool {
        self.all.get_mut(thread.index()).is_some_and(|thread| std::mem::take(&mut thread.held))
    }

    /// What the thread is blocked on, if it is.
    pub(crate) fn blocker(&self, thread: ThreadId) -> Option<Blocker> {
        match self.state(thread) {
            State::WantsLock { lock, .. } => Some(Blocker::Lock(lock)),
            State::Blocked { on, .. } => Some(on),
            State::Outside => Some(Blocker::Outside),
            State::Runnable(_) | State::Running | State::Ended => None,
        }
    }

    pub(crate) fn wanted_lock(&self, thread: ThreadId) -> Option<LockKey> {
        match self.state(thread) {
            State::WantsLock { lock, .. } => Some(lock),
            _ => None,
        }
    }

    /// The lock that the thread requests now, or will request when its deadline has passed.
    pub(crate) fn lock_wanted_in_the_end(&self, thread: ThreadId) -> Option<LockKey> {
        match self.state(thread) {
            State::Blocked { on: Blocker::Wait { lock, deadline: Some(_) }, .. } => Some(lock),
            _ => self.wanted_lock(thread),
        }
    }

    pub(crate) fn can_run(&self, thread: ThreadId, locks: &dyn Locks) -> bool {
        match self.state(thread) {
            State::Runnable(_) => true,
            State::WantsLock { lock, .. } => is_free_for(thread, lock, locks),
            _ => false,
        }
    }

    /// When the passing of time alone would let the thread run: its deadline, if nothing else blocks it.
    pub(crate) fn runs_at(&self, thread: ThreadId, locks: &dyn Locks) -> Option<Nanos> {
        match self.state(thread) {
            State::Blocked { on: Blocker::Wait { lock, deadline }, .. } => {
                deadline.filter(|_| is_free_for(thread, lock, locks))
            }
            State::Blocked { on, .. } => on.deadline(),
            _ => None,
        }
    }

    /// When the passing of time alone would let some thread run. A deadline that would unblock no thread does not
    /// count: a jump there would not show in the schedule, and a replay could not repeat it.
    pub(crate) fn anyone_runs_at(&self, locks: &dyn Locks) -> Option<Nanos> {
        self.live.iter().filter_map(|&thread| self.runs_at(thread, locks)).min()
    }

    /// The next deadline of all threads.
    fn earliest_deadline(&self) -> Option<Nanos> {
        let deadline = |&thread: &ThreadId| self.blocker(thread).and_then(Blocker::deadline);
        self.live.iter().filter_map(deadline).min()
    }

    /// Whether some thread requested a lock since the last call: there may be a new cycle.
    pub(crate) fn take_lock_wanted(&mut self) -> bool {
        std::mem::take(&mut self.lock_wanted)
    }

    pub(crate) fn spawn(&mut self, name: &str) -> ThreadId {
        let id = ThreadId::from_index(self.all.len());
        let state = State::Runnable(Wake::Ready);
        self.all.push(Thread { name: name.to_owned(), state, permit: false, held: false });
        self.live.push(id);
        id
    }

    pub(crate) fn end(&mut self, ended: ThreadId) {
        let Ok(at) = self.live.binary_search(&ended) else { return };
        self.live.remove(at);
        self.set(ended, State::Ended);
        for i in 0..self.live.len() {
            let thread = self.live[i];
            if let State::Blocked { on: Blocker::Join { thread: joined, .. }, .. } =
                self.state(thread)
                && joined == ended
            {
                self.set(thread, State::Runnable(Wake::Ready));
            }
        }
    }

    pub(crate) fn block(&mut self, thread: ThreadId, on: Blocker) {
        if self.has_ended(thread) {
            return;
        }
        let state = match on {
            Blocker::Lock(lock) => State::WantsLock { lock, wake: Wake::Ready },
            Blocker::Outside => State::Outside,
            Blocker::Park { .. } if std::mem::take(&mut self.all[thread.index()].permit) => {
                State::Runnable(Wake::Ready)
            }
            Blocker::Join { thread: joined, .. } if self.has_ended(joined) => {
                State::Runnable(Wake::Ready)
            }
            _ => {
                self.waits += 1;
                State::Blocked { on, since: self.waits }
            }
        };
        if let Some(deadline) = on.deadline() {
            self.soonest = Some(self.soonest.map_or(deadline, |soonest| soonest.min(deadline)));
        }
        self.set(thread, state);
    }

    /// Gives the permit, or wakes the parked thread.
    pub(crate) fn unpark(&mut self, thread: ThreadId) {
        match self.state(thread) {
            State::Blocked { on: Blocker::Park { .. }, .. } => {
                self.set(thread, State::Runnable(Wake::Ready));
            }
            State::Ended => {}
            _ => self.all[thread.index()].permit = true,
        }
    }

    /// Wakes the thread from waiting, parking, sleeping or joining.
    pub(crate) fn interrupt(&mut self, thread: ThreadId) {
        if let State::Blocked { on, .. } = self.state(thread) {
            self.set(thread, woken(on, Wake::Interrupted));
        }
    }

    /// Wakes the thread that has waited longest, or all. Returns how many.
    pub(crate) fn notify(&mut self, notified: LockKey, all: bool) -> usize {
        let waits_since = |&thread: &ThreadId| match self.state(thread) {
            State::Blocked { on: Blocker::Wait { lock, .. }, since } if lock == notified => {
                Some((since, thread))
            }
            _ => None,
        };
        let waiters = self.live.iter().filter_map(waits_since);
        let woken: Vec<_> =
            if all { waiters.collect() } else { waiters.min().into_iter().collect() };
        for &(_, thread) in &woken {
            self.set(thread, State::WantsLock { lock: notified, wake: Wake::Notified });
        }
        woken.len()
    }

    pub(crate) fn returned(&mut self, thread: ThreadId) {
        if self.is_outside(thread) {
            self.set(thread, State::Runnable(Wake::Ready));
        }
    }

    /// Wakes all threads whose deadline has passed.
    pub(crate) fn expire(&mut self, now: Nanos) {
        if self.soonest.is_none_or(|soonest| soonest > now) {
            return;
        }
        for i in 0..self.live.len() {
            let thread = self.live[i];
            if let State::Blocked { on, .. } = self.state(thread)
                && on.deadline().is_some_and(|deadline| deadline <= now)
            {
                self.set(thread, woken(on, Wake::TimedOut));
            }
        }
        self.soonest = self.earliest_deadline();
    }

    /// Gives the token to the thread; returns why it continues.
    pub(crate) fn run(&mut self, thread: ThreadId) -> Wake {
        let wake = self.wake_of(thread);
        self.set(thread, State::Running);
        wake
    }

    /// Makes a thread that could run runnable, whatever happens to the lock it requests.
    pub(crate) fn settle(&mut self, thread: ThreadId) {
        let wake = self.wake_of(thread);
        self.set(thread, State::Runnable(wake));
    }

    /// Takes the token away. A thread that neither blocked nor ended can run again.
    pub(crate) fn stop(&mut self, thread: ThreadId) {
        if self.state(thread) == State::Running {
            self.set(thread, State::Runnable(Wake::Ready));
        }
    }

    fn wake_of(&self, thread: ThreadId) -> Wake {
        match self.state(thread) {
            State::Runnable(wake) | State::WantsLock { wake, .. } => wake,
            _ => Wake::Ready,
        }
    }

    /// The only way to change the state. An ended thread never changes it.
    fn set(&mut self, thread: ThreadId, state: State) {
        let known = self.all.get_mut(thread.index());
        if let Some(thread) = known.filter(|thread| thread.state != State::Ended) {
            thread.state = state;
            self.lock_wanted |= matches!(state, State::WantsLock { .. });
        }
    }
}

fn is_free_for(thread: ThreadId, lock: LockKey, locks: &dyn Locks) -> bool {
    locks.owner(lock).is_none_or(|owner| owner == thread)
}

/// The state after the thread was woken by something else than what it waited for.
const fn woken(on: Blocker, wake: Wake) -> State {
    match on {
        Blocker::Wait { lock, .. } => State::WantsLock { lock, wake },
        _ => State::Runnable(wake),
    }
}
