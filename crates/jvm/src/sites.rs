//! The places in rewritten code that tell something, by the number that their probe passes.

use untorn_trace::event::ValueKind;

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
}

impl MethodInfo {
    /// `com.acme.Account.withdraw`
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.class.replace('/', "."), self.name)
    }
}

/// A field as an instruction names it; which class declares it is found out when it is first used.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FieldName {
    pub class: String,
    pub name: String,
    pub descriptor: String,
}

/// What happened at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
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
    /// A method that the user lists as atomic.
    Begin,
    End,
    BeginInitialiser,
    EndInitialiser,
}

/// A place in the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteInfo {
    pub method: MethodId,
    pub pc: u32,
    /// 0 if the class has no line numbers.
    pub line: u32,
    pub what: What,
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

    /// Sites are numbered from 1 on: 0 is no place at all.
    pub fn add(&mut self, site: SiteInfo) -> CodeSite {
        self.sites.push(site);
        CodeSite(self.sites.len() as u32)
    }

    pub fn get(&self, site: CodeSite) -> Option<&SiteInfo> {
        self.sites.get((site.0 as usize).checked_sub(1)?)
    }

    pub fn method(&self, method: MethodId) -> Option<&MethodInfo> {
        self.methods.get(method.0 as usize)
    }

    pub fn len(&self) -> usize {
        self.sites.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }
}
