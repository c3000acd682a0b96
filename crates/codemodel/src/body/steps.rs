//! What each instruction of some code pops and pushes, with constants resolved.

use smallvec::SmallVec;
use untorn_bytecode::{ClassFile, Instr, Member, Number, Tag, op};

use super::operation::{ArrayClass, Condition, Element, Operation};
use super::shape::{local_slots, shape, shuffle};
use super::{Action, Invoke, Linker};
use crate::error::BodyError;
use crate::ids::ClassId;
use untorn_bytecode::descriptor::{Signature, is_field, slots};

/// What an instruction does to local variables and the stack.
#[derive(Debug)]
pub enum Step {
    Load { local: usize, slots: usize },
    Store { local: usize, slots: usize },
    Increment { local: usize, by: i16 },
    Shuffle { takes: usize, gives: &'static [usize] },
    Act(Act),
}

/// An instruction that stays one.
#[derive(Debug)]
pub struct Act {
    pub action: Action,
    /// The slots of each operand.
    pub groups: SmallVec<[u8; 6]>,
    /// The slots of the result.
    pub gives: usize,
}

impl Act {
    fn new(action: Action, groups: impl Into<SmallVec<[u8; 6]>>, gives: usize) -> Self {
        Self { action, groups: groups.into(), gives }
    }

