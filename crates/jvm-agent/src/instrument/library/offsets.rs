//! `sun.misc.Unsafe`, and the class of the JDK behind it: fields and elements reached by their offsets.

use untorn_bytecode::descriptor::Signature;
use untorn_bytecode::{Instr, Member, Snippet, op};
use untorn_trace::event::Access;

use super::super::{MethodPass, RewriteError, access};
use super::atomics::AccessEffect;
use crate::sites::{Reached, SiteKind};

pub(super) const PROBES: &str = "java/lang/UntornOffsets";

const TYPES: [&str; 10] =
    ["Int", "Long", "Float", "Double", "Object", "Reference", "Byte", "Boolean", "Char", "Short"];

pub(super) fn is_unsafe(class: &str) -> bool {
    matches!(class, "sun/misc/Unsafe" | "jdk/internal/misc/Unsafe")
}

/// The effect of a method; `None` if it accesses nothing.
fn effect_of(name: &str) -> Option<AccessEffect> {
    match name {
        _ if name.starts_with("getAnd") => Some(AccessEffect::Update),
        _ if name.starts_with("compareAndExchange") => Some(AccessEffect::Exchange),
        _ if name.starts_with("compareAndS") || name.starts_with("weakCompareAndS") => {
            Some(AccessEffect::Swap)
        }
        _ if type_in(name, "get").is_some() => Some(AccessEffect::Read),
        _ if type_in(name, "put").is_some() => Some(AccessEffect::Write),
        _ => None,
    }
}

/// What follows the type in a name such as `getIntVolatile`; `putOrderedInt` has it before the type.
fn type_in<'n>(name: &'n str, verb: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(verb)?;
    let rest = rest.strip_prefix("Ordered").unwrap_or(rest);
    TYPES.iter().find_map(|of| rest.strip_prefix(of))
}

/// Plain accesses have a name of nothing but the verb and the type.
fn access_of(name: &str) -> Access {
    let mode = type_in(name, "get").or_else(|| type_in(name, "put"));
    match mode {
        Some("" | "Unaligned") if !name.starts_with("putOrdered") => Access::Plain,
        _ => Access::Volatile,
    }
}

/// Whether the method touches memory by its address alone, or many elements at once.
fn is_raw(called: &Member<'_>) -> bool {
    let by_address = called.descriptor.starts_with("(J");
    matches!(
        &*called.name,
        "copyMemory" | "setMemory" | "copySwapMemory" | "getAddress" | "putAddress"
    ) || (by_address && effect_of(&called.name).is_some())
}

/// The instruction that loads an element of the type that the operation accesses.
fn load_of(called: &Member<'_>) -> Option<u8> {
    let Signature { parameters, result } = Signature::parse(&called.descriptor)?;
    if parameters.get(..2)? != ["Ljava/lang/Object;", "J"] {
        return None;
    }
    let accessed = match effect_of(&called.name)? {
        AccessEffect::Read => result,
        _ => parameters.get(2).copied()?,
    };
    access::load_of(&format!("[{accessed}"))
}

/// The sites that the probes expect: of a field, of an element, and of what is not known.
fn site_kinds(effect: AccessEffect, mode: Access, load: u8) -> Vec<SiteKind> {
    let (_, kind, element) = access::element_of(load);
    let site =
        |write, access, what: &Reached| SiteKind::Reached { write, access, what: what.clone() };
    let of = |what: &Reached| match effect {
        AccessEffect::Read => vec![site(false, mode, what)],
        AccessEffect::Write => vec![site(true, mode, what)],
        _ => vec![
            site(false, Access::Update, what),
            site(true, Access::Update, what),
            site(false, Access::Volatile, what),
        ],
    };
    let mut all = of(&Reached::NamedField);
    all.extend(of(&Reached::Element { kind, element }));
    all.push(SiteKind::Unresolved);
    all
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn by_offset(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
    ) -> Result<(), RewriteError> {
        if is_raw(called) {
            self.note_unseen_words("memory by its address (Unsafe)");
            return Ok(());
        }
        let Some(effect) = effect_of(&called.name).filter(|_| instr.opcode == op::INVOKEVIRTUAL)
        else {
            return self.maker(instr, called);
        };
        let Some(load) = load_of(called) else { return Ok(()) };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let site = self.sites(instr.pc, site_kinds(effect, access_of(&called.name), load));
        self.planned(instr.pc, site)?;
        let kind = i32::from(load - op::IALOAD);
        let place = |code: Snippet| operands.load(operands.load(code, 1), 2);
        let pool = self.class.editor.pool();
        let first = match effect {
            AccessEffect::Read | AccessEffect::Write => Snippet::new(),
            _ => {
                let probe = pool.methodref(PROBES, "before", "(Ljava/lang/Object;JI)V")?;
                place(Snippet::new()).int(kind, pool)?.invokestatic(probe)
            }
        };
        let (code, probe, flag) = effect.probe();
        let descriptor = format!("({flag}Ljava/lang/Object;JII)V");
        let code = place(code).int(kind, pool)?;
        let last = self.call_probe_of(PROBES, code, site, probe, &descriptor)?;
        self.around(instr.pc, &operands, &first, last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_known_by_their_names() {
        let of = |name: &str| effect_of(name).map(|effect| (effect, access_of(name)));
        assert_eq!(of("getInt"), Some((AccessEffect::Read, Access::Plain)));
        assert_eq!(of("getReferenceAcquire"), Some((AccessEffect::Read, Access::Volatile)));
        assert_eq!(of("putOrderedObject"), Some((AccessEffect::Write, Access::Volatile)));
        assert_eq!(of("putLong"), Some((AccessEffect::Write, Access::Plain)));
        assert_eq!(effect_of("compareAndSwapInt"), Some(AccessEffect::Swap));
        assert_eq!(effect_of("weakCompareAndSetLongPlain"), Some(AccessEffect::Swap));
        assert_eq!(effect_of("compareAndExchangeReference"), Some(AccessEffect::Exchange));
        assert_eq!(effect_of("getAndSetObject"), Some(AccessEffect::Update));
        assert_eq!(effect_of("getUnsafe"), None);
        assert_eq!(effect_of("park"), None);
    }
}
