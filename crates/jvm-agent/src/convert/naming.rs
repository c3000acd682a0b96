//! Numbers and names of objects, and the names of the variables and locks that belong to them.

use crate::identities::FIRST;
use std::fmt::Write as _;

use untorn_runtime::buffers::Record;
use untorn_trace::VarRole;
use untorn_trace::ids::{LockId, MemberId, ObjectId};

use super::meaning::{Meaning, RecordKind};
use super::{ArrayName, Converter, Declared, Object};

impl Converter {
    /// Writes the name of a variable into `name`.
    pub(super) fn name_var(&mut self, object: u32, slot: u32, meaning: Meaning) {
        let number = self.number(object);
        let name = &mut self.name;
        name.clear();
        // Writing to a string does not fail.
        let _ = match meaning.op {
            RecordKind::Element { .. } => match self.array_names.get(&number) {
                Some(holder) => write!(name, "{}[{slot}]", holder.name),
                None => {
                    let element = &self.declared[meaning.number as usize].name;
                    write!(name, "{element}#{number}[{slot}]")
                }
            },
            _ => {
                let Declared { class_name, name: field, .. } = &self.declared[slot as usize];
                match object {
                    0 => write!(name, "{class_name}.{field}"),
                    _ => write!(name, "{class_name}#{number}.{field}"),
                }
            }
        };
    }

    /// The kind of a variable, and the object that it belongs to.
    pub(super) fn place_of(
        &mut self,
        object: u32,
        slot: u32,
        meaning: Meaning,
    ) -> (VarRole, ObjectId, MemberId) {
        let number = self.number(object);
        if let RecordKind::Element { .. } = meaning.op {
            let held = self.array_names.get(&number);
            let owner = held.map_or(ObjectId::NONE, |held| held.owner);
            let member = match held {
                Some(held) => self.tables.members.intern(&format!("{}[]", held.member)),
                None => self.declared[meaning.number as usize].member,
            };
            return (VarRole::Element, owner, member);
        }
        let &Declared { class, role, member, .. } = &self.declared[slot as usize];
        match (object, role) {
            (0, VarRole::Field) => (VarRole::Static, ObjectId::class(class), member),
            (0, _) => (role, ObjectId::class(class), member),
            _ => (role, ObjectId(number), member),
        }
    }

    /// An array is named after the first variable that was seen to hold it.
    #[inline]
    pub(super) fn name_array(&mut self, record: &Record, number: u32, slot: u32, meaning: Meaning) {
        if self.is_named(record.value as u32) {
            return;
        }
        self.name_var(record.object, slot, meaning);
        let (_, owner, member) = self.place_of(record.object, slot, meaning);
        let member = self.tables.members.get(member).unwrap_or_default().to_owned();
        let name = self.name.clone();
        self.array_names.insert(number, ArrayName { name, member, owner });
    }

    pub(super) fn object(&mut self, identity: u32) -> &mut Object {
        self.objects.entry(identity).or_default()
    }

    /// Whether an object already has a name; marks it as named.
    #[inline]
    pub(super) fn is_named(&mut self, identity: u32) -> bool {
        let (table, index) = place_of_identity(identity);
        let (named, place, bit) = (&mut self.named[table], index / 64, 1 << (index % 64));
        if place >= named.len() {
            named.resize((place + 1).next_power_of_two(), 0);
        }
        let was = named[place] & bit != 0;
        named[place] |= bit;
        was
    }

    /// The number of an object by first occurrence; 0 is null.
    #[inline]
    pub(super) fn number(&mut self, identity: u32) -> u32 {
        if identity == 0 {
            return 0;
        }
        let (table, index) = place_of_identity(identity);
        match self.numbers[table].get(index) {
            Some(&number) if number != 0 => number,
            _ => self.new_number(identity),
        }
    }

    #[cold]
    pub(super) fn new_number(&mut self, identity: u32) -> u32 {
        let (table, index) = place_of_identity(identity);
        let numbers = &mut self.numbers[table];
        if index >= numbers.len() {
            numbers.resize((index + 1).next_power_of_two(), 0);
        }
        self.occurred += 1;
        numbers[index] = self.occurred;
        self.occurred
    }

    pub(super) fn lock(&mut self, identity: u32, meaning: &Meaning) -> LockId {
        if let Some(lock) = self.object(identity).lock {
            return lock;
        }
        let number = self.number(identity);
        let name = match self.lock_owner(meaning) {
            Some((class, true)) => format!("{class}.class"),
            Some((class, false)) => format!("{class}#{number}"),
            None => format!("Object#{number}"),
        };
        let lock = self.tables.locks.push(&name);
        self.object(identity).lock = Some(lock);
        lock
    }

    /// For the monitor of a synchronized method: the class, and whether it is the class that is locked.
    pub(super) fn lock_owner(&mut self, meaning: &Meaning) -> Option<(String, bool)> {
        if !matches!(meaning.op, RecordKind::Enter { .. }) || !meaning.recorded {
            return None;
        }
        let (class, is_static) = self
            .tables
            .sites
            .get(meaning.site)
            .map(|site| (site.class.to_owned(), meaning.holds_array))?;
        Some((self.short_name(&class.replace('.', "/")), is_static))
    }
}

/// Two tables, for objects from before the program began and for those of the program: the numbers of each are small.
#[inline]
fn place_of_identity(identity: u32) -> (usize, usize) {
    match identity.checked_sub(FIRST) {
        Some(index) => (1, index as usize),
        None => (0, identity as usize),
    }
}
