//! AeroDrome: serializability by vector clocks, in one pass.
//!
//! Mathur and Viswanathan, *Atomicity checking in linear time using vector clocks*, ASPLOS 2020.
//! A thread's clock records which transactions reach its current one. An operation takes over the clock
//! of the transaction it depends on; if that clock holds the operation's own transaction, there is
//! a cycle. When a transaction ends, what it learned is passed on to every clock that holds it,
//! because those may have taken it over too early.
//!
//! What we changed, and why:
//! * A variable does not hold a clock. It names its last writer while that transaction is open, and
//!   afterwards the transaction's *finished clock*, which all variables it touched share. One clock
//!   is copied a transaction, not one an access; and since a running transaction's own reads are
//!   not in a finished clock, the paper's second read clock is not needed.
//! * The clock component of a thread counts its transactions, so "contains the begin of the open
//!   transaction" is the equality of two numbers.
//! * Only an open transaction can close a cycle. A finished clock without any open transaction in it
//!   is dead, and a transaction that ends in such a state leaves no clock at all.
//! * At its end, a transaction visits only the places it touched and the finished clocks that
//!   contain it, and nothing if no clock took over its own.
//! * A thread takes over its forker's clock at its first operation, not at the fork: fork and join
//!   of a thread that never ran are no path.
//! * Transactions that are still open when the trace ends are ended then; the printed algorithm
//!   misses a cycle that waits for such an end.
//!
//! Promise: the verdict is exact, for well-formed traces of any number of threads. The event named
//! is never too early, but it may be late: up to the end of a transaction of the cycle, or the
//! end of the trace. No cycle is shown; run Velodrome to explain. Memory: a few words for each
//! variable and lock, at most two clocks for each, and collected in time proportional to use.

mod finished;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use smallvec::SmallVec;
use untorn_trace::{Event, EventIdx, Hold, LockId, Op, ThreadId, VarId};

use crate::{Checker, Outcome, Verdict};
use finished::{Clock, ClockId, Finished, OpenNumbers};

/// The checker: see the head of this file.
#[derive(Debug, Default)]
pub struct AeroDrome(Engine<Sound>);

impl AeroDrome {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Checker for AeroDrome {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        self.0.events(first, batch)
    }

    fn finish(&mut self) -> Outcome {
        self.0.finish()
    }
}

/// Mistakes that tests can build in, to show that they would be noticed. All are off in [`Sound`],
/// and off means compiled away.
trait Fault {
    const THREADS_MISS_THE_END: bool = false;
    const FINISHED_MISS_THE_END: bool = false;
    const GAINS_ARE_NOT_REGISTERED: bool = false;
    const INNER_END_ENDS: bool = false;
    const OUTSIDE_MELTS: bool = false;
    const FORK_REACHES_AT_ONCE: bool = false;
    const OPEN_ONES_NEVER_END: bool = false;
    const STALE_TAIL: bool = false;
    const FINISHED_READS_ARE_LOST: bool = false;
    const SHARED_HOLD_IS_A_WRITE: bool = false;
}

#[derive(Debug, Default)]
struct Sound;

impl Fault for Sound {}

/// What a conflict happens on: a variable, a lock, or the birth of a thread.
#[derive(Clone, Copy, Debug)]
enum Location {
    Var(VarId),
    Lock(LockId),
    Birth(ThreadId),
}

/// The transaction that last did something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Last {
    /// None, or one that can be in no cycle any more.
    #[default]
    None,
    /// The open transaction of this thread.
    Open(ThreadId),
    Finished(ClockId),
}

/// The last accesses of a variable or a lock.
#[derive(Debug, Default)]
struct Touches {
    writer: Last,
    /// Threads whose open transaction read since the last write.
    open_readers: SmallVec<[ThreadId; 4]>,
    /// The finished transactions that did, joined into one clock.
    readers: Option<ClockId>,
}

