//! What each block did to each variable, seen from outside; and reads that no serial run can give.
//!
//! AtomChase (ISSRE 2015) states this for its patterns RWR and WWR, per instance; here it is one
//! condition per block and variable, with inferred values where none were recorded.
//!
//! Promise: a block that reads a variable after its own access of it must get the value of that
//! access, in every serial order, whatever the other blocks do. So a read that got another value
//! proves that the trace is not atomic, and the proof needs no other block. May miss everything
//! that involves two blocks or more.

use untorn_trace::Value;

use crate::blocks::{Extract, Touch};
use crate::ids::{BlockId, Slot};
use crate::values::SymbolicValue;

/// What a block did to a variable: all that another block can notice.
#[derive(Clone, Copy, Debug)]
pub struct Net {
    pub block: BlockId,
    pub slot: Slot,
    /// Its first access, if that is a read: value and position.
    pub ext: Option<(SymbolicValue, u32)>,
    /// Its last write.
    pub fin: Option<(SymbolicValue, u32)>,
}

/// A read that returned something else than the block's own access before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnRead {
    pub block: BlockId,
    pub slot: Slot,
    /// The access, whether it wrote, its value.
    pub access: u32,
    pub wrote: bool,
    pub had: Value,
    pub read: u32,
    pub got: Value,
}

/// What all blocks did to the variables that several threads share.
#[derive(Debug, Default)]
pub struct Nets {
    /// By block, then by variable.
    pub nets: Vec<Net>,
    /// The first own-read of the trace.
    pub torn: Option<OwnRead>,
    /// Some read may have got another value than its block's own access: values are missing.
    pub doubtful: bool,
    /// Some value is unknown.
    pub symbols: bool,
}

impl Nets {
    pub fn new(extract: &Extract) -> Self {
        let memory = &extract.memory;
        let counts = |touch: &&Touch| {
            let variable = &memory.variables[touch.slot.index()];
            variable.shared && variable.contradiction.is_none()
        };
        let mut touches: Vec<Touch> = extract.touches.iter().filter(counts).copied().collect();
        touches.sort_unstable_by_key(|touch| {
            (u64::from(touch.block.0) << 32 | u64::from(touch.slot.0), touch.at)
        });
        let unknown_at_first = memory
            .variables
            .iter()
            .any(|variable| variable.shared && memory.resolve(variable.initial).known().is_none());
        let nets = Vec::with_capacity(touches.len());
        let mut found = Self { nets, symbols: unknown_at_first, ..Self::default() };
        for group in touches.chunk_by(|a, b| (a.block, a.slot) == (b.block, b.slot)) {
            found.add(group, extract);
        }
        found
    }

    fn add(&mut self, group: &[Touch], extract: &Extract) {
        let Touch { block, slot, .. } = group[0];
        let mut net = Net { block, slot, ext: None, fin: None };
        let mut before: Option<(&Touch, SymbolicValue)> = None;
        for touch in group {
            let val = extract.memory.resolve(touch.val);
            self.symbols |= val.known().is_none();
            match (touch.writes, before) {
                (true, _) => net.fin = Some((val, touch.at)),
                (false, None) => net.ext = Some((val, touch.at)),
                (false, Some((access, had))) if had != val => self.differ(access, had, touch, val),
                (false, Some(_)) => {}
            }
            before = Some((touch, val));
        }
        self.nets.push(net);
    }

    fn differ(&mut self, access: &Touch, had: SymbolicValue, read: &Touch, got: SymbolicValue) {
        let (Some(had), Some(got)) = (had.known(), got.known()) else {
            self.doubtful = true;
            return;
        };
        if self.torn.is_some_and(|torn| torn.read < read.at) {
            return;
        }
        let Touch { block, slot, at, writes, .. } = *access;
        self.torn =
            Some(OwnRead { block, slot, access: at, wrote: writes, had, read: read.at, got });
    }
}
