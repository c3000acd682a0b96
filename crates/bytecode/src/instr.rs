//! Instructions of a method, decoded in place and one at a time.

use crate::cursor::{Cursor, u16_at};
use crate::{ClassError, op};

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instr<'a> {
    pub pc: u32,
    /// What it does; behind a `wide` prefix, the instruction that the prefix widens.
    pub opcode: u8,
    pub wide: bool,
    /// How many bytes it takes, prefix and padding included.
    pub len: u32,
    /// All of its bytes.
    pub bytes: &'a [u8],
}

impl<'a> Instr<'a> {
    /// The instruction at `pc`. Its operands are within the code, and so are the targets of its
    /// branches, though they need not be where an instruction begins.
    pub(crate) fn decode(code: &'a [u8], pc: u32) -> Result<Self, ClassError> {
        let fail = |why| ClassError::Instruction { pc, why };
        let rest = code.get(pc as usize..).unwrap_or_default();
        let &first = rest.first().ok_or(fail("lies behind the end of the code"))?;
        let wide = first == op::WIDE;
        let (opcode, len) = match op::len(first) {
            op::UNKNOWN => return Err(fail("has an unknown opcode")),
            op::VARIABLE if wide => wide_form(rest).ok_or(fail("cannot be widened"))?,
            op::VARIABLE => {
                (first, switch_len(code, pc).ok_or(fail("is a switch that does not fit the code"))?)
            }
            len => (first, usize::from(len)),
        };
        let bytes = rest.get(..len).ok_or(fail("goes past the end of the code"))?;
        let instr = Self { pc, opcode, wide, len: len as u32, bytes };
        let inside = |target: i64| (0..code.len() as i64).contains(&target);
        if instr.branches().all(inside) { Ok(instr) } else { Err(fail("branches out of the code")) }
    }

    fn u8_at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16_at(self.bytes, at)
    }

    fn i32_at(&self, at: usize) -> i32 {
        (u32::from(self.u16_at(at)) << 16 | u32::from(self.u16_at(at + 2))).cast_signed()
    }

    /// The constant that the instruction names.
    pub fn pool_index(&self) -> Option<u16> {
        match self.opcode {
            op::LDC => Some(u16::from(self.u8_at(1))),
            op::LDC_W
            | op::LDC2_W
            | op::GETSTATIC..=op::NEW
            | op::ANEWARRAY
            | op::CHECKCAST
            | op::INSTANCEOF
            | op::MULTIANEWARRAY => Some(self.u16_at(1)),
            _ => None,
        }
    }

    /// The local variable that the instruction loads, stores, increments or returns to.
    pub fn local(&self) -> Option<u16> {
        match self.opcode {
            op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET | op::IINC => {
                Some(if self.wide { self.u16_at(2) } else { u16::from(self.u8_at(1)) })
            }
            op::ILOAD_0..=op::ALOAD_3 => Some(u16::from((self.opcode - op::ILOAD_0) % 4)),
            op::ISTORE_0..=op::ASTORE_3 => Some(u16::from((self.opcode - op::ISTORE_0) % 4)),
            _ => None,
        }
    }

    /// Whether the instruction writes [`local`](Self::local).
    pub const fn is_store(&self) -> bool {
        matches!(self.opcode, op::ISTORE..=op::ASTORE_3 | op::IINC)
    }

    /// The number that the instruction holds: of `bipush` and `sipush`, of `iconst`, the step of
    /// `iinc`, the element type of `newarray`, the dimensions of `multianewarray`.
    pub fn immediate(&self) -> Option<i32> {
        match self.opcode {
            op::BIPUSH => Some(i32::from(self.u8_at(1).cast_signed())),
            op::SIPUSH => Some(i32::from(self.u16_at(1).cast_signed())),
            op::ICONST_M1..=op::ICONST_5 => Some(i32::from(self.opcode) - i32::from(op::ICONST_0)),
            op::IINC if self.wide => Some(i32::from(self.u16_at(4).cast_signed())),
            op::IINC => Some(i32::from(self.u8_at(2).cast_signed())),
            op::NEWARRAY => Some(i32::from(self.u8_at(1))),
            op::MULTIANEWARRAY => Some(i32::from(self.u8_at(3))),
            _ => None,
        }
    }

    /// Where the instruction may jump to; of a switch, the default. `None` if it is no branch.
    pub fn target(&self) -> Option<u32> {
        self.targets().next()
    }

    /// Every place the instruction may jump to; a switch gives its default first.
    pub fn targets(&self) -> Targets<'a> {
        Targets(self.branches())
    }

    /// The keys of a switch with their targets, without the default.
    pub fn cases(&self) -> impl Iterator<Item = (i32, u32)> + use<'a> {
        let instr = *self;
        let at = 1 + switch_padding(self.pc);
        let key = move |number: usize| match instr.opcode {
            op::TABLESWITCH => instr.i32_at(at + 4).wrapping_add(number as i32),
            _ => instr.i32_at(at + 8 + 8 * number),
        };
        let is_switch = matches!(self.opcode, op::TABLESWITCH | op::LOOKUPSWITCH);
        let targets = self.targets().skip(1).take(if is_switch { usize::MAX } else { 0 });
        targets.enumerate().map(move |(number, target)| (key(number), target))
    }

    /// Whether the instruction that follows can be next.
    pub const fn falls_through(&self) -> bool {
        op::falls_through(self.opcode)
    }

    /// The targets, not yet known to be within the code.
    fn branches(&self) -> Branches<'a> {
        let pc = i64::from(self.pc);
        let (first, rest, stride) = match self.opcode {
            op::IFEQ..=op::JSR | op::IFNULL | op::IFNONNULL => {
                (Some(i64::from(self.u16_at(1).cast_signed())), &[][..], 4)
            }
            op::GOTO_W | op::JSR_W => (Some(i64::from(self.i32_at(1))), &[][..], 4),
            op::TABLESWITCH | op::LOOKUPSWITCH => {
                let at = 1 + switch_padding(self.pc);
                // Behind the default, a table holds low, high and offsets; a look-up holds a count
                // and pairs of which the second half is the offset. The first one is as far.
                let stride = if self.opcode == op::TABLESWITCH { 4 } else { 8 };
                let rest = self.bytes.get(at + 12..).unwrap_or_default();
                (Some(i64::from(self.i32_at(at))), rest, stride)
            }
            _ => (None, &[][..], 4),
        };
        Branches { pc, first, rest, stride }
    }
}

