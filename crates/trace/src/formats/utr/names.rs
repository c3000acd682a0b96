//! The `NAME` section: what was added to the tables since the previous one.
//!
//! A payload is a sequence of records, each led by a tag. Ids are given by order of definition, so
//! a record is only names and facts. No id is used by an event before it is defined.

use super::Fault;
use super::block::optional;
use super::bytes::{Cursor, put_varint};
use crate::event::{Value, ValueKind};
use crate::ids::{LabelId, MemberId, ObjectId, SiteId, SymbolId, VarId};
use crate::tables::{
    AddressRange, CodePosition, LabelFacts, MemoryOrder, NameTable, PositionRow, Site, SiteFacts,
    SiteRow, Tables, VarFacts, VarRole,
};

const THREAD: u8 = 0;
const VAR: u8 = 1;
const LOCK: u8 = 2;
const LABEL: u8 = 3;
const SYMBOL: u8 = 4;
const SITE: u8 = 5;
const VAR_FACTS: u8 = 6;
const LABEL_FACTS: u8 = 7;
const MEMBER: u8 = 8;
const VAR_RANGE: u8 = 9;

/// Bits of the flags of a site and of a label.
const LIBRARY: u8 = 1;
const ENTRY: u8 = 2;

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
    members: usize,
    label_facts: usize,
    ranges: usize,
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
        put_names(&mut out, MEMBER, &tables.members, &mut self.members, &mut write)?;
        for row in &tables.sites.rows()[self.sites..] {
            put_site(&mut out, row);
            flush(&mut out, ENOUGH, &mut write)?;
        }
        self.sites = tables.sites.len();
        self.put_facts(&mut out, tables, &mut write)?;
        self.put_label_facts(&mut out, tables);
        self.put_ranges(&mut out, tables, &mut write)?;
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
            out.extend([facts.values as u8, facts.role as u8]);
            put_varint(out, optional(facts.owner.0));
            put_varint(out, optional(facts.member.0));
            out.push(u8::from(facts.initial().is_some()));
            out.extend(facts.initial().unwrap_or_default().0.to_le_bytes());
            flush(out, ENOUGH, write)?;
        }
        self.facts += news.len();
        Ok(())
    }

    fn put_label_facts(&mut self, out: &mut Vec<u8>, tables: &Tables) {
        let news = tables.label_log(self.label_facts);
        for &label in news {
            let facts = tables.label_facts(label);
            out.push(LABEL_FACTS);
            for number in [label.0, facts.class.0, facts.method.0] {
                put_varint(out, u64::from(number));
            }
            let library = if facts.is_library { LIBRARY } else { 0 };
            out.push(library | if facts.is_entry { ENTRY } else { 0 });
        }
        self.label_facts += news.len();
    }

    fn put_ranges<E>(
        &mut self,
        out: &mut Vec<u8>,
        tables: &Tables,
        write: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let all = tables.all_var_ranges();
        for (var, range) in all.iter().enumerate().skip(self.ranges) {
            if range.size > 0 {
                out.push(VAR_RANGE);
                for number in [var as u64, range.address, u64::from(range.size)] {
                    put_varint(out, number);
                }
                flush(out, ENOUGH, write)?;
            }
        }
        self.ranges = all.len();
        Ok(())
    }

    /// Lets go of what has been written of variables.
    pub fn forget_written(&self, tables: &mut Tables) {
        tables.forget_variables(self.vars, self.facts);
    }
}

fn put_site(out: &mut Vec<u8>, row: &SiteRow) {
    out.push(SITE);
    for number in [row.file.0, row.line, row.method.0, row.class.0] {
        put_varint(out, u64::from(number));
    }
    let (tag, numbers) = match row.position {
        PositionRow::Unknown => (0, vec![]),
        PositionRow::Text(text) => (1, vec![text.0.into()]),
        PositionRow::Bytecode { descriptor, offset } => {
            (2, vec![descriptor.0.into(), offset.map_or(0, |offset| u64::from(offset) + 1)])
        }
        PositionRow::Module { module, offset } => (3, vec![module.0.into(), offset]),
    };
    out.push(tag);
    for number in numbers {
        put_varint(out, number);
    }
    let SiteFacts { is_library, access_size, order } = row.facts;
    out.extend([if is_library { LIBRARY } else { 0 }, access_size, order as u8]);
    put_varint(out, row.inlined_into.map_or(0, |site| u64::from(site.0) + 1));
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
            LABEL_FACTS => read_label_facts(&mut cursor, tables, symbols)?,
            MEMBER => drop(tables.members.push(cursor.text()?)),
            VAR_RANGE => read_range(&mut cursor, tables)?,
            tag => return Err(Fault::new(format!("a definition of unknown kind {tag}"))),
        }
    }
    Ok(())
}

fn text_of(symbols: &NameTable<SymbolId>, symbol: u32) -> Result<&str, Fault> {
    symbols
        .get(SymbolId(symbol))
        .ok_or_else(|| Fault::new(format!("it uses symbol {symbol}, which is not defined")))
}

