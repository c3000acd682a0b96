//! The loop.
//!
//! **Paper:** Eslamimehr, Lesani, *AtomChase: Directed Search Towards Atomicity Violations*, ISSRE
//! 2015, Algorithm 1: candidates, a plan, a directed run, and the new trace feeds the next plan.
//!
//! **What we changed, and why.**
//! * Every run, whatever it was made for, is searched for instances of every target and for new
//!   candidates: runs are what costs time, looking at them does not.
//! * Candidates of one block and one field are one concern. When one of them is proved by values,
//!   the others are left alone; when it is proved less, they go on.
//! * Turns are fair: a target that was tried less often comes first, then the likelier one.
//! * Plans are as sure as they can be had: precise first, then simulated; guesses only when nothing else is
//!   left to do.
//!
//! **Promise:** what is called a violation happened in a run whose trace is kept. What was not reached
//! is listed with its reason. May miss; never invents.

mod baselines;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use untorn_check::block_filter::BlockFilter;
use untorn_predict::candidates::Sources;
use untorn_predict::simulation::Knowledge;
use untorn_predict::{Facts, Origin};

use crate::effects::Normal;
use crate::evidence::{EvidenceError, Run};
use crate::instance::Accesses;
use crate::inversion::{self, Inversion};
use crate::prophet::Prophet;
use crate::runner::{Ended, How, Runner, RunnerError};
use crate::steer;
use crate::strategy::Strategy;
use crate::target::{Key, Order, Shape, Target, Unreached};
use crate::verify::{Judged, Values, judge, may_be_violation};

/// How far to go.
#[derive(Clone, Debug)]
pub struct Options {
    pub time: Duration,
    pub runs: u32,
    /// Directed runs for one candidate.
    pub per_candidate: u32,
    /// The runs to start with.
    pub initial: Vec<How>,
    /// Undirected runs to make when nothing is left to chase: they may show something new.
    pub explore: u32,
    pub sources: Sources,
    /// Events of a run that are looked at.
    pub most_events: usize,
    pub strategy: Strategy,
    /// Blocks whose names match are left alone.
    pub not_atomic: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        let policy =
            |name: &str, seed, quantum| How::Policy { name: name.to_owned(), seed, quantum };
        Self {
            time: Duration::from_secs(60),
            runs: 200,
            per_candidate: 4,
            initial: vec![
                policy("run-to-block", 0, 1_000_000),
                policy("random", 1, 1_000_000),
                policy("pct", 2, 1_000_000),
            ],
            explore: 9,
            sources: Sources::All,
            most_events: 8_000_000,
            strategy: Strategy::Loop,
            not_atomic: Vec::new(),
        }
    }
}

/// The policies that undirected runs take in turn.
const EXPLORERS: [&str; 3] = ["pos", "random", "pct"];

/// What happens, for who watches.
#[derive(Debug)]
pub enum News<'a> {
    /// A run is about to begin, for this target.
    Running {
        number: u32,
        target: Option<&'a Key>,
        open: usize,
    },
    Ran {
        run: &'a Run,
        new: usize,
    },
    Found(&'a Finding),
}

/// A violation that happened.
#[derive(Debug)]
pub struct Finding {
    /// Counted from 1 in the order of discovery.
    pub number: u32,
    pub key: Key,
    pub judged: Judged,
    /// The run that shows it.
    pub run: u32,
    pub trace: PathBuf,
    pub tables: untorn_trace::Tables,
    /// Other candidates of the same block and field that happened, too.
    pub alike: u32,
    /// How long it took to find.
    pub after: Duration,
}

impl Finding {
    /// The name of the block that tears the other one, if it is one.
    fn intruder(&self) -> Option<String> {
        let block = self.judged.intruder?;
        self.tables.labels.get(block).map(str::to_owned)
    }
}

