//! Atomic variables, their arrays, field updaters, adders and variable handles.

use untorn_bytecode::{Instr, Kind, Member, Snippet, descriptor, op};
use untorn_trace::VarRole;
use untorn_trace::event::{Access, ValueKind};

use super::super::{MethodPass, RewriteError, access};
use super::Operands;
use crate::sites::{FieldName, Reached, SiteKind};

pub(super) const PROBES: &str = "java/lang/UntornAtomics";

/// The receiver of an operation, and how it leads to the variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// The object is the variable; its name and its type.
    Scalar { class: &'static str, name: &'static str, descriptor: &'static str },
    /// The first argument is the index.
    Array { kind: ValueKind, class: &'static str },
    /// The first argument has the field.
    Updater,
    /// The first arguments identify the variable: nothing, an object, or an array and an index.
    Handle,
}

/// How a class of the JDK accesses variables.
pub(super) fn target(class: &str) -> Option<Target> {
    let scalar = |class, name, descriptor| Target::Scalar { class, name, descriptor };
    let array = |kind, class| Target::Array { kind, class };
    let class = match class {
        "java/lang/invoke/VarHandle" => return Some(Target::Handle),
        _ => class.strip_prefix("java/util/concurrent/atomic/")?,
    };
    Some(match class {
        "AtomicInteger" => scalar("AtomicInteger", "value", "I"),
        "AtomicLong" => scalar("AtomicLong", "value", "J"),
        "AtomicBoolean" => scalar("AtomicBoolean", "value", "Z"),
        "AtomicReference" => scalar("AtomicReference", "value", "L"),
        "AtomicStampedReference" => scalar("AtomicStampedReference", "pair", "L"),
        "AtomicMarkableReference" => scalar("AtomicMarkableReference", "pair", "L"),
        "LongAdder" => scalar("LongAdder", "sum", "J"),
        "DoubleAdder" => scalar("DoubleAdder", "sum", "D"),
        "LongAccumulator" => scalar("LongAccumulator", "value", "J"),
        "DoubleAccumulator" => scalar("DoubleAccumulator", "value", "D"),
        "AtomicIntegerArray" => array(ValueKind::Int, "AtomicIntegerArray"),
        "AtomicLongArray" => array(ValueKind::Int, "AtomicLongArray"),
        "AtomicReferenceArray" => array(ValueKind::Ref, "AtomicReferenceArray"),
        "AtomicIntegerFieldUpdater" | "AtomicLongFieldUpdater" | "AtomicReferenceFieldUpdater" => {
            Target::Updater
        }
        _ => return None,
    })
}

/// The effect of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AccessEffect {
    Read,
    Write,
    Update,
    /// An update if the result is true.
    Swap,
    /// An update if it changed something.
    Exchange,
}

impl AccessEffect {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "get" | "getPlain" | "getOpaque" | "getAcquire" | "getVolatile" | "intValue"
            | "longValue" | "floatValue" | "doubleValue" | "sum" | "getReference" | "getStamp"
            | "isMarked" => Self::Read,
            "set" | "setPlain" | "setOpaque" | "setRelease" | "setVolatile" | "lazySet"
            | "reset" => Self::Write,
            "getAndIncrement" | "getAndDecrement" | "incrementAndGet" | "decrementAndGet"
            | "addAndGet" | "add" | "increment" | "decrement" | "sumThenReset" | "accumulate"
            | "getThenReset" => Self::Update,
            "attemptStamp" | "attemptMark" => Self::Swap,
            // A function that the program passes may have any effect; its events are recorded where it is called.
            "getAndUpdate" | "getAndAccumulate" => return None,
            _ if name.starts_with("compareAndSet") => Self::Swap,
            _ if name.starts_with("weakCompareAndSet") => Self::Swap,
            _ if name.starts_with("compareAndExchange") => Self::Exchange,
            _ if name.starts_with("getAnd") => Self::Update,
            _ => return None,
        })
    }

    /// How many arguments are values and not part of the address.
    fn values(self) -> usize {
        match self {
            Self::Read => 0,
            Self::Write | Self::Update => 1,
            Self::Swap | Self::Exchange => 2,
        }
    }

    /// The sites of an operation, in the order that the probes expect.
    fn site_kinds(self, name: &str, handle: bool, what: &Reached) -> Vec<SiteKind> {
        let site = |write, access| SiteKind::Reached { write, access, what: what.clone() };
        let plain = name.ends_with("Plain") || (handle && matches!(name, "get" | "set"));
        let access = if plain { Access::Plain } else { Access::Volatile };
        match self {
            Self::Read => vec![site(false, access), SiteKind::Unresolved],
            Self::Write => vec![site(true, access), SiteKind::Unresolved],
            Self::Update | Self::Swap | Self::Exchange => vec![
                site(false, Access::Update),
                site(true, Access::Update),
                site(false, Access::Volatile),
                SiteKind::Unresolved,
            ],
        }
    }

    /// What is on the stack for the probe after the operation, its name, and the type of that.
    pub(super) fn probe(self) -> (Snippet, &'static str, &'static str) {
        match self {
            Self::Read | Self::Write => (Snippet::new(), "accessed", ""),
            Self::Update => (Snippet::new(), "updated", ""),
            Self::Exchange => (Snippet::new(), "exchanged", ""),
            Self::Swap => (Snippet::new().op(op::DUP), "swapped", "Z"),
        }
    }
}

