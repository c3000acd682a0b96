//! The little world a random trace happens in: threads, locks and a memory that keep each other
//! to the rules.

use untorn_trace::{
    Access, CallOutcome, Event, Hold, LabelId, LockId, Op, SiteId, ThreadId, Value, VarId,
};

use super::{Kinds, Profile, Step};
use crate::rng::Rng;

/// Blocks nest at most this deep.
const DEPTH: usize = 3;

#[derive(Debug, Default)]
struct Thread {
    /// Cannot run before it is forked.
    unborn: bool,
    ran: bool,
    forked: bool,
    joined: bool,
    /// The monitor it waits for, and how deep it held it.
    waits: Option<(LockId, u32)>,
    /// The lock it asked for: it does nothing else before it acquires it.
    asks: Option<LockId>,
    blocks: Vec<LabelId>,
    calls: Vec<LabelId>,
    /// Never a lock with both levels 0.
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    lock: LockId,
    exclusive: u32,
    shared: u32,
}

impl Thread {
    /// Keeps the buffers.
    fn reset(&mut self, unborn: bool) {
        let Self { mut blocks, mut calls, mut held, .. } = std::mem::take(self);
        blocks.clear();
        calls.clear();
        held.clear();
        *self = Self { unborn, blocks, calls, held, ..Self::default() };
    }

    fn levels(&self, lock: LockId) -> (u32, u32) {
        self.held.iter().find(|h| h.lock == lock).map_or((0, 0), |h| (h.exclusive, h.shared))
    }

    fn is_quiet(&self) -> bool {
        self.blocks.is_empty() && self.held.is_empty() && self.asks.is_none()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    /// The thread that holds it exclusively.
    owner: Option<ThreadId>,
    /// Shared levels of all threads together.
    shared: u32,
}

#[derive(Debug, Default)]
pub(super) struct World {
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    memory: Vec<Value>,
    events: Vec<Event>,
}

impl World {
    pub(super) fn run(&mut self, profile: &Profile, rng: &mut Rng) -> &[Event] {
        self.reset(profile, rng);
        let most = profile.events as usize;
        let mut thread = ThreadId(0);
        // A bound on attempts, so that generation ends if all threads block.
        for _ in 0..most * 4 + 16 {
            if self.events.len() >= most {
                break;
            }
            if !rng.chance(profile.stay) {
                thread = ThreadId(rng.below(profile.threads));
            }
            let mut turn = ThreadStep { world: self, profile, rng, thread };
            if !turn.take() {
                thread = ThreadId(rng.below(profile.threads));
            }
        }
        &self.events
    }

    fn reset(&mut self, profile: &Profile, rng: &mut Rng) {
        self.threads.resize_with(profile.threads as usize, Thread::default);
        for (i, thread) in self.threads.iter_mut().enumerate() {
            thread.reset(i > 0 && rng.chance(profile.forked));
        }
        self.locks.clear();
        self.locks.resize(profile.locks as usize, Lock::default());
        self.memory.clear();
        self.memory.resize(profile.vars as usize, Value::default());
        self.events.clear();
    }
}

/// One thread's turn to do one step.
struct ThreadStep<'a> {
    world: &'a mut World,
    profile: &'a Profile,
    rng: &'a mut Rng,
    thread: ThreadId,
}

