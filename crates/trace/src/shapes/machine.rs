//! Runs a made-up program on many threads at once, switching every few events.

use crate::{Event, LockId, Op, SiteId, Tables, ThreadId, VarId};

use super::program::{Act, Field, Program, Slot, Step, VarChoice};
use super::rng::Rng;
use super::{Shape, ShapeSpec};

const OBJECTS: u32 = 64;
/// Variables that are only read while the program runs.
const COMMON: u32 = 40;
/// Variables of each thread's own.
pub(super) const LOCALS: u32 = 16;

#[derive(Debug)]
pub(super) struct Machine {
    program: Program,
    /// Fields of each object.
    fields: u32,
    holds: bool,
    threads: Vec<Runner>,
    /// Which locks are held. Exclusively, because every format supports that.
    taken: [bool; OBJECTS as usize],
    current: u32,
    rng: Rng,
}

/// A thread in the middle of a method.
#[derive(Clone, Copy, Debug)]
struct Runner {
    method: u32,
    step: u32,
    /// The objects of this call, in ascending order.
    objects: [u32; 2],
    /// Rounds left of the loop it is in; 0 outside of loops.
    rounds: u32,
    /// Open blocks.
    depth: u32,
}

impl Machine {
    /// Names everything and puts the first events, forks mostly, into `out`.
    pub(super) fn new(spec: &ShapeSpec, tables: &mut Tables, out: &mut Vec<Event>) -> Self {
        let fields = if spec.shape == Shape::ManyVars { 15_625 } else { 15 };
        let program = Program::new(spec.shape, fields, tables);
        let vars = OBJECTS * fields + COMMON + spec.threads * LOCALS;
        (0..vars).for_each(|i| _ = tables.vars.push(&format!("V{i}")));
        (0..OBJECTS).for_each(|i| _ = tables.locks.push(&format!("L{i}")));
        let fork_site = tables.sites.intern_loc("5");
        for child in (1..spec.threads).map(ThreadId) {
            out.push(Event::new(ThreadId(0), Op::Fork { child }, fork_site));
        }
        let idle = Runner { method: 0, step: 0, objects: [0, 1], rounds: 0, depth: 0 };
        let holds = spec.shape == Shape::Hold;
        let mut machine = Self {
            program,
            fields,
            holds,
            threads: vec![idle; spec.threads as usize],
            taken: [false; OBJECTS as usize],
            current: 0,
            rng: Rng::new(spec.seed),
        };
        for thread in 0..spec.threads {
            machine.call(thread);
        }
        if holds {
            machine.open_the_long_block(tables, out);
        }
        machine
    }

    /// The first thread writes what all others read, in a block that it never ends. It takes
    /// nothing from them afterwards, so it comes first in every serial order.
    fn open_the_long_block(&mut self, tables: &mut Tables, out: &mut Vec<Event>) {
        let label = tables.labels.intern("Main.hold");
        let begin = tables.sites.intern_loc("20");
        let write = tables.sites.intern_loc("21");
        out.push(Event::new(ThreadId(0), Op::begin(label), begin));
        for i in 0..COMMON {
            out.push(Event::new(ThreadId(0), Op::write(self.common(i)), write));
        }
        self.threads[0].depth = 1;
    }

    pub(super) fn is_inside(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].depth > 0
    }

    /// Makes one event. Some thread can always run: locks are acquired in ascending order.
    #[inline]
    pub(super) fn step(&mut self, out: &mut Vec<Event>) {
        let count = self.threads.len() as u32;
        if self.rng.chance(85) {
            self.current = self.rng.below(count);
        }
        loop {
            if let Some((op, site)) = self.run(self.current) {
                out.push(Event::new(ThreadId(self.current), op, site));
                return;
            }
            self.current = if self.current + 1 == count { 0 } else { self.current + 1 };
        }
    }

    fn body(&self, thread: u32) -> &[Step] {
        if self.holds && thread == 0 {
            &self.program.holder
        } else {
            &self.program.methods[self.threads[thread as usize].method as usize]
        }
    }

    /// Starts the next method of a thread.
    fn call(&mut self, thread: u32) {
        let method = self.rng.below(self.program.methods.len() as u32);
        let a = self.rng.below(OBJECTS);
        let b = (a + 1 + self.rng.below(OBJECTS - 1)) % OBJECTS;
        let runner = &mut self.threads[thread as usize];
        runner.method = method;
        runner.step = 0;
        runner.objects = [a.min(b), a.max(b)];
        debug_assert_eq!(runner.rounds, 0);
    }

    /// The thread's next operation; `None` if it has to wait for a lock.
    #[inline]
    fn run(&mut self, thread: u32) -> Option<(Op, SiteId)> {
        let at = self.threads[thread as usize].step as usize;
        let body = self.body(thread);
        let Step { act, site } = body[at];
        let op = self.perform(thread, act)?;
        self.threads[thread as usize].step += 1;
        self.go_round(thread);
        Some((op, site))
    }

    /// Passes the step that is no event, and starts the next method at the end of one.
    fn go_round(&mut self, thread: u32) {
        let body = self.body(thread);
        let at = self.threads[thread as usize].step as usize;
        let ended = match body.get(at) {
            None => true,
            Some(&Step { act: Act::Again { back, low, high }, .. }) => {
                let last = at + 1 == body.len();
                let rounds = match self.threads[thread as usize].rounds {
                    0 => self.rng.between(low, high),
                    rounds => rounds,
                };
                let runner = &mut self.threads[thread as usize];
                runner.rounds = rounds - 1;
                runner.step = if rounds > 1 { at as u32 - back } else { at as u32 + 1 };
                rounds == 1 && last
            }
            Some(_) => false,
        };
        if ended {
            self.call(thread);
        }
    }

    fn perform(&mut self, thread: u32, act: Act) -> Option<Op> {
        let lock_of = |slot: Slot| self.threads[thread as usize].objects[slot as usize];
        Some(match act {
            Act::Begin(label) => {
                self.threads[thread as usize].depth += 1;
                Op::begin(label)
            }
            Act::End(label) => {
                self.threads[thread as usize].depth -= 1;
                Op::End { label }
            }
            Act::Acquire(slot) => {
                let lock = LockId(lock_of(slot));
                if std::mem::replace(&mut self.taken[lock.index()], true) {
                    return None;
                }
                Op::acquire(lock)
            }
            Act::Release(slot) => {
                let lock = LockId(lock_of(slot));
                self.taken[lock.index()] = false;
                Op::release(lock)
            }
            Act::Read(place) => Op::read(self.var(thread, place)),
            Act::Write(place) => Op::write(self.var(thread, place)),
            Act::Again { .. } => unreachable!("passed before it comes up"),
        })
    }

    fn var(&mut self, thread: u32, place: VarChoice) -> VarId {
        let mut pick = |field, count| match field {
            Field::Fixed(field) => field,
            Field::Any => self.rng.below(count),
        };
        match place {
            VarChoice::Guarded(slot, field) => {
                let field = pick(field, self.fields);
                let object = self.threads[thread as usize].objects[slot as usize];
                VarId(object * self.fields + field)
            }
            VarChoice::Common(field) => {
                let field = pick(field, COMMON);
                self.common(field)
            }
            VarChoice::Local(field) => {
                let field = pick(field, LOCALS);
                VarId(OBJECTS * self.fields + COMMON + thread * LOCALS + field)
            }
        }
    }

    fn common(&self, field: u32) -> VarId {
        VarId(OBJECTS * self.fields + field)
    }
}
