//! Candidates against a naive enumeration, and the rules for inferred blocks.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use untorn_predict::candidates::{
    BlockScope, Candidate, CandidatePlace, Candidates, Limits, Objects, TwoVariableCandidate,
};
use untorn_predict::candidates::{find, find_in};
use untorn_predict::{At, Deadline, History, HistoryIndex, Origin, Pattern};
use untorn_testkit::{Knobs, explains, for_random_traces, name_tables, torn_pairs};
use untorn_trace::{Event, EventIdx, LabelId, LockId, Op, SiteId, Tables, ThreadId, Value, VarId};

fn point(history: &History, at: At) -> CandidatePlace {
    let event = history.event(at);
    let var = VarId(event.op.target());
    match event.site {
        SiteId::NONE => {
            let block = history.block_of(at);
            let label = block.map_or(LabelId::NONE, |block| history.block(block).label);
            CandidatePlace::Unknown { thread: event.thread, label, var }
        }
        site => CandidatePlace::Site(site),
    }
}

/// The outermost declared block around an event.
fn transaction(history: &History, at: At) -> Option<u32> {
    let mut block = history.block_of(at);
    let mut found = None;
    while let Some(id) = block {
        let around = history.block(id);
        if around.origin == Origin::Declared && around.end.is_none_or(|end| at <= end) {
            found = Some(id.0);
        }
        block = history.block(id).outer;
    }
    found
}

type Key = ([CandidatePlace; 3], Pattern);

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
                    keys.insert((
                        [point(history, i), point(history, j), point(history, k)],
                        pattern,
                    ));
                }
            }
        }
    }
    keys
}

fn found(events: &[Event], tables: &Tables, sources: BlockScope) -> (History, Candidates) {
    let history = History::new(events.to_vec(), tables).expect("short");
    let facts = HistoryIndex::new(&history);
    let found = find(&facts, sources, Limits::default());
    drop(facts);
    (history, found)
}

/// A branch that was not taken: another thread makes the same check, in a block of the same name, between check and act.
fn check_untaken(history: &History, candidate: &Candidate) -> Result<(), String> {
    for goal in &candidate.goals {
        let &[check, other, act] = goal.events.as_slice() else {
            return Err(format!("{goal:?} has no three events"));
        };
        let thread = |at: At| history.event(at).thread;
        let labels = |at: At| {
            let around = std::iter::successors(history.block_of(at), |&id| history.block(id).outer);
            around.map(|id| history.block(id).label).collect::<BTreeSet<_>>()
        };
        let same_code = point(history, check) == point(history, other)
            && !labels(check).is_disjoint(&labels(other));
        let reads =
            [check, other].iter().all(|&at| matches!(history.event(at).op, Op::Read { .. }));
        let writes = matches!(history.event(act).op, Op::Write { .. });
        let threads = thread(check) == thread(act) && thread(check) != thread(other);
        if !(same_code && reads && writes && threads) {
            return Err(format!("no untaken branch: {goal:?} of {candidate:?}"));
        }
    }
    Ok(())
}

#[test]
fn nothing_is_missed_and_nothing_invented() {
    for_random_traces(&Knobs::small(), 0..30_000, |events| {
        let tables = name_tables(events);
        let (history, found) = found(events, &tables, BlockScope::Declared);
        let expected = naive(&history);
        let (seen, unseen): (Vec<_>, Vec<_>) =
            found.candidates.iter().partition(|candidate| candidate.is_seen);
        unseen.iter().try_for_each(|candidate| check_untaken(&history, candidate))?;
        for candidate in &seen {
            if !expected.contains(&(candidate.points, candidate.pattern)) {
                return Err(format!("invented: {candidate:?}"));
            }
            for goal in &candidate.goals {
                let points: Vec<CandidatePlace> =
                    goal.events.iter().map(|&at| point(&history, at)).collect();
                if points != candidate.points {
                    return Err(format!("goal {goal:?} is no instance of {candidate:?}"));
                }
            }
        }
        let count = seen.len() as u64 + found.guarded + found.ordered;
        if count != expected.len() as u64 || found.left_out > 0 {
            return Err(format!("{count} candidates instead of {}", expected.len()));
        }
        Ok(())
    });
}

type PairKey = ([CandidatePlace; 4], [bool; 4], bool);

