//! The runs that were made: their traces in memory and on disk.

use std::path::{Path, PathBuf};

use crate::run::Run;

/// Runs whose traces stay in memory.
const MAX_KEPT: usize = 8;

/// Events of all of them together, about 1 GB; the last run stays in any case.
const MAX_EVENTS: usize = 12_000_000;

/// The position of a run in the order in which runs were kept.
pub(crate) type RunIndex = usize;

#[derive(Debug)]
pub(super) struct RunStore {
    /// Where traces are written.
    folder: PathBuf,
    /// Runs by index; those that are not needed any more are dropped.
    kept: Vec<Option<Run>>,
    /// So many of the first runs are never dropped.
    pinned: usize,
    /// How many runs were made before the first one, which have their traces in the same folder.
    earlier: u32,
    /// The highest number of a run. While a run is looked at, others that were made beside it have theirs already.
    last: u32,
}

impl RunStore {
    pub(super) fn new(folder: &Path, pinned: usize, earlier: u32) -> Self {
        let pinned = pinned.min(MAX_KEPT - 1);
        Self { folder: folder.to_owned(), kept: Vec::new(), pinned, earlier, last: 0 }
    }

    /// The number of a new run.
    pub(super) fn next_number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// The highest number so far.
    pub(super) fn last_number(&self) -> u32 {
        self.last
    }

    pub(super) fn trace_of(&self, number: u32) -> PathBuf {
        self.folder.join(format!("run-{}.utr", self.earlier + number))
    }

    pub(super) fn get(&self, index: RunIndex) -> Option<&Run> {
        self.kept.get(index)?.as_ref()
    }

    /// The index that the next run will have.
    pub(super) fn next_index(&self) -> RunIndex {
        self.kept.len()
    }

    /// All that are still in memory, the oldest first.
    pub(super) fn loaded(&self) -> impl DoubleEndedIterator<Item = &Run> {
        self.kept.iter().flatten()
    }

    /// Keeps a run in memory. Gives the indices of the runs that had to go for it.
    pub(super) fn add(&mut self, run: Run) -> Vec<RunIndex> {
        self.kept.push(Some(run));
        let mut dropped = Vec::new();
        while let Some(old) = self.superfluous() {
            self.kept[old] = None;
            dropped.push(old);
        }
        dropped
    }

    /// The run that has to go next.
    fn superfluous(&self) -> Option<RunIndex> {
        let count = self.loaded().count();
        let events: usize = self.loaded().map(|run| run.history.len()).sum();
        if count <= 1 || count <= MAX_KEPT && events <= MAX_EVENTS {
            return None;
        }
        let oldest_from = |first: usize| {
            self.kept.iter().skip(first).position(Option::is_some).map(|index| index + first)
        };
        let last = self.kept.len() - 1;
        oldest_from(self.pinned).filter(|&old| old < last).or_else(|| oldest_from(0))
    }
}

/// Removes a trace that nothing rests on. One that cannot be removed does no harm.
pub(super) fn forget(trace: &Path) {
    let _ = std::fs::remove_file(trace);
}
