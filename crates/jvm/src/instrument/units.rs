//! Calls that are told as units: what `untorn check --compositions` asks for.
//!
//! A unit is marked where it is called, so that calls through interfaces and of the JDK are told alike. One that throws has
//! no end mark; the converter sees that by what comes next.

use untorn_bytecode::{Instr, Member, Snippet, op};
use untorn_trace::event::ValueKind;

use super::{MethodPass, RewriteError, value_kind};
use crate::sites::What;

/// How what a call gives back is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct GivenBack {
    kind: ValueKind,
    /// Leaves a copy of it on the stack.
    copy: u8,
    /// What the probe takes.
    probe: &'static str,
}

impl GivenBack {
    /// `None` for nothing, and for what no answer is made of.
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
    /// Where this method makes such calls.
    pub(super) fn units(&self) -> &[u32] {
        let (class, method) = (self.class.class.name(), self.method);
        self.class.rewriter.scope.units(class, method.name(), method.descriptor())
    }

    /// The mark before a unit; gives what is called.
    pub(super) fn unit_begins(
        &mut self,
        instr: &Instr<'a>,
    ) -> Result<Option<Member<'a>>, RewriteError> {
        let is_call = matches!(instr.opcode, op::INVOKEVIRTUAL..=op::INVOKEINTERFACE);
        // Only methods whose activations are told can be told to make two calls.
        if !is_call || self.method.name().starts_with('<') || !self.units().contains(&instr.pc) {
            return Ok(None);
        }
        let called = instr.pool_index().map(|index| self.class.class.pool().member(index));
        let Some(Ok(called)) = called else { return Ok(None) };
        let site = self.site(instr.pc, What::UnitCall { api: api(&called) });
        let code = self.tell(Snippet::new(), site, "mark", "(I)V")?;
        self.before(instr.pc, code);
        Ok(Some(called))
    }

    /// The mark after it.
    pub(super) fn unit_ends(
        &mut self,
        instr: &Instr<'a>,
        called: Member<'a>,
    ) -> Result<(), RewriteError> {
        let result = GivenBack::of(&called.descriptor);
        let what = What::UnitReturn { api: api(&called), result: result.map(|result| result.kind) };
        let site = self.site(instr.pc, what);
        let code = match result {
            Some(GivenBack { copy, probe, .. }) => {
                self.tell(Snippet::new().op(copy), site, "answered", probe)?
            }
            None => self.tell(Snippet::new(), site, "mark", "(I)V")?,
        };
        self.after(instr.pc, code);
        Ok(())
    }
}

/// `java.util.Map.remove`
fn api(called: &Member<'_>) -> String {
    format!("{}.{}", called.class.replace('/', "."), called.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_by_their_kind() {
        let kind = |descriptor| GivenBack::of(descriptor).map(|result| result.kind);
        assert_eq!(kind("(I)Z"), Some(ValueKind::Bool));
        assert_eq!(kind("()Ljava/lang/Object;"), Some(ValueKind::Ref));
        assert_eq!(kind("(Ljava/lang/String;)J"), Some(ValueKind::Int));
        assert_eq!(kind("()D"), None);
        assert_eq!(kind("()V"), None);
    }
}
