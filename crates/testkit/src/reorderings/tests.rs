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
fn the_observed_order_is_a_reordering_for_each_of_its_events() {
    let mut traces = TraceGen::new(Knobs::planning());
    for seed in 0..2000 {
        let events = traces.generate(seed).to_vec();
        for last in 0..events.len() as u64 {
            let reordering: Vec<_> = (0..=last).map(EventIdx).collect();
            for rule in ReorderingRule::ALL {
                let verdict = check_reordering(&events, &zero, &at(&[last]), &reordering, rule);
                assert_eq!(verdict, Ok(()), "seed {seed}, event {last}\n{}", crate::show(&events));
            }
        }
    }
}

#[test]
fn what_the_search_finds_is_a_reordering() {
    let mut traces = TraceGen::new(Knobs::planning());
    let mut found = [0; 3];
    for seed in 0..3000 {
        let events = traces.generate(seed).to_vec();
        let oracle = ReorderingOracle::new(&events, &zero);
        let count = events.len() as u64;
        if count < 3 {
            continue;
        }
        let goal = at(&[seed % count, (seed / 7) % count, (seed / 31) % count]);
        for (i, rule) in ReorderingRule::ALL.into_iter().enumerate() {
            if let Some(reordering) = oracle.exists_reordering(&goal, rule) {
                found[i] += 1;
                assert_eq!(
                    check_reordering(&events, &zero, &goal, &reordering, rule),
                    Ok(()),
                    "seed {seed}"
                );
            }
        }
    }
    assert!(found[0] >= found[1] && found[1] >= found[2] && found[2] > 200, "{found:?}");
}

#[test]
fn each_rule_is_broken_by_some_sequence() {
    let trace = script("A acq(L); A w(x); A rel(L); B acq(L); B r(x); B w(y); B rel(L)");
    let check = |goal: &[u64], reordering: &[u64], rule| {
        check_reordering(&trace.events, &zero, &at(goal), &at(reordering), rule)
    };
    let held = ReorderingFault::LockHeld(EventIdx(3), LockId(0));
    assert_eq!(check(&[4], &[0, 3, 4], ReorderingRule::Lock), Err(held));
    assert_eq!(check(&[4], &[3, 4], ReorderingRule::Lock), Ok(()));
    assert_eq!(check(&[4], &[3, 4], ReorderingRule::SameSource), Ok(()), "nothing depends on it");
    let other = ReorderingFault::ReadsOther(EventIdx(4));
    assert_eq!(check(&[5], &[3, 4, 5], ReorderingRule::SameSource), Err(other));
    assert_eq!(
        check(&[4], &[4], ReorderingRule::Lock),
        Err(ReorderingFault::OutOfOrder(EventIdx(4)))
    );
    assert_eq!(check(&[4], &[3], ReorderingRule::Lock), Err(ReorderingFault::GoalNotLast));
    let early = ReorderingFault::GoalOutOfOrder(EventIdx(4));
    assert_eq!(check(&[1, 4], &[3, 4], ReorderingRule::Lock), Err(early));
    assert_eq!(
        check(&[9], &[3], ReorderingRule::Lock),
        Err(ReorderingFault::NoSuchEvent(EventIdx(9)))
    );
}

#[test]
fn threads_start_and_end() {
    let trace = script("A w(x); A fork(B); B w(x); B w(y); A join(B); A w(z)");
    let check = |goal: u64, reordering: &[u64]| {
        check_reordering(&trace.events, &zero, &at(&[goal]), &at(reordering), ReorderingRule::Lock)
    };
    assert_eq!(check(2, &[2]), Err(ReorderingFault::NotForked(EventIdx(2))));
    assert_eq!(check(2, &[0, 1, 2]), Ok(()));
    assert_eq!(check(4, &[0, 1, 2, 4]), Err(ReorderingFault::JoinsTooEarly(EventIdx(4))));
    assert_eq!(check(5, &[0, 1, 2, 3, 4, 5]), Ok(()));
}
