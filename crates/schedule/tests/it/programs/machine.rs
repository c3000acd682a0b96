//! A machine that runs programs, one event at a time, and determines by itself which threads can run.

use std::collections::VecDeque;

use untorn_schedule::{Blocker, LockKey, Nanos, ThreadId, Wake};

use super::program::{LOCKS, Op, Program, Script};

/// Where a thread is within its operation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
enum Stage {
    NotStarted,
    /// Before the operation.
    Fresh,
    /// Requests the lock, to finish a `Lock` or a `Wait`.
    WantsLock(usize),
    /// In the lock's queue.
    Waiting(usize, Option<u64>),
    Parked(Option<u64>),
    Sleeping(u64),
    Joining(Script, Option<u64>),
    /// What it waited for has happened; the operation is not yet done.
    Woken,
    Ended,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thread {
    pc: usize,
    stage: Stage,
    permit: bool,
    outside: bool,
    /// The reason that the thread must get when it continues.
    wake: Wake,
    id: Option<ThreadId>,
}

/// The effect of an event on other threads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Action {
    Nothing,
    Spawn(Script),
    Unpark(Script),
    Interrupt(Script),
    Notify(usize, bool),
}

/// The result of a step.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// An event was executed; the thread may be blocked right after it.
    Event(Action, Option<Blocker>),
    /// Blocked without an event.
    Blocked(Blocker),
    Yielded,
    Outside,
    Ended,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine<'p> {
    program: &'p Program,
    threads: Vec<Thread>,
    owners: [Option<Script>; LOCKS],
    queues: [VecDeque<Script>; LOCKS],
    flags: u64,
    /// Scripts in the order in which they were started.
    started: Vec<Script>,
}

impl<'p> Machine<'p> {
    pub fn new(program: &'p Program) -> Self {
        let thread = Thread {
            pc: 0,
            stage: Stage::NotStarted,
            permit: false,
            outside: false,
            wake: Wake::Ready,
            id: None,
        };
        let threads = vec![thread; program.scripts.len()];
        let queues = Default::default();
        Self { program, threads, owners: [None; LOCKS], queues, flags: 0, started: Vec::new() }
    }

    pub fn start(&mut self, script: Script) -> ThreadId {
        let id = ThreadId::from_index(self.started.len());
        self.started.push(script);
        self.threads[script].stage = Stage::Fresh;
        self.threads[script].id = Some(id);
        id
    }

    pub fn script(&self, id: ThreadId) -> Script {
        self.started[id.index()]
    }

    pub fn id(&self, script: Script) -> Option<ThreadId> {
        self.threads[script].id
    }

    pub fn owner(&self, lock: LockKey) -> Option<ThreadId> {
        self.owners[lock.0 as usize].and_then(|owner| self.threads[owner].id)
    }

    /// The position of the operation that the thread is at or in.
    pub fn pc(&self, script: Script) -> usize {
        self.threads[script].pc
    }

    /// The operation that the thread is at or in.
    fn op(&self, script: Script) -> Option<Op> {
        self.program.scripts[script].get(self.threads[script].pc).copied()
    }

    /// The number of the event that the thread reaches now: unique in its script. `None` if the next step is no
    /// event, or the thread must block before it.
    pub fn arrives_at(&self, script: Script) -> Option<usize> {
        let Thread { pc, stage, .. } = self.threads[script];
        let first = match (self.op(script)?, stage) {
            (Op::Yield | Op::Outside, _) => return None,
            // The return from waiting or parking is a second event.
            (Op::Wait(..) | Op::Park(_), stage) => stage == Stage::Fresh,
            (Op::Sleep(_), Stage::Fresh) => return None,
            // There is nothing to wait for if the other thread was not started.
            (Op::Join(joined, _), Stage::Fresh) if self.id(joined).is_some() => return None,
            _ => true,
        };
        Some(pc * 2 + usize::from(!first))
    }

    /// The place of an `Event` operation that the thread is at.
    pub fn place(&self, script: Script) -> Option<u32> {
        match self.op(script) {
            Some(Op::Event(place)) => Some(place),
            _ => None,
        }
    }

    pub fn is_outside(&self, script: Script) -> bool {
        self.threads[script].outside
    }

    pub fn outside(&self) -> Vec<Script> {
        (0..self.threads.len()).filter(|&script| self.is_outside(script)).collect()
    }

