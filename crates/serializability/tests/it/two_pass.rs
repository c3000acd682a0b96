//! Two passes against the brute-force oracle: what the first pass hides never matters.

use std::ops::ControlFlow;

use untorn_serializability::aerodrome::AeroDrome;
use untorn_serializability::two_pass::{Filtered, SccFilter, Suspects, TwoPass};
use untorn_serializability::{Checker, Outcome, Verdict};
use untorn_testkit::{
    Knobs, Shape, ShapeSource, ShapeSpec, Tear, first_violation, for_random_traces, for_rings,
};
use untorn_trace::{Event, EventIdx, ThreadId};

/// The oracle as a checker: it judges what it is shown, exactly.
#[derive(Default)]
struct Oracle(Vec<Event>);

impl Checker for Oracle {
    fn events(&mut self, first: EventIdx, batch: &[Event]) -> ControlFlow<()> {
        assert_eq!(first.0, self.0.len() as u64, "positions stay those of the whole trace");
        self.0.extend_from_slice(batch);
        ControlFlow::Continue(())
    }

    fn finish(&mut self) -> Outcome {
        Outcome::of(match first_violation(&self.0) {
            Some(at) => Verdict::NotSerializable { at, thread: ThreadId(0) },
            None => Verdict::Serializable,
        })
    }
}

fn suspects_of(events: &[Event]) -> (Suspects, Verdict) {
    let mut filter = SccFilter::new();
    assert!(filter.events(EventIdx(0), events).is_continue());
    let outcome = filter.finish();
    (filter.suspects(), outcome.verdict)
}

/// The filtered trace has the same first violation; without suspects there is none.
fn hides_nothing_that_matters(events: &[Event]) -> Result<(), String> {
    let expected = first_violation(events);
    let (suspects, verdict) = suspects_of(events);
    if suspects.is_empty() != (verdict == Verdict::Serializable) {
        return Err(format!("{verdict:?} with {suspects:?}"));
    }
    if expected.is_none() && suspects.is_empty() {
        return Ok(());
    }
    let mut filtered = Filtered::new(Oracle::default(), suspects);
    let _ = filtered.events(EventIdx(0), events);
    let found = match filtered.finish().verdict {
        Verdict::NotSerializable { at, .. } => Some(at),
        _ => None,
    };
    if found == expected {
        Ok(())
    } else {
        Err(format!("first violation at {expected:?}, after filtering at {found:?}"))
    }
}

#[test]
fn hides_nothing_in_small_traces() {
    for_random_traces(&Knobs::small(), 0..1_000_000, hides_nothing_that_matters);
}

#[test]
fn hides_nothing_in_rings() {
    for_rings(0..1_000_000, hides_nothing_that_matters);
}

#[test]
fn hides_nothing_in_longer_traces() {
    for_random_traces(&Knobs::medium(), 0..5_000, hides_nothing_that_matters);
    for_random_traces(&Knobs::wide(), 0..200, hides_nothing_that_matters);
}

#[test]
fn acquits_well_locked_programs_at_once() {
    for shape in [Shape::Mix, Shape::Small, Shape::Large, Shape::Local, Shape::ManyVars] {
        let open = || Ok(ShapeSource::new(ShapeSpec::new(shape, 200_000)).expect("sound"));
        let (outcome, suspects) = TwoPass::new(AeroDrome::new()).run(open).expect("no i/o");
        assert_eq!(outcome.verdict, Verdict::Serializable);
        assert!(suspects.is_empty(), "{shape:?}");
    }
}

#[test]
fn the_second_pass_decides_what_the_first_one_suspects() {
    for shape in Shape::ALL {
        for tear in [Tear::Never, Tear::Late] {
            let spec = ShapeSpec { tear, ..ShapeSpec::new(shape, 50_000) };
            let open = || Ok(ShapeSource::new(spec).expect("sound"));
            let (outcome, _) = TwoPass::new(AeroDrome::new()).run(open).expect("no i/o");
            assert_eq!(outcome.verdict.is_violation(), tear == Tear::Late, "{spec:?}");
        }
    }
}

#[test]
fn a_late_tear_leaves_little_to_look_at() {
    let spec = ShapeSpec { tear: Tear::Late, ..ShapeSpec::new(Shape::Mix, 200_000) };
    let events: Vec<Event> = ShapeSource::new(spec).expect("sound").collect();
    let (suspects, _) = suspects_of(&events);
    let causes = suspects.causes();
    assert!(causes.len() < 100, "{} of 1200 places are suspicious", causes.len());
    let mut filtered = Filtered::new(AeroDrome::new(), suspects);
    let _ = filtered.events(EventIdx(0), &events);
    assert!(filtered.finish().verdict.is_violation());
    assert!(filtered.kept() < 60_000, "{} operations kept", filtered.kept());
}