/// All that came of a chase.
#[derive(Debug, Default)]
pub struct Outcome {
    pub findings: Vec<Finding>,
    /// Candidates that were not reached, and why; harmless ones are counted apart.
    pub unreached: Vec<(Key, Unreached)>,
    pub harmless: u64,
    /// Candidates whose block is the body of a thread or a task: not chased.
    pub bodies: u64,
    /// Candidates in all, and those proved infeasible.
    pub candidates: u64,
    pub infeasible: u64,
    pub runs: u32,
    pub directed: u32,
    pub events: u64,
    pub left_out: u64,
    /// Most threads seen in a run.
    pub threads: usize,
    /// Runs that ended in a deadlock, and the traces of the first few.
    pub deadlocks: u32,
    pub deadlocked: Vec<PathBuf>,
    /// What the front end could not see, in words.
    pub unseen: BTreeSet<String>,
    /// Ended by the user.
    pub interrupted: bool,
    pub time: Duration,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChaseError {
    #[error(transparent)]
    Runner(#[from] RunnerError),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// The chase of one program.
pub struct Chase<'a> {
    runner: &'a mut dyn Runner,
    options: Options,
    /// Where traces go.
    folder: PathBuf,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(News<'_>),
    begin: Instant,
    /// Runs by index; those that are not needed any more are dropped.
    kept: Vec<Option<Run>>,
    targets: Vec<Target>,
    index: BTreeMap<Key, usize>,
    normal: Normal,
    /// Lock orders to try, and the places of all that were found.
    inversions: Vec<Inversion>,
    inverted: BTreeSet<Vec<String>>,
    /// Candidates that are passed over because their block is the body of a thread.
    bodies: BTreeSet<Key>,
    /// Undirected runs made beside the initial ones.
    explored: u32,
    outcome: Outcome,
}

impl std::fmt::Debug for Chase<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chase").field("targets", &self.targets.len()).finish_non_exhaustive()
    }
}

/// Runs whose traces stay in memory.
const MOST_KEPT: usize = 8;

/// A target that happened so often without harm is not judged in every run.
const OFTEN_HARMLESS: u32 = 12;

/// Deadlocks whose traces are kept: one shows what is wrong.
const MOST_DEADLOCKS: usize = 2;

impl<'a> Chase<'a> {
    pub fn new(
        runner: &'a mut dyn Runner,
        options: Options,
        folder: &Path,
        stop: &'a AtomicBool,
        watch: &'a mut dyn FnMut(News<'_>),
    ) -> Self {
        Self {
            runner,
            options,
            folder: folder.to_owned(),
            stop,
            watch,
            begin: Instant::now(),
            kept: Vec::new(),
            targets: Vec::new(),
            index: BTreeMap::new(),
            normal: Normal::default(),
            inversions: Vec::new(),
            inverted: BTreeSet::new(),
            bodies: BTreeSet::new(),
            explored: 0,
            outcome: Outcome::default(),
        }
    }

    /// Chases until everything is reached or given up, or the budget ends.
    ///
    /// # Errors
    /// If the program cannot be run, or its trace not be read.
    pub fn run(mut self) -> Result<Outcome, ChaseError> {
        match self.options.strategy.clone() {
            Strategy::Loop => self.chase()?,
            Strategy::PlansOnce(_) => self.try_each_once()?,
            Strategy::Undirected { policies, .. } => self.wander(&policies)?,
        }
        Ok(self.finish())
    }

    fn chase(&mut self) -> Result<(), ChaseError> {
        for how in self.options.initial.clone() {
            if self.is_over() {
                break;
            }
            self.make_run(how, None)?;
        }
        while !self.is_over() {
            match self.next_target() {
                Some(target) => self.attempt(target)?,
                None if self.try_inversion()? => {}
                None if self.explored < self.options.explore => self.explore()?,
                None => break,
            }
        }
        Ok(())
    }

    /// Tries locks that threads take in different orders. Says whether there were any left.
    fn try_inversion(&mut self) -> Result<bool, ChaseError> {
        let Some(inversion) = self.inversions.pop() else { return Ok(false) };
        if let Ok(plan) = inversion.plan.parse() {
            self.outcome.directed += 1;
            self.make_run(How::Plan(plan), None)?;
        }
        Ok(true)
    }

    fn explore(&mut self) -> Result<(), ChaseError> {
        let name = EXPLORERS[self.explored as usize % EXPLORERS.len()].to_owned();
        self.explored += 1;
        // Seeds that the initial runs do not have.
        let seed = u64::from(self.explored) + 1_000;
        self.make_run(How::Policy { name, seed, quantum: 1_000_000 }, None)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.outcome.runs >= self.options.runs
            // Without a single run there is nothing to say.
            || (self.outcome.runs > 0 && self.begin.elapsed() >= self.options.time)
    }

    /// The target that was tried least, the likeliest of them first; one with nothing but guesses last.
    fn next_target(&mut self) -> Option<usize> {
        let open = self.targets.iter().enumerate().filter(|(_, target)| {
            target.attempts < self.options.per_candidate && !self.is_settled(target)
        });
        let ready = open.filter_map(|(index, target)| {
            let lead = target.leads.front()?;
            let doubt = lead.order.doubt();
            Some(((doubt > 1, target.attempts, doubt, target.key.rank(), index), index))
        });
        ready.min_by_key(|(rank, _)| *rank).map(|(_, index)| index)
    }

    /// Whether nothing more has to be proved.
    fn is_settled(&self, target: &Target) -> bool {
        let proves = |found: &Finding| {
            let by_values = matches!(found.judged.values, Values::NotAtomic { .. });
            by_values && target.key.is_covered_by(&found.key)
        };
        target.done || self.outcome.findings.iter().any(proves)
    }

