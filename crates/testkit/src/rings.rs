//! Random traces whose only possible cycle runs through all of their threads.
//!
//! Thread i writes variable i and reads variable i + 1, once each, in some order, inside or outside
//! of blocks; then the threads are interleaved. Whether the ring closes to a cycle depends on the
//! order of all the steps. That a dependence must be passed on through transactions that are
//! already over, and late, is rare in other random traces and the rule here.

use untorn_trace::{Event, LabelId, Op, SiteId, ThreadId, VarId};

use crate::rng::Rng;

/// The ring of a seed: two to seven threads, four events each at most.
#[derive(Debug, Default)]
pub struct RingGen {
    /// What each thread still has to do, last step first.
    scripts: Vec<Vec<Op>>,
    events: Vec<Event>,
}

impl RingGen {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn generate(&mut self, seed: u64) -> &[Event] {
        let mut rng = Rng::new(seed);
        let threads = rng.between(2, 7);
        let blocks = rng.pick(&[128, 200, 256]);
        self.events.clear();
        self.scripts.resize_with(threads as usize, Vec::new);
        for (i, script) in self.scripts.iter_mut().enumerate() {
            write_script(script, i as u32, threads, blocks, &mut rng);
        }
        // A thread that is about to read what was not written yet often lets the others go first: only
        // if nearly all edges of the ring point the same way it is a cycle.
        let patience = rng.pick(&[0, 128, 200, 230]);
        let mut written = 0_u32;
        let mut busy = self.scripts.iter().filter(|script| !script.is_empty()).count();
        while busy > 0 {
            let thread = rng.below(threads);
            let script = &mut self.scripts[thread as usize];
            let early =
                matches!(script.last(), Some(Op::Read { var, .. }) if written & (1 << var.0) == 0);
            if early && rng.chance(patience) {
                continue;
            }
            if let Some(op) = script.pop() {
                if let Op::Write { var, .. } = op {
                    written |= 1 << var.0;
                }
                self.events.push(Event::new(ThreadId(thread), op, SiteId::NONE));
                busy -= usize::from(script.is_empty());
            }
        }
        &self.events
    }
}

fn write_script(script: &mut Vec<Op>, thread: u32, threads: u32, blocks: u32, rng: &mut Rng) {
    let begin = Op::begin(LabelId(thread));
    let end = Op::End { label: LabelId(thread) };
    let mut steps = [Op::write(VarId(thread)), Op::read(VarId((thread + 1) % threads))];
    if rng.chance(128) {
        steps.swap(0, 1);
    }
    let [first, last] = steps;
    script.clear();
    if rng.chance(blocks) {
        script.extend([end, last, first, begin]);
        if rng.chance(20) {
            script.remove(0); // a block that never ends
        }
    } else if rng.chance(128) {
        script.extend([last, first]);
    } else {
        script.extend([end, last, begin, first]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::first_violation;
    use crate::validity::first_defect;

    #[test]
    fn rings_are_well_formed_and_of_both_verdicts() {
        let mut rings = RingGen::new();
        let mut violations = 0;
        for seed in 0..20_000 {
            let events = rings.generate(seed);
            assert_eq!(first_defect(events), None);
            violations += usize::from(first_violation(events).is_some());
        }
        assert!((2_000..18_000).contains(&violations), "{violations} of 20 000");
    }
}
