//! Places: which object a value is, told by the way to it.
//!
//! `this.cache.map` is the parameter 0 and two fields. Two values of the same place are taken for
//! the same object; a field that is reassigned in between is not looked for. That is a guess, and
//! the one that the whole analysis rests on: programs that compose calls on one field mean one object.

use crate::body::{Action, Body, Invoke, ValueDef};
use crate::calls::{Calls, Site};
use crate::ids::{ClassId, FieldId, InstrId, MethodId, ValueId};
use crate::program::Program;
use crate::types::is_null;

/// Where the way to an object begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// A parameter of the method, `this` being the first.
    Parameter(u32),
    /// A class: its static fields, and the object that static synchronized methods lock.
    Class(ClassId),
    /// Whatever this value is.
    Value(ValueId),
}

/// No way is longer.
pub const LONGEST: usize = 3;

/// An object, or a field of it: where to begin, and which fields to follow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub base: Base,
    /// Fields behind `len` are all 0.
    path: [FieldId; LONGEST],
    len: u8,
}

impl Place {
    pub const fn new(base: Base) -> Self {
        Self { base, path: [FieldId(0); LONGEST], len: 0 }
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

    /// One field further; `None` if that is too far.
    pub fn field(mut self, field: FieldId) -> Option<Self> {
        *self.path.get_mut(usize::from(self.len))? = field;
        self.len += 1;
        Some(self)
    }

    /// The object on the way after `len` fields.
    #[must_use]
    pub fn prefix(&self, len: usize) -> Self {
        let mut place = Self::new(self.base);
        place.path[..len].copy_from_slice(&self.path[..len]);
        place.len = len as u8;
        place
    }

    /// The same way from another beginning: `self` is told in terms of a callee whose parameter
    /// `self.base` is `actual`.
    pub fn after(&self, actual: &Self) -> Option<Self> {
        self.path().iter().try_fold(*actual, |place, &field| place.field(field))
    }

    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.base == prefix.base && self.path().starts_with(prefix.path())
    }
}

/// What methods return, where that is a place of their parameters or a static field.
#[derive(Debug, Default)]
pub struct Getters {
    returned: Vec<Option<Place>>,
}

const READ_WRITE_LOCK: &str = "java/util/concurrent/locks/ReadWriteLock";

/// How far values are followed.
const DEPTH: u32 = 10;
/// Getters of getters are found in later rounds.
const ROUNDS: u32 = 2;

/// What it takes to tell places in one method.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
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
                let look = Look { program, calls, getters: &getters, method, body };
                if let Some(place) = look.returned() {
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

impl<'a> Look<'a> {
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

impl Look<'_> {
    /// The place that every `return` of the method gives, if it is a field of what callers know.
    fn returned(&self) -> Option<Place> {
        let returns = self.body.instrs.iter().filter(|instr| instr.action == Action::Return);
        let mut values = returns.map(|instr| instr.operands.first().copied());
        let first = self.place(values.next()??);
        let same = values.all(|value| value.is_some_and(|value| self.place(value) == first));
        (same && !first.is_empty() && !matches!(first.base, Base::Value(_))).then_some(first)
    }

    pub fn place(&self, value: ValueId) -> Place {
        self.place_within(value, DEPTH).unwrap_or(Place::new(Base::Value(value)))
    }

    fn place_within(&self, value: ValueId, depth: u32) -> Option<Place> {
        let depth = depth.checked_sub(1)?;
        match self.body.value(value) {
            ValueDef::Parameter(number) => Some(Place::new(Base::Parameter(*number))),
            ValueDef::Instr(at) => self.made_at(*at, depth),
            ValueDef::Merge(_, sources) => {
                let mut sources = sources.iter().filter(|&&source| !is_null(self.body, source));
                let first = self.place_within(*sources.next()?, depth)?;
                let same = sources.all(|&source| self.place_within(source, depth) == Some(first));
                same.then_some(first)
            }
            _ => None,
        }
    }

    fn made_at(&self, at: InstrId, depth: u32) -> Option<Place> {
        let instr = self.body.instr(at);
        match instr.action {
            Action::ClassConstant(class) => Some(Place::new(Base::Class(class))),
            Action::Get(field) => match instr.operands.first() {
                None => Place::new(Base::Class(self.program.field(field).class)).field(field),
                Some(&object) => {
                    let object = self.place_within(object, depth);
                    object.unwrap_or(Place::new(Base::Value(instr.operands[0]))).field(field)
                }
            },
            Action::Cast(_) => self.place_within(*instr.operands.first()?, depth),
            Action::Call(..) => self.result_of(at, depth),
            _ => None,
        }
    }

    /// What a getter returns, in terms of this method.
    fn result_of(&self, at: InstrId, depth: u32) -> Option<Place> {
        let site = self.site(at)?;
        let instr = self.body.instr(at);
        let called = self.program.method_ref(site.called);
        let name = self.program.text(called.name);
        if matches!(name, "readLock" | "writeLock") && site.invoke != Invoke::Static {
            let lock = self.program.find_class(READ_WRITE_LOCK)?;
            if self.program.is_subtype(called.class, lock) {
                return self.place_within(*instr.operands.first()?, depth);
            }
        }
        let &[target] = self.calls.targets(site) else { return None };
        let returned = self.getters.returned[target.at()]?;
        match returned.base {
            Base::Parameter(number) => {
                let value = *instr.operands.get(number as usize)?;
                returned.after(&self.place_within(value, depth)?)
            }
            _ => Some(returned),
        }
    }

    pub fn site(&self, at: InstrId) -> Option<&Site> {
        let sites = self.calls.sites(self.method);
        sites.binary_search_by_key(&at, |site| site.instr).ok().map(|found| &sites[found])
    }
}
