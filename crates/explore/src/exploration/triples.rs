//! Three-access violations counted as the literature does: by the three places of the program where they access.
//!
//! **Paper:** Eslamimehr, Lesani, *AtomChase: Directed Search Towards Atomicity Violations*, ISSRE 2015, Figures 8 and 9.
//!
//! **What we changed, and why.** The conditions that the paper prints are no proof (see `untorn_confirm`), so a triple
//! that happened is confirmed in both ways, and both are counted.
//!
//! **Promise:** what is said to have happened did so in a run; what is confirmed by values has no serial order. A triple
//! whose instances are many is confirmed by a few of them.

use std::collections::BTreeMap;

use super::Exploration;
use crate::instance::Accesses;
use crate::judge::{Confirmations, confirmations};
use crate::run::Run;
use crate::target::{Key, Shape, Target};

/// Runs in which a triple that happened is judged.
const MAX_JUDGED: u32 = 3;

/// The part of the time left that one run may take.
const SHARE: u32 = 3;

/// What became of a triple of places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TripleResult {
    /// A letter for each access.
    pub pattern: String,
    pub has_happened: bool,
    /// No serial order gives the values.
    pub by_values: bool,
    /// The conditions that are printed in the paper hold.
    pub by_printed: bool,
    judged: u32,
}

/// All triples that are candidates, by their places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Triples(BTreeMap<Vec<String>, TripleResult>);

impl Triples {
    pub fn iter(&self) -> impl Iterator<Item = (&[String], &TripleResult)> {
        self.0.iter().map(|(places, result)| (&places[..], result))
    }

    fn entry(&mut self, key: &Key) -> &mut TripleResult {
        let new = || TripleResult { pattern: key.shape.letters(), ..TripleResult::default() };
        self.0.entry(key.places.clone()).or_insert_with(new)
    }

    fn has_happened(&self, key: &Key) -> bool {
        self.0.get(&key.places).is_some_and(|result| result.has_happened)
    }

    /// Adds what other runs of the program have shown.
    pub(super) fn absorb(&mut self, more: Self) {
        for (places, other) in more.0 {
            let own = self.0.entry(places).or_insert_with(|| other.clone());
            own.has_happened |= other.has_happened;
            own.by_values |= other.by_values;
            own.by_printed |= other.by_printed;
        }
    }
}

impl Exploration<'_> {
    /// Whether a triple is still to be made to happen, whatever is known of its block.
    pub(super) fn is_to_be_counted(&self, target: &Target) -> bool {
        let is_triple = matches!(target.key.shape, Shape::One(_));
        self.options.counts_triples && is_triple && !self.outcome.triples.has_happened(&target.key)
    }

    /// Looks which triples happened in a run, and confirms them.
    pub(super) fn count_triples(&mut self, run: &Run) {
        let accesses = Accesses::new(run, self.targets.keys());
        let triples = self.targets.iter().filter(|one| matches!(one.key.shape, Shape::One(_)));
        let until = self.budget.share(SHARE);
        for target in triples {
            let result = self.outcome.triples.entry(&target.key);
            let is_confirmed = result.by_values && result.by_printed;
            if is_confirmed || result.judged >= MAX_JUDGED || until.is_over() {
                continue;
            }
            let Some(instance) = accesses.find(&target.key) else { continue };
            let Confirmations { by_values, by_printed } =
                confirmations(run, &target.key, &instance);
            result.has_happened = true;
            result.judged += 1;
            result.by_values |= by_values;
            result.by_printed |= by_printed;
        }
    }
}
