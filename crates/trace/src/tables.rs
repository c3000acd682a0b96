//! The tables that give ids their names, sites their places and variables their initial values.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::marker::PhantomData;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use crate::event::{Value, ValueKind};
use crate::ids::{LabelId, LockId, SiteId, SymbolId, ThreadId, VarId};

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

/// A place in the source. Empty text and line 0 mean "not known".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Site<'a> {
    pub file: &'a str,
    pub line: u32,
    pub method: &'a str,
    pub class: &'a str,
    /// The place as the trace wrote it, where it is not of the form above (RAPID's numbers).
    pub loc: &'a str,
}

impl std::fmt::Display for Site<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.file.is_empty() {
            f.write_str(self.loc)
        } else if self.line == 0 {
            f.write_str(self.file)
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

/// A stored site: its texts as symbols.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SiteRow {
    pub file: SymbolId,
    pub line: u32,
    pub method: SymbolId,
    pub class: SymbolId,
    pub loc: SymbolId,
}

#[derive(Clone, Debug)]
pub struct SiteTable {
    symbols: NameTable<SymbolId>,
    rows: Vec<SiteRow>,
    index: HashTable<u32>,
}

impl Default for SiteTable {
    fn default() -> Self {
        let mut symbols = NameTable::default();
        symbols.push(""); // symbol 0: the empty text
        Self { symbols, rows: Vec::new(), index: HashTable::new() }
    }
}

impl SiteTable {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn symbols(&self) -> &NameTable<SymbolId> {
        &self.symbols
    }

    pub fn rows(&self) -> &[SiteRow] {
        &self.rows
    }

    pub fn get(&self, id: SiteId) -> Option<Site<'_>> {
        let row = self.rows.get(id.index())?;
        let text = |symbol| self.symbols.get(symbol).unwrap_or("");
        Some(Site {
            file: text(row.file),
            line: row.line,
            method: text(row.method),
            class: text(row.class),
            loc: text(row.loc),
        })
    }

    /// The id of `site`, adding it if it is new.
    pub fn intern(&mut self, site: &Site<'_>) -> SiteId {
        let row = SiteRow {
            file: self.symbols.intern(site.file),
            line: site.line,
            method: self.symbols.intern(site.method),
            class: self.symbols.intern(site.class),
            loc: self.symbols.intern(site.loc),
        };
        let hash = FxBuildHasher.hash_one(row);
        let Self { rows, index, .. } = self;
        if let Some(&found) = index.find(hash, |&i| rows[i as usize] == row) {
            return SiteId(found);
        }
        let id = SiteId::from_index(rows.len());
        rows.push(row);
        index.insert_unique(hash, id.0, |&i| FxBuildHasher.hash_one(rows[i as usize]));
        id
    }

    /// The id of a place written as text: `path:line` is understood, anything else kept as it is.
    pub fn intern_loc(&mut self, text: &str) -> SiteId {
        let site = match text.rsplit_once(':') {
            // "a:07" must be written back as it came, so only canonical numbers are taken apart.
            Some((file, line))
                if !file.is_empty()
                    && !line.starts_with(['0', '+'])
                    && line.parse::<u32>().is_ok() =>
            {
                Site { file, line: line.parse().unwrap_or(0), ..Site::default() }
            }
            _ => Site { loc: text, ..Site::default() },
        };
        self.intern(&site)
    }
}

/// What is known of a variable beside its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VarFacts {
    pub kind: ValueKind,
    /// The value before the first write of the trace.
    pub initial: Option<Value>,
}

/// How the trace came to be.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunMeta {
    /// The program and its arguments; empty if unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What recorded the run: `jvm`, `native`, `generate`, `import`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub front_end: String,
    /// Whatever else a front end wants to keep.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// Everything a trace says beside its events. Grows while a trace is read: an id is defined
/// before the batch that uses it is handed out.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub threads: NameTable<ThreadId>,
    pub vars: NameTable<VarId>,
    pub locks: NameTable<LockId>,
    /// Labels of blocks, names of methods and of inputs.
    pub labels: NameTable<LabelId>,
    pub sites: SiteTable,
    /// Facts of variables from `first_facts` on; shorter than `vars` when the rest is not known.
    var_facts: Vec<VarFacts>,
    first_facts: usize,
    /// Whose facts were set, in order: a writer that comes back later sees what is new.
    fact_log: Vec<VarId>,
    first_logged: usize,
    pub meta: RunMeta,
}

impl Tables {
    pub fn var_facts(&self, var: VarId) -> VarFacts {
        let place = var.index().checked_sub(self.first_facts);
        place.and_then(|place| self.var_facts.get(place)).copied().unwrap_or_default()
    }

