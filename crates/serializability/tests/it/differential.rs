//! The exact checkers against the brute-force oracle and against each other, on millions of random
//! traces; and proof that the suite would find the errors that are easiest to make.

use std::collections::BTreeSet;

use untorn_serializability::fast::{Fast, OpenAncestors, fault};
use untorn_serializability::velodrome::Velodrome;
use untorn_serializability::{Checker, Outcome, Transaction, Verdict, Violation};
use untorn_testkit::{
    Knobs, TraceGen, check_cycle, first_violation, for_random_traces, for_rings, refuted_blocks,
};
use untorn_trace::{Event, EventIdx, LabelId, Op};

fn run(mut checker: impl Checker, events: &[Event]) -> Outcome {
    let _ = checker.events(EventIdx(0), events);
    checker.finish()
}

fn first_event(outcome: &Outcome) -> Option<EventIdx> {
    match outcome.verdict {
        Verdict::Serializable => None,
        Verdict::NotSerializable { at, .. } => Some(at),
        Verdict::Undecided => panic!("an exact checker decides"),
    }
}

fn agree(expected: Option<EventIdx>, found: Option<EventIdx>) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("expected {expected:?}, found {found:?}")) }
}

/// How many traces: `./dev soak` runs twenty times as many.
fn rounds(usual: u64) -> u64 {
    untorn_testkit::cases(usual, usual * 20)
}

#[test]
fn soak_fast_agrees_with_the_oracle() {
    for_random_traces(&Knobs::small(), 0..rounds(1_000_000), |events| {
        agree(first_violation(events), first_event(&run(Fast::new(), events)))
    });
}

#[test]
fn soak_velodrome_agrees_with_the_oracle() {
    for_random_traces(&Knobs::small(), 5_000_000_000..5_000_000_000 + rounds(500_000), |events| {
        agree(first_violation(events), first_event(&run(Velodrome::new(), events)))
    });
}

#[test]
fn soak_velodrome_agrees_with_fast_on_larger_traces() {
    for (knobs, traces) in [(Knobs::medium(), 40_000), (Knobs::wide(), 8_000)] {
        for_random_traces(&knobs, 0..rounds(traces), |events| {
            let fast = first_event(&run(Fast::new(), events));
            agree(fast, first_event(&run(Velodrome::new(), events)))
        });
    }
}

/// Rings have their only cycle through all threads: what is not passed on shows at once.
#[test]
fn soak_rings_agree_with_the_oracle() {
    for_rings(0..rounds(300_000), |events| {
        let expected = first_violation(events);
        agree(expected, first_event(&run(Fast::new(), events)))?;
        agree(expected, first_event(&run(Velodrome::new(), events)))
    });
}

/// Gives every block instance a unique label, so that none is reported as a repetition.
fn label_each_block(events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    for (i, event) in events.iter_mut().enumerate() {
        match &mut event.op {
            Op::Begin { label, .. } => *label = LabelId::from_index(i),
            Op::End { label } => *label = LabelId::NONE,
            _ => {}
        }
    }
    events
}

#[test]
fn soak_blame_is_exact() {
    for_random_traces(&Knobs::small(), 0..rounds(300_000), |events| {
        let events = label_each_block(events);
        let outcome = run(Velodrome::new(), &events);
        let blocks = outcome.violations.iter().flat_map(|violation| &violation.refuted);
        let found: BTreeSet<EventIdx> = blocks.map(|block| block.begin).collect();
        let expected = refuted_blocks(&events);
        if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
    });
}

