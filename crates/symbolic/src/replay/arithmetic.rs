//! Numbers: computed as Java does, and as terms where they depend on inputs.

use untorn_bytecode::op;

use super::code::{Op, Operand};
use super::machine::{Frame, Machine, StepResult};
use super::value::{Term, Value};
use crate::path::{Step, Way};
use crate::term::{BinOp, CmpOp, TermId, apply};

/// Terms of one path; beyond, everything is a constant.
const MAX_TERMS: usize = 1 << 21;

const SHORT: StepResult = StepResult::Lost("the stack holds something else");

impl Machine<'_> {
    pub(super) fn calculate(&mut self, frame: &mut Frame, op: &Op) -> StepResult {
        match op.opcode {
            op::IDIV | op::IREM | op::LDIV | op::LREM => return self.divide(frame, op.opcode),
            op::IINC => return self.increment(frame, op),
            _ => {}
        }
        let found = match op.opcode {
            op::I2L..=op::I2S => frame.pop().and_then(|value| self.convert(op.opcode, value)),
            op::INEG..=op::DNEG => frame.pop().and_then(|value| self.negate(value)),
            _ => match (frame.pop(), frame.pop()) {
                (Some(b), Some(a)) => self.binary(op.opcode, a.plain_hash(), b.plain_hash()),
                _ => None,
            },
        };
        let Some(value) = found else { return SHORT };
        frame.push(value);
        frame.at += 1;
        StepResult::Go
    }

    fn increment(&mut self, frame: &mut Frame, op: &Op) -> StepResult {
        let Operand::Local(local, step) = op.operand else { return SHORT };
        let Some(own) = frame.locals.get(usize::from(local)).copied() else { return SHORT };
        let Some(sum) = self.binary(op::IADD, own.plain_hash(), Value::Int(step, None)) else {
            return SHORT;
        };
        frame.locals[usize::from(local)] = sum;
        frame.at += 1;
        StepResult::Go
    }

    /// The divisor decides whether it goes on or throws.
    fn divide(&mut self, frame: &mut Frame, opcode: u8) -> StepResult {
        let (Some(b), Some(a)) = (frame.pop(), frame.pop()) else { return SHORT };
        let (a, b) = (a.plain_hash(), b.plain_hash());
        let is_zero = matches!(b, Value::Int(0, _) | Value::Long(0, _));
        if let Some(divisor) = b.term() {
            let zero = self.path.terms.equals(divisor, 0);
            let other = self.path.terms.not(zero);
            let (condition, way) = match is_zero {
                true => (zero, Way { outcome: 0, condition: other, target: Some(frame.at + 1) }),
                false => (other, Way { outcome: 1, condition: zero, target: None }),
            };
            self.took(frame, u32::from(is_zero), condition, vec![way]);
        }
        if is_zero {
            frame.has_thrown = true;
            return StepResult::Go;
        }
        let Some(value) = self.binary(opcode, a, b) else { return SHORT };
        frame.push(value);
        frame.at += 1;
        StepResult::Go
    }

    fn binary(&mut self, opcode: u8, a: Value, b: Value) -> Option<Value> {
        Some(match (a, b) {
            (Value::Float(a), Value::Float(b)) => floats(opcode, a, b)?,
            (Value::Double(a), Value::Double(b)) => doubles(opcode, a, b)?,
            (Value::Long(a, x), Value::Long(b, y)) if opcode == op::LCMP => {
                let term = self.compared(x, a, y, b);
                Value::Int(a.cmp(&b) as i32, term)
            }
            (Value::Int(a, x), Value::Int(b, y)) => {
                let op = operation(opcode)?;
                let (a, b) = (u64::from(a.cast_unsigned()), u64::from(b.cast_unsigned()));
                let term = self.combined(op, (x, a), (y, b), 32);
                Value::Int((apply(op, a, b, 32) as u32).cast_signed(), term)
            }
            (Value::Long(a, x), b) => {
                let op = operation(opcode)?;
                // The distance of a shift is an int.
                let (b, y) = match b {
                    Value::Long(b, y) => (b, y),
                    Value::Int(b, y) => {
                        (i64::from(b), y.map(|term| self.path.terms.resize(term, 64, true)))
                    }
                    _ => return None,
                };
                let (a, b) = (a.cast_unsigned(), b.cast_unsigned());
                let term = self.combined(op, (x, a), (y, b), 64);
                Value::Long(apply(op, a, b, 64).cast_signed(), term)
            }
            _ => return None,
        })
    }

    fn combined(&mut self, op: BinOp, a: (Term, u64), b: (Term, u64), width: u8) -> Term {
        if (a.0.is_none() && b.0.is_none()) || self.path.terms.len() > MAX_TERMS {
            return None;
        }
        let [a, b] = [a, b].map(|(term, bits)| self.term_or(term, bits, width));
        Some(self.path.terms.bin(op, a, b))
    }

    pub(super) fn term_or(&mut self, term: Term, bits: u64, width: u8) -> TermId {
        term.unwrap_or_else(|| self.path.terms.constant(width, bits))
    }

    /// -1, 0 or 1.
    pub(super) fn compared(&mut self, x: Term, a: i64, y: Term, b: i64) -> Term {
        if x.is_none() && y.is_none() {
            return None;
        }
        let width = x.or(y).map_or(64, |term| self.path.terms.width(term));
        let x = self.term_or(x, a.cast_unsigned(), width);
        let y = self.term_or(y, b.cast_unsigned(), width);
        let terms = &mut self.path.terms;
        let (less, same) = (terms.cmp(CmpOp::Less, x, y), terms.cmp(CmpOp::Eq, x, y));
        let [minus, zero, one] = [u64::MAX, 0, 1].map(|bits| terms.constant(32, bits));
        let rest = terms.ite(same, zero, one);
        Some(terms.ite(less, minus, rest))
    }

    fn negate(&mut self, value: Value) -> Option<Value> {
        Some(match value.plain_hash() {
            Value::Int(value, term) => {
                self.binary(op::ISUB, Value::Int(0, None), Value::Int(value, term))?
            }
            Value::Long(value, term) => {
                self.binary(op::LSUB, Value::Long(0, None), Value::Long(value, term))?
            }
            Value::Float(value) => Value::Float(-value),
            Value::Double(value) => Value::Double(-value),
            _ => return None,
        })
    }

    fn convert(&mut self, opcode: u8, value: Value) -> Option<Value> {
        let value = value.plain_hash();
        if value.term().is_some() && matches!(opcode, op::I2F | op::I2D | op::L2F | op::L2D) {
            self.concretise("a floating-point number");
        }
        Some(match (opcode, value) {
            (op::I2L, Value::Int(value, term)) => {
                Value::Long(value.into(), term.map(|term| self.path.terms.resize(term, 64, true)))
            }
            (op::L2I, Value::Long(value, term)) => {
                Value::Int(value as i32, term.map(|term| self.path.terms.resize(term, 32, false)))
            }
            (op::I2B | op::I2C | op::I2S, Value::Int(..)) => self.cut(opcode, value),
            (op::I2F, Value::Int(value, _)) => Value::Float(value as f32),
            (op::I2D, Value::Int(value, _)) => Value::Double(value.into()),
            (op::L2F, Value::Long(value, _)) => Value::Float(value as f32),
            (op::L2D, Value::Long(value, _)) => Value::Double(value as f64),
            (op::F2I, Value::Float(value)) => Value::Int(value as i32, None),
            (op::F2L, Value::Float(value)) => Value::Long(value as i64, None),
            (op::F2D, Value::Float(value)) => Value::Double(value.into()),
            (op::D2I, Value::Double(value)) => Value::Int(value as i32, None),
            (op::D2L, Value::Double(value)) => Value::Long(value as i64, None),
            (op::D2F, Value::Double(value)) => Value::Float(value as f32),
            _ => return None,
        })
    }

    fn cut(&mut self, opcode: u8, value: Value) -> Value {
        let Value::Int(value, term) = value else { return value };
        let (width, signed) = match opcode {
            op::I2B => (8, true),
            op::I2C => (16, false),
            _ => (16, true),
        };
        let terms = &mut self.path.terms;
        let term = term.map(|term| {
            let low = terms.resize(term, width, false);
            terms.resize(low, 32, signed)
        });
        let value = match opcode {
            op::I2B => i32::from(value as i8),
            op::I2C => i32::from(value as u16),
            _ => i32::from(value as i16),
        };
        Value::Int(value, term)
    }

    pub(super) fn cut_to_element(&mut self, store: u8, value: Value) -> Value {
        let opcode = match store {
            op::BASTORE => op::I2B,
            op::CASTORE => op::I2C,
            _ => op::I2S,
        };
        self.cut(opcode, value)
    }

    /// A branch that depends on inputs was taken.
    pub(super) fn took(
        &mut self,
        frame: &Frame,
        outcome: u32,
        condition: TermId,
        others: Vec<Way>,
    ) {
        if self.path.terms.value(condition) != 1 {
            self.path.fidelity.diverge(|| {
                let target = &frame.method.target;
                let line = frame.method.line(frame.at);
                format!("{}.{}:{line}: a branch has gone another way", target.class, target.name)
            });
            return;
        }
        if matches!(self.path.terms.get(condition), crate::term::Term::Const { .. }) {
            return;
        }
        self.path.steps.push(Step {
            at: Self::place_of(frame),
            thread: self.thread,
            activation: frame.activation,
            outcome,
            condition,
            others,
        });
    }
}

