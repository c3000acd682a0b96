//! The sites of rewritten code that record something, by the number that their probe passes.

use std::sync::{PoisonError, RwLock};

use rustc_hash::FxHashMap;
use untorn_trace::VarRole;
use untorn_trace::event::{Access, ValueKind};

/// The number of a site, which its probe passes.
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
    /// Of the JDK, or of code that the user excluded.
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

/// A method as a call instruction names it.
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

/// A field as an instruction names it; the declaring class is resolved when it is first used.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldName {
    pub class: String,
    pub name: String,
    pub descriptor: String,
    /// A field, or a variable that models other state of the object.
    pub role: VarRole,
}

/// A variable that a method of the JDK reads or writes on behalf of its caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reached {
    /// Of the object in the record.
    Field(FieldName),
    /// The record has the number of the field, see [`NamedFields`].
    NamedField,
    Element {
        kind: ValueKind,
        element: &'static str,
    },
}

/// What is recorded at a site.
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
    /// Read or written by the JDK, on behalf of its caller.
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
    /// The number of elements of a copied array that are not recorded one by one.
    LeftOut,
    /// Counts an access whose variable is not known.
    Unresolved,
    /// No event, but part of the schedule.
    Nothing,
    /// A lock of java.util.concurrent is acquired. `block`: the section is a declared atomic block.
    Lock {
        block: bool,
    },
    Unlock {
        block: bool,
    },
    /// A lock is released to wait for a condition, and reacquired.
    Await,
    Awaited,
    /// A monitor is entered. `block`: the section is a declared atomic block; `own`: it is the monitor of a
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
    /// A method of the application begins that accesses shared state or acquires locks at least twice.
    Call,
    Return,
    /// A tracked call, with the name of the called method; each of its arguments; and its end, with the result if
    /// that is of a type that can be recorded.
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
    /// Whether a plan can name events of this kind by their site: a thread asks there, once for each event.
    pub fn is_plannable(&self) -> bool {
        !matches!(
            self,
            Self::Copied { .. } | Self::Await | Self::Awaited | Self::TrackedArgument { .. }
        )
    }
}

/// A site in the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteInfo {
    pub method: MethodId,
    pub pc: u32,
    /// 0 if the class has no line numbers.
    pub line: u32,
    pub what: SiteKind,
}

/// All sites so far. Sites are never removed.
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

    /// The source file of a class of which a method was rewritten.
    pub fn file_of(&self, class: &str) -> Option<&str> {
        let mut latest = self.methods.iter().rev();
        latest.find(|method| method.class == class).map(|method| method.file.as_str())
    }

    /// Sites are numbered from 1 on: 0 means no site.
    pub fn add(&mut self, site: SiteInfo) -> CodeSite {
        self.sites.push(site);
        CodeSite(self.sites.len() as u32)
    }

    /// Several sites at one code position, with consecutive numbers; returns the first.
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

    /// A place and the method that it is in.
    pub fn find(&self, site: CodeSite) -> Option<(&MethodInfo, &SiteInfo)> {
        let info = self.get(site)?;
        Some((self.method(info.method)?, info))
    }

    pub fn method(&self, method: MethodId) -> Option<&MethodInfo> {
        self.methods.get(method.0 as usize)
    }
}

/// Fields that the program accesses by their names: by reflection, handles, updaters. Fields are never removed.
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
