//! A run that was made, ready to be asked.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_predict::candidates::{self, Candidate, Limits, Sources, Spot};
use untorn_predict::{At, Facts, History, Origin};
use untorn_trace::formats::open::{Input, OpenOptions, open};
use untorn_trace::{BATCH, Op, SiteId, Tables};

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
    /// Classes with accesses in the trace. Only they are rewritten so that a plan finds every place of them.
    classes: FxHashSet<String>,
}

fn recorded_classes(history: &History, tables: &Tables) -> FxHashSet<String> {
    let accesses = history
        .events()
        .iter()
        .filter(|event| matches!(event.op, Op::Read { .. } | Op::Write { .. }));
    let sites: FxHashSet<SiteId> = accesses.map(|event| event.site).collect();
    let classes = sites.into_iter().filter_map(|site| tables.sites.get(site));
    classes.map(|site| site.class.to_owned()).collect()
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
        let classes = recorded_classes(&history, &tables);
        Ok(Self { number, how, ran, trace, tables, history, left_out, sites, classes })
    }

    /// Whether a plan can name places of the class of a site.
    pub(crate) fn is_recorded(&self, site: SiteId) -> bool {
        self.tables.sites.get(site).is_some_and(|site| self.classes.contains(site.class))
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

    /// Whether the block of a candidate is nothing but the body of a thread or of a task, which nobody means to be
    /// atomic as a whole. One statement of it may still be: `count++`.
    pub(crate) fn is_body(&self, candidate: &Candidate) -> bool {
        let block = self.history.block(candidate.block);
        if candidate.origin == Origin::Declared || block.outer.is_some() {
            return false;
        }
        let name = self.tables.labels.get(block.label).unwrap_or_default();
        let method = name.rsplit('.').next().unwrap_or(name);
        let is_entry = matches!(method, "main" | "run" | "call") || method.starts_with("lambda$");
        let [first, _, third] = candidate.spots.map(|spot| match spot {
            Spot::Site(site) => self.tables.site_text(site),
            Spot::Unknown { .. } => String::new(),
        });
        is_entry && first != third
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
