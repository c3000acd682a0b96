//! Modified UTF-8, in which class files hold their texts (JVMS 4.4.7).
//!
//! It differs from UTF-8 in two points: U+0000 takes two bytes, and a character above U+FFFF is
//! written as the two halves of its surrogate pair, three bytes each. Nearly all names of the
//! world are the same in both, so that they can be borrowed.

use std::borrow::Cow;

/// The text, borrowed where it is plain UTF-8. What is no text at all (half of a surrogate pair,
/// stray bytes) becomes U+FFFD; such a constant is found by its bytes, not by its name.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(String::from_utf16_lossy(&units(bytes))),
    }
}

/// The UTF-16 units that the bytes stand for.
fn units(mut bytes: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(bytes.len());
    while let Some(&first) = bytes.first() {
        let (unit, len) = match *bytes {
            [a, ..] if a < 0x80 => (u16::from(a), 1),
            [a, b, ..] if a >> 5 == 0b110 && is_tail(b) => {
                (u16::from(a & 0x1f) << 6 | u16::from(b & 0x3f), 2)
            }
            [a, b, c, ..] if a >> 4 == 0b1110 && is_tail(b) && is_tail(c) => {
                (u16::from(a & 0xf) << 12 | u16::from(b & 0x3f) << 6 | u16::from(c & 0x3f), 3)
            }
            _ => (0xfffd, 1),
        };
        debug_assert!(len > 0, "byte {first:#x} is passed over");
        units.push(unit);
        bytes = &bytes[len..];
    }
    units
}

const fn is_tail(byte: u8) -> bool {
    byte >> 6 == 0b10
}

/// The bytes of a text, borrowed where they are those of UTF-8.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    // Bytes from 0xf0 on begin the four-byte forms.
    if text.bytes().all(|byte| byte != 0 && byte < 0xf0) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() + 8);
    for unit in text.encode_utf16() {
        match unit {
            1..0x80 => bytes.push(unit as u8),
            0 | 0x80..0x800 => bytes.extend([0xc0 | (unit >> 6) as u8, tail(unit)]),
            _ => bytes.extend([0xe0 | (unit >> 12) as u8, tail(unit >> 6), tail(unit)]),
        }
    }
    Cow::Owned(bytes)
}

const fn tail(bits: u16) -> u8 {
    0x80 | (bits & 0x3f) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        for text in ["", "java/lang/Object", "größe", "a\0b", "名前", "x😀y", "\u{fffd}"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(&*encode("\0"), [0xc0, 0x80]);
        assert_eq!(&*encode("😀"), [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]);
    }

    #[test]
    fn what_is_no_text_is_replaced() {
        assert_eq!(decode(&[b'a', 0xff, b'b']), "a\u{fffd}b");
        assert_eq!(decode(&[0xed, 0xa0, 0xbd]), "\u{fffd}", "half of a surrogate pair");
        assert_eq!(decode(&[0xe0, 0x80]), "\u{fffd}\u{fffd}");
    }
}
