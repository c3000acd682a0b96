//! Random histories of small objects, right ones and spoiled ones.

use untorn_linearizability::{
    CallId, History, Linearizability, Observation, Outcome, SequentialError, SequentialRuns,
    SequentialTable, Unknown, Value, decide,
};
use untorn_testkit::Rng;
use untorn_testkit::cases;
use untorn_testkit::linearizable::{HistoryCall, is_linearizable};

use crate::models::{MODELS, Model, Object, scenario};

/// Few enough for all permutations.
const MAX_CALLS: usize = 6;

fn below(rng: &mut Rng, n: usize) -> usize {
    (rng.bits() % n as u64) as usize
}

fn random_threads(rng: &mut Rng) -> Vec<Vec<u32>> {
    let count = 2 + below(rng, 2);
    let mut left = MAX_CALLS;
    let mut threads = Vec::new();
    for thread in 0..count {
        let most = (left - (count - thread - 1)).min(3);
        let length = 1 + below(rng, most);
        left -= length;
        threads.push((0..length).map(|_| below(rng, 8) as u32).collect());
    }
    threads
}

/// What threads see that make their calls at some point between begin and end.
fn random_history(rng: &mut Rng, model: Model, threads: &[Vec<u32>]) -> Vec<Observation> {
    #[derive(Clone, PartialEq)]
    enum Stage {
        Idle,
        Begun,
        Waits,
        Done(String),
    }
    let mut object = Object::new(model);
    let (mut stages, mut next) = (vec![Stage::Idle; threads.len()], vec![0; threads.len()]);
    let mut observed = Vec::new();
    loop {
        let can = |thread: &usize| match stages[*thread] {
            Stage::Idle => next[*thread] < threads[*thread].len(),
            Stage::Waits => false,
            _ => true,
        };
        let ready: Vec<usize> = (0..threads.len()).filter(can).collect();
        if ready.is_empty() {
            return observed;
        }
        let thread = ready[below(rng, ready.len())];
        let id = CallId { section: thread + 1, index: next[thread] };
        match stages[thread].clone() {
            Stage::Idle => {
                observed.push(Observation::Began(id));
                stages[thread] = Stage::Begun;
            }
            Stage::Begun => {
                stages[thread] = Stage::Waits;
                for (ended, result) in object.call(id, threads[thread][id.index]) {
                    stages[ended.section - 1] = Stage::Done(result);
                }
            }
            Stage::Waits => {}
            Stage::Done(result) => {
                observed.push(Observation::Ended(id, Outcome::Returned(Value::parse(&result))));
                stages[thread] = Stage::Idle;
                next[thread] += 1;
            }
        }
    }
}

/// Gives a call the result of another one, or another number.
fn spoil(rng: &mut Rng, observed: &mut [Observation]) {
    let results: Vec<Outcome> = observed
        .iter()
        .filter_map(|one| match one {
            Observation::Ended(_, outcome) => Some(outcome.clone()),
            Observation::Began(_) => None,
        })
        .collect();
    if results.is_empty() {
        return;
    }
    let (from, to) = (below(rng, results.len()), below(rng, results.len()));
    let mut ends = observed.iter_mut().filter_map(|one| match one {
        Observation::Ended(_, outcome) => Some(outcome),
        Observation::Began(_) => None,
    });
    if let Some(outcome) = ends.nth(to) {
        *outcome = results[from].clone();
    }
}

fn by_definition(model: Model, threads: &[Vec<u32>], history: &History) -> bool {
    let calls: Vec<HistoryCall> = history
        .calls
        .iter()
        .map(|call| HistoryCall {
            thread: call.id.section,
            began: call.began,
            ended: call.ended.as_ref().map(|(at, outcome)| (*at, outcome.to_string())),
        })
        .collect();
    let run = |order: &[usize]| {
        let mut object = Object::new(model);
        let place =
            |id: CallId| history.calls.iter().position(|own| own.id == id).expect("a call of it");
        let step = |&call: &usize| {
            let id = history.calls[call].id;
            let ended = object.call(id, threads[id.section - 1][id.index]);
            let shown = |result: &str| Outcome::Returned(Value::parse(result)).to_string();
            ended.into_iter().map(|(id, result)| (place(id), shown(&result))).collect()
        };
        order.iter().map(step).collect()
    };
    is_linearizable(&calls, &run)
}

