//! The classes of an application, its libraries and the JDK: the class hierarchy, fields and methods.

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_bytecode::{ClassFile, access};

use crate::archive::{ClassBytes, Origin};
use crate::body::{Body, Linker, build};
use crate::error::BodyError;
use crate::ids::{ClassId, FieldId, MethodId, RefId, Sym};
use crate::jdk::Jdk;
use crate::names::Names;

#[derive(Clone, Debug)]
pub struct Class {
    pub name: Sym,
    pub origin: Origin,
    pub access: u16,
    pub parent: Option<ClassId>,
    pub interfaces: Vec<ClassId>,
    /// Direct subclasses and implementors.
    pub children: Vec<ClassId>,
    pub methods: Vec<MethodId>,
    pub source: Option<Sym>,
}

impl Class {
    pub const fn is_interface(&self) -> bool {
        self.access & access::INTERFACE != 0
    }

    pub const fn is_abstract(&self) -> bool {
        self.access & access::ABSTRACT != 0
    }

    /// Whether its code is analysed.
    pub const fn is_ours(&self) -> bool {
        matches!(self.origin, Origin::Application | Origin::Library)
    }
}

#[derive(Clone, Debug)]
pub struct Field {
    pub class: ClassId,
    pub name: Sym,
    pub descriptor: Sym,
    /// Flags, if a class that we read declares it.
    pub access: u16,
    /// Stands for all that a thread-safe object of the JDK holds.
    pub is_state: bool,
}

#[derive(Clone, Debug)]
pub struct Method {
    pub class: ClassId,
    pub name: Sym,
    pub descriptor: Sym,
    pub access: u16,
    pub body: Option<Body>,
}

impl Method {
    pub const fn is_static(&self) -> bool {
        self.access & access::STATIC != 0
    }

    pub const fn is_synchronized(&self) -> bool {
        self.access & access::SYNCHRONIZED != 0
    }

    pub const fn is_abstract(&self) -> bool {
        self.access & access::ABSTRACT != 0
    }
}

/// A method as a call names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodRef {
    pub class: ClassId,
    pub name: Sym,
    pub descriptor: Sym,
}

/// Classes and methods that were passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Entries of archives that cannot be read.
    pub entries: u64,
    /// Files that are not well-formed classes.
    pub classes: u64,
    /// Classes of a name that was there before.
    pub duplicates: u64,
    /// Methods by the reason.
    pub methods: Vec<(BodyError, u64)>,
}

#[derive(Debug, Default)]
pub struct Program {
    pub names: Names,
    pub classes: Vec<Class>,
    pub fields: Vec<Field>,
    pub methods: Vec<Method>,
    pub refs: Vec<MethodRef>,
    pub skipped: Skipped,
    class_ids: FxHashMap<Sym, ClassId>,
    field_ids: FxHashMap<(ClassId, Sym), FieldId>,
    method_ids: FxHashMap<(ClassId, Sym, Sym), MethodId>,
    ref_ids: FxHashMap<MethodRef, RefId>,
}

impl Program {
    /// Reads classes, and of the JDK what they mention.
    pub fn read(files: &[ClassBytes], jdk: &Jdk) -> Self {
        let mut program = Self::default();
        let mut parsed = Vec::new();
        for file in files {
            match ClassFile::parse(&file.bytes) {
                Ok(class) => {
                    if let Some(id) = program.declare(&class, file.origin) {
                        parsed.push((id, class));
                    }
                }
                Err(_) => program.skipped.classes += 1,
            }
        }
        program.fetch(jdk);
        let mut skipped: FxHashMap<BodyError, u64> = FxHashMap::default();
        for (id, class) in &parsed {
            program.link(*id, class, &mut skipped);
        }
        program.fetch(jdk);
        program.skipped.methods = skipped.into_iter().collect();
        program.skipped.methods.sort_by_key(|(error, _)| error.to_string());
        program.find_children();
        program
    }

