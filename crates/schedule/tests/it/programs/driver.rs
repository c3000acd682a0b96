//! Runs a program on the machine under the scheduler, as a front end would, and compares every decision with the
//! machine.

use untorn_schedule::{
    Access, Arrival, Blocker, Deadlock, Decision, GoOrHold, LockKey, Outcome, PointIndex, Reason,
    Scheduler, Step, ThreadId, Turn,
};
use untorn_testkit::Rng;

use super::machine::{Action, Effect, Machine};
use super::program::{Program, Script};

/// One executed event.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub script: Script,
    /// Unique within the script: twice the position of the operation, plus one for its second
    /// event.
    pub event: usize,
    /// The place, if it was an `Event`.
    pub place: Option<u32>,
    pub now: u64,
}

/// The result of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    pub log: Vec<Entry>,
    pub steps: Vec<Step>,
    /// Every thread ended; otherwise the program deadlocked.
    pub finished: bool,
    pub outcome: Outcome,
}

/// Finds the planned places of an event.
pub type Sites<'a> = &'a dyn Fn(Script, usize, Option<u32>) -> Vec<PointIndex>;

/// What the scheduler does not decide.
pub struct World<'a> {
    /// When threads come back from outside, and when the token is stolen from them.
    pub rng: Rng,
    /// How often, of 256, a thread loses the token before an event because it seems to be blocked.
    pub steal: u32,
    /// The scheduler decides by a policy: then the clock jumps only when no thread can run.
    pub strict: bool,
    /// The scheduler lets the clock jump only when no thread is outside.
    pub patient: bool,
    pub sites: Option<Sites<'a>>,
    /// A thread that need not wait after all continues its turn, as some front ends do.
    pub goes_on: bool,
}

impl World<'_> {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            steal: 0,
            strict: true,
            patient: false,
            sites: None,
            goes_on: false,
        }
    }
}

/// More decisions than any program of the tests needs.
const LIMIT: usize = 200_000;

struct Driver<'p, 'w> {
    machine: Machine<'p>,
    scheduler: Scheduler,
    world: World<'w>,
    log: Vec<Entry>,
    steps: Vec<Step>,
    /// Threads that were already answered about the event they are at.
    asked: Vec<bool>,
    circle_seen: bool,
}

/// Runs the program to its end.
pub fn drive(program: &Program, scheduler: Scheduler, world: World<'_>) -> Result<Run, String> {
    let mut driver = Driver {
        machine: Machine::new(program),
        scheduler,
        world,
        log: Vec::new(),
        steps: Vec::new(),
        asked: vec![false; program.scripts.len()],
        circle_seen: false,
    };
    driver.start(0);
    let mut why = Reason::Budget;
    for _ in 0..LIMIT {
        if driver.world.rng.chance(100) {
            driver.let_one_back();
        }
        match driver.decide(why)? {
            Decision::Run(turn) => why = driver.turn(turn)?,
            Decision::Idle if driver.machine.outside().is_empty() => {
                return Err("idle, but no thread is outside".to_owned());
            }
            Decision::Idle => driver.wait(),
            Decision::Deadlock(deadlock) => {
                driver.check_deadlock(&deadlock)?;
                return driver.finish(false);
            }
            Decision::Finished => return driver.finish(true),
        }
    }
    Err(format!("no end after {LIMIT} turns"))
}

impl Driver<'_, '_> {
    fn start(&mut self, script: Script) {
        let id = self.machine.start(script);
        assert_eq!(self.scheduler.spawn(&format!("script {script}")), id, "ids are dense");
    }

    fn let_one_back(&mut self) {
        let outside = self.machine.outside();
        if !outside.is_empty() {
            let script = self.world.rng.pick(&outside);
            self.machine.come_back(script);
            let id = self.machine.id(script).expect("it was started");
            self.scheduler.returned(id);
        }
    }

    /// No thread can run for now.
    fn wait(&mut self) {
        if self.world.patient && self.world.rng.chance(60) {
            self.scheduler.stop_waiting();
        } else {
            self.let_one_back();
        }
    }

