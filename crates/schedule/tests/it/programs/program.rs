//! Programs: a script for each thread; and random ones.

use untorn_testkit::Rng;

/// A script of the program; the first one is the main thread.
pub type Script = usize;

/// One operation. Every one but `Yield` and `Outside` is an event when it is done; waiting and
/// parking are two.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// An access, which nothing else depends on, at this place.
    Event(u32),
    Lock(usize),
    Unlock(usize),
    Wait(usize, Option<u64>),
    Notify(usize, bool),
    Park(Option<u64>),
    Unpark(Script),
    Sleep(u64),
    Join(Script, Option<u64>),
    Spawn(Script),
    Interrupt(Script),
    Set(usize),
    /// Executes events until the flag is set.
    SpinUntil(usize),
    Yield,
    /// Continues without the token for a while.
    Outside,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    pub scripts: Vec<Vec<Op>>,
}

pub const LOCKS: usize = 3;
/// Places of `Op::Event`.
pub const PLACES: u32 = 4;

/// What a random program may do.
#[derive(Copy, Clone, Debug)]
pub struct Knobs {
    pub threads: u32,
    pub ops: u32,
    /// Locks are nested in their order, so they cause no deadlock.
    pub ordered_locks: bool,
    /// Threads are joined by one with a smaller number only, and main starts all of them first.
    pub tree: bool,
    /// Waits may have a time limit.
    pub limits: bool,
    /// Operations by their share; see [`Shares`].
    pub shares: Shares,
}

/// How often each kind of operation occurs, relative to the others.
#[derive(Copy, Clone, Debug)]
pub struct Shares {
    pub event: u32,
    pub section: u32,
    pub wait: u32,
    pub notify: u32,
    pub park: u32,
    pub unpark: u32,
    pub sleep: u32,
    pub join: u32,
    pub interrupt: u32,
    pub yields: u32,
    pub outside: u32,
}

impl Knobs {
    pub const fn everything() -> Self {
        let shares = Shares {
            event: 6,
            section: 5,
            wait: 2,
            notify: 3,
            park: 2,
            unpark: 3,
            sleep: 1,
            join: 1,
            interrupt: 1,
            yields: 1,
            outside: 1,
        };
        Self { threads: 4, ops: 8, ordered_locks: false, tree: false, limits: true, shares }
    }

    /// Programs in which running a thread further never removes a possibility from another.
    pub const fn monotone() -> Self {
        let none = Self::everything();
        let shares = Shares {
            section: 0,
            wait: 0,
            notify: 0,
            park: 0,
            unpark: 0,
            sleep: 1,
            join: 2,
            interrupt: 0,
            yields: 1,
            outside: 0,
            ..none.shares
        };
        Self { threads: 3, ops: 4, ordered_locks: true, tree: true, limits: false, shares }
    }

    /// Programs whose events, in the same order, have the same meaning: nothing depends on time, and nothing happens
    /// to a thread between two events.
    pub const fn timeless() -> Self {
        let everything = Self::everything();
        let shares = Shares { interrupt: 0, ..everything.shares };
        Self { shares, limits: false, ..everything }
    }

    pub const fn ordered_locks() -> Self {
        let monotone = Self::monotone();
        let shares = Shares { section: 6, ..monotone.shares };
        Self { shares, ops: 5, ..monotone }
    }
}

impl Program {
    pub fn random(seed: u64, knobs: &Knobs) -> Self {
        let mut rng = Rng::new(seed);
        let threads = rng.between(2, knobs.threads) as usize;
        let mut writer = Writer { rng, knobs: *knobs, threads, held: Vec::new(), ops: Vec::new() };
        let mut scripts = Vec::new();
        for script in 0..threads {
            writer.script(script);
            scripts.push(std::mem::take(&mut writer.ops));
        }
        // Every thread is started by one with a smaller number: early, as main usually does, or anywhere.
        for script in 1..threads {
            let by = if knobs.tree { 0 } else { writer.rng.below(script as u32) as usize };
            let early = knobs.tree || writer.rng.chance(180);
            let at = if early { 0 } else { writer.rng.between(0, scripts[by].len() as u32) };
            scripts[by].insert(at as usize, Op::Spawn(script));
        }
        Self { scripts }
    }
}

struct Writer {
    rng: Rng,
    knobs: Knobs,
    threads: usize,
    held: Vec<usize>,
    ops: Vec<Op>,
}

impl Writer {
    fn script(&mut self, script: Script) {
        let wanted = self.rng.below(self.knobs.ops + 1) as usize;
        while self.ops.len() < wanted {
            self.op(script);
        }
        while let Some(lock) = self.held.pop() {
            self.ops.push(Op::Unlock(lock));
        }
    }

    fn op(&mut self, own: Script) {
        let other = self.rng.below(self.threads as u32) as usize;
        let s = self.knobs.shares;
        let kinds = [
            s.event,
            s.section,
            s.wait,
            s.notify,
            s.park,
            s.unpark,
            s.sleep,
            s.join,
            s.interrupt,
            s.yields,
            s.outside,
        ];
        let mut at = self.rng.below(kinds.iter().sum());
        let mut kind = 0;
        while at >= kinds[kind] {
            at -= kinds[kind];
            kind += 1;
        }
        let held = self.held.last().copied();
        let op = match kind {
            0 => Op::Event(self.rng.below(PLACES)),
            1 => return self.section(),
            2 => match held {
                Some(lock) => Op::Wait(lock, self.limit()),
                None => return self.section(),
            },
            3 => match held {
                Some(lock) => Op::Notify(lock, self.rng.chance(80)),
                None => return self.section(),
            },
            4 => Op::Park(self.limit()),
            5 => Op::Unpark(other),
            6 => Op::Sleep(u64::from(self.rng.below(60))),
            // A thread that joins while it holds a lock may wait for one that requests it.
            7 if self.knobs.tree && (other <= own || held.is_some()) => Op::Yield,
            7 if other != own => Op::Join(other, self.limit()),
            8 => Op::Interrupt(other),
            9 => Op::Yield,
            10 => Op::Outside,
            _ => Op::Event(0),
        };
        self.ops.push(op);
    }

    /// Takes a lock, or releases the one taken last.
    fn section(&mut self) {
        let free = |lock: &usize| {
            let above = self.held.iter().all(|held| held < lock);
            !self.held.contains(lock) && (!self.knobs.ordered_locks || above)
        };
        let free: Vec<usize> = (0..LOCKS).filter(free).collect();
        let release = free.is_empty() || (!self.held.is_empty() && self.rng.chance(120));
        if release && let Some(lock) = self.held.pop() {
            self.ops.push(Op::Unlock(lock));
        } else if !free.is_empty() {
            let lock = self.rng.pick(&free);
            self.held.push(lock);
            self.ops.push(Op::Lock(lock));
        }
    }

    fn limit(&mut self) -> Option<u64> {
        (self.knobs.limits && self.rng.chance(100)).then(|| u64::from(self.rng.below(80)))
    }
}
