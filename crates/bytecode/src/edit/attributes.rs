//! The attributes of code that speak of places in it, moved along with them.
//!
//! Lines and variables are for debuggers: an entry that points into an instruction or past the end
//! is dropped, the JVM would not have minded it either. Annotations are dropped as a whole if they
//! do not make sense.

use super::layout::Layout;
use super::ranges::Ranges;
use crate::cursor::{Cursor, u16_at};

/// `LineNumberTable`.
pub(super) fn line_numbers(content: &[u8], layout: &Layout) -> Option<Vec<u8>> {
    entries(content, 4, |entry, out| {
        let start = layout.label(u32::from(u16_at(entry, 0)))? as u16;
        out.extend(start.to_be_bytes());
        out.extend(&entry[2..]);
        Some(())
    })
}

/// `LocalVariableTable` and `LocalVariableTypeTable`.
pub(super) fn local_variables(content: &[u8], layout: &Layout) -> Option<Vec<u8>> {
    entries(content, 10, |entry, out| {
        put_live_range(u16_at(entry, 0), u16_at(entry, 2), layout, out)?;
        out.extend(&entry[4..]);
        Some(())
    })
}

/// Writes the start and the length of where a variable lives.
fn put_live_range(start: u16, len: u16, layout: &Layout, out: &mut Vec<u8>) -> Option<()> {
    let first = layout.label(u32::from(start))?;
    let end = layout.label(u32::from(start) + u32::from(len))?;
    out.extend((first as u16).to_be_bytes());
    out.extend(((end - first) as u16).to_be_bytes());
    Some(())
}

/// A table of entries of the same size. Each is written anew by `put`, or dropped if that gives
/// `None` before it has written anything. `None` if the table is not as long as it says.
fn entries(
    content: &[u8],
    size: usize,
    put: impl Fn(&[u8], &mut Vec<u8>) -> Option<()>,
) -> Option<Vec<u8>> {
    let (count, rest) = content.split_first_chunk()?;
    if rest.len() != usize::from(u16::from_be_bytes(*count)) * size {
        return None;
    }
    let mut out = Vec::with_capacity(content.len());
    out.extend([0; 2]);
    let kept = rest.chunks_exact(size).filter_map(|entry| put(entry, &mut out)).count();
    out[..2].copy_from_slice(&(kept as u16).to_be_bytes());
    Some(out)
}

/// `RuntimeVisibleTypeAnnotations` and its invisible sibling (JVMS 4.7.20).
pub(super) fn type_annotations(
    content: &[u8],
    layout: &Layout,
    ranges: &Ranges,
) -> Option<Vec<u8>> {
    let mut cursor = Cursor::new(content, "type annotations");
    let mut out = Vec::with_capacity(content.len());
    let count = cursor.u16().ok()?;
    out.extend(count.to_be_bytes());
    for _ in 0..count {
        target(&mut cursor, &mut out, layout, ranges)?;
        let start = cursor.at();
        skip_type_annotation(&mut cursor)?;
        out.extend(cursor.since(start));
    }
    cursor.is_at_end().then_some(out)
}

/// What an annotation is about: a type and, depending on it, places in the code.
fn target(
    cursor: &mut Cursor<'_>,
    out: &mut Vec<u8>,
    layout: &Layout,
    ranges: &Ranges,
) -> Option<()> {
    let kind = cursor.u8().ok()?;
    out.push(kind);
    match kind {
        // A local variable, or a resource of a try.
        0x40 | 0x41 => {
            let count = cursor.u16().ok()?;
            out.extend(count.to_be_bytes());
            for _ in 0..count {
                let (start, len) = (cursor.u16().ok()?, cursor.u16().ok()?);
                put_live_range(start, len, layout, out)?;
                out.extend(cursor.u16().ok()?.to_be_bytes());
            }
        }
        // The class of a handler.
        0x42 => {
            let old = usize::from(cursor.u16().ok()?);
            out.extend(ranges.moved.get(old).copied()??.to_be_bytes());
        }
        // An instanceof, a new, a method reference; a cast or type argument, with its number.
        0x43..=0x4b => {
            let pc = u32::from(cursor.u16().ok()?);
            out.extend((layout.opcode(pc)? as u16).to_be_bytes());
            if kind >= 0x47 {
                out.push(cursor.u8().ok()?);
            }
        }
        _ => return None,
    }
    Some(())
}

/// The part of a type annotation that names no places.
fn skip_type_annotation(cursor: &mut Cursor<'_>) -> Option<()> {
    let steps = usize::from(cursor.u8().ok()?);
    cursor.take(2 * steps).ok()?;
    skip_annotation(cursor, 0)
}

/// Annotations nest in annotations. Nothing real comes near this depth.
const MAX_DEPTH: u32 = 64;

/// The types of the annotations in a `RuntimeVisibleAnnotations` (JVMS 4.7.16), as constants; up to the first that
/// cannot be read.
pub(crate) fn annotation_types(content: &[u8]) -> impl Iterator<Item = u16> {
    let mut cursor = Cursor::new(content, "annotations");
    let mut left = cursor.u16().unwrap_or(0);
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let kind = cursor.u16().ok()?;
        skip_pairs(&mut cursor, 0)?;
        Some(kind)
    })
}

fn skip_annotation(cursor: &mut Cursor<'_>, depth: u32) -> Option<()> {
    cursor.u16().ok()?;
    skip_pairs(cursor, depth)
}

fn skip_pairs(cursor: &mut Cursor<'_>, depth: u32) -> Option<()> {
    for _ in 0..cursor.u16().ok()? {
        cursor.u16().ok()?;
        skip_value(cursor, depth + 1)?;
    }
    Some(())
}

fn skip_value(cursor: &mut Cursor<'_>, depth: u32) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match cursor.u8().ok()? {
        b'e' => drop(cursor.u32().ok()?),
        b'@' => skip_annotation(cursor, depth)?,
        b'[' => {
            for _ in 0..cursor.u16().ok()? {
                skip_value(cursor, depth + 1)?;
            }
        }
        _ => drop(cursor.u16().ok()?),
    }
    Some(())
}
