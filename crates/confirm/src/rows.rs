//! Rows of bits: sets of small numbers, all of one width, in one allocation.

/// `count` sets over the numbers below a common bound.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    words: usize,
    bits: Vec<u64>,
}

impl Rows {
    pub fn new(count: usize, width: usize) -> Self {
        let words = width.div_ceil(64).max(1);
        Self { words, bits: vec![0; words * count] }
    }

    /// 64-bit words of a row.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    #[inline]
    pub fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }

    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.words..(row + 1) * self.words]
    }

    #[inline]
    pub fn has(&self, row: usize, number: usize) -> bool {
        self.bits[row * self.words + number / 64] >> (number % 64) & 1 != 0
    }

    #[inline]
    pub fn insert(&mut self, row: usize, number: usize) {
        self.bits[row * self.words + number / 64] |= 1 << (number % 64);
    }

    #[inline]
    pub fn remove(&mut self, row: usize, number: usize) {
        self.bits[row * self.words + number / 64] &= !(1 << (number % 64));
    }

    /// Adds all of row `from` to row `to`.
    #[inline]
    pub fn include(&mut self, to: usize, from: usize) {
        for word in 0..self.words {
            self.bits[to * self.words + word] |= self.bits[from * self.words + word];
        }
    }

    /// Becomes a copy of `other`, keeping its own allocation.
    pub fn copy_from(&mut self, other: &Self) {
        self.words = other.words;
        self.bits.clone_from(&other.bits);
    }
}

/// The numbers of a set, ascending.
#[inline]
pub fn ones(row: &[u64]) -> Ones<'_> {
    Ones { row, word: 0, left: row.first().copied().unwrap_or(0) }
}

#[derive(Clone, Debug)]
pub struct Ones<'a> {
    row: &'a [u64],
    word: usize,
    left: u64,
}

impl Iterator for Ones<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.word += 1;
            self.left = *self.row.get(self.word)?;
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(self.word * 64 + bit)
    }
}

/// How many numbers a set has.
#[inline]
pub fn size(row: &[u64]) -> usize {
    row.iter().map(|word| word.count_ones() as usize).sum()
}
