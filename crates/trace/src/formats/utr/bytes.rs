//! Numbers in bytes and bits. Reading never goes past the end and never panics.

use super::Fault;

/// Appends an unsigned number in groups of seven bits, lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// From this value on, the byte encodes how many bytes follow.
const LONG: u8 = 0xf0;

/// Writes a number at `at` of a buffer with nine bytes of room: a byte if it is small, else a byte that encodes
/// how many follow and those, lowest first. Returns the place after it. Unlike a varint it is
/// written and read without a loop, which matters for doubles.
#[inline]
pub(super) fn put_number(buffer: &mut [u8], at: usize, number: u64) -> usize {
    // Whether a number is small is as good as random, so nothing branches on it.
    let is_long = number >= u64::from(LONG);
    let len = 8 - (number | 1).leading_zeros() as usize / 8;
    let room: &mut [u8; 9] = (&mut buffer[at..at + 9]).try_into().expect("nine bytes");
    room[0] = if is_long { LONG + len as u8 - 1 } else { number as u8 };
    room[1..].copy_from_slice(&number.to_le_bytes());
    at + 1 + if is_long { len } else { 0 }
}

/// Maps numbers near zero, of either sign, to small ones.
pub(super) fn zigzag(number: u64) -> u64 {
    let signed = number.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

pub(super) fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// A place in a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..len).ok_or_else(|| Fault::new("it ends too early"))?;
        self.at += len;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        Ok(self.take(N)?.try_into().expect("take gives the length asked for"))
    }

    pub fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub fn varint(&mut self) -> Result<u64, Fault> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Fault::new("a number does not fit 64 bits"))
    }

    /// What [`put_number`] wrote.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Fault> {
        let first = self.byte()?;
        if first < LONG {
            return Ok(u64::from(first));
        }
        let len = usize::from(first - LONG) + 1;
        if len > 8 {
            return Err(Fault::new("a value of more than eight bytes"));
        }
        let mut bytes = [0; 8];
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk()) {
            // Mostly there are more values after this one: eight bytes are loaded and some masked.
            Some(chunk) => {
                self.at += len;
                return Ok(u64::from_le_bytes(*chunk) & (u64::MAX >> (64 - 8 * len)));
            }
            None => bytes[..len].copy_from_slice(self.take(len)?),
        }
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn varint32(&mut self) -> Result<u32, Fault> {
        u32::try_from(self.varint()?).map_err(|_| Fault::new("a number does not fit 32 bits"))
    }

    /// A length that the payload can hold: each of the things counted takes at least one byte.
    pub fn count(&mut self) -> Result<usize, Fault> {
        let count = self.varint()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.bytes.len() - self.at => Ok(count),
            _ => Err(Fault::new(format!("it claims {count} entries, more than it can hold"))),
        }
    }

    pub fn text(&mut self) -> Result<&'a str, Fault> {
        let len = self.count()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| Fault::new("a name is not UTF-8"))
    }
}

/// Bytes after a bit stream, so that eight bytes can be loaded at each of its bits.
pub(super) const PADDING: usize = 8;

/// How many bits an index below `count` takes.
pub(super) fn width_of(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// Packs numbers of at most 32 bits, lowest bit first.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits not yet in `bytes`; fewer than 32 between calls.
    pending: u64,
    filled: u32,
}

impl BitWriter {
    #[inline]
    pub fn put(&mut self, number: u32, width: u32) {
        debug_assert!(width == 32 || number >> width == 0, "{number} does not fit {width} bits");
        self.pending |= u64::from(number) << self.filled;
        self.filled += width;
        if self.filled >= 32 {
            self.bytes.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.filled -= 32;
        }
    }

    /// The stream, with its padding.
    pub fn finish(&mut self) -> &[u8] {
        let rest = self.filled.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..rest]);
        self.bytes.resize(self.bytes.len() + PADDING, 0);
        &self.bytes
    }

    /// Starts again and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.pending, self.filled) = (0, 0);
    }
}

/// The 32 bits at bit `at` of a padded stream; zeros past its end, which is for the caller to
/// notice.
#[inline]
pub(super) fn bits(stream: &[u8], at: usize) -> u32 {
    let chunk = stream.get(at / 8..at / 8 + 8).and_then(|bytes| bytes.first_chunk());
    (u64::from_le_bytes(*chunk.unwrap_or(&[0; 8])) >> (at % 8)) as u32
}

/// A mask of the lowest `width` bits, at most 32.
pub(super) fn mask_of(width: u32) -> u32 {
    ((1_u64 << width) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_and_zigzag_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, number);
            let mut cursor = Cursor::new(&out, 0);
            assert_eq!(cursor.varint(), Ok(number));
            assert!(cursor.is_at_end());
            assert_eq!(unzigzag(zigzag(number)), number);
        }
        let mut buffer = [0; 9];
        for number in [0, 1, 0xef, 0xf0, 0xff, 0x100, 0xffff, 1 << 55, 1 << 56, u64::MAX] {
            let end = put_number(&mut buffer, 0, number);
            let mut cursor = Cursor::new(&buffer[..end], 0);
            assert_eq!(cursor.number(), Ok(number));
            assert!(cursor.is_at_end());
        }
        assert!(zigzag((-3_i64).cast_unsigned()) < 8);
    }

    #[test]
    fn an_overlong_varint_is_a_fault() {
        assert!(Cursor::new(&[0xff; 10], 0).varint().is_err());
        assert!(Cursor::new(&[0xff; 3], 0).varint().is_err());
    }

    #[test]
    fn bits_of_every_width_come_back() {
        let numbers: Vec<(u32, u32)> =
            (0..200_u32).map(|i| (i.wrapping_mul(0x9e37_79b9) & mask_of(i % 33), i % 33)).collect();
        let mut writer = BitWriter::default();
        for &(number, width) in &numbers {
            writer.put(number, width);
        }
        let stream = writer.finish();
        let mut at = 0;
        for &(number, width) in &numbers {
            assert_eq!(bits(stream, at) & mask_of(width), number);
            at += width as usize;
        }
        assert_eq!(bits(stream, stream.len() * 8), 0);
    }

    #[test]
    fn an_index_takes_as_many_bits_as_its_largest_value() {
        let widths: Vec<u32> = [0, 1, 2, 3, 4, 5, 256, 257].map(width_of).to_vec();
        assert_eq!(widths, [0, 0, 1, 2, 2, 3, 8, 9]);
    }
}
