//! Is this a trace that a program can have left? Streaming, and cheap enough to be always on.
//!
//! A checker's verdict means something only for a well-formed trace: locks exclude, blocks nest,
//! threads run between their fork and their join. The defects found here are what is wrong with the
//! trace, never with the program.

use std::fmt;

use crate::event::{Event, Hold, Op};
use crate::ids::{EventIdx, LabelId, LockId, ThreadId};
use crate::tables::Tables;

/// One way in which an event cannot have happened after those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Defect {
    pub at: EventIdx,
    pub event: Event,
    pub kind: DefectKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DefectKind {
    /// Releases a lock that the thread does not hold (in that way).
    ReleaseWithoutAcquire {
        lock: LockId,
    },
    /// Acquires a lock that another thread holds.
    LockHeldByOther {
        lock: LockId,
        holder: ThreadId,
    },
    WaitWithoutHolding {
        lock: LockId,
    },
    ResumeWithoutWait {
        lock: LockId,
    },
    /// Does something while it waits.
    EventWhileWaiting {
        lock: LockId,
    },
    EndWithoutBegin,
    /// Ends a block whose label is not that of the innermost open one.
    EndOfOtherBlock {
        open: LabelId,
        ended: LabelId,
    },
    EventAfterJoin,
    ForkOfRunningThread {
        child: ThreadId,
    },
    ForkOrJoinOfItself,
}

impl Defect {
    /// The defect in words, with the names of `tables`.
    pub fn describe(&self, tables: &Tables) -> String {
        let thread = tables.thread_name(self.event.thread);
        let place = match tables.site_text(self.event.site) {
            text if text.is_empty() => String::new(),
            text => format!(" at {text}"),
        };
        let what = Words { kind: &self.kind, tables };
        format!("event {}{place}: {thread} {what}", self.at)
    }
}

struct Words<'a> {
    kind: &'a DefectKind,
    tables: &'a Tables,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, tables } = self;
        match **kind {
            DefectKind::ReleaseWithoutAcquire { lock } => {
                write!(f, "releases {}, which it does not hold", tables.lock_name(lock))
            }
            DefectKind::LockHeldByOther { lock, holder } => {
                let (lock, holder) = (tables.lock_name(lock), tables.thread_name(holder));
                write!(f, "acquires {lock}, which {holder} holds")
            }
            DefectKind::WaitWithoutHolding { lock } => {
                write!(f, "waits on {} without holding it", tables.lock_name(lock))
            }
            DefectKind::ResumeWithoutWait { lock } => {
                write!(f, "resumes on {}, on which it does not wait", tables.lock_name(lock))
            }
            DefectKind::EventWhileWaiting { lock } => {
                write!(f, "runs while it waits on {}", tables.lock_name(lock))
            }
            DefectKind::EndWithoutBegin => write!(f, "ends a block that it has not begun"),
            DefectKind::EndOfOtherBlock { open, ended } => {
                let name = |label| tables.labels.get(label).unwrap_or("an unnamed block");
                write!(f, "ends {} inside of {}", name(ended), name(open))
            }
            DefectKind::EventAfterJoin => write!(f, "runs after it was joined"),
            DefectKind::ForkOfRunningThread { child } => {
                write!(f, "forks {}, which has run already", tables.thread_name(child))
            }
            DefectKind::ForkOrJoinOfItself => write!(f, "forks or joins itself"),
        }
    }
}

/// Sees a trace in batches and collects its defects. An event with a defect has no effect.
#[derive(Debug, Default)]
pub struct Validator {
    threads: Vec<Thread>,
    /// Whether thread `i` has status `Running`: all that matters for most events.
    running: Vec<bool>,
    locks: Vec<Lock>,
    count: u64,
    first: Vec<Defect>,
    /// Positions, in the batch at hand, of events that are neither reads nor writes.
    synchronising: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Status {
    /// Has no event yet.
    #[default]
    New,
    /// Was forked, has no event yet.
    Forked,
    Running,
    Waiting {
        lock: LockId,
        depth: u32,
    },
    Joined,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    status: Status,
    open: Vec<LabelId>,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    /// Who holds it exclusively and how often; depth 0 is nobody.
    owner: ThreadId,
    depth: u32,
    /// Who holds its shared side and how often.
    shared: Vec<(ThreadId, u32)>,
}

/// Kinds of events that start, stop or end a thread, as bits by [`Op::code`].
const LIFE: u32 = {
    let (lock, child) = (LockId(0), ThreadId(0));
    1 << Op::Wait { lock }.code()
        | 1 << Op::Resume { lock }.code()
        | 1 << Op::Fork { child }.code()
        | 1 << Op::Join { child }.code()
};

impl Validator {
    /// Defects kept in full; all are counted.
    pub const KEPT: usize = 100;

