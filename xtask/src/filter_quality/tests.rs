//! The filters against the exploration of random programs: what is kept must be feasible.

use super::{NAMES, SIMULATION, Tally, measure};
use untorn_testkit::programs::ProgramKnobs;

fn check(tally: &Tally, recall: f64) {
    assert_eq!(tally.wrong[SIMULATION], 0, "{tally:?}");
    let reached = tally.recall(SIMULATION);
    assert!(reached >= recall, "recall {reached}: {tally:?}");
    // Plans that keep what was read are feasible.
    assert_eq!((tally.wrong[3], tally.wrong[4], tally.wrong[6]), (0, 0, 0), "{tally:?}");
    // The published filter is not, in either reading: known, and the reason for ours.
    assert!(tally.wrong[1] > 0 && tally.wrong[2] > 0, "{tally:?}");
    assert!(tally.recall(SIMULATION) > tally.recall(4), "{tally:?}");
    assert!(tally.recall(4) > tally.recall(3), "{tally:?}");
}

fn table(tally: &Tally) -> String {
    let rows = NAMES.iter().enumerate().map(|(filter, name)| {
        let recall = tally.recall(filter) * 100.0;
        format!("{name}: {} kept though infeasible, recall {recall:.1} %", tally.wrong[filter])
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn run(knobs: &ProgramKnobs, predictions: u64, slow: u32, recall: f64) -> Tally {
    match measure(knobs, predictions, 7, slow) {
        Ok(tally) => {
            check(&tally, recall);
            tally
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_the_simulation_keeps_is_feasible() {
    run(&ProgramKnobs::default(), 200_000, 12, 0.97);
}

/// Where more depends on values, nothing in the abstraction keeps much more.
#[test]
fn what_it_keeps_of_branchy_programs_is_feasible() {
    let tally = run(&ProgramKnobs::branchy(), 50_000, 24, 0.94);
    assert!(tally.recall(SIMULATION) > tally.recall(6) - 0.02, "{tally:?}");
}

/// Run by `./dev soak`: ten million predictions.
#[test]
#[allow(clippy::print_stdout, reason = "a soak reports what it measured")]
fn soak_filters() {
    if !untorn_testkit::is_soak() {
        return;
    }
    for (knobs, recall) in [(ProgramKnobs::default(), 0.97), (ProgramKnobs::branchy(), 0.94)] {
        let tally = run(&knobs, 5_000_000, 2, recall);
        println!("{} predictions, {} feasible", tally.predictions, tally.feasible);
        println!("{}", table(&tally));
    }
}
