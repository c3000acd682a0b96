//! Memory that was allocated: objects, by where they were allocated.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use untorn_trace::ids::ObjectId;

use super::Converter;
use super::meaning::Meaning;

#[derive(Clone, Debug)]
struct Object {
    end: usize,
    id: ObjectId,
    /// `bank.c:12`
    place: String,
    /// How many were allocated there before, and this one.
    number: u32,
}

/// Memory that the author has named.
#[derive(Clone, Debug)]
struct NamedMemory {
    end: usize,
    id: ObjectId,
    name: String,
    number: u32,
}

#[derive(Debug, Default)]
pub(super) struct Heap {
    /// By their first address.
    named: BTreeMap<usize, NamedMemory>,
    /// By their first address.
    objects: BTreeMap<usize, Object>,
    places: FxHashMap<String, u32>,
    /// Structures that are global variables, or parts of them.
    globals: FxHashMap<String, ObjectId>,
    ids: u32,
}

impl Heap {
    fn next_id(&mut self) -> ObjectId {
        self.ids += 1;
        ObjectId(self.ids)
    }

    pub(super) fn object_of_global(&mut self, name: &str) -> ObjectId {
        if let Some(&id) = self.globals.get(name) {
            return id;
        }
        let id = self.next_id();
        self.globals.insert(name.to_owned(), id);
        id
    }

    fn add(&mut self, address: usize, bytes: usize, place: String) {
        let number = self.places.entry(place.clone()).or_default();
        *number += 1;
        let number = *number;
        let id = self.next_id();
        self.objects.insert(address, Object { end: address + bytes, id, place, number });
    }

    /// What lies in named memory: `account->balance`, of which there may be several.
    fn named_part(&self, address: usize) -> Option<(String, String, ObjectId)> {
        let (from, memory) = self.named.range(..=address).next_back()?;
        if address >= memory.end {
            return None;
        }
        let offset = address - from;
        let suffix = if offset == 0 { String::new() } else { format!("+{offset}") };
        let name = format!("{}{suffix}", memory.name);
        Some((format!("{name} #{}", memory.number), name, memory.id))
    }

    fn remove(&mut self, address: usize, bytes: usize) {
        let end = address.saturating_add(bytes.max(1));
        let gone: Vec<usize> = self.named.range(address..end).map(|(&from, _)| from).collect();
        for from in gone {
            self.named.remove(&from);
        }
        let gone: Vec<usize> = self.objects.range(address..end).map(|(&from, _)| from).collect();
        for from in gone {
            self.objects.remove(&from);
        }
    }

    /// The name of a part of an object, the same for all objects of its place, and the object.
    pub(super) fn part(&self, address: usize) -> Option<(String, String, ObjectId)> {
        if let Some(found) = self.named_part(address) {
            return Some(found);
        }
        let (from, object) = self.objects.range(..=address).next_back()?;
        if address >= object.end {
            return None;
        }
        let Object { id, place, number, .. } = object;
        let offset = address - from;
        let name = format!("heap({place})#{number}.+{offset}");
        Some((name, format!("heap({place}).+{offset}"), *id))
    }
}

impl Converter {
    pub(super) fn allocated(&mut self, address: usize, bytes: u64, meaning: Meaning) {
        let bytes = bytes as usize;
        self.forget_memory(address, bytes);
        let place = match self.tables.sites.get(meaning.site) {
            Some(site) if site.line > 0 => {
                let file = site.file.rsplit('/').next().unwrap_or(site.file);
                format!("{file}:{}", site.line)
            }
            Some(site) => site.position.to_string(),
            None => "unknown".to_owned(),
        };
        self.heap.add(address, bytes, place);
    }

    /// The author names memory.
    pub(super) fn name_memory(&mut self, address: usize, value: u64) {
        let (name, bytes) = (crate::texts::get(value >> 32), (value & 0xffff_ffff) as usize);
        // What was accessed before has another name already.
        self.words.forget(address, bytes);
        let number = self.heap.places.entry(name.clone()).or_default();
        *number += 1;
        let number = *number;
        let id = self.heap.next_id();
        let memory = NamedMemory { end: address + bytes, id, name, number };
        self.heap.named.insert(address, memory);
    }

    pub(super) fn freed(&mut self, address: usize, bytes: u64) {
        self.forget_memory(address, bytes as usize);
    }

    /// What lay there is no more.
    fn forget_memory(&mut self, address: usize, bytes: usize) {
        self.words.forget(address, bytes);
        self.heap.remove(address, bytes);
        self.locks.forget(address, bytes);
        self.sync.forget(address, bytes);
    }
}
