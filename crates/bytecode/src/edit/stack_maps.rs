//! The stack maps of a method laid out.
//!
//! Old frames move to the labels of their instructions and otherwise stay as they are. Each wrap
//! adds the frame of its handler, behind all others. Only where a wrap keeps something in a local
//! variable, every frame has to say so: the old ones are then written in full, since they say what
//! changes at the end of the local variables, and the new one lies behind that end.

use super::PoolBuilder;
use super::layout::Layout;
use super::method::MethodEdit;
use crate::descriptor;
use crate::frames::{Frame, FrameWriter, Frames, Shape, Type};
use crate::{ClassFile, Method, PoolFull, SkipReason};

/// Full frames repeat all local variables; nothing real comes near this many bytes of them.
const MAX_SIZE: usize = 4 << 20;

/// What the frames of a wrapped method need to know.
#[derive(Debug)]
pub(super) struct WrapFrames {
    /// The name of the attribute, should the method have none yet.
    pub table: u16,
    throwable: u16,
    /// The class of `this`, where handlers may rely on it.
    this: Option<u16>,
    /// The local variables at entry. Empty unless something is kept.
    initial: Vec<Type>,
}

impl WrapFrames {
    pub fn new(
        class: &ClassFile<'_>,
        method: &Method<'_>,
        edit: &MethodEdit,
        has_this: bool,
        pool: &mut PoolBuilder<'_>,
    ) -> Result<Self, PoolFull> {
        let this = (!method.is_static()).then_some(class.this_class());
        let mut initial = Vec::new();
        if edit.keeps_anything() {
            initial.extend(this.map(Type::Object));
            parameters(method.descriptor(), pool, &mut initial)?;
        }
        Ok(Self {
            table: pool.utf8("StackMapTable")?,
            throwable: pool.class("java/lang/Throwable")?,
            this: this.filter(|_| has_this),
            initial,
        })
    }
}

/// The types of the parameters. A descriptor that makes no sense ends early; the JVM refuses it.
fn parameters(
    descriptor: &str,
    pool: &mut PoolBuilder<'_>,
    types: &mut Vec<Type>,
) -> Result<(), PoolFull> {
    for parameter in descriptor::parameters(descriptor) {
        let primitive = match parameter.as_bytes() {
            &[single] => Type::primitive(single),
            _ => None,
        };
        types.push(match primitive {
            Some(primitive) => primitive,
            None => {
                let class = descriptor::class_of(parameter).unwrap_or(parameter);
                Type::Object(pool.class(class)?)
            }
        });
    }
    Ok(())
}

/// The content of the new table. `old` is that of the old one, if there was any; `wraps` says that
/// the frames of wraps are to be added.
pub(super) fn stack_maps(
    old: Option<&[u8]>,
    layout: &Layout,
    edit: &MethodEdit,
    wraps: Option<&WrapFrames>,
) -> Result<Vec<u8>, SkipReason> {
    if layout.has_subroutine {
        return Err(SkipReason::Subroutine);
    }
    let mut writer = FrameWriter::new();
    if let Some(old) = old {
        match wraps.filter(|_| edit.keeps_anything()) {
            Some(wraps) => move_in_full(old, layout, edit, wraps, &mut writer)?,
            None => each(old, |frame| {
                let place = layout.label(frame.pc);
                place.and_then(|pc| writer.put(pc, frame, |pc| relocate(layout, pc)))
            })?,
        }
    }
    if let Some(wraps) = wraps {
        for (nth, &handler) in layout.handlers.iter().enumerate().rev() {
            let mut locals: Vec<Type> = wraps.this.map(Type::Object).into_iter().collect();
            keep(&mut locals, edit, nth);
            writer
                .put_full(handler, &locals, &[Type::Object(wraps.throwable)], |_| None)
                .ok_or_else(|| malformed(format!("a stack map behind its end, {handler}")))?;
        }
    }
    writer.finish().ok_or(SkipReason::TooLarge)
}

fn relocate(layout: &Layout, pc: u32) -> Option<u16> {
    layout.opcode(pc).map(|place| place as u16)
}

/// Calls `put` for each frame. It says `None` if the frame does not fit.
fn each(old: &[u8], mut put: impl FnMut(&Frame<'_>) -> Option<()>) -> Result<(), SkipReason> {
    let mut frames = Frames::new(old).map_err(|error| malformed(error.to_string()))?;
    for frame in &mut frames {
        let frame = frame.map_err(|error| malformed(error.to_string()))?;
        put(&frame).ok_or_else(|| malformed(format!("its stack map at {}", frame.pc)))?;
    }
    if frames.is_at_end() {
        Ok(())
    } else {
        Err(malformed("bytes follow its stack maps".to_owned()))
    }
}

/// Moves all frames and adds to each what is kept.
fn move_in_full(
    old: &[u8],
    layout: &Layout,
    edit: &MethodEdit,
    wraps: &WrapFrames,
    writer: &mut FrameWriter,
) -> Result<(), SkipReason> {
    let mut locals = wraps.initial.clone();
    let mut is_too_large = false;
    let moved = each(old, |frame| {
        match frame.shape {
            Shape::Same { .. } | Shape::One { .. } => {}
            Shape::Chop(count) => locals.truncate(locals.len().checked_sub(usize::from(count))?),
            Shape::Append => locals.extend(frame.locals.iter()),
            Shape::Full => locals = frame.locals.iter().collect(),
        }
        is_too_large |= writer.len() > MAX_SIZE;
        let mut kept = locals.clone();
        keep(&mut kept, edit, usize::MAX);
        let stack: Vec<Type> = frame.stack.iter().collect();
        let place = layout.label(frame.pc).filter(|_| !is_too_large)?;
        writer.put_full(place, &kept, &stack, |pc| relocate(layout, pc))
    });
    if is_too_large { Err(SkipReason::TooLarge) } else { moved }
}

/// Adds the variables that the wraps up to and including `nth` keep.
fn keep(locals: &mut Vec<Type>, edit: &MethodEdit, nth: usize) {
    let mut slots: usize = locals.iter().map(|kind| kind.slots()).sum();
    // Ascending by slot, and behind all variables of the method.
    for kept in edit.kept_in_wraps().filter(|kept| kept.wrap <= nth) {
        let gap = usize::from(kept.slot).saturating_sub(slots);
        locals.resize(locals.len() + gap, Type::TOP);
        locals.push(Type::Object(kept.class));
        slots += gap + 1;
    }
}

fn malformed(why: String) -> SkipReason {
    SkipReason::Malformed(why)
}
