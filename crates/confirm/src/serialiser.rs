//! Finding a serial order quickly: the prover.
//!
//! No paper. Blocks that write nothing are run at once, and none is run that destroys a value that is still
//! needed and cannot come back. Among the others the first attempt takes the one that comes first in
//! the order of conflicts, which is right outside of tangles; the second one that destroys the fewest values
//! still to be read. A little backtracking helps where a choice was wrong.
//!
//! Promise: what it returns is a serial order in which every read gets its value. It may miss: not
//! finding one proves nothing.

use crate::core::Core;
use crate::ids::Node;
use crate::order::Order;
use crate::replay::{Choices, Preference, Replay};

/// A serial order that keeps `order`, if one is found within `budget` steps.
pub fn serialise(core: &Core, order: &Order, budget: u64) -> Option<Vec<Node>> {
    attempt(core, order, budget, Preference::Guess)
        .or_else(|| attempt(core, order, budget, Preference::Frugal))
}

fn attempt(core: &Core, order: &Order, budget: u64, preference: Preference) -> Option<Vec<Node>> {
    let mut replay = Replay::new(core, order);
    let mut left = budget;
    // Choices that are left at each depth, and how many nodes had run there.
    let mut frames: Vec<(usize, Choices)> = Vec::new();
    loop {
        replay.run_harmless();
        if replay.is_complete() {
            return Some(replay.executed.iter().map(|&(node, _)| node).collect());
        }
        frames.push((replay.executed.len(), replay.choices(preference)));
        let chain = loop {
            let (depth, choices) = frames.last_mut()?;
            if let Some((_, _, chain)) = choices.pop() {
                replay.back_to(*depth);
                break chain;
            }
            frames.pop();
        };
        left = left.checked_sub(1)?;
        replay.run(chain as usize);
    }
}
