//! The lines a trace consists of almost entirely: short, and made of names that were seen before.
//!
//! Two passes over a block that stays in the first-level cache. The first makes a bitmap of every
//! `|` and newline, without branches. The second reads line after line: three set bits say where
//! its parts are, so that where the next line starts depends on nothing else, and the processor
//! works on several lines at once.
//!
//! Whatever is not recognised, for whatever reason, is left to the slow path: a name is in the key
//! table only after [`super::line::Line::parse`] accepted it, so nothing is validated here.

use crate::event::{Event, Op};
use crate::ids::{LabelId, LockId, SiteId, ThreadId, VarId};

use super::keys::{KeyTable, Kind, LOADED};

/// Bytes of text looked at in one go.
pub(super) const BLOCK: usize = 2048;

/// A power of two that is larger than any place in a block, or just behind it.
const PLACES: usize = 2 * BLOCK;

/// A block, and as many bytes behind it as make every load below provably safe: the compiler then
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
            *flag = u8::from((byte == b'|') | (byte == b'\n'));
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
        let word = self.bits[place / 8..].first_chunk().expect("zeros behind the bits");
        u64::from_le_bytes(*word) >> (place % 8)
    }
}

/// How an operation is written, and what it becomes.
#[derive(Clone, Copy)]
struct Spelling {
    /// The word and the byte that ends it, `(` or `|`, padded with zeros.
    word: u64,
    /// Where `word` has bytes.
    mask: u64,
    /// The operation with target 0.
    op: Op,
    /// What the target is; [`Kind::Nothing`] if the word stands alone.
    kind: Kind,
    /// Bytes before the target.
    length: u8,
    /// 1 if parentheses surround the target; otherwise it is the empty text behind the word.
    paren: u8,
    /// The byte behind the target.
    closer: u8,
}

impl Spelling {
    const fn new(text: &[u8], kind: Kind, op: Op) -> Self {
        let (paren, closer) = if matches!(kind, Kind::Nothing) { (0, b'|') } else { (1, b')') };
        let mask = (1 << (8 * text.len())) - 1;
        let length = text.len() as u8 - 1 + paren;
        Self { word: text_word(text), mask, op, kind, length, paren, closer }
    }
}

const fn text_word(text: &[u8]) -> u64 {
    let mut padded = [0; 8];
    let mut i = 0;
    while i < text.len() {
        padded[i] = text[i];
        i += 1;
    }
    u64::from_le_bytes(padded)
}

static SPELLINGS: [Spelling; 16] = {
    let none = Spelling::new(b"\n", Kind::Nothing, Op::read(VarId(0)));
    let mut all = [none; 16];
    all[0] = Spelling::new(b"r(", Kind::Var, Op::read(VarId(0)));
    all[1] = Spelling::new(b"w(", Kind::Var, Op::write(VarId(0)));
    all[2] = Spelling::new(b"acq(", Kind::Lock, Op::acquire(LockId(0)));
    all[3] = Spelling::new(b"rel(", Kind::Lock, Op::release(LockId(0)));
    all[4] = Spelling::new(b"req(", Kind::Lock, Op::Request { lock: LockId(0) });
    all[5] = Spelling::new(b"fork(", Kind::Thread, Op::Fork { child: ThreadId(0) });
    all[6] = Spelling::new(b"join(", Kind::Thread, Op::Join { child: ThreadId(0) });
    all[7] = Spelling::new(b"begin(", Kind::Label, Op::Begin { label: LabelId(0) });
    all[8] = Spelling::new(b"begin|", Kind::Nothing, Op::Begin { label: LabelId(0) });
    all[9] = Spelling::new(b"end(", Kind::Label, Op::End { label: LabelId(0) });
    all[10] = Spelling::new(b"end|", Kind::Nothing, Op::End { label: LabelId(0) });
    all
};

/// What the first two bytes of an operation say about which one it is.
#[derive(Clone, Copy)]
struct Start {
    /// Its place in [`SPELLINGS`], or that of the first of two neighbours ...
    spelling: u8,
    /// ... of which it is the second if this bit of the text is set.
    bit: u8,
}

static STARTS: [Start; 16] = {
    const NEVER: u8 = 7; // the highest bit of an ASCII letter
    let all: [(&[u8], u8, u8); 8] = [
        (b"r(", 0, NEVER),
        (b"w(", 1, NEVER),
        (b"ac", 2, NEVER),
        (b"re", 3, 2 * 8), // 'l' or 'q'
        (b"fo", 5, NEVER),
        (b"jo", 6, NEVER),
        (b"be", 7, 5 * 8 + 6), // '(' or '|'
        (b"en", 9, 3 * 8 + 6), // '(' or '|'
    ];
    let mut table = [Start { spelling: 15, bit: NEVER }; 16];
    let mut i = 0;
    while i < all.len() {
        let (text, spelling, bit) = all[i];
        let start = &mut table[start_place(text_word(text))];
        assert!(start.spelling == 15, "two operations share a place: choose another multiplier");
        *start = Start { spelling, bit };
        i += 1;
    }
    table
};