    /// Asks for the next turn and checks the answer against the machine.
    fn decide(&mut self, why: Reason) -> Result<Decision, String> {
        let before = self.scheduler.now().0;
        self.machine.pass(before);
        let could_run = self.machine.anyone_can_run();
        let deadline = if could_run { None } else { self.machine.anyone_runs_at() };
        let outside = !self.machine.outside().is_empty();
        let machine = &self.machine;
        let next = self.scheduler.next(why, &|lock: LockKey| machine.owner(lock));
        let ended = self.scheduler.drain_turns();
        self.steps.extend(ended);
        let now = self.scheduler.now().0;
        self.machine.pass(now);
        let machine = &self.machine;
        let circle = self.scheduler.lock_cycle(&|lock: LockKey| machine.owner(lock));
        // A thread whose turn was skipped in a replay does not know yet that its lock was taken again.
        let late = circle.is_none() && !self.world.strict;
        check(circle.is_some() == machine.has_circle() || late, || format!("circle {circle:?}"))?;
        self.circle_seen |= circle.is_some();
        if now > before && self.world.strict {
            check(!could_run, || "the clock jumped although a thread could run".to_owned())?;
            check(deadline == Some(now), || format!("the clock jumped to {now}"))?;
        }
        match &next {
            Decision::Run(_) => {}
            Decision::Idle => {
                let may_wait = !could_run && (deadline.is_none() || self.world.patient);
                check(!self.world.strict || may_wait, || "idle too early".to_owned())?;
            }
            Decision::Deadlock(_) => {
                let stuck = !could_run && deadline.is_none() && !outside;
                check(stuck && !self.machine.all_ended(), || "no deadlock".to_owned())?;
            }
            Decision::Finished => check(self.machine.all_ended(), || "not finished".to_owned())?,
        }
        Ok(next)
    }

    fn turn(&mut self, turn: Turn) -> Result<Reason, String> {
        let script = self.machine.script(turn.thread);
        // A thread whose turn was skipped in a replay may find its lock taken again.
        let retries = !self.world.strict && self.machine.wants_lock(script);
        check(self.machine.can_run(script) || retries, || format!("{turn:?} cannot run"))?;
        let wake = self.machine.begin_turn(script);
        check(wake == turn.wake, || format!("{turn:?}, but {wake:?}"))?;
        check(self.scheduler.current() == Some(turn.thread), || "not current".to_owned())?;
        check(turn.budget > 0, || "a turn without a budget".to_owned())?;
        let end = self.log.len() as u64 + turn.budget;
        while (self.log.len() as u64) < end {
            if self.world.rng.chance(self.world.steal) {
                return Ok(self.leave(script, turn.thread));
            }
            let Some(stop_after) = self.ask(script, turn.thread) else { return Ok(Reason::Held) };
            let events = self.log.len();
            let ended = self.step(script, turn.thread);
            if stop_after && self.log.len() > events {
                return Ok(Reason::Plan);
            }
            if let Some(why) = ended {
                return Ok(why);
            }
        }
        if turn.leave {
            self.leave(script, turn.thread);
            // A front end may give either reason.
            return Ok(self.world.rng.pick(&[Reason::Budget, Reason::Outside]));
        }
        Ok(Reason::Budget)
    }

    /// The thread continues without the token.
    fn leave(&mut self, script: Script, thread: ThreadId) -> Reason {
        self.machine.leave(script);
        self.scheduler.block(thread, Blocker::Outside);
        Reason::Outside
    }

