//! The state that the lock of the runtime protects.

use untorn_schedule::{Deadlock, Scheduler, ThreadId, Turn};

use super::AwaitedDescriptor;
use super::repetition::Repetition;
use crate::buffers::Buffer;
use crate::host::Host;

/// A controlled thread.
#[derive(Debug)]
pub(crate) struct Slot<H: Host> {
    pub(crate) thread: H::Thread,
    /// The operating system's number, once it runs.
    pub(crate) tid: i32,
    /// The state of the probes, while the thread does not have the token.
    pub(crate) state: H::State,
    /// It runs, or is blocked, without the token.
    pub(crate) away: bool,
    pub(crate) ended: bool,
    /// The program does not wait for it to end.
    pub(crate) daemon: bool,
    /// The lock that it requests, while it is blocked on one.
    pub(crate) wanted: Option<H::Lock>,
    /// The descriptor that it waits for, outside.
    pub(crate) awaited: Option<AwaitedDescriptor>,
    /// It is to wait for that descriptor no longer.
    pub(crate) interrupted: bool,
    pub(crate) repetition: Repetition,
}

impl<H: Host> Slot<H> {
    pub(crate) fn new(thread: H::Thread, daemon: bool) -> Self {
        Self {
            thread,
            tid: 0,
            state: H::State::default(),
            away: false,
            ended: false,
            daemon,
            wanted: None,
            awaited: None,
            interrupted: false,
            repetition: Repetition::default(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Core<H: Host> {
    pub(crate) scheduler: Scheduler,
    pub(crate) slots: Vec<Slot<H>>,
    pub(crate) buffer: Buffer,
    /// The address up to which records were reported to the scheduler.
    pub(crate) counted: usize,
    /// The address at which the turn is looked at for repetitions.
    pub(crate) next_look: usize,
    /// The rest of the budget as of `counted`.
    pub(crate) left: u64,
    /// When the budget has run out, the thread continues without the token.
    pub(crate) leave: bool,
    /// The thread must stop after the next event, because of a plan.
    pub(crate) stop_after: bool,
    /// The turn that was granted to a thread and has not begun yet.
    pub(crate) granted: Option<Turn>,
    /// No thread can ever run, according to the scheduler.
    pub(crate) deadlock: Option<Deadlock>,
    /// A thread that has ended for the runtime but not yet for the host.
    pub(crate) dying: Option<ThreadId>,
    /// How often the program asked for the time.
    pub(crate) clock_readings: u64,
    /// The trace is complete.
    pub(crate) over: bool,
    pub(crate) tally: Interventions,
}

/// Counts of irregular events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interventions {
    /// How often the watchdog took the token from a thread that was blocked outside.
    pub(crate) stolen: u64,
    /// How often a thread waited for a file, a pipe or a socket.
    pub(crate) awaited: u64,
    /// How often a thread blocked on a lock that was free in the model.
    pub(crate) contended: u64,
    /// How often a lock was held in the model that was free.
    pub(crate) amended: u64,
    /// Threads that run without control: those that belong to the language's own runtime, or that it started.
    pub(crate) uncontrolled: u64,
    /// Threads of the program that are neither recorded nor controlled: virtual threads that other threads carry.
    pub(crate) virtual_threads: u64,
}

impl<H: Host> Core<H> {
    pub(crate) fn new(scheduler: Scheduler, buffer: Buffer) -> Self {
        Self {
            scheduler,
            slots: Vec::new(),
            counted: buffer.start(),
            next_look: usize::MAX,
            buffer,
            left: 0,
            leave: false,
            stop_after: false,
            granted: None,
            deadlock: None,
            dying: None,
            clock_readings: 0,
            over: false,
            tally: Interventions::default(),
        }
    }

    /// The controlled thread of this host thread, unless it has ended.
    pub(crate) fn find(&self, is_it: impl Fn(&H::Thread) -> bool) -> Option<ThreadId> {
        let live = self.slots.iter().enumerate().filter(|(_, slot)| !slot.ended);
        let mut same = live.filter(|(_, slot)| is_it(&slot.thread));
        same.next().map(|(index, _)| ThreadId(index as u32))
    }

    /// Whether the thread with the token, at `counted`, waits by asking again.
    pub(crate) fn is_repeating(&mut self, me: ThreadId) -> bool {
        if self.counted < self.next_look {
            return false;
        }
        let is_repeating =
            self.slots[me.index()].repetition.is_repeating(&self.buffer, self.counted);
        self.look_later(me);
        is_repeating
    }

    /// Looks for repetitions in what is recorded from `counted` on.
    pub(crate) fn look_later(&mut self, me: ThreadId) {
        self.next_look = self.slots[me.index()].repetition.next_look(self.counted);
    }

    /// How many threads run, or are blocked, without the token.
    pub(crate) fn away(&self) -> usize {
        self.slots.iter().filter(|slot| slot.away).count()
    }

    /// Records that the records from `first` on belong to `thread`.
    pub(crate) fn begin_run(&mut self, first: usize, thread: ThreadId) {
        match self.buffer.runs.last_mut() {
            Some(last) if last.1 == thread => {}
            // The thread before wrote nothing into this buffer.
            Some(last) if last.0 == first => last.1 = thread,
            _ => self.buffer.runs.push((first, thread)),
        }
    }
}
