//! Global variables and their types, from the debug information.

use gimli::{AttributeValue, Dwarf, EvaluationResult, Unit, UnitOffset};
use untorn_trace::ValueKind;

use super::{Bytes, Named, Values};

/// A global variable.
#[derive(Debug)]
struct Global {
    from: u64,
    to: u64,
    name: String,
    /// Its unit, and its type there.
    unit: usize,
    of: Option<UnitOffset>,
}

#[derive(Default)]
pub(super) struct Globals {
    units: Vec<Unit<Bytes>>,
    dwarf: Option<Dwarf<Bytes>>,
    /// By address.
    all: Vec<Global>,
}

type Entry = gimli::DebuggingInformationEntry<Bytes>;

/// Types that refer to each other in a circle are no types.
const DEEPEST: u32 = 24;

/// What was found so far on the way down into a type.
struct Way {
    name: String,
    member: String,
    is_element: bool,
}

impl Globals {
    pub(super) fn read(dwarf: Dwarf<Bytes>) -> Self {
        let mut globals = Self::default();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            let number = globals.units.len();
            globals.units.push(unit);
            // What cannot be read has no names.
            let _ = globals.add_variables(&dwarf, number);
        }
        globals.all.sort_by_key(|global| (global.from, global.to));
        globals.dwarf = Some(dwarf);
        globals
    }

    fn add_variables(&mut self, dwarf: &Dwarf<Bytes>, number: usize) -> gimli::Result<()> {
        let Self { units, all, .. } = self;
        let unit = &units[number];
        let mut entries = unit.entries();
        // Namespaces around the current entry, with their depth.
        let mut spaces: Vec<(isize, String)> = Vec::new();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            spaces.retain(|space| space.0 < depth);
            if matches!(
                entry.tag(),
                gimli::DW_TAG_namespace | gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type
            ) && let Some(name) = name_of(dwarf, unit, entry)
            {
                spaces.push((depth, name));
            }
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let Some(from) = static_address(unit, entry) else { continue };
            let declared = declaration(unit, entry);
            let declared = declared.as_ref().unwrap_or(entry);
            let Some(name) = name_of(dwarf, unit, entry).or_else(|| name_of(dwarf, unit, declared))
            else {
                continue;
            };
            let of = type_of(entry).or_else(|| type_of(declared));
            let size = of.and_then(|of| size_of_type(unit, of, 0)).unwrap_or(1);
            let around = spaces.iter().map(|space| space.1.as_str()).chain([name.as_str()]);
            let name = around.collect::<Vec<_>>().join("::");
            all.push(Global { from, to: from + size, name, unit: number, of });
        }
        Ok(())
    }

    /// The largest part of a variable that begins at an address; else the variable that it is in.
    pub(super) fn object(&self, at: u64) -> Option<String> {
        let behind = self.all.partition_point(|global| global.from <= at);
        let global = self.all[..behind].iter().rev().take(4).find(|global| at < global.to)?;
        let (unit, dwarf) = (&self.units[global.unit], self.dwarf.as_ref()?);
        let (mut name, mut rest, mut of) = (global.name.clone(), at - global.from, global.of);
        for _ in 0..DEEPEST {
            let Some(entry) = of.and_then(|of| unit.entry(of).ok()).filter(|_| rest > 0) else {
                return Some(name);
            };
            of = match entry.tag() {
                gimli::DW_TAG_array_type => {
                    let element = type_of(&entry)?;
                    let length = size_of_type(unit, element, 0).filter(|&length| length > 0)?;
                    name.push_str(&format!("[{}]", rest / length));
                    rest %= length;
                    Some(element)
                }
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                    let Some((from, member, inner)) = member_at(dwarf, unit, of?, rest) else {
                        return Some(name);
                    };
                    if let Some(member) = member {
                        name.push_str(&format!(".{member}"));
                    }
                    rest -= from;
                    Some(inner)
                }
                gimli::DW_TAG_union_type => return Some(name),
                _ => type_of(&entry),
            };
        }
        Some(name)
    }

    /// The variable, or its part, at these bytes.
    pub(super) fn find(&self, at: u64) -> Option<Named> {
        let behind = self.all.partition_point(|global| global.from <= at);
        let global = self.all[..behind].iter().rev().take(4).find(|global| at < global.to)?;
        let mut way =
            Way { name: global.name.clone(), member: global.name.clone(), is_element: false };
        let unit = &self.units[global.unit];
        let dwarf = self.dwarf.as_ref()?;
        let leaf = global.of.and_then(|of| descend(dwarf, unit, of, at - global.from, &mut way, 0));
        let (offset, length, values) = leaf.unwrap_or((at - global.from, 0, Values::default()));
        Some(Named {
            name: way.name,
            member: way.member,
            address: (global.from + offset) as usize,
            size: length,
            is_element: way.is_element,
            values,
        })
    }
}