fn operation(opcode: u8) -> Option<BinOp> {
    Some(match opcode {
        op::IADD | op::LADD => BinOp::Add,
        op::ISUB | op::LSUB => BinOp::Sub,
        op::IMUL | op::LMUL => BinOp::Mul,
        op::IDIV | op::LDIV => BinOp::Div,
        op::IREM | op::LREM => BinOp::Rem,
        op::ISHL | op::LSHL => BinOp::Shl,
        op::ISHR | op::LSHR => BinOp::Shr,
        op::IUSHR | op::LUSHR => BinOp::Ushr,
        op::IAND | op::LAND => BinOp::And,
        op::IOR | op::LOR => BinOp::Or,
        op::IXOR | op::LXOR => BinOp::Xor,
        _ => return None,
    })
}

fn ordered<T: PartialOrd>(a: T, b: T, unordered: i32) -> Value {
    Value::Int(a.partial_cmp(&b).map_or(unordered, |order| order as i32), None)
}

fn floats(opcode: u8, a: f32, b: f32) -> Option<Value> {
    Some(Value::Float(match opcode {
        op::FADD => a + b,
        op::FSUB => a - b,
        op::FMUL => a * b,
        op::FDIV => a / b,
        op::FREM => a % b,
        op::FCMPL => return Some(ordered(a, b, -1)),
        op::FCMPG => return Some(ordered(a, b, 1)),
        _ => return None,
    }))
}

fn doubles(opcode: u8, a: f64, b: f64) -> Option<Value> {
    Some(Value::Double(match opcode {
        op::DADD => a + b,
        op::DSUB => a - b,
        op::DMUL => a * b,
        op::DDIV => a / b,
        op::DREM => a % b,
        op::DCMPL => return Some(ordered(a, b, -1)),
        op::DCMPG => return Some(ordered(a, b, 1)),
        _ => return None,
    }))
}
