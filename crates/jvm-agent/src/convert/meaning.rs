//! What a place in the code means: found out once, when it first tells something.

use std::sync::{Arc, PoisonError};

use untorn_trace::event::{Access, ValueKind};
use untorn_trace::ids::SiteId;
use untorn_trace::tables::Site;

use super::Converter;
use crate::instrument::value_kind;
use crate::sites::{CodeSite, FieldName, MethodInfo, Reached, SiteInfo, SiteKind};

/// What a place in the code means for the trace; found out when it first tells something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    pub(super) op: RecordKind,
    pub(super) site: SiteId,
    /// Of accesses: how values are shown and what kind of access it is.
    pub(super) kind: ValueKind,
    pub(super) access: Access,
    /// Of fields: the number of the field. Of everything named: the label.
    pub(super) number: u32,
    /// Whether every write of the variable is seen, so that it starts as zero.
    pub(super) recorded: bool,
    /// Of reads and writes of arrays: the field or variable that holds an array gives it a name.
    pub(super) holds_array: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordKind {
    /// Not yet known.
    Unknown,
    /// Not worth an event: a final field.
    Nothing,
    Field {
        write: bool,
    },
    Element {
        write: bool,
    },
    /// The record says which field.
    NamedField {
        write: bool,
    },
    LeftOut,
    Lock {
        block: bool,
    },
    Unlock {
        block: bool,
    },
    Await,
    Awaited,
    Enter {
        block: bool,
    },
    Exit {
        block: bool,
    },
    Call,
    Return,
    TrackedCall,
    TrackedArgument,
    TrackedReturn {
        known: bool,
    },
    Begin,
    End,
    BeginInitialiser,
    EndInitialiser,
}

pub(super) const UNKNOWN: Meaning = Meaning {
    op: RecordKind::Unknown,
    site: SiteId::NONE,
    kind: ValueKind::Int,
    access: Access::Plain,
    number: 0,
    recorded: false,
    holds_array: false,
};

impl Converter {
    pub(super) fn site_of(&mut self, code: CodeSite) -> SiteId {
        let rewriter = Arc::clone(&self.rewriter);
        let sites = rewriter.sites.read().unwrap_or_else(PoisonError::into_inner);
        let Some(info) = sites.get(code) else { return SiteId::NONE };
        sites.method(info.method).map_or(SiteId::NONE, |method| self.intern_site(info, method))
    }

    fn intern_site(&mut self, info: &SiteInfo, method: &MethodInfo) -> SiteId {
        let mut loc = method.descriptor.clone();
        if info.what.is_plannable() {
            loc.push_str(&format!("@{}", info.pc));
        }
        self.tables.sites.intern(&Site {
            file: &method.file,
            line: info.line,
            method: &method.name,
            class: &method.class.replace('/', "."),
            loc: &loc,
        })
    }

    pub(super) fn find_meaning(&mut self, code: CodeSite) -> Meaning {
        let rewriter = Arc::clone(&self.rewriter);
        let sites = rewriter.sites.read().unwrap_or_else(PoisonError::into_inner);
        let nothing = Meaning { op: RecordKind::Nothing, ..UNKNOWN };
        let Some(info) = sites.get(code) else { return nothing };
        let Some(method) = sites.method(info.method) else { return nothing };
        let site = self.intern_site(info, method);
        let meaning = Meaning { site, ..UNKNOWN };
        let named = |this: &mut Self, op, name: String| Meaning {
            op,
            number: this.tables.labels.intern(&name).0,
            ..meaning
        };
        match &info.what {
            SiteKind::Field { write, field } | SiteKind::Global { write, field } => {
                let op = RecordKind::Field { write: *write };
                self.field_meaning(Meaning { op, ..meaning }, field)
            }
            SiteKind::Element { write, kind, element }
            | SiteKind::Copied { write, kind, element } => {
                let number = self.field_number("", element);
                let op = RecordKind::Element { write: *write };
                // Arrays of arrays: the element names the array that it holds.
                let holds_array = *kind == ValueKind::Ref;
                Meaning { op, kind: *kind, number, holds_array, ..meaning }
            }
            SiteKind::Reached { write, access, what } => {
                let place = Meaning { access: *access, ..meaning };
                self.reached_meaning(place, *write, what)
            }
            SiteKind::LeftOut => Meaning { op: RecordKind::LeftOut, ..meaning },
            SiteKind::Lock { block } => {
                let name = format!("{} (lock)", method.qualified_name());
                named(self, RecordKind::Lock { block: *block }, name)
            }
            SiteKind::Unlock { block } => {
                Meaning { op: RecordKind::Unlock { block: *block }, ..meaning }
            }
            SiteKind::Await => Meaning { op: RecordKind::Await, ..meaning },
            SiteKind::Awaited => Meaning { op: RecordKind::Awaited, ..meaning },
            SiteKind::Enter { block, own } => {
                let named =
                    named(self, RecordKind::Enter { block: *block }, block_name(info, method));
                Meaning { recorded: *own, holds_array: method.is_static, ..named }
            }
            SiteKind::Exit { block } => {
                named(self, RecordKind::Exit { block: *block }, block_name(info, method))
            }
            SiteKind::Call => named(self, RecordKind::Call, method.qualified_name()),
            SiteKind::Return => named(self, RecordKind::Return, method.qualified_name()),
            SiteKind::TrackedCall { api } => named(self, RecordKind::TrackedCall, api.clone()),
            SiteKind::TrackedArgument { api, number, kind } => {
                let name = format!("argument {number} of {api}");
                Meaning { kind: *kind, ..named(self, RecordKind::TrackedArgument, name) }
            }
            SiteKind::TrackedReturn { api, result } => {
                let told = RecordKind::TrackedReturn { known: result.is_some() };
                let kind = result.unwrap_or(ValueKind::Int);
                Meaning { kind, ..named(self, told, api.clone()) }
            }
            SiteKind::Begin => named(self, RecordKind::Begin, method.qualified_name()),
            SiteKind::End => named(self, RecordKind::End, method.qualified_name()),
            SiteKind::BeginInitialiser => {
                named(self, RecordKind::BeginInitialiser, method.qualified_name())
            }
            SiteKind::EndInitialiser => {
                named(self, RecordKind::EndInitialiser, method.qualified_name())
            }
            SiteKind::Wait | SiteKind::Notify | SiteKind::Nothing => nothing,
        }
    }