impl ThreadStep<'_> {
    fn me(&mut self) -> &mut Thread {
        &mut self.world.threads[self.thread.index()]
    }

    fn emit(&mut self, op: Op) -> bool {
        let site = match self.profile.sites {
            0 => SiteId::NONE,
            n => SiteId(self.rng.below(n)),
        };
        self.me().ran = true;
        self.world.events.push(Event::new(self.thread, op, site));
        true
    }

    fn emit_valued(&mut self, op: Op, value: Value) -> bool {
        let known = self.rng.chance(self.profile.known);
        self.emit(if known { op.with_value(value) } else { op })
    }

    /// Returns whether something happened.
    fn take(&mut self) -> bool {
        let me = self.me();
        if me.joined || (me.unborn && !me.forked) {
            return false;
        }
        if let Some((lock, depth)) = me.waits {
            return self.resume(lock, depth);
        }
        if let Some(lock) = me.asks {
            return self.take_lock(lock, Hold::Exclusive);
        }
        let happened = match self.profile.step(self.rng) {
            Step::Access => false,
            Step::Begin => self.begin(),
            Step::End => self.end(),
            Step::Acquire => self.acquire(),
            Step::Release => self.release(),
            Step::Wait => self.wait(),
            Step::Notify => self.notify(),
            Step::Fork => self.fork(),
            Step::Join => self.join(),
            Step::Other => self.other(),
        };
        happened || self.access()
    }

    fn label(&mut self) -> LabelId {
        match self.profile.labels {
            0 => LabelId::NONE,
            n => LabelId(self.rng.below(n)),
        }
    }

    fn begin(&mut self) -> bool {
        if self.me().blocks.len() >= DEPTH {
            return false;
        }
        let label = self.label();
        self.me().blocks.push(label);
        self.emit(Op::begin(label))
    }

    fn end(&mut self) -> bool {
        let Some(label) = self.me().blocks.pop() else { return false };
        let bare = self.rng.chance(self.profile.bare_ends);
        self.emit(Op::End { label: if bare { LabelId::NONE } else { label } })
    }

    fn access(&mut self) -> bool {
        let var = VarId(self.rng.below(self.profile.vars));
        let write = self.rng.chance(self.profile.writes);
        if self.profile.locks > 0 && self.rng.chance(self.profile.discipline) {
            let guard = LockId(var.0 % self.profile.locks);
            let (exclusive, shared) = self.me().levels(guard);
            if exclusive == 0 && (write || shared == 0) {
                return shared == 0 && self.take_lock(guard, Hold::Exclusive);
            }
        }
        if var.0 >= self.profile.volatile {
            return if write {
                self.write(var, Access::Plain)
            } else {
                self.read(var, Access::Plain)
            };
        }
        if self.rng.chance(80) {
            return self.read(var, Access::Update) && self.write(var, Access::Update);
        }
        if write { self.write(var, Access::Volatile) } else { self.read(var, Access::Volatile) }
    }

    fn read(&mut self, var: VarId, access: Access) -> bool {
        let value = self.world.memory[var.index()];
        self.emit_valued(Op::Read { var, access, known: false, value: Value(0) }, value)
    }

    fn write(&mut self, var: VarId, access: Access) -> bool {
        let value = Value(u64::from(self.rng.below(4)));
        self.world.memory[var.index()] = value;
        self.emit_valued(Op::Write { var, access, known: false, value: Value(0) }, value)
    }

    fn some_lock(&mut self) -> Option<LockId> {
        let locks = self.profile.locks;
        (locks > 0).then(|| LockId(self.rng.below(locks)))
    }

    fn acquire(&mut self) -> bool {
        let Some(lock) = self.some_lock() else { return false };
        if self.rng.chance(self.profile.shared) {
            return self.take_lock(lock, Hold::Shared);
        }
        // A thread that holds the read side and requests the write side waits for ever.
        let upgrade = self.me().levels(lock).1 > 0;
        if !upgrade && self.rng.chance(self.profile.requests) {
            self.me().asks = Some(lock);
            return self.emit(Op::Request { lock });
        }
        self.take_lock(lock, Hold::Exclusive)
    }

    fn take_lock(&mut self, lock: LockId, hold: Hold) -> bool {
        let thread = self.thread;
        let state = &mut self.world.locks[lock.index()];
        let mine = state.owner == Some(thread);
        let free = state.owner.is_none() && (hold == Hold::Shared || state.shared == 0);
        if !mine && !free {
            return false;
        }
        let held = &mut self.world.threads[thread.index()].held;
        let at = held.iter().position(|h| h.lock == lock).unwrap_or_else(|| {
            held.push(Held { lock, exclusive: 0, shared: 0 });
            held.len() - 1
        });
        match hold {
            Hold::Exclusive => {
                state.owner = Some(thread);
                held[at].exclusive += 1;
            }
            Hold::Shared => {
                state.shared += 1;
                held[at].shared += 1;
            }
        }
        self.me().asks = None;
        self.emit(Op::Acquire { lock, hold })
    }

    fn release(&mut self) -> bool {
        let profile = self.profile;
        if !self.me().blocks.is_empty() && self.rng.chance(profile.discipline) {
            return false;
        }
        let count = self.me().held.len() as u32;
        if count == 0 {
            return false;
        }
        let at = self.rng.below(count) as usize;
        let prefer_shared = self.rng.chance(128);
        let held = &mut self.me().held[at];
        let lock = held.lock;
        let hold = if held.exclusive == 0 || (held.shared > 0 && prefer_shared) {
            held.shared -= 1;
            Hold::Shared
        } else {
            held.exclusive -= 1;
            Hold::Exclusive
        };
        let exclusive = held.exclusive;
        if exclusive == 0 && held.shared == 0 {
            self.me().held.swap_remove(at);
        }
        let state = &mut self.world.locks[lock.index()];
        match hold {
            Hold::Shared => state.shared -= 1,
            Hold::Exclusive if exclusive == 0 => state.owner = None,
            Hold::Exclusive => {}
        }
        self.emit(Op::Release { lock, hold })
    }

    fn wait(&mut self) -> bool {
        let me = self.me();
        let Some(at) = me.held.iter().position(|h| h.exclusive > 0 && h.shared == 0) else {
            return false;
        };
        let Held { lock, exclusive, .. } = me.held.swap_remove(at);
        me.waits = Some((lock, exclusive));
        self.world.locks[lock.index()].owner = None;
        self.emit(Op::Wait { lock })
    }

    fn resume(&mut self, lock: LockId, depth: u32) -> bool {
        let state = &mut self.world.locks[lock.index()];
        if state.owner.is_some() || state.shared > 0 {
            return false;
        }
        state.owner = Some(self.thread);
        let me = self.me();
        me.waits = None;
        me.held.push(Held { lock, exclusive: depth, shared: 0 });
        self.emit(Op::Resume { lock })
    }

    fn notify(&mut self) -> bool {
        let Some(lock) = self.me().held.iter().find(|h| h.exclusive > 0).map(|h| h.lock) else {
            return false;
        };
        let all = self.rng.chance(128);
        self.emit(Op::Notify { lock, all })
    }

    fn fork(&mut self) -> bool {
        let child = ThreadId(self.rng.below(self.profile.threads));
        let other = &mut self.world.threads[child.index()];
        if child == self.thread || other.ran || other.forked || other.joined {
            return false;
        }
        other.forked = true;
        self.emit(Op::Fork { child })
    }

    fn join(&mut self) -> bool {
        let child = ThreadId(self.rng.below(self.profile.threads));
        // Mostly a thread that came to its end; now and then one that was killed inside of a
        // block, or that never ran and never will.
        let odd = self.rng.chance(64);
        let other = &mut self.world.threads[child.index()];
        let ended = other.ran && other.is_quiet();
        if child == self.thread || other.waits.is_some() || !(ended || odd) {
            return false;
        }
        other.joined = true;
        self.emit(Op::Join { child })
    }

    fn other(&mut self) -> bool {
        debug_assert_eq!(self.profile.kinds, Kinds::All);
        let value = Value(u64::from(self.rng.below(9)));
        match self.rng.below(4) {
            0 => {
                let count = self.rng.between(1, 3);
                self.emit(Op::Branch { count })
            }
            1 => {
                let source = self.label();
                self.emit_valued(Op::Input { source, known: false, value: Value(0) }, value)
            }
            2 if self.me().calls.len() < DEPTH => {
                let method = self.label();
                self.me().calls.push(method);
                self.emit_valued(Op::Call { method, known: false, value: Value(0) }, value)
            }
            _ => {
                let Some(method) = self.me().calls.pop() else { return false };
                self.emit_valued(
                    Op::Return {
                        method,
                        outcome: CallOutcome::Returned,
                        known: false,
                        value: Value(0),
                    },
                    value,
                )
            }
        }
    }
}
