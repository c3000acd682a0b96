//! The state behind the mutex.

use jvmti_bindings::sys::jni::jobject;
use untorn_schedule::{Deadlock, Scheduler, ThreadId, Turn};

use super::Awaited;
use crate::buffers::Buffer;
use crate::jni::Jni;
use crate::probe::ProbeState;

/// A global reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global(pub(crate) jobject);

// SAFETY: a global reference may be used from every thread.
#[allow(unsafe_code)]
unsafe impl Send for Global {}

/// A controlled thread.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Its `java.lang.Thread`, and the identity of that object.
    pub(crate) thread: Global,
    pub(crate) object: u32,
    /// The operating system's number, once it runs.
    pub(crate) tid: i32,
    pub(crate) own: ProbeState,
    /// It runs, or is blocked, without the token.
    pub(crate) away: bool,
    pub(crate) ended: bool,
    /// The program does not wait for it to end.
    pub(crate) daemon: bool,
    /// The monitor that it wants, while it is blocked on one.
    pub(crate) wanted: Option<Wanted>,
    /// Where it is about to wait.
    pub(crate) wait_site: u32,
    /// The descriptor that it waits for, outside.
    pub(crate) awaited: Option<Awaited>,
}

/// A monitor that a thread is blocked on. The reference lives as long as the thread is blocked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) lock: u32,
    pub(crate) object: Global,
}

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) scheduler: Scheduler,
    pub(crate) slots: Vec<Slot>,
    pub(crate) buffer: Buffer,
    /// The address up to which the scheduler knows of records.
    pub(crate) counted: usize,
    /// What is left of the budget as of `counted`.
    pub(crate) left: u64,
    /// In replay: the thread goes on without the token when its budget is used up.
    pub(crate) leave: bool,
    /// The turn ends after the event that the plan wanted.
    pub(crate) stop_after: bool,
    /// A turn that its thread has not begun yet.
    pub(crate) granted: Option<Turn>,
    /// Nobody can run; a thread that is not ours may change that.
    pub(crate) stuck: Option<Deadlock>,
    /// A thread that has ended for us but not yet for the JVM.
    pub(crate) dying: Option<ThreadId>,
    /// How often the program asked for the time.
    pub(crate) asked: u64,
    /// The trace is complete.
    pub(crate) over: bool,
    pub(crate) tally: Interventions,
}

/// What did not go by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interventions {
    /// Times that the watchdog took the token from a thread that was blocked outside.
    pub(crate) stolen: u64,
    /// Times that a thread waited for a file, a pipe or a socket.
    pub(crate) awaited: u64,
    /// Times that a thread blocked on a monitor that the model thought free.
    pub(crate) contended: u64,
    /// Times that the model held a monitor for held that was not.
    pub(crate) amended: u64,
    /// Threads that run without control: started by the JVM's own.
    pub(crate) uncontrolled: u64,
    /// Virtual threads that other threads carry.
    pub(crate) virtual_threads: u64,
}

impl Core {
    pub(crate) fn new(scheduler: Scheduler, buffer: Buffer) -> Self {
        Self {
            scheduler,
            slots: Vec::new(),
            counted: buffer.start(),
            buffer,
            left: 0,
            leave: false,
            stop_after: false,
            granted: None,
            stuck: None,
            dying: None,
            asked: 0,
            over: false,
            tally: Interventions::default(),
        }
    }

    /// The controlled thread behind an object. The object is not asked for its identity: threads that are not ours
    /// come here, too, at any moment, and identities are given in the order in which they are asked for.
    pub(crate) fn find(&self, jni: Jni, thread: jobject) -> Option<ThreadId> {
        let live = self.slots.iter().enumerate().filter(|(_, slot)| !slot.ended);
        let mut same = live.filter(|(_, slot)| jni.is_same(slot.thread.0, thread));
        same.next().map(|(index, _)| ThreadId(index as u32))
    }

    /// Notes that records from `first` on belong to `thread`.
    pub(crate) fn begin_run(&mut self, first: usize, thread: ThreadId) {
        match self.buffer.runs.last_mut() {
            Some(last) if last.1 == thread => {}
            // The thread before left nothing in this buffer.
            Some(last) if last.0 == first => last.1 = thread,
            _ => self.buffer.runs.push((first, thread)),
        }
    }
}