    fn attempt(&mut self, index: usize) -> Result<(), ChaseError> {
        let Some(lead) = self.targets[index].leads.pop_front() else { return Ok(()) };
        let Some(run) = self.kept[lead.run].as_ref() else { return Ok(()) };
        let plan = match &lead.order {
            Order::Precise(outline) => steer::plan(run, &lead, &outline.plan(&run.history)),
            Order::Simulated(schedule) | Order::Locks(schedule) => {
                steer::plan(run, &lead, &schedule.plan())
            }
            Order::None => steer::bare_plan(run, &lead.goal.events),
        };
        let Some(plan) = plan else {
            self.targets[index].last = Some(Unreached::NoPlaces);
            return Ok(());
        };
        self.targets[index].attempts += 1;
        self.outcome.directed += 1;
        self.make_run(How::Plan(plan), Some(index))
    }

    fn make_run(&mut self, how: How, target: Option<usize>) -> Result<(), ChaseError> {
        let number = self.outcome.runs + 1;
        let open = self.targets.iter().filter(|target| !target.done).count();
        let key = target.map(|index| &self.targets[index].key);
        (self.watch)(News::Running { number, target: key, open });
        let trace = self.folder.join(format!("run-{number}.utr"));
        let ran = self.runner.run(&how, &trace)?;
        self.outcome.runs = number;
        self.outcome.unseen.extend(ran.unseen.iter().cloned());
        if let (Some(index), Some(followed)) = (target, &ran.followed) {
            let why = followed.released.clone().unwrap_or_else(|| "the program ended".to_owned());
            self.targets[index].last = Some(Unreached::NotFollowed(why));
        }
        let run = Run::load(number, how, ran, &trace, self.options.most_events)?;
        self.outcome.events += run.history.len() as u64 + run.left_out;
        self.outcome.left_out += run.left_out;
        self.outcome.threads = self.outcome.threads.max(run.history.thread_count());
        let new = self.learn(&run, target);
        (self.watch)(News::Ran { run: &run, new });
        for inversion in inversion::find(&run) {
            if self.inverted.insert(inversion.places.clone()) {
                self.inversions.push(inversion);
            }
        }
        let is_evidence = self.look(&run, target) | self.note_deadlock(&run);
        self.keep(run, is_evidence);
        Ok(())
    }

    /// A deadlock is no torn block, but nobody who sees one wants it kept from him. Says whether the trace is
    /// to be kept.
    fn note_deadlock(&mut self, run: &Run) -> bool {
        if run.ran.ended != Ended::Deadlock {
            return false;
        }
        self.outcome.deadlocks += 1;
        let first = self.outcome.deadlocked.len() < MOST_DEADLOCKS;
        if first {
            self.outcome.deadlocked.push(run.trace.clone());
        }
        first
    }

    /// Adds the run's candidates, with what can be tried. Gives the number of new ones.
    fn learn(&mut self, run: &Run, made_for: Option<usize>) -> usize {
        let suspects = run.suspects(self.options.sources);
        let facts = Facts::new(&run.history);
        let knowledge = Knowledge::of(&run.history);
        let mut prophet = Prophet::new(&facts, &knowledge, self.options.strategy.clone());
        let plans = self.options.strategy.plans_from(run.number);
        let counts = BlockFilter::new(&[], &self.options.not_atomic);
        let before = self.targets.len();
        for suspect in suspects.into_iter().filter(|one| counts.matches(&one.key.block)) {
            if suspect.is_body {
                self.bodies.insert(suspect.key);
                continue;
            }
            let index = *self.index.entry(suspect.key).or_insert_with_key(|key| {
                self.targets.push(Target::new(key.clone()));
                self.targets.len() - 1
            });
            self.targets[index].instances += suspect.instances;
            if plans && !self.is_settled(&self.targets[index]) {
                let (run, is_own) = (self.kept.len(), made_for == Some(index));
                self.targets[index].learn(&mut prophet, run, suspect.goals, is_own);
            }
        }
        self.targets.len() - before
    }

    /// Looks for instances of all targets. Says whether the trace is evidence.
    fn look(&mut self, run: &Run, made_for: Option<usize>) -> bool {
        let accesses = Accesses::new(run, self.targets.iter().map(|target| &target.key));
        let refuted = self.refuted(run);
        let effects = self.normal.compare(&run.ran);
        let (mut is_evidence, mut is_normal) = (false, true);
        for index in 0..self.targets.len() {
            let key = self.targets[index].key.clone();
            let counts = refuted.as_ref().is_none_or(|refuted| {
                key.origin == Origin::Declared && refuted.contains(&key.block)
            });
            if !counts || !self.is_worth_judging(index, made_for) {
                continue;
            }
            let Some(instance) = accesses.find(&key) else { continue };
            let judged = may_be_violation(&key, &effects)
                .then(|| judge(run, &key, &instance, &effects))
                .filter(|judged| judged.is_violation(&key));
            let Some(judged) = judged else {
                self.targets[index].harmless += 1;
                self.targets[index].last = Some(Unreached::Harmless);
                continue;
            };
            is_normal = false;
            self.targets[index].done = true;
            if !self.is_other_side(&key, &judged, run) {
                is_evidence |= self.report(run, key, judged);
            }
        }
        if is_normal {
            self.normal.learn(&run.ran);
        }
        is_evidence
    }

