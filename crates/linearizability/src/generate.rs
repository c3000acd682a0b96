//! Scenarios of one class, the smallest first.
//!
//! **Paper:** Burckhardt, Dern, Musuvathi, Tan, *Line-Up*, PLDI 2010: small random tests of few calls find nearly all
//! violations that larger ones find.
//!
//! **What we changed, and why.** Every two operations are first called by two threads, on an object that is new and on one
//! that was filled: most violations need no more. An operation that looks at several parts of the object, one after the
//! other, is wrong only if two calls change two of the parts meanwhile: so every operation is called beside every two
//! calls, the first about an element that is there, the second about one that is not. More calls and more threads come
//! at random. Calls at the end look at the object, so that what it became counts as well. Arguments are few, so that
//! calls meet at the same element.
//!
//! **Promise:** the same seed gives the same scenarios, and none of them twice.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use untorn_trace::shapes::Rng;

use crate::scenario::{Call, Constructor, Operation, Scenario};

/// Calls of each thread, in scenarios that follow those with one call in each of two threads.
/// One call between whose steps another thread makes several is what most violations need.
const SHAPES: [&[usize]; 12] = [
    &[1, 2],
    &[1, 3],
    &[1, 4],
    &[1, 3],
    &[2, 2],
    &[2, 3],
    &[1, 1, 1],
    &[1, 1, 2],
    &[2, 4],
    &[1, 2, 2],
    &[3, 3],
    &[2, 2, 2],
];

/// Calls after the threads.
const MAX_AFTER: usize = 10;

/// Different elements that a call at the end asks for.
const MAX_ASKED: usize = 3;

/// Tries to make a scenario that is new.
const MAX_TRIES: u32 = 64;

/// Makes scenarios.
#[derive(Debug)]
pub struct Generator {
    class: String,
    constructors: Vec<Constructor>,
    operations: Vec<Arc<Operation>>,
    /// Those that may wait when nobody else calls: they are not called at the end.
    waiting: BTreeSet<Arc<Operation>>,
    rng: Rng,
    /// Pairs of operations, and how many calls fill the object before.
    pairs: Vec<(usize, usize, usize)>,
    moves: Vec<Move>,
    made: u64,
    /// Those that are not pairs.
    larger: u64,
    known: FxHashSet<Scenario>,
}

/// One operation in a thread, two calls in the other: about an element that is there, and about one that is not.
#[derive(Clone, Copy, Debug)]
struct Move {
    whole: usize,
    first: usize,
    second: usize,
    /// The operation that has filled the object.
    filling: usize,
    /// The element that the first call is about.
    element: u32,
}

/// Elements that are there before a [`Move`]. Which of them comes first in the object is not known: each is tried.
const MOVED: u32 = 2;

/// With many operations only some of the [`Move`]s are tried.
const MAX_MOVES: usize = 10_000;

impl Move {
    /// All of them, the least promising first: operations without arguments are about the object as a whole, those with
    /// arguments change a part of it.
    fn all(operations: &[Operation], rng: &mut Rng) -> Vec<Self> {
        let has_arguments = |&at: &usize| !operations[at].parameters().is_empty();
        let count = operations.len();
        let filling: Vec<usize> = (0..count).filter(has_arguments).collect();
        let total = filling.len() * count.pow(3) * MOVED as usize;
        let nth = |n: usize| Self {
            whole: n % count,
            first: n / count % count,
            second: n / count.pow(2) % count,
            element: 1 + (n / count.pow(3)) as u32 % MOVED,
            filling: filling[n / count.pow(3) / MOVED as usize],
        };
        let mut all: Vec<Self> = match total {
            0..=MAX_MOVES => (0..total).map(nth).collect(),
            _ => (0..MAX_MOVES).map(|_| nth(below(rng, total))).collect(),
        };
        all.retain(|own| has_arguments(&own.first) || own.element == 1);
        shuffle(&mut all, rng);
        all.sort_by_key(|own| {
            [has_arguments(&own.first), has_arguments(&own.second), !has_arguments(&own.whole)]
                .into_iter()
                .filter(|&fits| fits)
                .count()
        });
        all
    }
}

impl Generator {
    /// `constructors` are different ways to make the object; the first is used most.
    pub fn new(
        class: &str,
        constructors: Vec<Constructor>,
        operations: Vec<Operation>,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::new(seed ^ 0x4c69_6e65);
        let count = operations.len();
        let all = (0..count).flat_map(|one| (one..count).map(move |other| (one, other)));
        let mut pairs: Vec<(usize, usize, usize)> =
            all.flat_map(|(one, other)| [0, 2].map(|filled| (one, other, filled))).collect();
        // With many operations time may be over before all pairs were tried: no one is always the last.
        shuffle(&mut pairs, &mut rng);
        let moves = Move::all(&operations, &mut rng);
        Self {
            class: class.to_owned(),
            constructors,
            operations: operations.into_iter().map(Arc::new).collect(),
            waiting: BTreeSet::new(),
            rng,
            pairs,
            moves,
            made: 0,
            larger: 0,
            known: FxHashSet::default(),
        }
    }

