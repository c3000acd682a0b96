//! Confirmation against brute force, on random traces; and how much each stage decides.

use untorn_confirm::{Confirmation, Method, Options, Stage, ValueVerdict, confirm};
use untorn_testkit::{
    Truth, ValuedKnobs, check_serial_order, show, shrink_well_formed, value_atomic, valued,
};
use untorn_trace::{Event, EventIdx, Tables};

/// How many traces: `./dev soak` runs fifty times as many.
fn rounds(usual: u64) -> u64 {
    untorn_testkit::cases(usual, usual * 50)
}

/// Whether the answer is right, and its evidence holds.
fn judge(
    events: &[Event],
    tables: &Tables,
    truth: Truth,
    found: &Confirmation,
) -> Result<(), String> {
    match (&found.verdict, truth) {
        (ValueVerdict::Atomic(order), Truth::Atomic) => {
            let order: Vec<EventIdx> = order.blocks.iter().map(|block| block.first).collect();
            check_serial_order(events, tables, &order).map_err(|fault| format!("{fault:?}"))
        }
        (ValueVerdict::NotAtomic(_), Truth::NotAtomic) => Ok(()),
        (ValueVerdict::Undecided(_), Truth::Open) => Ok(()),
        // Unknown values may hide a violation, but only they.
        (ValueVerdict::Undecided(why), Truth::NotAtomic) if why.kind() == "unknown-values" => {
            Ok(())
        }
        (verdict, _) => Err(format!("{truth:?}, but {verdict:?} by {:?}", found.stage)),
    }
}

fn check(
    events: &[Event],
    tables: &Tables,
    options: &Options,
) -> Result<Option<(Truth, Stage)>, String> {
    let truth = value_atomic(events, tables);
    if truth == Truth::TooLarge {
        return Ok(None);
    }
    let found = confirm(events, tables, options);
    judge(events, tables, truth, &found)?;
    Ok(Some((truth, found.stage)))
}

fn for_seeds(knobs: &ValuedKnobs, seeds: std::ops::Range<u64>, options: &Options) -> [[u64; 8]; 3] {
    let mut stages = [[0; 8]; 3];
    for seed in seeds {
        let (events, tables) = valued(knobs, seed);
        match check(&events, &tables, options) {
            Ok(None) => {}
            Ok(Some((truth, stage))) => stages[truth as usize][stage as usize] += 1,
            Err(error) => {
                let small =
                    shrink_well_formed(&events, |part| check(part, &tables, options).is_err());
                let again = check(&small, &tables, options);
                panic!("seed {seed}: {error}\nshrunk: {again:?}\n{}", show(&small));
            }
        }
    }
    stages
}

#[test]
fn soak_confirm_agrees_with_brute_force() {
    let stages = for_seeds(&ValuedKnobs::small(), 0..rounds(200_000), &Options::default());
    // Every stage must have had something to do, or the traces test too little.
    for stage in [Stage::OwnRead, Stage::Saturation, Stage::Probing] {
        assert!(stages[1][stage as usize] > 0, "{stage:?} refuted nothing");
    }
    for stage in [Stage::Conflicts, Stage::Serialiser] {
        assert!(stages[0][stage as usize] > 0, "{stage:?} proved nothing");
    }
}

#[test]
fn soak_confirm_agrees_with_brute_force_when_all_values_are_known() {
    let knobs = ValuedKnobs {
        threads: 5,
        vars: 3,
        blocks: 14,
        accesses: 3,
        values: 3,
        ..ValuedKnobs::known()
    };
    let stages = for_seeds(&knobs, 1 << 40..(1 << 40) + rounds(50_000), &Options::default());
    assert_eq!(stages[2], [0; 8]);
}

#[test]
fn each_method_alone_is_never_wrong() {
    for method in [Method::OwnRead, Method::Saturation, Method::Serialiser, Method::Exact] {
        let options = Options { method, ..Options::default() };
        for seed in 0..20_000 {
            let (events, tables) = valued(&ValuedKnobs::small(), seed);
            let truth = value_atomic(&events, &tables);
            let found = confirm(&events, &tables, &options);
            if truth != Truth::TooLarge && !matches!(found.verdict, ValueVerdict::Undecided(_)) {
                judge(&events, &tables, truth, &found)
                    .unwrap_or_else(|e| panic!("{seed}: {e}\n{}", show(&events)));
            }
        }
    }
}
