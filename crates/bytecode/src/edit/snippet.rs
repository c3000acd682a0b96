//! Straight-line code to be inserted.

use crate::{Instructions, PoolBuilder, PoolFull, op};

/// What a local variable holds, which decides how it is loaded and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Also booleans, bytes, chars and shorts.
    Int,
    Long,
    Float,
    Double,
    Reference,
}

impl Kind {
    /// The kind of a value of the type at the start of a descriptor; `None` for `V` and nonsense.
    pub fn of(descriptor: &str) -> Option<Self> {
        Some(match descriptor.as_bytes().first()? {
            b'Z' | b'B' | b'C' | b'S' | b'I' => Self::Int,
            b'J' => Self::Long,
            b'F' => Self::Float,
            b'D' => Self::Double,
            b'L' | b'[' => Self::Reference,
            _ => return None,
        })
    }

    /// How many slots of the stack or of the local variables it takes.
    pub const fn slots(self) -> u16 {
        if matches!(self, Self::Long | Self::Double) { 2 } else { 1 }
    }

    /// Loads and stores come in this order of kinds.
    const fn ordinal(self) -> u8 {
        self as u8
    }
}

/// Straight-line code: it begins at its first instruction and ends behind its last. Branches,
/// switches and returns have no place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    bytes: Vec<u8>,
    /// How many of the bytes a wrap's own handler still covers; see [`Snippet::end_protection`].
    protected: usize,
}

impl Snippet {
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), protected: 0 }
    }

    /// An instruction without operands.
    #[must_use]
    pub fn op(mut self, opcode: u8) -> Self {
        debug_assert_eq!(op::len(opcode), 1, "opcode {opcode:#x} takes operands");
        self.bytes.push(opcode);
        self
    }

    /// An instruction with an operand of two bytes, such as `getfield` or `checkcast`.
    #[must_use]
    pub fn op_u16(mut self, opcode: u8, index: u16) -> Self {
        debug_assert_eq!(op::len(opcode), 3, "opcode {opcode:#x} takes other operands");
        self.put(opcode, index);
        self
    }

    fn put(&mut self, opcode: u8, index: u16) {
        let [high, low] = index.to_be_bytes();
        self.bytes.extend([opcode, high, low]);
    }

    #[must_use]
    pub fn invokestatic(self, method: u16) -> Self {
        self.op_u16(op::INVOKESTATIC, method)
    }

    /// Pushes a constant of one slot.
    #[must_use]
    pub fn ldc(self, index: u16) -> Self {
        self.op_u16(op::LDC_W, index)
    }

    /// Pushes an int in the shortest way.
    pub fn int(mut self, value: i32, pool: &mut PoolBuilder<'_>) -> Result<Self, PoolFull> {
        if (-1..=5).contains(&value) {
            self.bytes.push((i32::from(op::ICONST_0) + value) as u8);
        } else if let Ok(byte) = i8::try_from(value) {
            self.bytes.extend([op::BIPUSH, byte.cast_unsigned()]);
        } else if let Ok(short) = i16::try_from(value) {
            self.put(op::SIPUSH, short.cast_unsigned());
        } else {
            let index = pool.integer(value)?;
            match u8::try_from(index) {
                Ok(index) => self.bytes.extend([op::LDC, index]),
                Err(_) => self.put(op::LDC_W, index),
            }
        }
        Ok(self)
    }

    /// Pushes a long.
    pub fn long(mut self, value: i64, pool: &mut PoolBuilder<'_>) -> Result<Self, PoolFull> {
        match value {
            0 => self.bytes.push(op::LCONST_0),
            1 => self.bytes.push(op::LCONST_1),
            _ => self.put(op::LDC2_W, pool.long(value)?),
        }
        Ok(self)
    }

    #[must_use]
    pub fn load(self, kind: Kind, slot: u16) -> Self {
        self.local(op::ILOAD + kind.ordinal(), op::ILOAD_0 + 4 * kind.ordinal(), slot)
    }

    #[must_use]
    pub fn store(self, kind: Kind, slot: u16) -> Self {
        self.local(op::ISTORE + kind.ordinal(), op::ISTORE_0 + 4 * kind.ordinal(), slot)
    }

    /// `short` is the opcode for slot 0 of four that need no operand.
    fn local(mut self, long: u8, short: u8, slot: u16) -> Self {
        match slot {
            0..4 => self.bytes.push(short + slot as u8),
            4..256 => self.bytes.extend([long, slot as u8]),
            _ => {
                self.bytes.push(op::WIDE);
                self.put(long, slot);
            }
        }
        self
    }

    /// What stands in the other snippet, behind what stands in this one, whose mark stays.
    #[must_use]
    pub fn then(mut self, other: &Self) -> Self {
        self.bytes.extend(&other.bytes);
        self
    }

    /// In a [`Wrap`](crate::Wrap): the handler covers the snippet up to here. A snippet without
    /// this mark is not covered at all; outside of wraps it has no meaning.
    #[must_use]
    pub const fn end_protection(mut self) -> Self {
        self.protected = self.bytes.len();
        self
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many bytes of code it is.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it loads local variable 0.
    pub(super) fn reads_local0(&self) -> bool {
        Instructions::new(&self.bytes)
            .flatten()
            .any(|instr| instr.local() == Some(0) && !instr.is_store())
    }

    pub(super) const fn protected(&self) -> usize {
        self.protected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locals_take_their_shortest_form() {
        let code = Snippet::new()
            .load(Kind::Int, 0)
            .load(Kind::Reference, 3)
            .store(Kind::Long, 4)
            .store(Kind::Double, 2)
            .load(Kind::Float, 300);
        let wide = [op::WIDE, op::FLOAD, 1, 44];
        let expected = [op::ILOAD_0, op::ALOAD_3, op::LSTORE, 4, op::DSTORE_2];
        assert_eq!(code.bytes(), [&expected[..], &wide].concat());
    }

    #[test]
    fn kinds_follow_descriptors() {
        assert_eq!(Kind::of("Z"), Some(Kind::Int));
        assert_eq!(Kind::of("[J"), Some(Kind::Reference));
        assert_eq!(Kind::of("D").map(Kind::slots), Some(2));
        assert_eq!(Kind::of("V"), None);
        assert_eq!(Kind::of(""), None);
    }
}