    /// Enters a class with its members; `None` if its name is taken.
    fn declare(&mut self, class: &ClassFile<'_>, origin: Origin) -> Option<ClassId> {
        let id = self.class_id(class.name());
        if self.classes[id.at()].origin != Origin::Missing {
            self.skipped.duplicates += 1;
            return None;
        }
        let parent = class.super_name().map(|name| self.class_id(name));
        let interfaces = class.interfaces().flatten().map(|name| self.class_id(&name)).collect();
        let source = class.source_file().map(|name| self.names.intern(&name));
        for field in class.fields() {
            let field_id = self.field_id(id, field.name(), field.descriptor());
            self.fields[field_id.at()].access = field.access();
        }
        let mut methods = Vec::new();
        for method in class.methods() {
            let (name, descriptor) =
                (self.names.intern(method.name()), self.names.intern(method.descriptor()));
            let method_id = MethodId::new(self.methods.len());
            let access = method.access();
            self.methods.push(Method { class: id, name, descriptor, access, body: None });
            self.method_ids.entry((id, name, descriptor)).or_insert(method_id);
            methods.push(method_id);
        }
        let name = self.classes[id.at()].name;
        let (access, children) = (class.access(), Vec::new());
        self.classes[id.at()] =
            Class { name, origin, access, parent, interfaces, children, methods, source };
        Some(id)
    }

    /// Reads the bodies of a class.
    fn link(
        &mut self,
        id: ClassId,
        class: &ClassFile<'_>,
        skipped: &mut FxHashMap<BodyError, u64>,
    ) {
        for (at, method) in class.methods().iter().enumerate() {
            if method.code().is_none() {
                continue;
            }
            match build(class, method, self) {
                Ok(body) => {
                    let number = self.classes[id.at()].methods[at];
                    self.methods[number.at()].body = Some(body);
                }
                Err(error) => *skipped.entry(error).or_default() += 1,
            }
        }
    }

    /// Reads from the JDK the classes that are only mentioned so far, and their ancestors.
    fn fetch(&mut self, jdk: &Jdk) {
        let mut at = 0;
        while at < self.classes.len() {
            let name = self.names.text(self.classes[at].name).to_owned();
            if self.classes[at].origin == Origin::Missing
                && let Some(found) = jdk.class(&name)
            {
                let parent = found.parent.map(|name| self.class_id(&name));
                let interfaces = found.interfaces.iter().map(|name| self.class_id(name)).collect();
                let class = &mut self.classes[at];
                (class.origin, class.access) = (Origin::Jdk, found.access);
                (class.parent, class.interfaces) = (parent, interfaces);
            }
            at += 1;
        }
    }

    fn find_children(&mut self) {
        for at in 0..self.classes.len() {
            let id = ClassId::new(at);
            let class = &self.classes[at];
            let parents: Vec<ClassId> =
                class.parent.iter().chain(&class.interfaces).copied().collect();
            for parent in parents {
                self.classes[parent.at()].children.push(id);
            }
        }
    }

    pub fn class_id(&mut self, name: &str) -> ClassId {
        let name = self.names.intern(name);
        *self.class_ids.entry(name).or_insert_with(|| {
            self.classes.push(Class {
                name,
                origin: Origin::Missing,
                access: 0,
                parent: None,
                interfaces: Vec::new(),
                children: Vec::new(),
                methods: Vec::new(),
                source: None,
            });
            ClassId::new(self.classes.len() - 1)
        })
    }

    fn field_id(&mut self, class: ClassId, name: &str, descriptor: &str) -> FieldId {
        let (name, descriptor) = (self.names.intern(name), self.names.intern(descriptor));
        *self.field_ids.entry((class, name)).or_insert_with(|| {
            self.fields.push(Field { class, name, descriptor, access: 0, is_state: false });
            FieldId::new(self.fields.len() - 1)
        })
    }

    /// The field that represents the whole state of a class of the JDK.
    pub fn state_of(&mut self, class: &str) -> FieldId {
        let id = self.class_id(class);
        let field = self.field_id(id, "state", "");
        self.fields[field.at()].is_state = true;
        field
    }

