//! The budget is used, or its early end is justified by a number; and no plan is followed twice.

use std::collections::HashSet;

use untorn_explore::Options;
use untorn_schedule::Steering;

use crate::harness::{Folder, explore, explore_in, explore_with, options, program, two};

fn add(var: &str) -> String {
    format!("call C.add\nread {var} r\nadd r 1\nwrite {var} r\nreturn C.add\n")
}

#[test]
fn an_early_end_has_its_reason() {
    let outcome = explore(&two("x = 0", &add("x"), &add("x")));
    let end = outcome.saturation.expect("two threads and one variable are soon explored");
    assert!(end.streak >= 100 && end.chance <= 0.01, "{end:?}");
    assert!(outcome.conflict_orders > 1);
}

#[test]
fn what_has_nothing_in_common_is_not_explored_for_long() {
    let outcome = explore(&two("x = 0\ny = 0", &add("x"), &add("y")));
    assert!(outcome.runs < 30, "{} runs", outcome.runs);
    assert!(outcome.saturation.is_some());
}

#[test]
fn runs_are_made_as_long_as_there_is_something_new() {
    // Six increments in each thread: hundreds of orders.
    let many = add("x").repeat(6);
    let runs = 300;
    let outcome = explore_with(&two("x = 0", &many, &many), Options { runs, ..options() });
    assert_eq!(outcome.runs, runs);
    assert!(outcome.saturation.is_none());
    assert!(outcome.conflict_orders > 100, "{}", outcome.conflict_orders);
}

#[test]
fn no_plan_is_followed_twice() {
    let many = add("x") + &add("y") + "read z r\nwrite z 1\n";
    let folder = Folder::new();
    let mut front_end = program(&two("x = 0\ny = 0\nz = 0", &many, &many));
    let options = Options { runs: 400, ..options() };
    explore_in(&folder, &mut front_end, options).expect("it runs");
    let mut plans = HashSet::new();
    for spec in &front_end.runs {
        if let Steering::Plan { plan, .. } = &spec.steering {
            assert!(plans.insert(plan.to_string()), "{plan}");
        }
    }
}

#[test]
fn another_seed_makes_other_runs() {
    let seeds = |seed: u64| {
        let folder = Folder::new();
        let many = add("x").repeat(4);
        let mut front_end = program(&two("x = 0", &many, &many));
        let options = Options { runs: 40, seed, ..options() };
        explore_in(&folder, &mut front_end, options).expect("it runs");
        let undirected = front_end.runs.iter().skip(3);
        let undirected = undirected.filter(|spec| spec.steering.as_plan().is_none());
        undirected.map(|spec| spec.seed).collect::<HashSet<u64>>()
    };
    assert!(seeds(1).is_disjoint(&seeds(2)));
}

#[test]
fn undirected_runs_alternate_with_directed_ones() {
    // Reads that nobody compares: many candidates, none of them a violation.
    let body: String =
        (0..12).map(|n| format!("read v{n} r\nwrite v{n} 1\nread v{n} r\n")).collect();
    let block = format!("call C.work\n{body}return C.work");
    let variables: String = (0..12).map(|n| format!("v{n} = 0\n")).collect();
    let folder = Folder::new();
    let mut front_end = program(&two(&variables, &block, &block));
    let options = Options { runs: 60, ..options() };
    explore_in(&folder, &mut front_end, options).expect("it runs");
    let directed = front_end.runs.iter().filter(|spec| spec.steering.as_plan().is_some()).count();
    let undirected = front_end.runs.len() - directed;
    assert!(directed >= 10 && undirected >= 10, "{directed} and {undirected}");
}