    /// The thread runs without the token from now on. It executes what needs none.
    pub fn leave(&mut self, script: Script) {
        self.threads[script].outside = true;
        self.threads[script].wake = Wake::Ready;
        while self.op(script) == Some(Op::Outside) && self.threads[script].stage == Stage::Fresh {
            self.threads[script].pc += 1;
        }
    }

    pub fn come_back(&mut self, script: Script) {
        self.threads[script].outside = false;
    }

    /// Lets every deadline pass that is not after `now`.
    pub fn pass(&mut self, now: u64) {
        for script in 0..self.threads.len() {
            if self.deadline(script).is_some_and(|deadline| deadline <= now) {
                self.wake(script, Wake::TimedOut);
            }
        }
    }

    pub fn deadline(&self, script: Script) -> Option<u64> {
        match self.threads[script].stage {
            Stage::Sleeping(deadline) => Some(deadline),
            Stage::Waiting(_, deadline) | Stage::Parked(deadline) | Stage::Joining(_, deadline) => {
                deadline
            }
            _ => None,
        }
    }

    pub fn wake(&mut self, script: Script, wake: Wake) {
        let stage = match self.threads[script].stage {
            Stage::Waiting(lock, _) => {
                self.queues[lock].retain(|&waiter| waiter != script);
                Stage::WantsLock(lock)
            }
            _ => Stage::Woken,
        };
        self.threads[script].stage = stage;
        self.threads[script].wake = wake;
    }

    /// Could take a step now.
    pub fn can_run(&self, script: Script) -> bool {
        let thread = &self.threads[script];
        !thread.outside
            && match thread.stage {
                Stage::Fresh | Stage::Woken => true,
                Stage::WantsLock(lock) => self.owners[lock].is_none(),
                _ => false,
            }
    }

    pub fn anyone_can_run(&self) -> bool {
        (0..self.threads.len()).any(|script| self.can_run(script))
    }

    /// When the passing of time alone would let some thread run.
    pub fn anyone_runs_at(&self) -> Option<u64> {
        let mut later = self.clone();
        let mut deadlines: Vec<u64> =
            (0..self.threads.len()).filter_map(|script| self.deadline(script)).collect();
        deadlines.sort_unstable();
        deadlines.into_iter().find(|&deadline| {
            later.pass(deadline);
            later.anyone_can_run()
        })
    }

    pub fn all_ended(&self) -> bool {
        let over = |thread: &Thread| matches!(thread.stage, Stage::Ended | Stage::NotStarted);
        self.threads.iter().all(over)
    }

    /// Which thread waits for a lock of which thread.
    pub fn waits_for(&self, script: Script) -> Option<Script> {
        match self.threads[script].stage {
            Stage::WantsLock(lock) if !self.threads[script].outside => self.owners[lock],
            _ => None,
        }
    }

    /// Some threads wait for each other's locks in a cycle.
    pub fn has_circle(&self) -> bool {
        (0..self.threads.len()).any(|start| {
            let mut at = Some(start);
            (0..self.threads.len()).any(|_| {
                at = at.and_then(|script| self.waits_for(script));
                at == Some(start)
            })
        })
    }

    /// Could run except for a lock.
    pub fn wants_lock(&self, script: Script) -> bool {
        matches!(self.threads[script].stage, Stage::WantsLock(_))
    }

    /// The thread gets a turn. Returns the reason that it must get; it gets it once.
    pub fn begin_turn(&mut self, script: Script) -> Wake {
        if self.wants_lock(script) {
            self.threads[script].stage = Stage::Woken;
        }
        std::mem::replace(&mut self.threads[script].wake, Wake::Ready)
    }

