//! From the bytes of a short name to its id, exactly and without branches that depend on the name.
//!
//! A name of up to 7 bytes, padded with zeros, and its kind in the eighth byte *are* the key: one
//! compared word decides, no string is touched. (No name contains a NUL, so the padding is exact.)
//! Where names are longer, keys of two words hold up to 15 bytes in the same way.

use std::ops::BitOr;

/// What a name is the name of. The discriminant becomes the last byte of a key; a name's kind is
/// not 0, so the zero of an empty slot equals no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// Not known yet: see [`Key::with_kind`].
    Unknown = 0,
    Thread = 1,
    Var = 2,
    Lock = 3,
    Label = 4,
    Site = 5,
    /// The target of an operation that has none.
    Nothing = 6,
    /// A thread and an operation.
    Head = 7,
}

/// How many bytes can be read where a key is made, whatever the length of the name.
pub(super) const LOADED: usize = 16;

/// Lengths that can be asked for: more than the distance of two separators, a power of two.
pub(super) const LENGTHS: usize = 128;

pub(super) trait Key: Copy + Eq + Default + BitOr<Output = Self> + 'static {
    /// The longest name that has a key.
    const LONGEST: usize = size_of::<Self>() - 1;

    /// The key of the first `length` of the loaded bytes; a key that no name has if that is more
    /// than [`Key::LONGEST`].
    fn new(loaded: &[u8; LOADED], length: usize, kind: Kind) -> Self;

    /// A key of unknown kind becomes one of `kind`.
    fn with_kind(self, kind: Kind) -> Self;

    /// The key of `name`, if it is short enough.
    fn of(name: &[u8], kind: Kind) -> Option<Self> {
        let mut loaded = [0; LOADED];
        loaded.get_mut(..name.len())?.copy_from_slice(name);
        (name.len() <= Self::LONGEST).then(|| Self::new(&loaded, name.len(), kind))
    }

    fn hash(self) -> u64;
}

/// `KEPT[n]` keeps the first `n` bytes of a word, and nothing if the word is too short.
static KEPT: [u64; LENGTHS] = {
    let mut kept = [0; LENGTHS];
    let mut length = 0;
    while length < 8 {
        kept[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    kept
};

impl Key for u64 {
    #[inline(always)]
    fn new(loaded: &[u8; LOADED], length: usize, kind: Kind) -> Self {
        let (words, _) = loaded.as_chunks::<8>();
        (Self::from_le_bytes(words[0]) & KEPT[length % LENGTHS]).with_kind(kind)
    }

    #[inline(always)]
    fn with_kind(self, kind: Kind) -> Self {
        self | (kind as Self) << 56
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        // Tables use the highest bits, and those depend on every byte.
        self.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

static KEPT_LONG: [u128; LENGTHS] = {
    let mut kept = [0; LENGTHS];
    let mut length = 0;
    while length < 16 {
        kept[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    kept
};

impl Key for u128 {
    #[inline(always)]
    fn new(loaded: &[u8; LOADED], length: usize, kind: Kind) -> Self {
        (Self::from_le_bytes(*loaded) & KEPT_LONG[length % LENGTHS]).with_kind(kind)
    }

    #[inline(always)]
    fn with_kind(self, kind: Kind) -> Self {
        self | (kind as Self) << 120
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        let (low, high) = (self as u64, (self >> 64) as u64);
        (low ^ high.rotate_left(29)).hash()
    }
}

/// Two names and their ids, looked at together. A key of zero is a free place; the first is taken
/// first.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket<K> {
    keys: [K; 2],
    ids: [u32; 2],
}

/// Buckets from which on a table is filled more densely: it is larger than the near caches anyway,
/// and memory counts, too.
const LARGE: usize = 1 << 17;

/// Open addressing: a bucket that is full overflows into the next one.
#[derive(Debug)]
pub(super) struct KeyTable<K> {
    /// A power of two of buckets. Half as many names or fewer while it is small, so that nearly
    /// every key is in the first bucket looked at and the branch on that is predicted; not many
    /// fewer, for a table in a near cache is faster than one without overflow.
    buckets: Vec<Bucket<K>>,
    /// Takes a hash to a place in `buckets`.
    shift: u32,
    taken: usize,
}

impl<K: Key> KeyTable<K> {
    pub(super) fn new() -> Self {
        Self::with_bits(8)
    }

    fn with_bits(bits: u32) -> Self {
        Self { buckets: vec![Bucket::default(); 1 << bits], shift: u64::BITS - bits, taken: 0 }
    }

    #[inline(always)]
    fn place(&self, key: K) -> usize {
        (key.hash() >> self.shift) as usize
    }

    /// The id of a key, and whether it was found at first sight, which is nearly always so if it
    /// is there at all. Nothing branches here: a caller checks the results of several calls at once.
    #[inline(always)]
    pub(super) fn glance(&self, key: K) -> (u32, bool) {
        let bucket = &self.buckets[self.place(key) & (self.buckets.len() - 1)];
        // Not `||`: which of the two it is would be a branch on something as good as random.
        let second = bucket.keys[1] == key;
        (bucket.ids[usize::from(second)], (bucket.keys[0] == key) | second)
    }

    pub(super) fn find(&self, key: K) -> Option<u32> {
        let mask = self.buckets.len() - 1;
        let mut at = self.place(key);
        loop {
            let Bucket { keys, ids } = &self.buckets[at];
            for (known, &id) in keys.iter().zip(ids) {
                if *known == key {
                    return Some(id);
                }
                if *known == K::default() {
                    return None;
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Remembers the id of a name; returns `false` if it is too long or known already.
    pub(super) fn learn(&mut self, name: &[u8], kind: Kind, id: u32) -> bool {
        K::of(name, kind).is_some_and(|key| self.insert(key, id))
    }

    /// Adds a key; returns `false` if it is there already.
    pub(super) fn insert(&mut self, key: K, id: u32) -> bool {
        if self.find(key).is_some() {
            return false;
        }
        let buckets = self.buckets.len();
        let enough = if buckets < LARGE { buckets / 2 } else { buckets };
        if self.taken >= enough {
            self.grow();
        }
        let mask = self.buckets.len() - 1;
        let mut at = self.place(key);
        loop {
            let Bucket { keys, ids } = &mut self.buckets[at];
            if let Some(free) = keys.iter().position(|known| *known == K::default()) {
                keys[free] = key;
                ids[free] = id;
                self.taken += 1;
                return true;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = Self::with_bits(u64::BITS - self.shift + 1);
        let old = std::mem::replace(self, larger);
        for Bucket { keys, ids } in &old.buckets {
            for (&key, &id) in keys.iter().zip(ids) {
                if key != K::default() {
                    self.insert(key, id);
                }
            }
        }
    }
}
