//! The code of one method.

use crate::class::Attributes;
use crate::cursor::{Cursor, u16_at};
use crate::frames::{Frames, Shape, Type};
use crate::{ClassError, Instructions, Pool};

/// The `Code` attribute of a method (JVMS 4.7.3).
#[derive(Clone, Debug)]
pub struct Code<'a> {
    max_stack: u16,
    max_locals: u16,
    bytes: &'a [u8],
    /// The exception table, eight bytes an entry.
    handlers: &'a [u8],
    attributes: Attributes<'a>,
    /// First pc and line, by pc.
    lines: Vec<(u16, u16)>,
}

/// An entry of the exception table: what is thrown from `start` up to but not including `end` and
/// is of the class `catch_type` (anything if that is 0) goes on at `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    pub start: u32,
    pub end: u32,
    pub target: u32,
    pub catch_type: u16,
}

impl Handler {
    pub(crate) const SIZE: usize = 8;
}

impl<'a> Code<'a> {
    pub(crate) fn parse(content: &'a [u8], pool: &Pool<'a>) -> Result<Self, ClassError> {
        let mut cursor = Cursor::new(content, "the code of a method");
        let (max_stack, max_locals) = (cursor.u16()?, cursor.u16()?);
        let len = cursor.u32()?;
        let bytes = cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        let entries = usize::from(cursor.u16()?);
        let handlers = cursor.take(entries * Handler::SIZE)?;
        let attributes = Attributes::parse(&mut cursor)?;
        if !cursor.is_at_end() {
            return Err(ClassError::Trailing(cursor.rest().len()));
        }
        let lines = line_table(attributes, pool);
        Ok(Self { max_stack, max_locals, bytes, handlers, attributes, lines })
    }

    pub const fn max_stack(&self) -> u16 {
        self.max_stack
    }

    pub const fn max_locals(&self) -> u16 {
        self.max_locals
    }

    /// The instructions as they stand in the file.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub const fn attributes(&self) -> Attributes<'a> {
        self.attributes
    }

    /// The exception table; the first entry that fits is the one that catches.
    pub fn handlers(&self) -> impl ExactSizeIterator<Item = Handler> + use<'a> {
        self.handlers.chunks_exact(Handler::SIZE).map(|entry| {
            let pc = |at| u32::from(u16_at(entry, at));
            Handler { start: pc(0), end: pc(2), target: pc(4), catch_type: u16_at(entry, 6) }
        })
    }

    /// The source line of an instruction, if the compiler left line numbers.
    pub fn line_of(&self, pc: u32) -> Option<u16> {
        let behind = self.lines.partition_point(|&(start, _)| u32::from(start) <= pc);
        self.lines[..behind].last().map(|&(_, line)| line)
    }

    pub const fn instructions(&self) -> Instructions<'a> {
        Instructions::new(self.bytes)
    }

    /// Whether local variable 0 may hold something else than at the start: a store to it, a stack
    /// map that forgets it, or code that cannot be decoded.
    pub fn writes_local0(&self, pool: &Pool<'a>) -> bool {
        let stores = self.instructions().any(|instr| match instr {
            Ok(instr) => instr.is_store() && instr.local() == Some(0),
            Err(_) => true,
        });
        stores || self.forgets_local0(pool)
    }

    /// Whether some stack map says nothing of local variable 0, as those of proxies do that the JDK
    /// makes from release 24 on.
    fn forgets_local0(&self, pool: &Pool<'a>) -> bool {
        let Some(table) = self.attributes.find(pool, "StackMapTable") else { return false };
        let Ok(frames) = Frames::new(table.content) else { return true };
        // How many are known; at the start that depends on the descriptor, and nobody chops so many.
        let mut known = usize::MAX;
        for frame in frames {
            let Ok(frame) = frame else { return true };
            match frame.shape {
                Shape::Full => known = frame.locals.iter().count(),
                Shape::Append => known = known.saturating_add(frame.locals.iter().count()),
                Shape::Chop(fewer) => known = known.saturating_sub(usize::from(fewer)),
                Shape::Same { .. } | Shape::One { .. } => {}
            }
            let first = frame.locals.iter().next();
            if known == 0 || (frame.shape == Shape::Full && first == Some(Type::TOP)) {
                return true;
            }
        }
        false
    }

    /// Whether some branch goes back. A handler that lies before what it covers is not a loop.
    pub fn has_loop(&self) -> bool {
        self.instructions().flatten().any(|instr| instr.targets().any(|target| target <= instr.pc))
    }

    /// In a constructor, the last pc of which a stack map says that `this` is uninitialised. A map
    /// that cannot be read might say so of every pc.
    pub(crate) fn last_uninitialised(&self, pool: &Pool<'a>) -> Option<u32> {
        const EVERYWHERE: u32 = u32::MAX;
        let table = self.attributes.find(pool, "StackMapTable")?;
        let Ok(frames) = Frames::new(table.content) else { return Some(EVERYWHERE) };
        let mut uninitialised = true;
        let mut last = None;
        for frame in frames {
            let Ok(frame) = frame else { return Some(EVERYWHERE) };
            // Every other frame says the same of `this` as the one before it.
            if frame.shape == Shape::Full {
                uninitialised = frame.has_uninitialized_this();
            }
            if uninitialised {
                last = Some(frame.pc);
            }
        }
        last
    }
}

/// The line numbers by pc. Tables that are malformed count as far as they go: lines are a courtesy.
fn line_table<'a>(attributes: Attributes<'a>, pool: &Pool<'a>) -> Vec<(u16, u16)> {
    let mut lines = Vec::new();
    for attribute in attributes.iter() {
        if pool.utf8_bytes(attribute.name) == Ok(b"LineNumberTable") {
            let entries = attribute.content.get(2..).unwrap_or_default().chunks_exact(4);
            lines.extend(entries.map(|entry| (u16_at(entry, 0), u16_at(entry, 2))));
        }
    }
    // Compilers write them in order but for loops, whose step comes late.
    lines.sort_by_key(|&(start, _)| start);
    lines
}
