//! Probes of fields, static fields and elements of arrays.

use std::sync::PoisonError;

use untorn_bytecode::{Instr, Kind, Member, Snippet, op};
use untorn_trace::VarRole;
use untorn_trace::event::ValueKind;

use super::{ClassEdit, MethodPass, RewriteError};
use crate::sites::{FieldName, SiteKind};

/// Whether the instruction loads or stores an element of an array.
pub(super) fn is_element(opcode: u8) -> bool {
    matches!(opcode, op::IALOAD..=op::SALOAD | op::IASTORE..=op::SASTORE)
}

/// Whether the instruction is a branch.
pub(super) fn is_decision(opcode: u8) -> bool {
    matches!(
        opcode,
        op::IFEQ..=op::IF_ACMPNE | op::TABLESWITCH | op::LOOKUPSWITCH | op::IFNULL | op::IFNONNULL
    )
}

/// How values of a type are shown.
pub(crate) fn value_kind(descriptor: &str) -> ValueKind {
    match descriptor.as_bytes().first() {
        Some(b'Z') => ValueKind::Bool,
        Some(b'C') => ValueKind::Char,
        Some(b'F') => ValueKind::Float,
        Some(b'D') => ValueKind::Double,
        Some(b'L' | b'[') => ValueKind::Ref,
        _ => ValueKind::Int,
    }
}

/// The type of a probe's argument for a value of that kind.
pub(super) fn argument(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "I",
        Kind::Long => "J",
        Kind::Float => "F",
        Kind::Double => "D",
        Kind::Reference => "Ljava/lang/Object;",
    }
}

/// The kind of an array's elements, how to show them, and the array's type in Java's notation. `baload` serves two
/// types; bytes are by far the more frequent.
pub(super) fn element_of(opcode: u8) -> (Kind, ValueKind, &'static str) {
    let first = if opcode >= op::IASTORE { op::IASTORE } else { op::IALOAD };
    match opcode - first {
        0 => (Kind::Int, ValueKind::Int, "int[]"),
        1 => (Kind::Long, ValueKind::Int, "long[]"),
        2 => (Kind::Float, ValueKind::Float, "float[]"),
        3 => (Kind::Double, ValueKind::Double, "double[]"),
        4 => (Kind::Reference, ValueKind::Ref, "Object[]"),
        5 => (Kind::Int, ValueKind::Int, "byte[]"),
        6 => (Kind::Int, ValueKind::Char, "char[]"),
        _ => (Kind::Int, ValueKind::Int, "short[]"),
    }
}

/// The instruction that loads an element of an array of that type.
pub(super) fn load_of(array: &str) -> Option<u8> {
    Some(match array.strip_prefix('[')?.as_bytes().first()? {
        b'I' => op::IALOAD,
        b'J' => op::LALOAD,
        b'F' => op::FALOAD,
        b'D' => op::DALOAD,
        b'L' | b'[' => op::AALOAD,
        b'B' | b'Z' => op::BALOAD,
        b'C' => op::CALOAD,
        b'S' => op::SALOAD,
        _ => return None,
    })
}

impl<'a> ClassEdit<'_, 'a> {
    /// The field that the instruction names, unless it is known to be final: accesses of final fields do not
    /// conflict.
    ///
    /// Only facts that are known in every run count: those of the class itself and of the JDK. Whether another class
    /// of the application is loaded by now differs between runs; the converter removes accesses of its final fields.
    pub(super) fn field_of(&self, instr: &Instr<'a>) -> Option<Member<'a>> {
        let field = self.class.pool().member(instr.pool_index()?).ok()?;
        let classes = self.rewriter.classes.read().unwrap_or_else(PoisonError::into_inner);
        let known = classes.declaring(&field.class, &field.name);
        let is_always_known =
            |class: &str| class == self.class.name() || class.starts_with("java/");
        let is_final = known.is_some_and(|(class, facts)| facts.is_final && is_always_known(class));
        (!is_final).then_some(field)
    }
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn field(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let Some(field) = self.class.field_of(instr) else { return Ok(()) };
        let Some(kind) = Kind::of(&field.descriptor) else { return Ok(()) };
        let write = instr.opcode == op::PUTFIELD;
        let site = self.site(instr.pc, SiteKind::Field { write, field: name_of(&field) });
        let probe = format!("(Ljava/lang/Object;{}I)V", argument(kind));
        self.planned(instr.pc, site)?;
        match (write, kind.slots()) {
            // object → object object → object value → value object value
            (false, slots) => {
                self.before(instr.pc, Snippet::new().op(op::DUP));
                let swap = if slots == 1 { op::DUP_X1 } else { op::DUP2_X1 };
                let code = self.call_probe(Snippet::new().op(swap), site, "field", &probe)?;
                self.after(instr.pc, code);
            }
            // object value → object value object value → object value
            (true, 1) => {
                self.before(instr.pc, Snippet::new().op(op::DUP2));
                let code = self.call_probe(Snippet::new(), site, "field", &probe)?;
                self.after(instr.pc, code);
            }
            // object value₂ → object object value₂ → object → object value₂
            (true, _) => {
                let local = self.scratch();
                let keep = Snippet::new().store(kind, local).op(op::DUP).load(kind, local);
                self.before(instr.pc, keep);
                let code =
                    self.call_probe(Snippet::new().load(kind, local), site, "field", &probe)?;
                self.after(instr.pc, code);
            }
        }
        Ok(())
    }

    pub(super) fn global(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let Some(field) = self.class.field_of(instr) else { return Ok(()) };
        let Some(kind) = Kind::of(&field.descriptor) else { return Ok(()) };
        let write = instr.opcode == op::PUTSTATIC;
        let site = self.site(instr.pc, SiteKind::Global { write, field: name_of(&field) });
        let probe = format!("({}I)V", argument(kind));
        self.planned(instr.pc, site)?;
        let copy = Snippet::new().op(if kind.slots() == 1 { op::DUP } else { op::DUP2 });
        if write {
            self.before(instr.pc, copy);
            let code = self.call_probe(Snippet::new(), site, "global", &probe)?;
            self.after(instr.pc, code);
        } else {
            let code = self.call_probe(copy, site, "global", &probe)?;
            self.after(instr.pc, code);
        }
        Ok(())
    }

    pub(super) fn element(&mut self, instr: &Instr<'a>) -> Result<(), RewriteError> {
        let (kind, shown, element) = element_of(instr.opcode);
        let write = instr.opcode >= op::IASTORE;
        let site = self.site(instr.pc, SiteKind::Element { write, kind: shown, element });
        let probe = format!("(Ljava/lang/Object;I{}I)V", argument(kind));
        self.planned(instr.pc, site)?;
        if write {
            // array index value → array index array index value → array index → array index value
            let local = self.scratch();
            let keep = Snippet::new().store(kind, local).op(op::DUP2).load(kind, local);
            self.before(instr.pc, keep);
            let code =
                self.call_probe(Snippet::new().load(kind, local), site, "element", &probe)?;
            self.after(instr.pc, code);
        } else {
            // array index → array index array index → array index value → value array index value
            self.before(instr.pc, Snippet::new().op(op::DUP2));
            let swap = if kind.slots() == 1 { op::DUP_X2 } else { op::DUP2_X2 };
            let code = self.call_probe(Snippet::new().op(swap), site, "element", &probe)?;
            self.after(instr.pc, code);
        }
        Ok(())
    }
}

fn name_of(member: &Member<'_>) -> FieldName {
    FieldName {
        class: member.class.to_string(),
        name: member.name.to_string(),
        descriptor: member.descriptor.to_string(),
        role: VarRole::Field,
    }
}
