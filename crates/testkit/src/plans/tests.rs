use untorn_trace::LockId;

use super::*;
use crate::random::{Knobs, TraceGen};
use crate::script::script;

fn zero(_: VarId) -> Option<Value> {
    Some(Value(0))
}

fn at(indices: &[u64]) -> Vec<EventIdx> {
    indices.iter().map(|&i| EventIdx(i)).collect()
}

#[test]
fn the_observed_order_is_a_plan_for_each_of_its_events() {
    let mut traces = TraceGen::new(Knobs::planning());
    for seed in 0..2000 {
        let events = traces.generate(seed).to_vec();
        for last in 0..events.len() as u64 {
            let plan: Vec<_> = (0..=last).map(EventIdx).collect();
            for rule in PlanRule::ALL {
                let verdict = check_plan(&events, &zero, &at(&[last]), &plan, rule);
                assert_eq!(verdict, Ok(()), "seed {seed}, event {last}\n{}", crate::show(&events));
            }
        }
    }
}

#[test]
fn what_the_search_finds_is_a_plan() {
    let mut traces = TraceGen::new(Knobs::planning());
    let mut found = [0; 3];
    for seed in 0..3000 {
        let events = traces.generate(seed).to_vec();
        let oracle = PlanOracle::new(&events, &zero);
        let count = events.len() as u64;
        if count < 3 {
            continue;
        }
        let goal = at(&[seed % count, (seed / 7) % count, (seed / 31) % count]);
        for (i, rule) in PlanRule::ALL.into_iter().enumerate() {
            if let Some(plan) = oracle.exists_plan(&goal, rule) {
                found[i] += 1;
                assert_eq!(check_plan(&events, &zero, &goal, &plan, rule), Ok(()), "seed {seed}");
            }
        }
    }
    assert!(found[0] >= found[1] && found[1] >= found[2] && found[2] > 200, "{found:?}");
}

#[test]
fn each_rule_is_broken_by_some_sequence() {
    let trace = script("A acq(L); A w(x); A rel(L); B acq(L); B r(x); B w(y); B rel(L)");
    let check = |goal: &[u64], plan: &[u64], rule| {
        check_plan(&trace.events, &zero, &at(goal), &at(plan), rule)
    };
    let held = PlanFault::LockHeld(EventIdx(3), LockId(0));
    assert_eq!(check(&[4], &[0, 3, 4], PlanRule::Lock), Err(held));
    assert_eq!(check(&[4], &[3, 4], PlanRule::Lock), Ok(()));
    assert_eq!(check(&[4], &[3, 4], PlanRule::SameSource), Ok(()), "nothing depends on it");
    let other = PlanFault::ReadsOther(EventIdx(4));
    assert_eq!(check(&[5], &[3, 4, 5], PlanRule::SameSource), Err(other));
    assert_eq!(check(&[4], &[4], PlanRule::Lock), Err(PlanFault::OutOfOrder(EventIdx(4))));
    assert_eq!(check(&[4], &[3], PlanRule::Lock), Err(PlanFault::GoalNotLast));
    let early = PlanFault::GoalOutOfOrder(EventIdx(4));
    assert_eq!(check(&[1, 4], &[3, 4], PlanRule::Lock), Err(early));
    assert_eq!(check(&[9], &[3], PlanRule::Lock), Err(PlanFault::NoSuchEvent(EventIdx(9))));
}

#[test]
fn threads_start_and_end() {
    let trace = script("A w(x); A fork(B); B w(x); B w(y); A join(B); A w(z)");
    let check = |goal: u64, plan: &[u64]| {
        check_plan(&trace.events, &zero, &at(&[goal]), &at(plan), PlanRule::Lock)
    };
    assert_eq!(check(2, &[2]), Err(PlanFault::NotForked(EventIdx(2))));
    assert_eq!(check(2, &[0, 1, 2]), Ok(()));
    assert_eq!(check(4, &[0, 1, 2, 4]), Err(PlanFault::JoinsTooEarly(EventIdx(4))));
    assert_eq!(check(5, &[0, 1, 2, 3, 4, 5]), Ok(()));
}
