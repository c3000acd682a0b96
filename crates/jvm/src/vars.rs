//! From (object, slot) to variable: the look-up that every access makes.
//!
//! Open addressing with linear probing. The hash of a key is that of its object plus the slot, so the
//! elements of an array lie side by side and a loop over it stays in the cache.

use untorn_trace::ids::VarId;

#[derive(Clone, Copy, Debug)]
struct Entry {
    object: u32,
    slot: u32,
    /// [`FREE`] if there is none.
    var: u32,
}

const FREE: u32 = u32::MAX;
const EMPTY: Entry = Entry { object: 0, slot: 0, var: FREE };

#[derive(Debug)]
pub(crate) struct VarMap {
    /// A power of two, at most 5/8 full.
    entries: Vec<Entry>,
    used: usize,
}

impl Default for VarMap {
    fn default() -> Self {
        Self { entries: vec![EMPTY; 1 << 12], used: 0 }
    }
}

impl VarMap {
    fn start(&self, object: u32, slot: u32) -> usize {
        let hash = u64::from(object).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (hash as usize).wrapping_add(slot as usize) & (self.entries.len() - 1)
    }

    #[inline]
    pub(crate) fn find(&self, object: u32, slot: u32) -> Option<VarId> {
        let mask = self.entries.len() - 1;
        let mut at = self.start(object, slot);
        loop {
            let entry = self.entries[at];
            if entry.object == object && entry.slot == slot && entry.var != FREE {
                return Some(VarId(entry.var));
            }
            if entry.var == FREE {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a key that is not there yet.
    pub(crate) fn insert(&mut self, object: u32, slot: u32, var: VarId) {
        if (self.used + 1) * 8 > self.entries.len() * 5 {
            let larger = vec![EMPTY; self.entries.len() * 2];
            let old = std::mem::replace(&mut self.entries, larger);
            for entry in old.into_iter().filter(|entry| entry.var != FREE) {
                self.place(entry);
            }
        }
        self.place(Entry { object, slot, var: var.0 });
        self.used += 1;
    }

    fn place(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut at = self.start(entry.object, entry.slot);
        while self.entries[at].var != FREE {
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_finds_its_variable() {
        let mut map = VarMap::default();
        let keys = (0..300_u32).flat_map(|object| (0..100_u32).map(move |slot| (object, slot)));
        for (var, (object, slot)) in keys.clone().enumerate() {
            assert_eq!(map.find(object, slot), None);
            map.insert(object, slot, VarId(var as u32));
        }
        for (var, (object, slot)) in keys.enumerate() {
            assert_eq!(map.find(object, slot), Some(VarId(var as u32)));
        }
        assert_eq!(map.find(300, 0), None);
    }
}
