//! The lines a trace consists of almost entirely: short, and made of texts that were seen before.
//!
//! Three passes over a block that stays in the first-level cache, none of which waits for memory
//! or branches on what is in a line:
//! 1. [`Marks::find`] makes a bitmap of the bytes `|`, `(`, `)` and newline;
//! 2. [`Splits::find`] takes lines apart at those: into the head, which is everything up to the
//!    parenthesis (`T1|acq(`), the target and the location, and makes each a [`Key`];
//! 3. [`Splits::resolve`] looks the keys up and makes events.
//!
//! Whatever is not recognised, for whatever reason, is left to the slow path: a text is in a key
//! table only after [`Line::parse`] accepted it, so nothing is validated here.

use rustc_hash::FxHashMap;

use crate::event::{Event, Op};
use crate::ids::{LabelId, SiteId, ThreadId, VarId};

use crate::formats::batch::set_target;

use super::keys::{Key, KeyTable, Kind};
use super::line::Line;

/// Bytes of text processed at once.
pub(super) const BLOCK: usize = 2048;

/// A power of two that is larger than any place in a block, or just after it.
const PLACES: usize = 2 * BLOCK;

/// A block, and as many bytes after it as make every load below provably safe: the compiler then
/// leaves out its checks.
pub(super) type Block = [u8; PLACES + 512];

/// Where the separators of a block are.
#[derive(Debug)]
pub(super) struct Marks {
    /// 1 for every separator, 0 for every other byte.
    flags: Box<[u8; BLOCK]>,
    /// One bit for every byte of the block, then zeros.
    bits: Box<[u8; PLACES / 8 + 8]>,
}

impl Marks {
    pub(super) fn new() -> Self {
        Self { flags: Box::new([0; BLOCK]), bits: Box::new([0; PLACES / 8 + 8]) }
    }

    pub(super) fn find(&mut self, block: &Block) {
        for (flag, &byte) in self.flags.iter_mut().zip(block) {
            // '(' and ')' differ in the lowest bit.
            *flag = u8::from((byte == b'|') | (byte | 1 == b')') | (byte == b'\n'));
        }
        let (words, _) = self.flags.as_chunks::<8>();
        for (bits, &flags) in self.bits.iter_mut().zip(words) {
            // The product's top byte collects the lowest bit of each byte, the first as its lowest.
            let product = u64::from_le_bytes(flags).wrapping_mul(0x0102_0408_1020_4080);
            *bits = (product >> 56) as u8;
        }
    }

    /// The marks of at least the 57 bytes from `place`, the first as the lowest bit.
    #[inline(always)]
    fn from(&self, place: usize) -> u64 {
        let place = place % PLACES;
        let word = self.bits[place / 8..].first_chunk().expect("zeros after the bits");
        u64::from_le_bytes(*word) >> (place % 8)
    }
}

/// Everything before the target of a line (thread and operation), under the key of its text.
#[derive(Clone, Copy, Debug)]
struct Head<K> {
    key: u128,
    thread: ThreadId,
    /// With some target.
    op: Op,
    /// Makes a key of the target's kind out of one of unknown kind.
    kind: K,
    target_kind: Kind,
}

/// The texts the fast path knows.
#[derive(Debug)]
pub(super) struct Known<K> {
    heads: Vec<Head<K>>,
    /// From the key of a head to its place in `heads`.
    head_places: KeyTable<u128>,
    /// Copies of the heads, each at the place of its hash; the later of two with one place has none.
    near_heads: Box<[Head<K>; NEAR_HEADS]>,
    /// From the name of a target or the text of a location to its id.
    names: KeyTable<K>,
    /// The same for those that are too long for a key, by [`Kind`].
    long_names: [FxHashMap<Box<[u8]>, u32>; KINDS],
}

const KINDS: usize = Kind::Head as usize + 1;

/// A power of two, and many more than there are heads: one for each thread and operation.
const NEAR_HEADS: usize = 4096;

impl<K: Key> Known<K> {
    pub(super) fn new() -> Self {
        let nobody = Head {
            key: 0,
            thread: ThreadId(0),
            op: Op::read(VarId(0)),
            kind: K::default(),
            target_kind: Kind::Unknown,
        };
        Self {
            heads: Vec::new(),
            head_places: KeyTable::new(),
            near_heads: Box::new([nobody; NEAR_HEADS]),
            names: KeyTable::new(),
            long_names: Default::default(),
        }
    }