    /// Runs the thread up to its next event, or until it cannot. Others are not touched: see
    /// [`Machine::act`].
    pub fn step(&mut self, script: Script, now: u64) -> Effect {
        let stage = self.threads[script].stage;
        let Some(op) = self.op(script) else {
            self.threads[script].stage = Stage::Ended;
            return Effect::Ended;
        };
        let after = |limit: u64| now + limit;
        match (op, stage) {
            (Op::Yield, _) => {
                self.threads[script].pc += 1;
                return Effect::Yielded;
            }
            (Op::Outside, _) => return Effect::Outside,
            (Op::Wait(lock, limit), Stage::Fresh) => {
                return self.start_waiting(script, lock, limit.map(after));
            }
            (Op::Lock(lock) | Op::Wait(lock, _), _) => return self.take_lock(script, lock),
            (Op::Park(limit), Stage::Fresh) => {
                let deadline = limit.map(after);
                let permit = std::mem::take(&mut self.threads[script].permit);
                let stage = if permit { Stage::Woken } else { Stage::Parked(deadline) };
                self.threads[script].stage = stage;
                let on = Blocker::Park { deadline: deadline.map(Nanos) };
                return Effect::Event(Action::Nothing, Some(on));
            }
            (Op::Sleep(limit), Stage::Fresh) => {
                self.threads[script].stage = Stage::Sleeping(after(limit));
                return Effect::Blocked(Blocker::Sleep { deadline: Nanos(after(limit)) });
            }
            (Op::Join(joined, limit), Stage::Fresh) => {
                if let Some(thread) = self.threads[joined].id {
                    let deadline = limit.map(after);
                    let ended = self.threads[joined].stage == Stage::Ended;
                    let stage = if ended { Stage::Woken } else { Stage::Joining(joined, deadline) };
                    self.threads[script].stage = stage;
                    let deadline = deadline.map(Nanos);
                    return Effect::Blocked(Blocker::Join { thread, deadline });
                }
            }
            _ => {}
        }
        self.plain_event(script, op)
    }

    fn take_lock(&mut self, script: Script, lock: usize) -> Effect {
        if self.owners[lock].is_some() {
            self.threads[script].stage = Stage::WantsLock(lock);
            return Effect::Blocked(Blocker::Lock(LockKey(lock as u64)));
        }
        self.owners[lock] = Some(script);
        self.done(script, Action::Nothing)
    }

    fn start_waiting(&mut self, script: Script, lock: usize, deadline: Option<u64>) -> Effect {
        assert_eq!(self.owners[lock], Some(script), "waits with the lock");
        self.owners[lock] = None;
        self.queues[lock].push_back(script);
        self.threads[script].stage = Stage::Waiting(lock, deadline);
        let on = Blocker::Wait { lock: LockKey(lock as u64), deadline: deadline.map(Nanos) };
        Effect::Event(Action::Nothing, Some(on))
    }

    fn plain_event(&mut self, script: Script, op: Op) -> Effect {
        let action = match op {
            Op::Unlock(lock) => {
                assert_eq!(self.owners[lock], Some(script), "the owner releases");
                self.owners[lock] = None;
                Action::Nothing
            }
            Op::Notify(lock, all) => Action::Notify(lock, all),
            Op::Unpark(other) => Action::Unpark(other),
            Op::Interrupt(other) => Action::Interrupt(other),
            Op::Spawn(other) => Action::Spawn(other),
            Op::Set(flag) => {
                self.flags |= 1 << flag;
                Action::Nothing
            }
            Op::SpinUntil(flag) if self.flags & (1 << flag) == 0 => {
                return Effect::Event(Action::Nothing, None);
            }
            _ => Action::Nothing,
        };
        self.done(script, action)
    }

    fn done(&mut self, script: Script, action: Action) -> Effect {
        self.threads[script].pc += 1;
        self.threads[script].stage = Stage::Fresh;
        Effect::Event(action, None)
    }

    /// Applies the effects of an event on other threads, except starting them.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Nothing | Action::Spawn(_) => {}
            Action::Unpark(script) => match self.threads[script].stage {
                Stage::Parked(_) => self.wake(script, Wake::Ready),
                Stage::NotStarted | Stage::Ended => {}
                _ => self.threads[script].permit = true,
            },
            Action::Interrupt(script) => match self.threads[script].stage {
                Stage::Waiting(..) | Stage::Parked(_) | Stage::Sleeping(_) | Stage::Joining(..) => {
                    self.wake(script, Wake::Interrupted);
                }
                _ => {}
            },
            Action::Notify(lock, all) => {
                let woken = if all { self.queues[lock].len() } else { 1 };
                for _ in 0..woken {
                    if let Some(&waiter) = self.queues[lock].front() {
                        self.wake(waiter, Wake::Notified);
                    }
                }
            }
        }
    }

    /// Wakes the threads that join one that has ended.
    pub fn ended(&mut self, ended: Script) {
        for script in 0..self.threads.len() {
            if matches!(self.threads[script].stage, Stage::Joining(joined, _) if joined == ended) {
                self.wake(script, Wake::Ready);
            }
        }
    }
}
