//! The blocking half: threads wait here until they get the token.
//!
//! [`Scheduler`](untorn_schedule::Scheduler) decides which thread is next. The thread that asked it calls
//! [`Tokens::give`] for that thread and then [`Tokens::wait_for_turn`] for itself. The token may be given before the
//! thread waits for it, and by any thread: a thread that ends gives it away and does not wait.
//!
//! A thread sleeps by one futex call on the state of its slot, which also works for threads that Rust did not start.
//! Spurious wake-ups are allowed, so only the state decides. Measured by `examples/hand_over.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use untorn_trace::ids::ThreadId;

use crate::sync::{Lock, wait, wake};

/// Control has ended: all threads run uncontrolled.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Released;

/// How a wait with a time limit ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum WaitResult {
    /// The thread has the token.
    Turn,
    TimedOut,
}

/// The token is not here.
const ABSENT: u32 = 0;
/// The token was given and not yet taken.
const GIVEN: u32 = 1;
/// The token is not here, and the thread sleeps because of that, or is about to.
const AWAITED: u32 = 2;
/// No thread waits any more. This state is final.
const RELEASED: u32 = 3;

#[derive(Debug, Default)]
struct Slot {
    state: AtomicU32,
}

impl Slot {
    /// Changes the state, unless it is final, and wakes the threads that wait for the change.
    fn change(&self, to: u32) {
        let change = |state| (state != RELEASED).then_some(to);
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        if before == Ok(AWAITED) {
            // It may be another operating-system thread each time, and after a release there may be several.
            wake(&self.state, u32::MAX);
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

    fn wait(&self, until: Option<Instant>) -> Result<WaitResult, Released> {
        if let Some(taken) = self.take() {
            return taken.map(|()| WaitResult::Turn);
        }
        loop {
            // If it fails, the token has come meanwhile, or an earlier round announced it.
            let order = Ordering::AcqRel;
            let _ = self.state.compare_exchange(ABSENT, AWAITED, order, Ordering::Acquire);
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return self.give_up(),
                left => wait(&self.state, AWAITED, left),
            }
            if let Some(taken) = self.take() {
                return taken.map(|()| WaitResult::Turn);
            }
        }
    }

    fn give_up(&self) -> Result<WaitResult, Released> {
        let order = Ordering::AcqRel;
        match self.state.compare_exchange(AWAITED, ABSENT, order, Ordering::Acquire) {
            Ok(_) => Ok(WaitResult::TimedOut),
            // The token came at the last moment.
            Err(_) => match self.take() {
                Some(taken) => taken.map(|()| WaitResult::Turn),
                None => Ok(WaitResult::TimedOut),
            },
        }
    }
}

/// A slot to wait in for each thread.
#[derive(Debug, Default)]
pub struct Tokens {
    slots: Lock<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    /// By the number of the thread.
    all: Vec<Arc<Slot>>,
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
    ) -> Result<WaitResult, Released> {
        // A limit beyond the end of the clock is no limit.
        self.slot(thread).wait(Instant::now().checked_add(limit))
    }

    /// Gives the token to `thread`, whether it waits already or not.
    pub fn give(&self, thread: ThreadId) {
        self.slot(thread).change(GIVEN);
    }

    /// Lets all threads run uncontrolled, now and for ever.
    pub fn release_all(&self) {
        let mut slots = self.slots.lock();
        slots.released = true;
        for slot in &slots.all {
            slot.change(RELEASED);
        }
    }

    pub fn is_released(&self) -> bool {
        self.slots.lock().released
    }

    /// The slot of the thread; the first to come, waiter or giver, creates it.
    fn slot(&self, thread: ThreadId) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        let initial = if slots.released { RELEASED } else { ABSENT };
        while slots.all.len() <= thread.index() {
            slots.all.push(Arc::new(Slot { state: AtomicU32::new(initial) }));
        }
        Arc::clone(&slots.all[thread.index()])
    }
}
