//! The examples of the papers.

use crate::common::validate;
use untorn_predict::planner::{Planner, PlannerBudget};
use untorn_predict::precise::Precise;
use untorn_predict::sat::{Budget, Sat};
use untorn_predict::{Answer, At, Engine, Goal, History, Reordering, Strength};
use untorn_testkit::{ReorderingRule, name_tables};
use untorn_trace::{Event, Op, SiteId, ThreadId, Value, VarId};

/// `1 r x 0` a step: thread, operation, variable, value. Variables start as 0.
fn trace(steps: &[&str]) -> Vec<Event> {
    let event = |step: &&str| {
        let words: Vec<&str> = step.split(' ').collect();
        let thread = ThreadId(words[0].parse().expect("a thread"));
        let var = VarId(u32::from(words[2].as_bytes()[0] - b'a'));
        let value = Value(words[3].parse().expect("a value"));
        let op = if words[1] == "r" { Op::read(var) } else { Op::write(var) };
        Event::new(thread, op.with_value(value), SiteId::NONE)
    };
    steps.iter().map(event).collect()
}

/// The common answer of all engines; reorderings are validated.
fn answer(events: &[Event], strength: Strength, goal: &[u32]) -> Option<Reordering> {
    let rule = match strength {
        Strength::Lock | Strength::Filtered => ReorderingRule::Lock,
        Strength::Precise => ReorderingRule::SameValue,
        Strength::Under => ReorderingRule::SameSource,
    };
    let history = History::new(events.to_vec(), &name_tables(events)).expect("short");
    let goal = Goal::new(&goal.iter().map(|&at| At(at)).collect::<Vec<_>>());
    let answers = [
        Precise::new(&history, strength, Budget::default()).decide(&goal),
        Sat::new(&history, strength, Budget::default()).decide(&goal),
        Planner::new(&history, strength, PlannerBudget::default()).decide(&goal),
    ];
    let feasible = answers.each_ref().map(|answer| match answer {
        Answer::Feasible(reordering) => {
            validate(events, &goal, reordering, rule).expect("a reordering");
            true
        }
        Answer::Infeasible => false,
        Answer::Undecided(why) => panic!("undecided: {why:?}"),
    });
    assert!(feasible.iter().all(|&f| f == feasible[0]), "{answers:?}");
    let [_, _, planned] = answers;
    if let Answer::Feasible(reordering) = planned { Some(reordering) } else { None }
}

/// The planning paper, Figure 1: T2 writes x only if it finds the flag that T1 sets in its block.
#[test]
fn planning_figure_1() {
    let events = trace(&["1 r x 0", "1 w f 1", "1 r x 0", "2 r f 1", "2 w x 5"]);
    let goal = [0, 4, 2];
    let reordering = answer(&events, Strength::Precise, &goal).expect("feasible");
    assert_eq!(
        reordering.steps,
        [0, 1, 3, 4, 2].map(At),
        "the paper's plan, and then the third event"
    );
    // Without the flag in time there is a lock-valid reordering, which the program cannot follow.
    let events = trace(&["1 r x 0", "1 r x 0", "1 w f 1", "2 r f 1", "2 w x 5"]);
    assert!(answer(&events, Strength::Lock, &[0, 4, 1]).is_some());
    assert!(answer(&events, Strength::Precise, &[0, 4, 1]).is_none());
}

/// AVFilter, Table 1: observed, the goal, feasible with the values as written, and with reads that
/// keep their source. Every write writes something new.
#[test]
fn avfilter_table_1() {
    let rows: [(&[&str], [u32; 3], bool); 10] = [
        (&["1 r x 0", "1 r x 0", "2 w x 1"], [0, 2, 1], true),
        (&["1 r x 0", "1 w x 1", "2 w x 2"], [0, 2, 1], true),
        (&["1 w x 1", "1 w x 2", "2 w x 3"], [0, 2, 1], true),
        (&["2 r x 0", "1 w x 1", "1 w x 2"], [1, 0, 2], true),
        (&["2 w x 1", "1 w x 2", "1 w x 3"], [1, 0, 2], true),
        // The paper's "missed" ones. What the last event of a thread reads constrains nothing …
        (&["1 w x 1", "1 r x 1", "2 w x 2"], [0, 2, 1], true),
        (&["1 w x 1", "1 w x 2", "2 r x 2"], [0, 2, 1], true),
        // … but T1 continues after its first read, which T2's write must not feed any more.
        (&["2 w x 1", "1 r x 1", "1 r x 1"], [1, 0, 2], false),
        (&["2 w x 1", "1 w x 2", "1 r x 2"], [1, 0, 2], true),
        (&["2 w x 1", "1 r x 1", "1 w x 2"], [1, 0, 2], false),
    ];
    for (steps, goal, feasible) in rows {
        let events = trace(steps);
        assert!(answer(&events, Strength::Lock, &goal).is_some(), "{steps:?}");
        for strength in [Strength::Precise, Strength::Under] {
            assert_eq!(answer(&events, strength, &goal).is_some(), feasible, "{steps:?}");
        }
    }
    // With T2 writing what was there anyway, the two are feasible by value, though not by source.
    for steps in [["2 w x 0", "1 r x 0", "1 r x 0"], ["2 w x 0", "1 r x 0", "1 w x 2"]] {
        let events = trace(&steps);
        assert!(answer(&events, Strength::Precise, &[1, 0, 2]).is_some());
        assert!(answer(&events, Strength::Under, &[1, 0, 2]).is_none());
    }
}

/// AVFilter, Figure 2, from Apache's queue: T2 touches the item only because of the index that T1 wrote
/// after it.
#[test]
fn avfilter_apache_queue() {
    let steps = ["1 r i 0", "1 w i 7", "1 w n 1", "2 r n 1", "2 r n 1", "2 w i 9"];
    let events = trace(&steps);
    assert!(answer(&events, Strength::Lock, &[0, 5, 1]).is_some());
    assert!(answer(&events, Strength::Precise, &[0, 5, 1]).is_none());
}

/// AVFilter, Figure 6: T1 continues only because of what T2 wrote first.
#[test]
fn avfilter_local_dependency() {
    let events = trace(&["2 w x 1", "1 r x 1", "1 w x 2"]);
    assert!(answer(&events, Strength::Lock, &[1, 0, 2]).is_some());
    assert!(answer(&events, Strength::Precise, &[1, 0, 2]).is_none());
}
