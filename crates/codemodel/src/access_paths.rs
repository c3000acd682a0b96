//! Access paths: which object a value is, given by a root and the fields that lead from it to the object.
//!
//! `this.cache.map` is parameter 0 followed by two fields. Two values with the same access path are taken for
//! the same object, even if a field on the path may have been assigned in between. That is a guess, but the one
//! that analyses of compositions need: programs that call one field twice mean one object.

use crate::body::{Action, Body, Invoke, ValueDef};
use crate::calls::{Calls, Site};
use crate::ids::{ClassId, FieldId, InstrId, MethodId, ValueId};
use crate::program::Program;
use crate::types::is_null;

/// Where an access path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// A parameter of the method, `this` being the first.
    Parameter(u32),
    /// A class: its static fields, and the object that static synchronized methods lock.
    Class(ClassId),
    /// Any other value.
    Value(ValueId),
}

/// The most fields that a path has.
pub const MAX_FIELDS: usize = 3;

/// An object, or a field of it: a root and the fields to follow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccessPath {
    pub base: Base,
    /// Fields after `len` are all 0.
    path: [FieldId; MAX_FIELDS],
    len: u8,
}

impl AccessPath {
    pub const fn new(base: Base) -> Self {
        Self { base, path: [FieldId(0); MAX_FIELDS], len: 0 }
    }

    pub fn path(&self) -> &[FieldId] {
        &self.path[..usize::from(self.len)]
    }

    pub const fn len(&self) -> usize {
        self.len as usize
    }

    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn last(&self) -> Option<FieldId> {
        self.path().last().copied()
    }

    /// The path extended by a field; `None` if that is too long.
    pub fn field(mut self, field: FieldId) -> Option<Self> {
        *self.path.get_mut(usize::from(self.len))? = field;
        self.len += 1;
        Some(self)
    }

    /// The first `len` fields of the path.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Self {
        let mut place = Self::new(self.base);
        place.path[..len].copy_from_slice(&self.path[..len]);
        place.len = len as u8;
        place
    }

    /// The same fields from another root: `self` is a path of a callee whose parameter `self.base` is `actual`.
    pub fn after(&self, actual: &Self) -> Option<Self> {
        self.path().iter().try_fold(*actual, |place, &field| place.field(field))
    }

    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.base == prefix.base && self.path().starts_with(prefix.path())
    }
}

/// What methods return, where that is a path from their parameters or a static field.
#[derive(Debug, Default)]
pub struct Getters {
    returned: Vec<Option<AccessPath>>,
}

const READ_WRITE_LOCK: &str = "java/util/concurrent/locks/ReadWriteLock";

/// How far values are followed.
const DEPTH: u32 = 10;
/// Getters of getters are found in later rounds.
const ROUNDS: u32 = 2;

/// A method with what is needed to find access paths in it.
#[derive(Clone, Copy, Debug)]
pub struct MethodContext<'a> {
    pub program: &'a Program,
    pub calls: &'a Calls,
    pub getters: &'a Getters,
    pub method: MethodId,
    pub body: &'a Body,
}

impl Getters {
    pub fn new(program: &Program, calls: &Calls) -> Self {
        let mut getters = Self { returned: vec![None; program.methods.len()] };
        for _ in 0..ROUNDS {
            let mut found = Vec::new();
            for (method, _, body) in program.bodies() {
                let context = MethodContext { program, calls, getters: &getters, method, body };
                if let Some(place) = context.returned() {
                    found.push((method, place));
                }
            }
            for (method, place) in found {
                getters.returned[method.at()] = Some(place);
            }
        }
        getters
    }
}

impl<'a> MethodContext<'a> {
    /// `None` if the method has no code.
    pub fn new(
        program: &'a Program,
        calls: &'a Calls,
        getters: &'a Getters,
        method: MethodId,
    ) -> Option<Self> {
        let body = program.method(method).body.as_ref()?;
        Some(Self { program, calls, getters, method, body })
    }
}

impl MethodContext<'_> {
    /// The path that every `return` of the method gives, if it is a field of what callers know.
    fn returned(&self) -> Option<AccessPath> {
        let returns = self.body.instrs.iter().filter(|instr| instr.action == Action::Return);
        let mut values = returns.map(|instr| instr.operands.first().copied());
        let first = self.access_path(values.next()??);
        let same = values.all(|value| value.is_some_and(|value| self.access_path(value) == first));
        (same && !first.is_empty() && !matches!(first.base, Base::Value(_))).then_some(first)
    }

    pub fn access_path(&self, value: ValueId) -> AccessPath {
        self.path_within(value, DEPTH).unwrap_or(AccessPath::new(Base::Value(value)))
    }

    fn path_within(&self, value: ValueId, depth: u32) -> Option<AccessPath> {
        let depth = depth.checked_sub(1)?;
        match self.body.value(value) {
            ValueDef::Parameter(number) => Some(AccessPath::new(Base::Parameter(*number))),
            ValueDef::Instr(at) => self.made_at(*at, depth),
            ValueDef::Merge(_, sources) => {
                let mut sources = sources.iter().filter(|&&source| !is_null(self.body, source));
                let first = self.path_within(*sources.next()?, depth)?;
                let same = sources.all(|&source| self.path_within(source, depth) == Some(first));
                same.then_some(first)
            }
            _ => None,
        }
    }

    fn made_at(&self, at: InstrId, depth: u32) -> Option<AccessPath> {
        let instr = self.body.instr(at);
        match instr.action {
            Action::ClassConstant(class) => Some(AccessPath::new(Base::Class(class))),
            Action::Get(field) => match instr.operands.first() {
                None => AccessPath::new(Base::Class(self.program.field(field).class)).field(field),
                Some(&object) => {
                    let object = self.path_within(object, depth);
                    object.unwrap_or(AccessPath::new(Base::Value(instr.operands[0]))).field(field)
                }
            },
            Action::Cast(_) => self.path_within(*instr.operands.first()?, depth),
            Action::Call(..) => self.result_of(at, depth),
            _ => None,
        }
    }

    /// What a getter returns, in terms of this method.
    fn result_of(&self, at: InstrId, depth: u32) -> Option<AccessPath> {
        let site = self.site(at)?;
        let instr = self.body.instr(at);
        let called = self.program.method_ref(site.called);
        let name = self.program.text(called.name);
        if matches!(name, "readLock" | "writeLock") && site.invoke != Invoke::Static {
            let lock = self.program.find_class(READ_WRITE_LOCK)?;
            if self.program.is_subtype(called.class, lock) {
                return self.path_within(*instr.operands.first()?, depth);
            }
        }
        let &[target] = self.calls.targets(site) else { return None };
        let returned = self.getters.returned[target.at()]?;
        match returned.base {
            Base::Parameter(number) => {
                let value = *instr.operands.get(number as usize)?;
                returned.after(&self.path_within(value, depth)?)
            }
            _ => Some(returned),
        }
    }

    pub fn site(&self, at: InstrId) -> Option<&Site> {
        let sites = self.calls.sites(self.method);
        sites.binary_search_by_key(&at, |site| site.instr).ok().map(|found| &sites[found])
    }
}
