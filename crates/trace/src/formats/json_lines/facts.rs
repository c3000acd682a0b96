//! The fields for facts: sites, and facts of variables, labels and blocks.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{Fields, Line, needed, value};
use crate::event::{BlockKind, CallOutcome, Op, ValueKind};
use crate::ids::{LabelId, LockId, ObjectId, SiteId};
use crate::tables::{
    AddressRange, CodePosition, LabelFacts, MemoryOrder, Site, SiteFacts, SiteTable, Tables,
    VarFacts, VarRole,
};

/// A place in the code.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a text or an object with file, line, method, class, loc, descriptor, module, \
                 offset, library, size, order, inlined_into"
)]
pub(super) enum SiteParts<'a> {
    Text(Cow<'a, str>),
    Parts(PlaceParts<'a>),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlaceParts<'a> {
    file: Cow<'a, str>,
    line: u32,
    method: Cow<'a, str>,
    class: Cow<'a, str>,
    loc: Option<Cow<'a, str>>,
    descriptor: Option<Cow<'a, str>>,
    module: Option<Cow<'a, str>>,
    offset: Option<u64>,
    library: bool,
    size: u8,
    order: Cow<'a, str>,
    inlined_into: Option<u32>,
}

impl SiteParts<'_> {
    pub(super) fn intern(&self, tables: &mut Tables) -> SiteId {
        match self {
            Self::Text(text) => tables.sites.intern_loc(text),
            Self::Parts(parts) => {
                // Only an earlier site can be referred to.
                let known = |site: &SiteId| site.index() < tables.sites.len();
                let inlined_into = parts.inlined_into.map(SiteId).filter(known);
                let site = parts.site(inlined_into);
                tables.sites.intern(&site)
            }
        }
    }
}

impl PlaceParts<'_> {
    fn site(&self, inlined_into: Option<SiteId>) -> Site<'_> {
        let position = match (&self.descriptor, &self.module, &self.loc) {
            (Some(descriptor), ..) => {
                let offset = self.offset.and_then(|offset| u32::try_from(offset).ok());
                CodePosition::Bytecode { descriptor, offset }
            }
            (None, Some(module), _) => {
                CodePosition::Module { module, offset: self.offset.unwrap_or(0) }
            }
            (None, None, Some(text)) => CodePosition::Text(text),
            (None, None, None) => CodePosition::Unknown,
        };
        let order = MemoryOrder::from_name(&self.order).unwrap_or_default();
        let facts = SiteFacts { is_library: self.library, access_size: self.size, order };
        let (file, method, class) = (&self.file, &self.method, &self.class);
        Site { file, line: self.line, method, class, position, facts, inlined_into }
    }
}

/// A site as text if that is complete, else as an object.
pub(super) fn place(site: &Site<'_>) -> Json {
    let text = site.to_string();
    let mut read_back = SiteTable::default();
    let id = read_back.intern_loc(&text);
    if read_back.get(id) == Some(*site) {
        return Json::from(text);
    }
    let mut parts = Map::new();
    let mut add = |name: &str, part: Json| drop(parts.insert(name.to_owned(), part));
    for (name, part) in [("file", site.file), ("method", site.method), ("class", site.class)] {
        if !part.is_empty() {
            add(name, part.into());
        }
    }
    match site.position {
        CodePosition::Unknown => {}
        CodePosition::Text(text) => add("loc", text.into()),
        CodePosition::Bytecode { descriptor, offset } => {
            add("descriptor", descriptor.into());
            if let Some(offset) = offset {
                add("offset", offset.into());
            }
        }
        CodePosition::Module { module, offset } => {
            add("module", module.into());
            add("offset", offset.into());
        }
    }
    if site.line != 0 {
        add("line", site.line.into());
    }
    if site.facts.is_library {
        add("library", true.into());
    }
    if site.facts.access_size != 0 {
        add("size", site.facts.access_size.into());
    }
    if site.facts.order != MemoryOrder::Unknown {
        add("order", site.facts.order.name().into());
    }
    if let Some(outer) = site.inlined_into {
        add("inlined_into", outer.0.into());
    }
    Json::Object(parts)
}

/// The facts in the definition of a label.
pub(super) struct LabelParts<'a> {
    class: Cow<'a, str>,
    method: Cow<'a, str>,
    is_library: bool,
    is_entry: bool,
}

impl<'a> LabelParts<'a> {
    pub(super) fn take(fields: &mut Fields<'a>) -> Option<Self> {
        let (class, method) = (fields.class.take(), fields.method.take());
        let (library, entry) = (fields.library.take(), fields.entry.take());
        let any = class.is_some() || method.is_some() || library.is_some() || entry.is_some();
        any.then(|| Self {
            class: class.unwrap_or_default(),
            method: method.unwrap_or_default(),
            is_library: library.unwrap_or(false),
            is_entry: entry.unwrap_or(false),
        })
    }

