//! Sorting blocks by the order that they have to keep.

use crate::ids::BlockId;

/// All blocks such that each comes after those that must precede it; else by their numbers.
///
/// The edges have no cycle: see [`threads`](crate::threads).
pub fn topological(blocks: usize, edges: &[(BlockId, BlockId)]) -> Vec<BlockId> {
    let mut first = vec![0_u32; blocks + 1];
    let mut waits = vec![0_u32; blocks];
    for (from, to) in edges {
        first[from.index() + 1] += 1;
        waits[to.index()] += 1;
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut next = first.clone();
    let mut to = vec![0_u32; edges.len()];
    for (from, later) in edges {
        to[next[from.index()] as usize] = later.0;
        next[from.index()] += 1;
    }
    let mut sorted = Vec::with_capacity(blocks);
    let mut ready = Vec::new();
    for met in 0..blocks {
        if waits[met] == 0 {
            ready.push(met as u32);
        }
        while let Some(block) = ready.pop() {
            sorted.push(BlockId(block));
            let at = block as usize;
            for &later in &to[first[at] as usize..first[at + 1] as usize] {
                waits[later as usize] -= 1;
                // Those that the outer loop has yet to meet wait for it.
                if waits[later as usize] == 0 && later as usize <= met {
                    ready.push(later);
                }
            }
        }
    }
    debug_assert_eq!(sorted.len(), blocks, "what must be kept has no cycle");
    sorted
}

/// Puts blocks that were left out back into an order: all blocks, those of `chosen` in its order.
pub fn complete(blocks: usize, edges: &[(BlockId, BlockId)], chosen: &[BlockId]) -> Vec<BlockId> {
    let mut all = edges.to_vec();
    all.extend(chosen.windows(2).map(|pair| (pair[0], pair[1])));
    topological(blocks, &all)
}
