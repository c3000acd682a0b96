//! A block in the making: events go in one by one, the payload of an `EVTS` section comes out.
//!
//! How wide an index or a target must be is known only at the end, so an event is kept in eight
//! bytes until then. Values are encoded at once.

use std::hash::BuildHasher;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::block::{BLOCK, CLASSES, Class, class_of, code_of, number_of, optional};
use super::bytes::{BitWriter, put_number, put_varint, width_of, zigzag};
use crate::event::{Event, Op};
use crate::ids::{LabelId, SiteId, ThreadId};

/// Saves a look-up for writers of many events of the same shape: the same operation with the same
/// flags at the same site (and about the same label), whatever its thread, target and value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ShapeMemo {
    /// The block whose shape it remembers; blocks are counted from 1.
    block: u32,
    index: u32,
}

/// An event, but for its value.
#[derive(Clone, Copy, Debug)]
struct Packed {
    /// Both index the lists of the block, which cannot be longer than the block.
    thread: u16,
    shape: u16,
    target: u32,
}

const _: () = assert!(BLOCK <= 1 << 16);

#[derive(Debug)]
pub(super) struct BlockBuilder {
    /// Counts blocks, so that a memo of an earlier block is recognised.
    serial: u32,
    threads: Vec<ThreadId>,
    /// By thread: in which block it was met last, and its position there.
    met: Vec<(u32, u16)>,
    /// Position in `threads` of the last event's thread: threads run for many events at a time.
    last: u16,
    shapes: Dictionary,
    events: Vec<Packed>,
    /// By class: the largest target.
    largest: [u32; CLASSES],
    /// The first `values_end` bytes are values; after them is room for all that can come.
    values: Vec<u8>,
    values_end: usize,
    heads: BitWriter,
    targets: BitWriter,
}

/// Bytes that one value takes at most, written in two steps of one and eight.
const LARGEST_VALUE: usize = 9;

impl Default for BlockBuilder {
    fn default() -> Self {
        Self {
            serial: 1,
            threads: Vec::new(),
            met: Vec::new(),
            last: 0,
            shapes: Dictionary::default(),
            events: Vec::with_capacity(BLOCK),
            largest: [0; CLASSES],
            values: vec![0; BLOCK * LARGEST_VALUE],
            values_end: 0,
            heads: BitWriter::default(),
            targets: BitWriter::default(),
        }
    }
}

