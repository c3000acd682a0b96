//! Bits of terms as literals of the solver.

use std::cell::Cell;

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, lbool};
use rustc_hash::FxHashMap;

use super::{Answer, Budget};
use crate::term::{BinOp, CmpOp, Term, TermId, Terms, VarId};

/// Stops the solver after so many decisions: the same on every machine.
struct Decisions(Cell<u32>);

impl Callbacks for Decisions {
    fn stop(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }
}

/// A bit that is known, or a literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bit {
    Is(bool),
    Lit(Lit),
}

impl std::ops::Not for Bit {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Is(value) => Self::Is(!value),
            Self::Lit(lit) => Self::Lit(!lit),
        }
    }
}

/// The lowest bit first.
type Bits = Vec<Bit>;

pub(super) struct Blaster<'a> {
    terms: &'a Terms,
    solver: Solver<Decisions>,
    bits: FxHashMap<TermId, Bits>,
    vars: FxHashMap<VarId, Bits>,
    gates: FxHashMap<(u8, Lit, Lit), Lit>,
    clauses: u64,
    budget: Budget,
    is_contradiction: bool,
}

impl<'a> Blaster<'a> {
    pub(super) fn new(terms: &'a Terms, budget: Budget) -> Self {
        let decisions = Decisions(Cell::new(budget.decisions));
        Self {
            terms,
            solver: Solver::new(SolverOpts::default(), decisions),
            bits: FxHashMap::default(),
            vars: FxHashMap::default(),
            gates: FxHashMap::default(),
            clauses: 0,
            budget,
            is_contradiction: false,
        }
    }

    pub(super) fn require(&mut self, term: TermId) {
        match self.of(term)[0] {
            Bit::Is(holds) => self.is_contradiction |= !holds,
            Bit::Lit(lit) => self.clause(&[lit]),
        }
    }

    pub(super) fn solve(&mut self, wish: &[TermId]) -> Answer {
        let mut assumed = Vec::new();
        for &term in wish {
            match self.of(term)[0] {
                Bit::Is(true) => {}
                Bit::Is(false) => return Answer::None,
                Bit::Lit(lit) => assumed.push(lit),
            }
        }
        if self.is_contradiction {
            return Answer::None;
        }
        if self.clauses > self.budget.clauses {
            return Answer::Unknown;
        }
        let found = self.solver.solve_limited(&assumed);
        if found == lbool::TRUE {
            let value = |bit: &Bit| match bit {
                Bit::Is(value) => *value,
                Bit::Lit(lit) => self.solver.value_lit(*lit) == lbool::TRUE,
            };
            let number = |bits: &Bits| {
                bits.iter().rev().fold(0, |number, bit| number << 1 | u64::from(value(bit)))
            };
            Answer::Values(self.vars.iter().map(|(&var, bits)| (var, number(bits))).collect())
        } else if found == lbool::FALSE {
            Answer::None
        } else {
            Answer::Unknown
        }
    }

    fn clause(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        if self.clauses <= self.budget.clauses {
            let mut lits = lits.to_vec();
            self.is_contradiction |= !self.solver.add_clause_reuse(&mut lits);
        }
    }

    fn fresh(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    /// The bits of a term. Those of its parts come first, without recursion: a path may nest terms deeply.
    fn of(&mut self, term: TermId) -> Bits {
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            if self.bits.contains_key(&next) {
                open.pop();
                continue;
            }
            let before = open.len();
            let missing = self.terms.operands(next).filter(|one| !self.bits.contains_key(one));
            open.extend(missing);
            if open.len() == before {
                let bits = self.made(next);
                self.bits.insert(next, bits);
                open.pop();
            }
        }
        self.bits[&term].clone()
    }