    /// What was forgotten stays so: see [`Tables::forget_variables`].
    pub fn set_var_facts(&mut self, var: VarId, facts: VarFacts) {
        let Some(place) = var.index().checked_sub(self.first_facts) else { return };
        if self.var_facts.len() <= place {
            self.var_facts.resize(place + 1, VarFacts::default());
        }
        if self.var_facts[place] != facts {
            self.var_facts[place] = facts;
            self.fact_log.push(var);
        }
    }

    /// The variables whose facts were set or changed, in that order, without the first so many.
    pub fn fact_log(&self, from: usize) -> &[VarId] {
        &self.fact_log[from.saturating_sub(self.first_logged).min(self.fact_log.len())..]
    }

    /// Lets go of the names and facts of the first variables, and of the first entries of the log. For a writer of its own
    /// tables: what is in the file need not be in memory as well.
    pub(crate) fn forget_variables(&mut self, names: usize, logged: usize) {
        self.vars.forget(names);
        let facts = names.saturating_sub(self.first_facts).min(self.var_facts.len());
        self.var_facts.drain(..facts);
        self.first_facts += facts;
        let logged = logged.saturating_sub(self.first_logged).min(self.fact_log.len());
        self.fact_log.drain(..logged);
        self.first_logged += logged;
    }

    /// The facts given so far, by variable, of tables that nothing was forgotten of.
    pub fn all_var_facts(&self) -> &[VarFacts] {
        &self.var_facts
    }

    pub fn thread_name(&self, thread: ThreadId) -> String {
        self.threads.get(thread).map_or_else(|| format!("thread {}", thread.0), str::to_owned)
    }

    pub fn var_name(&self, var: VarId) -> String {
        self.vars.get(var).map_or_else(|| format!("variable {}", var.0), str::to_owned)
    }

    pub fn lock_name(&self, lock: LockId) -> String {
        self.locks.get(lock).map_or_else(|| format!("lock {}", lock.0), str::to_owned)
    }

    pub fn site_text(&self, site: SiteId) -> String {
        self.sites.get(site).map_or_else(String::new, |s| s.to_string())
    }

    /// What to call a block: its label, or where it begins.
    pub fn block_name(&self, label: LabelId, site: SiteId) -> String {
        if let Some(name) = self.labels.get(label) {
            return name.to_owned();
        }
        match self.sites.get(site) {
            Some(site) => format!("block at {site}"),
            None => "unnamed block".to_owned(),
        }
    }
}

/// Writes a value the way a programmer would.
pub fn show_value(value: Value, kind: ValueKind) -> String {
    match kind {
        ValueKind::Int => value.0.cast_signed().to_string(),
        ValueKind::Bool => (value.0 != 0).to_string(),
        ValueKind::Char => match u32::try_from(value.0).ok().and_then(char::from_u32) {
            Some(c) => format!("{c:?}"),
            None => format!("'\\u{{{:x}}}'", value.0),
        },
        ValueKind::Float => f32::from_bits(value.0 as u32).to_string(),
        ValueKind::Double => f64::from_bits(value.0).to_string(),
        ValueKind::Ref if value.0 == 0 => "null".to_owned(),
        ValueKind::Ref => format!("#{}", value.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_forgotten_keep_their_ids() {
        let mut table = NameTable::<VarId>::default();
        for number in 0..10 {
            assert_eq!(table.push(&format!("name {number}")), VarId(number));
        }
        assert_eq!(table.find("name 3"), Some(VarId(3)));
        for forgotten in [0, 4, 4, 2] {
            table.forget(forgotten);
        }
        assert_eq!(table.len(), 10);
        assert_eq!((table.get(VarId(3)), table.get(VarId(4))), (None, Some("name 4")));
        assert_eq!((table.find("name 3"), table.find("name 9")), (None, Some(VarId(9))));
        table.forget(100);
        assert_eq!(table.push("last"), VarId(10));
        assert_eq!(table.iter().collect::<Vec<_>>(), ["last"]);
    }

    #[test]
    fn facts_are_forgotten_with_the_names() {
        let mut tables = Tables::default();
        let facts = |number| VarFacts { initial: Some(Value(number)), ..VarFacts::default() };
        for number in 0..6 {
            let var = tables.vars.push("x");
            tables.set_var_facts(var, facts(number));
        }
        tables.forget_variables(4, 3);
        assert_eq!(tables.var_facts(VarId(3)), VarFacts::default());
        assert_eq!(tables.var_facts(VarId(4)), facts(4));
        assert_eq!(tables.fact_log(3), [VarId(3), VarId(4), VarId(5)]);
        tables.set_var_facts(VarId(6), facts(6));
        assert_eq!(tables.fact_log(5), [VarId(5), VarId(6)]);
    }
}