    /// Whether the thread stops after its next event; `None` if it is held before it.
    fn ask(&mut self, script: Script, thread: ThreadId) -> Option<bool> {
        let event = self.machine.arrives_at(script).filter(|_| !self.asked[script]);
        let (Some(event), Some(sites)) = (event, self.world.sites) else { return Some(false) };
        let sites = sites(script, event, self.machine.place(script));
        if sites.is_empty() {
            return Some(false);
        }
        let access = self.machine.place(script).map(|what| Access { what, write: true });
        match self.scheduler.arrives(thread, &Arrival { marks: &sites, access }) {
            GoOrHold::Go { stop_after } => {
                self.asked[script] = true;
                Some(stop_after)
            }
            GoOrHold::Hold => None,
        }
    }

    /// One step of the thread. Returns why its turn has ended, if it has.
    fn step(&mut self, script: Script, thread: ThreadId) -> Option<Reason> {
        let entry = Entry {
            script,
            event: self.machine.arrives_at(script).unwrap_or(self.machine.pc(script) * 2),
            place: self.machine.place(script),
            now: self.scheduler.now().0,
        };
        match self.machine.step(script, entry.now) {
            Effect::Event(action, blocker) => {
                self.log.push(entry);
                self.asked[script] = false;
                self.scheduler.ran(thread, 1);
                self.machine.pass(self.scheduler.now().0);
                self.act(action);
                self.block(thread, blocker?)
            }
            Effect::Blocked(on) => self.block(thread, on),
            Effect::Yielded => Some(Reason::Yielded),
            Effect::Outside => Some(self.leave(script, thread)),
            Effect::Ended => {
                self.machine.ended(script);
                self.scheduler.end(thread);
                Some(Reason::Ended)
            }
        }
    }

    /// The thread blocks. Returns why its turn has ended, if it has.
    fn block(&mut self, thread: ThreadId, on: Blocker) -> Option<Reason> {
        self.scheduler.block(thread, on);
        let goes_on = self.world.goes_on && self.scheduler.blocked_on(thread).is_none();
        (!goes_on).then_some(Reason::Blocked)
    }

    fn act(&mut self, action: Action) {
        let id = |script| self.machine.id(script);
        match action {
            Action::Nothing => {}
            Action::Spawn(script) => self.start(script),
            Action::Unpark(script) => {
                id(script).into_iter().for_each(|id| self.scheduler.unpark(id));
            }
            Action::Interrupt(script) => {
                id(script).into_iter().for_each(|id| self.scheduler.interrupt(id));
            }
            Action::Notify(lock, all) => {
                self.scheduler.notify(LockKey(lock as u64), all);
            }
        }
        self.machine.act(action);
    }

    fn check_deadlock(&mut self, deadlock: &Deadlock) -> Result<(), String> {
        // The only thing left is to wait for every deadline.
        self.machine.pass(u64::MAX);
        self.circle_seen |= self.machine.has_circle();
        let certain = self.machine.has_circle();
        let fine = deadlock.certain == certain && deadlock.cycle.is_some() == certain;
        check(fine, || format!("{deadlock:?}"))?;
        let cycle: Vec<Script> =
            deadlock.cycle.iter().flatten().map(|&id| self.machine.script(id)).collect();
        for (i, &script) in cycle.iter().enumerate() {
            let next = cycle[(i + 1) % cycle.len()];
            let waits = self.machine.waits_for(script) == Some(next);
            check(waits, || format!("{script} does not wait for {next}: {deadlock:?}"))?;
        }
        for stuck in &deadlock.threads {
            let owner = self.machine.waits_for(self.machine.script(stuck.thread));
            let holder = stuck.holder.map(|holder| self.machine.script(holder));
            check(owner == holder, || format!("{stuck:?} waits for {owner:?}"))?;
        }
        Ok(())
    }

    fn finish(self, finished: bool) -> Result<Run, String> {
        let outcome = self.scheduler.outcome();
        let noticed = outcome.lock_cycle.is_some() == self.circle_seen;
        check(noticed, || format!("{outcome:?}, circle: {}", self.circle_seen))?;
        check(outcome.events == self.log.len() as u64, || format!("{outcome:?}"))?;
        Ok(Run { log: self.log, steps: self.steps, finished, outcome })
    }
}

fn check(holds: bool, words: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(words()) }
}
