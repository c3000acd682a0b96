//! The run that shows a finding, whatever its kind.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use untorn_schedule::Inputs;
use untorn_trace::{SiteId, Tables, ThreadId};

use super::ReplayResult;
use crate::run::Run;

/// What every finding has: the run that shows it, and what is known of that run.
#[derive(Debug)]
pub struct Evidence {
    /// The number of the run.
    pub run: u32,
    pub trace: PathBuf,
    pub tables: Arc<Tables>,
    /// How often the same finding was seen besides: of a violation, other candidates with its identity; of a deadlock or
    /// a failure, further runs.
    pub alike: u32,
    /// How long it took to find.
    pub after: Duration,
    /// How often a thread that could go on was stopped in the run, if the front end tells.
    pub preemptions: Option<u64>,
    /// Whether the run was repeated exactly.
    pub replay: ReplayResult,
    /// The inputs with which it happens, if they are not those of the user.
    pub inputs: Inputs,
    /// If it takes a time limit that passed only because a thread was held: then the finding depends on timing.
    pub premature_sleep: Option<PrematureSleep>,
}

/// A thread slept, or waited with a time limit, while another one was held that would have gone on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrematureSleep {
    pub sleeper: ThreadId,
    pub held: ThreadId,
    /// Where the sleeper's last event before that was; of a long run, the last one that other threads could see.
    pub site: Option<SiteId>,
}

impl PrematureSleep {
    /// The first one of a run.
    fn of(run: &Run) -> Option<Self> {
        let wait = run.premature_timeouts().first()?;
        let sleeper = ThreadId(wait.waiter);
        let is_known = sleeper.index() < run.history.thread_count();
        let own = if is_known { run.history.of_thread(sleeper) } else { &[] };
        let before = own.partition_point(|&at| run.position(at).0 < wait.events);
        // Insides of libraries say little about where the program sleeps.
        let is_own =
            |site: &SiteId| run.tables.sites.get(*site).is_some_and(|site| !site.facts.is_library);
        let mut sites = own[..before].iter().rev().map(|&at| run.history.event(at).site);
        let site = sites.find(is_own);
        Some(Self { sleeper, held: ThreadId(wait.held), site })
    }
}

impl Evidence {
    pub(super) fn new(run: &Run, after: Duration) -> Self {
        Self {
            run: run.number,
            trace: run.trace.clone(),
            tables: Arc::clone(&run.tables),
            alike: 0,
            after,
            preemptions: run.result.preemptions,
            replay: ReplayResult::Untried,
            inputs: run.spec.inputs.clone(),
            premature_sleep: PrematureSleep::of(run),
        }
    }

    /// Takes another run that shows the same. Gives the trace of the one before.
    pub(super) fn replace(&mut self, run: Run) -> PathBuf {
        self.premature_sleep = PrematureSleep::of(&run);
        (self.run, self.tables) = (run.number, run.tables);
        self.preemptions = run.result.preemptions;
        std::mem::replace(&mut self.trace, run.trace)
    }
}
