//! Outlines are judged as the reorderings that they stand for.

use untorn_testkit::{Knobs, ReorderingOracle, Rng, check_reordering, for_random_traces, show};
use untorn_trace::reordering::{Outline, OutlineChecker, ReorderingFacts, ReorderingRule};
use untorn_trace::{Event, EventIdx, Op, Value, VarId};

/// Variables of random traces start as 0.
fn zero(_: VarId) -> Option<Value> {
    Some(Value(0))
}

#[derive(Default, Debug)]
struct Tally {
    accepted: u64,
    rejected: u64,
    /// Accepted after a walk through the whole.
    walked: u64,
}

/// By event: its thread and how many events of that come before it.
fn places(events: &[Event]) -> (Vec<u32>, Vec<u32>) {
    let mut counts = Vec::new();
    let mut nth = Vec::new();
    for event in events {
        counts.resize(counts.len().max(event.thread.index() + 1), 0);
        nth.push(counts[event.thread.index()]);
        counts[event.thread.index()] += 1;
    }
    (counts, nth)
}

fn in_full(events: &[Event], nth: &[u32], base: &[u32], tail: &[EventIdx]) -> Vec<EventIdx> {
    let all = events.iter().zip(nth).enumerate();
    let inside = all.filter(|(_, (event, nth))| **nth < base[event.thread.index()]);
    inside.map(|(index, _)| EventIdx(index as u64)).chain(tail.iter().copied()).collect()
}

/// The longest beginning that is in the order of the trace, with nothing left out of a thread.
fn split(events: &[Event], counts: usize, steps: &[EventIdx]) -> (Vec<u32>, usize) {
    let rising = 1 + steps.windows(2).take_while(|pair| pair[0] < pair[1]).count();
    let mut base = vec![0; counts];
    for at in &steps[..rising.min(steps.len())] {
        base[events[at.0 as usize].thread.index()] += 1;
    }
    (base, rising.min(steps.len()))
}

fn agree(
    checker: &mut OutlineChecker<'_>,
    events: &[Event],
    goal: &[EventIdx],
    (base, tail): (&[u32], &[EventIdx]),
    tally: &mut Tally,
) -> Result<(), String> {
    let (_, nth) = places(events);
    let whole = in_full(events, &nth, base, tail);
    for rule in ReorderingRule::ALL {
        let expected = check_reordering(events, &zero, goal, &whole, rule);
        let before = checker.whole_walks();
        let answer = checker.check(goal, Outline { base, tail }, rule);
        if answer != expected {
            let what = format!("{rule:?}: {answer:?}, not {expected:?}: {goal:?} by {whole:?}");
            return Err(format!("{what}\n{base:?} {tail:?}\n{}", show(events)));
        }
        tally.accepted += u64::from(answer.is_ok());
        tally.rejected += u64::from(answer.is_err());
        tally.walked += u64::from(answer.is_ok() && checker.whole_walks() > before);
    }
    Ok(())
}

/// Whatever stands in an outline: any counts, any events behind them.
fn any(events: &[Event], rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
    let (counts, _) = places(events);
    let facts = ReorderingFacts::new(events, &zero);
    let mut checker = OutlineChecker::new(&facts);
    let event = |rng: &mut Rng| EventIdx(u64::from(rng.below(events.len() as u32)));
    for _ in 0..6 {
        let base: Vec<u32> = match rng.below(3) {
            0 => counts.iter().map(|&all| rng.below(all + 1)).collect(),
            // The trace up to some event, and perhaps less of one thread.
            _ => {
                let cut = event(rng).0 as usize;
                let mut base = places(&events[..cut]).0;
                base.resize(counts.len(), 0);
                let one = rng.below(counts.len() as u32) as usize;
                base[one] = base[one].saturating_sub(rng.below(3));
                base
            }
        };
        // What its threads do next, in some order.
        let mut done = base.clone();
        let mut tail = Vec::new();
        for _ in 0..rng.below(6) {
            let thread = rng.below(counts.len() as u32) as usize;
            let mine = events.iter().enumerate().filter(|(_, e)| e.thread.index() == thread);
            if let Some((index, _)) = mine.into_iter().nth(done[thread] as usize) {
                tail.push(EventIdx(index as u64));
                done[thread] += 1;
            }
        }
        if rng.below(16) == 0 {
            tail.push(EventIdx(u64::from(rng.below(events.len() as u32 + 2))));
        }
        let last = tail.last().copied().unwrap_or_else(|| event(rng));
        let goal = match rng.below(4) {
            0 => vec![event(rng), last],
            1 => vec![event(rng), event(rng)],
            2 => Vec::new(),
            _ => vec![last],
        };
        agree(&mut checker, events, &goal, (&base, &tail), tally)?;
    }
    Ok(())
}

