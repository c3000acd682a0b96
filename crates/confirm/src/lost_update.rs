//! Rule M of the saturation: blocks that read a variable and then write it need different sources.
//!
//! Two such blocks cannot have the same source: the one that runs later comes after the write of the
//! other, which came after the source. So there must be a way to give each its own candidate, a
//! matching; if there is none, some set of updates has fewer candidates than members (Hall), and
//! an update is lost. The matching is found by augmenting paths (Kuhn 1955).
//!
//! Promise: a set that is returned proves that there is no serial order.

use crate::core::Core;
use crate::ids::{NeedId, Node};
use crate::rows::{Rows, ones};
use crate::saturation::Contradiction;

/// Updates of one variable that have too few sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostUpdate {
    pub slot: u32,
    pub updates: Vec<NeedId>,
    pub sources: Vec<Node>,
}

impl From<LostUpdate> for Contradiction {
    fn from(lost: LostUpdate) -> Self {
        Self::LostUpdate(lost)
    }
}

/// Whether the updates of every variable can be given different candidates.
pub fn check(core: &Core, candidates: &Rows) -> Result<(), LostUpdate> {
    let mut matching = Matching {
        candidates,
        owner: vec![NOBODY; core.nodes()],
        slot_of: vec![NOBODY; core.nodes()],
        seen: Vec::new(),
    };
    for slot in 0..core.slots.len() {
        matching.slot(core, slot as u32)?;
    }
    Ok(())
}

const NOBODY: u32 = u32::MAX;

struct Matching<'a> {
    candidates: &'a Rows,
    /// The need that each node serves, valid if `slot_of` is the current slot.
    owner: Vec<u32>,
    slot_of: Vec<u32>,
    /// Nodes met in the current search.
    seen: Vec<u64>,
}

impl Matching<'_> {
    fn slot(&mut self, core: &Core, slot: u32) -> Result<(), LostUpdate> {
        let updates = &core.updates[core.first_update[slot as usize] as usize
            ..core.first_update[slot as usize + 1] as usize];
        if updates.len() < 2 {
            return Ok(());
        }
        for &need in updates {
            if self.first_free(need, slot) {
                continue;
            }
            self.seen.clear();
            self.seen.resize(self.candidates.words(), 0);
            if !self.augment(need, slot) {
                return Err(self.hall_set(need, slot));
            }
        }
        Ok(())
    }

    fn owner(&self, node: usize, slot: u32) -> Option<NeedId> {
        (self.slot_of[node] == slot).then(|| NeedId(self.owner[node]))
    }

    fn own(&mut self, node: usize, need: NeedId, slot: u32) {
        self.owner[node] = need.0;
        self.slot_of[node] = slot;
    }

    /// Most updates find a free source.
    fn first_free(&mut self, need: NeedId, slot: u32) -> bool {
        let row = self.candidates.row(need.index());
        let free = ones(row).find(|&node| self.slot_of[node] != slot);
        free.inspect(|&node| self.own(node, need, slot)).is_some()
    }

    /// Depth-first search for an augmenting path, without recursion: chains of updates are long.
    fn augment(&mut self, start: NeedId, slot: u32) -> bool {
        let candidates = self.candidates;
        // Each entry: a need without a source, and the candidates it has yet to try.
        let mut path = vec![(start, ones(candidates.row(start.index())))];
        let mut taken: Vec<usize> = Vec::new();
        while let Some((_, rest)) = path.last_mut() {
            let Some(node) = rest.next() else {
                path.pop();
                taken.pop();
                continue;
            };
            if self.seen[node / 64] >> (node % 64) & 1 != 0 {
                continue;
            }
            self.seen[node / 64] |= 1 << (node % 64);
            taken.push(node);
            let Some(owner) = self.owner(node, slot) else {
                for (&(need, _), &node) in path.iter().zip(&taken) {
                    self.own(node, need, slot);
                }
                return true;
            };
            path.push((owner, ones(candidates.row(owner.index()))));
        }
        false
    }

    /// The needs that the failed search met compete for the nodes that it met.
    fn hall_set(&self, start: NeedId, slot: u32) -> LostUpdate {
        let sources: Vec<Node> = ones(&self.seen).map(Node::new).collect();
        let mut updates: Vec<NeedId> =
            sources.iter().filter_map(|node| self.owner(node.index(), slot)).collect();
        updates.push(start);
        updates.sort_unstable();
        LostUpdate { slot, updates, sources }
    }
}
