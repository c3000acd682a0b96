//! Shows that the random tests would notice each mistake this algorithm invites.

use untorn_testkit::{Knobs, RingGen, TraceGen, first_violation};

use super::*;

/// Whether a possibly broken engine contradicts the oracle.
fn is_wrong<F: Fault + Default>(events: &[Event]) -> bool {
    let mut engine = Engine::<F>::default();
    engine.finished.places_a_clock = usize::MAX; // sweeps as often as it can
    let _ = engine.events(EventIdx(0), events);
    engine.finish().verdict.is_violation() != first_violation(events).is_some()
}

/// The traces that every engine has to face: random ones and rings, alternating.
fn first_wrong_seed<F: Fault + Default>(seeds: u64) -> Option<u64> {
    let mut traces = TraceGen::new(Knobs::small());
    let mut rings = RingGen::new();
    (0..seeds).find(|&s| is_wrong::<F>(traces.generate(s)) || is_wrong::<F>(rings.generate(s)))
}

macro_rules! faults {
    ($($test:ident: $fault:ident, $seeds:literal;)*) => {$(
        #[test]
        fn $test() {
            #[derive(Debug, Default)]
            struct Broken;
            impl Fault for Broken {
                const $fault: bool = true;
            }
            assert!(first_wrong_seed::<Broken>($seeds).is_some());
        }
    )*};
}

faults! {
    threads_must_hear_of_an_end: THREADS_MISS_THE_END, 100_000;
    finished_clocks_must_hear_of_an_end: FINISHED_MISS_THE_END, 100_000;
    what_a_finished_clock_gains_is_registered: GAINS_ARE_NOT_REGISTERED, 100_000;
    only_the_outermost_end_ends: INNER_END_ENDS, 100_000;
    operations_outside_stand_alone: OUTSIDE_MELTS, 100_000;
    a_child_that_never_ran_is_no_path: FORK_REACHES_AT_ONCE, 100_000;
    what_never_ends_counts: OPEN_ONES_NEVER_END, 100_000;
    a_clock_that_grew_is_not_reused: STALE_TAIL, 100_000;
    finished_reads_count: FINISHED_READS_ARE_LOST, 100_000;
    shared_sides_do_not_conflict: SHARED_HOLD_IS_A_WRITE, 100_000;
}

#[test]
fn the_sound_engine_is_never_wrong() {
    assert_eq!(first_wrong_seed::<Sound>(100_000), None);
    let mut longer = TraceGen::new(Knobs::medium());
    assert_eq!((0..2_000).find(|&seed| is_wrong::<Sound>(longer.generate(seed))), None);
}

/// A long-running transaction on which everything depends must not make memory grow with the trace.
#[test]
fn finished_clocks_are_collected() {
    use untorn_testkit::{Shape, ShapeSource, ShapeSpec};
    let mut engine = Engine::<Sound>::default();
    let source = ShapeSource::new(ShapeSpec::new(Shape::Hold, 400_000)).expect("sound");
    for (i, event) in source.enumerate() {
        assert_eq!(engine.events(EventIdx(i as u64), &[event]), ControlFlow::Continue(()));
    }
    let places = engine.vars.len() + engine.locks.len();
    assert!(engine.finished.slots() <= 6 * places, "{} slots", engine.finished.slots());
    let listed: usize = engine.threads.iter().map(|thread| thread.dependents.len()).sum();
    assert!(listed <= 2 * engine.finished.slots(), "{listed} dependents");
    assert_eq!(engine.finish().verdict, Verdict::Serializable);
}
