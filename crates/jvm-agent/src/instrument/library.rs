//! Calls of the JDK that read, write or lock on behalf of their caller. The call stays unchanged; a probe beside it
//! records its effect, at the call site.

mod arrays;
mod atomics;
mod collections;
mod locks;
mod makers;
mod method_handles;
mod offsets;
mod orders;

use std::sync::PoisonError;

use untorn_bytecode::descriptor::Signature;
use untorn_bytecode::{Instr, Kind, Member, Snippet, op};

use super::{MethodPass, RewriteError};
use crate::scope::Depth;
use crate::sites::{CodeSite, SiteInfo, SiteKind};

/// Local variables for receiver and arguments of a call: the longest is a compare-and-set through a handle.
const SPILLED: u16 = 10;

/// Receiver and arguments of a call, in local variables.
#[derive(Debug)]
pub(super) struct Operands(Vec<(Kind, u16)>);

impl Operands {
    /// `None` if they are too many, or the descriptor is malformed.
    fn new(first: u16, instr: &Instr<'_>, descriptor: &str) -> Option<Self> {
        let mut kinds = parameters(descriptor)?;
        if instr.opcode != op::INVOKESTATIC {
            kinds.insert(0, Kind::Reference);
        }
        let mut next = first;
        let mut place = |kind: Kind| {
            let slot = next;
            next += kind.slots();
            (kind, slot)
        };
        let all: Vec<_> = kinds.into_iter().map(&mut place).collect();
        (next - first <= SPILLED).then_some(Self(all))
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn kind(&self, index: usize) -> Option<Kind> {
        self.0.get(index).map(|operand| operand.0)
    }

    /// Pops them from the stack, the last first.
    pub(super) fn store(&self) -> Snippet {
        self.0.iter().rev().fold(Snippet::new(), |code, &(kind, slot)| code.store(kind, slot))
    }

    pub(super) fn load_all(&self, code: Snippet) -> Snippet {
        self.0.iter().fold(code, |code, &(kind, slot)| code.load(kind, slot))
    }

    pub(super) fn load(&self, code: Snippet, index: usize) -> Snippet {
        let (kind, slot) = self.0[index];
        code.load(kind, slot)
    }
}

/// The kinds of a method's parameters.
fn parameters(descriptor: &str) -> Option<Vec<Kind>> {
    Signature::parse(descriptor)?.parameters.into_iter().map(Kind::of).collect()
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn library(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<(), RewriteError> {
        if !self.records_calls() {
            return Ok(());
        }
        self.note_unseen(called);
        if self.hands_over() {
            return self.ordering(instr, called).map(|_| ());
        }
        if offsets::is_unsafe(&called.class) {
            return self.by_offset(instr, called);
        }
        if let Some(target) = self.known_class(&called.class, atomics::target) {
            return self.atomic(instr, called, target);
        }
        if let Some(family) = self.known_class(&called.class, locks::family) {
            return self.lock(instr, called, family);
        }
        if self.known_class(&called.class, collections::is_collection).is_some() {
            return self.collection(instr, called);
        }
        if &*called.class == "java/lang/invoke/MethodHandle" && instr.opcode == op::INVOKEVIRTUAL {
            return self.method_handle(instr, called);
        }
        if self.ordering(instr, called)? {
            return Ok(());
        }
        self.maker(instr, called)?;
        self.copying(instr, called)
    }

    /// The functions that the program passes to an atomic variable run inside of these methods.
    fn records_calls(&self) -> bool {
        let applies_function = matches!(
            self.method.name(),
            "getAndUpdate" | "updateAndGet" | "getAndAccumulate" | "accumulateAndGet"
        );
        self.hands_over()
            || self.class.depth >= Depth::Accesses
            || (applies_function
                && self.class.class.name().starts_with("java/util/concurrent/atomic/"))
    }

    /// The queue of a pool orders the thread that submits a task before the thread that runs it.
    fn hands_over(&self) -> bool {
        matches!(
            (self.class.class.name(), self.method.name()),
            ("java/util/concurrent/ThreadPoolExecutor", "execute" | "getTask")
                | (
                    "java/util/concurrent/ScheduledThreadPoolExecutor",
                    "delayedExecute" | "reExecutePeriodic"
                )
        )
    }

    /// Looks up facts of a class or of one of its superclasses.
    fn known_class<T>(&self, class: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        if class.starts_with("java/") || class.starts_with("sun/") {
            return find(class);
        }
        let classes = self.class.rewriter.classes.read().unwrap_or_else(PoisonError::into_inner);
        classes.lineage(class).find_map(find)
    }

    pub(super) fn operands(&mut self, instr: &Instr<'a>, descriptor: &str) -> Option<Operands> {
        let (editor, index) = (&mut self.class.editor, self.index);
        let first =
            *self.spilled.get_or_insert_with(|| editor.method(index).scratch_local(SPILLED));
        Operands::new(first, instr, descriptor)
    }

    /// Several sites at one code position; returns the first of them.
    fn sites(&mut self, pc: u32, all: impl IntoIterator<Item = SiteKind>) -> CodeSite {
        let line = self.code.line_of(pc).map_or(0, u32::from);
        let mut sites = self.class.rewriter.sites.write().unwrap_or_else(PoisonError::into_inner);
        let place = SiteInfo { method: self.id, pc, line, what: SiteKind::Nothing };
        sites.add_all(&place, all)
    }

    /// Saves the operands, runs `first` before the call and `last` after it.
    fn around(&mut self, pc: u32, operands: &Operands, first: &Snippet, last: Snippet) {
        self.before(pc, operands.load_all(operands.store().then(first)));
        self.after(pc, last);
    }

    /// A call of a probe of another class than `UntornProbe`, whose last argument is the site.
    fn call_probe_of(
        &mut self,
        class: &str,
        code: Snippet,
        site: CodeSite,
        name: &str,
        descriptor: &str,
    ) -> Result<Snippet, RewriteError> {
        let probe = self.class.editor.pool().methodref(class, name, descriptor)?;
        let code = code.int(site.0.cast_signed(), self.class.editor.pool())?;
        Ok(code.invokestatic(probe))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_kinds() {
        assert_eq!(parameters("(JZ)V"), Some(vec![Kind::Long, Kind::Int]));
        assert_eq!(parameters("(Lx"), None);
    }
}
