//! Names as a text format can write them: legal there, and no two of one table alike.

use std::borrow::Cow;

use crate::tables::NameTable;

/// What each name of a table is written as. Follows a table that grows.
#[derive(Debug)]
pub(crate) struct UniqueNames<Id> {
    written: NameTable<Id>,
    /// Makes a name legal.
    legal: fn(&str) -> Cow<'_, str>,
    changed: u64,
}

impl<Id: From<u32> + Into<u32> + Copy> UniqueNames<Id> {
    pub(crate) fn new(legal: fn(&str) -> Cow<'_, str>) -> Self {
        Self { written: NameTable::default(), legal, changed: 0 }
    }

    /// Decides on the names added to `table` since the last call. A name that is taken gets `~2`,
    /// `~3` and so on appended, whichever is free.
    pub(crate) fn follow(&mut self, table: &NameTable<Id>) {
        for index in self.written.len()..table.len() {
            let name = table.get((index as u32).into()).unwrap_or_default();
            let legal = (self.legal)(name);
            let mut unique = legal.clone();
            let mut copy = 2;
            while self.written.find(&unique).is_some() {
                unique = Cow::Owned(format!("{legal}~{copy}"));
                copy += 1;
            }
            self.changed += u64::from(unique != name);
            self.written.push(&unique);
        }
    }

    pub(crate) fn get(&self, id: Id) -> Option<&str> {
        self.written.get(id)
    }

    /// Names that are not written as they are.
    pub(crate) fn changed(&self) -> u64 {
        self.changed
    }
}