#[derive(Debug, Default)]
struct Thread {
    /// What reaches the current transaction. The own component is its number.
    clock: Clock,
    /// Open blocks.
    depth: u32,
    /// Places that name the open transaction. A place comes twice at most: once read, once written.
    touched: Vec<Location>,
    /// Whether any other clock contains the open transaction.
    observed: bool,
    /// Set if the clock may contain open transactions of others.
    dependent: bool,
    /// The finished clocks that contain the open transaction.
    dependents: Vec<ClockId>,
    /// A finished clock with the same open transactions in it as `clock`.
    tail: Option<ClockId>,
    /// The transaction that forked this thread; `None` once it has run.
    birth: Last,
}

#[derive(Debug, Default)]
struct Engine<F> {
    threads: Vec<Thread>,
    now: OpenNumbers,
    finished: Finished,
    vars: Vec<Touches>,
    locks: Vec<Touches>,
    /// The first cycle noticed.
    torn: Option<(EventIdx, ThreadId)>,
    last: (EventIdx, ThreadId),
    /// A thread has nearly as many transactions as a clock can count: no verdict.
    is_exhausted: bool,
    seen: u64,
    fault: std::marker::PhantomData<F>,
}

/// A cycle was closed.
struct Torn;

type Step<T = ()> = Result<T, Torn>;

