//! What all controlled runs have in common.

use untorn_schedule::{Mode, Nanos, Options, RunSpec, Schedule, Scheduler, Steering};

/// The start of the program's clock, since 1970: the same in every run, so that runs can be equal.
pub const START_MILLIS: u64 = 1_767_225_600_000; // 2026-01-01T00:00:00Z

/// The scheduler of a run, or of the replay of a recorded one.
pub fn scheduler(spec: &RunSpec, replay: Option<Schedule>) -> Scheduler {
    let options = Options {
        seed: spec.seed,
        quantum: spec.quantum,
        start: Nanos(START_MILLIS * 1_000_000),
        patient: true,
        foreign_wakers: true,
        ..Options::default()
    };
    let mode = match (replay, &spec.steering) {
        (Some(schedule), _) => Mode::Replay(schedule),
        (None, Steering::Policy(policy) | Steering::Marks { policy, .. }) => Mode::Policy(*policy),
        (None, Steering::Plan { plan, policy }) => Mode::Plan(plan.clone(), *policy),
    };
    let mut scheduler = Scheduler::new(mode, options);
    if let Steering::Marks { marks, .. } = &spec.steering {
        scheduler.mark(marks);
    }
    scheduler
}
