//! Runs a program under the scheduler, one instruction at a time, as a real front end would.

use std::collections::HashMap;

use untorn_frontend::{ExitKind, UncaughtException};
use untorn_schedule::{
    Access as SeenAccess, AccessKind, AnnouncedEvents, Arrival, Blocker, CodePoint, Decision,
    GoOrHold, LockKey, Nanos, PlanPoint, PointIndex, PolicyKind, Reason, Scheduler, Steering, Step,
    ThreadId,
};
use untorn_trace::{Access, CallOutcome, Event, LabelId, LockId, Op, Tables, Value, VarId};

use super::program::{Instr, Operand, Program, ScriptId, Test};
use super::recording::{self, MODULE, Recording};

/// Instructions after which a program is taken to run for ever.
const MAX_STEPS: usize = 200_000;

/// What a thread has opened and not closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    Call(usize),
    Block(usize),
    Lock(usize),
}

#[derive(Debug)]
struct Thread {
    script: ScriptId,
    at: usize,
    registers: Vec<i64>,
    open: Vec<Frame>,
    /// The scheduler allowed its next event.
    asked: bool,
    /// It has requested the lock of its next instruction.
    requested: bool,
    /// It waits on a monitor, to come back at this depth.
    waits: Option<usize>,
    ended: bool,
}

/// The result of an instruction.
enum Effect {
    /// So many events.
    Events(u64),
    Blocked(Blocker),
    Ended,
}

