//! What a trace file says of the run that it is of.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use untorn_runtime_protocol::{INPUT, SCHEDULE};
use untorn_trace::formats::open::{self, OpenOptions};
use untorn_trace::formats::utr;
use untorn_trace::{BATCH, Format, RunMeta, Strictness};

use crate::surroundings::{self, sealed_text};
use crate::{FrontEndError, Surroundings, seal};

/// The metadata at the end of a trace.
#[derive(Clone, Debug)]
pub struct RecordedTrace {
    pub meta: RunMeta,
    pub events: u64,
    pub threads: u64,
    /// Why the trace ends early, if it does.
    pub cut: Option<String>,
}

impl RecordedTrace {
    /// Finds the metadata at the end of a `.utr` file; only a cut one has to be read for that.
    ///
    /// # Errors
    /// If it cannot be read. The words name the file.
    pub fn read(path: &Path) -> Result<Self, FrontEndError> {
        let named = |error: &dyn std::fmt::Display| {
            let (name, text) = (path.display().to_string(), error.to_string());
            // Some of the errors of readers name their file.
            FrontEndError::input(if text.contains(&name) {
                text
            } else {
                format!("{name}: {text}")
            })
        };
        let mut file = File::open(path).map_err(|error| named(&error))?;
        let whole = utr::skim(&mut file).map_err(|error| named(&error))?;
        if let Some(utr::Skim { meta, events }) = whole
            && let Some(threads) = meta.summary.as_ref().map(|summary| summary.threads)
        {
            return Ok(Self { meta, events, threads, cut: None });
        }
        let options = OpenOptions { format: Some(Format::Utr), strictness: Strictness::Strict };
        let opened = open::open_known(&open::Input::new(path), &options);
        let (_, mut source) = opened.map_err(|error| named(&error))?;
        let mut batch = Vec::with_capacity(BATCH);
        let mut events = 0;
        loop {
            source.read(&mut batch).map_err(|error| named(&error))?;
            if batch.is_empty() {
                break;
            }
            events += batch.len() as u64;
        }
        let (meta, threads) = (source.tables().meta.clone(), source.tables().threads.len() as u64);
        Ok(Self { meta, events, threads, cut: source.notes().cut.clone() })
    }
}

/// A run that can be repeated.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    pub trace: PathBuf,
    pub meta: RunMeta,
    /// Which thread ran when, encoded.
    pub schedule: Vec<u8>,
    /// What standard input answered, encoded.
    pub input: Vec<u8>,
}

impl RecordedRun {
    /// Reads what a replay needs.
    ///
    /// # Errors
    /// If the trace cannot be read, or was not left by a run that was scheduled.
    pub fn read(path: &Path) -> Result<Self, FrontEndError> {
        let kept =
            |kind| utr::extras(path, kind).map_err(|error| FrontEndError::input(error.to_string()));
        let (schedule, input) = (kept(SCHEDULE)?, kept(INPUT)?);
        let meta = RecordedTrace::read(path)?.meta;
        if meta.command.is_empty() || schedule.is_empty() {
            return Err(FrontEndError::input(format!("{}: has no schedule", path.display()))
                .way_out("only traces made by `untorn record` can be replayed"));
        }
        Ok(Self { trace: path.to_owned(), meta, schedule, input })
    }

    /// Where it ran.
    pub fn surroundings(&self) -> Surroundings {
        let setup = self.meta.setup.clone().unwrap_or_default();
        let directory = if setup.directory.is_empty() { ".".to_owned() } else { setup.directory };
        let others = setup.other_variables;
        let others = (!others.is_empty()).then(|| others.into_iter().collect());
        Surroundings { directory, environment: setup.environment, others }
    }

    /// Whether this user made the file, and nobody changed what it says is run.
    pub fn is_made_here(&self) -> bool {
        let setup = self.meta.setup.as_ref();
        setup.is_some_and(|setup| seal::is_sealed(&sealed_text(&self.meta), &setup.seal))
    }

    /// The variables that are not set if the file is not trusted, because they could have other code run.
    pub fn risky_variables(&self) -> BTreeMap<String, String> {
        let all = self.surroundings().environment;
        let harmless = surroundings::harmless(&all);
        all.into_iter().filter(|(name, _)| !harmless.contains_key(name)).collect()
    }

    /// Forgets these, so that they come from here and now.
    pub fn drop_risky_variables(&mut self) {
        if let Some(setup) = &mut self.meta.setup {
            setup.environment = surroundings::harmless(&setup.environment);
            setup.other_variables.clear();
        }
    }
}
