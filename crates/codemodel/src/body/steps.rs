//! What each instruction of some code takes and gives, constants looked up.

use smallvec::SmallVec;
use untorn_bytecode::{ClassFile, Instr, Member, Tag, op};

use super::shape::{local_slots, shape, shuffle};
use super::{Action, Invoke, Linker};
use crate::error::BodyError;
use untorn_bytecode::descriptor::{Signature, is_field, slots};

/// What an instruction does to local variables and the stack.
#[derive(Debug)]
pub enum Step {
    Load { local: usize, slots: usize },
    Store { local: usize, slots: usize },
    Increment { local: usize },
    Shuffle { takes: usize, gives: &'static [usize] },
    Act(Act),
}

/// An instruction that stays one.
#[derive(Debug)]
pub struct Act {
    pub action: Action,
    pub takes: usize,
    pub gives: usize,
    /// The slots of each operand, where operands are told apart; else each slot is one.
    pub groups: Option<SmallVec<[u8; 6]>>,
}

impl Act {
    const fn plain(action: Action, (takes, gives): (usize, usize)) -> Self {
        Self { action, takes, gives, groups: None }
    }

    fn grouped(action: Action, groups: SmallVec<[u8; 6]>, gives: usize) -> Self {
        let takes = groups.iter().map(|&slots| usize::from(slots)).sum();
        Self { action, takes, gives, groups: Some(groups) }
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
            (op::IINC, _) => Step::Increment { local },
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
            Act::plain(Action::NewArray, (dimensions, 1))
        }
        op::IASTORE..=op::SASTORE => {
            let wide = matches!(opcode, op::LASTORE | op::DASTORE);
            let groups = SmallVec::from_slice(&[1, 1, if wide { 2 } else { 1 }]);
            Act::grouped(Action::ArrayStore, groups, 0)
        }
        _ => {
            let shape = shape(opcode).ok_or(BodyError::Malformed("an unknown instruction"))?;
            Act::plain(simple(class, instr, linker)?, shape)
        }
    };
    Ok(Step::Act(act))
}

fn simple<L: Linker>(
    class: &ClassFile<'_>,
    instr: &Instr<'_>,
    linker: &mut L,
) -> Result<Action, BodyError> {
    let mut named = || {
        let index = instr.pool_index().unwrap_or(0);
        let name =
            class.pool().class(index).map_err(|_| BodyError::Malformed("a class constant"))?;
        Ok(linker.class(&name))
    };
    Ok(match instr.opcode {
        op::ACONST_NULL => Action::Null,
        op::LDC | op::LDC_W
            if class.pool().tag(instr.pool_index().unwrap_or(0)) == Some(Tag::Class) =>
        {
            Action::ClassConstant(named()?)
        }
        op::ICONST_M1..=op::LDC2_W => Action::Constant(instr.pool_index().unwrap_or(0)),
        op::NEW => Action::New(named()?),
        op::CHECKCAST => Action::Cast(named()?),
        op::NEWARRAY | op::ANEWARRAY => Action::NewArray,
        op::IALOAD..=op::SALOAD => Action::ArrayLoad,
        op::IFEQ..=op::IF_ACMPNE
        | op::TABLESWITCH
        | op::LOOKUPSWITCH
        | op::IFNULL
        | op::IFNONNULL => Action::Branch,
        op::MONITORENTER => Action::Enter,
        op::MONITOREXIT => Action::Exit,
        op::ATHROW => Action::Throw,
        opcode if op::is_return(opcode) => Action::Return,
        op::NOP | op::POP | op::POP2 | op::GOTO | op::GOTO_W => Action::Nothing,
        _ => Action::Compute,
    })
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
        op::GETSTATIC => Act::grouped(Action::Get(id), SmallVec::new(), slots),
        op::GETFIELD => Act::grouped(Action::Get(id), SmallVec::from_slice(&[object]), slots),
        op::PUTSTATIC => Act::grouped(Action::Put(id), SmallVec::from_slice(&[value]), 0),
        _ => Act::grouped(Action::Put(id), SmallVec::from_slice(&[object, value]), 0),
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
    Ok(Act::grouped(Action::Call(invoke, id), groups, slots(signature.result)))
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
    // A task runs later and elsewhere: its effects are not those of who makes it.
    let task =
        matches!(signature.result, "Ljava/lang/Runnable;" | "Ljava/util/concurrent/Callable;");
    let known = if task { None } else { lambda(class, index, linker) };
    let action = known.unwrap_or(Action::Dynamic);
    Ok(Act::grouped(action, groups(&signature, false), slots(signature.result)))
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
