//! Probes of monitors: `monitorenter`, `monitorexit`, and `synchronized` methods. The latter get explicit monitor
//! instructions, because the scheduler cannot be asked before the JVM enters the monitor of such a method; see
//! `explicit_monitors` for what the program sees of it.

use untorn_bytecode::{Instr, Kind, Snippet, Wrap, access, op};

use super::{MethodPass, RewriteError};
use crate::scope::Depth;
use crate::sites::SiteKind;

const OBJECT: &str = "(Ljava/lang/Object;I)V";

impl<'a> MethodPass<'_, '_, 'a> {
    /// A section of a monitor is a declared atomic block if it is in code of the application.
    pub(super) fn is_block(&self) -> bool {
        self.class.depth == Depth::Application || self.class.depth == Depth::Accesses
    }

    pub(super) fn monitor(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let block = self.is_block();
        if instr.opcode == op::MONITORENTER {
            let site = self.site(instr.pc, SiteKind::Enter { block, own: false });
            self.planned(instr.pc, site)?;
            let code = self.call_probe(Snippet::new().op(op::DUP), site, "enter", OBJECT)?;
            self.before(instr.pc, code);
        } else {
            let site = self.site(instr.pc, SiteKind::Exit { block });
            self.planned(instr.pc, site)?;
            self.before(instr.pc, Snippet::new().op(op::DUP));
            let code = self.call_probe(Snippet::new(), site, "exit", OBJECT)?;
            self.after(instr.pc, code);
        }
        Ok(())
    }

    /// Whether the method's monitor can be made explicit: its object must be available at every exit.
    pub(super) fn can_have_explicit_monitor(&self) -> bool {
        let flags = self.method.access();
        let at_hand = if self.method.is_static() {
            // A class constant needs class files of Java 5.
            self.class.class.version() >= 49
        } else {
            !self.code.writes_local0(self.class.class.pool())
        };
        let may = self
            .class
            .may_have_monitors
            .is_none_or(|monitors| monitors.contains(self.method.name(), self.method.descriptor()));
        flags & access::SYNCHRONIZED != 0 && at_hand && may
    }

    pub(super) fn make_monitor_explicit(&mut self) -> Result<(), RewriteError> {
        let block = self.is_block();
        let (enter, exit) = (
            self.site(0, SiteKind::Enter { block, own: true }),
            self.site(0, SiteKind::Exit { block }),
        );
        // HotSpot compiles a method only if each exit names its monitor by the same variable as the entry.
        let (fetch, object) = if self.method.is_static() {
            let (class, kind) = (
                self.class.editor.pool().class(self.class.class.name())?,
                self.class.editor.pool().class("java/lang/Class")?,
            );
            let kept = self.class.editor.method(self.index).keep_local(kind);
            let fetch = Snippet::new().ldc(class).op(op::DUP).store(Kind::Reference, kept);
            (fetch, Snippet::new().load(Kind::Reference, kept))
        } else {
            (Snippet::new().op(op::ALOAD_0), Snippet::new().op(op::ALOAD_0))
        };
        let ask = self.ask(enter)?.then(&fetch).op(op::DUP);
        let enter = self.call_probe(ask, enter, "enter", OBJECT)?.op(op::MONITORENTER);
        let leave = self.ask(exit)?.then(&object).op(op::MONITOREXIT).end_protection();
        let leave = self.call_probe(leave.then(&object), exit, "exit", OBJECT)?;
        let wrap = Wrap { enter, before_return: leave.clone(), handler: leave };
        let (editor, class) = (&mut self.class.editor, self.class.class.name());
        editor.method(self.index).wrap(wrap);
        editor.set_method_access(self.index, self.method.access() & !access::SYNCHRONIZED);
        if class == "java/lang/StringBuffer" {
            // The JVM prints a warning about an intrinsic method that is no longer synchronized.
            editor.strip_method_attribute(self.index, "RuntimeVisibleAnnotations");
        }
        self.class.monitors.insert(self.method);
        self.edits += 1;
        Ok(())
    }
}
