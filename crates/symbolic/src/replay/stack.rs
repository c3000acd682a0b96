//! Constants, loads, stores, and the shuffling of the stack.

use untorn_bytecode::{Number, op};

use super::code::{Op, Operand};
use super::machine::{Frame, Machine, StepResult, Thread};
use super::value::{NULL, Value};

const SHORT: StepResult = StepResult::Lost("the stack is too short");

impl Frame {
    /// The topmost slot, without the filler of a wide value.
    pub(super) fn pop(&mut self) -> Option<Value> {
        match self.stack.pop()? {
            Value::Top => self.stack.pop(),
            value => Some(value),
        }
    }

    pub(super) fn push(&mut self, value: Value) {
        self.stack.push(value);
        if value.is_wide() {
            self.stack.push(Value::Top);
        }
    }

    fn store(&mut self, local: u16, value: Value) {
        let at = usize::from(local);
        let end = at + 1 + usize::from(value.is_wide());
        if self.locals.len() < end {
            self.locals.resize(end, Value::Top);
        }
        self.locals[at] = value;
        if value.is_wide() {
            self.locals[at + 1] = Value::Top;
        }
    }
}

impl Machine<'_> {
    /// An instruction that the log says nothing of.
    pub(super) fn plain(&mut self, frames: &mut Thread, op: &Op) -> StepResult {
        let Some(frame) = frames.last_mut() else { return SHORT };
        match op.opcode {
            op::IRETURN..=op::RETURN => return returns(frames, op.opcode),
            op::IFEQ..=op::IF_ACMPNE | op::IFNULL | op::IFNONNULL => {
                return self.branch(frame, op);
            }
            op::GOTO | op::GOTO_W => {
                return match op.operand {
                    Operand::Jump(target) => {
                        frame.at = target;
                        StepResult::Go
                    }
                    _ => StepResult::Lost("a jump to nowhere"),
                };
            }
            op::TABLESWITCH | op::LOOKUPSWITCH => return self.switch(frame, op),
            op::JSR | op::JSR_W | op::RET => return StepResult::Lost("a subroutine of old code"),
            _ => {}
        }
        let done = match op.opcode {
            op::NOP => Some(()),
            op::ACONST_NULL..=op::LDC2_W => self.constant(frame, op),
            op::ILOAD..=op::ALOAD_3 => load(frame, op),
            op::ISTORE..=op::ASTORE_3 => match (&op.operand, frame.pop()) {
                (Operand::Local(local, _), Some(value)) => {
                    frame.store(*local, value);
                    Some(())
                }
                _ => None,
            },
            op::POP..=op::SWAP => shuffle(frame, op.opcode),
            op::IADD..=op::DCMPG => return self.calculate(frame, op),
            op::NEW => {
                let object = self.objects.fresh();
                frame.push(Value::Ref(object, None));
                Some(())
            }
            op::MONITORENTER | op::MONITOREXIT => frame.pop().map(|_| ()),
            _ => return StepResult::Lost("an instruction without its record"),
        };
        if done.is_none() {
            return SHORT;
        }
        frame.at += 1;
        StepResult::Go
    }

    fn constant(&mut self, frame: &mut Frame, op: &Op) -> Option<()> {
        let value = match (op.opcode, &op.operand) {
            (op::ACONST_NULL, _) => Value::Ref(NULL, None),
            (op::LCONST_0 | op::LCONST_1, _) => {
                Value::Long(i64::from(op.opcode - op::LCONST_0), None)
            }
            (op::FCONST_0..=op::FCONST_2, _) => Value::Float(f32::from(op.opcode - op::FCONST_0)),
            (op::DCONST_0..=op::DCONST_1, _) => Value::Double(f64::from(op.opcode - op::DCONST_0)),
            (_, Operand::Int(number)) => Value::Int(*number, None),
            (_, Operand::Number(Number::Int(number))) => Value::Int(*number, None),
            (_, Operand::Number(Number::Long(number))) => Value::Long(*number, None),
            (_, Operand::Number(Number::Float(bits))) => Value::Float(f32::from_bits(*bits)),
            (_, Operand::Number(Number::Double(bits))) => Value::Double(f64::from_bits(*bits)),
            _ => return None,
        };
        frame.push(value);
        Some(())
    }
}

fn load(frame: &mut Frame, op: &Op) -> Option<()> {
    let Operand::Local(local, _) = op.operand else { return None };
    let value = *frame.locals.get(usize::from(local))?;
    frame.push(value);
    Some(())
}

/// By slots: a wide value is two of them.
fn shuffle(frame: &mut Frame, opcode: u8) -> Option<()> {
    let stack = &mut frame.stack;
    let length = stack.len();
    // How many slots are copied, and below how many more the copy goes.
    let (copied, below) = match opcode {
        op::POP | op::POP2 => {
            stack.truncate(length.checked_sub(usize::from(opcode - op::POP) + 1)?);
            return Some(());
        }
        op::SWAP => {
            stack.swap(length.checked_sub(1)?, length.checked_sub(2)?);
            return Some(());
        }
        op::DUP => (1, 0),
        op::DUP_X1 => (1, 1),
        op::DUP_X2 => (1, 2),
        op::DUP2 => (2, 0),
        op::DUP2_X1 => (2, 1),
        _ => (2, 2),
    };
    let top = stack.get(length.checked_sub(copied)?..)?.to_vec();
    let at = length.checked_sub(copied + below)?;
    stack.splice(at..at, top);
    Some(())
}

fn returns(frames: &mut Thread, opcode: u8) -> StepResult {
    let Some(mut frame) = frames.pop() else { return SHORT };
    let value = match opcode {
        op::RETURN => Value::Top,
        _ => match frame.pop() {
            Some(value) => value,
            None => return SHORT,
        },
    };
    if frame.is_direct
        && let Some(caller) = frames.last_mut()
    {
        caller.returned = Some(value);
    }
    StepResult::Go
}