/// Sends the eight beginnings of operations to different places.
#[inline(always)]
const fn start_place(word: u64) -> usize {
    (((word & 0xffff) * 0x2b49_1045) as u32 >> 28) as usize
}

/// How the operation is spelled that `word` begins with; one that does not match if none is.
#[inline(always)]
fn spelling(word: u64) -> &'static Spelling {
    let start = STARTS[start_place(word)];
    let second = (word >> (start.bit % 64)) & 1;
    &SPELLINGS[(usize::from(start.spelling) + second as usize) % SPELLINGS.len()]
}

/// Reads lines from `start` until one is not recognised or `events` is full. Gives how many, and
/// where the last one ends.
#[inline(never)]
pub(super) fn read_lines(
    block: &Block,
    marks: &Marks,
    mut start: usize,
    keys: &KeyTable,
    events: &mut [Event],
) -> (usize, usize) {
    let mut count = 0;
    for event in events {
        let glance = |loaded: &_, length, kind| keys.glance(loaded, length, kind);
        let end = read_line(block, marks, start, glance, event);
        let Some(end) = end.or_else(|| read_rare_line(block, marks, start, keys, event)) else {
            break;
        };
        start = end + 1;
        count += 1;
    }
    (count, start)
}

/// Reads a line with a name that is longer than most, or not where a glance finds it.
#[cold]
#[inline(never)]
fn read_rare_line(
    block: &Block,
    marks: &Marks,
    start: usize,
    keys: &KeyTable,
    event: &mut Event,
) -> Option<usize> {
    let find = |loaded: &_, length, kind| {
        keys.find(loaded, length, kind).map_or((0, false), |id| (id, true))
    };
    read_line(block, marks, start, find, event)
}

/// Stores the event of the line at `start` and gives where the line ends, if it is recognised.
/// `find` gives the id of a name, and whether there is one.
#[inline(always)]
fn read_line(
    block: &Block,
    marks: &Marks,
    start: usize,
    find: impl Fn(&[u8; LOADED], usize, Kind) -> (u32, bool),
    event: &mut Event,
) -> Option<usize> {
    let start = start % PLACES;
    let at = |place: usize| block[place % PLACES];
    let load = |place: usize| block[place..].first_chunk().expect("room behind the block");
    let first_mark = marks.from(start);
    let second_mark = first_mark & first_mark.wrapping_sub(1);
    let end_mark = second_mark & second_mark.wrapping_sub(1);
    if end_mark == 0 {
        return None;
    }
    let first = start + first_mark.trailing_zeros() as usize;
    let second = start + second_mark.trailing_zeros() as usize;
    let end = start + end_mark.trailing_zeros() as usize;

    let word = u64::from_le_bytes(*block[first + 1..].first_chunk()?);
    let spelling = spelling(word);
    let target = first + 1 + usize::from(spelling.length);
    let behind = second.wrapping_sub(usize::from(spelling.paren));
    let recognised = (block[first] == b'|')
        & (block[second] == b'|')
        & (block[end] == b'\n')
        & (word & spelling.mask == spelling.word)
        & (at(behind) == spelling.closer);
    if !recognised {
        return None;
    }
    let target_length = behind.wrapping_sub(target);
    let loc_length = end - second - 1 - usize::from(at(end - 1) == b'\r');
    let (thread, has_thread) = find(load(start), first - start, Kind::Thread);
    let (target, has_target) = find(load(target), target_length, spelling.kind);
    let (site, has_site) = find(load(second + 1), loc_length, Kind::Site);
    if !(has_thread & has_target & has_site) {
        return None;
    }
    *event = Event::new(ThreadId(thread), with_target(spelling.op, target), SiteId(site));
    Some(end)
}

#[inline(always)]
fn with_target(mut op: Op, id: u32) -> Op {
    match &mut op {
        Op::Read { var: VarId(target), .. }
        | Op::Write { var: VarId(target), .. }
        | Op::Acquire { lock: LockId(target), .. }
        | Op::Release { lock: LockId(target), .. }
        | Op::Request { lock: LockId(target) }
        | Op::Fork { child: ThreadId(target) }
        | Op::Join { child: ThreadId(target) }
        | Op::Begin { label: LabelId(target) }
        | Op::End { label: LabelId(target) } => *target = id,
        _ => {}
    }
    op
}
