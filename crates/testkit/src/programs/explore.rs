//! All interleavings of a program, as a graph of its states.

use std::collections::HashMap;

use untorn_trace::ThreadId;

use super::{InstructionPoint, Machine, Program};

/// Every state that some schedule reaches, and the steps between them.
#[derive(Debug)]
pub struct Explored {
    /// Which place is executed, and the state afterwards; those of state `i` end at `ends[i]`.
    steps: Vec<(InstructionPoint, u32)>,
    ends: Vec<u32>,
}

impl Explored {
    /// Explores a program; `None` if it has more than `most` states.
    pub fn new(program: &Program, most: usize) -> Option<Self> {
        let start = Machine::new(program);
        let mut known: HashMap<Machine, u32> = HashMap::from([(start, 0)]);
        // In the order of their numbers.
        let mut states = vec![start];
        let (mut steps, mut ends) = (Vec::new(), Vec::new());
        while let Some(&state) = states.get(ends.len()) {
            for thread in 0..program.threads.len() {
                let Some(instr) = state.enabled(program, thread) else { continue };
                let mut after = state;
                after.execute(program, instr, thread);
                after.settle(program, thread);
                let number = *known.entry(after).or_insert(states.len() as u32);
                if number as usize == states.len() {
                    states.push(after);
                }
                let instr = u32::from(state.threads[thread].at);
                steps.push((InstructionPoint { thread: ThreadId(thread as u32), instr }, number));
            }
            ends.push(steps.len() as u32);
            if states.len() > most {
                return None;
            }
        }
        Some(Self { steps, ends })
    }

    pub fn state_count(&self) -> usize {
        self.ends.len()
    }

    fn steps_of(&self, state: u32) -> &[(InstructionPoint, u32)] {
        let start = if state == 0 { 0 } else { self.ends[state as usize - 1] };
        &self.steps[start as usize..self.ends[state as usize] as usize]
    }

    /// Whether some run executes these places, in this order, with whatever in between.
    pub fn is_feasible(&self, places: &[InstructionPoint]) -> bool {
        let mut now = vec![false; self.state_count()];
        now[0] = true;
        for &place in places {
            let reached = self.after(&now, place);
            if !reached.contains(&true) {
                return false;
            }
            now = reached;
        }
        true
    }

    /// The states right after `place`, for runs that come from one of `from`.
    fn after(&self, from: &[bool], place: InstructionPoint) -> Vec<bool> {
        let mut seen = from.to_vec();
        let mut reached = vec![false; from.len()];
        let mut open: Vec<u32> = (0..from.len() as u32).filter(|&s| from[s as usize]).collect();
        while let Some(state) = open.pop() {
            for &(executed, next) in self.steps_of(state) {
                if executed == place {
                    reached[next as usize] = true;
                } else if !std::mem::replace(&mut seen[next as usize], true) {
                    open.push(next);
                }
            }
        }
        reached
    }
}
