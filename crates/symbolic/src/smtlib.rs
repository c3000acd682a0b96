//! The same questions for other solvers, as SMT-LIB 2 (QF_BV).

use std::fmt::Write;

use crate::term::{BinOp, CmpOp, Term, TermId, Terms};

/// Whether all of the terms can hold, as a script that asks for the values of all variables.
pub fn script(terms: &Terms, must: &[TermId]) -> String {
    let mut out = String::from("(set-logic QF_BV)\n");
    let mut names: Vec<String> = Vec::new();
    for var in terms.vars(must.iter().copied()) {
        let width = terms.find_var(var).map_or(1, |term| terms.width(term));
        // Writing to a text cannot fail.
        let _ = writeln!(out, "(declare-const v{} (_ BitVec {width}))", var.0);
        names.push(format!("v{}", var.0));
    }
    // Each term has a name, in an order in which operands come first.
    let mut defined = rustc_hash::FxHashSet::default();
    for &goal in must {
        let mut open = vec![goal];
        while let Some(&next) = open.last() {
            let before = open.len();
            let missing = terms.operands(next).filter(|one| !defined.contains(one));
            open.extend(missing);
            if open.len() > before {
                continue;
            }
            open.pop();
            if defined.insert(next) {
                let (width, body) = (terms.width(next), body_of(terms, next));
                let _ = writeln!(out, "(define-fun t{} () (_ BitVec {width}) {body})", next.at());
            }
        }
        let _ = writeln!(out, "(assert (= t{} #b1))", goal.at());
    }
    out.push_str("(check-sat)\n");
    if !names.is_empty() {
        let _ = writeln!(out, "(get-value ({}))", names.join(" "));
    }
    out
}

fn body_of(terms: &Terms, id: TermId) -> String {
    let name = |one: TermId| format!("t{}", one.at());
    match terms.get(id) {
        Term::Const { width, bits } => format!("(_ bv{bits} {width})"),
        Term::Var { var, .. } => format!("v{}", var.0),
        Term::Bin(op, a, b) => bin(terms, op, a, b),
        Term::Cmp(CmpOp::Eq, a, b) => format!("(ite (= {} {}) #b1 #b0)", name(a), name(b)),
        Term::Cmp(CmpOp::Less, a, b) => format!("(ite (bvslt {} {}) #b1 #b0)", name(a), name(b)),
        Term::Not(a) => format!("(bvnot {})", name(a)),
        Term::Ite(c, a, b) => format!("(ite (= {} #b1) {} {})", name(c), name(a), name(b)),
        Term::Resize { of, width, signed } => {
            let own = terms.width(of);
            match (width > own, signed) {
                (false, _) => format!("((_ extract {} 0) {})", width - 1, name(of)),
                (true, true) => format!("((_ sign_extend {}) {})", width - own, name(of)),
                (true, false) => format!("((_ zero_extend {}) {})", width - own, name(of)),
            }
        }
    }
}

fn bin(terms: &Terms, op: BinOp, a: TermId, b: TermId) -> String {
    let width = terms.width(a);
    let (x, y) = (format!("t{}", a.at()), format!("t{}", b.at()));
    let distance = format!("(bvand {y} (_ bv{} {width}))", width - 1);
    // By zero SMT-LIB gives something else than we say.
    let unless_zero =
        |zero: String, word| format!("(ite (= {y} (_ bv0 {width})) {zero} ({word} {x} {y}))");
    match op {
        BinOp::Add => format!("(bvadd {x} {y})"),
        BinOp::Sub => format!("(bvsub {x} {y})"),
        BinOp::Mul => format!("(bvmul {x} {y})"),
        BinOp::Div => unless_zero(format!("(_ bv0 {width})"), "bvsdiv"),
        BinOp::Rem => unless_zero(x.clone(), "bvsrem"),
        BinOp::And => format!("(bvand {x} {y})"),
        BinOp::Or => format!("(bvor {x} {y})"),
        BinOp::Xor => format!("(bvxor {x} {y})"),
        BinOp::Shl => format!("(bvshl {x} {distance})"),
        BinOp::Shr => format!("(bvashr {x} {distance})"),
        BinOp::Ushr => format!("(bvlshr {x} {distance})"),
    }
}
