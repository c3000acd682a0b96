//! The answer of a solver that sees only a part of the history is still true.

use crate::common::{STRENGTHS, compare, goals, history, indices, validate, zero};
use untorn_predict::precise::Precise;
use untorn_predict::sat::{Budget, Sat};
use untorn_predict::{Answer, Engine};
use untorn_testkit::{Knobs, ReorderingOracle, Rng, Workload, for_random_traces};
use untorn_trace::{Event, VarId};

fn check(events: &[Event], window: u32, decided: &mut [u32; 3]) -> Result<(), String> {
    if events.is_empty() {
        return Ok(());
    }
    let history = history(events);
    let oracle = ReorderingOracle::new(events, &zero);
    let goals = goals(&history, &mut Rng::new(events.len() as u64), 4);
    let budget = Budget { whole: 0, window, ..Budget::default() };
    for (strength, rule) in STRENGTHS {
        let mut sat = Sat::new(&history, strength, budget);
        for goal in &goals {
            let expected = oracle.exists_reordering(&indices(&goal.events), rule).is_some();
            let answer = sat.decide(goal);
            compare(events, goal, rule, expected, &answer)?;
            decided[match answer {
                Answer::Feasible(_) => 0,
                Answer::Infeasible => 1,
                Answer::Undecided(_) => 2,
            }] += 1;
        }
    }
    Ok(())
}

#[test]
fn soak_a_window_never_makes_an_answer_wrong() {
    let many = untorn_testkit::cases(2000, 100_000);
    for window in 1..=8 {
        let mut decided = [0; 3];
        let first = u64::from(window) * 1_000_000;
        for_random_traces(&Knobs::planning(), first..first + many, |events| {
            check(events, window, &mut decided)
        });
        assert!(decided[2] * 3 < decided[0] + decided[1], "window {window}: {decided:?}");
    }
}

#[test]
fn plans_of_long_histories_are_plans() {
    for seed in 0..6 {
        let workload = Workload { threads: 3, locks: 4, vars: 12, events: 3000, seed };
        let events = workload.generate();
        let history = history(&events);
        for (strength, rule) in STRENGTHS {
            let mut engine = Precise::new(&history, strength, Budget::default());
            for goal in goals(&history, &mut Rng::new(seed), 60) {
                if let Answer::Feasible(reordering) = engine.decide(&goal) {
                    validate(&events, &goal, &reordering, rule).expect("a reordering");
                }
            }
        }
    }
}

/// Candidates by the test above: a window ended between the halves of an update, and the reordering continued with
/// other threads from there.
#[test]
fn a_window_does_not_tear_an_update() {
    use untorn_predict::{At, Goal, Strength};
    use untorn_trace::{Access, Op, SiteId, ThreadId, Value};
    let (x, access, known, value) = (VarId(0), Access::Update, true, Value(0));
    let read = Op::Read { var: x, access, known, value };
    let write = Op::Write { var: x, access, known, value };
    let plain = Op::write(VarId(1)).with_value(value);
    let steps = [(0, read), (0, write), (0, plain), (1, plain), (1, plain)];
    let events = steps.map(|(thread, op)| Event::new(ThreadId(thread), op, SiteId::NONE));
    let history = history(&events);
    let goal = Goal::new(&[At(0), At(3), At(4)]);
    for window in 1..8 {
        for (strength, rule) in STRENGTHS {
            let budget = Budget { whole: 0, window, ..Budget::default() };
            if let Answer::Feasible(reordering) = Sat::new(&history, strength, budget).decide(&goal)
            {
                validate(&events, &goal, &reordering, rule).expect("a reordering");
            }
        }
    }
    let reordering = Sat::new(&history, Strength::Precise, Budget::default()).decide(&goal);
    assert!(
        matches!(reordering, Answer::Feasible(reordering) if reordering.steps == [0, 1, 3, 4].map(At))
    );
}