pub(super) struct Machine<'p> {
    program: &'p Program,
    scheduler: Scheduler,
    points: Vec<PlanPoint>,
    announced: AnnouncedEvents,
    memory: Vec<i64>,
    /// By lock: the owner, and how often.
    owners: HashMap<usize, (ThreadId, u32)>,
    threads: Vec<Thread>,
    started: HashMap<ScriptId, ThreadId>,
    tables: Tables,
    events: Vec<Event>,
    steps: Vec<Step>,
    stdout: String,
    uncaught: Vec<UncaughtException>,
    code: i32,
    is_over: bool,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program, scheduler: Scheduler, control: &Steering) -> Self {
        let (points, announced) = match control {
            Steering::Policy(policy) => (Vec::new(), policy.announced_events()),
            Steering::Marks { policy, marks } => (marks.points(), policy.announced_events()),
            Steering::Plan { plan, .. } => {
                let points = plan.points().into_iter().cloned().collect();
                (points, PolicyKind::RunToBlock.announced_events())
            }
        };
        Self {
            program,
            scheduler,
            points,
            announced,
            memory: program.vars.iter().map(|var| var.initial).collect(),
            owners: HashMap::new(),
            threads: Vec::new(),
            started: HashMap::new(),
            tables: recording::tables_of(program),
            events: Vec::new(),
            steps: Vec::new(),
            stdout: String::new(),
            uncaught: Vec::new(),
            code: 0,
            is_over: false,
        }
    }

    pub(super) fn run(mut self) -> Recording {
        self.spawn(0);
        let mut why = Reason::Budget;
        let mut exit = None;
        for _ in 0..MAX_STEPS {
            let owners = &self.owners;
            let owner = |lock: LockKey| owners.get(&(lock.0 as usize)).map(|(owner, _)| *owner);
            let next = self.scheduler.next(why, &owner);
            let ended = self.scheduler.drain_turns();
            self.steps.extend(ended);
            match next {
                Decision::Run(turn) => why = self.turn(turn.thread, turn.budget),
                Decision::Deadlock(_) => exit = Some(ExitKind::Deadlock),
                Decision::Finished => exit = Some(ExitKind::Exit(self.code)),
                // No thread is ever outside.
                Decision::Idle => self.scheduler.stop_waiting(),
            }
            if self.is_over {
                exit = Some(ExitKind::Exit(self.code));
            }
            if exit.is_some() {
                break;
            }
        }
        self.scheduler.cut();
        let ended = self.scheduler.drain_turns();
        self.steps.extend(ended);
        Recording {
            outcome: self.scheduler.outcome(),
            tables: self.tables,
            events: self.events,
            steps: self.steps,
            exit: exit.unwrap_or(ExitKind::TimedOut),
            stdout: self.stdout,
            uncaught: self.uncaught,
        }
    }

    fn spawn(&mut self, script: ScriptId) -> ThreadId {
        let name = &self.program.scripts[script].name;
        let id = self.scheduler.spawn(name);
        self.tables.threads.push(name);
        self.threads.push(Thread {
            script,
            at: 0,
            registers: vec![0; self.program.registers()],
            open: Vec::new(),
            asked: false,
            requested: false,
            waits: None,
            ended: false,
        });
        self.started.insert(script, id);
        id
    }

    /// Runs a thread until its turn is over.
    fn turn(&mut self, thread: ThreadId, budget: u64) -> Reason {
        let mut left = budget;
        while left > 0 {
            let stop_after = match self.ask(thread) {
                GoOrHold::Hold => return Reason::Held,
                GoOrHold::Go { stop_after } => stop_after,
            };
            let effect = self.step(thread);
            let reason = match effect {
                Effect::Events(events) => {
                    self.scheduler.ran(thread, events);
                    left = left.saturating_sub(events);
                    (stop_after && events > 0).then_some(Reason::Plan)
                }
                Effect::Blocked(on) => {
                    self.scheduler.block(thread, on);
                    Some(Reason::Blocked)
                }
                Effect::Ended => {
                    self.scheduler.end(thread);
                    Some(Reason::Ended)
                }
            };
            if let Some(reason) = reason {
                return reason;
            }
            if self.is_over {
                return Reason::Budget;
            }
        }
        Reason::Budget
    }

    /// Before an event that a plan names or that the policy announced to hear of.
    fn ask(&mut self, thread: ThreadId) -> GoOrHold {
        let go = GoOrHold::Go { stop_after: false };
        let own = &self.threads[thread.index()];
        let Some((line, instr)) = self.program.scripts[own.script].instrs.get(own.at) else {
            return go;
        };
        let Some((kind, access)) = access_of(instr) else { return go };
        if own.asked || own.waits.is_some() {
            return go;
        }
        let is_here = |point: &PlanPoint| {
            let code_point =
                CodePoint::ModuleOffset { module: MODULE.to_owned(), offset: (*line).into() };
            point.code_point == code_point && point.kind.is_none_or(|wanted| wanted == kind)
        };
        let sites = self.points.iter().enumerate().filter(|(_, point)| is_here(point));
        let marks: Vec<PointIndex> = sites.map(|(index, _)| PointIndex(index as u32)).collect();
        if marks.is_empty() && self.announced != AnnouncedEvents::Everything {
            return go;
        }
        let access = (self.announced == AnnouncedEvents::Everything).then_some(access);
        let answer = self.scheduler.arrives(thread, &Arrival { marks: &marks, access });
        self.threads[thread.index()].asked = answer != GoOrHold::Hold;
        answer
    }

    fn step(&mut self, thread: ThreadId) -> Effect {
        let own = &self.threads[thread.index()];
        if own.waits.is_some() {
            return self.resume(thread);
        }
        let Some((line, instr)) = self.program.scripts[own.script].instrs.get(own.at).cloned()
        else {
            self.threads[thread.index()].ended = true;
            return Effect::Ended;
        };
        let events = self.events.len();
        if let Some(effect) = self.execute(thread, line, &instr) {
            return effect;
        }
        let own = &mut self.threads[thread.index()];
        // A jump to the first instruction comes before it.
        own.at = own.at.wrapping_add(1);
        (own.asked, own.requested) = (false, false);
        // An update is atomic.
        Effect::Events((self.events.len() - events).min(1) as u64)
    }

    /// Executes an instruction; gives an effect if it is not simply done.
    fn execute(&mut self, thread: ThreadId, line: u32, instr: &Instr) -> Option<Effect> {
        match instr {
            Instr::Read { var, register, volatile } => {
                let value = self.memory[*var];
                self.threads[thread.index()].registers[*register] = value;
                self.access(thread, line, *var, access(*volatile), false);
            }
            Instr::Write { var, value, volatile } => {
                self.memory[*var] = self.value(thread, *value);
                self.access(thread, line, *var, access(*volatile), true);
            }
            Instr::Update { var } => {
                self.access(thread, line, *var, Access::Update, false);
                self.memory[*var] += 1;
                self.access(thread, line, *var, Access::Update, true);
            }
            Instr::Lock(lock) => return self.lock(thread, line, *lock),
            Instr::Unlock(lock) => self.unlock(thread, line, *lock),
            Instr::Begin { kind, label, lock } => {
                let lock = lock.map_or(LockId::NONE, LockId::from_index);
                let label_id = LabelId::from_index(*label);
                self.emit(thread, line, Op::Begin { kind: *kind, label: label_id, lock });
                self.threads[thread.index()].open.push(Frame::Block(*label));
            }
            Instr::End(label) => {
                self.emit(thread, line, Op::End { label: LabelId::from_index(*label) });
                self.close(thread, Frame::Block(*label));
            }
            Instr::Call(label) => {
                let method = LabelId::from_index(*label);
                self.threads[thread.index()].open.push(Frame::Call(*label));
                self.emit(thread, line, Op::Call { known: false, method, value: Value(0) });
            }
            Instr::Return(label) => {
                self.emit(thread, line, returned(*label, CallOutcome::Returned));
                self.close(thread, Frame::Call(*label));
            }
            Instr::Fork(script) => {
                let child = self.spawn(*script);
                self.emit(thread, line, Op::Fork { child });
            }
            Instr::Join(script) => return self.join(thread, line, *script),
            Instr::Wait(lock) => return Some(self.wait(thread, line, *lock)),
            Instr::Sleep(millis) => return Some(self.sleep(thread, *millis)),
            Instr::Notify { lock, all } => {
                self.scheduler.notify(LockKey(*lock as u64), *all);
                let lock = LockId::from_index(*lock);
                self.emit(thread, line, Op::Notify { all: *all, lock });
            }
            Instr::Fail(text) => return Some(self.fail(thread, text)),
            Instr::Exit(code) => (self.code, self.is_over) = (*code, true),
            Instr::Print(text) => {
                let text = self.text(thread, text);
                self.stdout.push_str(&text);
                self.stdout.push('\n');
            }
            Instr::Set(..) | Instr::Add(..) | Instr::If { .. } | Instr::Goto(_) => {
                self.compute(thread, instr);
            }
        }
        None
    }

    /// Instructions that no other thread can observe, without events except for taken branches.
    fn compute(&mut self, thread: ThreadId, instr: &Instr) {
        let mut to = None;
        match instr {
            Instr::Set(register, value) => {
                self.threads[thread.index()].registers[*register] = self.value(thread, *value);
            }
            Instr::Add(register, value) => {
                let value = self.value(thread, *value);
                self.threads[thread.index()].registers[*register] += value;
            }
            Instr::If { register, test, value, target } => {
                let (left, right) =
                    (self.value(thread, Operand::Register(*register)), self.value(thread, *value));
                let holds = match test {
                    Test::Equal => left == right,
                    Test::Differs => left != right,
                    Test::Less => left < right,
                    Test::Greater => left > right,
                };
                to = holds.then_some(*target);
            }
            Instr::Goto(target) => to = Some(*target),
            _ => {}
        }
        if let Some(target) = to {
            // The step that follows moves to the next instruction.
            self.threads[thread.index()].at = target.wrapping_sub(1);
        }
    }

    fn value(&self, thread: ThreadId, operand: Operand) -> i64 {
        match operand {
            Operand::Number(number) => number,
            Operand::Register(register) => self.threads[thread.index()].registers[register],
        }
    }

    fn text(&self, thread: ThreadId, text: &str) -> String {
        let word = |word: &str| match word.strip_prefix('$').and_then(|r| self.program.register(r))
        {
            Some(register) => self.value(thread, Operand::Register(register)).to_string(),
            None => word.to_owned(),
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    fn emit(&mut self, thread: ThreadId, line: u32, op: Op) {
        let open = &self.threads[thread.index()].open;
        let call = open.iter().rev().find_map(|frame| match frame {
            Frame::Call(label) => Some(*label),
            _ => None,
        });
        let script = self.threads[thread.index()].script;
        let (method, is_library) = match call {
            Some(label) => {
                let label = &self.program.labels[label];
                (label.name.as_str(), label.is_library)
            }
            None => (self.program.scripts[script].name.as_str(), false),
        };
        let site = recording::site(&mut self.tables, line, method, is_library);
        self.events.push(Event::new(thread, op, site));
    }

    fn access(&mut self, thread: ThreadId, line: u32, var: usize, access: Access, write: bool) {
        let (value, known) = (Value::int(self.memory[var]), true);
        let var = VarId::from_index(var);
        let op = match write {
            true => Op::Write { access, known, var, value },
            false => Op::Read { access, known, var, value },
        };
        self.emit(thread, line, op);
    }

    fn close(&mut self, thread: ThreadId, frame: Frame) {
        let open = &mut self.threads[thread.index()].open;
        if let Some(at) = open.iter().rposition(|other| *other == frame) {
            open.remove(at);
        }
    }

    fn lock(&mut self, thread: ThreadId, line: u32, lock: usize) -> Option<Effect> {
        match self.owners.get_mut(&lock) {
            Some((owner, depth)) if *owner == thread => *depth += 1,
            Some(_) => {
                if !std::mem::replace(&mut self.threads[thread.index()].requested, true) {
                    self.emit(thread, line, Op::Request { lock: LockId::from_index(lock) });
                    self.scheduler.ran(thread, 1);
                }
                return Some(Effect::Blocked(Blocker::Lock(LockKey(lock as u64))));
            }
            None => drop(self.owners.insert(lock, (thread, 1))),
        }
        self.threads[thread.index()].open.push(Frame::Lock(lock));
        self.emit(thread, line, Op::acquire(LockId::from_index(lock)));
        None
    }

    fn unlock(&mut self, thread: ThreadId, line: u32, lock: usize) {
        let Some((owner, depth)) = self.owners.get_mut(&lock) else { return };
        if *owner != thread {
            return;
        }
        *depth -= 1;
        if *depth == 0 {
            self.owners.remove(&lock);
        }
        self.close(thread, Frame::Lock(lock));
        self.emit(thread, line, Op::release(LockId::from_index(lock)));
    }

    fn join(&mut self, thread: ThreadId, line: u32, script: ScriptId) -> Option<Effect> {
        let child = *self.started.get(&script)?;
        if !self.threads[child.index()].ended {
            return Some(Effect::Blocked(Blocker::Join { thread: child, deadline: None }));
        }
        self.emit(thread, line, Op::Join { child });
        None
    }

    fn wait(&mut self, thread: ThreadId, line: u32, lock: usize) -> Effect {
        self.owners.remove(&lock);
        self.threads[thread.index()].waits = Some(lock);
        self.emit(thread, line, Op::Wait { lock: LockId::from_index(lock) });
        self.scheduler.ran(thread, 1);
        Effect::Blocked(Blocker::Wait { lock: LockKey(lock as u64), deadline: None })
    }

    /// The thread goes on behind the instruction when it wakes.
    fn sleep(&mut self, thread: ThreadId, millis: u64) -> Effect {
        let own = &mut self.threads[thread.index()];
        own.at += 1;
        (own.asked, own.requested) = (false, false);
        let deadline = self.scheduler.now().after(Nanos(millis * 1_000_000));
        Effect::Blocked(Blocker::Sleep { deadline })
    }

    fn resume(&mut self, thread: ThreadId) -> Effect {
        let own = &mut self.threads[thread.index()];
        let Some(lock) = own.waits.take() else { return Effect::Events(0) };
        let line = self.program.scripts[own.script].instrs[own.at].0;
        own.at += 1;
        (own.asked, own.requested) = (false, false);
        self.owners.insert(lock, (thread, 1));
        self.emit(thread, line, Op::Resume { lock: LockId::from_index(lock) });
        Effect::Events(1)
    }

    /// Ends the thread as an uncaught exception does: all open blocks are left.
    fn fail(&mut self, thread: ThreadId, text: &str) -> Effect {
        let message = self.text(thread, text);
        let own = &mut self.threads[thread.index()];
        let line = self.program.scripts[own.script].instrs[own.at].0;
        let place = Some(format!("line {line}"));
        self.uncaught.push(UncaughtException { kind: "Failed".to_owned(), message, place });
        own.ended = true;
        if thread == ThreadId(0) {
            self.code = 1;
        }
        let open = std::mem::take(&mut self.threads[thread.index()].open);
        let events = self.events.len();
        for frame in open.into_iter().rev() {
            match frame {
                Frame::Call(label) => {
                    self.emit(thread, line, returned(label, CallOutcome::Threw));
                }
                Frame::Block(label) => {
                    self.emit(thread, line, Op::End { label: LabelId::from_index(label) });
                }
                Frame::Lock(lock) => self.unlock(thread, line, lock),
            }
        }
        self.scheduler.ran(thread, (self.events.len() - events) as u64);
        Effect::Ended
    }
}

fn returned(label: usize, outcome: CallOutcome) -> Op {
    Op::Return { known: false, outcome, method: LabelId::from_index(label), value: Value(0) }
}

fn access(volatile: bool) -> Access {
    if volatile { Access::Volatile } else { Access::Plain }
}

/// What a plan and a policy know of an instruction before it happens.
fn access_of(instr: &Instr) -> Option<(AccessKind, SeenAccess)> {
    /// Locks are distinguished from variables.
    const LOCKS: u32 = 1 << 16;
    Some(match instr {
        Instr::Read { var, .. } => {
            (AccessKind::Read, SeenAccess { what: *var as u32, write: false })
        }
        Instr::Write { var, .. } => {
            (AccessKind::Write, SeenAccess { what: *var as u32, write: true })
        }
        // Its read stands for both halves.
        Instr::Update { var } => (AccessKind::Read, SeenAccess { what: *var as u32, write: true }),
        Instr::Lock(lock) => {
            (AccessKind::Acquire, SeenAccess { what: LOCKS + *lock as u32, write: true })
        }
        Instr::Unlock(lock) => {
            (AccessKind::Release, SeenAccess { what: LOCKS + *lock as u32, write: true })
        }
        _ => return None,
    })
}