    /// Two blocks that access two variables tear each other: one finding says it all.
    fn is_other_side(&self, key: &Key, judged: &Judged, run: &Run) -> bool {
        let tears = judged.intruder.and_then(|label| run.tables.labels.get(label));
        let swapped = |found: &Finding| {
            Some(found.key.block.as_str()) == tears && found.intruder().as_ref() == Some(&key.block)
        };
        matches!(key.shape, Shape::Two { .. }) && self.outcome.findings.iter().any(swapped)
    }

    /// Judging costs as much as the trace is long. What did no harm often enough is left alone in runs that were
    /// made for something else, and so are two variables of a block that is known to be torn.
    fn is_worth_judging(&self, index: usize, made_for: Option<usize>) -> bool {
        let target = &self.targets[index];
        let is_known = |found: &Finding| target.key.is_covered_by(&found.key);
        let is_covered = matches!(target.key.shape, Shape::Two { .. })
            && self.outcome.findings.iter().any(is_known);
        let is_stale = target.harmless >= OFTEN_HARMLESS && made_for != Some(index);
        !target.done && !is_covered && !is_stale
    }

    /// Adds a finding, or makes a known one of the same concern better. Says whether the trace is
    /// needed for it.
    fn report(&mut self, run: &Run, key: Key, judged: Judged) -> bool {
        let known =
            self.outcome.findings.iter_mut().find(|found| found.key.concern() == key.concern());
        let after = self.begin.elapsed();
        let (trace, tables) = (run.trace.clone(), run.tables.clone());
        match known {
            Some(known) if known.judged.weight() >= judged.weight() => {
                known.alike += 1;
                false
            }
            Some(known) => {
                let (number, alike) = (known.number, known.alike + 1);
                let is_new = known.judged.weight() < 2;
                *known =
                    Finding { number, key, judged, run: run.number, trace, tables, alike, after };
                // Told again only if it is now proved and was not; the report has the better one anyway.
                if is_new {
                    (self.watch)(News::Found(known));
                }
                true
            }
            None => {
                let number = self.outcome.findings.len() as u32 + 1;
                let found = Finding {
                    number,
                    key,
                    judged,
                    run: run.number,
                    trace,
                    tables,
                    alike: 0,
                    after,
                };
                (self.watch)(News::Found(&found));
                self.outcome.findings.push(found);
                true
            }
        }
    }

    /// Keeps a run for later leads. Old directed runs go; the trace file stays only if it is evidence.
    fn keep(&mut self, run: Run, is_evidence: bool) {
        if !is_evidence {
            // Nobody asks for it again; that it cannot be removed does no harm.
            let _ = std::fs::remove_file(&run.trace);
        }
        self.kept.push(Some(run));
        let loaded = self.kept.iter().flatten().count();
        if loaded > MOST_KEPT {
            let initial = self.options.initial.len().min(MOST_KEPT - 1);
            let old = self.kept.iter().skip(initial).position(Option::is_some);
            let Some(old) = old.map(|place| place + initial) else { return };
            self.kept[old] = None;
            for target in &mut self.targets {
                target.leads.retain(|lead| lead.run != old);
            }
        }
    }

    fn finish(mut self) -> Outcome {
        let tried_all = |target: &Target| {
            target.leads.is_empty() || target.attempts >= self.options.per_candidate
        };
        self.outcome.candidates = self.targets.len() as u64;
        for target in &self.targets {
            let mut known = self.outcome.findings.iter();
            if target.done || known.any(|found| target.key.is_covered_by(&found.key)) {
                continue;
            }
            let why = match &target.last {
                Some(why) if tried_all(target) => why.clone(),
                _ if tried_all(target) => Unreached::Undecided,
                _ => Unreached::OutOfBudget,
            };
            match why {
                Unreached::Harmless => self.outcome.harmless += 1,
                Unreached::Infeasible => self.outcome.infeasible += 1,
                why => self.outcome.unreached.push((target.key.clone(), why)),
            }
        }
        self.outcome.bodies = self.bodies.len() as u64;
        self.outcome.interrupted = self.stop.load(Ordering::Relaxed);
        self.outcome.time = self.begin.elapsed();
        self.outcome
    }
}