    #[inline(always)]
    fn near_place(head: u128) -> usize {
        (head.hash() >> (u64::BITS - NEAR_HEADS.ilog2())) as usize % NEAR_HEADS
    }

    /// Remembers the texts of a line that was read the slow way, so that it is recognised next
    /// time.
    pub(super) fn learn(&mut self, text: &[u8], line: &Line<'_>, event: &Event) {
        let (kind, id) = match event.op {
            Op::Read { var, .. } | Op::Write { var, .. } => (Kind::Var, var.0),
            Op::Fork { child } | Op::Join { child } => (Kind::Thread, child.0),
            Op::Begin { label, .. } | Op::End { label } if label != LabelId::NONE => {
                (Kind::Label, label.0)
            }
            Op::Acquire { lock, .. } | Op::Release { lock, .. } | Op::Request { lock } => {
                (Kind::Lock, lock.0)
            }
            _ => (Kind::Nothing, LabelId::NONE.0),
        };
        let opener = if kind == Kind::Nothing { "|" } else { "(" };
        let head = [line.thread, "|", line.op.word(), opener].concat();
        // A label may also stand without parentheses, and that is left to the slow path.
        if text.starts_with(head.as_bytes()) {
            self.learn_head(head.as_bytes(), kind, event);
        }
        let name = line.op.target().unwrap_or_default();
        self.learn_name(name.as_bytes(), kind, id);
        // A carriage return becomes part of the key, and so costs nothing where there is none.
        let loc_length = line.loc.len() + usize::from(text.ends_with(b"\r"));
        let loc = &text[text.len() - loc_length..];
        self.learn_name(loc, Kind::Site, event.site.0);
    }

    fn learn_name(&mut self, name: &[u8], kind: Kind, id: u32) {
        if !self.names.learn(name, kind, id) && name.len() > K::LONGEST {
            self.long_names[kind as usize].insert(name.into(), id);
        }
    }

    fn name(&self, key: K, name: &[u8], kind: Kind) -> Option<u32> {
        if name.len() > K::LONGEST {
            return self.long_names[kind as usize].get(name).copied();
        }
        self.names.find(key)
    }

    fn learn_head(&mut self, text: &[u8], kind: Kind, event: &Event) {
        let Some(key) = u128::of(text, Kind::Head) else { return };
        if !self.head_places.insert(key, self.heads.len() as u32) {
            return;
        }
        let target_kind = kind;
        let kind = K::default().with_kind(kind);
        let head = Head { key, thread: event.thread, op: event.op, kind, target_kind };
        self.heads.push(head);
        let near = &mut self.near_heads[Self::near_place(key)];
        if near.key == 0 {
            *near = head;
        }
    }
}

/// A line taken apart.
#[derive(Clone, Copy, Debug, Default)]
struct Split<K> {
    head: u128,
    /// Its kind is known only when its head is.
    target: K,
    site: K,
    /// Where the target and the location start, and where each ends.
    target_at: u16,
    close: u16,
    loc: u16,
    end: u16,
}

impl<K: Key> Split<K> {
    fn asks_for_wider_keys(&self) -> bool {
        let lengths = K::LONGEST + 1..=u128::LONGEST;
        let target = usize::from(self.close.saturating_sub(self.target_at));
        lengths.contains(&target) || lengths.contains(&usize::from(self.end - self.loc))
    }
}

/// Lines of a block, taken apart.
#[derive(Debug)]
pub(super) struct Splits<K> {
    /// As many as fit a block, for none is shorter than `T|r(x)|1` and a newline.
    lines: Box<[Split<K>; BLOCK / 8]>,
    /// `next..filled` are not yet resolved.
    next: usize,
    filled: usize,
    /// Lines with a text that is too long for a key, but would not be for a wider one.
    pub(super) misses: u32,
}

impl<K: Key> Splits<K> {
    pub(super) fn new() -> Self {
        Self { lines: Box::new([Split::default(); BLOCK / 8]), next: 0, filled: 0, misses: 0 }
    }