/// Code that loads the address of a variable: the object that has it, and the index.
struct VariableAddress {
    what: Reached,
    holder: Option<usize>,
    index: Option<usize>,
}

impl Target {
    fn place(
        self,
        effect: AccessEffect,
        called: &Member<'_>,
        operands: &Operands,
    ) -> Option<VariableAddress> {
        match self {
            Self::Scalar { class, name, descriptor } => {
                let class = format!("java/util/concurrent/atomic/{class}");
                let (name, descriptor) = (name.to_owned(), descriptor.to_owned());
                let what =
                    Reached::Field(FieldName { class, name, descriptor, role: VarRole::Field });
                Some(VariableAddress { what, holder: None, index: None })
            }
            Self::Array { kind, class } => {
                let what = Reached::Element { kind, element: class };
                let is_int = operands.kind(1) == Some(Kind::Int);
                is_int.then_some(VariableAddress { what, holder: None, index: Some(1) })
            }
            Self::Updater => {
                Some(VariableAddress { what: Reached::NamedField, holder: Some(1), index: None })
                    .filter(|_| operands.kind(1) == Some(Kind::Reference))
            }
            Self::Handle => handle_place(effect, &called.descriptor, operands),
        }
    }
}

fn handle_place(
    effect: AccessEffect,
    descriptor: &str,
    operands: &Operands,
) -> Option<VariableAddress> {
    let named = |holder| Some(VariableAddress { what: Reached::NamedField, holder, index: None });
    let coordinates = operands.count().checked_sub(1 + effect.values())?;
    let first = descriptor::parameters(descriptor).next();
    match coordinates {
        0 => named(None),
        1 if operands.kind(1) == Some(Kind::Reference) => named(Some(1)),
        2 if operands.kind(2) == Some(Kind::Int) => {
            let (_, kind, element) = access::element_of(access::load_of(first?)?);
            let what = Reached::Element { kind, element };
            Some(VariableAddress { what, holder: Some(1), index: Some(2) })
        }
        _ => None,
    }
}

impl<'a> MethodPass<'_, '_, 'a> {
    pub(super) fn atomic(
        &mut self,
        instr: &Instr<'a>,
        called: &Member<'a>,
        target: Target,
    ) -> Result<(), RewriteError> {
        if instr.opcode != op::INVOKEVIRTUAL {
            return self.maker(instr, called);
        }
        let Some(effect) = AccessEffect::of(&called.name) else {
            return self.maker(instr, called);
        };
        let Some(operands) = self.operands(instr, &called.descriptor) else { return Ok(()) };
        let Some(place) = target.place(effect, called, &operands) else { return Ok(()) };
        let site_kinds = effect.site_kinds(&called.name, target == Target::Handle, &place.what);
        let site = self.sites(instr.pc, site_kinds);
        self.planned(instr.pc, site)?;
        let what = |code: Snippet| {
            let code = operands.load(code, 0);
            let code = match place.holder {
                Some(holder) => operands.load(code, holder),
                None => code.op(op::ACONST_NULL),
            };
            match place.index {
                Some(index) => operands.load(code, index),
                None => code.op(op::ICONST_M1),
            }
        };
        let first = match effect {
            AccessEffect::Read | AccessEffect::Write => Snippet::new(),
            _ => {
                let before = "(Ljava/lang/Object;Ljava/lang/Object;I)V";
                let probe = self.class.editor.pool().methodref(PROBES, "before", before)?;
                what(Snippet::new()).invokestatic(probe)
            }
        };
        let (code, probe, flag) = effect.probe();
        let descriptor = format!("({flag}Ljava/lang/Object;Ljava/lang/Object;II)V");
        let last = self.call_probe_of(PROBES, what(code), site, probe, &descriptor)?;
        self.around(instr.pc, &operands, &first, last);
        Ok(())
    }
}
