//! Terms over bit vectors: what a computation gives, as a function of the inputs.
//!
//! Equal terms are one term. Each knows its value under the inputs of the run that it comes from, so a re-execution can
//! check itself at every step.

use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TermId(u32);

impl TermId {
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}

/// A part of an input that is a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub u32);

/// Operations on two vectors of the same width, with the meaning that Java gives them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    /// Signed, rounded towards zero; the divisor is not zero.
    Div,
    Rem,
    And,
    Or,
    Xor,
    /// Of the distance the lowest bits count: five of 32, six of 64.
    Shl,
    Shr,
    Ushr,
}

/// Comparisons; their result has one bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CmpOp {
    Eq,
    /// Signed.
    Less,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Term {
    Const {
        width: u8,
        bits: u64,
    },
    Var {
        width: u8,
        var: VarId,
    },
    Bin(BinOp, TermId, TermId),
    Cmp(CmpOp, TermId, TermId),
    /// Of one bit.
    Not(TermId),
    /// If the first one, of one bit, is set, the second.
    Ite(TermId, TermId, TermId),
    /// Cut to a width, or extended to it.
    Resize {
        of: TermId,
        width: u8,
        signed: bool,
    },
}

/// The lowest bits.
pub const fn masked(bits: u64, width: u8) -> u64 {
    if width >= 64 { bits } else { bits & ((1 << width) - 1) }
}

/// The number that the bits mean, signed.
pub const fn signed(bits: u64, width: u8) -> i64 {
    let shift = 64 - width as u32;
    (bits << shift).cast_signed() >> shift
}

/// What an operation gives for values.
pub fn apply(op: BinOp, a: u64, b: u64, width: u8) -> u64 {
    let (x, y) = (signed(a, width), signed(b, width));
    let distance = (b & u64::from(width.max(1) - 1)) as u32;
    let bits = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        // The solver gives the same for the divisor that a path rules out.
        BinOp::Div if y == 0 => 0,
        BinOp::Div => x.wrapping_div(y).cast_unsigned(),
        BinOp::Rem if y == 0 => a,
        BinOp::Rem => x.wrapping_rem(y).cast_unsigned(),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a << distance,
        BinOp::Shr => (x >> distance).cast_unsigned(),
        BinOp::Ushr => masked(a, width) >> distance,
    };
    masked(bits, width)
}

/// All terms of a path.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    terms: Vec<Term>,
    /// By term: its width and its value in the run.
    facts: Vec<(u8, u64)>,
    known: FxHashMap<Term, TermId>,
    var_terms: FxHashMap<VarId, TermId>,
}