#[test]
fn the_search_decides_as_all_permutations_do() {
    let mut rng = Rng::new(11);
    let mut seen = [[0_u64; 2]; MODELS.len()];
    for _ in 0..cases(30_000, 1_000_000) {
        let which = below(&mut rng, MODELS.len());
        let mut model = MODELS[which];
        let threads = random_threads(&mut rng);
        let mut observed = random_history(&mut rng, model, &threads);
        if below(&mut rng, 3) > 0 {
            spoil(&mut rng, &mut observed);
        }
        let history = History::new(observed).expect("a history");
        let scenario = scenario(&threads);
        let mut table = SequentialTable::default();
        let verdict = decide(&scenario, &history, &mut table, &mut model);
        let is_right = match &verdict {
            Linearizability::Linearizable(_) => true,
            Linearizability::NotLinearizable(_) => false,
            Linearizability::Unknown(why) => panic!("{why}: {model:?} {threads:?} {history:?}"),
        };
        // Objects are compared by which one they are; the oracle knows only their numbers.
        if model != Model::Factory {
            let expected = by_definition(model, &threads, &history);
            assert_eq!(is_right, expected, "{model:?} {threads:?} {history:?} {verdict:?}");
        }
        seen[which][usize::from(is_right)] += 1;
    }
    if cases(100, 100) == 100 {
        let both = seen.iter().all(|[wrong, right]| *wrong > 20 && *right > 20);
        assert!(both, "every object has right and wrong histories: {seen:?}");
    }
}

fn verdict(mut model: Model, threads: &[Vec<u32>], lines: &[&str]) -> Linearizability {
    let history = History::parse(lines.iter().copied()).expect("a history");
    decide(&scenario(threads), &history, &mut SequentialTable::default(), &mut model)
}

#[test]
fn a_call_that_returned_before_another_began_comes_first() {
    let threads = [vec![0], vec![1]];
    let stale = ["call 1 0", "return 1 0 1", "call 2 0", "return 2 0 0"];
    let Linearizability::NotLinearizable(why) = verdict(Model::Counter, &threads, &stale) else {
        panic!("the count is stale");
    };
    assert_eq!((why.orders, why.differs), (1, Some(CallId { section: 2, index: 0 })));
    let overlaps = ["call 1 0", "call 2 0", "return 1 0 1", "return 2 0 0"];
    assert!(matches!(
        verdict(Model::Counter, &threads, &overlaps),
        Linearizability::Linearizable(_)
    ));
}

#[test]
fn a_call_may_wait_only_where_a_sequential_order_waits() {
    let threads = [vec![1], vec![0]];
    let empty = ["call 1 0"];
    assert!(matches!(
        verdict(Model::BlockingQueue, &threads, &empty),
        Linearizability::Linearizable(_)
    ));
    let lost = ["call 1 0", "call 2 0", "return 2 0 null"];
    assert!(matches!(
        verdict(Model::BlockingQueue, &threads, &lost),
        Linearizability::NotLinearizable(_)
    ));
}

#[test]
fn two_that_hand_over_are_right_if_they_overlap() {
    let threads = [vec![2], vec![1]];
    let meet = ["call 1 0", "call 2 0", "return 2 0 2", "return 1 0 null"];
    assert!(matches!(verdict(Model::HandOver, &threads, &meet), Linearizability::Linearizable(_)));
    let apart = ["call 1 0", "return 1 0 null", "call 2 0", "return 2 0 2"];
    assert!(matches!(
        verdict(Model::HandOver, &threads, &apart),
        Linearizability::NotLinearizable(_)
    ));
}

#[test]
fn objects_are_compared_by_which_one_they_are() {
    let threads = [vec![0], vec![0]];
    let different = ["call 1 0", "call 2 0", "return 1 0 <Thing#9>", "return 2 0 <Thing#4>"];
    assert!(matches!(
        verdict(Model::Factory, &threads, &different),
        Linearizability::Linearizable(_)
    ));
    let same = ["call 1 0", "call 2 0", "return 1 0 <Thing#9>", "return 2 0 <Thing#9>"];
    assert!(matches!(
        verdict(Model::Factory, &threads, &same),
        Linearizability::NotLinearizable(_)
    ));
}

/// An object that depends on something else than its calls.
struct Moody(u32);

impl SequentialRuns for Moody {
    fn run(
        &mut self,
        scenario: &untorn_linearizability::Scenario,
        order: &[usize],
    ) -> Result<Vec<Observation>, SequentialError> {
        self.0 += 1;
        let mut observed = Model::Counter.run(scenario, order)?;
        if let Some(Observation::Ended(_, outcome)) = observed.last_mut() {
            *outcome = Outcome::Threw(format!("Mood{}", self.0));
        }
        Ok(observed)
    }
}

#[test]
fn an_object_that_is_not_deterministic_is_not_judged() {
    let threads = [vec![0, 2], vec![1]];
    let probed = SequentialTable::default().probe(&mut Moody(0), &scenario(&threads));
    assert_eq!(probed, Err(SequentialError::NotDeterministic));
    let lines =
        ["call 1 0", "call 2 0", "return 1 0 1", "call 1 1", "return 2 0 1", "return 1 1 2"];
    let history = History::parse(lines).expect("a history");
    let mut table = SequentialTable::default();
    let verdict = decide(&scenario(&threads), &history, &mut table, &mut Moody(0));
    let unknown = Unknown::Sequential(SequentialError::NotDeterministic);
    assert_eq!(verdict, Linearizability::Unknown(unknown));
}
