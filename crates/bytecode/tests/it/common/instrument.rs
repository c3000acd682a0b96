//! Edits that change nothing a program could notice, in as many ways as there are.

use untorn_bytecode::{
    ClassEditor, ClassFile, Kind, Method, PoolBuilder, PoolFull, Rewritten, Snippet, Wrap, access,
    op,
};

/// What is put before and after every instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    Nothing,
    Nops,
    /// Constants pushed and popped, and kept for a while in scratch variables.
    Constants,
    /// Calls of a static method.
    Calls,
}

/// One way of instrumenting a class.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub filling: Filling,
    /// Calls and field accesses are replaced by themselves and a `nop`.
    pub replace: bool,
    /// Two calls around every method.
    pub wrap: bool,
    /// Synchronized methods take and leave their monitor themselves.
    pub monitors: bool,
    /// The class whose `hit`, `enter` and `leave` are called.
    pub probe: &'static str,
}

impl Variant {
    pub fn apply<'a>(&self, class: &'a ClassFile<'a>) -> Rewritten {
        let mut editor = ClassEditor::new(class);
        for (index, method) in class.methods().iter().enumerate() {
            // HotSpot registers objects for finalisation unless their `finalize` is empty.
            let is_empty = method.code().is_some_and(|code| code.bytes() == [op::RETURN]);
            if method.code().is_some() && !(method.name() == "finalize" && is_empty) {
                self.edit(&mut editor, index, method).expect("the pool has room");
            }
        }
        editor.finish().expect("the pool has room")
    }

    fn edit(
        &self,
        editor: &mut ClassEditor<'_>,
        index: usize,
        method: &Method<'_>,
    ) -> Result<(), PoolFull> {
        let code = method.code().expect("a method with code");
        let scratch = editor.method(index).grow_stack(4).scratch_local(3);
        if self.wrap && !method.is_constructor() {
            let wrap = self.call_wrap(editor.pool())?;
            editor.method(index).wrap(wrap);
        }
        let has_lock = method.is_static() || !code.writes_local0(editor.class().pool());
        if self.monitors && has_lock && method.access() & access::SYNCHRONIZED != 0 {
            let wrap = self.monitor_wrap(editor, index, method)?;
            editor.method(index).wrap(wrap);
            editor.set_method_access(index, method.access() & !access::SYNCHRONIZED);
            editor.strip_method_attribute(index, "RuntimeVisibleAnnotations");
        }
        let prologue = self.filling(editor.pool(), scratch, 0)?;
        editor.method(index).prologue(prologue);
        for instr in code.instructions() {
            let instr = instr.expect("real code is well-formed");
            let before = self.filling(editor.pool(), scratch, instr.pc)?;
            let after = self.filling(editor.pool(), scratch, instr.pc + 1)?;
            let edit = editor.method(index).before(instr.pc, before).after(instr.pc, after);
            if let (op::GETSTATIC..=op::INVOKESTATIC, Some(index), true) =
                (instr.opcode, instr.pool_index(), self.replace)
            {
                let same = Snippet::new().op_u16(instr.opcode, index).op(op::NOP);
                edit.replace(instr.pc, same);
            }
        }
        Ok(())
    }

    fn filling(
        &self,
        pool: &mut PoolBuilder<'_>,
        scratch: u16,
        site: u32,
    ) -> Result<Snippet, PoolFull> {
        let code = Snippet::new();
        Ok(match self.filling {
            Filling::Nothing => code,
            Filling::Nops => code.op(op::NOP),
            Filling::Constants => code
                .ldc(pool.string("untorn")?)
                .store(Kind::Reference, scratch)
                .int((site % 70_000) as i32, pool)?
                .long(i64::from(site % 3), pool)?
                .store(Kind::Long, scratch + 1)
                .load(Kind::Reference, scratch)
                .op(op::POP2),
            Filling::Calls => {
                let hit = pool.methodref(self.probe, "hit", "(I)V")?;
                code.int(site as i32, pool)?.invokestatic(hit)
            }
        })
    }

    fn call_wrap(&self, pool: &mut PoolBuilder<'_>) -> Result<Wrap, PoolFull> {
        let enter = pool.methodref(self.probe, "enter", "()V")?;
        let leave = Snippet::new().invokestatic(pool.methodref(self.probe, "leave", "()V")?);
        Ok(Wrap {
            enter: Snippet::new().invokestatic(enter),
            before_return: leave.clone(),
            handler: leave,
        })
    }

    fn monitor_wrap(
        &self,
        editor: &mut ClassEditor<'_>,
        index: usize,
        method: &Method<'_>,
    ) -> Result<Wrap, PoolFull> {
        let (enter, lock) = if method.is_static() {
            let name = editor.class().name().to_owned();
            let (class, metaclass) =
                (editor.pool().class(&name)?, editor.pool().class("java/lang/Class")?);
            let kept = editor.method(index).keep_local(metaclass);
            let enter = Snippet::new().ldc(class).op(op::DUP).store(Kind::Reference, kept);
            (enter, Snippet::new().load(Kind::Reference, kept))
        } else {
            let this = Snippet::new().load(Kind::Reference, 0);
            (this.clone(), this)
        };
        let hit = editor.pool().methodref(self.probe, "hit", "(I)V")?;
        let call = Snippet::new().op(op::ICONST_1).invokestatic(hit);
        let exit = lock.op(op::MONITOREXIT).end_protection().then(&call);
        Ok(Wrap {
            enter: enter.then(&call).op(op::MONITORENTER),
            before_return: exit.clone(),
            handler: exit,
        })
    }
}
