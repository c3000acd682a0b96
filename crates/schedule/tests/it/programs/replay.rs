//! A recorded run replays exactly, whatever happens outside.

use untorn_schedule::{Mode, PolicyKind, Reason, Schedule, Scheduler, Step, ThreadId};
use untorn_testkit::Rng;

use super::decisions::{POLICIES, options, record, world};
use super::driver::{Run, Sites, World, drive};
use super::program::{Knobs, Program};
use super::rounds;

/// Replays the steps while threads return from outside at other times, and lose the token at others. They ask at
/// these points, as they did when the steps were recorded.
fn replay(
    program: &Program,
    steps: &[Step],
    seed: u64,
    steal: u32,
    sites: Option<Sites<'_>>,
) -> Result<Run, String> {
    let bytes = Schedule::encode_steps(steps);
    let steps = Schedule::decode(&bytes).map_err(|error| error.to_string())?;
    let scheduler = Scheduler::new(Mode::Replay(Schedule::from(steps)), options(seed));
    drive(program, scheduler, World { sites, ..other_world(seed, steal) })
}

/// The surroundings of the seed, but with other external behaviour.
fn other_world(seed: u64, steal: u32) -> World<'static> {
    World { rng: Rng::new(!seed), steal, strict: false, patient: false, ..world(seed) }
}

pub fn check_replay(
    program: &Program,
    recorded: &Run,
    seed: u64,
    sites: Option<Sites<'_>>,
) -> Result<(), String> {
    for steal in [0, 30] {
        let again = replay(program, &recorded.steps, seed, steal, sites)?;
        if again.log != recorded.log || again.finished != recorded.finished {
            return Err(format!("{again:?}"));
        }
        if again.steps != recorded.steps {
            return Err(format!("recorded {:?}, replayed {:?}", recorded.steps, again.steps));
        }
        if !again.outcome.is_faithful() {
            return Err(format!("{:?}", again.outcome));
        }
    }
    Ok(())
}

#[test]
fn soak_every_recorded_run_replays_exactly() {
    for seed in 0..rounds(200_000) {
        let program = Program::random(seed, &Knobs::everything());
        for policy in POLICIES {
            let recorded = record(&program, policy, seed).expect("tested elsewhere");
            check_replay(&program, &recorded, seed, None).unwrap_or_else(|error| {
                let Run { log, steps, .. } = recorded;
                panic!("seed {seed}, {policy}: {error}\n{program:?}\n{log:?}\n{steps:?}");
            });
        }
    }
}

/// Changes one thing about the schedule.
fn damage(steps: &mut Vec<Step>, rng: &mut Rng) {
    let at = rng.below(steps.len() as u32) as usize;
    let other = rng.below(steps.len() as u32) as usize;
    match rng.below(6) {
        0 => drop(steps.remove(at)),
        1 => steps[at].events += 1,
        2 => steps[at].events = steps[at].events.saturating_sub(1),
        3 => steps.swap(at, other),
        4 => steps[at].thread = ThreadId(rng.below(5)),
        _ => steps[at].reason = rng.pick(&REASONS),
    }
}

const REASONS: [Reason; 8] = [
    Reason::Budget,
    Reason::Blocked,
    Reason::Yielded,
    Reason::Ended,
    Reason::Outside,
    Reason::Plan,
    Reason::Cut,
    Reason::Held,
];

/// A wrong schedule neither hangs nor stops the program: it is followed as far as possible, the difference is
/// reported, and the run continues.
#[test]
fn soak_a_wrong_schedule_is_released() {
    let (mut noticed, mut same) = (0, 0);
    for seed in 0..rounds(100_000) {
        let program = Program::random(seed, &Knobs::everything());
        let recorded = record(&program, POLICIES[(seed % 4) as usize], seed).expect("tested");
        let mut rng = Rng::new(seed);
        let mut steps = recorded.steps.clone();
        for _ in 0..=rng.below(3) {
            if !steps.is_empty() {
                damage(&mut steps, &mut rng);
            }
        }
        let run = replay(&program, &steps, seed, 0, None)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{program:?}\n{steps:?}"));
        match run.outcome.divergence {
            Some(divergence) => {
                noticed += 1;
                assert_eq!(divergence.step, run.outcome.followed, "seed {seed}: {divergence}");
            }
            None => same += u64::from(run.log == recorded.log),
        }
    }
    assert!(noticed > rounds(60_000) && same > 0, "{noticed} noticed, {same} without effect");
}

/// A prefix is followed, and then the policy decides.
#[test]
fn soak_a_prefix_is_followed_and_then_the_policy_decides() {
    for seed in 0..rounds(20_000) {
        let program = Program::random(seed, &Knobs::everything());
        let recorded = record(&program, PolicyKind::Random, seed).expect("tested");
        let cut = recorded.steps.len() / 2;
        let prefix = Schedule::from(recorded.steps[..cut].to_vec());
        let scheduler = Scheduler::new(Mode::Prefix(prefix, PolicyKind::Pos), options(seed));
        let run = drive(&program, scheduler, other_world(seed, 0)).expect("right decisions");
        assert!(run.outcome.is_faithful(), "seed {seed}: {:?}", run.outcome);
        let events = recorded.steps[..cut].iter().map(|step| step.events).sum::<u64>() as usize;
        assert_eq!(run.log[..events], recorded.log[..events], "seed {seed}");
    }
}
