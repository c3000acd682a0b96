//! Weak references keep their referents alive, so that it does not matter when the garbage collector runs.
//!
//! When it runs depends on what the compiler has compiled by then, which differs between runs; and caches lose
//! entries with the referents. So each weak reference gets a field with a soft reference to its referent. The
//! collector clears those only when memory would run out otherwise, which is when a program that relies on weak
//! references needs it. For programs that do not wait for that, see `weak_refs`. Objects that only a dead reference
//! refers to are collected as usual.

use untorn_bytecode::{Snippet, access, op};

use super::{ClassEdit, RewriteError};

const WEAK: &str = "java/lang/ref/WeakReference";
const KEPT: &str = "java/lang/UntornKeptReferent";
/// The name and the type of the field.
const FIELD: (&str, &str) = ("untornReferent", "Ljava/lang/Object;");

impl ClassEdit<'_, '_> {
    /// Adds the field if the class is that of weak references.
    pub(super) fn hold_referents(&mut self) -> Result<(), RewriteError> {
        if self.class.name() != WEAK {
            return Ok(());
        }
        self.editor.add_field(access::PRIVATE | access::SYNTHETIC, FIELD.0, FIELD.1)?;
        for (index, method) in self.class.methods().iter().enumerate() {
            let code = method.code().filter(|_| method.is_constructor());
            for instr in code.into_iter().flat_map(|code| code.instructions().flatten()) {
                if instr.opcode == op::RETURN {
                    let hold = self.hold()?;
                    self.editor.method(index).grow_stack(2).before(instr.pc, hold);
                }
            }
        }
        self.touched = true;
        Ok(())
    }

    /// `this.untornReferent = UntornKeptReferent.of(referent)`; the referent is the first argument of every
    /// constructor.
    fn hold(&mut self) -> Result<Snippet, RewriteError> {
        let pool = self.editor.pool();
        let field = pool.fieldref(WEAK, FIELD.0, FIELD.1)?;
        let held = pool.methodref(KEPT, "of", "(Ljava/lang/Object;)Ljava/lang/Object;")?;
        let code = Snippet::new().op(op::ALOAD_0).op(op::ALOAD_1).invokestatic(held);
        Ok(code.op_u16(op::PUTFIELD, field))
    }
}
