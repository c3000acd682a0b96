use std::collections::BTreeSet;
use std::mem::discriminant;

use super::*;
use crate::oracle::first_violation;
use crate::validity::first_defect;

fn all_knobs() -> [Knobs; 4] {
    [Knobs::small(), Knobs::core(), Knobs::medium(), Knobs::wide()]
}

#[test]
fn traces_are_well_formed() {
    for (knobs, count) in all_knobs().into_iter().zip([20_000, 20_000, 200, 4]) {
        let mut traces = TraceGen::new(knobs);
        for seed in 0..count {
            assert_eq!(first_defect(traces.generate(seed)), None, "seed {seed}");
        }
    }
}

#[test]
fn both_verdicts_are_frequent() {
    for (knobs, count) in all_knobs().into_iter().zip([20_000, 20_000, 500, 20]) {
        let mut traces = TraceGen::new(knobs);
        let violations =
            (0..count).filter(|&seed| first_violation(traces.generate(seed)).is_some()).count();
        let share = violations * 100 / count as usize;
        assert!((20..=80).contains(&share), "{share} % are violations");
    }
}

#[test]
fn every_kind_of_event_occurs() {
    let mut traces = TraceGen::new(Knobs::small());
    let mut kinds = Vec::new();
    let mut shapes = BTreeSet::new();
    for seed in 0..5000 {
        for event in traces.generate(seed) {
            if !kinds.contains(&discriminant(&event.op)) {
                kinds.push(discriminant(&event.op));
            }
            match event.op {
                Op::Read { access, .. } | Op::Write { access, .. } => {
                    shapes.insert(format!("{access:?}"));
                }
                Op::Acquire { hold, .. } | Op::Release { hold, .. } => {
                    shapes.insert(format!("{hold:?}"));
                }
                _ => {}
            }
        }
    }
    assert_eq!(kinds.len(), 16);
    assert_eq!(shapes.len(), 5, "{shapes:?}");
}

#[test]
fn a_seed_means_the_same_trace_for_ever() {
    let mut traces = TraceGen::new(Knobs::small());
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for seed in 0..1000 {
        for byte in crate::show(traces.generate(seed)).bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    assert_eq!(
        hash, 0x09fc_54b4_e2d0_a38a,
        "a changed generator orphans every seed in a bug report: {hash:#x}"
    );
}

#[test]
fn tables_name_every_id() {
    let mut traces = TraceGen::new(Knobs::medium());
    for seed in 0..50 {
        let events = traces.generate(seed);
        let tables = name_tables(events);
        for event in events {
            assert_eq!(tables.threads.get(event.thread), Some(&*format!("T{}", event.thread.0)));
            if event.site != SiteId::NONE {
                assert_eq!(tables.site_text(event.site), event.site.0.to_string());
            }
            if let Op::Begin { label, .. } = event.op
                && label != LabelId::NONE
            {
                assert_eq!(tables.labels.get(label), Some(&*format!("B{}", label.0)));
            }
        }
    }
}