    pub fn find_class(&self, name: &str) -> Option<ClassId> {
        self.class_ids.get(&self.names.find(name)?).copied()
    }

    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.at()]
    }

    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.at()]
    }

    pub fn method(&self, id: MethodId) -> &Method {
        &self.methods[id.at()]
    }

    pub fn method_ref(&self, id: RefId) -> MethodRef {
        self.refs[id.at()]
    }

    pub fn text(&self, sym: Sym) -> &str {
        self.names.text(sym)
    }

    pub fn class_name(&self, id: ClassId) -> &str {
        self.text(self.class(id).name)
    }

    pub fn method_ids(&self) -> impl Iterator<Item = MethodId> + use<> {
        (0..self.methods.len()).map(MethodId::new)
    }

    /// Methods with their bodies.
    pub fn bodies(&self) -> impl Iterator<Item = (MethodId, &Method, &Body)> {
        self.methods.iter().enumerate().filter_map(|(at, method)| {
            method.body.as_ref().map(|body| (MethodId::new(at), method, body))
        })
    }

    /// The method that a class itself declares.
    pub fn declared(&self, class: ClassId, name: Sym, descriptor: Sym) -> Option<MethodId> {
        self.method_ids.get(&(class, name, descriptor)).copied()
    }

    /// The method that runs when an object of the class is asked, if it is not the JDK's: the
    /// nearest one in its line of classes, or else a default method.
    pub fn resolve(&self, class: ClassId, name: Sym, descriptor: Sym) -> Option<MethodId> {
        let mut line = Some(class);
        let mut steps = 0;
        while let Some(at) = line.filter(|_| steps < MAX_ANCESTORS) {
            if let Some(found) = self.declared(at, name, descriptor) {
                return Some(found);
            }
            line = self.class(at).parent;
            steps += 1;
        }
        self.ancestors(class)
            .into_iter()
            .filter_map(|at| self.declared(at, name, descriptor))
            .find(|&found| !self.method(found).is_abstract())
    }

    /// The class itself and everything it extends or implements, nearest first.
    pub fn ancestors(&self, class: ClassId) -> Vec<ClassId> {
        let mut found = vec![class];
        let mut at = 0;
        while let Some(&next) = found.get(at).filter(|_| at < MAX_ANCESTORS) {
            let class = self.class(next);
            for &parent in class.parent.iter().chain(&class.interfaces) {
                if !found.contains(&parent) {
                    found.push(parent);
                }
            }
            at += 1;
        }
        found
    }

    pub fn is_subtype(&self, class: ClassId, of: ClassId) -> bool {
        class == of || self.ancestors(class).contains(&of)
    }

    /// The class itself and all below it; at most `most`.
    pub fn descendants(&self, class: ClassId, most: usize) -> Vec<ClassId> {
        let mut seen = FxHashSet::from_iter([class]);
        let mut found = vec![class];
        let mut at = 0;
        while let Some(&next) = found.get(at) {
            for &child in &self.class(next).children {
                if found.len() < most && seen.insert(child) {
                    found.push(child);
                }
            }
            at += 1;
        }
        found
    }
}

/// No real class has more ancestors; a malformed, cyclic hierarchy has.
const MAX_ANCESTORS: usize = 200;

impl Linker for Program {
    fn class(&mut self, name: &str) -> ClassId {
        self.class_id(name)
    }

    /// The field as its declaring class knows it: code may name it by any subclass.
    fn field(&mut self, class: &str, name: &str, descriptor: &str) -> FieldId {
        let class = self.class_id(class);
        let sym = self.names.intern(name);
        let known = self
            .ancestors(class)
            .into_iter()
            .find_map(|class| self.field_ids.get(&(class, sym)).copied());
        known.unwrap_or_else(|| self.field_id(class, name, descriptor))
    }

    fn method(&mut self, class: &str, name: &str, descriptor: &str) -> RefId {
        let class = self.class_id(class);
        let (name, descriptor) = (self.names.intern(name), self.names.intern(descriptor));
        let found = MethodRef { class, name, descriptor };
        *self.ref_ids.entry(found).or_insert_with(|| {
            self.refs.push(found);
            RefId::new(self.refs.len() - 1)
        })
    }
}
