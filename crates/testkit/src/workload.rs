//! Long traces with consistent values: threads that work on shared variables, mostly under locks.
//!
//! For benchmarks and tests of prediction. Each thread does one block after the other: a guarded
//! read and write, the same with the lock released in between (which can be interrupted), one without
//! any lock, or one under two nested locks. Some variables count, others hold one of few values.
//! Threads are switched after a random number of events; there are no deadlocks, because nested locks
//! are taken in ascending order.

use untorn_trace::{Event, LabelId, LockId, Op, SiteId, ThreadId, Value, VarId};

use crate::rng::Rng;

/// Everything such a trace depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Workload {
    pub threads: u32,
    pub locks: u32,
    pub vars: u32,
    pub events: usize,
    pub seed: u64,
}

impl Workload {
    /// The trace; all variables start as 0. A little longer than asked for, so that no block is cut.
    pub fn generate(&self) -> Vec<Event> {
        let mut rng = Rng::new(self.seed);
        let mut machine = Machine {
            spec: *self,
            memory: vec![0; self.vars as usize],
            owner: vec![None; self.locks as usize],
            events: Vec::with_capacity(self.events + 64),
        };
        let mut todo: Vec<Vec<Step>> = vec![Vec::new(); self.threads as usize];
        while machine.events.len() < self.events || todo.iter().any(|steps| !steps.is_empty()) {
            let thread = rng.below(self.threads);
            let ends = machine.events.len() >= self.events;
            for _ in 0..rng.between(1, 12) {
                let steps = &mut todo[thread as usize];
                if steps.is_empty() && !ends {
                    *steps = self.block(thread, &mut rng);
                    steps.reverse();
                }
                let Some(&step) = steps.last() else { break };
                if !machine.perform(thread, step, &mut rng) {
                    break;
                }
                steps.pop();
            }
        }
        machine.events
    }

    fn block(&self, thread: u32, rng: &mut Rng) -> Vec<Step> {
        use Step::{Acquire, Begin, End, Read, Release, Write};
        // Most of what a thread touches is its own, most of the time.
        let own = self.vars / self.threads * thread + rng.below((self.vars / self.threads).max(1));
        let var = if rng.chance(190) { own % self.vars } else { rng.below(self.vars) };
        let guard = var % self.locks;
        let other = rng.below(self.vars);
        let label = rng.below(8);
        let mut steps = vec![Begin(label)];
        match rng.below(10) {
            0..=4 => steps.extend([Acquire(guard), Read(var), Write(var), Release(guard)]),
            5..=6 => {
                steps.extend([Acquire(guard), Read(var), Release(guard)]);
                steps.extend([Acquire(guard), Write(var), Release(guard)]);
            }
            7 => steps.extend([Read(var), Read(other), Write(var)]),
            _ => {
                let second = other % self.locks;
                let (low, high) = (guard.min(second), guard.max(second));
                steps.extend([Acquire(low), Acquire(high), Read(var), Read(other)]);
                steps.extend([Write(other), Release(high), Read(var), Release(low)]);
            }
        }
        steps.push(End(label));
        steps
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Begin(u32),
    End(u32),
    Acquire(u32),
    Release(u32),
    Read(u32),
    Write(u32),
}

struct Machine {
    spec: Workload,
    memory: Vec<u64>,
    /// By lock: the owner, and how often.
    owner: Vec<Option<(u32, u32)>>,
    events: Vec<Event>,
}

impl Machine {
    /// `false` if the thread has to wait.
    fn perform(&mut self, thread: u32, step: Step, rng: &mut Rng) -> bool {
        let op = match step {
            Step::Begin(label) => Op::begin(LabelId(label)),
            Step::End(label) => Op::End { label: LabelId(label) },
            Step::Acquire(lock) => {
                let depth = match self.owner[lock as usize] {
                    Some((owner, depth)) if owner == thread => depth + 1,
                    Some(_) => return false,
                    None => 1,
                };
                self.owner[lock as usize] = Some((thread, depth));
                Op::acquire(LockId(lock))
            }
            Step::Release(lock) => {
                let owner = &mut self.owner[lock as usize];
                *owner = owner.and_then(|(me, depth)| (depth > 1).then_some((me, depth - 1)));
                Op::release(LockId(lock))
            }
            Step::Read(var) => Op::read(VarId(var)).with_value(Value(self.memory[var as usize])),
            Step::Write(var) => {
                // A third of the variables count, the others have 2 to 9 values.
                let value = match var % 3 {
                    0 => self.memory[var as usize] + 1,
                    _ => u64::from(rng.below(2 + var % 8)),
                };
                self.memory[var as usize] = value;
                Op::write(VarId(var)).with_value(Value(value))
            }
        };
        let site = SiteId(match step {
            Step::Read(var) => var,
            Step::Write(var) => self.spec.vars + var,
            _ => return self.push(thread, op, SiteId::NONE),
        });
        self.push(thread, op, site)
    }

    fn push(&mut self, thread: u32, op: Op, site: SiteId) -> bool {
        self.events.push(Event::new(ThreadId(thread), op, site));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validity::is_well_formed;

    #[test]
    fn traces_are_well_formed_and_as_long_as_asked_for() {
        for seed in 0..20 {
            let spec = Workload { threads: 4, locks: 3, vars: 7, events: 400, seed };
            let events = spec.generate();
            assert!(is_well_formed(&events), "seed {seed}");
            assert!((400..460).contains(&events.len()), "{}", events.len());
            assert_eq!(events, spec.generate());
        }
    }
}