fn read_site(
    cursor: &mut Cursor<'_>,
    tables: &mut Tables,
    symbols: &NameTable<SymbolId>,
) -> Result<(), Fault> {
    let file = text_of(symbols, cursor.varint32()?)?;
    let line = cursor.varint32()?;
    let method = text_of(symbols, cursor.varint32()?)?;
    let class = text_of(symbols, cursor.varint32()?)?;
    let position = read_position(cursor, symbols)?;
    let facts = read_site_facts(cursor)?;
    let before = tables.sites.len();
    let inlined_into = match cursor.varint()? {
        0 => None,
        number if number <= before as u64 => Some(SiteId(number as u32 - 1)),
        _ => return Err(Fault::new("a site is inlined into one that is not defined")),
    };
    let site = Site { file, line, method, class, position, facts, inlined_into };
    if tables.sites.intern(&site).index() != before {
        return Err(Fault::new("a site is defined twice"));
    }
    Ok(())
}

fn read_position<'s>(
    cursor: &mut Cursor<'_>,
    symbols: &'s NameTable<SymbolId>,
) -> Result<CodePosition<'s>, Fault> {
    Ok(match cursor.byte()? {
        0 => CodePosition::Unknown,
        1 => CodePosition::Text(text_of(symbols, cursor.varint32()?)?),
        2 => {
            let descriptor = text_of(symbols, cursor.varint32()?)?;
            let offset = match cursor.varint()? {
                0 => None,
                number => Some(
                    u32::try_from(number - 1)
                        .map_err(|_| Fault::new(format!("a bytecode offset of {}", number - 1)))?,
                ),
            };
            CodePosition::Bytecode { descriptor, offset }
        }
        3 => {
            let module = text_of(symbols, cursor.varint32()?)?;
            CodePosition::Module { module, offset: cursor.varint()? }
        }
        tag => return Err(Fault::new(format!("a code position of unknown kind {tag}"))),
    })
}

fn read_site_facts(cursor: &mut Cursor<'_>) -> Result<SiteFacts, Fault> {
    let [flags, access_size, order] = [cursor.byte()?, cursor.byte()?, cursor.byte()?];
    if flags & !LIBRARY != 0 {
        return Err(Fault::new(format!("a site with unknown flags {flags}")));
    }
    let order = MemoryOrder::ALL.get(usize::from(order)).copied();
    let order = order.ok_or_else(|| Fault::new("a memory order that is not known"))?;
    Ok(SiteFacts { is_library: flags & LIBRARY != 0, access_size, order })
}

fn read_optional(cursor: &mut Cursor<'_>) -> Result<u32, Fault> {
    let number = cursor.varint()?;
    if number > u64::from(u32::MAX) {
        return Err(Fault::new(format!("the number {number} of an object or a member")));
    }
    Ok((number as u32).wrapping_sub(1))
}

fn read_var(cursor: &mut Cursor<'_>, tables: &Tables) -> Result<VarId, Fault> {
    let var = VarId(cursor.varint32()?);
    if var.index() >= tables.vars.len() {
        return Err(Fault::new(format!("facts of variable {}, which is not defined", var.0)));
    }
    Ok(var)
}

fn read_facts(cursor: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    let var = read_var(cursor, tables)?;
    let values = match cursor.byte()? {
        0 => ValueKind::Int,
        1 => ValueKind::Bool,
        2 => ValueKind::Char,
        3 => ValueKind::Float,
        4 => ValueKind::Double,
        5 => ValueKind::Ref,
        kind => return Err(Fault::new(format!("a value of unknown kind {kind}"))),
    };
    let role = cursor.byte()?;
    let role = VarRole::ALL.get(usize::from(role)).copied();
    let role = role.ok_or_else(|| Fault::new("a variable of an unknown role"))?;
    let owner = ObjectId(read_optional(cursor)?);
    let member = MemberId(read_optional(cursor)?);
    if member != MemberId::NONE && member.index() >= tables.members.len() {
        return Err(Fault::new(format!("a variable uses member {}, not defined", member.0)));
    }
    let has_initial = cursor.byte()? == 1;
    let value = Value(cursor.u64()?);
    let facts = VarFacts::new(values, has_initial.then_some(value));
    tables.set_var_facts(var, facts.with_place(role, owner, member));
    Ok(())
}

fn read_label_facts(
    cursor: &mut Cursor<'_>,
    tables: &mut Tables,
    symbols: &NameTable<SymbolId>,
) -> Result<(), Fault> {
    let label = LabelId(cursor.varint32()?);
    if label.index() >= tables.labels.len() {
        return Err(Fault::new(format!("facts of label {}, which is not defined", label.0)));
    }
    let class = tables.sites.intern_symbol(text_of(symbols, cursor.varint32()?)?);
    let method = tables.sites.intern_symbol(text_of(symbols, cursor.varint32()?)?);
    let flags = cursor.byte()?;
    if flags & !(LIBRARY | ENTRY) != 0 {
        return Err(Fault::new(format!("a label with unknown flags {flags}")));
    }
    let (is_library, is_entry) = (flags & LIBRARY != 0, flags & ENTRY != 0);
    tables.set_label_facts(label, LabelFacts { class, method, is_library, is_entry });
    Ok(())
}

fn read_range(cursor: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    let var = read_var(cursor, tables)?;
    let (address, size) = (cursor.varint()?, cursor.varint32()?);
    tables.set_var_range(var, AddressRange { address, size });
    Ok(())
}
