//! The streaming validator against the naive definition of a well-formed trace.

use untorn_testkit::{Defect as Expected, Knobs, Rng, TraceGen, first_defect, script, show};
use untorn_trace::validate::{DefectKind, Validator};
use untorn_trace::{Event, EventIdx};

fn validate(events: &[Event]) -> Validator {
    let mut validator = Validator::new();
    for (i, chunk) in events.chunks(5).enumerate() {
        validator.events(EventIdx(i as u64 * 5), chunk);
    }
    validator
}

/// What the oracle calls the defect.
fn expected_kind(kind: DefectKind) -> &'static [Expected] {
    match kind {
        DefectKind::ReleaseWithoutAcquire { .. } => &[Expected::ReleaseWithoutHold],
        DefectKind::LockHeldByOther { .. } => &[Expected::HeldTwice],
        DefectKind::WaitWithoutHolding { .. } => &[Expected::WaitWithoutHold],
        DefectKind::ResumeWithoutWait { .. } => &[Expected::ResumeWithoutWait],
        DefectKind::EventWhileWaiting { .. } => &[Expected::ActsWhileWaiting],
        DefectKind::EndWithoutBegin => &[Expected::EndWithoutBegin],
        DefectKind::EndOfOtherBlock { .. } => &[Expected::EndOfOtherBlock],
        DefectKind::EventAfterJoin => &[Expected::AfterJoin],
        DefectKind::ForkOfRunningThread { .. } => &[Expected::ForkedTwice, Expected::ForkedLate],
        DefectKind::ForkOrJoinOfItself => &[Expected::Itself],
    }
}

#[test]
fn well_formed_traces_have_no_defect() {
    let mut traces = TraceGen::new(Knobs::medium());
    for seed in 0..5_000 {
        let events = traces.generate(seed);
        assert_eq!(validate(events).defects(), [], "seed {seed}:\n{}", show(events));
    }
}

#[test]
fn the_first_defect_of_a_spoilt_trace_is_that_of_the_definition() {
    let mut traces = TraceGen::new(Knobs::small());
    let mut defects = 0;
    for seed in 0..300_000 {
        let mut events = traces.generate(seed).to_vec();
        spoil(&mut events, &mut Rng::new(seed));
        let found = validate(&events).defects().first().map(|defect| (defect.at, defect.kind));
        let expected = first_defect(&events);
        let same = match (found, expected) {
            (None, None) => true,
            (Some((at, kind)), Some((where_expected, what))) => {
                defects += 1;
                at == where_expected && expected_kind(kind).contains(&what)
            }
            _ => false,
        };
        assert!(same, "seed {seed}: {found:?} instead of {expected:?}\n{}", show(&events));
    }
    assert!(defects > 40_000, "spoiling spoils: {defects}");
}

#[test]
fn a_batch_may_end_anywhere() {
    let mut traces = TraceGen::new(Knobs { events: 300..=900, ..Knobs::medium() });
    for seed in 0..3_000 {
        let mut events = traces.generate(seed).to_vec();
        spoil(&mut events, &mut Rng::new(seed));
        let mut whole = Validator::new();
        whole.events(EventIdx(0), &events);
        let pieces = validate(&events);
        assert_eq!(whole.count(), pieces.count(), "seed {seed}");
        assert_eq!(whole.defects(), pieces.defects(), "seed {seed}");
    }
}

/// Deletes, moves or retargets a few events.
fn spoil(events: &mut Vec<Event>, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        if events.len() < 2 {
            return;
        }
        let at = rng.below(events.len() as u32) as usize;
        match rng.below(4) {
            0 => drop(events.remove(at)),
            1 => {
                let other = rng.below(events.len() as u32) as usize;
                events.swap(at, other);
            }
            2 => events[at].thread = events[rng.below(events.len() as u32) as usize].thread,
            _ => events[at].op = events[rng.below(events.len() as u32) as usize].op,
        }
    }
}

#[test]
fn defects_read_well() {
    let words = |text: &str| {
        let trace = script(text);
        let validator = validate(&trace.events);
        assert_eq!(validator.count(), 1, "{text}");
        validator.defects()[0].describe(&trace.tables)
    };
    let cases = [
        ("T0 rel(m)", "event 0: T0 releases m, which it does not hold"),
        ("T0 acq(m); T1 acq(m)", "event 1: T1 acquires m, which T0 holds"),
        ("T0 acqs(m); T1 acq(m)", "event 1: T1 acquires m, which T0 holds"),
        ("T0 wait(m)", "event 0: T0 waits on m without holding it"),
        ("T0 resume(m)", "event 0: T0 resumes on m, on which it does not wait"),
        ("T0 acq(m); T0 wait(m); T0 r(x)", "event 2: T0 runs while it waits on m"),
        ("T0 end", "event 0: T0 ends a block that it has not begun"),
        ("T0 begin A; T0 end B", "event 1: T0 ends B inside of A"),
        ("T0 fork(T1); T0 join(T1); T1 r(x)", "event 2: T1 runs after it was joined"),
        ("T1 r(x); T0 fork(T1)", "event 1: T0 forks T1, which has run already"),
        ("T0 fork(T0)", "event 0: T0 forks or joins itself"),
    ];
    for (text, expected) in cases {
        assert_eq!(words(text), expected);
    }
}