fn pair_key(history: &History, events: [At; 4]) -> PairKey {
    let writes = events.map(|at| matches!(history.event(at).op, Op::Write { .. }));
    let same = history.event(events[0]).op.target() == history.event(events[1]).op.target();
    (events.map(|at| point(history, at)), writes, same)
}

fn check_pair(
    history: &History,
    events: &[Event],
    expected: &BTreeSet<(PairKey, bool)>,
    candidate: &TwoVariableCandidate,
) -> Result<(), String> {
    let key = (candidate.points, candidate.writes, candidate.same_order);
    if !expected.contains(&(key, candidate.is_one_object)) {
        return Err(format!("invented: {candidate:?}"));
    }
    for goal in &candidate.goals {
        let order: Vec<EventIdx> = goal.events.iter().map(|&at| at.into()).collect();
        if explains(events, &order) {
            return Err(format!("{goal:?} tears nothing: {candidate:?}"));
        }
        let &[a, mut b, mut c, mut d] = &goal.events[..] else { return Err("four".to_owned()) };
        if history.event(d).thread != history.event(a).thread {
            std::mem::swap(&mut c, &mut d); // the other block ends after the pair
        }
        if c < b {
            std::mem::swap(&mut b, &mut c);
        }
        if pair_key(history, [a, b, c, d])
            != (candidate.points, candidate.writes, candidate.same_order)
        {
            return Err(format!("{goal:?} is no instance of {candidate:?}"));
        }
    }
    Ok(())
}

