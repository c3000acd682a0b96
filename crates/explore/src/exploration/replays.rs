//! Whether the run that shows a finding can be repeated: tried once, in a process of its own, event by event.
//!
//! **Promise:** what is said to be replayable was replayed. A finding counts whether or not it was: its run happened.

use std::path::Path;

use untorn_frontend::RunResult;
use untorn_frontend::compare::{Compared, compare, names};

use super::run_store::forget;
use super::{Exploration, ExploreError};

/// What came of the one replay of a finding's run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplayResult {
    /// There was no time, or it could not be run.
    #[default]
    Untried,
    /// Every event was the same.
    Exact,
    /// The first event that was another one, counted from 0.
    Differs { at: u64 },
}

/// How a recorded run came to its end, as far as a replay can repeat it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordedEnd {
    ByItself,
    /// It was stopped at some event: a replay may go on, or be stopped before.
    Stopped,
}

impl Exploration<'_> {
    /// Replays a run whose trace is evidence, once. Findings of the same run share the answer.
    pub(super) fn try_replay(&mut self, trace: &Path, end: RecordedEnd) -> ReplayResult {
        if let Some(&known) = self.replays.get(trace) {
            return known;
        }
        if self.budget.is_exhausted() {
            return ReplayResult::Untried;
        }
        let again = trace.with_extension("again.utr");
        self.limit_run(false);
        let result = self.front_end.replay(trace, &again);
        let trial = match &result {
            Ok(_) => compared(trace, &again, end),
            Err(_) => ReplayResult::Untried,
        };
        self.last_replay = result.ok().map(|result| (trace.to_owned(), result));
        forget(&again);
        self.replays.insert(trace.to_owned(), trial);
        trial
    }

    /// What came of the replay of a run, if that was the same run.
    pub(super) fn replayed_result(&mut self, trace: &Path) -> Option<RunResult> {
        let trial = self.try_replay(trace, RecordedEnd::ByItself);
        let (of, result) = self.last_replay.as_ref().filter(|_| trial == ReplayResult::Exact)?;
        (of == trace).then(|| result.clone())
    }

    /// Tries what a simpler schedule has replaced since it was found.
    pub(super) fn try_replays(&mut self) -> Result<(), ExploreError> {
        for index in 0..self.outcome.violations.len() {
            let trace = self.outcome.violations[index].evidence.trace.clone();
            let trial = self.try_replay(&trace, RecordedEnd::ByItself);
            self.outcome.violations[index].evidence.replay = trial;
        }
        for index in 0..self.outcome.failures.len() {
            let failure = &self.outcome.failures[index];
            let trace = failure.evidence.trace.clone();
            let end = match failure.kind {
                crate::FailureKind::Hang => RecordedEnd::Stopped,
                _ => RecordedEnd::ByItself,
            };
            self.outcome.failures[index].evidence.replay = self.try_replay(&trace, end);
        }
        Ok(())
    }
}

fn compared(old: &Path, new: &Path, end: RecordedEnd) -> ReplayResult {
    match compare(old, new, &names) {
        Ok(Compared::Same(_)) => ReplayResult::Exact,
        Ok(Compared::Differs { expected: None, .. } | Compared::Differs { actual: None, .. })
            if end == RecordedEnd::Stopped =>
        {
            ReplayResult::Exact
        }
        Ok(Compared::Differs { at, .. }) => ReplayResult::Differs { at },
        Err(_) => ReplayResult::Untried,
    }
}
