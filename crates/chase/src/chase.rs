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

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use untorn_predict::candidates::Sources;
use untorn_predict::lock_valid::{LockValid, Verdict};
use untorn_predict::precise::{Decision, Precise};
use untorn_predict::sat::Budget;
use untorn_predict::simulation::{Knowledge, Simulation};
use untorn_predict::{Facts, Goal, Origin, Strength};

use crate::effects::Normal;
use crate::evidence::{EvidenceError, Run};
use crate::instance::Accesses;
use crate::runner::{Ended, How, Runner, RunnerError};
use crate::steer;
use crate::target::{Key, Lead, Order, Target, Unreached};
use crate::verify::{Judged, Values, judge};

/// How far to go.
#[derive(Clone, Debug)]
pub struct Options {
    pub time: Duration,
    pub runs: u32,
    /// Directed runs for one candidate.
    pub per_candidate: u32,
    /// The runs to start with.
    pub initial: Vec<How>,
    pub sources: Sources,
    /// Events of a run that are looked at.
    pub most_events: usize,
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
            sources: Sources::All,
            most_events: 8_000_000,
        }
    }
}

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

/// All that came of a chase.
#[derive(Debug, Default)]
pub struct Outcome {
    pub findings: Vec<Finding>,
    /// Candidates that were not reached, and why; harmless ones are counted apart.
    pub unreached: Vec<(Key, Unreached)>,
    pub harmless: u64,
    /// Candidates in all, and those proved infeasible.
    pub candidates: u64,
    pub infeasible: u64,
    pub runs: u32,
    pub directed: u32,
    pub events: u64,
    pub left_out: u64,
    /// Most threads seen in a run.
    pub threads: usize,
    /// Runs that ended in a deadlock.
    pub deadlocks: u32,
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
    outcome: Outcome,
}

impl std::fmt::Debug for Chase<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chase").field("targets", &self.targets.len()).finish_non_exhaustive()
    }
}

