//! Handles, updaters and offsets are created by the names of their fields, which are recorded here.

use untorn_bytecode::{Instr, Member, Snippet, op};

use super::super::{MethodPass, RewriteError};
use super::{atomics, offsets};

/// How to record that one was created: the result, and these operands, are passed to a probe.
struct FieldHandleMaker {
    operands: &'static [usize],
    /// The box of a primitive type that no operand names.
    boxed: Option<&'static str>,
    class: &'static str,
    probe: &'static str,
    descriptor: &'static str,
}

const BY_NAME: FieldHandleMaker = FieldHandleMaker {
    operands: &[1, 2, 3],
    boxed: None,
    class: atomics::PROBES,
    probe: "made",
    descriptor: "(Ljava/lang/Object;Ljava/lang/Class;Ljava/lang/String;Ljava/lang/Class;)V",
};

const BY_FIELD: FieldHandleMaker = FieldHandleMaker {
    operands: &[1],
    boxed: None,
    class: atomics::PROBES,
    probe: "made",
    descriptor: "(Ljava/lang/Object;Ljava/lang/reflect/Field;)V",
};

const OFFSET: FieldHandleMaker = FieldHandleMaker {
    class: offsets::PROBES,
    probe: "located",
    descriptor: "(JLjava/lang/reflect/Field;)V",
    ..BY_FIELD
};

const OFFSET_BY_NAME: FieldHandleMaker = FieldHandleMaker {
    operands: &[1, 2],
    descriptor: "(JLjava/lang/Class;Ljava/lang/String;)V",
    ..OFFSET
};

fn maker_of(called: &Member<'_>) -> Option<FieldHandleMaker> {
    let updater = |operands, boxed| Some(FieldHandleMaker { operands, boxed, ..BY_NAME });
    match (&*called.class, &*called.name) {
        ("java/lang/invoke/MethodHandles$Lookup", "findVarHandle" | "findStaticVarHandle") => {
            Some(BY_NAME)
        }
        (
            "java/lang/invoke/MethodHandles$Lookup",
            "findGetter" | "findSetter" | "findStaticGetter" | "findStaticSetter",
        ) => Some(BY_NAME),
        (
            "java/lang/invoke/MethodHandles$Lookup",
            "unreflectVarHandle" | "unreflectGetter" | "unreflectSetter",
        ) => Some(BY_FIELD),
        (class, "objectFieldOffset" | "staticFieldOffset") if offsets::is_unsafe(class) => {
            let by_name = called.descriptor.starts_with("(Ljava/lang/Class;");
            Some(if by_name { OFFSET_BY_NAME } else { OFFSET })
        }
        (class, "newUpdater") => match class.strip_prefix("java/util/concurrent/atomic/")? {
            "AtomicIntegerFieldUpdater" => updater(&[0, 1], Some("java/lang/Integer")),
            "AtomicLongFieldUpdater" => updater(&[0, 1], Some("java/lang/Long")),
            "AtomicReferenceFieldUpdater" => updater(&[0, 2, 1], None),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn maker(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<(), RewriteError> {
        let Some(made) = maker_of(called) else { return Ok(()) };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let wide = called.descriptor.ends_with('J');
        let mut last = Snippet::new().op(if wide { op::DUP2 } else { op::DUP });
        for &operand in made.operands {
            last = operands.load(last, operand);
        }
        let pool = self.class.editor.pool();
        if let Some(boxed) = made.boxed {
            let class = pool.fieldref(boxed, "TYPE", "Ljava/lang/Class;")?;
            last = last.op_u16(op::GETSTATIC, class);
        }
        let probe = pool.methodref(made.class, made.probe, made.descriptor)?;
        self.around(instr.pc, &operands, &Snippet::new(), last.invokestatic(probe));
        Ok(())
    }
}