    /// The slots of all operands.
    pub fn takes(&self) -> usize {
        self.groups.iter().map(|&slots| usize::from(slots)).sum()
    }
}

pub fn step<L: Linker>(
    class: &ClassFile<'_>,
    instr: &Instr<'_>,
    linker: &mut L,
) -> Result<Step, BodyError> {
    let opcode = instr.opcode;
    if let Some(local) = instr.local() {
        let (local, slots) = (usize::from(local), local_slots(opcode));
        return Ok(match (opcode, instr.is_store()) {
            (op::IINC, _) => Step::Increment { local, by: instr.immediate().unwrap_or(0) as i16 },
            (_, true) => Step::Store { local, slots },
            (_, false) => Step::Load { local, slots },
        });
    }
    if let Some((takes, gives)) = shuffle(opcode) {
        return Ok(Step::Shuffle { takes, gives });
    }
    let act = match opcode {
        op::GETSTATIC..=op::PUTFIELD => field(class, instr, linker)?,
        op::INVOKEVIRTUAL..=op::INVOKEINTERFACE => call(class, instr, linker)?,
        op::INVOKEDYNAMIC => dynamic(class, instr, linker)?,
        op::MULTIANEWARRAY => {
            let dimensions = usize::try_from(instr.immediate().unwrap_or(0)).unwrap_or(0);
            let action = Action::NewArray(ArrayClass::Whole(named(class, instr, linker)?));
            Act::new(action, SmallVec::from_elem(1, dimensions), 1)
        }
        _ => {
            let (groups, gives) =
                shape(opcode).ok_or(BodyError::Malformed("an unknown instruction"))?;
            Act::new(simple(class, instr, linker)?, groups, gives)
        }
    };
    Ok(Step::Act(act))
}

/// The class that an instruction names.
fn named<L: Linker>(
    class: &ClassFile<'_>,
    instr: &Instr<'_>,
    linker: &mut L,
) -> Result<ClassId, BodyError> {
    let index = instr.pool_index().unwrap_or(0);
    let name = class.pool().class(index).map_err(|_| BodyError::Malformed("a class constant"))?;
    Ok(linker.class(&name))
}

fn simple<L: Linker>(
    class: &ClassFile<'_>,
    instr: &Instr<'_>,
    linker: &mut L,
) -> Result<Action, BodyError> {
    let opcode = instr.opcode;
    if let Some(operation) = Operation::of(opcode) {
        return Ok(Action::Compute(operation));
    }
    if let Some(condition) = Condition::of(opcode) {
        return Ok(Action::Branch(condition));
    }
    Ok(match opcode {
        op::ACONST_NULL => Action::Null,
        op::ICONST_M1..=op::SIPUSH => Action::Literal(literal(instr)),
        op::LDC..=op::LDC2_W => {
            let index = instr.pool_index().unwrap_or(0);
            match class.pool().tag(index) {
                Some(Tag::Class) if opcode != op::LDC2_W => {
                    Action::ClassConstant(named(class, instr, linker)?)
                }
                _ => Action::Constant { index, number: class.pool().number(index) },
            }
        }
        op::NEW => Action::New(named(class, instr, linker)?),
        op::CHECKCAST => Action::Cast(named(class, instr, linker)?),
        op::INSTANCEOF => Action::Compute(Operation::InstanceOf(named(class, instr, linker)?)),
        op::ANEWARRAY => Action::NewArray(ArrayClass::OfReferences(named(class, instr, linker)?)),
        op::NEWARRAY => {
            let array = instr.immediate().and_then(ArrayClass::of_code);
            Action::NewArray(array.ok_or(BodyError::Malformed("an array of an unknown type"))?)
        }
        op::IALOAD..=op::SALOAD => {
            Action::ArrayLoad(Element::ALL[usize::from(opcode - op::IALOAD)])
        }
        op::IASTORE..=op::SASTORE => {
            Action::ArrayStore(Element::ALL[usize::from(opcode - op::IASTORE)])
        }
        op::MONITORENTER => Action::Enter,
        op::MONITOREXIT => Action::Exit,
        op::ATHROW => Action::Throw,
        opcode if op::is_return(opcode) => Action::Return,
        // `nop`, `pop`, `pop2`, `goto` and `goto_w`: nothing else has a fixed shape.
        _ => Action::Nothing,
    })
}

/// The number that an instruction pushes.
fn literal(instr: &Instr<'_>) -> Number {
    match instr.opcode {
        op::LCONST_0 | op::LCONST_1 => Number::Long(i64::from(instr.opcode - op::LCONST_0)),
        op::FCONST_0..=op::FCONST_2 => {
            Number::Float(f32::from(instr.opcode - op::FCONST_0).to_bits())
        }
        op::DCONST_0 | op::DCONST_1 => {
            Number::Double(f64::from(instr.opcode - op::DCONST_0).to_bits())
        }
        _ => Number::Int(instr.immediate().unwrap_or(0)),
    }
}

fn member<'a>(class: &ClassFile<'a>, instr: &Instr<'_>) -> Result<Member<'a>, BodyError> {
    let index = instr.pool_index().unwrap_or(0);
    class.pool().member(index).map_err(|_| BodyError::Malformed("a field or method constant"))
}

fn field<L: Linker>(
    class: &ClassFile<'_>,
    instr: &Instr<'_>,
    linker: &mut L,
) -> Result<Act, BodyError> {
    let field = member(class, instr)?;
    if !is_field(&field.descriptor) {
        return Err(BodyError::Malformed("a descriptor"));
    }
    let id = linker.field(&field.class, &field.name, &field.descriptor);
    let slots = slots(&field.descriptor);
    let (object, value) = (1_u8, slots as u8);
    Ok(match instr.opcode {
        op::GETSTATIC => Act::new(Action::Get(id), &[][..], slots),
        op::GETFIELD => Act::new(Action::Get(id), &[object][..], slots),
        op::PUTSTATIC => Act::new(Action::Put(id), &[value][..], 0),
        _ => Act::new(Action::Put(id), &[object, value][..], 0),
    })
}

fn groups(signature: &Signature<'_>, receiver: bool) -> SmallVec<[u8; 6]> {
    let receiver = receiver.then_some(1);
    receiver.into_iter().chain(signature.parameters.iter().map(|text| slots(text) as u8)).collect()
}

fn call<L: Linker>(
    class: &ClassFile<'_>,
    instr: &Instr<'_>,
    linker: &mut L,
) -> Result<Act, BodyError> {
    let method = member(class, instr)?;
    let signature =
        Signature::parse(&method.descriptor).ok_or(BodyError::Malformed("a descriptor"))?;
    let invoke = match instr.opcode {
        op::INVOKESTATIC => Invoke::Static,
        op::INVOKESPECIAL => Invoke::Special,
        _ => Invoke::Virtual,
    };
    let id = linker.method(&method.class, &method.name, &method.descriptor);
    let groups = groups(&signature, invoke != Invoke::Static);
    Ok(Act::new(Action::Call(invoke, id), groups, slots(signature.result)))
}

/// A call whose target is made at run time. Of lambdas and method references we know the target.
fn dynamic<L: Linker>(
    class: &ClassFile<'_>,
    instr: &Instr<'_>,
    linker: &mut L,
) -> Result<Act, BodyError> {
    let (pool, index) = (class.pool(), instr.pool_index().unwrap_or(0));
    let site = pool.dynamic(index).map_err(|_| BodyError::Malformed("a dynamic constant"))?;
    let signature =
        Signature::parse(&site.descriptor).ok_or(BodyError::Malformed("a descriptor"))?;
    // A task runs later and in another thread: its effects are not those of the method that makes it.
    let task =
        matches!(signature.result, "Ljava/lang/Runnable;" | "Ljava/util/concurrent/Callable;");
    let known = if task { None } else { lambda(class, index, linker) };
    let action = known.unwrap_or(Action::Dynamic);
    Ok(Act::new(action, groups(&signature, false), slots(signature.result)))
}

fn lambda<L: Linker>(class: &ClassFile<'_>, index: u16, linker: &mut L) -> Option<Action> {
    let pool = class.pool();
    let (bootstrap, arguments) = class.bootstrap_method(pool.bootstrap(index).ok()?)?;
    let (_, factory) = pool.method_handle(bootstrap).ok()?;
    if factory.class != "java/lang/invoke/LambdaMetafactory" {
        return None;
    }
    let (kind, method) = pool.method_handle(*arguments.get(1)?).ok()?;
    // The kinds of JVMS table 5.4.3.5-A.
    let invoke = match kind {
        5 | 9 => Invoke::Virtual,
        6 => Invoke::Static,
        7 => Invoke::Special,
        // A reference to a constructor: its receiver is made by the lambda itself.
        _ => return None,
    };
    Some(Action::Lambda(invoke, linker.method(&method.class, &method.name, &method.descriptor)))
}