impl Terms {
    pub const fn len(&self) -> usize {
        self.terms.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn get(&self, id: TermId) -> Term {
        self.terms[id.at()]
    }

    pub fn width(&self, id: TermId) -> u8 {
        self.facts[id.at()].0
    }

    /// Its bits in the run.
    pub fn value(&self, id: TermId) -> u64 {
        self.facts[id.at()].1
    }

    fn add(&mut self, term: Term, width: u8, value: u64) -> TermId {
        if let Some(&known) = self.known.get(&term) {
            return known;
        }
        let id = TermId(self.terms.len() as u32);
        self.terms.push(term);
        self.facts.push((width, masked(value, width)));
        self.known.insert(term, id);
        id
    }

    pub fn constant(&mut self, width: u8, bits: u64) -> TermId {
        let bits = masked(bits, width);
        self.add(Term::Const { width, bits }, width, bits)
    }

    /// A variable with its value in the run.
    pub fn var(&mut self, width: u8, var: VarId, value: u64) -> TermId {
        let id = self.add(Term::Var { width, var }, width, value);
        self.var_terms.insert(var, id);
        id
    }

    /// The term of a variable, if there is one.
    pub fn find_var(&self, var: VarId) -> Option<TermId> {
        self.var_terms.get(&var).copied()
    }

    const fn is_const(term: Term) -> bool {
        matches!(term, Term::Const { .. })
    }

    pub fn bin(&mut self, op: BinOp, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b), "operands of one width");
        let value = apply(op, self.value(a), self.value(b), width);
        if Self::is_const(self.get(a)) && Self::is_const(self.get(b)) {
            return self.constant(width, value);
        }
        self.add(Term::Bin(op, a, b), width, value)
    }

    pub fn cmp(&mut self, op: CmpOp, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b), "operands of one width");
        let (x, y) = (self.value(a), self.value(b));
        let holds = match op {
            CmpOp::Eq => x == y,
            CmpOp::Less => signed(x, width) < signed(y, width),
        };
        if Self::is_const(self.get(a)) && Self::is_const(self.get(b)) {
            return self.constant(1, holds.into());
        }
        self.add(Term::Cmp(op, a, b), 1, holds.into())
    }

    pub fn equals(&mut self, a: TermId, bits: u64) -> TermId {
        let b = self.constant(self.width(a), bits);
        self.cmp(CmpOp::Eq, a, b)
    }

    pub fn not(&mut self, a: TermId) -> TermId {
        match self.get(a) {
            Term::Not(inner) => inner,
            Term::Const { bits, .. } => self.constant(1, bits ^ 1),
            _ => self.add(Term::Not(a), 1, self.value(a) ^ 1),
        }
    }

    /// Both, each of one bit.
    pub fn and(&mut self, a: TermId, b: TermId) -> TermId {
        self.bin(BinOp::And, a, b)
    }

    pub fn or(&mut self, a: TermId, b: TermId) -> TermId {
        self.bin(BinOp::Or, a, b)
    }

    pub fn all(&mut self, terms: impl IntoIterator<Item = TermId>) -> TermId {
        let yes = self.constant(1, 1);
        terms.into_iter().fold(yes, |all, term| if all == yes { term } else { self.and(all, term) })
    }

    pub fn ite(&mut self, condition: TermId, yes: TermId, no: TermId) -> TermId {
        let value = self.value(if self.value(condition) == 1 { yes } else { no });
        let width = self.width(yes);
        debug_assert_eq!(width, self.width(no), "choices of one width");
        if Self::is_const(self.get(condition)) {
            return if self.value(condition) == 1 { yes } else { no };
        }
        self.add(Term::Ite(condition, yes, no), width, value)
    }

    pub fn resize(&mut self, of: TermId, width: u8, signed_: bool) -> TermId {
        let own = self.width(of);
        if own == width {
            return of;
        }
        let bits = self.value(of);
        let value = if signed_ { signed(bits, own).cast_unsigned() } else { bits };
        if Self::is_const(self.get(of)) {
            return self.constant(width, value);
        }
        self.add(Term::Resize { of, width, signed: signed_ }, width, value)
    }

    /// What a term gives if the variables have other values.
    pub fn evaluate(&self, id: TermId, values: &dyn Fn(VarId) -> u64) -> u64 {
        let mut known: FxHashMap<TermId, u64> = FxHashMap::default();
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            let before = open.len();
            self.operands(next)
                .filter(|one| !known.contains_key(one))
                .for_each(|one| open.push(one));
            if open.len() > before {
                continue;
            }
            open.pop();
            known.insert(next, self.value_of(next, &known, values));
        }
        known[&id]
    }

    fn value_of(
        &self,
        id: TermId,
        known: &FxHashMap<TermId, u64>,
        values: &dyn Fn(VarId) -> u64,
    ) -> u64 {
        let width = self.width(id);
        let of = |one: TermId| known[&one];
        let bits = match self.get(id) {
            Term::Const { bits, .. } => bits,
            Term::Var { var, .. } => values(var),
            Term::Bin(op, a, b) => apply(op, of(a), of(b), width),
            Term::Cmp(CmpOp::Eq, a, b) => (of(a) == of(b)).into(),
            Term::Cmp(CmpOp::Less, a, b) => {
                let own = self.width(a);
                (signed(of(a), own) < signed(of(b), own)).into()
            }
            Term::Not(a) => of(a) ^ 1,
            Term::Ite(condition, yes, no) => of(if of(condition) == 1 { yes } else { no }),
            Term::Resize { of: a, signed: true, .. } => {
                signed(of(a), self.width(a)).cast_unsigned()
            }
            Term::Resize { of: a, .. } => of(a),
        };
        masked(bits, width)
    }

    /// The terms that a term is made of.
    pub fn operands(&self, id: TermId) -> impl Iterator<Item = TermId> + use<> {
        let found = match self.get(id) {
            Term::Const { .. } | Term::Var { .. } => [None; 3],
            Term::Bin(_, a, b) | Term::Cmp(_, a, b) => [Some(a), Some(b), None],
            Term::Not(a) | Term::Resize { of: a, .. } => [Some(a), None, None],
            Term::Ite(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        found.into_iter().flatten()
    }

    /// The variables that some terms depend on, in order.
    pub fn vars(&self, of: impl IntoIterator<Item = TermId>) -> Vec<VarId> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut open: Vec<TermId> = of.into_iter().collect();
        let mut vars = Vec::new();
        while let Some(next) = open.pop() {
            if !seen.insert(next) {
                continue;
            }
            if let Term::Var { var, .. } = self.get(next) {
                vars.push(var);
            }
            open.extend(self.operands(next));
        }
        vars.sort_unstable();
        vars
    }
}