/// Checks the witness of a violation against the bare events.
fn check_witness(events: &[Event], violation: &Violation) -> Result<(), String> {
    let cycle = &violation.cycle;
    let name = |(i, transaction): (usize, &Transaction)| match transaction.block {
        Some(block) => block.begin,
        None => cycle.edges[i].from.at,
    };
    let transactions: Vec<EventIdx> = cycle.transactions.iter().enumerate().map(name).collect();
    let edges: Vec<_> = cycle.edges.iter().map(|edge| (edge.from.at, edge.to.at)).collect();
    check_cycle(events, &transactions, &edges).map_err(|fault| format!("{fault}: {cycle:?}"))?;
    for step in cycle.edges.iter().flat_map(|edge| [edge.from, edge.to]) {
        if events[step.at.0 as usize] != step.event {
            return Err(format!("{step:?} is not the event at its position"));
        }
    }
    // A refuted block contains both ends of the path, and the path never goes back in time.
    let (root, target) = (cycle.edges[0].from.at, cycle.edges[cycle.edges.len() - 1].to.at);
    let increasing = cycle.edges.windows(2).all(|pair| pair[0].to.at <= pair[1].from.at);
    for block in &violation.refuted {
        if !(increasing && block.begin <= root && root < target) {
            return Err(format!("{block:?} is not refuted by {cycle:?}"));
        }
    }
    Ok(())
}

#[test]
fn soak_every_cycle_is_a_cycle() {
    for (knobs, traces) in
        [(Knobs::small(), 300_000), (Knobs::medium(), 5_000), (Knobs::wide(), 1_000)]
    {
        for_random_traces(&knobs, 0..rounds(traces), |events| {
            let outcome = run(Velodrome::new(), events);
            if outcome.verdict.is_violation() == outcome.violations.is_empty() {
                return Err("a verdict comes with its evidence".to_owned());
            }
            outcome.violations.iter().try_for_each(|violation| check_witness(events, violation))
        });
    }
}

#[test]
fn a_batch_may_end_anywhere() {
    for_random_traces(&Knobs::medium(), 0..500, |events| {
        let mut whole = (run(Fast::new(), events), run(Velodrome::new(), events));
        let (mut fast, mut velodrome) = (Fast::new(), Velodrome::new());
        let mut stopped = false;
        for (i, chunk) in events.chunks(7).enumerate() {
            let first = EventIdx(i as u64 * 7);
            stopped = stopped || fast.events(first, chunk).is_break();
            let _ = velodrome.events(first, chunk);
        }
        let pieces = (fast.finish(), velodrome.finish());
        if pieces == whole {
            Ok(())
        } else {
            Err(format!("{pieces:?} instead of {:?}", &mut whole))
        }
    });
}

/// How many of a hundred thousand random traces a checker with the given fault gets wrong.
fn wrong_verdicts<const FAULT: u8>() -> usize {
    let mut traces = TraceGen::new(Knobs::small());
    let wrong = |seed: &u64| {
        let events = traces.generate(*seed);
        first_violation(events) != first_event(&run(OpenAncestors::<FAULT>::new(), events))
    };
    (0..100_000).filter(wrong).count()
}

#[test]
fn the_suite_finds_every_deliberate_fault() {
    let found = [
        ("none", wrong_verdicts::<{ fault::NONE }>()),
        (
            "outside operation merged into an open one",
            wrong_verdicts::<{ fault::MERGE_OUTSIDE_INTO_OPEN }>(),
        ),
        ("outside operations not separated", wrong_verdicts::<{ fault::OUTSIDE_NOT_SEPARATED }>()),
        (
            "foreign read between own writes ignored",
            wrong_verdicts::<{ fault::IGNORE_FOREIGN_READ }>(),
        ),
        ("inner end closes the transaction", wrong_verdicts::<{ fault::INNER_END_CLOSES }>()),
        ("stale column after the end", wrong_verdicts::<{ fault::STALE_COLUMN }>()),
        ("growth not spread to finished", wrong_verdicts::<{ fault::NO_GROWTH_TO_FINISHED }>()),
        ("growth not spread to open", wrong_verdicts::<{ fault::NO_GROWTH_TO_OPEN }>()),
    ];
    let (none, faults) = found.split_first().expect("not empty");
    assert_eq!(none.1, 0, "wrong verdicts of 100 000: {found:#?}");
    for (fault, wrong) in faults {
        assert!(*wrong > 0, "no wrong verdict shows '{fault}': {found:#?}");
    }
}