    /// An operation waits when it is called at the end.
    pub fn avoid_at_end(&mut self, operation: &Arc<Operation>) {
        self.waiting.insert(Arc::clone(operation));
    }

    /// The next scenario; `None` if there is hardly a new one.
    pub fn next_scenario(&mut self) -> Option<Scenario> {
        (0..MAX_TRIES).find_map(|_| {
            let scenario = self.make();
            self.known.insert(scenario.clone()).then_some(scenario)
        })
    }

    fn make(&mut self) -> Scenario {
        self.made += 1;
        let mut values = Values { next: 1 };
        // Of three scenarios, one is larger from the start: if there are many operations, pairs alone would take all time.
        let pair = if self.made.is_multiple_of(3) { None } else { self.pairs.pop() };
        let (before, threads) = match pair {
            Some(pair) => self.pair(pair, &mut values),
            None => {
                self.larger += 1;
                let is_move = !self.larger.is_multiple_of(3);
                match self.moves.pop_if(|_| is_move) {
                    Some(own) => self.moved(own, &mut values),
                    None => self.any(&mut values),
                }
            }
        };
        let constructor = match below(&mut self.rng, 3) {
            0 => below(&mut self.rng, self.constructors.len()),
            _ => 0,
        };
        let mut sections = vec![before];
        sections.extend(threads);
        let after = self.after(&sections);
        sections.push(after);
        Scenario {
            class: self.class.clone(),
            constructor: self.constructors[constructor].clone(),
            sections,
        }
    }

    /// Two operations that two threads call.
    fn pair(
        &mut self,
        (one, other, filled): (usize, usize, usize),
        values: &mut Values,
    ) -> (Vec<Call>, Vec<Vec<Call>>) {
        let before = self.fill(filled, values);
        let first = vec![self.call(one, values)];
        (before, vec![first, vec![self.call(other, values)]])
    }

    fn moved(&self, own: Move, values: &mut Values) -> (Vec<Call>, Vec<Vec<Call>>) {
        let fill = |_| self.distinct_call(own.filling, values);
        let before = (0..MOVED).map(fill).collect();
        let mut whole = self.distinct_call(own.whole, values);
        let mut first = self.distinct_call(own.first, values);
        for call in [&mut whole, &mut first] {
            if let Some(about) = call.arguments.first_mut() {
                *about = own.element;
            }
        }
        // The next element, wherever a class that spreads its elements puts it.
        let mut second = self.distinct_call(own.second, values);
        if let Some(about) = second.arguments.first_mut() {
            *about = MOVED + 3 - own.element;
        }
        (before, vec![vec![whole], vec![first, second]])
    }

    /// Calls and threads at random.
    fn any(&mut self, values: &mut Values) -> (Vec<Call>, Vec<Vec<Call>>) {
        let filled = below(&mut self.rng, 4);
        let before = self.fill(filled, values);
        let shape = SHAPES[below(&mut self.rng, SHAPES.len())];
        let mut threads = Vec::new();
        for &length in shape {
            threads.push((0..length).map(|_| self.any_call(values)).collect());
        }
        (before, threads)
    }

    /// Calls that may put something into the object: one operation with arguments, several times.
    fn fill(&mut self, count: usize, values: &mut Values) -> Vec<Call> {
        let with_arguments: Vec<usize> = (0..self.operations.len())
            .filter(|&at| !self.operations[at].parameters().is_empty())
            .collect();
        let operation = match with_arguments.len() {
            0 => below(&mut self.rng, self.operations.len()),
            some => with_arguments[below(&mut self.rng, some)],
        };
        (0..count).map(|_| self.distinct_call(operation, values)).collect()
    }

    fn any_call(&mut self, values: &mut Values) -> Call {
        let operation = below(&mut self.rng, self.operations.len());
        self.call(operation, values)
    }

    /// A call on an element that others may be about as well, or with a value that nobody else has.
    fn call(&mut self, operation: usize, values: &mut Values) -> Call {
        let mut call = self.distinct_call(operation, values);
        if let Some(first) = call.arguments.first_mut()
            && below(&mut self.rng, 3) > 0
        {
            *first = 1 + below(&mut self.rng, 2) as u32;
        }
        call
    }

    fn distinct_call(&self, operation: usize, values: &mut Values) -> Call {
        let operation = Arc::clone(&self.operations[operation]);
        let number = values.take();
        let arguments = vec![number; operation.parameters().len()];
        Call { operation, arguments }
    }

