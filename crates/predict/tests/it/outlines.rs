//! What is said of an outline is what its reordering says when it is written down.

use crate::common::{STRENGTHS, goals, history};
use untorn_predict::candidates::TwoVariableCandidate;
use untorn_predict::closure::{Closure, ClosureAnswer};
use untorn_predict::lock_valid::{LockValid, LockValidAnswer};
use untorn_predict::{At, Goal, History, HistoryIndex, Outline, Reordering};
use untorn_testkit::{Knobs, Rng, for_random_traces, name_tables};
use untorn_trace::reordering::{Outline as Shown, OutlineChecker, ReorderingFacts, ReorderingRule};
use untorn_trace::{Event, EventIdx, Op, VarId};

fn agrees(history: &History, outline: &Outline) -> Result<(), String> {
    let steps = outline.reordering(history).steps;
    let kept = steps.iter().zip(0..).take_while(|(at, place)| at.0 == *place).count();
    let same = outline.len() == steps.len()
        && outline.kept(history) as usize == kept
        && outline.changed(history) == steps[kept..]
        && Outline::of(history, Reordering { steps: steps.clone() }).changed(history)
            == steps[kept..];
    for event in history.all() {
        if TwoVariableCandidate::is_pending(history, outline, event)
            != is_pending(history, &steps, event)
        {
            return Err(format!("pending {event:?} after {steps:?}"));
        }
    }
    if same { Ok(()) } else { Err(format!("{outline:?} is not {steps:?}")) }
}

/// The definition of [`TwoVariableCandidate::is_pending`], step by step.
fn is_pending(history: &History, steps: &[At], event: At) -> bool {
    let thread = history.event(event).thread;
    let mut memory = vec![None; history.var_count()];
    let mut last = None;
    for &at in steps {
        if history.event(at).thread == thread {
            last = Some((at, memory.clone()));
        }
        if let Op::Write { var, .. } = history.event(at).op {
            memory[var.index()] = Some(at);
        }
    }
    let Some((last, memory)) = last else { return true };
    let Op::Read { var, .. } = history.event(last).op else { return last < event };
    let value = |write: Option<At>| match write {
        Some(write) => history.event(write).value(),
        None => history.initial(var),
    };
    let first = (0..last.0)
        .rev()
        .map(At)
        .find(|&at| matches!(history.event(at).op, Op::Write { var: other, .. } if other == var));
    let now = memory[var.index()];
    let same = value(now).is_some() && value(now) == history.event(last).value();
    last < event && (same || now == first)
}

/// What the engines hand out; returns how many, and shows them to the validator, which needs no walk.
fn check(events: &[Event], rng: &mut Rng, shown: &mut u64) -> Result<(), String> {
    if events.is_empty() {
        return Ok(());
    }
    let history = history(events);
    let tables = name_tables(events);
    let initial = |var: VarId| tables.var_facts(var).initial();
    let whole = ReorderingFacts::new(events, &initial);
    let mut checker = OutlineChecker::new(&whole);
    let facts = HistoryIndex::new(&history);
    let mut locks = LockValid::new(&facts);
    for (strength, rule) in STRENGTHS {
        let closure = Closure::new(&history, strength);
        for goal in goals(&history, rng, 4) {
            let mut found = Vec::new();
            if let ClosureAnswer::Feasible(outline) = closure.verdict(&goal) {
                found.push((outline, rule));
            }
            if let LockValidAnswer::Feasible(suffix) = locks.verdict(&goal) {
                let outline = suffix.outline(&history);
                if outline.reordering(&history) != suffix.reordering() {
                    return Err(format!("{suffix:?} is not {outline:?}"));
                }
                found.push((outline, ReorderingRule::Lock));
            }
            for (outline, rule) in found {
                agrees(&history, &outline)?;
                show(&mut checker, &goal, &outline, rule)?;
                *shown += 1;
            }
        }
    }
    Ok(())
}

fn show(
    checker: &mut OutlineChecker<'_>,
    goal: &Goal,
    outline: &Outline,
    rule: ReorderingRule,
) -> Result<(), String> {
    let wanted: Vec<EventIdx> = goal.events.iter().map(|&at| at.into()).collect();
    let tail: Vec<EventIdx> = outline.tail().iter().map(|&at| at.into()).collect();
    let before = checker.whole_walks();
    let answer = checker.check(&wanted, Shown { base: outline.base(), tail: &tail }, rule);
    if checker.whole_walks() > before {
        return Err(format!("{rule:?}: {outline:?} for {wanted:?} needs a walk"));
    }
    answer.map_err(|fault| format!("{rule:?}: {fault:?} in {outline:?} for {wanted:?}"))
}

#[test]
fn outlines_say_what_their_reorderings_say() {
    let (mut rng, mut shown) = (Rng::new(1), 0);
    for knobs in [Knobs::planning(), Knobs::small()] {
        let seeds = 0..untorn_testkit::cases(5_000, 300_000);
        for_random_traces(&knobs, seeds, |events| check(events, &mut rng, &mut shown));
    }
    assert!(shown > 10_000, "{shown}");
}