impl<F: Fault> Checker for Engine<F> {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        self.seen += batch.len() as u64;
        if self.may_exhaust(batch.len()) {
            self.is_exhausted = true;
            return ControlFlow::Break(());
        }
        for (offset, event) in batch.iter().enumerate() {
            if event.op.is_conflicting() {
                self.last = (EventIdx(first.0 + offset as u64), event.thread);
                if self.event(event).is_err() {
                    self.torn = Some(self.last);
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) -> Outcome {
        if self.is_exhausted {
            return Outcome::of(Verdict::Undecided);
        }
        for thread in (0..self.threads.len()).map(ThreadId::from_index) {
            let open = self.now.is_open(thread) && !F::OPEN_ONES_NEVER_END;
            if self.torn.is_none() && open && self.end(thread).is_err() {
                self.torn = Some((self.last.0, thread));
            }
        }
        Outcome::of(match self.torn {
            Some((at, thread)) => Verdict::NotSerializable { at, thread },
            None => Verdict::Serializable,
        })
    }
}

impl<F: Fault> Engine<F> {
    /// Whether `events` more could take a thread to the end of what a clock counts. Each event
    /// counts two numbers at most.
    fn may_exhaust(&self, events: usize) -> bool {
        if self.seen < u64::from(u32::MAX / 2) {
            return false; // whoever made them all
        }
        let limit = u64::from(u32::MAX).saturating_sub(2 * events as u64 + 2);
        let own = self.threads.iter().enumerate();
        own.map(|(i, state)| state.clock.get(ThreadId::from_index(i)))
            .any(|number| u64::from(number) > limit)
    }

    #[inline]
    fn event(&mut self, event: &Event) -> Step {
        let thread = event.thread;
        self.admit(thread);
        let state = &mut self.threads[thread.index()];
        if matches!(event.op, Op::End { .. }) && state.depth == 0 {
            return Ok(()); // Ends nothing: no operation.
        }
        if state.birth != Last::None {
            let forker = std::mem::take(&mut state.birth);
            self.take_over(thread, forker)?;
        }
        if F::OUTSIDE_MELTS && !self.now.is_open(thread) {
            self.begin(thread);
        }
        match event.op {
            Op::Read { var, .. } => self.read(thread, Location::Var(var)),
            Op::Write { var, .. } => self.write(thread, Location::Var(var)),
            Op::Acquire { lock, hold: Hold::Shared } | Op::Release { lock, hold: Hold::Shared }
                if !F::SHARED_HOLD_IS_A_WRITE =>
            {
                self.read(thread, Location::Lock(lock))
            }
            Op::Acquire { lock, .. }
            | Op::Release { lock, .. }
            | Op::Wait { lock }
            | Op::Resume { lock } => self.write(thread, Location::Lock(lock)),
            Op::Fork { child } if child != thread => {
                self.fork(thread, child);
                Ok(())
            }
            Op::Join { child } if child != thread => self.join(thread, child),
            Op::Begin { .. } => {
                let state = &mut self.threads[thread.index()];
                state.depth += 1;
                if state.depth == 1 {
                    self.begin(thread);
                }
                Ok(())
            }
            Op::End { .. } => {
                let state = &mut self.threads[thread.index()];
                state.depth -= 1;
                if state.depth == 0 || F::INNER_END_ENDS { self.end(thread) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Makes room for a thread.
    #[inline]
    fn admit(&mut self, thread: ThreadId) {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
            self.now.grow(self.threads.len());
        }
    }

    #[inline]
    fn touches(&mut self, place: Location) -> &mut Touches {
        let (list, index) = match place {
            Location::Var(var) => (&mut self.vars, var.index()),
            Location::Lock(lock) => (&mut self.locks, lock.index()),
            Location::Birth(_) => unreachable!("a birth has no readers"),
        };
        if list.len() <= index {
            list.resize_with(index + 1, Touches::default);
        }
        &mut list[index]
    }

    #[inline]
    fn read(&mut self, thread: ThreadId, place: Location) -> Step {
        let touches = self.touches(place);
        let me = Last::Open(thread);
        // Every later conflict with this read also conflicts with the last write: the read adds nothing.
        if touches.writer == me || touches.open_readers.contains(&thread) {
            return Ok(());
        }
        let writer = touches.writer;
        self.take_over(thread, writer)?;
        if self.now.is_open(thread) {
            self.touches(place).open_readers.push(thread);
            self.threads[thread.index()].touched.push(place);
        } else if let Some(clock) = self.finished_clock(thread) {
            self.add_reader(place, clock);
        }
        Ok(())
    }

    #[inline]
    fn write(&mut self, thread: ThreadId, place: Location) -> Step {
        let touches = self.touches(place);
        let me = Last::Open(thread);
        if touches.writer == me && touches.open_readers.is_empty() && touches.readers.is_none() {
            return Ok(());
        }
        let writer = touches.writer;
        let open_readers = std::mem::take(&mut touches.open_readers);
        let readers = touches.readers.take();
        self.take_over(thread, writer)?;
        for &reader in &open_readers {
            self.take_over(thread, Last::Open(reader))?;
        }
        if let Some(clock) = readers
            && !F::FINISHED_READS_ARE_LOST
        {
            self.take_over(thread, Last::Finished(clock))?;
        }
        self.touches(place).writer = self.leave_mark(thread, place);
        Ok(())
    }

    /// What a place is to remember of the current transaction.
    fn leave_mark(&mut self, thread: ThreadId, place: Location) -> Last {
        if self.now.is_open(thread) {
            self.threads[thread.index()].touched.push(place);
            return Last::Open(thread);
        }
        self.finished_clock(thread).map_or(Last::None, Last::Finished)
    }

    fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        self.admit(child);
        self.threads[child.index()].birth = self.leave_mark(thread, Location::Birth(child));
        if F::FORK_REACHES_AT_ONCE {
            self.threads[thread.index()].observed = true;
            self.learn(child, thread);
        }
    }

    fn join(&mut self, thread: ThreadId, child: ThreadId) -> Step {
        self.admit(child);
        // A child that never ran has an empty clock.
        if self.now.is_in(thread, &self.threads[child.index()].clock) {
            return Err(Torn);
        }
        self.threads[child.index()].observed = true;
        self.learn(thread, child);
        Ok(())
    }

    fn begin(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        state.observed = false;
        debug_assert!(
            F::OUTSIDE_MELTS || (state.touched.is_empty() && state.dependents.is_empty())
        );
        self.now.open(thread, state.clock.count(thread));
    }

    /// Lets `thread` depend on a transaction of another thread.
    #[inline]
    fn take_over(&mut self, thread: ThreadId, from: Last) -> Step {
        match from {
            Last::None => Ok(()),
            Last::Open(other) if other == thread => Ok(()),
            Last::Open(other) => {
                if self.now.is_in(thread, &self.threads[other.index()].clock) {
                    return Err(Torn);
                }
                // Transactions that depend on it already get the rest when it ends.
                if !self.now.is_in(other, &self.threads[thread.index()].clock) {
                    self.threads[other.index()].observed = true;
                    self.learn(thread, other);
                }
                Ok(())
            }
            Last::Finished(id) => {
                let Some(finished) = self.finished.get(id) else { return Ok(()) };
                if self.now.is_in(thread, &finished.clock) {
                    return Err(Torn);
                }
                let state = &mut self.threads[thread.index()];
                if !finished.is_known_to(&state.clock) {
                    let gained = state.clock.join(&finished.clock, &self.now);
                    state.gained::<F>(gained);
                }
                Ok(())
            }
        }
    }

    /// Joins the clock of thread `from` into that of `to`.
    fn learn(&mut self, to: ThreadId, from: ThreadId) {
        let [to, from] = self
            .threads
            .get_disjoint_mut([to.index(), from.index()])
            .expect("two different admitted threads");
        let gained = to.clock.join(&from.clock, &self.now);
        to.gained::<F>(gained);
    }

    /// Ends the open transaction and passes what it depended on to all that depend on it.
    fn end(&mut self, thread: ThreadId) -> Step {
        let Some(number) = self.now.close(thread) else { return Ok(()) };
        let mark = self.finished_clock(thread);
        let mut touched = std::mem::take(&mut self.threads[thread.index()].touched);
        for place in touched.drain(..) {
            self.settle(thread, place, mark);
        }
        let state = &mut self.threads[thread.index()];
        state.touched = touched;
        if !std::mem::take(&mut state.observed) {
            debug_assert!(state.dependents.is_empty());
            return Ok(());
        }
        if !F::THREADS_MISS_THE_END {
            self.tell_threads(thread, number)?;
        }
        self.tell_finished(thread, number);
        Ok(())
    }

    /// Replaces the name of a transaction that ended by its finished clock.
    fn settle(&mut self, thread: ThreadId, place: Location, mark: Option<ClockId>) {
        let open = Last::Open(thread);
        let closed = mark.map_or(Last::None, Last::Finished);
        if let Location::Birth(child) = place {
            let birth = &mut self.threads[child.index()].birth;
            if *birth == open {
                *birth = closed;
            }
            return;
        }
        let touches = self.touches(place);
        if touches.writer == open {
            touches.writer = closed;
        }
        if let Some(at) = touches.open_readers.iter().position(|&reader| reader == thread) {
            touches.open_readers.swap_remove(at);
            if let Some(clock) = mark {
                self.add_reader(place, clock);
            }
        }
    }

    fn tell_threads(&mut self, thread: ThreadId, number: u32) -> Step {
        for other in (0..self.threads.len()).map(ThreadId::from_index) {
            if other == thread || self.threads[other.index()].clock.get(thread) != number {
                continue;
            }
            if self.now.is_in(other, &self.threads[thread.index()].clock) {
                return Err(Torn);
            }
            self.learn(other, thread);
        }
        Ok(())
    }

    fn tell_finished(&mut self, thread: ThreadId, number: u32) {
        let mut dependents = std::mem::take(&mut self.threads[thread.index()].dependents);
        for id in dependents.drain(..) {
            let Some(finished) = self.finished.get_mut(id) else { continue };
            if finished.clock.get(thread) != number {
                continue;
            }
            if !F::FINISHED_MISS_THE_END {
                let ended = &self.threads[thread.index()].clock;
                let gains = self.now.gains(&finished.clock, ended);
                finished.clock.join(ended, &self.now);
                if !F::GAINS_ARE_NOT_REGISTERED {
                    self.register(id, gains);
                }
            }
            self.finished.bury_if_dead(id, &self.now);
        }
        self.threads[thread.index()].dependents = dependents;
    }

    /// Notes that a finished clock came to contain these open transactions.
    fn register(&mut self, id: ClockId, gains: SmallVec<[ThreadId; 8]>) {
        for thread in gains {
            self.threads[thread.index()].dependents.push(id);
        }
    }

    /// The clock that represents the current transaction, or for the operation outside of blocks,
    /// once it is over; none if it can be in no cycle any more.
    fn finished_clock(&mut self, thread: ThreadId) -> Option<ClockId> {
        let state = &mut self.threads[thread.index()];
        if !state.dependent {
            return None;
        }
        if let Some(tail) = state.tail {
            if self.finished.get(tail).is_some() {
                return Some(tail);
            }
            state.tail = None;
        }
        let open = self.now.gains(&Clock::default(), &state.clock);
        if open.is_empty() {
            state.dependent = false;
            return None;
        }
        self.collect_if_due();
        // Its own number lets others see at once whether they know this clock.
        let state = &mut self.threads[thread.index()];
        let stamp = state.clock.count(thread);
        let id = self.finished.add(state.clock.clone(), Some((thread, stamp)));
        state.tail = Some(id);
        self.register(id, open);
        Some(id)
    }

    /// Adds a finished transaction to the readers of a place.
    fn add_reader(&mut self, place: Location, new: ClockId) {
        let Some(old) = self.touches(place).readers else {
            self.touches(place).readers = Some(new);
            return;
        };
        let (Some(old_clock), Some(new_clock)) = (self.finished.get(old), self.finished.get(new))
        else {
            self.touches(place).readers = Some(new);
            return;
        };
        if old == new || new_clock.is_known_to(&old_clock.clock) {
            return;
        }
        if old_clock.is_known_to(&new_clock.clock) {
            self.touches(place).readers = Some(new);
            return;
        }
        let addition = new_clock.clock.clone();
        if old_clock.is_joined() {
            // A joined clock belongs to one place, so it can grow where it is.
            let gains = self.now.gains(&old_clock.clock, &addition);
            if let Some(old_clock) = self.finished.get_mut(old) {
                old_clock.clock.join(&addition, &self.now);
            }
            self.register(old, gains);
        } else {
            let mut joined = old_clock.clock.clone();
            joined.join(&addition, &self.now);
            let open = self.now.gains(&Clock::default(), &joined);
            let id = self.finished.add(joined, None);
            self.register(id, open);
            self.touches(place).readers = Some(id);
        }
    }

    /// Frees the finished clocks that nothing names any more, when there are many.
    fn collect_if_due(&mut self) {
        if !self.finished.is_due(self.vars.len() + self.locks.len()) {
            return;
        }
        let Self { threads, vars, locks, finished, .. } = self;
        for touches in vars.iter_mut().chain(locks) {
            finished.mark_last(&mut touches.writer);
            finished.mark(&mut touches.readers);
        }
        for thread in threads.iter_mut() {
            finished.mark_last(&mut thread.birth);
            finished.mark(&mut thread.tail);
        }
        finished.sweep();
        // A transaction that is just ending counts as closed and still needs its dependents, so
        // nothing but what was freed may go.
        for thread in threads {
            thread.dependents.retain(|&id| finished.get(id).is_some());
        }
    }
}

impl Thread {
    /// The clock grew; `gained`: whether by an open transaction.
    fn gained<F: Fault>(&mut self, gained: bool) {
        if gained {
            self.dependent = true;
            if !F::STALE_TAIL {
                self.tail = None;
            }
        }
    }
}
