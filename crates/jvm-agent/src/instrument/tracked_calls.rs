//! Tracked calls, as `untorn check --compositions` requests them.
//!
//! A tracked call is recorded at its call site, so that calls through interfaces and calls of the JDK are recorded
//! alike: with its receiver and its arguments, objects by their identity, and at its end with its result. A call that
//! throws has no end record; the converter infers it from the next record.

use untorn_bytecode::{Instr, Kind, Member, Snippet, descriptor, op};
use untorn_trace::event::ValueKind;

use super::library::Operands;
use super::{MethodPass, RewriteError, value_kind};
use crate::sites::{Api, CodeSite, SiteKind};

/// How the result of a call is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CallResult {
    kind: ValueKind,
    /// Leaves a copy of it on the stack.
    copy: u8,
    /// The type that the probe expects.
    probe: &'static str,
}

impl CallResult {
    /// `None` for `void`, and for types that no later call depends on.
    fn of(descriptor: &str) -> Option<Self> {
        let result = descriptor.rsplit(')').next()?;
        let kind = value_kind(result);
        let (copy, probe) = match result.as_bytes().first()? {
            b'Z' | b'B' | b'C' | b'S' | b'I' => (op::DUP, "(II)V"),
            b'J' => (op::DUP2, "(JI)V"),
            b'L' | b'[' => (op::DUP, "(Ljava/lang/Object;I)V"),
            _ => return None,
        };
        Some(Self { kind, copy, probe })
    }
}

impl<'a> MethodPass<'_, '_, 'a> {
    /// The code positions of such calls in this method.
    pub(super) fn tracked_calls(&self) -> &[u32] {
        let (class, method) = (self.class.class.name(), self.method);
        self.class.rewriter.scope.tracked_calls(class, method.name(), method.descriptor())
    }

    /// Inserts the record before a tracked call; returns the called method.
    pub(super) fn tracked_call_begins(
        &mut self,
        instr: &Instr<'a>,
    ) -> Result<Option<Member<'a>>, RewriteError> {
        let is_call = matches!(instr.opcode, op::INVOKEVIRTUAL..=op::INVOKEINTERFACE);
        // Two calls belong together only if one activation makes them, so the method must record its activations.
        if !is_call
            || self.method.name().starts_with('<')
            || !self.tracked_calls().contains(&instr.pc)
        {
            return Ok(None);
        }
        let called = instr.pool_index().map(|index| self.class.class.pool().member(index));
        let Some(Ok(called)) = called else { return Ok(None) };
        let site = self.site(instr.pc, SiteKind::TrackedCall { api: api(&called) });
        // An object cannot be used before its constructor was called.
        let is_constructor = called.name.starts_with('<');
        let operands = self.operands(instr, &called.descriptor).filter(|_| !is_constructor);
        let code = match operands {
            Some(operands) => self.receiver_and_arguments(site, instr, &called, &operands)?,
            None => self.call_probe(Snippet::new(), site, "mark", "(I)V")?,
        };
        self.before(instr.pc, code);
        Ok(Some(called))
    }

    /// The record of the call and all of its arguments.
    fn receiver_and_arguments(
        &mut self,
        site: CodeSite,
        instr: &Instr<'a>,
        called: &Member<'a>,
        operands: &Operands,
    ) -> Result<Snippet, RewriteError> {
        let first = usize::from(instr.opcode != op::INVOKESTATIC);
        let mut code = match first {
            0 => self.call_probe(operands.store(), site, "mark", "(I)V")?,
            _ => self.call_probe(
                operands.load(operands.store(), 0),
                site,
                "mark",
                "(Ljava/lang/Object;I)V",
            )?,
        };
        for (at, of_type) in descriptor::parameters(&called.descriptor).enumerate() {
            let probe = match operands.kind(first + at) {
                Some(Kind::Int) => "(II)V",
                Some(Kind::Long) => "(JI)V",
                Some(Kind::Reference) => "(Ljava/lang/Object;I)V",
                _ => continue, // fractions
            };
            let (api, kind) = (api(called), value_kind(of_type));
            let number = at as u8 + 1; // operands have at most ten slots
            let site = self.site(instr.pc, SiteKind::TrackedArgument { api, number, kind });
            code = self.call_probe(operands.load(code, first + at), site, "callValue", probe)?;
        }
        Ok(operands.load_all(code))
    }

    /// Inserts the record after the call.
    pub(super) fn tracked_call_ends(
        &mut self,
        instr: &Instr<'a>,
        called: Member<'a>,
    ) -> Result<(), RewriteError> {
        let result = CallResult::of(&called.descriptor);
        let what =
            SiteKind::TrackedReturn { api: api(&called), result: result.map(|result| result.kind) };
        let site = self.site(instr.pc, what);
        let code = match result {
            Some(CallResult { copy, probe, .. }) => {
                self.call_probe(Snippet::new().op(copy), site, "callValue", probe)?
            }
            None => self.call_probe(Snippet::new(), site, "mark", "(I)V")?,
        };
        self.after(instr.pc, code);
        Ok(())
    }
}

fn api(called: &Member<'_>) -> Api {
    Api { class: called.class.to_string(), method: called.name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_recorded_by_their_kind() {
        let kind = |descriptor| CallResult::of(descriptor).map(|result| result.kind);
        assert_eq!(kind("(I)Z"), Some(ValueKind::Bool));
        assert_eq!(kind("()Ljava/lang/Object;"), Some(ValueKind::Ref));
        assert_eq!(kind("(Ljava/lang/String;)J"), Some(ValueKind::Int));
        assert_eq!(kind("()D"), None);
        assert_eq!(kind("()V"), None);
    }
}
