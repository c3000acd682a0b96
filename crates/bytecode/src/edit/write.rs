//! One method written with its edit.

use super::attributes::{line_numbers, local_variables, type_annotations};
use super::layout::Layout;
use super::method::MethodEdit;
use super::ranges::Ranges;
use super::stack_maps::{WrapFrames, stack_maps};
use super::{Plan, PoolBuilder, Wrap};
use crate::{ClassError, ClassFile, Code, Method, PoolFull, SkipReason};

/// The first version whose classes carry stack maps.
const FIRST_WITH_FRAMES: u16 = 50;

/// The method is left alone, or the whole class is.
#[derive(Debug)]
pub(super) enum Failure {
    Skip(SkipReason),
    Class(ClassError),
}

impl From<SkipReason> for Failure {
    fn from(reason: SkipReason) -> Self {
        Self::Skip(reason)
    }
}

impl From<PoolFull> for Failure {
    fn from(full: PoolFull) -> Self {
        Self::Class(full.into())
    }
}

/// Writes a method with all that is asked for.
pub(super) fn write_method(
    class: &ClassFile<'_>,
    method: &Method<'_>,
    plan: &mut Plan,
    pool: &mut PoolBuilder<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    if plan.edit.is_some() && method.code().is_none() {
        return Err(SkipReason::NoCode.into());
    }
    out.extend(plan.access.unwrap_or(method.access()).to_be_bytes());
    // Name and descriptor.
    out.extend(&class.bytes()[method.span()][2..6]);
    let count_at = out.len();
    out.extend([0; 2]);
    let mut count = 0_u16;
    for attribute in method.attributes().iter() {
        let name = class.pool().utf8_bytes(attribute.name).unwrap_or_default();
        if plan.stripped.iter().any(|stripped| stripped.as_bytes() == name) {
            continue;
        }
        count += 1;
        match (method.code(), &mut plan.edit) {
            (Some(code), Some(edit)) if name == b"Code" => {
                let content = CodeWriter { class, method, code, edit }.write(pool)?;
                put_attribute(out, attribute.name, &content);
            }
            _ => put_attribute(out, attribute.name, attribute.content),
        }
    }
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

fn put_attribute(out: &mut Vec<u8>, name: u16, content: &[u8]) {
    out.extend(name.to_be_bytes());
    out.extend((content.len() as u32).to_be_bytes());
    out.extend_from_slice(content);
}

struct CodeWriter<'e> {
    class: &'e ClassFile<'e>,
    method: &'e Method<'e>,
    code: &'e Code<'e>,
    edit: &'e mut MethodEdit,
}

impl CodeWriter<'_> {
    /// The content of the new `Code` attribute.
    fn write(&mut self, pool: &mut PoolBuilder<'_>) -> Result<Vec<u8>, Failure> {
        self.check_wraps()?;
        let (max_stack, max_locals) = self.frame_size().ok_or(SkipReason::FrameTooLarge)?;
        let layout = Layout::new(self.code, self.edit)?;
        let ranges = Ranges::new(self.code, &layout, self.edit)?;
        let wraps = self.wrap_frames(&layout, pool)?;

        let mut out = Vec::with_capacity(layout.code.len() + 256);
        out.extend(max_stack.to_be_bytes());
        out.extend(max_locals.to_be_bytes());
        out.extend((layout.code.len() as u32).to_be_bytes());
        out.extend(&layout.code);
        ranges.write(&mut out);
        self.write_attributes(&layout, &ranges, wraps.as_ref(), &mut out)?;
        Ok(out)
    }

    fn check_wraps(&self) -> Result<(), SkipReason> {
        if self.edit.wraps.is_empty() {
            return Ok(());
        }
        if self.method.is_constructor() {
            return Err(SkipReason::WrapsConstructor);
        }
        // A method without local variables of its own may keep one of ours in the first slot.
        if self.edit.kept.iter().any(|kept| kept.slot == 0) {
            return Ok(());
        }
        let is_overwritten = self.code.writes_local0(self.class.pool());
        let is_lost = |wrap: &Wrap| {
            is_overwritten && wrap.before_return.reads_local0()
                || (is_overwritten || self.method.is_static()) && wrap.handler.reads_local0()
        };
        if self.edit.wraps.iter().any(is_lost) {
            return Err(SkipReason::OverwritesThis);
        }
        Ok(())
    }

    /// The new `max_stack` and `max_locals`.
    fn frame_size(&self) -> Option<(u16, u16)> {
        // A handler starts with what was thrown on the stack.
        let thrown = u16::from(!self.edit.wraps.is_empty());
        let max_stack = self.code.max_stack().max(thrown).checked_add(self.edit.grow_stack)?;
        Some((max_stack, u16::try_from(self.edit.max_locals).ok()?))
    }

    /// What the frames of the wraps need, if there are to be any.
    fn wrap_frames(
        &self,
        layout: &Layout,
        pool: &mut PoolBuilder<'_>,
    ) -> Result<Option<WrapFrames>, Failure> {
        if self.edit.wraps.is_empty() || self.class.version() < FIRST_WITH_FRAMES {
            return Ok(None);
        }
        if layout.has_subroutine {
            return Err(SkipReason::Subroutine.into());
        }
        let has_this = !self.code.writes_local0(self.class.pool());
        Ok(Some(WrapFrames::new(self.class, self.method, self.edit, has_this, pool)?))
    }

    fn write_attributes(
        &self,
        layout: &Layout,
        ranges: &Ranges,
        wraps: Option<&WrapFrames>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let count_at = out.len();
        out.extend([0; 2]);
        let mut count = 0_u16;
        let mut put = |name: u16, content: &[u8], out: &mut Vec<u8>| -> Result<(), SkipReason> {
            count = count.checked_add(1).ok_or(SkipReason::TooLarge)?;
            put_attribute(out, name, content);
            Ok(())
        };
        let mut has_frames = false;
        for attribute in self.code.attributes().iter() {
            let content = attribute.content;
            let moved = match self.class.pool().utf8_bytes(attribute.name).unwrap_or_default() {
                b"StackMapTable" if has_frames => {
                    return Err(SkipReason::Malformed("it has two stack maps".to_owned()).into());
                }
                b"StackMapTable" => {
                    has_frames = true;
                    Some(stack_maps(Some(content), layout, self.edit, wraps)?)
                }
                b"StackMap" => return Err(SkipReason::CldcStackMap.into()),
                b"LineNumberTable" => line_numbers(content, layout),
                b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                    local_variables(content, layout)
                }
                b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                    type_annotations(content, layout, ranges)
                }
                // We cannot know what it says about places in the code.
                _ => self.edit.is_empty().then(|| content.to_vec()),
            };
            if let Some(moved) = moved {
                put(attribute.name, &moved, out)?;
            }
        }
        if let Some(needed) = wraps
            && !has_frames
        {
            put(needed.table, &stack_maps(None, layout, self.edit, wraps)?, out)?;
        }
        out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
        Ok(())
    }
}
