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
/// A batch in which no thread starts, stops or ends is *ordinary*: its locks and its blocks then
/// have nothing to do with each other, and each are looked at in a loop of their own that does not
/// branch on the kind of event. Those branches are what makes a trace slow to validate.
#[derive(Debug, Default)]
pub struct Validator {
    threads: Vec<Thread>,
    /// Whether thread `i` has status `Running`: all that matters for most events.
    running: Vec<bool>,
    locks: Vec<Lock>,
    count: u64,
    first: Vec<Defect>,
    /// Positions, in the batch at hand, of events on exclusive locks, and of begins and ends.
    locking: Vec<u32>,
    nesting: Vec<u32>,
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
    /// Labels of the open blocks, the innermost at `depth - 1`; what is behind is left over.
    labels: Vec<LabelId>,
    depth: usize,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    /// Who holds it exclusively and how often; depth 0 is nobody.
    owner: ThreadId,
    depth: u32,
    /// Who holds its shared side and how often.
    shared: Vec<(ThreadId, u32)>,
}

/// What an operation means for the form of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Nothing: its thread must run, that is all.
    None,
    Locking,
    Nesting,
    /// Starts, stops or ends a thread.
    Life,
}

/// By [`Op::code`].
const ROLES: [Role; Op::CODES] = {
    let (lock, child, label) = (LockId(0), ThreadId(0), LabelId::NONE);
    let mut roles = [Role::None; Op::CODES];
    roles[Op::acquire(lock).code()] = Role::Locking;
    roles[Op::release(lock).code()] = Role::Locking;
    roles[Op::Begin { label }.code()] = Role::Nesting;
    roles[Op::End { label }.code()] = Role::Nesting;
    roles[Op::Wait { lock }.code()] = Role::Life;
    roles[Op::Resume { lock }.code()] = Role::Life;
    roles[Op::Fork { child }.code()] = Role::Life;
    roles[Op::Join { child }.code()] = Role::Life;
    roles
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
        let mut defects = Vec::new();
        if self.is_ordinary(batch) {
            self.check_locking(batch, &mut defects);
            self.check_nesting(batch, &mut defects);
            defects.sort_by_key(|&(i, _)| i);
        } else {
            for (i, event) in batch.iter().enumerate() {
                defects.extend(self.event(event).err().map(|kind| (i as u32, kind)));
            }
        }
        self.count += defects.len() as u64;
        for (i, kind) in defects.into_iter().take(Self::KEPT - self.first.len()) {
            let at = EventIdx(first.0 + u64::from(i));
            self.first.push(Defect { at, event: batch[i as usize], kind });
        }
    }

    /// Whether all threads of the batch run all the time, and no lock has a shared side. Finds out
    /// which events are left to be looked at then.
    fn is_ordinary(&mut self, batch: &[Event]) -> bool {
        self.locking.resize(batch.len().max(self.locking.len()), 0);
        self.nesting.resize(batch.len().max(self.nesting.len()), 0);
        let (mut locking, mut nesting) = (0, 0);
        let mut ordinary = true;
        for (i, event) in batch.iter().enumerate() {
            let role = ROLES[event.op.code()];
            self.locking[locking] = i as u32;
            self.nesting[nesting] = i as u32;
            locking += usize::from(role == Role::Locking);
            nesting += usize::from(role == Role::Nesting);
            let running = self.running.get(event.thread.index()).copied().unwrap_or(false);
            ordinary &= running & (role != Role::Life) & !event.op.is_shared();
        }
        self.locking.truncate(locking);
        self.nesting.truncate(nesting);
        ordinary
    }

    fn check_locking(&mut self, batch: &[Event], defects: &mut Vec<(u32, DefectKind)>) {
        let positions = std::mem::take(&mut self.locking);
        for &i in &positions {
            let Event { thread, op, .. } = batch[i as usize];
            let acquires = matches!(op, Op::Acquire { .. });
            let lock = self.lock(LockId(op.target()));
            let own = (lock.depth > 0) & (lock.owner == thread);
            let free = (lock.depth == 0) & acquires;
            if (own | free) & lock.shared.is_empty() {
                lock.owner = thread;
                lock.depth = lock.depth.wrapping_add(if acquires { 1 } else { u32::MAX });
            } else {
                let judged = self.event(&batch[i as usize]);
                defects.extend(judged.err().map(|kind| (i, kind)));
            }
        }
        self.locking = positions;
    }

    fn check_nesting(&mut self, batch: &[Event], defects: &mut Vec<(u32, DefectKind)>) {
        let positions = std::mem::take(&mut self.nesting);
        for &i in &positions {
            let Event { thread, op, .. } = batch[i as usize];
            let (label, begins) = (LabelId(op.target()), matches!(op, Op::Begin { .. }));
            let Thread { labels, depth, .. } = &mut self.threads[thread.index()];
            if labels.len() <= *depth {
                labels.resize(*depth + 1, LabelId::NONE);
            }
            let open = labels[depth.saturating_sub(1)];
            let same = (open == label) | (open == LabelId::NONE) | (label == LabelId::NONE);
            if begins | ((*depth > 0) & same) {
                labels[*depth] = label; // behind the open ones, if a block ends
                *depth = depth.wrapping_add(if begins { 1 } else { usize::MAX });
            } else {
                let judged = self.event(&batch[i as usize]);
                defects.extend(judged.err().map(|kind| (i, kind)));
            }
        }
        self.nesting = positions;
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
