//! AeroDrome against the brute-force oracle: the verdict is exact, the event never too early.

use std::ops::ControlFlow;

use untorn_serializability::aerodrome::AeroDrome;
use untorn_serializability::{Checker, Verdict};
use untorn_testkit::{
    Knobs, Shape, ShapeSource, ShapeSpec, Tear, first_violation, for_random_traces, for_rings,
};
use untorn_trace::{Event, EventIdx, LabelId, Op, SiteId, ThreadId, VarId};

fn verdict(events: &[Event]) -> Verdict {
    let mut checker = AeroDrome::new();
    let mut at = 0;
    // Batches of uneven size: a position must not depend on how the trace is cut.
    for (i, batch) in events.chunks(7).enumerate() {
        assert_eq!(at, i * 7);
        at += batch.len();
        if checker.events(EventIdx(i as u64 * 7), batch).is_break() {
            break;
        }
    }
    checker.finish().verdict
}

fn agrees_with_the_oracle(events: &[Event]) -> Result<(), String> {
    let expected = first_violation(events);
    match (verdict(events), expected) {
        (Verdict::Serializable, None) => Ok(()),
        (Verdict::NotSerializable { at, .. }, Some(first)) if at >= first => Ok(()),
        (said, _) => Err(format!("AeroDrome says {said:?}, the oracle {expected:?}")),
    }
}

#[test]
fn agrees_on_small_traces() {
    for_random_traces(&Knobs::small(), 0..1_000_000, agrees_with_the_oracle);
}

#[test]
fn agrees_on_traces_without_extras() {
    for_random_traces(&Knobs::core(), 5_000_000..5_500_000, agrees_with_the_oracle);
}

#[test]
fn agrees_on_longer_traces() {
    for_random_traces(&Knobs::medium(), 0..8_000, agrees_with_the_oracle);
}

#[test]
fn agrees_on_rings() {
    for_rings(0..1_000_000, agrees_with_the_oracle);
}

#[test]
fn agrees_with_more_threads_than_a_word_has_bits() {
    for_random_traces(&Knobs::wide(), 0..300, agrees_with_the_oracle);
}

/// The second transaction of T1 reads nothing of T0's; only program order makes it depend.
#[test]
fn a_dependence_by_program_order_alone() {
    let event = |thread, op| Event::new(ThreadId(thread), op, SiteId::NONE);
    let begin = Op::begin(LabelId::NONE);
    let end = Op::End { label: LabelId::NONE };
    let (x, y) = (VarId(0), VarId(1));
    let events = [
        event(0, begin),
        event(0, Op::write(x)),
        event(1, begin),
        event(1, Op::read(x)),
        event(1, end),
        event(1, begin),
        event(1, Op::write(y)),
        event(1, end),
        event(0, Op::write(y)),
        event(0, end),
    ];
    let expected = Verdict::NotSerializable { at: EventIdx(8), thread: ThreadId(0) };
    assert_eq!(verdict(&events), expected);
}

#[test]
fn judges_every_shape() {
    for shape in Shape::ALL {
        for threads in [2, 8, 70] {
            for tear in [Tear::Never, Tear::Late] {
                let spec = ShapeSpec { threads, tear, ..ShapeSpec::new(shape, 60_000) };
                let mut checker = AeroDrome::new();
                let mut source = ShapeSource::new(spec).expect("a sound specification");
                let broke = source.by_ref().enumerate().any(|(i, event)| {
                    checker.events(EventIdx(i as u64), &[event]) == ControlFlow::Break(())
                });
                let torn = checker.finish().verdict.is_violation();
                assert_eq!(torn, tear == Tear::Late, "{spec:?}");
                assert_eq!(torn, broke, "{spec:?}: the cycle is noticed where it is closed");
            }
        }
    }
}
