//! Stack maps: what the verifier is told about the types at the targets of branches.
//!
//! A frame is read as the change from the frame before it that the file says it is, and is written
//! as the same change at another place. Only the two forms that come in a short and an extended
//! spelling may have to change: a short one whose distance no longer fits is extended, an extended
//! one stays so. Hence a table whose frames do not move comes back byte for byte.

use crate::ClassError;
use crate::cursor::Cursor;

/// The first byte of a frame (JVMS 4.7.4).
mod form {
    pub const SAME_LAST: u8 = 63;
    pub const ONE: u8 = 64;
    pub const ONE_LAST: u8 = 127;
    pub const ONE_EXTENDED: u8 = 247;
    pub const CHOP_3: u8 = 248;
    pub const CHOP_1: u8 = 250;
    pub const SAME_EXTENDED: u8 = 251;
    pub const APPEND_1: u8 = 252;
    pub const APPEND_3: u8 = 254;
    pub const FULL: u8 = 255;
}

/// Tags of verification types.
mod tag {
    pub const TOP: u8 = 0;
    pub const INTEGER: u8 = 1;
    pub const FLOAT: u8 = 2;
    pub const DOUBLE: u8 = 3;
    pub const LONG: u8 = 4;
    pub const UNINITIALIZED_THIS: u8 = 6;
    pub const OBJECT: u8 = 7;
    pub const UNINITIALIZED: u8 = 8;
}

/// How a frame differs from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The same local variables, nothing on the stack.
    Same { extended: bool },
    /// The same local variables, one value on the stack.
    One { extended: bool },
    /// So many local variables fewer, nothing on the stack.
    Chop(u8),
    /// More local variables, nothing on the stack.
    Append,
    /// Everything is said.
    Full,
}

/// Some types in a row, already known to be well-formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types<'a> {
    count: u16,
    bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub pc: u32,
    pub shape: Shape,
    /// The local variables of a full frame, the new ones of an appending frame.
    pub locals: Types<'a>,
    pub stack: Types<'a>,
}

impl Frame<'_> {
    /// Whether the frame itself says that `this` is not yet initialised.
    pub fn has_uninitialized_this(&self) -> bool {
        let mut types = self.locals.iter().chain(self.stack.iter());
        types.any(|kind| kind == Type::Plain(tag::UNINITIALIZED_THIS))
    }
}

/// One verification type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Plain(u8),
    Object(u16),
    /// Not yet initialised, made by the `new` at that pc.
    New(u16),
}

impl Type {
    /// Nothing is known of it, so that it cannot be used.
    pub const TOP: Self = Self::Plain(tag::TOP);

    /// How many local variables it takes.
    pub const fn slots(self) -> usize {
        if matches!(self, Self::Plain(tag::LONG | tag::DOUBLE)) { 2 } else { 1 }
    }

    /// The type of a primitive by its descriptor.
    pub const fn primitive(descriptor: u8) -> Option<Self> {
        Some(Self::Plain(match descriptor {
            b'Z' | b'B' | b'C' | b'S' | b'I' => tag::INTEGER,
            b'F' => tag::FLOAT,
            b'J' => tag::LONG,
            b'D' => tag::DOUBLE,
            _ => return None,
        }))
    }
}

impl<'a> Types<'a> {
    fn parse(cursor: &mut Cursor<'a>, count: u16) -> Result<Self, ClassError> {
        let start = cursor.at();
        for _ in 0..count {
            match cursor.u8()? {
                ..=tag::UNINITIALIZED_THIS => {}
                tag::OBJECT | tag::UNINITIALIZED => drop(cursor.u16()?),
                _ => return Err(ClassError::StackMap("types")),
            }
        }
        Ok(Self { count, bytes: cursor.since(start) })
    }

    pub fn iter(self) -> impl Iterator<Item = Type> + use<'a> {
        let mut cursor = Cursor::new(self.bytes, "types");
        std::iter::from_fn(move || match cursor.u8().ok()? {
            tag::OBJECT => cursor.u16().ok().map(Type::Object),
            tag::UNINITIALIZED => cursor.u16().ok().map(Type::New),
            plain => Some(Type::Plain(plain)),
        })
    }
}

/// The frames of a `StackMapTable`, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Frames<'a> {
    cursor: Cursor<'a>,
    left: u16,
    /// The pc of the frame before; `None` at the first frame, which counts from the start.
    last: Option<u32>,
}

impl<'a> Frames<'a> {
    pub fn new(content: &'a [u8]) -> Result<Self, ClassError> {
        let mut cursor = Cursor::new(content, "a stack map");
        let left = cursor.u16()?;
        Ok(Self { cursor, left, last: None })
    }

    /// Whether all of the table has been read.
    pub fn is_at_end(&self) -> bool {
        self.left == 0 && self.cursor.is_at_end()
    }

