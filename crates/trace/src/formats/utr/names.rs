//! The `NAME` section: what was added to the tables since the previous one.
//!
//! A payload is a sequence of records, each led by a tag. Ids are given by order of definition, so
//! a record is only names and facts. No id is used by an event before it is defined.

use super::Fault;
use super::bytes::{Cursor, put_varint};
use crate::event::{Value, ValueKind};
use crate::ids::{SymbolId, VarId};
use crate::tables::{NameTable, Site, Tables, VarFacts};

const THREAD: u8 = 0;
const VAR: u8 = 1;
const LOCK: u8 = 2;
const LABEL: u8 = 3;
const SYMBOL: u8 = 4;
const SITE: u8 = 5;
const VAR_FACTS: u8 = 6;

/// A payload is handed out when it is larger than this, so that sections stay small.
const ENOUGH: usize = 1 << 18;

/// How much of the tables has been written.
#[derive(Debug, Default)]
pub(super) struct NamesWriter {
    threads: usize,
    vars: usize,
    locks: usize,
    labels: usize,
    symbols: usize,
    sites: usize,
    /// Position in the tables' log of facts.
    facts: usize,
}

impl NamesWriter {
    /// Hands payloads with all news to `write`.
    pub fn news<E>(
        &mut self,
        tables: &Tables,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut out = Vec::new();
        put_names(&mut out, THREAD, &tables.threads, &mut self.threads, &mut write)?;
        put_names(&mut out, VAR, &tables.vars, &mut self.vars, &mut write)?;
        put_names(&mut out, LOCK, &tables.locks, &mut self.locks, &mut write)?;
        put_names(&mut out, LABEL, &tables.labels, &mut self.labels, &mut write)?;
        put_names(&mut out, SYMBOL, tables.sites.symbols(), &mut self.symbols, &mut write)?;
        for row in &tables.sites.rows()[self.sites..] {
            out.push(SITE);
            for number in [row.file.0, row.line, row.method.0, row.class.0, row.loc.0] {
                put_varint(&mut out, u64::from(number));
            }
            flush(&mut out, ENOUGH, &mut write)?;
        }
        self.sites = tables.sites.len();
        self.put_facts(&mut out, tables, &mut write)?;
        flush(&mut out, 0, &mut write)
    }

    fn put_facts<E>(
        &mut self,
        out: &mut Vec<u8>,
        tables: &Tables,
        write: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let news = tables.fact_log(self.facts);
        for &var in news {
            let facts = tables.var_facts(var);
            out.push(VAR_FACTS);
            put_varint(out, u64::from(var.0));
            out.push(facts.kind as u8);
            out.push(u8::from(facts.initial.is_some()));
            out.extend(facts.initial.unwrap_or_default().0.to_le_bytes());
            flush(out, ENOUGH, write)?;
        }
        self.facts += news.len();
        Ok(())
    }

    /// Lets go of what has been written of variables.
    pub fn forget_written(&self, tables: &mut Tables) {
        tables.forget_variables(self.vars, self.facts);
    }
}

fn put_names<Id, E>(
    out: &mut Vec<u8>,
    tag: u8,
    table: &NameTable<Id>,
    written: &mut usize,
    write: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E>
where
    Id: From<u32> + Into<u32> + Copy,
{
    for index in *written..table.len() {
        let name = table.get((index as u32).into()).unwrap_or_default();
        out.push(tag);
        put_varint(out, name.len() as u64);
        out.extend_from_slice(name.as_bytes());
        flush(out, ENOUGH, write)?;
    }
    *written = table.len();
    Ok(())
}

fn flush<E>(
    out: &mut Vec<u8>,
    above: usize,
    write: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if out.len() > above {
        write(out)?;
        out.clear();
    }
    Ok(())
}

/// Adds the definitions of a payload to `tables`. `symbols` are the site texts read so far: the
/// site table orders its own symbols as it meets them.
pub(super) fn read_names(
    payload: &[u8],
    tables: &mut Tables,
    symbols: &mut NameTable<SymbolId>,
) -> Result<(), Fault> {
    let mut cursor = Cursor::new(payload, 0);
    while !cursor.is_at_end() {
        match cursor.byte()? {
            THREAD => drop(tables.threads.push(cursor.text()?)),
            VAR => drop(tables.vars.push(cursor.text()?)),
            LOCK => drop(tables.locks.push(cursor.text()?)),
            LABEL => drop(tables.labels.push(cursor.text()?)),
            SYMBOL => drop(symbols.push(cursor.text()?)),
            SITE => read_site(&mut cursor, tables, symbols)?,
            VAR_FACTS => read_facts(&mut cursor, tables)?,
            tag => return Err(Fault::new(format!("a definition of unknown kind {tag}"))),
        }
    }
    Ok(())
}

fn read_site(
    cursor: &mut Cursor<'_>,
    tables: &mut Tables,
    symbols: &NameTable<SymbolId>,
) -> Result<(), Fault> {
    let file = cursor.varint32()?;
    let line = cursor.varint32()?;
    let [method, class, loc] = [cursor.varint32()?, cursor.varint32()?, cursor.varint32()?];
    let text = |symbol: u32| {
        let text = symbols.get(SymbolId(symbol));
        text.ok_or_else(|| Fault::new(format!("a site uses symbol {symbol}, which is not defined")))
    };
    let (file, method) = (text(file)?, text(method)?);
    let site = Site { file, line, method, class: text(class)?, loc: text(loc)? };
    let before = tables.sites.len();
    if tables.sites.intern(&site).index() != before {
        return Err(Fault::new("a site is defined twice"));
    }
    Ok(())
}

fn read_facts(cursor: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    let var = VarId(cursor.varint32()?);
    if var.index() >= tables.vars.len() {
        return Err(Fault::new(format!("facts of variable {}, which is not defined", var.0)));
    }
    let kind = match cursor.byte()? {
        0 => ValueKind::Int,
        1 => ValueKind::Bool,
        2 => ValueKind::Char,
        3 => ValueKind::Float,
        4 => ValueKind::Double,
        5 => ValueKind::Ref,
        kind => return Err(Fault::new(format!("a value of unknown kind {kind}"))),
    };
    let has_initial = cursor.byte()? == 1;
    let value = Value(cursor.u64()?);
    tables.set_var_facts(var, VarFacts { kind, initial: has_initial.then_some(value) });
    Ok(())
}
