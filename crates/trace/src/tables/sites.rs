//! Places in the code of the program.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::NameTable;
use crate::ids::{SiteId, SymbolId};

/// A place in the code. Empty text and line 0 mean "not known".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Site<'a> {
    pub file: &'a str,
    pub line: u32,
    pub method: &'a str,
    pub class: &'a str,
    pub position: CodePosition<'a>,
    pub facts: SiteFacts,
    /// The place of the call that the compiler replaced by the code here.
    pub inlined_into: Option<SiteId>,
}

/// The instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CodePosition<'a> {
    #[default]
    Unknown,
    /// As an imported trace wrote it, where it is not `file:line` (RAPID's numbers).
    Text(&'a str),
    /// In a method of the JVM. Without an offset, a plan cannot name the place.
    Bytecode { descriptor: &'a str, offset: Option<u32> },
    /// In an executable or a shared library, from its beginning on.
    Module { module: &'a str, offset: u64 },
}

/// What a front end knows of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SiteFacts {
    /// Code of a library, which the user does not mend.
    pub is_library: bool,
    /// Bytes that the instruction accesses; 0 if that is not known.
    pub access_size: u8,
    /// Of an atomic access.
    pub order: MemoryOrder,
}

/// What an atomic access orders.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum MemoryOrder {
    /// Not an atomic access, or not known.
    #[default]
    Unknown = 0,
    Relaxed = 1,
    Acquire = 2,
    Release = 3,
    AcquireRelease = 4,
    SequentiallyConsistent = 5,
}

impl MemoryOrder {
    /// By number, as files have it.
    pub const ALL: [Self; 6] = [
        Self::Unknown,
        Self::Relaxed,
        Self::Acquire,
        Self::Release,
        Self::AcquireRelease,
        Self::SequentiallyConsistent,
    ];

    /// Its name in text formats.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 6] = [
            "unknown",
            "relaxed",
            "acquire",
            "release",
            "acquire-release",
            "sequentially-consistent",
        ];
        NAMES[self as usize]
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl std::fmt::Display for Site<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.file.is_empty() {
            write!(f, "{}", self.position)
        } else if self.line == 0 {
            f.write_str(self.file)
        } else {
            write!(f, "{}:{}", self.file, self.line)
        }
    }
}

impl std::fmt::Display for CodePosition<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Bytecode { descriptor, offset: None } => f.write_str(descriptor),
            Self::Bytecode { descriptor, offset: Some(pc) } => write!(f, "{descriptor}@{pc}"),
            Self::Module { module, offset } => write!(f, "{module}+{offset:#x}"),
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
    pub position: PositionRow,
    pub facts: SiteFacts,
    pub inlined_into: Option<SiteId>,
}

/// A stored [`CodePosition`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PositionRow {
    Unknown,
    Text(SymbolId),
    Bytecode { descriptor: SymbolId, offset: Option<u32> },
    Module { module: SymbolId, offset: u64 },
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

    /// The symbol of a text, for facts that name classes and methods.
    pub fn intern_symbol(&mut self, text: &str) -> SymbolId {
        self.symbols.intern(text)
    }

    pub fn symbol(&self, symbol: SymbolId) -> &str {
        self.symbols.get(symbol).unwrap_or("")
    }

    pub fn rows(&self) -> &[SiteRow] {
        &self.rows
    }

    pub fn get(&self, id: SiteId) -> Option<Site<'_>> {
        let row = self.rows.get(id.index())?;
        Some(Site {
            file: self.symbol(row.file),
            line: row.line,
            method: self.symbol(row.method),
            class: self.symbol(row.class),
            position: self.position(row.position),
            facts: row.facts,
            inlined_into: row.inlined_into,
        })
    }

    fn position(&self, row: PositionRow) -> CodePosition<'_> {
        match row {
            PositionRow::Unknown => CodePosition::Unknown,
            PositionRow::Text(text) => CodePosition::Text(self.symbol(text)),
            PositionRow::Bytecode { descriptor, offset } => {
                CodePosition::Bytecode { descriptor: self.symbol(descriptor), offset }
            }
            PositionRow::Module { module, offset } => {
                CodePosition::Module { module: self.symbol(module), offset }
            }
        }
    }

    fn position_row(&mut self, position: CodePosition<'_>) -> PositionRow {
        match position {
            CodePosition::Unknown => PositionRow::Unknown,
            CodePosition::Text(text) => PositionRow::Text(self.symbols.intern(text)),
            CodePosition::Bytecode { descriptor, offset } => {
                PositionRow::Bytecode { descriptor: self.symbols.intern(descriptor), offset }
            }
            CodePosition::Module { module, offset } => {
                PositionRow::Module { module: self.symbols.intern(module), offset }
            }
        }
    }

    /// The id of `site`, adding it if it is new.
    pub fn intern(&mut self, site: &Site<'_>) -> SiteId {
        let row = SiteRow {
            file: self.symbols.intern(site.file),
            line: site.line,
            method: self.symbols.intern(site.method),
            class: self.symbols.intern(site.class),
            position: self.position_row(site.position),
            facts: site.facts,
            inlined_into: site.inlined_into,
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
            _ if text.is_empty() => Site::default(),
            _ => Site { position: CodePosition::Text(text), ..Site::default() },
        };
        self.intern(&site)
    }
}
