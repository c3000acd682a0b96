//! Random terms over two variables of a few bits: the solver answers as trying all values does.

use std::io::Write;
use std::process::{Command, Stdio};

use untorn_schedule::Rng;
use untorn_symbolic::Terms;
use untorn_symbolic::smtlib::script;
use untorn_symbolic::solve::{Answer, Budget, solve};
use untorn_symbolic::term::{BinOp, CmpOp, TermId, VarId};

const OPERATIONS: [BinOp; 11] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Rem,
    BinOp::And,
    BinOp::Or,
    BinOp::Xor,
    BinOp::Shl,
    BinOp::Shr,
    BinOp::Ushr,
];

/// A term of that width over two variables.
fn random(terms: &mut Terms, rng: &mut Rng, width: u8, depth: u32) -> TermId {
    if depth == 0 || rng.below(6) == 0 {
        return match rng.below(3) {
            0 => terms.constant(width, rng.bits()),
            which => terms.var(width, VarId(which as u32 - 1), 3),
        };
    }
    match rng.below(8) {
        0 => {
            let condition = condition(terms, rng, width, depth - 1);
            let yes = random(terms, rng, width, depth - 1);
            let no = random(terms, rng, width, depth - 1);
            terms.ite(condition, yes, no)
        }
        1 => {
            let one = random(terms, rng, width, depth - 1);
            let other = if rng.below(2) == 0 { width / 2 } else { width * 2 };
            let resized = terms.resize(one, other, rng.below(2) == 0);
            terms.resize(resized, width, rng.below(2) == 0)
        }
        _ => {
            let op = OPERATIONS[rng.below(OPERATIONS.len() as u64) as usize];
            let a = random(terms, rng, width, depth - 1);
            let b = random(terms, rng, width, depth - 1);
            terms.bin(op, a, b)
        }
    }
}

fn condition(terms: &mut Terms, rng: &mut Rng, width: u8, depth: u32) -> TermId {
    let a = random(terms, rng, width, depth);
    let b = random(terms, rng, width, depth);
    let op = if rng.below(2) == 0 { CmpOp::Eq } else { CmpOp::Less };
    let found = terms.cmp(op, a, b);
    if rng.below(2) == 0 { terms.not(found) } else { found }
}

fn question(seed: u64, width: u8) -> (Terms, Vec<TermId>) {
    let mut rng = Rng::new(seed);
    let mut terms = Terms::default();
    let count = 1 + rng.below(3);
    let must = (0..count).map(|_| condition(&mut terms, &mut rng, width, 3)).collect();
    (terms, must)
}

/// Whether all hold for these values.
fn holds(terms: &Terms, must: &[TermId], values: [u64; 2]) -> bool {
    must.iter().all(|&term| terms.evaluate(term, &|var| values[var.0 as usize]) == 1)
}

#[test]
fn answers_are_those_of_trying_all_values() {
    let (mut yes, mut no) = (0, 0);
    for seed in 0..1500 {
        let (terms, must) = question(seed, 4);
        let all = (0..16).flat_map(|a| (0..16).map(move |b| [a, b]));
        let expected = all.into_iter().any(|values| holds(&terms, &must, values));
        match solve(&terms, &must, &[], Budget::default()) {
            Answer::Values(values) => {
                let value = |at| values.get(&VarId(at)).copied().unwrap_or(0);
                assert!(holds(&terms, &must, [value(0), value(1)]), "seed {seed}: {values:?}");
                yes += 1;
            }
            Answer::None => {
                assert!(!expected, "seed {seed}: there are values");
                no += 1;
            }
            Answer::Unknown => panic!("seed {seed}: no answer to so small a question"),
        }
    }
    assert!(yes > 300 && no > 100, "{yes} and {no}: the questions are too much alike");
}

#[test]
fn a_wish_is_granted_if_it_can_be() {
    let mut terms = Terms::default();
    let x = terms.var(32, VarId(0), 100);
    let twenty = terms.constant(32, 20);
    let greater = terms.cmp(CmpOp::Less, twenty, x);
    let at_most = terms.not(greater);
    let (ten, thirty) = (terms.equals(x, 10), terms.equals(x, 30));
    let wishes = [vec![thirty], vec![ten]];
    let Answer::Values(values) = solve(&terms, &[at_most], &wishes, Budget::default()) else {
        panic!("there are values");
    };
    assert_eq!(values[&VarId(0)], 10);
}

#[test]
fn java_arithmetic_wraps_and_truncates() {
    let mut terms = Terms::default();
    let least = terms.constant(32, 0x8000_0000);
    let minus = terms.constant(32, u64::MAX);
    let seven = terms.constant(32, 7);
    let minus_seven = terms.constant(32, (-7_i64).cast_unsigned());
    let two = terms.constant(32, 2);
    let quotient = terms.bin(BinOp::Div, least, minus);
    assert_eq!(terms.value(quotient), 0x8000_0000);
    let quotient = terms.bin(BinOp::Div, minus_seven, two);
    assert_eq!(terms.value(quotient), u64::from((-3_i32).cast_unsigned()));
    let rest = terms.bin(BinOp::Rem, minus_seven, two);
    assert_eq!(terms.value(rest), u64::from(u32::MAX));
    let distance = terms.constant(32, 33);
    let shifted = terms.bin(BinOp::Shl, seven, distance);
    assert_eq!(terms.value(shifted), 14);
}

/// What another solver says, if there is one.
fn z3(script: &str) -> Option<String> {
    let mut child = Command::new("z3")
        .arg("-in")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(script.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

#[test]
fn another_solver_agrees_if_there_is_one() {
    for seed in 0..40 {
        let (terms, must) = question(seed + 7_000, 32);
        let text = script(&terms, &must);
        assert!(text.contains("(check-sat)") && text.starts_with("(set-logic QF_BV)"), "{text}");
        let Some(said) = z3(&text) else { return };
        match solve(&terms, &must, &[], Budget::default()) {
            Answer::Values(_) => assert_eq!(said, "sat", "seed {seed}: {text}"),
            Answer::None => assert_eq!(said, "unsat", "seed {seed}: {text}"),
            Answer::Unknown => {}
        }
    }
}
