//! A run that was made, ready to be asked.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use untorn_predict::candidates::{self, Candidate, Limits, Sources, Spot};
use untorn_predict::{At, Facts, History, Origin};
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{BATCH, SiteId, Tables};

use crate::places;
use crate::runner::{How, Ran};
use crate::target::Key;

/// Why a trace cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvidenceError {
    #[error("{}: {reason}", path.display())]
    Trace { path: PathBuf, reason: String },
}

/// One run: its trace in memory.
#[derive(Debug)]
pub struct Run {
    /// Counted from 1.
    pub number: u32,
    pub how: How,
    pub ran: Ran,
    pub trace: PathBuf,
    pub tables: Tables,
    pub history: History,
    /// Events behind those that were kept.
    pub left_out: u64,
    sites: FxHashMap<String, SiteId>,
}

impl Run {
    /// Reads the trace, at most `most` events of it.
    pub(crate) fn load(
        number: u32,
        how: How,
        ran: Ran,
        trace: &Path,
        most: usize,
    ) -> Result<Self, EvidenceError> {
        let fail = |reason: String| EvidenceError::Trace { path: trace.to_owned(), reason };
        let mut source = open(&Input::new(trace), &OpenOptions::default())
            .map_err(|error| fail(error.to_string()))?;
        let (mut events, mut batch) = (Vec::new(), Vec::with_capacity(BATCH));
        let mut left_out = 0;
        loop {
            source.read(&mut batch).map_err(|error| fail(error.to_string()))?;
            if batch.is_empty() {
                break;
            }
            let kept = batch.len().min(most - events.len().min(most));
            events.extend_from_slice(&batch[..kept]);
            left_out += (batch.len() - kept) as u64;
        }
        let tables = source.tables().clone();
        let history = History::new(events, &tables).map_err(|error| fail(error.to_string()))?;
        let keys = (0..tables.sites.len()).map(SiteId::from_index);
        let sites = keys.filter_map(|site| Some((places::key(&tables, site)?, site))).collect();
        let trace = trace.to_owned();
        Ok(Self { number, how, ran, trace, tables, history, left_out, sites })
    }

    /// The site of this run that a key means.
    pub(crate) fn site(&self, key: &str) -> Option<SiteId> {
        self.sites.get(key).copied()
    }

    /// What might be torn, judging by this run.
    pub(crate) fn candidates(&self, sources: Sources) -> candidates::Found {
        candidates::find(&Facts::new(&self.history), sources, Limits::default())
    }

    /// What a candidate is called in every run; `None` if its places are not known.
    pub(crate) fn key(&self, candidate: &Candidate) -> Option<Key> {
        let place = |spot: Spot| match spot {
            Spot::Site(site) => places::key(&self.tables, site),
            Spot::Unknown { .. } => None,
        };
        let [first, second, third] = candidate.spots;
        let label = self.history.block(candidate.block).label;
        Some(Key {
            places: [place(first)?, place(second)?, place(third)?],
            pattern: candidate.pattern,
            origin: candidate.origin,
            block: self.tables.labels.get(label).unwrap_or_default().to_owned(),
            field: places::field(&self.tables.var_name(candidate.var)),
        })
    }

    /// The name of the block of that origin around an event: the outermost declared one, the innermost
    /// activation.
    pub(crate) fn block_around(&self, at: At, origin: Origin) -> Option<&str> {
        let mut found = None;
        let mut next = self.history.block_of(at);
        while let Some(id) = next {
            let block = self.history.block(id);
            if block.origin == origin {
                found = Some(block.label);
                if origin == Origin::Inferred {
                    break;
                }
            }
            next = block.outer;
        }
        found.and_then(|label| self.tables.labels.get(label))
    }
}
