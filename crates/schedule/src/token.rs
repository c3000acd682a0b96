//! The blocking half: threads wait here until the token is theirs.
//!
//! [`Scheduler`](crate::Scheduler) says who is next; whoever asked it calls [`Tokens::give`] for
//! that thread and then [`Tokens::wait_for_turn`] for itself. The token may be given before the
//! thread has come to wait, and by anybody: a thread that ends gives it away and does not wait.
//!
//! A thread sleeps by `std::thread::park`, which is one futex call and may be used by threads that
//! Rust did not start. Waking without reason is allowed there, so the state of the slot alone
//! decides. Measured by `examples/hand_over.rs`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use untorn_trace::ids::ThreadId;

/// Control has ended: everybody runs free.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Released;

/// How a wait with a time limit ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Waited {
    /// The thread has the token.
    Turn,
    TimedOut,
}

/// The token is not here.
const ABSENT: u32 = 0;
/// The token was given and not yet taken.
const GIVEN: u32 = 1;
/// The token is not here, and `sleeper` is set and sleeps, or is about to.
const AWAITED: u32 = 2;
/// Nobody waits any more. This state is final.
const RELEASED: u32 = 3;

#[derive(Debug, Default)]
struct Slot {
    state: AtomicU32,
    /// Who waits. It may be another operating-system thread each time: virtual threads move.
    sleeper: Mutex<Option<Thread>>,
}

impl Slot {
    fn sleeper(&self) -> MutexGuard<'_, Option<Thread>> {
        self.sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, unless it is final, and wakes who waits for the change.
    fn change(&self, to: u32) {
        let change = |state| (state != RELEASED).then_some(to);
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        if before == Ok(AWAITED)
            && let Some(sleeper) = &*self.sleeper()
        {
            sleeper.unpark();
        }
    }

    /// Takes the token if it is here.
    fn take(&self) -> Option<Result<(), Released>> {
        let swap =
            |from, to| self.state.compare_exchange(from, to, Ordering::Acquire, Ordering::Acquire);
        match swap(GIVEN, ABSENT) {
            Ok(_) => Some(Ok(())),
            Err(RELEASED) => Some(Err(Released)),
            Err(_) => None,
        }
    }

    fn wait(&self, until: Option<Instant>) -> Result<Waited, Released> {
        if let Some(taken) = self.take() {
            return taken.map(|()| Waited::Turn);
        }
        self.announce();
        loop {
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => std::thread::park(),
                Some(Duration::ZERO) => return self.give_up(),
                Some(left) => std::thread::park_timeout(left),
            }
            if let Some(taken) = self.take() {
                return taken.map(|()| Waited::Turn);
            }
        }
    }

    /// Says who is to be woken, before it can sleep.
    fn announce(&self) {
        let current = std::thread::current();
        let mut sleeper = self.sleeper();
        if sleeper.as_ref().is_none_or(|sleeper| sleeper.id() != current.id()) {
            *sleeper = Some(current);
        }
        drop(sleeper);
        // If it fails, the token has come meanwhile: then the first wait below must not sleep.
        let order = Ordering::AcqRel;
        if self.state.compare_exchange(ABSENT, AWAITED, order, Ordering::Acquire).is_err() {
            std::thread::current().unpark();
        }
    }

    fn give_up(&self) -> Result<Waited, Released> {
        let order = Ordering::AcqRel;
        match self.state.compare_exchange(AWAITED, ABSENT, order, Ordering::Acquire) {
            Ok(_) => Ok(Waited::TimedOut),
            // The token came in the last moment.
            Err(_) => match self.take() {
                Some(taken) => taken.map(|()| Waited::Turn),
                None => Ok(Waited::TimedOut),
            },
        }
    }
}

/// A place to wait for each thread.
#[derive(Debug, Default)]
pub struct Tokens {
    slots: RwLock<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    all: BTreeMap<ThreadId, Arc<Slot>>,
    released: bool,
}

impl Tokens {
    pub fn new() -> Self {
        Self::default()
    }

    /// Blocks until the token is given to `thread`, and takes it.
    pub fn wait_for_turn(&self, thread: ThreadId) -> Result<(), Released> {
        self.slot(thread).wait(None).map(|_| ())
    }

    /// The same, but no longer than `limit`.
    pub fn wait_for_turn_timeout(
        &self,
        thread: ThreadId,
        limit: Duration,
    ) -> Result<Waited, Released> {
        // A limit beyond the end of the clock is none.
        self.slot(thread).wait(Instant::now().checked_add(limit))
    }

    /// Gives the token to `thread`, whether it waits already or not.
    pub fn give(&self, thread: ThreadId) {
        self.slot(thread).change(GIVEN);
    }

    /// Lets everybody run, now and for ever.
    pub fn release_all(&self) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        slots.released = true;
        for slot in slots.all.values() {
            slot.change(RELEASED);
        }
    }

    pub fn is_released(&self) -> bool {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).released
    }

    /// The slot of the thread; whoever comes first, waiter or giver, makes it.
    fn slot(&self, thread: ThreadId) -> Arc<Slot> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.all.get(&thread) {
            return Arc::clone(slot);
        }
        drop(slots);
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let state = AtomicU32::new(if slots.released { RELEASED } else { ABSENT });
        let new = || Arc::new(Slot { state, ..Slot::default() });
        Arc::clone(slots.all.entry(thread).or_insert_with(new))
    }
}
