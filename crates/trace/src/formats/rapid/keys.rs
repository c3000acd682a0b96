//! From the bytes of a short name to its id, exactly and without branches that depend on the name.
//!
//! A name of up to 7 bytes, padded with zeros, and its kind in the eighth byte *are* the key: one
//! compared word decides, no string is touched. (No name contains a NUL, so the padding is exact.)
//! Names of up to 15 bytes have keys of two words, in a table of their own.

/// What a name is the name of. The discriminant becomes the last byte of a key; no kind is 0, so
/// the zero of an empty slot equals no key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    Thread = 1,
    Var = 2,
    Lock = 3,
    Label = 4,
    Site = 5,
    /// The target of an operation that has none.
    Nothing = 6,
}

/// How many bytes are loaded to make a key, whatever the length of the name.
pub(super) const LOADED: usize = 16;

/// The longest name that has a key.
pub(super) const LONGEST: usize = LOADED - 1;

/// The longest name that has a key of one word.
const LONGEST_SHORT: usize = 7;

pub(super) trait Key: Copy + Eq + Default {
    fn hash(self) -> u64;
}

impl Key for u64 {
    #[inline(always)]
    fn hash(self) -> u64 {
        // Tables use the highest bits, and those depend on every byte.
        self.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Key for u128 {
    #[inline(always)]
    fn hash(self) -> u64 {
        let (low, high) = (self as u64, (self >> 64) as u64);
        let wide = u128::from(low ^ 0x9e37_79b9_7f4a_7c15) * u128::from(high ^ low.rotate_left(32));
        (wide >> 64) as u64 ^ wide as u64
    }
}

/// `KEPT[n]` keeps the first `n` bytes of a loaded word.
static KEPT: [u64; 8] = {
    let mut kept = [0; 8];
    let mut length = 0;
    while length < kept.len() {
        kept[length] = (1 << (8 * length)) - 1;
        length += 1;
    }
    kept
};

#[inline(always)]
fn short_key(loaded: &[u8; LOADED], length: usize, kind: Kind) -> u64 {
    let (words, _) = loaded.as_chunks::<8>();
    u64::from_le_bytes(words[0]) & KEPT[length % KEPT.len()] | (kind as u64) << 56
}

#[inline(always)]
fn long_key(loaded: &[u8; LOADED], length: usize, kind: Kind) -> u128 {
    let kept = (1u128 << (8 * (length % LOADED))) - 1;
    u128::from_le_bytes(*loaded) & kept | (kind as u128) << 120
}

/// The ids of all names short enough to have a key.
#[derive(Debug)]
pub(super) struct KeyTable {
    short: Table<u64>,
    long: Table<u128>,
}

impl KeyTable {
    pub(super) fn new() -> Self {
        Self { short: Table::new(), long: Table::new() }
    }

    /// The id of a name, and whether it was found at first sight: if it is short and nothing else
    /// has taken its place. Nothing here branches; a caller looks once at what several calls say.
    #[inline(always)]
    pub(super) fn glance(&self, loaded: &[u8; LOADED], length: usize, kind: Kind) -> (u32, bool) {
        let (id, found) = self.short.glance(short_key(loaded, length, kind));
        (id, found & (length <= LONGEST_SHORT))
    }

    /// The id of the name that the first `length` of the loaded bytes make.
    pub(super) fn find(&self, loaded: &[u8; LOADED], length: usize, kind: Kind) -> Option<u32> {
        if length <= LONGEST_SHORT {
            self.short.find(short_key(loaded, length, kind))
        } else if length <= LONGEST {
            self.long.find(long_key(loaded, length, kind))
        } else {
            None
        }
    }

    /// Remembers the id of a name, if it is short enough.
    pub(super) fn learn(&mut self, name: &str, kind: Kind, id: u32) {
        let mut loaded = [0; LOADED];
        if name.len() > LONGEST {
            return;
        }
        loaded[..name.len()].copy_from_slice(name.as_bytes());
        if name.len() <= LONGEST_SHORT {
            self.short.insert(short_key(&loaded, name.len(), kind), id);
        } else {
            self.long.insert(long_key(&loaded, name.len(), kind), id);
        }
    }
}

/// A name and its id; a key of zero is an empty slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot<K> {
    key: K,
    id: u32,
}

/// Two slots that are looked at together; the first is filled first.
type Bucket<K> = [Slot<K>; 2];

/// Open addressing: a bucket that is full overflows into the next one.
#[derive(Debug)]
struct Table<K> {
    /// A power of two of buckets, at most an eighth of their slots taken: nearly every key is in
    /// the first bucket looked at, so the branch on that is predicted.
    buckets: Vec<Bucket<K>>,
    /// Takes a hash to a place in `buckets`.
    shift: u32,
    taken: usize,
}

impl<K: Key> Table<K> {
    fn new() -> Self {
        Self::with_bits(7)
    }

    fn with_bits(bits: u32) -> Self {
        Self { buckets: vec![Bucket::default(); 1 << bits], shift: u64::BITS - bits, taken: 0 }
    }

    #[inline(always)]
    fn place(&self, key: K) -> usize {
        (key.hash() >> self.shift) as usize
    }

    #[inline(always)]
    fn glance(&self, key: K) -> (u32, bool) {
        let place = self.place(key);
        let [first, second] = &self.buckets[place & (self.buckets.len() - 1)];
        // Integers, because the compiler would make a branch of `||` on what is as good as random.
        let in_second = u32::from(second.key == key);
        let id = first.id ^ ((first.id ^ second.id) & in_second.wrapping_neg());
        (id, (u32::from(first.key == key) | in_second) != 0)
    }

    fn find(&self, key: K) -> Option<u32> {
        let mask = self.buckets.len() - 1;
        let mut at = self.place(key);
        loop {
            for slot in &self.buckets[at] {
                if slot.key == key {
                    return Some(slot.id);
                }
                if slot.key == K::default() {
                    return None;
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a key; one that is there already keeps its id.
    fn insert(&mut self, key: K, id: u32) {
        if self.find(key).is_some() {
            return;
        }
        if (self.taken + 1) * 4 > self.buckets.len() {
            self.grow();
        }
        let mask = self.buckets.len() - 1;
        let mut at = self.place(key);
        loop {
            if let Some(free) = self.buckets[at].iter_mut().find(|slot| slot.key == K::default()) {
                *free = Slot { key, id };
                self.taken += 1;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = Self::with_bits(u64::BITS - self.shift + 1);
        let old = std::mem::replace(self, larger);
        for slot in old.buckets.as_flattened() {
            if slot.key != K::default() {
                self.insert(slot.key, slot.id);
            }
        }
    }
}
