//! Candidates against a naive enumeration, and the rules for inferred blocks.

use std::collections::BTreeSet;

use untorn_predict::candidates::{Found, Limits, Sources, Spot, find};
use untorn_predict::{At, Facts, History, Origin, Pattern};
use untorn_testkit::{Knobs, for_random_traces, name_tables};
use untorn_trace::{Event, LabelId, Op, SiteId, Tables, ThreadId, VarId};

fn spot(history: &History, at: At) -> Spot {
    let event = history.event(at);
    let var = VarId(event.op.target());
    match event.site {
        SiteId::NONE => {
            let block = history.block_of(at);
            let label = block.map_or(LabelId::NONE, |block| history.block(block).label);
            Spot::Unknown { thread: event.thread, label, var }
        }
        site => Spot::Site(site),
    }
}

/// The outermost declared block around an event.
fn transaction(history: &History, at: At) -> Option<u32> {
    let mut block = history.block_of(at);
    let mut found = None;
    while let Some(id) = block {
        if history.block(id).origin == Origin::Declared {
            found = Some(id.0);
        }
        block = history.block(id).outer;
    }
    found
}

type Key = ([Spot; 3], Pattern);

/// All triples of the definition: two accesses of one transaction, one of another thread, and no
/// access between the two that would make a shorter pair with the same verdict.
fn naive(history: &History) -> BTreeSet<Key> {
    let var = |at: At| match history.event(at).op {
        Op::Read { var, .. } | Op::Write { var, .. } => Some(var),
        _ => None,
    };
    let mut keys = BTreeSet::new();
    for i in history.all() {
        for k in history.all().skip(i.index() + 1) {
            let same = var(i).is_some() && var(i) == var(k);
            let own = transaction(history, i);
            if !same || own.is_none() || own != transaction(history, k) {
                continue;
            }
            let thread = history.event(i).thread;
            if history.second_half(i) == Some(k) {
                continue;
            }
            for j in history.all() {
                if history.event(j).thread == thread || var(j) != var(i) {
                    continue;
                }
                let Some(pattern) = Pattern::of(history, i, j, k) else { continue };
                let between = (i.0 + 1..k.0)
                    .map(At)
                    .filter(|&at| history.event(at).thread == thread && var(at) == var(i));
                let redundant = between.into_iter().any(|at| {
                    Pattern::of(history, i, j, at).is_some()
                        && Pattern::of(history, at, j, k).is_some()
                });
                if !redundant {
                    keys.insert(([spot(history, i), spot(history, j), spot(history, k)], pattern));
                }
            }
        }
    }
    keys
}

fn found(events: &[Event], tables: &Tables, sources: Sources) -> (History, Found) {
    let history = History::new(events.to_vec(), tables).expect("short");
    let facts = Facts::new(&history);
    let found = find(&facts, sources, Limits::default());
    drop(facts);
    (history, found)
}

#[test]
fn nothing_is_missed_and_nothing_invented() {
    for_random_traces(&Knobs::small(), 0..30_000, |events| {
        let tables = name_tables(events);
        let (history, found) = found(events, &tables, Sources::Declared);
        let expected = naive(&history);
        for candidate in &found.candidates {
            if !expected.contains(&(candidate.spots, candidate.pattern)) {
                return Err(format!("invented: {candidate:?}"));
            }
            for goal in &candidate.goals {
                let spots: Vec<Spot> = goal.events.iter().map(|&at| spot(&history, at)).collect();
                if spots != candidate.spots {
                    return Err(format!("goal {goal:?} is no instance of {candidate:?}"));
                }
            }
        }
        let count = found.candidates.len() as u64 + found.guarded + found.ordered;
        if count != expected.len() as u64 || found.left_out > 0 {
            return Err(format!("{count} candidates instead of {}", expected.len()));
        }
        Ok(())
    });
}

/// A trace by hand: (thread, operation, site).
fn trace(steps: &[(u32, &str, u32)]) -> (Vec<Event>, Tables) {
    let events: Vec<Event> = steps
        .iter()
        .map(|&(thread, step, site)| {
            let (name, target) = step.split_at(1);
            let id: u32 = target.parse().unwrap_or(0);
            let op = match name {
                "r" => Op::read(VarId(id)),
                "w" => Op::write(VarId(id)),
                "c" => Op::Call { method: LabelId(id), known: false, value: Default::default() },
                "e" => Op::Return { method: LabelId(id), known: false, value: Default::default() },
                "f" => Op::Fork { child: ThreadId(id) },
                _ => panic!("no operation {name}"),
            };
            Event::new(ThreadId(thread), op, SiteId(site))
        })
        .collect();
    let tables = name_tables(&events);
    (events, tables)
}

fn patterns(steps: &[(u32, &str, u32)]) -> Vec<&'static str> {
    let (events, tables) = trace(steps);
    let (_, found) = found(&events, &tables, Sources::All);
    found.candidates.iter().map(|candidate| candidate.pattern.letters()).collect()
}

#[test]
fn an_increment_in_a_loop_is_one_candidate() {
    let mut steps = vec![(0, "c0", 9)];
    for _ in 0..5 {
        steps.extend([(0, "r0", 1), (0, "w0", 2)]);
    }
    steps.extend([(0, "e0", 9), (1, "w0", 3)]);
    assert_eq!(
        patterns(&steps),
        ["RWW"],
        "not the write of one iteration and the read of the next"
    );
}

#[test]
fn calls_that_belong_together_are_a_block() {
    // withdraw: getBalance, setBalance.
    let steps = [
        (0, "c0", 9),
        (0, "c1", 8),
        (0, "r0", 1),
        (0, "e1", 8),
        (0, "c2", 7),
        (0, "w0", 2),
        (0, "e2", 7),
        (0, "e0", 9),
        (1, "w0", 2),
    ];
    assert_eq!(patterns(&steps), ["RWW"]);
}

#[test]
fn polling_a_flag_is_no_block() {
    let steps =
        [(0, "c0", 9), (0, "r0", 1), (0, "r0", 1), (0, "r0", 1), (0, "e0", 9), (1, "w0", 2)];
    assert_eq!(patterns(&steps), Vec::<&str>::new());
}

#[test]
fn code_that_starts_threads_in_between_is_no_block() {
    let steps =
        [(0, "c0", 9), (0, "w0", 1), (0, "f1", 5), (0, "r0", 2), (0, "e0", 9), (1, "w0", 3)];
    assert_eq!(patterns(&steps), Vec::<&str>::new());
}

/// A hot variable must not explode: a hundred thousand accesses in a thousand blocks.
#[test]
fn a_hot_variable_costs_what_its_places_cost() {
    let mut events = Vec::new();
    for block in 0..1000_u32 {
        let thread = ThreadId(block % 8);
        let label = LabelId(0);
        events.push(Event::new(thread, Op::Begin { label }, SiteId(0)));
        for access in 0..100_u32 {
            let op = if access % 3 == 0 { Op::write(VarId(0)) } else { Op::read(VarId(0)) };
            events.push(Event::new(thread, op, SiteId(1 + access % 12)));
        }
        events.push(Event::new(thread, Op::End { label }, SiteId(0)));
    }
    let tables = name_tables(&events);
    let start = std::time::Instant::now();
    let (_, found) = found(&events, &tables, Sources::All);
    assert!(found.candidates.len() > 50);
    assert!(found.candidates.iter().all(|candidate| candidate.goals.len() <= 6));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}
