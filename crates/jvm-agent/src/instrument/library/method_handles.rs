//! Fields accessed through method handles. The field of a handle is known from where the handle was created. A call
//! is instrumented if it has the shape of a getter or setter; the probe checks whether the handle is a known one.

use untorn_bytecode::descriptor::Signature;
use untorn_bytecode::{Instr, Kind, Member, Snippet, op};
use untorn_trace::event::Access;

use super::super::access::argument;
use super::super::{MethodPass, RewriteError};
use super::atomics::PROBES;
use crate::sites::{Reached, SiteKind};

/// The shape of the call of a getter or setter: with the object that has the field or without; the type of the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape<'d> {
    write: bool,
    of_object: bool,
    value: &'d str,
}

fn shape(descriptor: &str) -> Option<Shape<'_>> {
    let Signature { parameters: arguments, result } = Signature::parse(descriptor)?;
    let is_object = |kind: &&str| kind.starts_with('L');
    match (arguments.as_slice(), result) {
        ([], value) if value != "V" => Some(Shape { write: false, of_object: false, value }),
        ([object], value) if value != "V" => {
            Some(Shape { write: false, of_object: true, value }).filter(|_| is_object(object))
        }
        (&[value], "V") => Some(Shape { write: true, of_object: false, value }),
        (&[object, value], "V") => {
            Some(Shape { write: true, of_object: true, value }).filter(|_| is_object(&object))
        }
        _ => None,
    }
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn method_handle(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<(), RewriteError> {
        let invokes = matches!(&*called.name, "invokeExact" | "invoke");
        let Some(shape) = shape(&called.descriptor).filter(|_| invokes) else { return Ok(()) };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let Some(kind) = Kind::of(shape.value) else { return Ok(()) };
        let what = Reached::NamedField;
        let access = Access::Plain;
        let site = self.site(instr.pc, SiteKind::Reached { write: shape.write, access, what });
        self.planned(instr.pc, site)?;
        let value = match shape.write {
            true => operands.load(Snippet::new(), operands.count() - 1),
            false if kind.slots() == 2 => Snippet::new().op(op::DUP2),
            false => Snippet::new().op(op::DUP),
        };
        let code = operands.load(value, 0);
        let code = match shape.of_object {
            true => operands.load(code, 1),
            false => code.op(op::ACONST_NULL),
        };
        let descriptor = format!("({}Ljava/lang/Object;Ljava/lang/Object;I)V", argument(kind));
        let last = self.call_probe_of(PROBES, code, site, "through", &descriptor)?;
        self.around(instr.pc, &operands, &Snippet::new(), last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn getters_and_setters_are_known_by_their_shape() {
        let of =
            |descriptor| shape(descriptor).map(|shape| (shape.write, shape.of_object, shape.value));
        assert_eq!(of("(LPoint;)I"), Some((false, true, "I")));
        assert_eq!(of("(LPoint;J)V"), Some((true, true, "J")));
        assert_eq!(of("()Ljava/lang/String;"), Some((false, false, "Ljava/lang/String;")));
        assert_eq!(of("(D)V"), Some((true, false, "D")));
        assert_eq!(of("(II)V"), None);
        assert_eq!(of("()V"), None);
    }
}
