//! One run of a program under a random scheduler, recorded.

use untorn_trace::{Event, LabelId, Op, SiteId, ThreadId, Value};

use super::{Instr, InstructionPoint, Machine, Program};
use crate::rng::Rng;

/// A recorded run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    pub events: Vec<Event>,
    /// By event: the place that it is the execution of. A branch has that of the event after it.
    pub places: Vec<InstructionPoint>,
}

impl Program {
    /// Runs the program, switching threads at random. A run that deadlocks is as good as any other.
    pub fn record(&self, rng: &mut Rng) -> Recording {
        let mut machine = Machine::new(self);
        // `Machine::new` took the branches before the first event already.
        let mut branches = vec![0; self.threads.len()];
        for (thread, count) in branches.iter_mut().enumerate() {
            *count = Machine::default().settle(self, thread);
        }
        let stay = rng.pick(&[60, 128, 200, 240]);
        let mut recording = Recording::default();
        let mut thread = rng.below(self.threads.len() as u32) as usize;
        loop {
            let ready: Vec<usize> = (0..self.threads.len())
                .filter(|&thread| machine.enabled(self, thread).is_some())
                .collect();
            if ready.is_empty() {
                return recording;
            }
            if !ready.contains(&thread) || !rng.chance(stay) {
                thread = rng.pick(&ready);
            }
            let Some(instr) = machine.enabled(self, thread) else { continue };
            let instr_at = u32::from(machine.threads[thread].at);
            let place = InstructionPoint { thread: ThreadId(thread as u32), instr: instr_at };
            let count = std::mem::take(&mut branches[thread]);
            if count > 0 {
                recording.push(place, Op::Branch { count });
            }
            let value = machine.execute(self, instr, thread);
            recording.push(place, operation(instr, value));
            branches[thread] = machine.settle(self, thread);
        }
    }
}

impl Recording {
    fn push(&mut self, place: InstructionPoint, op: Op) {
        self.events.push(Event::new(place.thread, op, SiteId(place.thread.0 * 1000 + place.instr)));
        self.places.push(place);
    }
}

fn operation(instr: Instr, value: u8) -> Op {
    let value = Value(u64::from(value));
    match instr {
        Instr::Read { var, .. } => Op::read(var).with_value(value),
        Instr::Write { var, .. } => Op::write(var).with_value(value),
        Instr::Acquire { lock } => Op::acquire(lock),
        Instr::Release { lock } => Op::release(lock),
        Instr::Begin => Op::begin(LabelId(0)),
        Instr::End => Op::End { label: LabelId(0) },
        // Never executed as a separate step.
        Instr::Unless { .. } | Instr::Jump { .. } => Op::Branch { count: 0 },
    }
}
