//! All engines mean the same: solver ≡ planner ≡ trying everything, for every strength.

use crate::common::{STRENGTHS, compare, goals, history, indices, zero};
use untorn_predict::planner::{Planner, PlannerBudget};
use untorn_predict::sat::{Budget, Sat};
use untorn_predict::{Answer, Engine};
use untorn_testkit::{Knobs, ReorderingOracle, Rng, for_random_traces};
use untorn_trace::Event;

fn check(events: &[Event]) -> Result<(), String> {
    if events.is_empty() {
        return Ok(());
    }
    let history = history(events);
    let oracle = ReorderingOracle::new(events, &zero);
    let goals = goals(&history, &mut Rng::new(events.len() as u64), 4);
    for (strength, rule) in STRENGTHS {
        let mut sat = Sat::new(&history, strength, Budget::default());
        let mut planner = Planner::new(&history, strength, PlannerBudget::default());
        for goal in &goals {
            let expected = oracle.exists_reordering(&indices(&goal.events), rule).is_some();
            for (name, answer) in [("solver", sat.decide(goal)), ("planner", planner.decide(goal))]
            {
                compare(events, goal, rule, expected, &answer)
                    .map_err(|e| format!("{name}: {e}"))?;
                if matches!(answer, Answer::Undecided(_)) {
                    return Err(format!("{name}, {rule:?}: undecided {goal:?}"));
                }
            }
        }
    }
    Ok(())
}

/// Twelve questions a trace: four goals, three strengths. Ten million of them if asked to soak.
fn seeds() -> u64 {
    untorn_testkit::cases(17_000, 850_000)
}

#[test]
fn soak_solver_and_planner_agree_with_trying_everything() {
    for_random_traces(&Knobs::planning(), 0..seeds(), check);
}

/// More events, fewer threads: chains of sections and updates that the small ones are too short for.
#[test]
fn soak_longer_traces() {
    let knobs = Knobs { threads: 2..=3, events: 14..=26, ..Knobs::planning() };
    for_random_traces(&knobs, 0..seeds() / 10, check);
}
