//! From (object, slot) to variable: the look-up of every access.
//!
//! Eight neighbouring slots of an object share a *group*, half a cache line with their variables; a hash table
//! finds the group. A loop over an array thus asks for the same entry and the same line eight times
//! in a row, and the table has few entries, spread evenly. (A table of single slots in which neighbours
//! are kept together is slower: its runs collide with one another.)

use untorn_trace::ids::VarId;

#[derive(Clone, Copy, Debug)]
struct Entry {
    object: u32,
    /// The slots without their lowest bits.
    slots: u32,
    /// Index in `groups`; [`NONE`] if the entry is free.
    group: u32,
}

const NONE: u32 = u32::MAX;
const FREE: Entry = Entry { object: 0, slots: 0, group: NONE };

/// Slots in a group, as a power of two.
const BITS: u32 = 3;
const GROUP: usize = 1 << BITS;

#[derive(Debug)]
pub(crate) struct VarMap {
    /// A power of two, at most half full; open addressing with linear probing.
    entries: Vec<Entry>,
    /// Variables by slot; [`NONE`] for those that have not occurred.
    groups: Vec<[u32; GROUP]>,
}

impl Default for VarMap {
    fn default() -> Self {
        Self { entries: vec![FREE; 1 << 10], groups: Vec::new() }
    }
}

impl VarMap {
    /// The entry of a group: its own, or the free one where it belongs.
    #[inline]
    fn place(&self, object: u32, slots: u32) -> usize {
        let key = u64::from(object) << 32 | u64::from(slots);
        // The product's middle bits must depend on both halves, so they are folded first.
        let hash = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
        let mask = self.entries.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = &self.entries[at];
            if (entry.object == object && entry.slots == slots) || entry.group == NONE {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub(crate) fn find(&self, object: u32, slot: u32) -> Option<VarId> {
        let group = self.entries[self.place(object, slot >> BITS)].group;
        let var = self.groups.get(group as usize)?[slot as usize % GROUP];
        (var != NONE).then_some(VarId(var))
    }

    /// Adds a key that is not there yet.
    pub(crate) fn insert(&mut self, object: u32, slot: u32, var: VarId) {
        let slots = slot >> BITS;
        let mut at = self.place(object, slots);
        if self.entries[at].group == NONE {
            if (self.groups.len() + 1) * 2 > self.entries.len() {
                self.grow();
                at = self.place(object, slots);
            }
            self.entries[at] = Entry { object, slots, group: self.groups.len() as u32 };
            self.groups.push([NONE; GROUP]);
        }
        let group = self.entries[at].group;
        self.groups[group as usize][slot as usize % GROUP] = var.0;
    }

    fn grow(&mut self) {
        let larger = vec![FREE; self.entries.len() * 2];
        for entry in std::mem::replace(&mut self.entries, larger) {
            if entry.group != NONE {
                let at = self.place(entry.object, entry.slots);
                self.entries[at] = entry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The average number of probed entries must not exceed this.
    fn probes(keys: impl Iterator<Item = (u32, u32)> + Clone) -> f64 {
        let mut map = VarMap::default();
        for (object, slot) in keys.clone() {
            map.insert(object, slot, VarId(0));
        }
        // A look-up that starts at the beginning of a run of used entries probes all of it.
        let used: Vec<bool> = map.entries.iter().map(|entry| entry.group != NONE).collect();
        let runs = used.split(|used| !used).map(|run| run.len() as f64);
        let (looked, all) = runs
            .fold((0.0, 0.0), |(looked, all), run| (looked + run * (run + 1.0) / 2.0, all + run));
        looked / all
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
