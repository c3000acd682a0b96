//! Branches and switches: which way they go, and what that says of the inputs.

use untorn_bytecode::op;

use super::code::{Op, Operand};
use super::machine::{Frame, Machine, StepResult};
use super::value::{ObjectId, Term, Value};
use crate::path::Way;
use crate::term::{CmpOp, TermId};

const SHORT: StepResult = StepResult::Lost("the stack holds something else");

/// Cases of a switch that are tried.
const MAX_CASES: usize = 64;

impl Machine<'_> {
    pub(super) fn branch(&mut self, frame: &mut Frame, op: &Op) -> StepResult {
        let Operand::Jump(target) = op.operand else { return SHORT };
        let found = match op.opcode {
            op::IFEQ..=op::IFLE => frame.pop().and_then(|value| {
                self.relation(op.opcode - op::IFEQ, value.plain_hash(), Value::Int(0, None))
            }),
            op::IFNULL | op::IFNONNULL => match frame.pop() {
                Some(Value::Ref(object, _)) => {
                    let is_null = object == super::value::NULL;
                    Some((is_null == (op.opcode == op::IFNULL), None))
                }
                _ => None,
            },
            _ => match (frame.pop(), frame.pop()) {
                (Some(Value::Ref(b, _)), Some(Value::Ref(a, _))) => {
                    Some(((a == b) == (op.opcode == op::IF_ACMPEQ), None))
                }
                (Some(b), Some(a)) => {
                    self.relation(op.opcode - op::IF_ICMPEQ, a.plain_hash(), b.plain_hash())
                }
                _ => None,
            },
        };
        let Some((jumps, condition)) = found else { return SHORT };
        if let Some(holds) = condition {
            let not = self.path.terms.not(holds);
            let (own, other) = if jumps { (holds, not) } else { (not, holds) };
            let elsewhere = if jumps { frame.at + 1 } else { target };
            let outcome = u32::from(!jumps);
            let way = Way { outcome, condition: other, target: Some(elsewhere) };
            self.took(frame, u32::from(jumps), own, vec![way]);
        }
        frame.at = if jumps { target } else { frame.at + 1 };
        StepResult::Go
    }

    /// Whether two ints are related (==, !=, <, >=, >, <=), and the term that says so.
    fn relation(&mut self, which: u8, a: Value, b: Value) -> Option<(bool, Term)> {
        let (Value::Int(a, x), Value::Int(b, y)) = (a, b) else { return None };
        let holds = match which {
            0 => a == b,
            1 => a != b,
            2 => a < b,
            3 => a >= b,
            4 => a > b,
            _ => a <= b,
        };
        if x.is_none() && y.is_none() {
            return Some((holds, None));
        }
        let x = self.term_or(x, u64::from(a.cast_unsigned()), 32);
        let y = self.term_or(y, u64::from(b.cast_unsigned()), 32);
        let terms = &mut self.path.terms;
        let term = match which {
            0 | 1 => terms.cmp(CmpOp::Eq, x, y),
            2 | 3 => terms.cmp(CmpOp::Less, x, y),
            _ => terms.cmp(CmpOp::Less, y, x),
        };
        let is_negated = matches!(which, 1 | 3 | 5);
        Some((holds, Some(if is_negated { terms.not(term) } else { term })))
    }

    pub(super) fn switch(&mut self, frame: &mut Frame, op: &Op) -> StepResult {
        let Operand::Switch(switch) = &op.operand else { return SHORT };
        let (cases, default) = &**switch;
        let Some(key) = frame.pop() else { return SHORT };
        let Value::Int(number, term) = key.plain_hash() else { return SHORT };
        let taken = cases.iter().position(|&(case, _)| case == number);
        let conditions: Vec<Option<TermId>> = match (key, term) {
            (Value::Hash(_, text), _) => {
                cases.iter().map(|&(case, _)| self.says_one_of(text, case)).collect()
            }
            (_, Some(term)) => {
                let equals = |&(case, _): &(i32, u32)| {
                    Some(self.path.terms.equals(term, u64::from(case.cast_unsigned())))
                };
                cases.iter().map(equals).collect()
            }
            _ => Vec::new(),
        };
        if !conditions.is_empty() {
            self.took_case(frame, taken, &conditions, (cases, *default));
        }
        frame.at = taken.map_or(*default, |at| cases[at].1);
        StepResult::Go
    }

    fn took_case(
        &mut self,
        frame: &Frame,
        taken: Option<usize>,
        conditions: &[Option<TermId>],
        (cases, default): (&[(i32, u32)], u32),
    ) {
        let negated = conditions.iter().flatten().map(|&one| self.path.terms.not(one));
        let negated: Vec<TermId> = negated.collect();
        let none = self.path.terms.all(negated);
        let own = match taken {
            Some(at) => conditions[at],
            None => Some(none),
        };
        let Some(own) = own else { return };
        let mut others: Vec<Way> = Vec::new();
        for (at, condition) in conditions.iter().enumerate().take(MAX_CASES) {
            if let Some(condition) = condition.filter(|_| Some(at) != taken) {
                let (outcome, target) = (at as u32 + 1, Some(cases[at].1));
                others.push(Way { outcome, condition, target });
            }
        }
        if taken.is_some() {
            others.push(Way { outcome: 0, condition: none, target: Some(default) });
        }
        let outcome = taken.map_or(0, |at| at as u32 + 1);
        self.took(frame, outcome, own, others);
    }

    /// Whether a text is one of those in the code that have this hash.
    fn says_one_of(&mut self, text: ObjectId, hash: i32) -> Option<TermId> {
        let source = self.objects.get(text).source.clone()?;
        let texts = self.code.texts.get(&hash).cloned().unwrap_or_default();
        let mut any: Option<TermId> = None;
        for text in texts {
            let own = self.path.text_is(&source, &text)?;
            any = Some(any.map_or(own, |any| self.path.terms.or(any, own)));
        }
        any
    }
}
