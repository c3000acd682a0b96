//! Random questions about random traces, and how to compare answers to them.

use untorn_predict::{Answer, At, Goal, History, Reordering, Strength};
use untorn_testkit::{ReorderingRule, Rng, check_reordering, name_tables};
use untorn_trace::{Event, EventIdx, Value, VarId};

pub const STRENGTHS: [(Strength, ReorderingRule); 3] = [
    (Strength::Lock, ReorderingRule::Lock),
    (Strength::Precise, ReorderingRule::SameValue),
    (Strength::Under, ReorderingRule::SameSource),
];

/// Variables of random traces start as 0.
pub fn zero(_: VarId) -> Option<Value> {
    Some(Value(0))
}

pub fn history(events: &[Event]) -> History {
    History::new(events.to_vec(), &name_tables(events)).expect("a short trace")
}

pub fn indices(goal: &[At]) -> Vec<EventIdx> {
    goal.iter().map(|&at| at.into()).collect()
}

pub fn validate(
    events: &[Event],
    goal: &Goal,
    reordering: &Reordering,
    rule: ReorderingRule,
) -> Result<(), String> {
    let (goal, reordering) = (indices(&goal.events), indices(&reordering.steps));
    check_reordering(events, &zero, &goal, &reordering, rule).map_err(|fault| {
        format!("{rule:?}: no reordering for {goal:?}: {fault:?} in {reordering:?}")
    })
}

/// Mostly interrupted blocks (two events of one thread, one of another between them), now and then any
/// events in any order.
pub fn goals(history: &History, rng: &mut Rng, count: u32) -> Vec<Goal> {
    let events = history.len() as u32;
    let any = |rng: &mut Rng| At(rng.below(events));
    let mut goals = Vec::new();
    for _ in 0..count {
        let (a, b, c) = (any(rng), any(rng), any(rng));
        let mine = history.of_thread(history.event(a).thread);
        let other = mine[rng.below(mine.len() as u32) as usize];
        let goal = match rng.below(8) {
            0 => Goal::new(&[a]),
            1 => Goal::new(&[a, b]),
            2 => Goal::new(&[a, b, c]),
            3 => Goal::new(&[a.min(other), b, c, a.max(other)]),
            _ => Goal::new(&[a.min(other), b, a.max(other)]),
        };
        goals.push(goal);
    }
    goals
}

/// An answer against the oracle's.
pub fn compare(
    events: &[Event],
    goal: &Goal,
    rule: ReorderingRule,
    expected: bool,
    answer: &Answer,
) -> Result<(), String> {
    match answer {
        Answer::Feasible(reordering) => validate(events, goal, reordering, rule),
        Answer::Infeasible if expected => {
            Err(format!("{rule:?}: missed a reordering for {goal:?}"))
        }
        _ => Ok(()),
    }
}
