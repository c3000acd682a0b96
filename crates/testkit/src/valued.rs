//! Random small traces whose values are those of a real run, for value-level confirmation.
//!
//! A read returns what was written last, or the initial value. Values are few, so that different
//! writes often write the same: that is where a serial order differs from the order of conflicts.
//! Blocks may nest, stay open, fork and join inside; accesses occur outside of blocks and as
//! indivisible updates; some values and initial values are not recorded. Locks occur and mean nothing.
//!
//! The same seed gives the same trace for ever.

use untorn_trace::{
    Access, Event, LabelId, LockId, Op, SiteId, Tables, ThreadId, Value, VarFacts, VarId,
};

use crate::random::name_tables;
use crate::rng::Rng;

/// Bounds of a random trace.
#[derive(Clone, Copy, Debug)]
pub struct ValuedKnobs {
    pub threads: u32,
    pub vars: u32,
    pub blocks: u32,
    /// Accesses of a block, at most.
    pub accesses: u32,
    /// Distinct values of a variable, at most.
    pub values: u32,
    /// Of 256 accesses that would interrupt an open block of another thread, those that wait instead; each trace
    /// draws one of these.
    pub care: [u32; 4],
    /// Of 256 traces, those in which some values are missing.
    pub unknown: u32,
    /// Take the sizes above as they are, with blocks only, instead of drawing up to them.
    pub exact: bool,
    /// Of 256 traces, those with fork, join, locks, nested and open blocks.
    pub rich: u32,
}

impl ValuedKnobs {
    /// Small enough for millions of traces and for the oracle.
    pub fn small() -> Self {
        Self {
            threads: 5,
            vars: 4,
            blocks: 8,
            accesses: 5,
            values: 5,
            care: [0, 0, 128, 230],
            unknown: 40,
            rich: 80,
            exact: false,
        }
    }

    /// So many threads, variables and blocks of up to so many accesses, all values known, torn here and
    /// there: large enough to measure time.
    pub fn large(threads: u32, vars: u32, blocks: u32, accesses: u32, care: u32) -> Self {
        let care = [care; 4];
        Self { threads, vars, blocks, accesses, values: 50, care, unknown: 0, rich: 0, exact: true }
    }

    /// As [`ValuedKnobs::small`] with every value known.
    pub fn known() -> Self {
        Self { unknown: 0, ..Self::small() }
    }
}

/// The trace of a seed.
pub fn valued(knobs: &ValuedKnobs, seed: u64) -> (Vec<Event>, Tables) {
    let mut rng = Rng::new(seed ^ 0x5eed_0f7a_1ce5);
    let mut world = World::draw(knobs, &mut rng);
    for _ in 0..400 + 8 * knobs.blocks * knobs.accesses {
        let Some(thread) = world.next_thread(&mut rng) else { break };
        world.step(thread, &mut rng);
    }
    let mut tables = name_tables(&world.events);
    for (i, &initial) in world.initial.iter().enumerate() {
        if tables.vars.get(VarId::from_index(i)).is_some() {
            let facts = VarFacts::default().with_initial(initial);
            tables.set_var_facts(VarId::from_index(i), facts);
        }
    }
    (world.events, tables)
}

/// A thread that is generated.
#[derive(Clone, Debug, Default)]
struct ThreadLife {
    /// Blocks, or accesses outside, that it has yet to begin.
    left: u32,
    /// Accesses that the open block has yet to make, and what it has touched so far.
    accesses: u32,
    touched: Vec<(VarId, bool)>,
    depth: u32,
    holds: Option<LockId>,
    /// Has been started, and has been joined.
    runs: bool,
    over: bool,
    children: Vec<u32>,
}

struct World {
    threads: Vec<ThreadLife>,
    memory: Vec<Value>,
    initial: Vec<Option<Value>>,
    locks: [Option<u32>; 2],
    events: Vec<Event>,
    current: u32,
    // The character of the trace; shares are of 256.
    values: u32,
    accesses: u32,
    stay: u32,
    writes: u32,
    outside: u32,
    updates: u32,
    forgets: u32,
    care: u32,
    rich: bool,
}

impl World {
    fn draw(knobs: &ValuedKnobs, rng: &mut Rng) -> Self {
        let size = |rng: &mut Rng, least: u32, most: u32| {
            if knobs.exact { most } else { rng.between(least, most.max(least)) }
        };
        let threads = size(rng, 1, knobs.threads).max(size(rng, 1, knobs.threads));
        let vars = size(rng, 1, knobs.vars).min(size(rng, 1, knobs.vars));
        let values = size(rng, 2, knobs.values).max(size(rng, 2, knobs.values));
        let rich = rng.chance(knobs.rich);
        let forgets = if rng.chance(knobs.unknown) { rng.pick(&[15, 40, 100]) } else { 0 };
        let memory: Vec<Value> =
            (0..vars).map(|_| Value::int(i64::from(rng.below(values)))).collect();
        let initial = memory.iter().map(|&value| (!rng.chance(forgets)).then_some(value)).collect();
        let mut lives = vec![ThreadLife::default(); threads as usize];
        for _ in 0..size(rng, 2, knobs.blocks).max(threads) {
            lives[rng.below(threads) as usize].left += 1;
        }
        for (i, life) in lives.iter_mut().enumerate() {
            life.runs = i == 0 || !rich || rng.chance(128);
        }
        Self {
            threads: lives,
            memory,
            initial,
            locks: [None; 2],
            events: Vec::new(),
            current: 0,
            values,
            accesses: size(rng, 2, knobs.accesses),
            stay: rng.pick(&[0, 0, 60, 140, 210]),
            writes: rng.pick(&[60, 100, 128, 160]),
            outside: if knobs.exact { 0 } else { rng.pick(&[0, 0, 30, 100]) },
            updates: rng.pick(&[0, 0, 60]),
            forgets,
            care: rng.pick(&knobs.care),
            rich,
        }
    }

