use untorn_trace::shapes::TEAR_ROOM;
use untorn_trace::{Event, Op, Source, ThreadId};

use super::*;
use crate::oracle::{conflict, first_violation, transactions};
use crate::validity::first_defect;

fn events_of(spec: ShapeSpec) -> Vec<Event> {
    ShapeSource::new(spec).expect("a sound specification").collect()
}

fn specs(events: u64) -> impl Iterator<Item = ShapeSpec> {
    Shape::ALL.into_iter().flat_map(move |shape| {
        [1, 2, 3, 8, 70].into_iter().map(move |threads| ShapeSpec {
            threads,
            seed: u64::from(threads),
            ..ShapeSpec::new(shape, events)
        })
    })
}

#[test]
fn shapes_are_well_formed_and_serializable() {
    for spec in specs(1200) {
        let events = events_of(spec);
        assert_eq!(events.len(), 1200, "{spec:?}");
        assert_eq!(first_defect(&events), None, "{spec:?}");
        assert_eq!(first_violation(&events), None, "{spec:?}");
    }
}

#[test]
fn a_tear_is_a_violation_where_it_was_asked_for() {
    for spec in specs(1200).filter(|spec| spec.threads > 1) {
        for (tear, from) in [(Tear::Late, 1140), (Tear::At(300), 300)] {
            let events = events_of(ShapeSpec { tear, ..spec });
            assert_eq!(events.len(), 1200);
            assert_eq!(first_defect(&events), None, "{spec:?}");
            let at = first_violation(&events).expect("a cycle").0;
            assert!((from..from + TEAR_ROOM).contains(&at), "{spec:?}: {at}");
        }
    }
}

#[test]
fn transactions_overlap() {
    for spec in specs(3000).filter(|spec| spec.threads == 8) {
        let events = events_of(spec);
        let (mut open, mut overlaps) = ([0_u32; 8], 0);
        for event in &events {
            match event.op {
                Op::Begin { .. } => open[event.thread.index()] += 1,
                Op::End { .. } => open[event.thread.index()] -= 1,
                _ => {}
            }
            overlaps += usize::from(open.iter().filter(|&&depth| depth > 0).count() > 2);
        }
        assert!(overlaps * 2 > events.len(), "{spec:?}: {overlaps}");
    }
}

/// `hold` is what it claims to be: nearly every later transaction depends on the long block.
#[test]
fn everything_depends_on_the_long_block() {
    let events = events_of(ShapeSpec::new(Shape::Hold, 2000));
    let transaction = transactions(&events);
    let long = transaction[20].expect("an operation of the long block");
    let blocks = events.iter().enumerate().filter(|(i, e)| {
        e.thread != ThreadId(0) && matches!(e.op, Op::Begin { .. }) && {
            transaction[*i] == Some(untorn_trace::EventIdx(*i as u64))
        }
    });
    let (mut dependent, mut all) = (0, 0);
    for (begin, _) in blocks.filter(|(begin, _)| *begin < 1500) {
        all += 1;
        let mine = (begin..events.len()).filter(|&j| transaction[j] == transaction[begin]);
        let mut edges = mine.flat_map(|j| (0..j).map(move |i| (i, j)));
        dependent += usize::from(
            edges.any(|(i, j)| transaction[i] == Some(long) && conflict(&events[i], &events[j])),
        );
    }
    assert!(all > 50 && dependent * 10 >= all * 9, "{dependent} of {all}");
}

#[test]
fn a_mix_has_the_tables_it_promises() {
    let source = ShapeSource::new(ShapeSpec::new(Shape::Mix, 200_000)).expect("sound");
    let tables = source.tables().clone();
    assert!((200..=400).contains(&tables.sites.len()), "{} sites", tables.sites.len());
    assert!((1000..=1300).contains(&tables.vars.len()), "{} variables", tables.vars.len());
    assert_eq!(tables.locks.len(), 64);
    assert!(tables.labels.iter().any(|label| label == "Shop.order"));
    let (mut switches, mut last) = (0, ThreadId(0));
    for event in source {
        assert!(tables.sites.get(event.site).is_some());
        assert!(tables.threads.get(event.thread).is_some());
        if let Op::Read { var, .. } | Op::Write { var, .. } = event.op {
            assert!(tables.vars.get(var).is_some());
        }
        switches += usize::from(event.thread != last);
        last = event.thread;
    }
    assert!((50_000..=90_000).contains(&switches), "{switches} switches in 200 000 events");
}

#[test]
fn reading_in_batches_gives_the_same_events() {
    let spec = ShapeSpec { tear: Tear::Late, ..ShapeSpec::new(Shape::Mix, 10_000) };
    let mut source = ShapeSource::new(spec).expect("sound");
    let trace = untorn_trace::Trace::read(&mut source).expect("never fails");
    assert_eq!(trace.events, events_of(spec));
}

#[test]
fn impossible_wishes_are_refused() {
    let spec = ShapeSpec::new(Shape::Mix, 100);
    let refused = |spec| ShapeSource::new(spec).err();
    assert_eq!(refused(ShapeSpec { threads: 0, ..spec }), Some(ShapeError::NoThreads));
    let lonely = ShapeSpec { threads: 1, tear: Tear::Late, ..spec };
    assert_eq!(refused(lonely), Some(ShapeError::LonelyTear));
    let late = ShapeSpec { tear: Tear::At(90), ..spec };
    assert_eq!(refused(late), Some(ShapeError::TooShort { needed: 122 }));
    assert_eq!("mix".parse(), Ok(Shape::Mix));
    assert_eq!("nix".parse::<Shape>(), Err(ShapeError::UnknownShape));
}
