//! Facts of every class that the JVM loaded: its superclass and its fields.
//!
//! An instruction names the class through which it reaches a field, not the one that declares it. Two
//! instructions mean the same variable iff they mean the same declared field, so the declaring class
//! has to be found. Classes are known by name: two class loaders that define different classes of
//! the same name share an entry, the last one.

use rustc_hash::FxHashMap;
use untorn_bytecode::ClassFile;

/// A field as declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldFacts {
    pub is_volatile: bool,
    pub is_final: bool,
    /// The class was rewritten, so every write of the program is recorded.
    pub recorded: bool,
}

#[derive(Debug, Default)]
struct ClassFacts {
    parent: Option<String>,
    interfaces: Vec<String>,
    fields: FxHashMap<String, FieldFacts>,
}

#[derive(Debug, Default)]
pub struct Classes {
    by_name: FxHashMap<String, ClassFacts>,
}

const ACC_FINAL: u16 = 0x0010;
const ACC_VOLATILE: u16 = 0x0040;

impl Classes {
    pub fn add(&mut self, class: &ClassFile<'_>, recorded: bool) {
        let facts = |access: u16| FieldFacts {
            is_volatile: access & ACC_VOLATILE != 0,
            is_final: access & ACC_FINAL != 0,
            recorded,
        };
        let fields = class.fields().iter();
        let entry = ClassFacts {
            parent: class.super_name().map(str::to_owned),
            // Fields of an interface whose name cannot be read cannot be named, either.
            interfaces: class
                .interfaces()
                .filter_map(|name| Some(name.ok()?.into_owned()))
                .collect(),
            fields: fields.map(|field| (field.name().to_owned(), facts(field.access()))).collect(),
        };
        self.by_name.insert(class.name().to_owned(), entry);
    }

    pub fn knows(&self, class: &str) -> bool {
        self.by_name.contains_key(class)
    }

    /// The class and its superclasses, as far as they are loaded.
    pub fn lineage<'a>(&'a self, class: &'a str) -> impl Iterator<Item = &'a str> {
        let parent = |name: &&'a str| self.by_name.get(*name)?.parent.as_deref();
        // The bound guards against a hierarchy that names itself.
        std::iter::successors(Some(class), parent).take(1000)
    }

    /// The class that declares the field `name` accessed through `class`, and facts of the field.
    pub fn declaring<'a>(&'a self, class: &'a str, name: &str) -> Option<(&'a str, FieldFacts)> {
        // The order of the JVM's own field resolution: the class, its interfaces, its superclass.
        let mut at = Some(class);
        // A hierarchy that names itself is refused by the JVM; the bound only guards against it.
        for _ in 0..1000 {
            let current = at?;
            let facts = self.by_name.get(current)?;
            if let Some(found) = facts.fields.get(name) {
                return Some((current, *found));
            }
            if let Some(found) = self.in_interfaces(&facts.interfaces, name, 0) {
                return Some(found);
            }
            at = facts.parent.as_deref();
        }
        None
    }

    fn in_interfaces<'a>(
        &'a self,
        interfaces: &'a [String],
        name: &str,
        depth: usize,
    ) -> Option<(&'a str, FieldFacts)> {
        if depth > 100 {
            return None;
        }
        interfaces.iter().find_map(|interface| {
            let facts = self.by_name.get(interface)?;
            match facts.fields.get(name) {
                Some(found) => Some((interface.as_str(), *found)),
                None => self.in_interfaces(&facts.interfaces, name, depth + 1),
            }
        })
    }
}