/// A trace that breaks the rules itself: two events have changed places, or a read has returned something else.
fn spoilt(events: &[Event], rng: &mut Rng) -> Vec<Event> {
    let mut events = events.to_vec();
    let any = |rng: &mut Rng| rng.below(events.len() as u32) as usize;
    let (one, other) = (any(rng), any(rng));
    match &mut events[one].op {
        Op::Read { value, .. } if rng.below(2) == 0 => value.0 += 1,
        _ => events.swap(one, other),
    }
    events
}

#[test]
fn whatever_stands_in_an_outline_is_judged_as_in_full() {
    let mut tally = Tally::default();
    for knobs in [Knobs::planning(), Knobs::small()] {
        let mut rng = Rng::new(1);
        let seeds = 0..untorn_testkit::cases(15_000, 1_000_000);
        for_random_traces(&knobs, seeds, |events| match events {
            [] => Ok(()),
            _ if rng.below(3) > 0 => any(events, &mut rng, &mut tally),
            _ => any(&spoilt(events, &mut rng), &mut rng, &mut tally),
        });
    }
    assert!(tally.accepted > 10_000 && tally.rejected > 10_000, "{tally:?}");
}

/// What the search finds, in full and with one event moved or left out.
fn found(events: &[Event], rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
    let (counts, _) = places(events);
    let oracle = ReorderingOracle::new(events, &zero);
    let facts = ReorderingFacts::new(events, &zero);
    let mut checker = OutlineChecker::new(&facts);
    let event = |rng: &mut Rng| EventIdx(u64::from(rng.below(events.len() as u32)));
    let goal = [event(rng), event(rng), event(rng)];
    for rule in ReorderingRule::ALL {
        let Some(steps) = oracle.exists_reordering(&goal, rule) else { continue };
        let (base, kept) = split(events, counts.len(), &steps);
        for kept in [kept, kept / 2, 0] {
            let (base, _) = match kept {
                0 => (vec![0; counts.len()], 0),
                _ => split(events, counts.len(), &steps[..kept]),
            };
            agree(&mut checker, events, &goal, (&base, &steps[kept..]), tally)?;
        }
        let mut broken = steps[kept..].to_vec();
        if broken.len() > 1 {
            let (one, other) = (rng.below(broken.len() as u32), rng.below(broken.len() as u32));
            broken.swap(one as usize, other as usize);
            agree(&mut checker, events, &goal, (&base, &broken), tally)?;
            broken.remove(one as usize);
            agree(&mut checker, events, &goal, (&base, &broken), tally)?;
        }
        let mut less = base.clone();
        let one = rng.below(less.len() as u32) as usize;
        less[one] = less[one].saturating_sub(1);
        agree(&mut checker, events, &goal, (&less, &steps[kept..]), tally)?;
    }
    Ok(())
}

#[test]
fn what_the_search_finds_is_judged_as_in_full_and_so_is_what_is_broken_of_it() {
    let mut tally = Tally::default();
    let mut rng = Rng::new(1);
    let seeds = 0..untorn_testkit::cases(15_000, 1_000_000);
    for_random_traces(&Knobs::planning(), seeds, |events| match events {
        [] => Ok(()),
        _ => found(events, &mut rng, &mut tally),
    });
    assert!(tally.accepted > 10_000 && tally.rejected > 1_000, "{tally:?}");
    // Other values that happen to be equal, and bases that have the goal's last event.
    assert!(tally.walked * 6 < tally.accepted, "{tally:?}");
}