    pub(super) fn intern(&self, tables: &mut Tables) -> LabelFacts {
        let Self { is_library, is_entry, .. } = *self;
        let class = tables.sites.intern_symbol(&self.class);
        let method = tables.sites.intern_symbol(&self.method);
        LabelFacts { class, method, is_library, is_entry }
    }
}

/// Adds the facts of a label to its definition.
pub(super) fn put_label(line: &mut Map<String, Json>, facts: LabelFacts, tables: &Tables) {
    let texts = [("class", facts.class), ("method", facts.method)];
    for (name, symbol) in texts {
        line.insert(name.to_owned(), tables.sites.symbol(symbol).into());
    }
    for (name, is_so) in [("library", facts.is_library), ("entry", facts.is_entry)] {
        if is_so {
            line.insert(name.to_owned(), true.into());
        }
    }
}

/// Adds the facts of a variable, all but its member, to its definition.
pub(super) fn put_variable(line: &mut Map<String, Json>, facts: VarFacts, range: AddressRange) {
    let mut add = |name: &str, part: Json| drop(line.insert(name.to_owned(), part));
    add("kind", value::kind_name(facts.values).into());
    if let Some(initial) = facts.initial() {
        add("initial", value::write(initial, facts.values));
    }
    if facts.role != VarRole::Unknown {
        add("role", facts.role.name().into());
    }
    if facts.owner != ObjectId::NONE {
        add("owner", owner_text(facts.owner).into());
    }
    if range.size > 0 {
        add("address", range.address.into());
        add("size", range.size.into());
    }
}

/// What is known of a variable by its name.
pub(super) fn of(var: &str, tables: &mut Tables) -> VarFacts {
    tables.vars.find(var).map_or_else(VarFacts::default, |var| tables.var_facts(var))
}

/// `#3` for an object, `class#3` for a class.
fn owner_text(owner: ObjectId) -> String {
    if owner.is_class() {
        format!("class#{}", owner.class_number())
    } else {
        format!("#{}", owner.0)
    }
}

fn owner_of(text: &str) -> Option<ObjectId> {
    match text.split_once('#')? {
        ("", number) => Some(ObjectId(number.parse().ok()?)),
        ("class", number) => Some(ObjectId::class(number.parse().ok()?)),
        _ => None,
    }
}

impl<'a> Fields<'a> {
    /// The facts in the definition of a variable; missing ones stay unchanged.
    pub(super) fn variable(
        &mut self,
        name: Cow<'a, str>,
        tables: &mut Tables,
    ) -> Result<Line<'a>, String> {
        let mut facts = of(&name, tables);
        if let Some(kind) = self.kind.take() {
            facts.values =
                value::kind_from_name(&kind).ok_or_else(|| format!("unknown kind {kind:?}"))?;
        }
        if let Some(initial) = self.initial.take() {
            facts = facts.with_initial(Some(value::read(&initial, facts.values)?));
        }
        if let Some(role) = self.role.take() {
            facts.role =
                VarRole::from_name(&role).ok_or_else(|| format!("unknown role {role:?}"))?;
        }
        if let Some(owner) = self.owner.take() {
            facts.owner = owner_of(&owner).ok_or_else(|| format!("no owner {owner:?}"))?;
        }
        let range = match (self.address.take(), self.size.take()) {
            (None, None) => None,
            (address, size) => Some(AddressRange {
                address: needed(address, "address")?,
                size: needed(size, "size")?,
            }),
        };
        Ok(Line::Var { name, facts, member: self.member.take(), range })
    }

    pub(super) fn begin(&mut self) -> Result<Op, String> {
        let kind = match self.kind.take() {
            Some(kind) => BlockKind::from_name(&kind)
                .ok_or_else(|| format!("unknown kind of block {kind:?}"))?,
            None => BlockKind::Unknown,
        };
        Ok(Op::Begin { kind, label: LabelId::NONE, lock: LockId::NONE })
    }

    pub(super) fn outcome(&mut self) -> Result<CallOutcome, String> {
        match self.outcome.take().as_deref() {
            None | Some("returned") => Ok(CallOutcome::Returned),
            Some("threw") => Ok(CallOutcome::Threw),
            Some(other) => Err(format!("unknown outcome {other:?}")),
        }
    }

    pub(super) fn allocation(&mut self) -> Result<Op, String> {
        let object = ObjectId(needed(self.object.take(), "object")?);
        let value =
            self.value.take().map(|value| value::read(&value, ValueKind::Int)).transpose()?;
        let (known, value) = (value.is_some(), value.unwrap_or_default());
        Ok(Op::Allocate { object, known, value })
    }
}
