//! The meaning of a site for the trace, determined when it first records something.

use std::sync::{Arc, PoisonError};

use untorn_trace::VarRole;
use untorn_trace::event::{Access, ValueKind};
use untorn_trace::ids::{LabelId, SiteId};
use untorn_trace::tables::{CodePosition, LabelFacts, Site, SiteFacts};

use super::{Converter, Declared};
use crate::instrument::value_kind;
use crate::scope::is_platform;
use crate::sites::{Api, CodeSite, FieldName, MethodInfo, Reached, SiteInfo, SiteKind};

/// The meaning of a site for the trace, determined when it first records something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    pub(super) op: RecordKind,
    pub(super) site: SiteId,
    /// Of accesses: how values are shown and what kind of access it is.
    pub(super) kind: ValueKind,
    pub(super) access: Access,
    /// Of fields: the number of the field. Of blocks and calls: the label.
    pub(super) number: u32,
    /// Whether every write of the variable is recorded, so that its initial value is zero.
    pub(super) recorded: bool,
    /// Of reads and writes of array references: the variable that holds an array gives it its name.
    pub(super) holds_array: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordKind {
    /// Not yet known.
    Unknown,
    /// Not recorded: a final field.
    Nothing,
    Field {
        write: bool,
    },
    Element {
        write: bool,
    },
    /// The record contains the field.
    NamedField {
        write: bool,
    },
    LeftOut,
    Unresolved,
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
    TrackedArgument {
        number: u8,
    },
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
        let offset = info.what.is_plannable().then_some(info.pc);
        self.tables.sites.intern(&Site {
            file: &method.file,
            line: info.line,
            method: &method.name,
            class: &method.class.replace('/', "."),
            position: CodePosition::Bytecode { descriptor: &method.descriptor, offset },
            facts: SiteFacts { is_library: method.is_library, ..SiteFacts::default() },
            inlined_into: None,
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
            number: this.label(&name, method).0,
            ..meaning
        };
        let called =
            |this: &mut Self, op, api: &Api| Meaning { op, number: this.api(api).0, ..meaning };
        match &info.what {
            SiteKind::Field { write, field } | SiteKind::Global { write, field } => {
                let op = RecordKind::Field { write: *write };
                self.field_meaning(Meaning { op, ..meaning }, field)
            }
            SiteKind::Element { write, kind, element }
            | SiteKind::Copied { write, kind, element } => {
                let number = self.field_number("", element, VarRole::Element);
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
            SiteKind::Unresolved => Meaning { op: RecordKind::Unresolved, ..meaning },
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
            SiteKind::TrackedCall { api } => called(self, RecordKind::TrackedCall, api),
            SiteKind::TrackedArgument { api, number, kind } => {
                let record = RecordKind::TrackedArgument { number: *number };
                Meaning { kind: *kind, ..called(self, record, api) }
            }
            SiteKind::TrackedReturn { api, result } => {
                let record = RecordKind::TrackedReturn { known: result.is_some() };
                let kind = result.unwrap_or(ValueKind::Int);
                Meaning { kind, ..called(self, record, api) }
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

    /// The meaning of an access that the JDK makes for its caller.
    fn reached_meaning(&mut self, place: Meaning, write: bool, what: &Reached) -> Meaning {
        match what {
            Reached::Field(field) => {
                let op = RecordKind::Field { write };
                let found = self.field_meaning(Meaning { op, ..place }, field);
                // Some of these variables are not fields of the class, and none is written only by unrecorded code.
                Meaning { op, access: place.access, recorded: false, ..found }
            }
            Reached::NamedField => Meaning { op: RecordKind::NamedField { write }, ..place },
            Reached::Element { kind, element } => {
                let number = self.field_number("", element, VarRole::Element);
                let (op, holds_array) = (RecordKind::Element { write }, *kind == ValueKind::Ref);
                Meaning { op, kind: *kind, number, holds_array, ..place }
            }
        }
    }

    /// Facts of a field that is accessed by its name.
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
            number: self.field_number(class, &field.name, field.role),
            recorded: facts.is_some_and(|facts| facts.recorded),
            holds_array: field.descriptor.starts_with('['),
            ..meaning
        }
    }

    /// The label of a block or an activation of a method.
    fn label(&mut self, name: &str, method: &MethodInfo) -> LabelId {
        let label = self.tables.labels.intern(name);
        let facts = LabelFacts {
            class: self.tables.sites.intern_symbol(&method.class.replace('/', ".")),
            method: self.tables.sites.intern_symbol(&method.name),
            is_library: method.is_library,
            is_entry: method.is_entry(),
        };
        self.tables.set_label_facts(label, facts);
        label
    }

    /// The label of a method that is called.
    fn api(&mut self, api: &Api) -> LabelId {
        let label = self.tables.labels.intern(&api.qualified_name());
        let facts = LabelFacts {
            class: self.tables.sites.intern_symbol(&api.class.replace('/', ".")),
            method: self.tables.sites.intern_symbol(&api.method),
            is_library: is_platform(&api.class),
            is_entry: false,
        };
        // The method may be one of the application, about which more is known.
        if self.tables.label_facts(label) == LabelFacts::default() {
            self.tables.set_label_facts(label, facts);
        }
        label
    }

    fn field_number(&mut self, class: &str, name: &str, role: VarRole) -> u32 {
        let key = format!("{class}.{name}");
        if let Some(&number) = self.fields.get(&key) {
            return number;
        }
        let number = self.declared.len() as u32;
        let short = self.short_name(class);
        let classes = self.class_numbers.len() as u32;
        let class = *self.class_numbers.entry(short.clone()).or_insert(classes);
        // Keys of a map are treated like elements of an array: one member for all of them.
        let member = match role {
            VarRole::Element => format!("{name}[]"),
            VarRole::KeyedContents => format!("{short}.[]"),
            _ => format!("{short}.{name}"),
        };
        let member = self.tables.members.intern(&member);
        let name = name.to_owned();
        self.declared.push(Declared { class_name: short, class, name, role, member });
        self.fields.insert(key, number);
        number
    }

    /// The name of a class without its package; with it, if another class already has the short name.
    pub(super) fn short_name(&mut self, class: &str) -> String {
        let short = class.rsplit('/').next().unwrap_or(class);
        let owner = self.short_names.entry(short.to_owned()).or_insert_with(|| class.to_owned());
        if owner == class { short.to_owned() } else { class.replace('/', ".") }
    }
}

/// The name of a block that a monitor guards: its method, and the line of a statement.
fn block_name(info: &SiteInfo, method: &MethodInfo) -> String {
    match info.what {
        SiteKind::Enter { own: false, .. } | SiteKind::Exit { .. } if info.pc != 0 => {
            format!("{} (synchronized)", method.qualified_name())
        }
        _ => method.qualified_name(),
    }
}
