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
///
/// A chunk of events in which no thread starts, stops or ends is *ordinary*: its locks and its blocks then
/// have nothing to do with each other, and each kind is checked in a separate loop that does not
/// branch on the kind of event. Those branches are what makes a trace slow to validate.
#[derive(Debug, Default)]
pub struct Validator {
    threads: Vec<Thread>,
    /// Whether thread `i` has status `Running`: all that matters for most events.
    running: Vec<bool>,
    locks: Vec<Lock>,
    count: u64,
    first: Vec<Defect>,
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
    /// Labels of the open blocks, the innermost at `depth - 1`; the rest is unused.
    labels: Vec<LabelId>,
    depth: usize,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    /// The thread that holds it exclusively and how often; depth 0 means free.
    owner: ThreadId,
    depth: u32,
    /// The threads that hold its shared side and how often.
    shared: Vec<(ThreadId, u32)>,
}

// What an operation means for the form of a trace; otherwise its thread must run, that is all.
const LOCKING: u8 = 1;
const NESTING: u8 = 2;
/// Starts, stops or ends a thread.
const LIFE: u8 = 4;

/// By [`Op::code`].
const ROLES: [u8; Op::CODES] = {
    let (lock, child, label) = (LockId(0), ThreadId(0), LabelId::NONE);
    let mut roles = [0; Op::CODES];
    roles[Op::acquire(lock).code()] = LOCKING;
    roles[Op::release(lock).code()] = LOCKING;
    roles[Op::begin(label).code()] = NESTING;
    roles[Op::End { label }.code()] = NESTING;
    roles[Op::Wait { lock }.code()] = LIFE;
    roles[Op::Resume { lock }.code()] = LIFE;
    roles[Op::Fork { child }.code()] = LIFE;
    roles[Op::Join { child }.code()] = LIFE;
    roles
};

/// Events checked together; a power of two.
const CHUNK: usize = 256;

/// Some positions of a chunk.
struct Positions {
    at: [u8; CHUNK],
    count: usize,
}

impl Positions {
    const NONE: Self = Self { at: [0; CHUNK], count: 0 };

    /// Adds `position` if `wanted`, without a branch.
    #[inline]
    fn note(&mut self, position: usize, wanted: bool) {
        self.at[self.count % CHUNK] = position as u8;
        self.count += usize::from(wanted);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.at[..self.count].iter().map(|&position| usize::from(position))
    }
}

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
        for (i, chunk) in batch.chunks(CHUNK).enumerate() {
            self.chunk(EventIdx(first.0 + (i * CHUNK) as u64), chunk);
        }
    }

    /// Checks one event, for callers without batches.
    #[inline(always)]
    pub fn event(&mut self, at: EventIdx, event: &Event) {
        let running = self.running.get(event.thread.index()).copied().unwrap_or(false);
        if !running || ROLES[event.op.code()] != 0 {
            self.single(at, event);
        }
    }

    fn single(&mut self, at: EventIdx, event: &Event) {
        let Err(kind) = self.check(event) else { return };
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(Defect { at, event: *event, kind });
        }
    }

    fn chunk(&mut self, first: EventIdx, chunk: &[Event]) {
        let mut defects = Vec::new();
        let (mut locking, mut nesting) = (Positions::NONE, Positions::NONE);
        if self.is_ordinary(chunk, &mut locking, &mut nesting) {
            self.check_locking(chunk, &locking, &mut defects);
            self.check_nesting(chunk, &nesting, &mut defects);
            defects.sort_by_key(|&(i, _)| i);
        } else {
            for (i, event) in chunk.iter().enumerate() {
                defects.extend(self.check(event).err().map(|kind| (i, kind)));
            }
        }
        self.count += defects.len() as u64;
        for (i, kind) in defects.into_iter().take(Self::KEPT - self.first.len()) {
            let at = EventIdx(first.0 + i as u64);
            self.first.push(Defect { at, event: chunk[i], kind });
        }
    }

    /// Whether all threads of the chunk run all the time. Finds out which events are left to be
    /// looked at then: those on locks, and begins and ends.
    fn is_ordinary(
        &self,
        chunk: &[Event],
        locking: &mut Positions,
        nesting: &mut Positions,
    ) -> bool {
        let (mut roles, mut running) = (0, true);
        for (i, event) in chunk.iter().enumerate() {
            let role = ROLES[event.op.code()];
            roles |= role;
            locking.note(i, role & LOCKING != 0);
            nesting.note(i, role & NESTING != 0);
            running &= self.running.get(event.thread.index()).copied().unwrap_or(false);
        }
        running & (roles & LIFE == 0)
    }

    fn check_locking(
        &mut self,
        chunk: &[Event],
        positions: &Positions,
        defects: &mut Vec<(usize, DefectKind)>,
    ) {
        for i in positions.iter() {
            let Event { thread, op, .. } = chunk[i];
            let acquires = matches!(op, Op::Acquire { .. });
            let lock = self.lock(LockId(op.target()));
            let own = (lock.depth > 0) & (lock.owner == thread);
            let free = (lock.depth == 0) & acquires;
            if (own | free) & lock.shared.is_empty() & !op.is_shared() {
                lock.owner = thread;
                lock.depth = lock.depth.wrapping_add(if acquires { 1 } else { u32::MAX });
            } else {
                defects.extend(self.check(&chunk[i]).err().map(|kind| (i, kind)));
            }
        }
    }

    fn check_nesting(
        &mut self,
        chunk: &[Event],
        positions: &Positions,
        defects: &mut Vec<(usize, DefectKind)>,
    ) {
        for i in positions.iter() {
            let Event { thread, op, .. } = chunk[i];
            let (label, begins) = (LabelId(op.target()), matches!(op, Op::Begin { .. }));
            let Thread { labels, depth, .. } = &mut self.threads[thread.index()];
            if labels.len() <= *depth {
                labels.resize(*depth + 1, LabelId::NONE);
            }
            let open = labels[depth.saturating_sub(1)];
            let same = (open == label) | (open == LabelId::NONE) | (label == LabelId::NONE);
            if begins | ((*depth > 0) & same) {
                labels[*depth] = label; // after the open ones, if a block ends
                *depth = depth.wrapping_add(if begins { 1 } else { usize::MAX });
            } else {
                defects.extend(self.check(&chunk[i]).err().map(|kind| (i, kind)));
            }
        }
    }

    fn check(&mut self, event: &Event) -> Result<(), DefectKind> {
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
            Op::Begin { label, .. } => {
                let thread = self.thread(t);
                thread.labels.truncate(thread.depth);
                thread.labels.push(label);
                thread.depth += 1;
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
        let thread = self.thread(t);
        let Some(depth) = thread.depth.checked_sub(1) else {
            return Err(DefectKind::EndWithoutBegin);
        };
        let open = thread.labels[depth];
        if open != label && open != LabelId::NONE && label != LabelId::NONE {
            return Err(DefectKind::EndOfOtherBlock { open, ended: label });
        }
        thread.depth = depth;
        Ok(())
    }
}