/// How many bytes stand between the opcode of a switch and its first operand.
pub(crate) const fn switch_padding(pc: u32) -> usize {
    (3 - pc % 4) as usize
}

/// What `wide` widens, and the length of the whole.
fn wide_form(rest: &[u8]) -> Option<(u8, usize)> {
    match *rest.get(1)? {
        opcode @ (op::ILOAD..=op::ALOAD | op::ISTORE..=op::ASTORE | op::RET) => Some((opcode, 4)),
        op::IINC => Some((op::IINC, 6)),
        _ => None,
    }
}

fn switch_len(code: &[u8], pc: u32) -> Option<usize> {
    let start = 1 + switch_padding(pc);
    let rest = code.get(pc as usize..)?;
    let mut cursor = Cursor::new(rest.get(start..)?, "a switch");
    cursor.i32().ok()?;
    let (fixed, size) = if rest[0] == op::TABLESWITCH {
        let (low, high) = (i64::from(cursor.i32().ok()?), i64::from(cursor.i32().ok()?));
        (12, (high - low + 1).checked_mul(4)?)
    } else {
        (8, i64::from(cursor.i32().ok()?) * 8)
    };
    let size = usize::try_from(size).ok()?;
    Some(start + fixed + size).filter(|&len| len <= rest.len())
}

#[derive(Clone, Debug)]
struct Branches<'a> {
    pc: i64,
    first: Option<i64>,
    rest: &'a [u8],
    stride: usize,
}

impl Iterator for Branches<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        if let Some(offset) = self.first.take() {
            return Some(self.pc + offset);
        }
        let (offset, _) = self.rest.split_first_chunk()?;
        self.rest = self.rest.get(self.stride..).unwrap_or_default();
        Some(self.pc + i64::from(i32::from_be_bytes(*offset)))
    }
}

/// The targets of one instruction.
#[derive(Clone, Debug)]
pub struct Targets<'a>(Branches<'a>);

impl Iterator for Targets<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        // Decoding has checked that the targets lie within the code.
        self.0.next().map(|target| target as u32)
    }
}

/// The instructions of some code in their order. Ends after the first error, since what follows a
/// broken instruction cannot be decoded.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u8],
    /// Where the next instruction begins; the length of the code or more at the end.
    pc: usize,
}

impl<'a> Instructions<'a> {
    pub(crate) const fn new(code: &'a [u8]) -> Self {
        Self { code, pc: 0 }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instr<'a>, ClassError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pc >= self.code.len() {
            return None;
        }
        let instr = Instr::decode(self.code, self.pc as u32);
        self.pc = instr.as_ref().map_or(usize::MAX, |instr| self.pc + instr.len as usize);
        Some(instr)
    }
}
