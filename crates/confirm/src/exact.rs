//! Searching all serial orders, with a memory of dead ends.
//!
//! The exhaustive check of AtomChase (ISSRE 2015), made bearable: orders that are known to hold in every
//! serial order are kept, blocks that change nothing run at once, a value that is still needed and cannot
//! come back is never destroyed, and what follows a state (which blocks have run, memory as far as it will be
//! read) is searched only once.
//!
//! Promise: exact, or `Spent` when the budget is used up.

use rustc_hash::FxHashSet;

use crate::core::Core;
use crate::ids::Node;
use crate::order::Order;
use crate::replay::{Choices, Preference, Replay};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SearchResult {
    Found(Vec<Node>),
    /// There is none; so many states were searched.
    None(u64),
    Spent,
}

/// Looks for a serial order that keeps `order`; each state costs one of `budget`.
pub fn search(core: &Core, order: &Order, budget: &mut u64) -> SearchResult {
    let mut replay = Replay::new(core, order);
    let mut met: FxHashSet<Box<[u32]>> = FxHashSet::default();
    let mut frames: Vec<(usize, Choices)> = Vec::new();
    let mut key = Vec::new();
    let mut states = 0;
    loop {
        replay.run_harmless();
        if replay.is_complete() {
            return SearchResult::Found(replay.executed.iter().map(|&(node, _)| node).collect());
        }
        replay.key(&mut key);
        if !met.contains(key.as_slice()) {
            if *budget == 0 {
                return SearchResult::Spent;
            }
            *budget -= 1;
            states += 1;
            met.insert(key.as_slice().into());
            frames.push((replay.executed.len(), replay.choices(Preference::Guess)));
        }
        let chain = loop {
            let Some((depth, choices)) = frames.last_mut() else {
                return SearchResult::None(states);
            };
            if let Some((_, _, chain)) = choices.pop() {
                replay.back_to(*depth);
                break chain;
            }
            frames.pop();
        };
        replay.run(chain as usize);
    }
}
