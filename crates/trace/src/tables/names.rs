//! Names by id.

use std::hash::BuildHasher;
use std::marker::PhantomData;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Names in the order of their ids, all bytes in one allocation.
#[derive(Clone, Debug)]
pub struct NameTable<Id> {
    names: Names,
    /// Finds the id of a name; of several with the same name, the first.
    index: HashTable<u32>,
    /// Names in `index`: it is brought up to date when it is needed, which for a file that numbers
    /// its names itself is never.
    indexed: usize,
    id: PhantomData<Id>,
}

impl<Id> Default for NameTable<Id> {
    fn default() -> Self {
        Self { names: Names::default(), index: HashTable::new(), indexed: 0, id: PhantomData }
    }
}

impl<Id: From<u32> + Into<u32> + Copy> NameTable<Id> {
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of `id`; `None` if the table does not know it.
    pub fn get(&self, id: Id) -> Option<&str> {
        self.names.get(id.into() as usize)
    }

    /// Lets go of the first names. Their ids stay taken; they cannot be found any more.
    pub fn forget(&mut self, count: usize) {
        self.names.forget(count);
        self.index = HashTable::new();
        self.indexed = self.names.forgotten;
    }

    /// The id of `name`, if some entry has that name.
    pub fn find(&mut self, name: &str) -> Option<Id> {
        while self.indexed < self.len() {
            self.index_next();
        }
        self.indexed_id(name).map(Id::from)
    }

    fn indexed_id(&self, name: &str) -> Option<u32> {
        let hash = FxBuildHasher.hash_one(name);
        self.index.find(hash, |&i| self.names.at(i) == name).copied()
    }

    fn index_next(&mut self) {
        let Self { names, index, indexed, .. } = self;
        let new = *indexed as u32;
        let name = names.at(new);
        let hash = FxBuildHasher.hash_one(name);
        if index.find(hash, |&i| names.at(i) == name).is_none() {
            index.insert_unique(hash, new, |&i| FxBuildHasher.hash_one(names.at(i)));
        }
        *indexed += 1;
    }

    /// The id of `name`, adding it if it is new.
    pub fn intern(&mut self, name: &str) -> Id {
        self.find(name).unwrap_or_else(|| self.push(name))
    }

    /// Adds an entry even if another one has the same name (two objects may print alike).
    ///
    /// # Panics
    /// If a table outgrows 32 bits, for which memory ends first.
    pub fn push(&mut self, name: &str) -> Id {
        let id = u32::try_from(self.len()).expect("fewer than 2^32 names");
        self.names.push(name);
        id.into()
    }

    /// All that were not forgotten.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (self.names.forgotten..self.len()).map(|i| self.names.at(i as u32))
    }
}

/// Texts by number, contiguous; the first of them may have been forgotten.
#[derive(Clone, Debug, Default)]
struct Names {
    bytes: String,
    /// Where each text ends, counted with the bytes that were forgotten.
    ends: Vec<u64>,
    forgotten: usize,
    forgotten_bytes: u64,
}

impl Names {
    fn len(&self) -> usize {
        self.forgotten + self.ends.len()
    }

    fn push(&mut self, name: &str) {
        self.bytes.push_str(name);
        self.ends.push(self.forgotten_bytes + self.bytes.len() as u64);
    }

    fn get(&self, index: usize) -> Option<&str> {
        let place = index.checked_sub(self.forgotten)?;
        let end = *self.ends.get(place)?;
        let start = if place == 0 { self.forgotten_bytes } else { self.ends[place - 1] };
        let [start, end] = [start, end].map(|at| (at - self.forgotten_bytes) as usize);
        Some(&self.bytes[start..end])
    }

    /// The text with a number that is known to be there.
    fn at(&self, index: u32) -> &str {
        self.get(index as usize).unwrap_or_default()
    }

    fn forget(&mut self, count: usize) {
        let count = count.min(self.len()).saturating_sub(self.forgotten);
        let Some(last) = count.checked_sub(1) else { return };
        let end = self.ends[last];
        self.bytes.drain(..(end - self.forgotten_bytes) as usize);
        self.ends.drain(..count);
        self.forgotten += count;
        self.forgotten_bytes = end;
    }
}
