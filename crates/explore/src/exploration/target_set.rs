//! All candidates that are tried, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};

use super::run_store::RunIndex;
use crate::run::Suspect;
use crate::target::{Identity, Key, Target};

#[derive(Debug, Default)]
pub(super) struct TargetSet {
    all: Vec<Target>,
    by_key: BTreeMap<Key, usize>,
    /// Candidates that are passed over because their block is the body of a thread.
    bodies: BTreeSet<Key>,
    /// Candidates in code that nobody asked about.
    outside: BTreeSet<Key>,
}

impl TargetSet {
    /// The target with that key; a new one if it was not known.
    pub(super) fn entry(&mut self, key: Key, is_common: bool) -> usize {
        *self.by_key.entry(key).or_insert_with_key(|key| {
            self.all.push(Target::new(key.clone(), is_common));
            self.all.len() - 1
        })
    }

    pub(super) fn add_body(&mut self, key: Key) {
        self.bodies.insert(key);
    }

    /// These are in code that nobody asked about.
    pub(super) fn pass_over(&mut self, outside: Vec<Suspect>) {
        self.outside.extend(outside.into_iter().map(|suspect| suspect.key));
    }

    pub(super) fn outside_count(&self) -> usize {
        self.outside.len()
    }

    pub(super) fn body_count(&self) -> usize {
        self.bodies.len()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Target> {
        self.all.iter()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.all.iter().map(|target| &target.key)
    }

    /// Targets for which runs are still made.
    pub(super) fn open_count(&self) -> usize {
        self.all.iter().filter(|target| !target.done).count()
    }

    pub(super) fn identity(&self, index: usize) -> Identity {
        self.all[index].key.identity()
    }

    /// All of them, those made by calls that look meant to be one step first, then those of the project.
    pub(super) fn in_order_of_interest(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.all.len()).collect();
        all.sort_by_key(|&index| (!self.all[index].is_composed, self.all[index].provenance));
        all
    }

    /// Forgets predictions about a run that is not in memory any more.
    pub(super) fn drop_predictions_of(&mut self, run: RunIndex) {
        for target in &mut self.all {
            target.predictions.retain(|prediction| prediction.run != run);
        }
    }
}

impl Index<usize> for TargetSet {
    type Output = Target;

    fn index(&self, index: usize) -> &Target {
        &self.all[index]
    }
}

impl IndexMut<usize> for TargetSet {
    fn index_mut(&mut self, index: usize) -> &mut Target {
        &mut self.all[index]
    }
}