/// Runs whose traces stay in memory.
const MOST_KEPT: usize = 8;

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
            outcome: Outcome::default(),
        }
    }

    /// Chases until everything is reached or given up, or the budget ends.
    ///
    /// # Errors
    /// If the program cannot be run, or its trace not be read.
    pub fn run(mut self) -> Result<Outcome, ChaseError> {
        for how in self.options.initial.clone() {
            if self.is_over() {
                break;
            }
            self.make_run(how, None)?;
        }
        while !self.is_over() {
            let Some(target) = self.next_target() else { break };
            self.attempt(target)?;
        }
        Ok(self.finish())
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.outcome.runs >= self.options.runs
            // Without a single run there is nothing to say.
            || (self.outcome.runs > 0 && self.begin.elapsed() >= self.options.time)
    }

    /// The target that was tried least, the likeliest of them first; one with nothing but guesses last.
    fn next_target(&mut self) -> Option<usize> {
        let settled: BTreeSet<_> = self.settled();
        let open = self.targets.iter().enumerate().filter(|(_, target)| {
            !target.done
                && target.attempts < self.options.per_candidate
                && !settled.contains(&target.key.concern())
        });
        let ready = open.filter_map(|(index, target)| {
            let lead = target.leads.front()?;
            let doubt = lead.order.doubt();
            Some(((doubt > 1, target.attempts, doubt, target.key.rank(), index), index))
        });
        ready.min_by_key(|(rank, _)| *rank).map(|(_, index)| index)
    }

    /// Concerns that need no more proof.
    fn settled(&self) -> BTreeSet<(Origin, &str, &str)> {
        let by_values =
            |finding: &&Finding| matches!(finding.judged.values, Values::NotAtomic { .. });
        self.outcome.findings.iter().filter(by_values).map(|found| found.key.concern()).collect()
    }

    fn attempt(&mut self, index: usize) -> Result<(), ChaseError> {
        let Some(lead) = self.targets[index].leads.pop_front() else { return Ok(()) };
        let Some(run) = self.kept[lead.run].as_ref() else { return Ok(()) };
        let plan = match &lead.order {
            Order::Precise(outline) => steer::plan(run, &lead.goal, &outline.plan(&run.history)),
            Order::Simulated(schedule) | Order::Locks(schedule) => {
                steer::plan(run, &lead.goal, &schedule.plan())
            }
            Order::None => steer::bare_plan(run, &lead.goal),
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
        self.outcome.deadlocks += u32::from(ran.ended == Ended::Deadlock);
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
        let keep = self.look(&run);
        self.keep(run, keep);
        Ok(())
    }

    /// Adds the run's candidates, with what can be tried. Gives the number of new ones.
    fn learn(&mut self, run: &Run, made_for: Option<usize>) -> usize {
        let found = run.candidates(self.options.sources);
        let facts = Facts::new(&run.history);
        let knowledge = Knowledge::of(&run.history);
        let mut prophet = Prophet {
            precise: Precise::new(&run.history, Strength::Precise, Budget::default()),
            simulation: Simulation::new(&facts, &knowledge),
            locks: LockValid::new(&facts),
        };
        let before = self.targets.len();
        for candidate in &found.candidates {
            let Some(key) = run.key(candidate) else { continue };
            let index = *self.index.entry(key).or_insert_with_key(|key| {
                self.targets.push(Target::new(key.clone()));
                self.targets.len() - 1
            });
            let target = &mut self.targets[index];
            target.instances += candidate.instances;
            for goal in &candidate.goals {
                let Some(order) = prophet.order(goal) else {
                    target.last.get_or_insert(Unreached::Infeasible);
                    continue;
                };
                let lead = Lead { run: self.kept.len(), goal: goal.clone(), order };
                target.add(lead, made_for == Some(index));
            }
        }
        self.targets.len() - before
    }

    /// Looks for instances of all targets. Says whether the trace is evidence.
    fn look(&mut self, run: &Run) -> bool {
        let accesses = Accesses::new(run, self.targets.iter().map(|target| &target.key));
        let mut is_evidence = false;
        let mut is_normal = true;
        for index in 0..self.targets.len() {
            if self.targets[index].done {
                continue;
            }
            let key = self.targets[index].key.clone();
            let Some(instance) = accesses.find(&key) else { continue };
            let judged = judge(run, &key, instance, &self.normal);
            if !judged.is_violation(&key) {
                self.targets[index].last = Some(Unreached::Harmless);
                continue;
            }
            is_normal = false;
            self.targets[index].done = true;
            is_evidence |= self.report(run, key, judged);
        }
        if is_normal {
            self.normal.learn(&run.ran);
        }
        is_evidence
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
                *known =
                    Finding { number, key, judged, run: run.number, trace, tables, alike, after };
                (self.watch)(News::Found(known));
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
        if !is_evidence && matches!(run.how, How::Plan(_)) {
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
        let settled: BTreeSet<(Origin, String, String)> = self
            .outcome
            .findings
            .iter()
            .map(|found| found.key.concern())
            .map(|(origin, block, field)| (origin, block.to_owned(), field.to_owned()))
            .collect();
        let tried_all = |target: &Target| {
            target.leads.is_empty() || target.attempts >= self.options.per_candidate
        };
        self.outcome.candidates = self.targets.len() as u64;
        for target in &self.targets {
            let (origin, block, field) = target.key.concern();
            if target.done || settled.contains(&(origin, block.to_owned(), field.to_owned())) {
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
        self.outcome.interrupted = self.stop.load(Ordering::Relaxed);
        self.outcome.time = self.begin.elapsed();
        self.outcome
    }
}

/// All that can be said of a goal in one run.
struct Prophet<'f, 'h> {
    precise: Precise<'h>,
    simulation: Simulation<'f, 'h>,
    locks: LockValid<'f, 'h>,
}

impl Prophet<'_, '_> {
    /// The surest order that leads to the goal; `None` if locks or threads rule it out.
    fn order(&mut self, goal: &Goal) -> Option<Order> {
        if let Decision::Feasible(outline) = self.precise.judge(goal) {
            return Some(Order::Precise(outline));
        }
        if let Some(schedule) = self.simulation.schedule(goal) {
            return Some(Order::Simulated(schedule));
        }
        match self.locks.verdict(goal) {
            Verdict::Feasible(schedule) => Some(Order::Locks(schedule)),
            Verdict::Infeasible => None,
            Verdict::Undecided(_) => Some(Order::None),
        }
    }
}
