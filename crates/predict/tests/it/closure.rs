//! The closure is never wrong, and rarely at a loss.

use crate::common::{STRENGTHS, compare, goals, history, indices, zero};
use untorn_predict::closure::Closure;
use untorn_predict::{Answer, Engine};
use untorn_testkit::{Knobs, ReorderingOracle, Rng, for_random_traces};
use untorn_trace::Event;

#[derive(Default, Debug)]
struct Tally {
    feasible: [u32; 3],
    found: [u32; 3],
    infeasible: [u32; 3],
    refuted: [u32; 3],
}

fn check(events: &[Event], tally: &mut Tally) -> Result<(), String> {
    if events.is_empty() {
        return Ok(());
    }
    let history = history(events);
    let oracle = ReorderingOracle::new(events, &zero);
    let goals = goals(&history, &mut Rng::new(events.len() as u64), 6);
    for (i, (strength, rule)) in STRENGTHS.into_iter().enumerate() {
        let mut closure = Closure::new(&history, strength);
        for goal in &goals {
            let expected = oracle.exists_reordering(&indices(&goal.events), rule).is_some();
            let answer = closure.decide(goal);
            compare(events, goal, rule, expected, &answer)?;
            tally.feasible[i] += u32::from(expected);
            tally.infeasible[i] += u32::from(!expected);
            tally.found[i] += u32::from(matches!(answer, Answer::Feasible(_)));
            tally.refuted[i] += u32::from(answer == Answer::Infeasible);
        }
    }
    Ok(())
}

#[test]
fn soak_the_closure_is_never_wrong() {
    let seeds = untorn_testkit::cases(10_000, 500_000);
    let mut tally = Tally::default();
    for_random_traces(&Knobs::planning(), 0..seeds, |events| check(events, &mut tally));
    for i in 0..3 {
        assert!(tally.found[i] * 100 > tally.feasible[i] * 95, "{tally:?}");
        assert!(tally.refuted[i] * 100 > tally.infeasible[i] * 40, "{tally:?}");
    }
}