    fn made(&mut self, id: TermId) -> Bits {
        let of = |own: &Self, one: TermId| own.bits[&one].clone();
        match self.terms.get(id) {
            Term::Const { width, bits } => {
                (0..width).map(|at| Bit::Is(bits >> at & 1 == 1)).collect()
            }
            Term::Var { width, var } => {
                if let Some(bits) = self.vars.get(&var) {
                    return bits.clone();
                }
                let bits: Bits = (0..width).map(|_| Bit::Lit(self.fresh())).collect();
                self.vars.insert(var, bits.clone());
                bits
            }
            Term::Bin(op, a, b) => {
                let (a, b) = (of(self, a), of(self, b));
                self.bin(op, &a, &b)
            }
            Term::Cmp(op, a, b) => {
                let (a, b) = (of(self, a), of(self, b));
                vec![match op {
                    CmpOp::Eq => self.equal(&a, &b),
                    CmpOp::Less => self.less(&a, &b),
                }]
            }
            Term::Not(a) => vec![!of(self, a)[0]],
            Term::Ite(condition, yes, no) => {
                let condition = of(self, condition)[0];
                let (yes, no) = (of(self, yes), of(self, no));
                self.choose(condition, &yes, &no)
            }
            Term::Resize { of: a, width, signed } => {
                let mut bits = of(self, a);
                let sign = if signed { bits[bits.len() - 1] } else { Bit::Is(false) };
                bits.resize(usize::from(width), sign);
                bits
            }
        }
    }

    fn bin(&mut self, op: BinOp, a: &[Bit], b: &[Bit]) -> Bits {
        match op {
            BinOp::Add => self.sum(a, b, Bit::Is(false)),
            BinOp::Sub => {
                let b: Bits = b.iter().map(|&bit| !bit).collect();
                self.sum(a, &b, Bit::Is(true))
            }
            BinOp::Mul => self.product(a, b),
            BinOp::Div => self.divided(a, b).0,
            BinOp::Rem => self.divided(a, b).1,
            BinOp::And => a.iter().zip(b).map(|(&a, &b)| self.and(a, b)).collect(),
            BinOp::Or => a.iter().zip(b).map(|(&a, &b)| self.or(a, b)).collect(),
            BinOp::Xor => a.iter().zip(b).map(|(&a, &b)| self.xor(a, b)).collect(),
            BinOp::Shl | BinOp::Shr | BinOp::Ushr => self.shifted(op, a, b),
        }
    }

    // ---- gates ----