    pub fn new() -> Self {
        Self::default()
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first [`Validator::KEPT`] defects.
    pub fn defects(&self) -> &[Defect] {
        &self.first
    }

    /// Sees the next events, the first of which is at position `first`.
    pub fn events(&mut self, first: EventIdx, batch: &[Event]) {
        let mut synchronising = std::mem::take(&mut self.synchronising);
        if self.is_ordinary(batch, &mut synchronising) {
            for &i in &synchronising {
                self.judge(first, batch, i as usize);
            }
        } else {
            for i in 0..batch.len() {
                self.judge(first, batch, i);
            }
        }
        self.synchronising = synchronising;
    }

    /// Whether all threads of the batch run all the time, so that their reads and writes cannot be
    /// wrong; and which events are left then. Without a branch on the kind of event: those are
    /// what makes a trace slow to read.
    fn is_ordinary(&self, batch: &[Event], synchronising: &mut Vec<u32>) -> bool {
        synchronising.clear();
        synchronising.resize(batch.len(), 0);
        let mut found = 0;
        let (mut kinds, mut running) = (0_u32, true);
        for (i, event) in batch.iter().enumerate() {
            kinds |= 1 << event.op.code();
            running &= self.running.get(event.thread.index()).copied().unwrap_or(false);
            synchronising[found] = i as u32;
            found += usize::from(!matches!(event.op, Op::Read { .. } | Op::Write { .. }));
        }
        synchronising.truncate(found);
        running && kinds & LIFE == 0
    }

    #[inline]
    fn judge(&mut self, first: EventIdx, batch: &[Event], i: usize) {
        let event = &batch[i];
        if self.is_plain_locking(event) {
            return;
        }
        if let Err(kind) = self.event(event) {
            self.count += 1;
            if self.first.len() < Self::KEPT {
                let at = EventIdx(first.0 + i as u64);
                self.first.push(Defect { at, event: *event, kind });
            }
        }
    }

    /// Takes or gives back an exclusive lock, if that is all that happens and nothing is wrong.
    #[inline]
    fn is_plain_locking(&mut self, event: &Event) -> bool {
        let (id, change) = match event.op {
            Op::Acquire { lock, hold: Hold::Exclusive } => (lock, 1_u32),
            Op::Release { lock, hold: Hold::Exclusive } => (lock, u32::MAX),
            _ => return false,
        };
        let running = self.running.get(event.thread.index()).copied().unwrap_or(false);
        let Some(lock) = self.locks.get_mut(id.index()) else { return false };
        let own = (lock.depth > 0) & (lock.owner == event.thread);
        let free = (lock.depth == 0) & lock.shared.is_empty() & (change == 1);
        if !(running & (own & lock.shared.is_empty() | free)) {
            return false;
        }
        lock.owner = event.thread;
        lock.depth = lock.depth.wrapping_add(change);
        true
    }

    fn event(&mut self, event: &Event) -> Result<(), DefectKind> {
        let t = event.thread;
        match self.thread(t).status {
            Status::Joined => return Err(DefectKind::EventAfterJoin),
            Status::Waiting { lock, depth } => return self.resume(event, lock, depth),
            Status::Running => {}
            Status::New | Status::Forked => self.set_status(t, Status::Running),
        }
        match event.op {
            Op::Acquire { lock, hold } => self.acquire(t, lock, hold),
            Op::Release { lock, hold } => self.release(t, lock, hold),
            Op::Wait { lock } => self.wait(t, lock),
            Op::Resume { lock } => Err(DefectKind::ResumeWithoutWait { lock }),
            Op::Begin { label } => {
                self.thread(t).open.push(label);
                Ok(())
            }
            Op::End { label } => self.end(t, label),
            Op::Fork { child } | Op::Join { child } if child == t => {
                Err(DefectKind::ForkOrJoinOfItself)
            }
            Op::Fork { child } => match self.thread(child).status {
                Status::New => {
                    self.set_status(child, Status::Forked);
                    Ok(())
                }
                _ => Err(DefectKind::ForkOfRunningThread { child }),
            },
            Op::Join { child } => {
                self.set_status(child, Status::Joined);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn thread(&mut self, id: ThreadId) -> &mut Thread {
        if id.index() >= self.threads.len() {
            self.threads.resize(id.index() + 1, Thread::default());
            self.running.resize(id.index() + 1, false);
        }
        &mut self.threads[id.index()]
    }

    fn set_status(&mut self, id: ThreadId, status: Status) {
        self.thread(id).status = status;
        self.running[id.index()] = status == Status::Running;
    }

    fn lock(&mut self, id: LockId) -> &mut Lock {
        if id.index() >= self.locks.len() {
            self.locks.resize(id.index() + 1, Lock::default());
        }
        &mut self.locks[id.index()]
    }

    fn acquire(&mut self, t: ThreadId, id: LockId, hold: Hold) -> Result<(), DefectKind> {
        let lock = self.lock(id);
        if lock.depth > 0 && lock.owner != t {
            return Err(DefectKind::LockHeldByOther { lock: id, holder: lock.owner });
        }
        match hold {
            Hold::Exclusive => {
                if let Some(&(holder, _)) = lock.shared.iter().find(|(holder, _)| *holder != t) {
                    return Err(DefectKind::LockHeldByOther { lock: id, holder });
                }
                lock.owner = t;
                lock.depth += 1;
            }
            Hold::Shared => match lock.shared.iter_mut().find(|(holder, _)| *holder == t) {
                Some((_, depth)) => *depth += 1,
                None => lock.shared.push((t, 1)),
            },
        }
        Ok(())
    }

    fn release(&mut self, t: ThreadId, id: LockId, hold: Hold) -> Result<(), DefectKind> {
        let lock = self.lock(id);
        match hold {
            Hold::Exclusive if lock.depth > 0 && lock.owner == t => lock.depth -= 1,
            Hold::Exclusive => return Err(DefectKind::ReleaseWithoutAcquire { lock: id }),
            Hold::Shared => {
                let Some(i) = lock.shared.iter().position(|(holder, _)| *holder == t) else {
                    return Err(DefectKind::ReleaseWithoutAcquire { lock: id });
                };
                lock.shared[i].1 -= 1;
                if lock.shared[i].1 == 0 {
                    lock.shared.swap_remove(i);
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, t: ThreadId, id: LockId) -> Result<(), DefectKind> {
        let lock = self.lock(id);
        if lock.depth == 0 || lock.owner != t {
            return Err(DefectKind::WaitWithoutHolding { lock: id });
        }
        let depth = std::mem::take(&mut lock.depth);
        self.set_status(t, Status::Waiting { lock: id, depth });
        Ok(())
    }

    fn resume(&mut self, event: &Event, lock: LockId, depth: u32) -> Result<(), DefectKind> {
        match event.op {
            Op::Resume { lock: resumed } if resumed == lock => {
                self.acquire(event.thread, lock, Hold::Exclusive)?;
                self.lock(lock).depth = depth;
                self.set_status(event.thread, Status::Running);
                Ok(())
            }
            Op::Resume { lock } => Err(DefectKind::ResumeWithoutWait { lock }),
            _ => Err(DefectKind::EventWhileWaiting { lock }),
        }
    }

    fn end(&mut self, t: ThreadId, label: LabelId) -> Result<(), DefectKind> {
        match self.thread(t).open.pop() {
            None => Err(DefectKind::EndWithoutBegin),
            Some(open) if open != label && open != LabelId::NONE && label != LabelId::NONE => {
                Err(DefectKind::EndOfOtherBlock { open, ended: label })
            }
            Some(_) => Ok(()),
        }
    }
}