    fn can_go_on(&self, thread: u32) -> bool {
        let life = &self.threads[thread as usize];
        life.runs && !life.over && (life.depth > 0 || life.left > 0)
    }

    fn next_thread(&mut self, rng: &mut Rng) -> Option<u32> {
        if self.can_go_on(self.current) && rng.chance(self.stay) {
            return Some(self.current);
        }
        let able: Vec<u32> =
            (0..self.threads.len() as u32).filter(|&thread| self.can_go_on(thread)).collect();
        if able.is_empty() || (self.rich && rng.below(200) == 0) {
            return None;
        }
        self.current = rng.pick(&able);
        Some(self.current)
    }

    fn push(&mut self, thread: u32, op: Op) {
        let site = SiteId(self.events.len() as u32 % 7);
        self.events.push(Event::new(ThreadId(thread), op, site));
    }

    fn step(&mut self, thread: u32, rng: &mut Rng) {
        if self.rich && rng.chance(60) && self.odd_step(thread, rng) {
            return;
        }
        let life = &mut self.threads[thread as usize];
        if life.depth == 0 {
            life.left -= 1;
            if rng.chance(self.outside) {
                self.access(thread, rng);
                return;
            }
            life.depth = 1;
            life.accesses = rng.between(1, self.accesses);
            self.push(thread, Op::begin(LabelId(0)));
        } else if life.accesses == 0 {
            life.depth -= 1;
            if life.depth == 0 {
                life.touched.clear();
            }
            self.push(thread, Op::End { label: LabelId::NONE });
        } else {
            life.accesses -= 1;
            self.access(thread, rng);
        }
    }

    /// Whether an access would come between what an open block of another thread has done and what it
    /// will do.
    fn tears(&self, thread: u32, var: VarId, writes: bool) -> bool {
        let others = self.threads.iter().enumerate().filter(|&(other, _)| other != thread as usize);
        let mut touched = others.flat_map(|(_, life)| &life.touched);
        touched.any(|&(other, wrote)| other == var && (writes || wrote))
    }

    fn access(&mut self, thread: u32, rng: &mut Rng) {
        let var = VarId(rng.below(self.memory.len() as u32));
        let update = rng.chance(self.updates);
        let access = if update { Access::Update } else { Access::Plain };
        let writes = rng.chance(self.writes);
        if self.tears(thread, var, update || writes) && rng.chance(self.care) {
            // Does something else, so that no thread waits for ever.
            return;
        }
        if self.threads[thread as usize].depth > 0 {
            self.threads[thread as usize].touched.push((var, update || writes));
        }
        if update || !writes {
            let value = self.memory[var.index()];
            let known = !rng.chance(self.forgets);
            self.push(thread, Op::Read { access, known, var, value });
        }
        if update || writes {
            let value = Value::int(i64::from(rng.below(self.values)));
            self.memory[var.index()] = value;
            let known = !rng.chance(self.forgets);
            self.push(thread, Op::Write { access, known, var, value });
        }
    }

    /// Something else than an access; false if it is not possible now.
    fn odd_step(&mut self, thread: u32, rng: &mut Rng) -> bool {
        let own = thread as usize;
        match rng.below(6) {
            0 if self.threads[own].depth > 0 => {
                self.threads[own].depth += 1;
                self.push(thread, Op::begin(LabelId(1)));
            }
            1 => {
                let lock = rng.below(2);
                if self.locks[lock as usize].is_some() || self.threads[own].holds.is_some() {
                    return false;
                }
                self.locks[lock as usize] = Some(thread);
                self.threads[own].holds = Some(LockId(lock));
                self.push(thread, Op::acquire(LockId(lock)));
            }
            2 => {
                let Some(lock) = self.threads[own].holds.take() else { return false };
                self.locks[lock.index()] = None;
                self.push(thread, Op::release(lock));
            }
            3 | 4 => {
                let new = |(_, life): &(usize, &ThreadLife)| !life.runs && !life.over;
                let Some((child, _)) = self.threads.iter().enumerate().find(new) else {
                    return false;
                };
                self.threads[child].runs = true;
                self.threads[own].children.push(child as u32);
                self.push(thread, Op::Fork { child: ThreadId(child as u32) });
            }
            _ => return self.join(thread),
        }
        true
    }

    /// Joins a thread that is through, or at least between two blocks.
    fn join(&mut self, thread: u32) -> bool {
        let can_end = |child: u32| {
            let life = &self.threads[child as usize];
            child != thread && life.runs && !life.over && life.depth == 0 && life.holds.is_none()
        };
        let Some(child) = (0..self.threads.len() as u32).find(|&child| can_end(child)) else {
            return false;
        };
        self.threads[child as usize].over = true;
        self.push(thread, Op::Join { child: ThreadId(child) });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serial::{Truth, value_atomic};
    use crate::validity::is_well_formed;

    #[test]
    fn traces_are_well_formed_and_repeatable_and_of_both_kinds() {
        let knobs = ValuedKnobs::small();
        let mut seen = [0_u32; 4];
        for seed in 0..4_000 {
            let (events, tables) = valued(&knobs, seed);
            assert!(is_well_formed(&events), "seed {seed}");
            assert_eq!(events, valued(&knobs, seed).0);
            seen[match value_atomic(&events, &tables) {
                Truth::Atomic => 0,
                Truth::NotAtomic => 1,
                Truth::Open => 2,
                Truth::TooLarge => 3,
            }] += 1;
        }
        assert!(seen[0] > 500 && seen[1] > 300 && seen[2] > 2 && seen[3] < 100, "{seen:?}");
    }
}
