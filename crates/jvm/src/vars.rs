//! From (object, slot) to variable: the look-up that every access makes.
//!
//! Open addressing with linear probing. Eight neighbouring slots of an object have neighbouring places, so a
//! loop over an array finds most of its elements in the cache line of the one before; the groups of eight
//! are scattered, because longer runs would collide with one another and grow together.

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
    #[inline]
    fn start(&self, object: u32, slot: u32) -> usize {
        let group = u64::from(object) << 32 | u64::from(slot >> 3);
        // The product's middle bits must depend on both halves, so they are folded first.
        let folded = group ^ group >> 29;
        let hash = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        ((hash << 3) as usize | (slot & 7) as usize) & (self.entries.len() - 1)
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

    /// How many places are looked at on average.
    fn probes(keys: impl Iterator<Item = (u32, u32)> + Clone) -> f64 {
        let mut map = VarMap::default();
        for (object, slot) in keys.clone() {
            map.insert(object, slot, VarId(0));
        }
        let mask = map.entries.len() - 1;
        let (mut looked, mut all) = (0, 0);
        for (object, slot) in keys {
            let mut at = map.start(object, slot);
            while (map.entries[at].object, map.entries[at].slot) != (object, slot) {
                at = (at + 1) & mask;
                looked += 1;
            }
            all += 1;
            looked += 1;
        }
        f64::from(looked) / f64::from(all)
    }

    #[test]
    fn look_ups_are_short_for_fields_of_many_objects_and_for_large_arrays() {
        let fields = (1..200_000_u32).flat_map(|object| [17, 18].map(|slot| (object, slot)));
        let rows = (1..400_u32).flat_map(|object| (0..500_u32).map(move |slot| (object, slot)));
        let one = (0..300_000_u32).map(|slot| (5, slot));
        for (what, average) in
            [("fields", probes(fields)), ("rows", probes(rows)), ("one array", probes(one))]
        {
            assert!(average < 6.0, "{what}: {average:.1} places looked at");
        }
    }

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
