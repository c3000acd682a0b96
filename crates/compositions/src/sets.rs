//! Atomic sets: fields that belong together, because code that locks their owner touches them.
//!
//! Paper: ICFinder, section 3. As printed (all fields reachable from `this` in a synchronized
//! block, sets that share a field merged) the sets of a real application collapse into one of
//! thousands of fields. Deviations: only fields of the locked object itself count, its own and those
//! of its ancestors; sets belong to a concrete class, so that two children of one abstract class
//! are not merged; static fields belong to their class, and only with a lock of their class;
//! what cannot change is left out. What the lock protects deeper down is the business of the
//! objects there. A thread-safe object of the JDK is a set by itself.
//!
//! Promise: none. Sets are guesses about what programmers mean.

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_bytecode::access;

use crate::boundary::Boundary;
use crate::effects::{Effects, matters};
use untorn_codemodel::access_paths::Base;
use untorn_codemodel::ids::{ClassId, FieldId, MethodId};
use untorn_codemodel::program::Program;

/// An atomic set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SetId(u32);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomicSet {
    /// The class whose objects hold it; of static fields, the class itself.
    pub class: ClassId,
    pub is_static: bool,
    /// In order of their numbers.
    pub fields: Vec<FieldId>,
}

#[derive(Debug, Default)]
pub struct Sets {
    sets: Vec<AtomicSet>,
    /// The sets a field is in, with the concrete class.
    of_field: FxHashMap<FieldId, Vec<(ClassId, SetId)>>,
    known: FxHashMap<(Vec<FieldId>, bool), SetId>,
    /// Fields that one call writes under one lock, the smaller number first.
    written_together: FxHashSet<(FieldId, FieldId)>,
}

impl Sets {
    pub fn new(program: &mut Program, effects: &Effects) -> Self {
        let mut sets = Self::default();
        let states: Vec<FieldId> =
            Boundary::classes().map(|class| program.state_of(class)).collect();
        for state in states {
            sets.add(program.field(state).class, false, vec![state]);
        }
        let mutable = mutable(program, effects);
        for at in 0..program.classes.len() {
            let class = ClassId::new(at);
            if program.class(class).is_ours() && !program.class(class).is_interface() {
                sets.find(program, effects, class, &mutable);
            }
        }
        sets
    }

    pub fn set(&self, id: SetId) -> &AtomicSet {
        &self.sets[id.0 as usize]
    }

    pub fn iter(&self) -> std::slice::Iter<'_, AtomicSet> {
        self.sets.iter()
    }

    /// The set of a field in objects of a class, as near as that is known. None if objects of the
    /// class cannot have the field.
    pub fn lookup(
        &self,
        program: &Program,
        class: Option<ClassId>,
        field: FieldId,
    ) -> Option<SetId> {
        let found = self.of_field.get(&field)?;
        let home = program.field(field);
        let fits = |class| {
            home.is_state
                || program.is_subtype(class, home.class)
                || program.is_subtype(home.class, class)
        };
        if class.is_some_and(|class| !fits(class)) {
            return None;
        }
        if found.len() == 1 {
            return Some(found[0].1);
        }
        let exact = class.and_then(|class| found.iter().find(|(other, _)| *other == class));
        let near = || {
            let class = class?;
            found.iter().find(|(other, _)| program.is_subtype(*other, class))
        };
        exact.or_else(near).or(found.first()).map(|&(_, set)| set)
    }

    /// Whether some call writes both under one lock.
    pub fn are_written_together(&self, a: FieldId, b: FieldId) -> bool {
        self.written_together.contains(&(a.min(b), a.max(b)))
    }

    fn add(&mut self, class: ClassId, is_static: bool, fields: Vec<FieldId>) {
        let set = *self.known.entry((fields.clone(), is_static)).or_insert_with(|| {
            self.sets.push(AtomicSet { class, is_static, fields: fields.clone() });
            SetId(self.sets.len() as u32 - 1)
        });
        for field in fields {
            self.of_field.entry(field).or_default().push((class, set));
        }
    }

    /// The sets of one class: of its objects, and of its static fields.
    fn find(
        &mut self,
        program: &Program,
        effects: &Effects,
        class: ClassId,
        mutable: &FxHashSet<FieldId>,
    ) {
        let (mut own, mut statics) = (Vec::new(), Vec::new());
        // What other children of an ancestor have is none of this class's fields.
        let line = program.ancestors(class);
        for method in visible(program, class) {
            let (mut touched, mut fixed) = (Vec::new(), Vec::new());
            let (mut written, mut all_written) = (Vec::new(), Vec::new());
            for effect in effects.of(method).iter().filter(|effect| effect.is_locked(0)) {
                let Some(&field) = effect.place.path().first() else { continue };
                // A thread-safe object protects its own contents.
                let other = effect.place.last().is_some_and(|last| program.field(last).is_state);
                if other || !mutable.contains(&field) || !matters(program, field) {
                    continue;
                }
                match effect.place.base {
                    Base::Parameter(0)
                        if !program.method(method).is_static()
                            && line.contains(&program.field(field).class) =>
                    {
                        touched.push(field);
                        written.extend(effect.write.then_some(field));
                    }
                    Base::Class(other) if other == class => {
                        fixed.push(field);
                        all_written.extend(effect.write.then_some(field));
                    }
                    _ => {}
                }
            }
            self.write_together(&written);
            self.write_together(&all_written);
            join(&mut own, touched);
            join(&mut statics, fixed);
        }
        own.into_iter().for_each(|fields| self.add(class, false, fields));
        statics.into_iter().for_each(|fields| self.add(class, true, fields));
    }

    fn write_together(&mut self, written: &[FieldId]) {
        for &a in written {
            for &b in written.iter().filter(|&&b| a < b) {
                self.written_together.insert((a, b));
            }
        }
    }
}

/// Adds a group of fields, and merges what it shares a field with.
fn join(groups: &mut Vec<Vec<FieldId>>, mut fields: Vec<FieldId>) {
    if fields.is_empty() {
        return;
    }
    let mut at = 0;
    while at < groups.len() {
        if groups[at].iter().any(|field| fields.contains(field)) {
            fields.extend(groups.swap_remove(at));
            at = 0;
        } else {
            at += 1;
        }
    }
    fields.sort_unstable();
    fields.dedup();
    groups.push(fields);
}

/// The methods that objects of a class have and that it or an analysed ancestor declares.
fn visible(program: &Program, class: ClassId) -> Vec<MethodId> {
    let mut names = FxHashSet::default();
    let mut found = Vec::new();
    for ancestor in program.ancestors(class) {
        for &id in &program.class(ancestor).methods {
            let method = program.method(id);
            let inherited = ancestor == class || !method.is_static();
            let private = method.access & access::PRIVATE != 0;
            let is_new = names.insert((method.name, method.descriptor)) || private;
            if inherited && is_new && method.body.is_some() {
                found.push(id);
            }
        }
    }
    found
}

/// Fields that are changed after construction, themselves or what they hold.
fn mutable(program: &Program, effects: &Effects) -> FxHashSet<FieldId> {
    let mut found = FxHashSet::default();
    for id in program.method_ids() {
        if program.text(program.method(id).name).starts_with('<') {
            continue;
        }
        for effect in effects.of(id).iter().filter(|effect| effect.write) {
            found.extend(effect.place.path().iter().copied());
        }
    }
    found
}