    /// Of a variable that the JDK reads or writes for its caller.
    fn reached_meaning(&mut self, place: Meaning, write: bool, what: &Reached) -> Meaning {
        match what {
            Reached::Field(field) => {
                let op = RecordKind::Field { write };
                let found = self.field_meaning(Meaning { op, ..place }, field);
                // Some of these variables are none of the class's fields, and none is written elsewhere only.
                Meaning { op, access: place.access, recorded: false, ..found }
            }
            Reached::NamedField => Meaning { op: RecordKind::NamedField { write }, ..place },
            Reached::Element { kind, element } => {
                let number = self.field_number("", element);
                let (op, holds_array) = (RecordKind::Element { write }, *kind == ValueKind::Ref);
                Meaning { op, kind: *kind, number, holds_array, ..place }
            }
        }
    }

    /// What is known of a field that is reached by its name.
    pub(super) fn named_field(&mut self, number: u32) -> Meaning {
        let index = number as usize;
        if index >= self.named_fields.len() {
            self.named_fields.resize(index + 1, UNKNOWN);
        }
        if self.named_fields[index].op == RecordKind::Unknown {
            let nothing = Meaning { op: RecordKind::Nothing, ..UNKNOWN };
            let found = self.rewriter.named_fields.get(number);
            self.named_fields[index] = found.map_or(nothing, |field| {
                self.field_meaning(
                    Meaning { op: RecordKind::Field { write: false }, ..UNKNOWN },
                    &field,
                )
            });
        }
        self.named_fields[index]
    }

    fn field_meaning(&mut self, meaning: Meaning, field: &FieldName) -> Meaning {
        let rewriter = Arc::clone(&self.rewriter);
        let classes = rewriter.classes.read().unwrap_or_else(PoisonError::into_inner);
        let found = classes.declaring(&field.class, &field.name);
        let class = found.map_or(field.class.as_str(), |(class, _)| class);
        let facts = found.map(|(_, facts)| facts);
        if facts.is_some_and(|facts| facts.is_final) {
            return Meaning { op: RecordKind::Nothing, ..meaning };
        }
        let is_volatile = facts.is_some_and(|facts| facts.is_volatile);
        Meaning {
            kind: value_kind(&field.descriptor),
            access: if is_volatile { Access::Volatile } else { Access::Plain },
            number: self.field_number(class, &field.name),
            recorded: facts.is_some_and(|facts| facts.recorded),
            holds_array: field.descriptor.starts_with('['),
            ..meaning
        }
    }

    fn field_number(&mut self, class: &str, name: &str) -> u32 {
        let key = format!("{class}.{name}");
        if let Some(&number) = self.fields.get(&key) {
            return number;
        }
        let number = self.field_names.len() as u32;
        let short = self.short_name(class);
        self.field_names.push((short, name.to_owned()));
        self.fields.insert(key, number);
        number
    }

    /// The name of a class without its package; with it, if another class has that name already.
    pub(super) fn short_name(&mut self, class: &str) -> String {
        let short = class.rsplit('/').next().unwrap_or(class);
        let owner = self.short_names.entry(short.to_owned()).or_insert_with(|| class.to_owned());
        if owner == class { short.to_owned() } else { class.replace('/', ".") }
    }
}

/// What to call the block that a monitor guards: its method, and the line of a statement.
fn block_name(info: &SiteInfo, method: &MethodInfo) -> String {
    match info.what {
        SiteKind::Enter { own: false, .. } | SiteKind::Exit { .. } if info.pc != 0 => {
            format!("{} (synchronized)", method.qualified_name())
        }
        _ => method.qualified_name(),
    }
}