    fn and(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (Bit::Is(false), _) | (_, Bit::Is(false)) => Bit::Is(false),
            (Bit::Is(true), one) | (one, Bit::Is(true)) => one,
            (Bit::Lit(a), Bit::Lit(b)) if a == b => Bit::Lit(a),
            (Bit::Lit(a), Bit::Lit(b)) if a == !b => Bit::Is(false),
            (Bit::Lit(a), Bit::Lit(b)) => {
                let key = (0, a.min(b), a.max(b));
                if let Some(&known) = self.gates.get(&key) {
                    return Bit::Lit(known);
                }
                let both = self.fresh();
                self.clause(&[!both, a]);
                self.clause(&[!both, b]);
                self.clause(&[both, !a, !b]);
                self.gates.insert(key, both);
                Bit::Lit(both)
            }
        }
    }

    fn or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.and(!a, !b)
    }

    fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (Bit::Is(value), one) | (one, Bit::Is(value)) => {
                if value {
                    !one
                } else {
                    one
                }
            }
            (Bit::Lit(a), Bit::Lit(b)) if a == b => Bit::Is(false),
            (Bit::Lit(a), Bit::Lit(b)) if a == !b => Bit::Is(true),
            (Bit::Lit(a), Bit::Lit(b)) => {
                let key = (1, a.min(b), a.max(b));
                if let Some(&known) = self.gates.get(&key) {
                    return Bit::Lit(known);
                }
                let differ = self.fresh();
                self.clause(&[!differ, a, b]);
                self.clause(&[!differ, !a, !b]);
                self.clause(&[differ, !a, b]);
                self.clause(&[differ, a, !b]);
                self.gates.insert(key, differ);
                Bit::Lit(differ)
            }
        }
    }

    fn either(&mut self, condition: Bit, yes: Bit, no: Bit) -> Bit {
        match condition {
            Bit::Is(true) => yes,
            Bit::Is(false) => no,
            Bit::Lit(_) if yes == no => yes,
            Bit::Lit(_) => {
                let (a, b) = (self.and(condition, yes), self.and(!condition, no));
                self.or(a, b)
            }
        }
    }

    fn choose(&mut self, condition: Bit, yes: &[Bit], no: &[Bit]) -> Bits {
        yes.iter().zip(no).map(|(&yes, &no)| self.either(condition, yes, no)).collect()
    }

    fn equal(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        a.iter().zip(b).fold(Bit::Is(true), |all, (&a, &b)| {
            let same = !self.xor(a, b);
            self.and(all, same)
        })
    }

    /// Signed.
    fn less(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        let top = a.len() - 1;
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        (a[top], b[top]) = (!a[top], !b[top]);
        self.below(&a, &b)
    }

    /// Unsigned.
    fn below(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        a.iter().zip(b).fold(Bit::Is(false), |lower, (&a, &b)| {
            let differ = self.xor(a, b);
            self.either(differ, b, lower)
        })
    }

    fn sum(&mut self, a: &[Bit], b: &[Bit], carry: Bit) -> Bits {
        let mut carry = carry;
        let mut out = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let differ = self.xor(a, b);
            out.push(self.xor(differ, carry));
            carry = self.either(differ, carry, a);
        }
        out
    }

    fn negated(&mut self, a: &[Bit]) -> Bits {
        let inverted: Bits = a.iter().map(|&bit| !bit).collect();
        let zero = vec![Bit::Is(false); a.len()];
        self.sum(&inverted, &zero, Bit::Is(true))
    }

    fn product(&mut self, a: &[Bit], b: &[Bit]) -> Bits {
        let width = a.len();
        let mut out = vec![Bit::Is(false); width];
        for (shift, &bit) in b.iter().enumerate() {
            if bit == Bit::Is(false) {
                continue;
            }
            let mut row = vec![Bit::Is(false); shift];
            for &one in &a[..width - shift] {
                row.push(self.and(one, bit));
            }
            out = self.sum(&out, &row, Bit::Is(false));
        }
        out
    }

    /// Quotient and remainder, signed and rounded towards zero. By zero: 0 and the dividend.
    fn divided(&mut self, a: &[Bit], b: &[Bit]) -> (Bits, Bits) {
        let width = a.len();
        let (sign_a, sign_b) = (a[width - 1], b[width - 1]);
        let (minus_a, minus_b) = (self.negated(a), self.negated(b));
        let (x, y) = (self.choose(sign_a, &minus_a, a), self.choose(sign_b, &minus_b, b));
        let mut rest = vec![Bit::Is(false); width];
        let mut quotient = vec![Bit::Is(false); width];
        for at in (0..width).rev() {
            // The bit that is shifted out says that the rest is larger than any divisor.
            let over = rest[width - 1];
            rest.rotate_right(1);
            rest[0] = x[at];
            let below = self.below(&rest, &y);
            let fits = self.or(over, !below);
            let inverted: Bits = y.iter().map(|&bit| !bit).collect();
            let less = self.sum(&rest, &inverted, Bit::Is(true));
            rest = self.choose(fits, &less, &rest);
            quotient[at] = fits;
        }
        let signs_differ = self.xor(sign_a, sign_b);
        let (minus_q, minus_r) = (self.negated(&quotient), self.negated(&rest));
        let quotient = self.choose(signs_differ, &minus_q, &quotient);
        let rest = self.choose(sign_a, &minus_r, &rest);
        let zero = vec![Bit::Is(false); width];
        let by_zero = self.equal(b, &zero);
        (self.choose(by_zero, &zero, &quotient), self.choose(by_zero, a, &rest))
    }

    fn shifted(&mut self, op: BinOp, a: &[Bit], b: &[Bit]) -> Bits {
        let width = a.len();
        let mut out = a.to_vec();
        for (stage, &bit) in b.iter().enumerate().take(width.trailing_zeros() as usize) {
            let distance = 1 << stage;
            let fill = if op == BinOp::Shr { out[width - 1] } else { Bit::Is(false) };
            let moved: Bits = (0..width)
                .map(|at| match op {
                    BinOp::Shl => at.checked_sub(distance).map_or(fill, |from| out[from]),
                    _ => out.get(at + distance).copied().unwrap_or(fill),
                })
                .collect();
            out = self.choose(bit, &moved, &out);
        }
        out
    }
}