    /// Takes lines apart from `start` on, until one does not look like an event, `most` of them.
    #[inline(never)]
    pub(super) fn find(&mut self, block: &Block, marks: &Marks, mut start: usize, most: usize) {
        let mut filled = 0;
        for line in self.lines.iter_mut().take(most) {
            let Some(end) = split(block, marks, start, line) else { break };
            start = end + 1;
            filled += 1;
        }
        self.next = 0;
        self.filled = filled;
    }

    /// Makes events of the lines in turn, until one has an unknown text or there is no room. Gives
    /// how many, and where the last one ends.
    #[inline(never)]
    pub(super) fn resolve(
        &mut self,
        block: &Block,
        known: &Known<K>,
        events: &mut [Event],
    ) -> (usize, Option<usize>) {
        let lines = &self.lines[self.next..self.filled];
        let mut count = 0;
        for (line, event) in lines.iter().zip(events) {
            let head = &known.near_heads[Known::<K>::near_place(line.head)];
            let (target, has_target) = known.names.glance(line.target | head.kind);
            let (site, has_site) = known.names.glance(line.site);
            if (head.key == line.head) & has_target & has_site {
                *event = Event::new(head.thread, head.op, SiteId(site));
                set_target(&mut event.op, target);
            } else if let Some(found) = known.look_up(block, line) {
                *event = found;
                self.misses += u32::from(line.asks_for_wider_keys());
            } else {
                break;
            }
            count += 1;
        }
        self.next += count;
        (count, lines[..count].last().map(|line| usize::from(line.end)))
    }

    /// Skips the line that was not resolved, which really ends at `end`. Returns `false` if
    /// there is no other, or if this took something else for a line.
    pub(super) fn skip(&mut self, end: usize) -> bool {
        let line = self.lines[..self.filled].get(self.next);
        self.next += 1;
        line.is_some_and(|line| usize::from(line.end) == end)
    }
}

impl<K: Key> Known<K> {
    /// The event of a line some of whose texts are not in the first bucket, or unknown.
    #[cold]
    fn look_up(&self, block: &Block, line: &Split<K>) -> Option<Event> {
        let head = self.heads[self.head_places.find(line.head)? as usize];
        // A line without a target has its closing parenthesis before its opening one in this representation.
        let text = |from: u16, to: u16| block.get(usize::from(from)..usize::from(to));
        let name = text(line.target_at, line.close).unwrap_or_default();
        let target = self.name(line.target | head.kind, name, head.target_kind)?;
        let site = self.name(line.site, text(line.loc, line.end)?, Kind::Site)?;
        let mut event = Event::new(head.thread, head.op, SiteId(site));
        set_target(&mut event.op, target);
        Some(event)
    }
}

/// Splits the line at `start` and returns its end, if it looks like an event.
///
/// The separators of `T1|r(x)|7` are `|()|` and a newline, those of `T1|begin|7` are `||` and a
/// newline. Only those that matter are looked at: a head that is known has the right ones.
#[inline(always)]
fn split<K: Key>(block: &Block, marks: &Marks, start: usize, line: &mut Split<K>) -> Option<usize> {
    let start = start % PLACES;
    let load = |place: usize| block[place..].first_chunk().expect("room after the block");
    let without_first = |marks: u64| marks & marks.wrapping_sub(1);
    let place = |marks: u64| start + marks.trailing_zeros() as usize;

    let second = without_first(marks.from(start));
    let third = without_first(second);
    let open = place(second);
    let (close, loc, end_mark) = if block[open] == b'|' {
        (open, open + 1, third)
    } else {
        let close = place(third);
        if block[close..].first_chunk() != Some(b")|") {
            return None;
        }
        (close, close + 2, without_first(without_first(third)))
    };
    let end = place(end_mark);
    if (end_mark == 0) | (block[end] != b'\n') {
        return None;
    }
    // One less than nothing where there is no target, which is no length and gives no bytes.
    let target_length = close.wrapping_sub(open + 1);
    *line = Split {
        head: Key::new(load(start), open - start + 1, Kind::Head),
        target: K::new(load(open + 1), target_length, Kind::Unknown),
        site: K::new(load(loc), end.wrapping_sub(loc), Kind::Site),
        target_at: (open + 1) as u16,
        close: close as u16,
        loc: loc as u16,
        end: end as u16,
    };
    Some(end)
}