/// Candidates of two variables match the definition, whether they are of one object or of two; and they say which.
#[test]
fn no_pair_is_missed_and_none_invented() {
    for (split, seeds) in [(8, 0..25_000), (2, 25_000..40_000)] {
        for_random_traces(&Knobs::small(), seeds, |events| {
            let tables = name_tables(events);
            let object = |var: VarId| Some(var.0 / split);
            let history = History::new(events.to_vec(), &tables).expect("short");
            let objects = (0..history.var_count() as u32).map(|var| object(VarId(var))).collect();
            let facts = HistoryIndex::new(&history);
            let limits = Limits::default();
            let found = find_in(&facts, BlockScope::Declared, limits, &Objects::new(objects));
            let torn = torn_pairs(events, |_| Some(0)).into_iter();
            let owner = |at: At| object(VarId(history.event(at).op.target()));
            let expected: BTreeSet<(PairKey, bool)> = torn
                .map(|torn| torn.events.map(|at| At(at.0 as u32)))
                .map(|[a, b, c, d]| (pair_key(&history, [a, b, c, d]), owner(a) == owner(d)))
                .collect();
            let seen: Vec<&TwoVariableCandidate> =
                found.pairs.iter().filter(|pair| pair.is_seen).collect();
            for &candidate in &seen {
                check_pair(&history, events, &expected, candidate)?;
                let [one, other] = candidate.vars.map(object);
                if candidate.is_one_object != (one == other) {
                    return Err(format!("not of these objects: {candidate:?}"));
                }
            }
            let untried = found.skipped_pairs;
            let count = seen.len() as u64 + untried.guarded + untried.ordered;
            if count != expected.len() as u64 || untried.left_out > 0 {
                return Err(format!("{count} candidates instead of {}", expected.len()));
            }
            Ok(())
        });
    }
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
                "e" => Op::Return {
                    method: LabelId(id),
                    outcome: Default::default(),
                    known: false,
                    value: Default::default(),
                },
                "f" => Op::Fork { child: ThreadId(id) },
                "a" => Op::acquire(LockId(id)),
                "l" => Op::release(LockId(id)),
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
    let (_, found) = found(&events, &tables, BlockScope::All);
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

fn pairs(steps: &[(u32, &str, u32)]) -> Vec<String> {
    let (events, tables) = trace(steps);
    let history = History::new(events, &tables).expect("short");
    let objects = Objects::new(vec![Some(0); history.var_count()]);
    let facts = HistoryIndex::new(&history);
    let found = find_in(&facts, BlockScope::All, Limits::default(), &objects);
    found.pairs.iter().map(TwoVariableCandidate::letters).collect()
}

/// The same with values, and each variable an object of its own.
fn found_with(steps: &[(u32, &str, u32, i64)]) -> Candidates {
    let plain: Vec<(u32, &str, u32)> =
        steps.iter().map(|&(thread, step, site, _)| (thread, step, site)).collect();
    let (mut events, tables) = trace(&plain);
    for (event, &(.., value)) in events.iter_mut().zip(steps) {
        match &mut event.op {
            Op::Read { known, value: own, .. } | Op::Write { known, value: own, .. } => {
                (*known, *own) = (true, Value::int(value));
            }
            _ => {}
        }
    }
    let history = History::new(events, &tables).expect("short");
    let objects = Objects::new((0..history.var_count() as u32).map(Some).collect());
    let facts = HistoryIndex::new(&history);
    find_in(&facts, BlockScope::All, Limits::default(), &objects)
}

/// Each of two threads checks the variable of the other one and then writes its own; the second one finds the first
/// gone, and does not write.
#[test]
fn write_skew_that_did_not_happen_is_a_candidate() {
    let leave = |thread: u32, other: &'static str, own: Option<&'static str>| {
        let mut steps = vec![(thread, "c0", 9, 0), (thread, other, 1, i64::from(own.is_some()))];
        steps.extend(own.map(|own| (thread, own, 2, 0)));
        steps.push((thread, "e0", 9, 0));
        steps
    };
    let one = leave(0, "r1", Some("w0"));
    let unseen = |found: &Candidates| {
        let unseen = found.pairs.iter().filter(|pair| !pair.is_seen);
        unseen.map(TwoVariableCandidate::letters).collect::<Vec<_>>()
    };
    // Variable 1 must be shared: somebody writes it in the end.
    let end = vec![(2, "w1", 7, 5)];
    let good = found_with(&[one.clone(), leave(1, "r0", None), end.clone()].concat());
    assert_eq!(unseen(&good), ["RRWW"]);
    // It read the same and stayed: something else decides.
    let mut same = leave(1, "r0", None);
    same[1].3 = 1;
    assert_eq!(unseen(&found_with(&[one, same, end].concat())), [] as [&str; 0]);
}

/// A read and a write two calls below one method, twice.
fn far(values: [[i64; 2]; 2]) -> usize {
    let run = |thread: u32, [read, written]: [i64; 2]| {
        vec![
            (thread, "c0", 9, 0),
            (thread, "c1", 8, 0),
            (thread, "c2", 7, 0),
            (thread, "r0", 1, read),
            (thread, "e2", 7, 0),
            (thread, "e1", 8, 0),
            (thread, "c3", 6, 0),
            (thread, "c4", 5, 0),
            (thread, "w0", 2, written),
            (thread, "e4", 5, 0),
            (thread, "e3", 6, 0),
            (thread, "e0", 9, 0),
        ]
    };
    found_with(&[run(0, values[0]), run(1, values[1])].concat()).candidates.len()
}

#[test]
fn what_is_far_apart_belongs_together_if_the_value_decides() {
    assert_eq!(far([[5, 4], [4, 3]]), 1);
    assert_eq!(far([[5, 7], [7, 7]]), 0, "the same is written, whatever was read");
    assert_eq!(far([[5, 7], [5, 8]]), 0, "the same was read");
}

/// What was not analysed because time was over is counted; nothing else changes.
#[test]
fn what_comes_too_late_is_counted() {
    let steps = [
        (0, "c0", 9),
        (0, "w0", 1),
        (0, "w1", 2),
        (0, "e0", 9),
        (1, "c1", 8),
        (1, "r0", 3),
        (1, "r1", 4),
        (1, "e1", 8),
    ];
    let (events, tables) = trace(&steps);
    let history = History::new(events, &tables).expect("short");
    let objects = Objects::new(vec![Some(0); history.var_count()]);
    let facts = HistoryIndex::new(&history);
    let by = |deadline| {
        let limits = Limits { deadline, ..Limits::default() };
        find_in(&facts, BlockScope::All, limits, &objects)
    };
    let late = by(Deadline::at(Instant::now()));
    assert_eq!((late.candidates.len(), late.pairs.len()), (0, 0));
    assert_eq!((late.unseen_vars, late.skipped_pairs.unseen), (2, 4), "{late:?}");
    let day = Duration::from_secs(86_400);
    let in_time = by(Deadline::at(Instant::now() + day));
    assert_eq!(in_time, by(Deadline::NEVER));
    assert_eq!((in_time.unseen_vars, in_time.skipped_pairs.unseen), (0, 0));
    assert!(!in_time.pairs.is_empty(), "{in_time:?}");
}

/// moveTo sets x and y, each under the lock; describe reads both under the lock.
#[test]
fn two_fields_set_one_after_the_other_are_a_pair() {
    let setter = [
        (0, "c0", 9),
        (0, "a0", 1),
        (0, "w0", 2),
        (0, "l0", 1),
        (0, "a0", 3),
        (0, "w1", 4),
        (0, "l0", 3),
        (0, "e0", 9),
    ];
    let reader =
        [(1, "c1", 8), (1, "a0", 5), (1, "r0", 6), (1, "r1", 7), (1, "l0", 5), (1, "e1", 8)];
    assert_eq!(pairs(&[&setter[..], &reader].concat()), ["WRRW"], "the reader holds the lock");
    let whole: Vec<_> =
        setter.into_iter().filter(|&(_, _, site)| ![1, 3].contains(&site)).collect();
    let whole = [&[(0, "a0", 1)][..], &whole, &[(0, "l0", 1)], &reader].concat();
    assert_eq!(pairs(&whole), Vec::<String>::new(), "nothing comes between");
}

/// A loop over the elements of an array is no step of a method.
#[test]
fn elements_one_after_the_other_are_no_pair() {
    let mut steps = vec![(0, "c0", 9)];
    steps.extend(["w0", "w1", "w2"].map(|step| (0, step, 1)));
    steps.extend([(0, "e0", 9), (1, "c1", 8), (1, "r0", 2), (1, "r1", 3), (1, "e1", 8)]);
    assert_eq!(pairs(&steps), Vec::<String>::new());
}

/// contains, then add: two sections of one lock. The second thread finds what the first one added.
fn set_over_vector(second_value: u64) -> Candidates {
    let steps = [
        (0, "c0", 9),
        (0, "a0", 1),
        (0, "r0", 2),
        (0, "l0", 1),
        (0, "a0", 3),
        (0, "r0", 4),
        (0, "w0", 5),
        (0, "l0", 3),
        (0, "e0", 9),
        (1, "c0", 9),
        (1, "a0", 1),
        (1, "r0", 2),
        (1, "l0", 1),
        (1, "e0", 9),
    ];
    let (mut events, tables) = trace(&steps);
    for event in &mut events {
        let value = if event.thread == ThreadId(0) { 0 } else { second_value };
        if let Op::Read { known, value: of, .. } = &mut event.op {
            (*known, *of) = (true, Value(value));
        }
    }
    found(&events, &tables, BlockScope::All).1
}

#[test]
fn who_checks_but_does_not_act_might() {
    let found = set_over_vector(1);
    let [candidate] = &found.candidates[..] else { panic!("{found:?}") };
    assert!(!candidate.is_seen);
    assert_eq!(candidate.pattern, Pattern::ReadWriteWrite);
    assert_eq!(candidate.points, [2, 5, 5].map(|site| CandidatePlace::Site(SiteId(site))));
    let events: Vec<u32> = candidate.goals[0].events.iter().map(|at| at.0).collect();
    assert_eq!(events, [2, 11, 6], "the second check comes before the act");
    let same = set_over_vector(0);
    assert!(same.candidates.is_empty(), "the same value, and it did not act: {same:?}");
}

/// A hot variable must not explode: a hundred thousand accesses in a thousand blocks.
#[test]
fn a_hot_variable_costs_what_its_places_cost() {
    let mut events = Vec::new();
    for block in 0..1000_u32 {
        let thread = ThreadId(block % 8);
        let label = LabelId(0);
        events.push(Event::new(thread, Op::begin(label), SiteId(0)));
        for access in 0..100_u32 {
            let op = if access % 3 == 0 { Op::write(VarId(0)) } else { Op::read(VarId(0)) };
            events.push(Event::new(thread, op, SiteId(1 + access % 12)));
        }
        events.push(Event::new(thread, Op::End { label }, SiteId(0)));
    }
    let tables = name_tables(&events);
    let (_, found) = found(&events, &tables, BlockScope::All);
    assert!((50..5000).contains(&found.candidates.len()), "{}", found.candidates.len());
    assert!(found.candidates.iter().all(|candidate| candidate.goals.len() <= 6));
}