impl BlockBuilder {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.events.len() >= BLOCK
    }

    /// Adds an event to a block that is not full.
    #[inline(always)] // an event that is stored in bytes and loaded in words costs more than all the rest
    pub fn push(&mut self, event: &Event, memo: &mut ShapeMemo) {
        if memo.block != self.serial {
            *memo = ShapeMemo { block: self.serial, index: self.shapes.index(event).into() };
        }
        debug_assert_eq!(
            memo.index,
            u32::from(self.shapes.index(event)),
            "a memo of another shape"
        );
        if self.threads.get(usize::from(self.last)) != Some(&event.thread) {
            self.last = self.thread(event.thread);
        }
        let (class, target) = (class_of(&event.op), event.op.target());
        let largest = &mut self.largest[class as usize];
        *largest = target.max(*largest);
        self.events.push(Packed { thread: self.last, shape: memo.index as u16, target });
        if let Some(number) = number_of(&event.op) {
            self.values_end = put_number(&mut self.values, self.values_end, zigzag(number));
        }
    }

    /// As [`Self::push`], without a memo.
    pub fn push_unknown(&mut self, event: &Event) {
        self.push(event, &mut ShapeMemo::default());
    }

    fn thread(&mut self, thread: ThreadId) -> u16 {
        if self.met.len() <= thread.index() {
            self.met.resize(thread.index() + 1, (0, 0));
        }
        let met = &mut self.met[thread.index()];
        if met.0 != self.serial {
            *met = (self.serial, self.threads.len() as u16);
            self.threads.push(thread);
        }
        met.1
    }

    /// Replaces `out` by the payload of the block, whose first event is event `first` of the
    /// trace, and begins the next.
    pub fn finish(&mut self, first: u64, out: &mut Vec<u8>) {
        let widths = self.largest.map(|largest| u32::BITS - largest.leading_zeros());
        self.pack(widths);
        out.clear();
        out.extend(first.to_le_bytes());
        put_varint(out, self.events.len() as u64);
        put_varint(out, self.threads.len() as u64);
        for thread in &self.threads {
            put_varint(out, u64::from(thread.0));
        }
        self.shapes.put(out);
        out.extend(widths[..Class::Label as usize].iter().map(|&width| width as u8));
        for stream in [&mut self.heads, &mut self.targets] {
            let stream = stream.finish();
            put_varint(out, stream.len() as u64);
            out.extend_from_slice(stream);
        }
        out.extend_from_slice(&self.values[..self.values_end]);
        self.clear();
    }

    fn pack(&mut self, mut widths: [u32; CLASSES]) {
        widths[Class::Label as usize] = 0; // it is part of the shape
        let target_widths: Vec<u32> =
            self.shapes.keys.iter().map(|key| widths[key.class as usize]).collect();
        let thread_bits = width_of(self.threads.len());
        let shape_bits = width_of(self.shapes.keys.len());
        self.heads.clear();
        self.targets.clear();
        for &Packed { thread, shape, target } in &self.events {
            let head = u32::from(thread) | u32::from(shape) << thread_bits;
            self.heads.put(head, thread_bits + shape_bits);
            let width = target_widths[usize::from(shape)];
            // A target in the shape takes no bits, so it must not leave any.
            self.targets.put(if width == 0 { 0 } else { target }, width);
        }
    }

    fn clear(&mut self) {
        self.serial = self.serial.wrapping_add(1).max(1);
        self.threads.clear();
        self.last = 0;
        self.shapes.clear();
        self.events.clear();
        self.largest = [0; CLASSES];
        self.values_end = 0;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ShapeKey {
    code: u8,
    flags: u8,
    site: SiteId,
    /// [`LabelId::NONE`] where the target is no label.
    label: u32,
    class: Class,
}

impl ShapeKey {
    fn of(event: &Event) -> Self {
        let (code, flags) = code_of(&event.op);
        let class = class_of(&event.op);
        let label = if class == Class::Label { event.op.target() } else { LabelId::NONE.0 };
        Self { code, flags, site: event.site, label, class }
    }
}

impl std::hash::Hash for ShapeKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.site.0) << 32 | u64::from(self.label));
        state.write_u16(u16::from_le_bytes([self.code, self.flags]));
    }
}

/// The shapes of a block in the order of their first use.
#[derive(Debug)]
struct Dictionary {
    keys: Vec<ShapeKey>,
    index: FxHashMap<ShapeKey, u16>,
    /// Those used not long ago, by a part of their hash: nearly all that are asked for.
    recent: Vec<(ShapeKey, u16)>,
}

const RECENT: usize = 256;

/// No event has this shape: nothing has a code so high.
const NO_SHAPE: (ShapeKey, u16) = (
    ShapeKey { code: Op::CODES as u8, flags: 0, site: SiteId::NONE, label: 0, class: Class::Var },
    0,
);

impl Default for Dictionary {
    fn default() -> Self {
        Self { keys: Vec::new(), index: FxHashMap::default(), recent: vec![NO_SHAPE; RECENT] }
    }
}

impl Dictionary {
    fn index(&mut self, event: &Event) -> u16 {
        let key = ShapeKey::of(event);
        let place = (FxBuildHasher.hash_one(key) >> 32) as usize % RECENT;
        let (recent, index) = self.recent[place];
        if recent == key {
            return index;
        }
        let index = *self.index.entry(key).or_insert_with(|| {
            self.keys.push(key);
            (self.keys.len() - 1) as u16
        });
        self.recent[place] = (key, index);
        index
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.keys.len() as u64);
        for key in &self.keys {
            out.extend([key.code, key.flags]);
            put_varint(out, optional(key.site.0));
            if key.class == Class::Label {
                put_varint(out, optional(key.label));
            }
        }
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.index.clear();
        self.recent.fill(NO_SHAPE);
    }
}
