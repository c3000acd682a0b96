//! One preemption at each place: a thread is stopped after an access, and all others run to their ends.
//!
//! **Paper:** Musuvathi, Qadeer, *Iterative Context Bounding for Systematic Testing of Multithreaded Programs*, PLDI 2007:
//! few preemptions are enough for most failures.
//!
//! **What we changed, and why.** The bound is one, and only accesses that another thread could see count: the programs for
//! which this is done are a few calls long, so every such place can be tried, and a policy that chooses at random would
//! hardly ever let one thread do all it has to do in the middle of another one.
//!
//! **Promise:** none beyond that of any plan: whatever a run shows happened.

use std::collections::VecDeque;

use untorn_predict::At;
use untorn_schedule::Plan;
use untorn_trace::ThreadId;

use super::cause::shared_accesses;
use crate::run::Run;
use crate::steer;

/// Plans of one program.
const MAX_PLANS: usize = 48;

/// The plans that are left.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    plans: VecDeque<Plan>,
}

impl Sweep {
    /// The places of a run, those of different threads in turn.
    pub(super) fn of(run: &Run) -> Self {
        let accesses: Vec<Vec<At>> = (0..run.history.thread_count())
            .filter_map(|index| run.history.of_thread(ThreadId::from_index(index)).last())
            .map(|&last| shared_accesses(run, last))
            .filter(|own| !own.is_empty())
            .collect();
        let longest = accesses.iter().map(Vec::len).max().unwrap_or(0);
        let places = (0..longest).flat_map(|nth| (0..accesses.len()).map(move |own| (own, nth)));
        let plan = |(own, nth): (usize, usize)| {
            let stopped = *accesses[own].get(nth)?;
            let thread = run.history.event(stopped).thread;
            // The first thread starts the others, and ends after them.
            if thread.index() == 0 {
                return None;
            }
            let others = accesses.iter().filter_map(|all| all.last().copied());
            let others = others.filter(|&last| {
                let other = run.history.event(last).thread;
                other != thread && other.index() != 0
            });
            let steps = std::iter::once(stopped).chain(others).map(|at| steer::single(run, at));
            let steps: Option<Vec<_>> = steps.collect();
            steps.filter(|steps| steps.len() > 1).map(|steps| Plan { steps, ..Plan::default() })
        };
        Self { plans: places.filter_map(plan).take(MAX_PLANS).collect() }
    }

    pub(super) fn next(&mut self) -> Option<Plan> {
        self.plans.pop_front()
    }
}
