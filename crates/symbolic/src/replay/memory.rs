//! Fields, arrays and objects: what their records say, with the terms that were written there.

use untorn_bytecode::op;

use super::code::{Op, Operand};
use super::machine::{Frame, Machine, StepResult, Thread};
use super::value::{NULL, ObjectId, Value};
use crate::path::{Source, Step, Way};
use untorn_schedule::InputPlace;

/// Elements that a symbolic index is tried for.
const MAX_ELEMENTS: i32 = 64;

/// Elements of arrays have numbers that no field has.
const ELEMENT: u32 = 1 << 31;

const SHORT: StepResult = StepResult::Lost("the stack is too short");

impl Machine<'_> {
    /// An instruction has completed, with this result.
    pub(super) fn complete(&mut self, frames: &mut Thread, op: &Op, value: Value) -> StepResult {
        let Some(frame) = frames.last_mut() else { return SHORT };
        let done = match op.opcode {
            op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC => return self.called(frame, op, value),
            op::GETFIELD => self.get_field(frame, op, value),
            op::GETSTATIC => self.field_key(NULL, op).map(|key| {
                let value = self.read(key, value);
                frame.push(value);
            }),
            op::PUTFIELD => self.put_field(frame, op),
            op::PUTSTATIC => match (frame.pop(), self.field_key(NULL, op)) {
                (Some(value), Some(key)) => {
                    self.heap.insert(key, value);
                    Some(())
                }
                _ => None,
            },
            op::IALOAD..=op::SALOAD => self.load_element(frame, value),
            op::IASTORE..=op::SASTORE => self.store_element(frame, op.opcode),
            op::ARRAYLENGTH => self.array_length(frame, value),
            op::INSTANCEOF => frame.pop().map(|_| frame.push(value)),
            op::CHECKCAST => Some(()),
            op::NEWARRAY | op::ANEWARRAY => self.new_array(frame, value),
            op::MULTIANEWARRAY => {
                let Operand::Int(dimensions) = op.operand else { return SHORT };
                (0..dimensions).try_for_each(|_| frame.pop().map(|_| ())).map(|()| {
                    frame.push(value);
                })
            }
            op::LDC | op::LDC_W | op::LDC2_W => {
                if let (Operand::Text(text), Value::Ref(object, _)) = (&op.operand, value) {
                    self.objects.get_mut(object).text = Some(text.clone());
                }
                frame.push(value);
                Some(())
            }
            _ => None,
        };
        if done.is_none() {
            return SHORT;
        }
        frame.at += 1;
        StepResult::Go
    }

    /// The value at a place, which is what was recorded; with the term that was written there, if nothing else came between.
    pub(super) fn read(&mut self, key: (ObjectId, u32), recorded: Value) -> Value {
        match self.heap.get(&key) {
            Some(own) if own.is_same(recorded) => *own,
            _ => {
                self.heap.insert(key, recorded);
                recorded
            }
        }
    }

    fn field_key(&self, object: ObjectId, op: &Op) -> Option<(ObjectId, u32)> {
        match op.operand {
            Operand::Field(number, _) => Some((object, number)),
            _ => None,
        }
    }

    fn get_field(&mut self, frame: &mut Frame, op: &Op, value: Value) -> Option<()> {
        let Value::Ref(object, _) = frame.pop()? else { return None };
        let key = self.field_key(object, op)?;
        let value = self.read(key, value);
        frame.push(value);
        Some(())
    }

    fn put_field(&mut self, frame: &mut Frame, op: &Op) -> Option<()> {
        let value = frame.pop()?;
        let Value::Ref(object, _) = frame.pop()? else { return None };
        let key = self.field_key(object, op)?;
        self.heap.insert(key, value);
        Some(())
    }

    fn load_element(&mut self, frame: &mut Frame, value: Value) -> Option<()> {
        let index = frame.pop()?;
        let Value::Ref(array, _) = frame.pop()? else { return None };
        let at = self.pinned(frame, array, index)?;
        let value = self.read((array, ELEMENT | at.cast_unsigned()), value);
        if self.objects.get(array).is_arguments
            && let Value::Ref(text, _) = value
            && text != NULL
        {
            let place = InputPlace::Argument(at.cast_unsigned());
            let object = self.objects.get_mut(text);
            object.source = Some(Source::whole(place));
        }
        frame.push(value);
        Some(())
    }

    fn store_element(&mut self, frame: &mut Frame, opcode: u8) -> Option<()> {
        let value = frame.pop()?;
        let index = frame.pop()?;
        let Value::Ref(array, _) = frame.pop()? else { return None };
        let at = self.pinned(frame, array, index)?;
        // What is read again is cut to the size of an element.
        let is_cut = matches!(opcode, op::BASTORE | op::CASTORE | op::SASTORE);
        if !is_cut || value.term().is_none() {
            self.heap.insert((array, ELEMENT | at.cast_unsigned()), value);
        } else if let Value::Int(..) = value {
            let cut = self.cut_to_element(opcode, value);
            self.heap.insert((array, ELEMENT | at.cast_unsigned()), cut);
        }
        Some(())
    }

    /// The index in the run. One that depends on inputs stays what it is; others are ways that it could take.
    fn pinned(&mut self, frame: &Frame, array: ObjectId, index: Value) -> Option<i32> {
        let Value::Int(at, term) = index.plain_hash() else { return None };
        let Some(term) = term else { return Some(at) };
        let condition = self.path.terms.equals(term, u64::from(at.cast_unsigned()));
        let length = self.objects.get(array).length.unwrap_or(0);
        let target = Some(frame.at + 1);
        let mut others = Vec::new();
        for other in (0..length.min(MAX_ELEMENTS)).filter(|&other| other != at) {
            let condition = self.path.terms.equals(term, u64::from(other.cast_unsigned()));
            others.push(Way { outcome: other.cast_unsigned(), condition, target });
        }
        if length > 0 {
            let condition = self.path.terms.equals(term, u64::from(length.cast_unsigned()));
            others.push(Way { outcome: length.cast_unsigned(), condition, target: None });
        }
        self.path.steps.push(Step {
            at: Self::place_of(frame),
            thread: self.thread,
            activation: frame.activation,
            outcome: at.cast_unsigned(),
            condition,
            others,
        });
        Some(at)
    }

    fn array_length(&mut self, frame: &mut Frame, value: Value) -> Option<()> {
        let Value::Ref(array, _) = frame.pop()? else { return None };
        if let Value::Int(length, _) = value {
            self.objects.get_mut(array).length = Some(length);
        }
        frame.push(value);
        Some(())
    }

    fn new_array(&mut self, frame: &mut Frame, value: Value) -> Option<()> {
        let length = frame.pop()?;
        if let (Value::Int(length, term), Value::Ref(array, _)) = (length, value) {
            if term.is_some() {
                self.concretise("the length of an array");
            }
            self.objects.get_mut(array).length = Some(length);
        }
        frame.push(value);
        Some(())
    }

    /// Something that depends on inputs counts as a constant from now on.
    pub(super) fn concretise(&mut self, what: &str) {
        let known = &mut self.path.fidelity.concretised;
        match known.get_mut(what) {
            Some(times) => *times += 1,
            None => {
                known.insert(what.to_owned(), 1);
            }
        }
    }
}

impl Value {
    /// A hash is a number like others, once it is used otherwise than in a switch.
    pub(super) const fn plain_hash(self) -> Self {
        match self {
            Self::Hash(value, _) => Self::Int(value, None),
            other => other,
        }
    }
}
