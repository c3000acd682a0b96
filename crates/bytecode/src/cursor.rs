//! Big-endian numbers in bytes. Reading never goes past the end and never panics.

use crate::ClassError;

/// The two bytes at `at`; zeros where there are none.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    u16::from_be_bytes(*found.unwrap_or(&[0; 2]))
}

/// A place in some bytes, which are named for the error that says that they ended too early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub const fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// From here on, the bytes are called this.
    pub const fn enter(&mut self, what: &'static str) {
        self.what = what;
    }

    pub const fn at(&self) -> usize {
        self.at
    }

    /// All bytes from `start` up to here; none if `start` lies behind.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], ClassError> {
        let taken = self.rest().get(..len).ok_or(ClassError::Truncated(self.what))?;
        self.at += len;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ClassError> {
        let taken = self.rest().first_chunk().ok_or(ClassError::Truncated(self.what))?;
        self.at += N;
        Ok(*taken)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, ClassError> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, ClassError> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, ClassError> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub fn i32(&mut self) -> Result<i32, ClassError> {
        self.array().map(i32::from_be_bytes)
    }
}
