//! The search on programs that are nothing but guards: what each run does is written down here, and all of them are tried
//! by brute force to know what can be reached.

use untorn_schedule::{InputPlace, Inputs};
use untorn_symbolic::Search;
use untorn_symbolic::path::{
    Activation, Aspect, CodePlace, Flow, Interest, Path, Source, Step, Way,
};
use untorn_symbolic::term::{BinOp, CmpOp, TermId};

/// A guard: the program goes on only if it holds.
type Guard = fn(&mut Path, [TermId; 2]) -> TermId;

/// What a run with these arguments does: it goes past guards until one does not hold. Behind each is an access; a run that
/// comes past all of them gives true.
fn run(inputs: &Inputs, guards: &[Guard]) -> (Path, bool) {
    let mut path = Path { inputs: inputs.clone(), ..Path::default() };
    let count = guards.len() as u32;
    // Instruction 2n is guard n, and 2n + 1 the access behind it; the last one is the end.
    let end = 2 * count;
    let next = (0..end).map(|at| if at % 2 == 0 { vec![at + 1, end] } else { vec![at + 1] });
    let interest = (0..end).map(|at| if at % 2 == 0 { Interest::None } else { Interest::Access });
    path.flows.push(Flow {
        name: "Guards".to_owned(),
        next: next.chain([Vec::new()]).collect(),
        interest: interest.chain([Interest::None]).collect(),
    });
    path.activations.push(Activation { flow: 0, caller: None });
    let argument = |at| Source::whole(InputPlace::Argument(at));
    let arguments = [0, 1]
        .map(|at| path.var(&argument(at), Aspect::Number, 32).expect("the arguments are numbers"));
    for (at, guard) in (0..count).zip(guards) {
        path.covered.insert((0, 2 * at));
        let condition = guard(&mut path, arguments);
        let not = path.terms.not(condition);
        let holds = path.terms.value(condition) == 1;
        let (own, other) = if holds { (condition, not) } else { (not, condition) };
        let (outcome, target) = if holds { (0, end) } else { (1, 2 * at + 1) };
        let way = Way { outcome: 1 - outcome, condition: other, target: Some(target) };
        path.steps.push(Step {
            at: CodePlace { flow: 0, index: 2 * at },
            thread: 1,
            activation: 0,
            outcome,
            condition: own,
            others: vec![way],
        });
        if !holds {
            return (path, false);
        }
        path.covered.insert((0, 2 * at + 1));
    }
    (path, true)
}

/// How many runs it takes until one comes past all guards; `None` if none does.
fn runs_to_the_end(first: [&str; 2], guards: &[Guard]) -> Option<u32> {
    let mut search = Search::default();
    let mut inputs = Inputs::arguments(first);
    let mut seen = std::collections::BTreeSet::new();
    for number in 1..200 {
        assert!(seen.insert(inputs.clone()), "{inputs} twice");
        let (path, is_through) = run(&inputs, guards);
        if is_through {
            return Some(number);
        }
        search.add(inputs, path);
        inputs = search.propose()?.inputs;
    }
    panic!("the search does not end");
}

fn number(path: &mut Path, value: i32) -> TermId {
    path.terms.constant(32, u64::from(value.cast_unsigned()))
}

fn greater(path: &mut Path, a: TermId, than: i32) -> TermId {
    let than = number(path, than);
    path.terms.cmp(CmpOp::Less, than, a)
}

const FIVE: [Guard; 5] = [
    |path, [a, _]| greater(path, a, 1000),
    |path, [a, _]| {
        let seven = number(path, 7);
        let rest = path.terms.bin(BinOp::Rem, a, seven);
        path.terms.equals(rest, 3)
    },
    |path, [a, b]| {
        let sum = path.terms.bin(BinOp::Add, a, b);
        path.terms.equals(sum, 5000)
    },
    |path, [_, b]| {
        let mask = number(path, 0xff);
        let low = path.terms.bin(BinOp::And, b, mask);
        path.terms.equals(low, 0x5a)
    },
    |path, [a, b]| {
        let product = path.terms.bin(BinOp::Mul, a, b);
        greater(path, product, 2_000_000)
    },
];

#[test]
fn five_nested_guards_take_few_runs() {
    let runs = runs_to_the_end(["0", "0"], &FIVE).expect("it can be reached");
    assert!(runs <= 10, "{runs} runs");
}

#[test]
fn what_cannot_be_is_not_proposed() {
    let guards: [Guard; 2] = [
        |path, [a, _]| greater(path, a, 10),
        |path, [a, _]| {
            let four = number(path, 4);
            path.terms.cmp(CmpOp::Less, a, four)
        },
    ];
    assert_eq!(runs_to_the_end(["0", "0"], &guards), None);
}

/// Guards `a % m == r` and `b > a * k` with small numbers: what brute force reaches, the search does.
#[test]
fn what_brute_force_reaches_is_reached() {
    const GUARDS: [Guard; 4] = [
        |path, [a, _]| {
            let three = number(path, 3);
            let rest = path.terms.bin(BinOp::Rem, a, three);
            path.terms.equals(rest, 2)
        },
        |path, [a, b]| path.terms.cmp(CmpOp::Less, a, b),
        |path, [a, b]| {
            let both = path.terms.bin(BinOp::Xor, a, b);
            path.terms.equals(both, 9)
        },
        |path, [_, b]| {
            let four = number(path, 4);
            path.terms.cmp(CmpOp::Less, b, four)
        },
    ];
    for chosen in 1..16_u32 {
        let guards: Vec<Guard> =
            (0..4).filter(|at| chosen >> at & 1 == 1).map(|at| GUARDS[at]).collect();
        let reachable = (-20..20).any(|a: i32| {
            (-20..20)
                .any(|b: i32| run(&Inputs::arguments([a, b].map(|n| n.to_string())), &guards).1)
        });
        let found = runs_to_the_end(["0", "0"], &guards).is_some();
        assert!(found || !reachable, "guards {chosen:#b}");
    }
}
