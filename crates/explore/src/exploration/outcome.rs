//! What comes of an exploration.

use std::collections::BTreeSet;
use std::time::Duration;

use untorn_schedule::{Inputs, Plan};

use super::focus::FocusActivity;
use super::run_store::forget;
use super::{Dependence, Evidence, Failure, InputSearchSummary, Triples};
use crate::compositions::CompositionId;
use crate::conflict_order::Saturation;
use crate::deadlock::DeadlockState;
use crate::judge::Judgement;
use crate::run::{Run, RunError};
use crate::significance::Significance;
use crate::target::{Key, NoFinding};
use untorn_frontend::FrontEndError;

/// What happens, for observers.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A run is about to begin, for this target.
    Running {
        number: u32,
        target: Option<&'a Key>,
        open: usize,
    },
    RunEnded {
        run: &'a Run,
        new: usize,
    },
    /// A violation happened, or is proved that was not.
    Violation(&'a AtomicityViolation),
    /// A known violation has another run as its evidence: a simpler one, or one that proves more.
    Better(&'a AtomicityViolation),
    /// A run failed in a way that no run before did.
    Failure(&'a Failure),
    /// A run got stuck in a way that no run before did.
    Deadlock(&'a Deadlock),
    /// A run is about to begin that may show a violation in a simpler way.
    Simplifying {
        number: u32,
        violation: &'a AtomicityViolation,
    },
    /// A run is about to begin that shows whether a failure needs all that it seems to need.
    SimplifyingFailure {
        number: u32,
        failure: &'a Failure,
    },
}

/// An atomic block that was interrupted in a run, so that no serial order of the blocks explains what happened.
#[derive(Debug)]
pub struct AtomicityViolation {
    /// Counted from 1 in the order of discovery, together with deadlocks; failures come after them.
    pub number: u32,
    pub key: Key,
    pub judged: Judgement,
    pub significance: Significance,
    pub evidence: Evidence,
    /// Plans that may make it happen again, the simplest first.
    pub(crate) reproducing_plans: Vec<Plan>,
}

impl AtomicityViolation {
    /// The name of the block that tears the other one, if it is one.
    pub(crate) fn intruder(&self) -> Option<String> {
        let block = self.judged.intruder?;
        self.evidence.tables.labels.get(block).map(str::to_owned)
    }
}

/// A way in which runs got stuck.
#[derive(Debug)]
pub struct Deadlock {
    /// Counted together with violations.
    pub number: u32,
    /// Of the first run that got stuck in this way.
    pub evidence: Evidence,
    pub stuck: DeadlockState,
    pub(crate) signature: Vec<String>,
}

/// What of the runs nobody looked at for candidates, because time was over or it was too much.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchGaps {
    /// Runs that ended when time was over.
    pub runs: u32,
    /// Shared variables.
    pub variables: u64,
    /// Accesses of two variables of one object.
    pub accesses: u64,
    /// Combinations of places.
    pub combinations: u64,
}

impl SearchGaps {
    /// Whether no more variables and accesses were too late than before. Combinations are left out on purpose, and do not
    /// count.
    pub(super) fn is_late_as(&self, before: &Self) -> bool {
        (self.variables, self.accesses) == (before.variables, before.accesses)
    }
}

impl std::ops::AddAssign for SearchGaps {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.variables += other.variables;
        self.accesses += other.accesses;
        self.combinations += other.combinations;
    }
}

/// All that came of an exploration.
#[derive(Debug, Default)]
pub struct Outcome {
    pub violations: Vec<AtomicityViolation>,
    /// Those that happened only when a time limit passed because a thread was held, and failures of that kind.
    pub timed_violations: Vec<AtomicityViolation>,
    pub timed_failures: Vec<Failure>,
    /// Failures of every run, though the program ends well if nobody records it.
    pub recorded_failures: Vec<Failure>,
    pub recorded_deadlocks: Vec<Deadlock>,
    /// Those that do no harm, and have a pattern that says why; and those in whose runs something is visible of which
    /// nobody knows whether it is due to the interruption.
    pub folded: Vec<AtomicityViolation>,
    /// Candidates that were not reached, and why; harmless ones are counted apart.
    pub unreached: Vec<(Key, NoFinding)>,
    pub harmless: u64,
    /// Candidates whose block is the body of a thread or a task: not tried.
    pub bodies: u64,
    /// Candidates in code that nobody asked about: see [`Options::only_code`](super::Options::only_code). Not tried.
    pub outside: u64,
    /// Candidates in all, and those proved infeasible.
    pub candidates: u64,
    pub infeasible: u64,
    /// If they are counted: see [`Options::counts_triples`](super::Options::counts_triples).
    pub triples: Triples,
    pub runs: u32,
    pub directed: u32,
    pub events: u64,
    pub left_out: u64,
    pub unsearched: SearchGaps,
    /// Most threads seen in a run.
    pub threads: usize,
    /// Runs that ended in a deadlock, and the different ways in which they did.
    pub deadlocked_runs: u32,
    pub deadlocks: Vec<Deadlock>,
    /// The different ways in which runs failed. A failure that a violation explains is an effect of the violation.
    pub failures: Vec<Failure>,
    /// Runs with a failure of a kind that was not kept, because there were too many kinds.
    pub more_failures: u32,
    /// Runs that ended well: with exit code 0 and without an uncaught exception.
    pub good_runs: u32,
    /// Runs that failed by themselves.
    pub failed_runs: u32,
    /// Runs of which every event was looked at.
    pub whole_runs: u32,
    /// Runs that were searched for candidates to the end of what was looked at.
    pub searched_runs: u32,
    /// Runs that did not end by themselves.
    pub timed_out: u32,
    /// Runs that were ended because time was over. Nobody looked at them.
    pub cut_off: u32,
    /// What the front end could not see, in words.
    pub unseen: BTreeSet<String>,
    /// The most accesses of a run that have no event because their variable is not known.
    pub unresolved: u64,
    /// What the runs show of the method that alone was looked for.
    pub focus: FocusActivity,
    /// Methods that were refuted while every one was said to be atomic.
    pub refuted: BTreeSet<String>,
    /// Compositions whose calls were both made in one activation of their method.
    pub compositions_made: BTreeSet<CompositionId>,
    /// Runs that showed something in a process that had made runs before, and did not show it in a fresh one.
    pub unconfirmed_warm_runs: u32,
    /// Runs in a used process that showed something, and did so again in a fresh one.
    pub repeated: u32,
    /// Different orders of conflicting operations that runs had.
    pub conflict_orders: u64,
    /// Why it ended before the budget was used.
    pub saturation: Option<Saturation>,
    /// Ended by the user.
    pub interrupted: bool,
    pub time: Duration,
    /// What came of looking for other inputs, if any were looked for.
    pub input_search: Option<InputSearchSummary>,
    /// The highest number of a run.
    pub last_run: u32,
    /// Findings of explorations before this one.
    pub earlier: u32,
}

impl Outcome {
    /// Counts the runs of another exploration of the program, and what was seen and not seen in them.
    pub fn add_runs(&mut self, more: &Self) {
        self.runs += more.runs;
        self.directed += more.directed;
        self.events += more.events;
        self.left_out += more.left_out;
        self.unsearched += more.unsearched;
        self.threads = self.threads.max(more.threads);
        self.deadlocked_runs += more.deadlocked_runs;
        self.more_failures += more.more_failures;
        self.good_runs += more.good_runs;
        self.failed_runs += more.failed_runs;
        self.whole_runs += more.whole_runs;
        self.searched_runs += more.searched_runs;
        self.timed_out += more.timed_out;
        self.cut_off += more.cut_off;
        self.unseen.extend(more.unseen.iter().cloned());
        self.unresolved = self.unresolved.max(more.unresolved);
        self.compositions_made.extend(more.compositions_made.iter().copied());
        self.unconfirmed_warm_runs += more.unconfirmed_warm_runs;
        self.repeated += more.repeated;
        self.conflict_orders += more.conflict_orders;
        self.interrupted |= more.interrupted;
    }

    /// The number of what is found next.
    pub(crate) fn next_number(&self) -> u32 {
        self.earlier + (self.violations.len() + self.deadlocks.len()) as u32 + 1
    }

    /// The findings so far: violations, deadlocks and failures.
    pub(crate) fn finding_count(&self) -> usize {
        self.violations.len() + self.deadlocks.len() + self.failures.len()
    }
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExploreError {
    #[error(transparent)]
    FrontEnd(#[from] FrontEndError),
    #[error(transparent)]
    Evidence(#[from] RunError),
}

impl Outcome {
    pub(super) fn has_failure(&self, signature: &crate::failure::FailureSignature) -> bool {
        self.failures.iter().any(|own| own.signature() == signature)
    }

    pub(super) fn has_deadlock(&self, signature: &[String]) -> bool {
        self.deadlocks.iter().any(|own| own.signature == signature)
    }

    /// Adds what an exploration with other inputs has found.
    pub(super) fn absorb(&mut self, more: Self, inputs: &Inputs) {
        self.add_runs(&more);
        let offset = self.last_run;
        self.last_run += more.last_run;
        let with = |evidence: &mut Evidence| {
            evidence.run += offset;
            evidence.inputs = inputs.clone();
        };
        for mut found in more.violations {
            with(&mut found.evidence);
            self.violations.push(found);
        }
        for (own, more) in
            [(&mut self.timed_violations, more.timed_violations), (&mut self.folded, more.folded)]
        {
            own.extend(more.into_iter().map(|mut found| {
                with(&mut found.evidence);
                found
            }));
        }
        for mut found in more.timed_failures {
            with(&mut found.evidence);
            self.timed_failures.push(found);
        }
        for mut found in more.deadlocks {
            if self.has_deadlock(&found.signature) {
                forget(&found.evidence.trace);
                continue;
            }
            with(&mut found.evidence);
            self.deadlocks.push(found);
        }
        for mut found in more.failures {
            // A program that always fails with such inputs does not want them.
            let is_of_schedule = matches!(found.dependence, Dependence::Schedule { .. });
            if !is_of_schedule || self.has_failure(found.signature()) {
                forget(&found.evidence.trace);
                continue;
            }
            with(&mut found.evidence);
            self.failures.push(found);
        }
        let found: Vec<Key> = self.violations.iter().map(|found| found.key.clone()).collect();
        let is_found = |key: &Key| found.iter().any(|found| key.is_covered_by(found));
        self.unreached.retain(|(key, _)| !is_found(key));
        let known: BTreeSet<String> =
            self.unreached.iter().map(|(key, _)| key.places.join(" ")).collect();
        let is_new = |key: &Key| !is_found(key) && !known.contains(&key.places.join(" "));
        self.unreached.extend(more.unreached.into_iter().filter(|(key, _)| is_new(key)));
        self.triples.absorb(more.triples);
        self.add_counts(&Counts {
            candidates: more.candidates,
            harmless: more.harmless,
            infeasible: more.infeasible,
            bodies: more.bodies,
            outside: more.outside,
        });
    }

    /// Most candidates are the same with all inputs.
    fn add_counts(&mut self, more: &Counts) {
        self.candidates = self.candidates.max(more.candidates);
        self.harmless = self.harmless.max(more.harmless);
        self.infeasible = self.infeasible.max(more.infeasible);
        self.bodies = self.bodies.max(more.bodies);
        self.outside = self.outside.max(more.outside);
    }
}

struct Counts {
    candidates: u64,
    harmless: u64,
    infeasible: u64,
    bodies: u64,
    outside: u64,
}
