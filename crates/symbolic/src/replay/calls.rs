//! Calls: of code that is re-executed as well, and of everything else.

use untorn_bytecode::op;

use super::code::{Call, Op, Operand};
use super::machine::{Frame, Machine, StepResult};
use super::value::Value;

const SHORT: StepResult = StepResult::Lost("the stack is too short");

/// The call at hand.
pub(super) fn call_at(frame: &Frame) -> Option<&Call> {
    match &frame.method.ops.get(frame.at as usize)?.operand {
        Operand::Call(call) => Some(call),
        _ => None,
    }
}

/// Receiver and arguments of a call that is about to be made.
pub(super) fn arguments(frame: &Frame, call: &Call) -> Option<Vec<Value>> {
    let count = call.parameters.len() + usize::from(!call.is_static);
    let mut found = Vec::with_capacity(count);
    let mut stack = frame.stack.as_slice();
    while found.len() < count {
        let (&value, rest) = stack.split_last()?;
        stack = rest;
        if value != Value::Top {
            found.push(value);
        }
    }
    found.reverse();
    Some(found)
}

impl Machine<'_> {
    /// A call has come back with this result.
    pub(super) fn called(&mut self, frame: &mut Frame, op: &Op, result: Value) -> StepResult {
        if op.opcode == op::INVOKEDYNAMIC {
            return self.made_dynamically(frame, op, result);
        }
        let Operand::Call(call) = &op.operand else { return SHORT };
        let mut arguments = Vec::new();
        for _ in 0..call.parameters.len() + usize::from(!call.is_static) {
            let Some(value) = frame.pop() else { return SHORT };
            arguments.push(value);
        }
        arguments.reverse();
        let returned = frame.returned.take();
        let has_called = std::mem::take(&mut frame.has_called);
        frame.at += 1;
        if call.name == "<init>" {
            return self.constructed(call, &arguments, result, has_called);
        }
        let value = match returned.filter(|_| has_called) {
            Some(own) if own.is_same(result) => own,
            Some(own) if !self.may_be(own, result) => {
                return StepResult::Lost("a method returned something else");
            }
            Some(_) => result,
            None if has_called => result,
            None => self.library(frame, call, &arguments, result),
        };
        if value != Value::Top {
            frame.push(value);
        }
        StepResult::Go
    }

    /// Whether an object whose identity was not known is the one that the log names.
    fn may_be(&mut self, own: Value, logged: Value) -> bool {
        match (own, logged) {
            (Value::Ref(own, _), Value::Ref(logged, _)) => {
                let identity = self.objects.identity(logged);
                self.objects.identity(own) == 0 && self.objects.identify(own, identity)
            }
            _ => false,
        }
    }

    /// The object that a constructor was called for has its identity now.
    fn constructed(
        &mut self,
        call: &Call,
        arguments: &[Value],
        result: Value,
        has_called: bool,
    ) -> StepResult {
        let (Some(Value::Ref(own, _)), Value::Ref(logged, _)) = (arguments.first(), result) else {
            return SHORT;
        };
        let identity = self.objects.identity(logged);
        if !self.objects.identify(*own, identity) {
            return StepResult::Lost("another object was made");
        }
        if !has_called {
            self.library_made(call, *own, &arguments[1..]);
        }
        StepResult::Go
    }

    fn made_dynamically(&mut self, frame: &mut Frame, op: &Op, result: Value) -> StepResult {
        let Operand::Dynamic(made) = &op.operand else {
            return StepResult::Lost("an unknown call");
        };
        let (kinds, target) = &**made;
        let mut captured = Vec::new();
        for _ in kinds {
            let Some(value) = frame.pop() else { return SHORT };
            captured.push(value);
        }
        captured.reverse();
        match target {
            Some(target) if captured.iter().any(|value| value.term().is_some()) => {
                self.captured.entry(target.clone()).or_default().push(captured);
            }
            None if captured.iter().any(|value| value.term().is_some()) => {
                self.concretise("a text made of others");
            }
            _ => {}
        }
        if result != Value::Top {
            frame.push(result);
        }
        frame.at += 1;
        frame.has_called = false;
        StepResult::Go
    }
}
