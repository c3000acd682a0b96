//! Which classes values can be of: declared types, refined by what is assigned and instantiated.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::body::{Action, Body, ValueDef};
use crate::factories::{self, made_by};
use crate::ids::{ClassId, FieldId, MethodId, Sym, ValueId};
use crate::program::{Method, Program};
use untorn_bytecode::descriptor::{Signature, class_of};

/// What is stored into a field, over the whole program.
#[derive(Clone, Debug, Default)]
struct Assigned {
    /// Classes of which objects are stored.
    known: SmallVec<[ClassId; 2]>,
    /// Whether something else is stored as well.
    other: bool,
}

/// A class, and whether objects of its subclasses are ruled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClassBound {
    pub class: ClassId,
    pub exact: bool,
}

#[derive(Debug)]
pub struct Types {
    assigned: Vec<Assigned>,
    /// Whether some code makes objects of the class.
    pub instantiated: Vec<bool>,
    /// The class of a field's or method's result by its descriptor.
    classes: FxHashMap<Sym, Option<ClassId>>,
    /// The classes of parameters, the receiver first, by method.
    parameters: Vec<SmallVec<[Option<ClassId>; 4]>>,
    /// The classes of what factories return.
    made: FxHashMap<&'static str, ClassId>,
}

/// How far values are followed through merges and casts.
const DEPTH: u32 = 8;

impl Types {
    pub fn new(program: &mut Program) -> Self {
        let made = factories::results().map(|name| (name, program.class_id(name))).collect();
        let mut types = Self {
            assigned: vec![Assigned::default(); program.fields.len()],
            instantiated: vec![false; program.classes.len()],
            classes: FxHashMap::default(),
            parameters: Vec::new(),
            made,
        };
        for field in &program.fields {
            let class = class_of(program.text(field.descriptor));
            let class = class.and_then(|name| program.find_class(name));
            types.classes.insert(field.descriptor, class);
        }
        for called in &program.refs {
            let signature = Signature::parse(program.text(called.descriptor));
            let class = signature.and_then(|signature| class_of(signature.result));
            let class = class.and_then(|name| program.find_class(name));
            types.classes.insert(called.descriptor, class);
        }
        types.parameters =
            program.methods.iter().map(|method| parameters(program, method)).collect();
        types.gather(program);
        types
    }

    fn gather(&mut self, program: &Program) {
        for (_, _, body) in program.bodies() {
            for instr in &body.instrs {
                match instr.action {
                    Action::New(class) => self.instantiated[class.at()] = true,
                    Action::Put(field) => {
                        let Some(&value) = instr.operands.last() else { continue };
                        for source in body.reaching(value) {
                            let found = self.stored(program, body, source, field);
                            let assigned = &mut self.assigned[field.at()];
                            match found {
                                StoredValue::Class(class) if !assigned.known.contains(&class) => {
                                    assigned.known.push(class);
                                }
                                StoredValue::Other => assigned.other = true,
                                _ => {}
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// What is stored, without asking fields: they are not known yet.
    fn stored(
        &self,
        program: &Program,
        body: &Body,
        value: ValueId,
        field: FieldId,
    ) -> StoredValue {
        match body.value(value) {
            ValueDef::Instr(at) => match body.instr(*at).action {
                Action::New(class) => StoredValue::Class(class),
                Action::Null => StoredValue::Nothing,
                // `x = x.next()` and similar code adds nothing new.
                Action::Get(other) if other == field => StoredValue::Nothing,
                Action::Call(_, called) => match made_by(program, called) {
                    Some(name) => StoredValue::Class(self.made[name]),
                    None => StoredValue::Other,
                },
                _ => StoredValue::Other,
            },
            _ => StoredValue::Other,
        }
    }

    /// The class of a descriptor that some field has or some call names as its result.
    pub fn result(&self, descriptor: Sym) -> Option<ClassId> {
        self.classes.get(&descriptor).copied().flatten()
    }

    pub fn parameter(&self, method: MethodId, number: u32) -> Option<ClassId> {
        self.parameters[method.at()].get(number as usize).copied().flatten()
    }

    /// What a field holds. Exact if objects of one class only are ever stored.
    pub fn field(&self, program: &Program, field: FieldId) -> Option<ClassBound> {
        if program.field(field).is_state {
            return None;
        }
        let assigned = self.assigned.get(field.at());
        if let Some(Assigned { known, other: false }) = assigned
            && let [class] = known[..]
        {
            return Some(ClassBound { class, exact: true });
        }
        self.result(program.field(field).descriptor).map(|class| ClassBound { class, exact: false })
    }

    /// The type of a value.
    pub fn value(
        &self,
        program: &Program,
        method: MethodId,
        body: &Body,
        value: ValueId,
    ) -> Option<ClassBound> {
        self.value_within(program, (method, body), value, DEPTH)
    }

    fn value_within(
        &self,
        program: &Program,
        (method, body): (MethodId, &Body),
        value: ValueId,
        depth: u32,
    ) -> Option<ClassBound> {
        let depth = depth.checked_sub(1)?;
        let loose = |class| ClassBound { class, exact: false };
        match body.value(value) {
            ValueDef::Parameter(number) => self.parameter(method, *number).map(loose),
            ValueDef::Instr(at) => {
                let instr = body.instr(*at);
                match instr.action {
                    Action::New(class) => Some(ClassBound { class, exact: true }),
                    Action::Get(field) => self.field(program, field),
                    Action::Cast(class) => {
                        let inner = self.value_within(
                            program,
                            (method, body),
                            *instr.operands.first()?,
                            depth,
                        );
                        let keeps = |inner: &ClassBound| program.is_subtype(inner.class, class);
                        inner.filter(keeps).or(Some(loose(class)))
                    }
                    Action::Call(_, called) => match made_by(program, called) {
                        Some(name) => Some(ClassBound { class: self.made[name], exact: true }),
                        None => self.result(program.method_ref(called).descriptor).map(loose),
                    },
                    _ => None,
                }
            }
            ValueDef::Merge(_, sources) => {
                let mut found: Option<ClassBound> = None;
                for &source in sources.iter().filter(|&&source| !is_null(body, source)) {
                    let typed = self.value_within(program, (method, body), source, depth)?;
                    match found {
                        None => found = Some(typed),
                        Some(before) if before.class == typed.class => {
                            found =
                                Some(ClassBound { exact: before.exact && typed.exact, ..before });
                        }
                        Some(_) => return None,
                    }
                }
                found
            }
            _ => None,
        }
    }

    /// The classes whose objects are stored into a field.
    pub fn stored_classes(&self, field: FieldId) -> Option<&[ClassId]> {
        self.assigned.get(field.at()).map(|assigned| assigned.known.as_slice())
    }
}

enum StoredValue {
    Class(ClassId),
    Nothing,
    Other,
}

fn parameters(program: &Program, method: &Method) -> SmallVec<[Option<ClassId>; 4]> {
    let receiver = (!method.is_static()).then_some(Some(method.class));
    let signature = Signature::parse(program.text(method.descriptor));
    let rest = signature.iter().flat_map(|signature| {
        signature.parameters.iter().map(|text| program.find_class(class_of(text)?))
    });
    receiver.into_iter().chain(rest).collect()
}

pub fn is_null(body: &Body, value: ValueId) -> bool {
    matches!(body.value(value), ValueDef::Instr(at) if body.instr(*at).action == Action::Null)
}
