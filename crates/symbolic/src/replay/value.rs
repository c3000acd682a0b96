//! Values of the re-execution: what they are in the recorded run, with terms for what depends on inputs.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::path::Source;
use crate::term::TermId;

pub(super) type Term = Option<TermId>;

/// An object; [`NULL`] is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ObjectId(u32);

pub(super) const NULL: ObjectId = ObjectId(0);

/// What a slot of the stack or of the local variables holds. Long and double values have a [`Value::Top`] behind them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value {
    Int(i32, Term),
    /// The hash of a text that is an input.
    Hash(i32, ObjectId),
    Long(i64, Term),
    Float(f32),
    Double(f64),
    /// A box has the term of what is in it.
    Ref(ObjectId, Term),
    Top,
}

impl Value {
    pub(super) const fn term(self) -> Term {
        match self {
            Self::Int(_, term) | Self::Long(_, term) | Self::Ref(_, term) => term,
            _ => None,
        }
    }

    /// The same without a term.
    pub(super) const fn plain(self) -> Self {
        match self {
            Self::Int(value, _) | Self::Hash(value, _) => Self::Int(value, None),
            Self::Long(value, _) => Self::Long(value, None),
            Self::Ref(object, _) => Self::Ref(object, None),
            other => other,
        }
    }

    /// Whether both are the same in the run.
    pub(super) fn is_same(self, other: Self) -> bool {
        match (self.plain(), other.plain()) {
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        }
    }

    pub(super) const fn is_wide(self) -> bool {
        matches!(self, Self::Long(..) | Self::Double(_))
    }
}

/// What is known of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    /// 0 if it is not known yet.
    identity: u32,
    /// What it says, if it is a text.
    pub text: Option<Rc<str>>,
    /// The input that it is, if it is one.
    pub source: Option<Source>,
    /// It is the array of the program's arguments.
    pub is_arguments: bool,
    /// Of an array.
    pub length: Option<i32>,
    /// What is in it, if it is a box.
    pub boxed: Term,
}

/// All objects that a re-execution has met.
#[derive(Debug)]
pub(super) struct Objects {
    all: Vec<Object>,
    by_identity: FxHashMap<u32, ObjectId>,
}

impl Default for Objects {
    fn default() -> Self {
        Self { all: vec![Object::default()], by_identity: FxHashMap::default() }
    }
}

impl Objects {
    pub(super) fn fresh(&mut self) -> ObjectId {
        self.all.push(Object::default());
        ObjectId(self.all.len() as u32 - 1)
    }

    pub(super) fn of_identity(&mut self, identity: u32) -> ObjectId {
        if identity == 0 {
            return NULL;
        }
        if let Some(&known) = self.by_identity.get(&identity) {
            return known;
        }
        let new = self.fresh();
        self.all[new.0 as usize].identity = identity;
        self.by_identity.insert(identity, new);
        new
    }

    /// An object turns out to have this identity. False if it has another one.
    pub(super) fn identify(&mut self, object: ObjectId, identity: u32) -> bool {
        let own = &mut self.all[object.0 as usize].identity;
        if *own == 0 {
            *own = identity;
            self.by_identity.insert(identity, object);
        }
        self.all[object.0 as usize].identity == identity
    }

    pub(super) fn get(&self, object: ObjectId) -> &Object {
        &self.all[object.0 as usize]
    }

    pub(super) fn get_mut(&mut self, object: ObjectId) -> &mut Object {
        &mut self.all[object.0 as usize]
    }

    /// Whether both are, or may be, the same.
    pub(super) fn may_be_same(&self, a: ObjectId, b: ObjectId) -> bool {
        a == b || (a != NULL && self.get(a).identity == 0)
    }

    pub(super) fn identity(&self, object: ObjectId) -> u32 {
        self.get(object).identity
    }
}