    /// Calls that look at what became of the object: all that return something, some of them several times.
    fn after(&self, sections: &[Vec<Call>]) -> Vec<Call> {
        let returns = |operation: &&Arc<Operation>| {
            !operation.is_void() && !self.waiting.contains(*operation)
        };
        let observers: Vec<&Arc<Operation>> = self.operations.iter().filter(returns).collect();
        let firsts = sections.iter().flatten().filter_map(|call| call.arguments.first().copied());
        let asked: BTreeSet<u32> = firsts.collect();
        let plain: Vec<Call> = observers
            .iter()
            .filter(|operation| operation.parameters().is_empty())
            .map(|operation| Call { operation: Arc::clone(operation), arguments: Vec::new() })
            .collect();
        let about = |operation: &&&Arc<Operation>| operation.parameters().len() == 1;
        let about_elements = observers.iter().filter(about).flat_map(|operation| {
            let ask =
                |number: &u32| Call { operation: Arc::clone(operation), arguments: vec![*number] };
            asked.iter().take(MAX_ASKED).map(ask).collect::<Vec<_>>()
        });
        let again = plain.iter().chain(&plain).chain(&plain);
        plain.iter().cloned().chain(about_elements).chain(again.cloned()).take(MAX_AFTER).collect()
    }
}

/// Values that no other call has.
struct Values {
    next: u32,
}

impl Values {
    fn take(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }
}

fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for at in (1..items.len()).rev() {
        items.swap(at, below(rng, at + 1));
    }
}

fn below(rng: &mut Rng, n: usize) -> usize {
    ((u128::from(rng.bits()) * n as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(seed: u64) -> Generator {
        let operation = |name: &str, descriptor: &str| Operation {
            name: name.to_owned(),
            descriptor: descriptor.to_owned(),
        };
        let operations = vec![
            operation("push", "(Ljava/lang/Object;)V"),
            operation("pop", "()Ljava/lang/Object;"),
            operation("size", "()I"),
        ];
        let constructor = Constructor { descriptor: "()V".to_owned(), arguments: Vec::new() };
        Generator::new("Stack", vec![constructor], operations, seed)
    }

    fn texts(mut generator: Generator, count: usize) -> Vec<String> {
        std::iter::from_fn(|| generator.next_scenario())
            .take(count)
            .map(|one| one.to_text())
            .collect()
    }

    #[test]
    fn a_seed_gives_the_same_scenarios_and_none_twice() {
        let all = texts(generator(7), 300);
        assert_eq!(all.len(), 300);
        assert_eq!(all, texts(generator(7), 300));
        assert_ne!(all, texts(generator(8), 300));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 300);
    }

    #[test]
    fn every_two_operations_meet_soon_on_a_new_and_on_a_filled_object() {
        let mut generator = generator(0);
        let first: Vec<Scenario> = (0..18).filter_map(|_| generator.next_scenario()).collect();
        for (one, other) in [("push", "push"), ("push", "pop"), ("pop", "pop"), ("pop", "size")] {
            for is_filled in [false, true] {
                let meets = |own: &Scenario| {
                    let name = |at: usize| own.sections[at][0].operation.name.as_str();
                    own.threads().len() == 2
                        && own.sections[0].is_empty() != is_filled
                        && [(one, other), (other, one)].contains(&(name(1), name(2)))
                };
                assert!(first.iter().any(meets), "{one} and {other}, filled: {is_filled}");
            }
        }
    }

    #[test]
    fn a_look_at_the_whole_soon_meets_an_element_that_moves() {
        let operations = ["put", "remove"].map(|name| Operation {
            name: name.to_owned(),
            descriptor: "(Ljava/lang/Object;)Z".to_owned(),
        });
        let size = Operation { name: "size".to_owned(), descriptor: "()I".to_owned() };
        let operations: Vec<Operation> = operations.into_iter().chain([size]).collect();
        let constructor = Constructor { descriptor: "()V".to_owned(), arguments: Vec::new() };
        for seed in 0..50 {
            let mut generator =
                Generator::new("Map", vec![constructor.clone()], operations.clone(), seed);
            let some: Vec<Scenario> = (0..50).filter_map(|_| generator.next_scenario()).collect();
            for element in 1..=2 {
                let added = 5 - element;
                let wanted = format!("size() | remove({element}), put({added})");
                let moves = |own: &Scenario| {
                    let words = |thread: &Vec<Call>| {
                        thread.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                    };
                    let filled = own.sections[0].iter().filter(|call| call.operation.name == "put");
                    filled.count() == 2
                        && own.threads().iter().map(words).collect::<Vec<_>>().join(" | ") == wanted
                };
                assert!(some.iter().any(moves), "seed {seed}: {wanted}");
            }
        }
    }

    #[test]
    fn a_class_may_have_many_operations() {
        let operation = |at: usize| Operation {
            name: format!("op{at}"),
            descriptor: if at.is_multiple_of(2) { "(I)I" } else { "()I" }.to_owned(),
        };
        let constructor = Constructor { descriptor: "()V".to_owned(), arguments: Vec::new() };
        let operations = (0..400).map(operation).collect();
        let all = texts(Generator::new("Large", vec![constructor], operations, 3), 2000);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 2000);
    }

    #[test]
    fn what_waits_is_not_called_at_the_end() {
        let mut generator = generator(0);
        let pop = Arc::clone(&generator.operations[1]);
        generator.avoid_at_end(&pop);
        let scenario = generator.next_scenario().expect("a scenario");
        let after = scenario.sections.last().expect("calls at the end");
        assert!(after.iter().all(|call| call.operation.name == "size"));
    }
}