/// The innermost part of a type at an offset: where it begins, how long it is, and what its values are. `None` if there
/// is none, as in a union.
fn descend(
    dwarf: &Dwarf<Bytes>,
    unit: &Unit<Bytes>,
    of: UnitOffset,
    at: u64,
    way: &mut Way,
    depth: u32,
) -> Option<(u64, usize, Values)> {
    if depth > DEEPEST {
        return None;
    }
    let entry = unit.entry(of).ok()?;
    let leaf = |values| Some((0, size_of_entry(&entry)?.try_into().ok()?, values));
    match entry.tag() {
        gimli::DW_TAG_base_type => leaf(values_of(&entry)),
        gimli::DW_TAG_enumeration_type => leaf(Values::default()),
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
            Some((0, 8, Values { kind: ValueKind::Ref, signed: false }))
        }
        gimli::DW_TAG_array_type => {
            let element = type_of(&entry)?;
            let length = size_of_type(unit, element, 0).filter(|&length| length > 0)?;
            let index = at / length;
            way.name.push_str(&format!("[{index}]"));
            way.member.push_str("[]");
            way.is_element = true;
            let inner = descend(dwarf, unit, element, at % length, way, depth + 1)?;
            Some((index * length + inner.0, inner.1, inner.2))
        }
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
            let (from, name, inner) = member_at(dwarf, unit, of, at)?;
            if let Some(name) = name {
                way.name.push_str(&format!(".{name}"));
                way.member.push_str(&format!(".{name}"));
                way.is_element = false;
            }
            let inner = descend(dwarf, unit, inner, at - from, way, depth + 1)?;
            Some((from + inner.0, inner.1, inner.2))
        }
        // What lies in a union depends on who looks at it.
        gimli::DW_TAG_union_type => None,
        // A name for another type, or a qualifier.
        _ => descend(dwarf, unit, type_of(&entry)?, at, way, depth + 1),
    }
}

/// The member of a structure at an offset: where it begins, its name, its type. Base classes have no name.
fn member_at(
    dwarf: &Dwarf<Bytes>,
    unit: &Unit<Bytes>,
    of: UnitOffset,
    at: u64,
) -> Option<(u64, Option<String>, UnitOffset)> {
    let mut tree = unit.entries_tree(Some(of)).ok()?;
    let mut children = tree.root().ok()?.children();
    let mut found = None;
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
            continue;
        }
        let Some(from) = entry.attr_value(gimli::DW_AT_data_member_location).and_then(number)
        else {
            continue;
        };
        let Some(inner) = type_of(entry) else { continue };
        let size = size_of_type(unit, inner, 0).unwrap_or(0);
        if (from..from + size).contains(&at) {
            found = Some((from, name_of(dwarf, unit, entry), inner));
        }
    }
    found
}

fn number(value: AttributeValue<Bytes>) -> Option<u64> {
    value.udata_value()
}

fn type_of(entry: &Entry) -> Option<UnitOffset> {
    reference(entry.attr_value(gimli::DW_AT_type)?)
}

fn reference(value: AttributeValue<Bytes>) -> Option<UnitOffset> {
    match value {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

/// What a definition outside of its class refers to.
fn declaration(unit: &Unit<Bytes>, entry: &Entry) -> Option<Entry> {
    let of = entry
        .attr_value(gimli::DW_AT_specification)
        .or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin))
        .and_then(reference)?;
    unit.entry(of).ok()
}

fn name_of(dwarf: &Dwarf<Bytes>, unit: &Unit<Bytes>, entry: &Entry) -> Option<String> {
    let name = dwarf.attr_string(unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
    Some(name.to_string_lossy().into_owned())
}

fn size_of_entry(entry: &Entry) -> Option<u64> {
    entry.attr_value(gimli::DW_AT_byte_size).and_then(number)
}

fn size_of_type(unit: &Unit<Bytes>, of: UnitOffset, depth: u32) -> Option<u64> {
    if depth > DEEPEST {
        return None;
    }
    let entry = unit.entry(of).ok()?;
    if let Some(size) = size_of_entry(&entry) {
        return Some(size);
    }
    match entry.tag() {
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => Some(8),
        gimli::DW_TAG_array_type => {
            let element = size_of_type(unit, type_of(&entry)?, depth + 1)?;
            let mut tree = unit.entries_tree(Some(of)).ok()?;
            let mut children = tree.root().ok()?.children();
            let mut count = 1_u64;
            while let Ok(Some(child)) = children.next() {
                let entry = child.entry();
                if entry.tag() == gimli::DW_TAG_subrange_type {
                    let upper = entry.attr_value(gimli::DW_AT_upper_bound).and_then(number);
                    let own = entry.attr_value(gimli::DW_AT_count).and_then(number);
                    let length = own.or_else(|| upper.map(|last| last.wrapping_add(1)))?;
                    count = count.checked_mul(length)?;
                }
            }
            element.checked_mul(count)
        }
        _ => size_of_type(unit, type_of(&entry)?, depth + 1),
    }
}

fn values_of(entry: &Entry) -> Values {
    let size = size_of_entry(entry).unwrap_or(0);
    let Some(AttributeValue::Encoding(encoding)) = entry.attr_value(gimli::DW_AT_encoding) else {
        return Values::default();
    };
    let kind = match (encoding, size) {
        (gimli::DW_ATE_float, 4) => ValueKind::Float,
        (gimli::DW_ATE_float, 8) => ValueKind::Double,
        (gimli::DW_ATE_boolean, _) => ValueKind::Bool,
        _ => ValueKind::Int,
    };
    let signed = matches!(encoding, gimli::DW_ATE_signed | gimli::DW_ATE_signed_char);
    Values { kind, signed }
}

/// Where a variable lies, if it always lies there.
fn static_address(unit: &Unit<Bytes>, entry: &Entry) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
        return None;
    };
    let mut evaluation = expression.evaluation(unit.encoding());
    let mut state = evaluation.evaluate().ok()?;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            // The executable may lie anywhere; addresses are those of the file.
            EvaluationResult::RequiresRelocatedAddress(address) => {
                evaluation.resume_with_relocated_address(address).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.result().first()?.location {
        gimli::Location::Address { address } => Some(address),
        _ => None,
    }
}
