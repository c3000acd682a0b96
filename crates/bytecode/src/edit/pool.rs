//! Constants appended to those a class already has.
//!
//! Nothing is ever renumbered and no old constant is touched: whatever else in the file names a
//! constant by its index, in attributes we may not even know, stays right.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::pool::Tag;
use crate::{Pool, PoolFull, mutf8};

/// The largest `constant_pool_count`; indices stay below it.
const MAX_COUNT: u16 = u16::MAX;

/// The constants of a class with those added to it. The same constant is never added twice.
#[derive(Clone, Debug)]
pub struct PoolBuilder<'a> {
    old: &'a Pool<'a>,
    /// The added constants, as they will stand in the file.
    added: Vec<u8>,
    /// Where in `added` the constants begin, from index `old.count()` on; the second index of a
    /// long begins where the long does.
    starts: Vec<u32>,
    /// The indices of all constants, by their bytes. Filled when the first constant is asked for.
    known: HashTable<u16>,
}

impl<'a> PoolBuilder<'a> {
    pub(super) fn new(old: &'a Pool<'a>) -> Self {
        Self { old, added: Vec::new(), starts: Vec::new(), known: HashTable::new() }
    }

    /// A text.
    pub fn utf8(&mut self, text: &str) -> Result<u16, PoolFull> {
        let bytes = mutf8::encode(text);
        let len = u16::try_from(bytes.len()).map_err(|_| PoolFull)?;
        let mut entry = Vec::with_capacity(3 + bytes.len());
        entry.push(Tag::Utf8 as u8);
        entry.extend(len.to_be_bytes());
        entry.extend_from_slice(&bytes);
        self.intern(&entry)
    }

    /// A class by its internal name, or an array class by its descriptor.
    pub fn class(&mut self, name: &str) -> Result<u16, PoolFull> {
        let name = self.utf8(name)?;
        self.intern_indices(Tag::Class, &[name])
    }

    pub fn string(&mut self, text: &str) -> Result<u16, PoolFull> {
        let text = self.utf8(text)?;
        self.intern_indices(Tag::String, &[text])
    }

    pub fn integer(&mut self, value: i32) -> Result<u16, PoolFull> {
        let [a, b, c, d] = value.to_be_bytes();
        self.intern(&[Tag::Integer as u8, a, b, c, d])
    }

    pub fn long(&mut self, value: i64) -> Result<u16, PoolFull> {
        let mut entry = [Tag::Long as u8; 9];
        entry[1..].copy_from_slice(&value.to_be_bytes());
        self.intern(&entry)
    }

    pub fn name_and_type(&mut self, name: &str, descriptor: &str) -> Result<u16, PoolFull> {
        let indices = [self.utf8(name)?, self.utf8(descriptor)?];
        self.intern_indices(Tag::NameAndType, &indices)
    }

    pub fn fieldref(&mut self, class: &str, name: &str, desc: &str) -> Result<u16, PoolFull> {
        self.member(Tag::Fieldref, class, name, desc)
    }

    pub fn methodref(&mut self, class: &str, name: &str, desc: &str) -> Result<u16, PoolFull> {
        self.member(Tag::Methodref, class, name, desc)
    }

    fn member(&mut self, tag: Tag, class: &str, name: &str, desc: &str) -> Result<u16, PoolFull> {
        let indices = [self.class(class)?, self.name_and_type(name, desc)?];
        self.intern_indices(tag, &indices)
    }

    fn intern_indices(&mut self, tag: Tag, indices: &[u16]) -> Result<u16, PoolFull> {
        let mut entry = [tag as u8; 5];
        for (to, index) in entry[1..].chunks_exact_mut(2).zip(indices) {
            to.copy_from_slice(&index.to_be_bytes());
        }
        self.intern(&entry[..1 + 2 * indices.len()])
    }

    /// The index of a constant that is, or from now on will be, in the pool.
    fn intern(&mut self, entry: &[u8]) -> Result<u16, PoolFull> {
        if self.known.is_empty() {
            self.fill();
        }
        let hash = hash_of(entry);
        if let Some(&index) = self.known.find(hash, |&index| self.raw(index) == Some(entry)) {
            return Ok(index);
        }
        let takes = if entry[0] == Tag::Long as u8 { Tag::Long } else { Tag::Utf8 }.indices();
        let index = self.count();
        if index > MAX_COUNT - takes {
            return Err(PoolFull);
        }
        self.starts.resize(self.starts.len() + usize::from(takes), self.added.len() as u32);
        self.added.extend_from_slice(entry);
        let (old, added, starts) = (self.old, &self.added, &self.starts);
        self.known
            .insert_unique(hash, index, |&index| raw(old, added, starts, index).map_or(0, hash_of));
        Ok(index)
    }

    fn fill(&mut self) {
        let old = self.old;
        let hash = |&index: &u16| old.raw(index).map_or(0, hash_of);
        self.known.reserve(usize::from(old.count()), hash);
        for index in 1..old.count() {
            let Some(entry) = old.raw(index) else { continue };
            self.known
                .entry(hash_of(entry), |&other| old.raw(other) == Some(entry), hash)
                .or_insert(index);
        }
    }

    fn raw(&self, index: u16) -> Option<&[u8]> {
        raw(self.old, &self.added, &self.starts, index)
    }

    /// The `constant_pool_count` of the class to be written.
    pub(super) fn count(&self) -> u16 {
        // `intern` keeps the sum within 16 bits.
        self.old.count() + self.starts.len() as u16
    }

    pub(super) fn added(&self) -> &[u8] {
        &self.added
    }
}

/// The bytes of an old or an added constant.
fn raw<'b>(old: &Pool<'b>, added: &'b [u8], starts: &[u32], index: u16) -> Option<&'b [u8]> {
    let Some(nth) = index.checked_sub(old.count()) else { return old.raw(index) };
    let start = *starts.get(usize::from(nth))?;
    let end = starts[usize::from(nth)..].iter().find(|&&other| other != start);
    added.get(start as usize..end.map_or(added.len(), |&end| end as usize))
}

fn hash_of(entry: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(entry);
    hasher.finish()
}
