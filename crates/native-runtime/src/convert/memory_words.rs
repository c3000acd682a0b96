//! From memory to variables: the look-up of every access.
//!
//! A variable is a part of an aligned word. The first access of some bytes makes a variable of them; an access of other
//! bytes of the same word divides what it overlaps in part.

use rustc_hash::FxHashMap;
use untorn_trace::ids::VarId;

use crate::symbols::Values;

/// A variable in its word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Var {
    pub(super) id: VarId,
    pub(super) offset: u8,
    pub(super) size: u8,
    /// The bytes that were last seen there, if any were.
    pub(super) last: Option<u64>,
    pub(super) values: Values,
}

impl Var {
    pub(super) const fn end(&self) -> u8 {
        self.offset + self.size
    }

    /// The bytes of the variable from an access that covers it.
    pub(super) const fn part_of(&self, value: u64, offset: u8) -> u64 {
        mask(value >> (8 * (self.offset - offset)), self.size)
    }
}

/// The low bytes of a number.
pub(super) const fn mask(value: u64, size: u8) -> u64 {
    if size >= 8 { value } else { value & ((1 << (8 * size)) - 1) }
}

/// The variables of a word. Nearly all words have one.
#[derive(Clone, Debug)]
pub(super) enum Word {
    One(Var),
    Many(Vec<Var>),
}

impl Word {
    pub(super) fn all(&mut self) -> &mut [Var] {
        match self {
            Self::One(var) => std::slice::from_mut(var),
            Self::Many(vars) => vars,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Words {
    words: FxHashMap<usize, Word>,
}

impl Words {
    /// The variable that is exactly these bytes.
    #[inline]
    pub(super) fn exact(&mut self, word: usize, offset: u8, size: u8) -> Option<&mut Var> {
        let found = self.words.get_mut(&word)?;
        found.all().iter_mut().find(|var| var.offset == offset && var.size == size)
    }

    pub(super) fn take(&mut self, word: usize) -> Vec<Var> {
        match self.words.remove(&word) {
            Some(Word::One(var)) => vec![var],
            Some(Word::Many(vars)) => vars,
            None => Vec::new(),
        }
    }

    pub(super) fn put(&mut self, word: usize, mut vars: Vec<Var>) {
        let new = match vars.as_mut_slice() {
            [] => return,
            [one] => Word::One(*one),
            _ => Word::Many(vars),
        };
        self.words.insert(word, new);
    }

    pub(super) fn forget_word(&mut self, word: usize) {
        self.words.remove(&word);
    }

    /// What lies there is another variable from now on.
    pub(super) fn forget(&mut self, address: usize, bytes: usize) {
        let (first, last) = (address >> 3, address.saturating_add(bytes).saturating_add(7) >> 3);
        if last - first > self.words.len() {
            self.words.retain(|word, _| !(first..last).contains(word));
        } else {
            (first..last).for_each(|word| self.forget_word(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(offset: u8, size: u8) -> Var {
        Var { id: VarId(0), offset, size, last: None, values: Values::default() }
    }

    #[test]
    fn a_variable_sees_its_own_bytes_of_a_larger_access() {
        assert_eq!(var(4, 2).part_of(0x8877_6655_4433_2211, 0), 0x6655);
        assert_eq!(var(4, 4).part_of(0x4433_2211, 4), 0x4433_2211);
        assert_eq!(var(0, 8).part_of(u64::MAX, 0), u64::MAX);
        assert_eq!(mask(u64::MAX, 1), 0xff);
    }

    #[test]
    fn memory_that_is_given_back_has_no_variables() {
        let mut words = Words::default();
        for word in [2, 3, 4, 9] {
            words.put(word, vec![var(0, 8)]);
        }
        words.forget(16, 16);
        assert!(words.exact(2, 0, 8).is_none() && words.exact(3, 0, 8).is_none());
        assert!(words.exact(4, 0, 8).is_some());
        words.forget(0, 1 << 40);
        assert!(words.exact(4, 0, 8).is_none() && words.exact(9, 0, 8).is_none());
    }
}