    fn frame(&mut self) -> Result<Frame<'a>, ClassError> {
        let cursor = &mut self.cursor;
        let first = cursor.u8()?;
        let (mut locals, mut stack) = (Types::default(), Types::default());
        let delta = match first {
            ..=form::SAME_LAST => u16::from(first),
            form::ONE..=form::ONE_LAST => u16::from(first - form::ONE),
            form::ONE_EXTENDED.. => cursor.u16()?,
            _ => return Err(ClassError::StackMap("frames")),
        };
        let shape = match first {
            ..=form::SAME_LAST => Shape::Same { extended: false },
            form::SAME_EXTENDED => Shape::Same { extended: true },
            form::CHOP_3..=form::CHOP_1 => Shape::Chop(form::SAME_EXTENDED - first),
            form::APPEND_1..=form::APPEND_3 => {
                locals = Types::parse(cursor, u16::from(first - form::SAME_EXTENDED))?;
                Shape::Append
            }
            form::FULL => {
                let count = cursor.u16()?;
                locals = Types::parse(cursor, count)?;
                let count = cursor.u16()?;
                stack = Types::parse(cursor, count)?;
                Shape::Full
            }
            _ => {
                stack = Types::parse(cursor, 1)?;
                Shape::One { extended: first == form::ONE_EXTENDED }
            }
        };
        let pc = self.last.map_or(0, |last| last + 1) + u32::from(delta);
        self.last = Some(pc);
        Ok(Frame { pc, shape, locals, stack })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, ClassError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let frame = self.frame();
        if frame.is_err() {
            self.left = 0;
        }
        Some(frame)
    }
}

/// Writes the content of a `StackMapTable`.
#[derive(Debug)]
pub(crate) struct FrameWriter {
    out: Vec<u8>,
    count: u32,
    last: Option<u32>,
}

impl FrameWriter {
    pub fn new() -> Self {
        Self { out: vec![0; 2], count: 0, last: None }
    }

    /// Adds a frame at `pc`. `relocate` says where the `new` at an old pc has gone.
    ///
    /// `None` if such a `new` has gone, or if frames do not ascend.
    pub fn put(
        &mut self,
        pc: u32,
        frame: &Frame<'_>,
        relocate: impl Fn(u32) -> Option<u16>,
    ) -> Option<()> {
        let delta = self.advance(pc)?;
        let short = u8::try_from(delta).ok().filter(|&delta| delta <= form::SAME_LAST);
        match (frame.shape, short) {
            (Shape::Same { extended: false }, Some(delta)) => self.out.push(delta),
            (Shape::Same { .. }, _) => self.head(form::SAME_EXTENDED, delta),
            (Shape::One { extended: false }, Some(delta)) => self.out.push(form::ONE + delta),
            (Shape::One { .. }, _) => self.head(form::ONE_EXTENDED, delta),
            (Shape::Chop(count), _) => self.head(form::SAME_EXTENDED - count, delta),
            (Shape::Append, _) => {
                self.head(form::SAME_EXTENDED + frame.locals.count as u8, delta);
            }
            (Shape::Full, _) => self.head(form::FULL, delta),
        }
        for types in [frame.locals, frame.stack] {
            if frame.shape == Shape::Full {
                self.out.extend(types.count.to_be_bytes());
            }
            self.types(types.iter(), &relocate)?;
        }
        Some(())
    }

    /// Adds a frame that says everything. `None` as for [`put`](Self::put), or if there are more
    /// types than can be counted.
    pub fn put_full(
        &mut self,
        pc: u32,
        locals: &[Type],
        stack: &[Type],
        relocate: impl Fn(u32) -> Option<u16>,
    ) -> Option<()> {
        let delta = self.advance(pc)?;
        self.head(form::FULL, delta);
        for types in [locals, stack] {
            self.out.extend(u16::try_from(types.len()).ok()?.to_be_bytes());
            self.types(types.iter().copied(), &relocate)?;
        }
        Some(())
    }

    fn types(
        &mut self,
        types: impl Iterator<Item = Type>,
        relocate: &impl Fn(u32) -> Option<u16>,
    ) -> Option<()> {
        for kind in types {
            let (tag, operand) = match kind {
                Type::Plain(tag) => {
                    self.out.push(tag);
                    continue;
                }
                Type::Object(class) => (tag::OBJECT, class),
                Type::New(pc) => (tag::UNINITIALIZED, relocate(u32::from(pc))?),
            };
            self.head(tag, operand);
        }
        Some(())
    }

    fn advance(&mut self, pc: u32) -> Option<u16> {
        let delta = pc.checked_sub(self.last.map_or(0, |last| last + 1))?;
        self.last = Some(pc);
        self.count += 1;
        u16::try_from(delta).ok()
    }

    fn head(&mut self, first: u8, operand: u16) {
        self.out.push(first);
        self.out.extend(operand.to_be_bytes());
    }

    /// How many bytes have been written.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// The content; `None` if there are more frames than can be counted.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        let count = u16::try_from(self.count).ok()?;
        self.out[..2].copy_from_slice(&count.to_be_bytes());
        Some(self.out)
    }
}
