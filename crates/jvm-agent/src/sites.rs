//! The places in rewritten code that record something, by the number that their probe passes.

use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;
use untorn_trace::VarRole;
use untorn_trace::event::{Access, ValueKind};

/// The number of a place in the program's code; what a probe passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodeSite(pub u32);

/// The number of a rewritten method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MethodId(pub u32);

/// A rewritten method, as its class file names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MethodInfo {
    /// `com/acme/Account`
    pub class: String,
    pub name: String,
    pub descriptor: String,
    pub file: String,
    pub is_static: bool,
    /// Of the JDK, or of code that the user does not want to see.
    pub is_library: bool,
}

impl MethodInfo {
    /// `com.acme.Account.withdraw`
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.class.replace('/', "."), self.name)
    }

    /// Whether a thread or a task begins here.
    pub fn is_entry(&self) -> bool {
        matches!(self.name.as_str(), "main" | "run" | "call") || self.name.starts_with("lambda$")
    }
}

/// A method as a call names it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Api {
    /// `java/util/Map`
    pub class: String,
    pub method: String,
}

impl Api {
    /// `java.util.Map.remove`
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.class.replace('/', "."), self.method)
    }
}

/// A field as an instruction names it; which class declares it is found out when it is first used.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldName {
    pub class: String,
    pub name: String,
    pub descriptor: String,
    /// A field, or a variable that stands for something else of the object.
    pub role: VarRole,
}

/// A variable that a method of the JDK reads or writes for its caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reached {
    /// Of the object that the record names.
    Field(FieldName),
    /// The record has its number, see [`NamedFields`].
    NamedField,
    Element {
        kind: ValueKind,
        element: &'static str,
    },
}

/// What happened at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SiteKind {
    Field {
        write: bool,
        field: FieldName,
    },
    Global {
        write: bool,
        field: FieldName,
    },
    Element {
        write: bool,
        kind: ValueKind,
        element: &'static str,
    },
    /// Read or written by the JDK, for its caller.
    Reached {
        write: bool,
        access: Access,
        what: Reached,
    },
    /// An element of an array that is copied as a whole.
    Copied {
        write: bool,
        kind: ValueKind,
        element: &'static str,
    },
    /// So many elements of an array were copied beside those that are recorded.
    LeftOut,
    /// No event, but the schedule has to know that it happened.
    Nothing,
    /// A lock of java.util.concurrent is taken. `block`: what it guards is meant to be atomic.
    Lock {
        block: bool,
    },
    Unlock {
        block: bool,
    },
    /// A lock is given up to wait for a condition, and is back.
    Await,
    Awaited,
    /// A monitor is entered. `block`: what it guards is meant to be atomic; `own`: it is that of a
    /// synchronized method.
    Enter {
        block: bool,
        own: bool,
    },
    Exit {
        block: bool,
    },
    Wait,
    Notify,
    /// A method of the application begins that touches shared state or takes locks at least twice.
    Call,
    Return,
    /// A tracked call, by the name of what is called; each of its arguments; and its end, with the result
    /// if it has one that can be recorded.
    TrackedCall {
        api: Api,
    },
    TrackedArgument {
        api: Api,
        /// Counted from 1.
        number: u8,
        kind: ValueKind,
    },
    TrackedReturn {
        api: Api,
        result: Option<ValueKind>,
    },
    /// A method that the user lists as atomic.
    Begin,
    End,
    BeginInitialiser,
    EndInitialiser,
}

impl SiteKind {
    /// Whether a plan can name events of this kind by their place: a thread asks there, once for each.
    pub fn is_plannable(&self) -> bool {
        !matches!(
            self,
            Self::Copied { .. } | Self::Await | Self::Awaited | Self::TrackedArgument { .. }
        )
    }
}

/// A place in the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteInfo {
    pub method: MethodId,
    pub pc: u32,
    /// 0 if the class has no line numbers.
    pub line: u32,
    pub what: SiteKind,
}

/// All places so far. Only grows.
#[derive(Debug, Default)]
pub struct Sites {
    methods: Vec<MethodInfo>,
    sites: Vec<SiteInfo>,
}

impl Sites {
    pub fn add_method(&mut self, method: MethodInfo) -> MethodId {
        self.methods.push(method);
        MethodId(self.methods.len() as u32 - 1)
    }

    /// The source of a class of which a method was rewritten.
    pub fn file_of(&self, class: &str) -> Option<&str> {
        let mut latest = self.methods.iter().rev();
        latest.find(|method| method.class == class).map(|method| method.file.as_str())
    }

    /// Sites are numbered from 1 on: 0 is no place at all.
    pub fn add(&mut self, site: SiteInfo) -> CodeSite {
        self.sites.push(site);
        CodeSite(self.sites.len() as u32)
    }

    /// Several at one place, one after the other; the first of them.
    pub fn add_all(
        &mut self,
        place: &SiteInfo,
        all: impl IntoIterator<Item = SiteKind>,
    ) -> CodeSite {
        let first = CodeSite(self.sites.len() as u32 + 1);
        self.sites.extend(all.into_iter().map(|what| SiteInfo { what, ..place.clone() }));
        first
    }

    pub fn get(&self, site: CodeSite) -> Option<&SiteInfo> {
        self.sites.get((site.0 as usize).checked_sub(1)?)
    }

    pub fn method(&self, method: MethodId) -> Option<&MethodInfo> {
        self.methods.get(method.0 as usize)
    }
}

/// Fields that the program reaches by their names: by reflection, handles, updaters. Only grows.
#[derive(Debug, Default)]
pub struct NamedFields(RwLock<(Vec<FieldName>, FxHashMap<FieldName, u32>)>);

impl NamedFields {
    pub fn number(&self, field: FieldName) -> u32 {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let (fields, numbers) = &mut *all;
        let new = fields.len() as u32;
        *numbers.entry(field).or_insert_with_key(|field| {
            fields.push(field.clone());
            new
        })
    }

    pub fn get(&self, number: u32) -> Option<FieldName> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.0.get(number as usize).cloned()
    }
}
