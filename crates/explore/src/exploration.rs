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
mod candidates;
mod control_runs;
mod judging;
mod minimise;
mod options;
mod outcome;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use untorn_predict::Deadline;
use untorn_predict::lock_valid::Verdict;
use untorn_trace::LabelId;

use crate::compositions::CompositionId;
use crate::effects::Normal;
use crate::feasibility::Feasibility;
use crate::inversion::{self, Inversion};
use crate::judge::Values;
use crate::run::{LoadOptions, Run};
use crate::steer;
use crate::strategy::Strategy;
use crate::target::{Key, Order, Target, Unreached};
use crate::tracked_calls::Answer;
use untorn_frontend::{ExitKind, FrontEnd, RunResult};
use untorn_schedule::{PolicyKind, RunSpec};

use control_runs::ControlRun;
pub use options::{Only, Options, Shard};
pub use outcome::{Deadlock, ExploreError, Finding, Outcome, Progress, Unsearched};

/// The policies that undirected runs take in turn.
const EXPLORERS: [PolicyKind; 3] = [PolicyKind::Pos, PolicyKind::Random, PolicyKind::PCT];

/// The chase of one program.
pub struct Exploration<'a> {
    front_end: &'a mut dyn FrontEnd,
    options: Options,
    /// Where traces go.
    folder: PathBuf,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Progress<'_>),
    begin: Instant,
    /// Runs by index; those that are not needed any more are dropped.
    kept: Vec<Option<Run>>,
    targets: Vec<Target>,
    index: BTreeMap<Key, usize>,
    normal: Normal,
    /// By composition and the answer of its first call: what the second one says when nobody comes between.
    answers: BTreeMap<(CompositionId, Answer), BTreeSet<Answer>>,
    /// Findings that rest on what calls said.
    control_runs: Vec<ControlRun>,
    /// Lock orders to try, and the places of all that were found.
    inversions: Vec<Inversion>,
    inverted: BTreeSet<Vec<String>>,
    /// Candidates that are passed over because their block is the body of a thread.
    bodies: BTreeSet<Key>,
    /// Undirected runs made beside the initial ones.
    explored: u32,
    /// Methods were refuted since the last run that nobody directed.
    is_stale: bool,
    outcome: Outcome,
}

impl std::fmt::Debug for Exploration<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exploration").field("targets", &self.targets.len()).finish_non_exhaustive()
    }
}

/// A run to be made, maybe for a target.
struct Request {
    spec: RunSpec,
    target: Option<usize>,
}

impl Request {
    fn undirected(spec: RunSpec) -> Self {
        Self { spec, target: None }
    }
}

impl<'a> Exploration<'a> {
    pub fn new(
        front_end: &'a mut dyn FrontEnd,
        options: Options,
        folder: &Path,
        stop: &'a AtomicBool,
        watch: &'a mut dyn FnMut(Progress<'_>),
    ) -> Self {
        Self {
            front_end,
            options,
            folder: folder.to_owned(),
            stop,
            watch,
            begin: Instant::now(),
            kept: Vec::new(),
            targets: Vec::new(),
            index: BTreeMap::new(),
            normal: Normal::default(),
            answers: BTreeMap::new(),
            control_runs: Vec::new(),
            inversions: Vec::new(),
            inverted: BTreeSet::new(),
            bodies: BTreeSet::new(),
            explored: 0,
            is_stale: false,
            outcome: Outcome::default(),
        }
    }

    /// Chases until everything is reached or given up, or the budget ends.
    ///
    /// # Errors
    /// If the program cannot be run, or its trace not be read.
    pub fn run(mut self) -> Result<Outcome, ExploreError> {
        match self.options.strategy.clone() {
            Strategy::Loop => self.run_loop()?,
            Strategy::PlansOnce(_) => self.try_each_once()?,
            Strategy::Undirected { policies, .. } => self.run_undirected(&policies)?,
        }
        self.drop_control_runs();
        self.minimise()?;
        Ok(self.finish())
    }

    fn run_loop(&mut self) -> Result<(), ExploreError> {
        let mut initial = self.options.initial.clone().into_iter().map(Request::undirected);
        while !self.is_over() {
            let requests: Vec<Request> = initial.by_ref().take(self.options.jobs.max(1)).collect();
            if requests.is_empty() {
                break;
            }
            self.make_runs(requests)?;
        }
        while !self.is_over() {
            let requests = self.next_requests();
            if requests.is_empty() {
                break;
            }
            self.make_runs(requests)?;
        }
        Ok(())
    }

    /// What to run next, at once: directed runs for different violations; if there are none, locks that are
    /// taken in different orders; then runs that nobody directs.
    fn next_requests(&mut self) -> Vec<Request> {
        let room = self.options.jobs.max(1);
        let mut requests: Vec<Request> = Vec::new();
        let mut taken = BTreeSet::new();
        requests.extend(std::iter::from_fn(|| self.next_control_run()).take(room));
        while requests.len() < room {
            let Some(target) = self.next_target(&taken) else { break };
            if let Some(request) = self.directed(target) {
                taken.insert(self.concern_of(target));
                requests.push(request);
            }
        }
        while requests.is_empty()
            && let Some(inversion) = self.inversions.pop()
        {
            self.outcome.directed += 1;
            requests.push(Request::undirected(RunSpec::plan(inversion.plan)));
        }
        if requests.is_empty() && self.is_stale {
            self.is_stale = false;
            requests.extend(self.options.initial.first().cloned().map(Request::undirected));
        }
        // Who looks for one violation has found what he looked for.
        let is_done = self.options.only.is_some() && !self.outcome.findings.is_empty();
        if requests.is_empty() && !is_done {
            requests.extend(std::iter::from_fn(|| self.next_exploration_run()).take(room));
        }
        requests
    }

    fn concern_of(&self, target: usize) -> (untorn_predict::Origin, String, String) {
        let (origin, block, field) = self.targets[target].key.concern();
        (origin, block.to_owned(), field.to_owned())
    }

    /// The next undirected run that is to be made here.
    fn next_exploration_run(&mut self) -> Option<Request> {
        while self.explored < self.options.explore {
            let n = self.explored;
            self.explored += 1;
            if self.options.shard.has_nth(n) {
                let policy = EXPLORERS[n as usize % EXPLORERS.len()];
                // Seeds that the initial runs do not have.
                let seed = u64::from(n) + 1_001;
                return Some(Request::undirected(RunSpec::policy(policy, seed)));
            }
        }
        None
    }

    fn is_over(&self) -> bool {
        let time = self.options.time;
        // Some time is left for simpler schedules if there is something to simplify.
        let time = if self.could_be_simpler() { time.mul_f64(0.9) } else { time };
        self.stop.load(Ordering::Relaxed)
            || self.outcome.runs >= self.options.runs
            // Without a single run there is nothing to say.
            || (self.outcome.runs > 0 && self.begin.elapsed() >= time)
    }

    /// When nobody waits any more.
    fn deadline(&self) -> Deadline {
        self.begin.checked_add(self.options.time).map_or(Deadline::NEVER, Deadline::at)
    }

    /// The target that was tried least, the likeliest of them first; one with nothing but guesses last.
    fn next_target(
        &self,
        taken: &BTreeSet<(untorn_predict::Origin, String, String)>,
    ) -> Option<usize> {
        let open = self.targets.iter().enumerate().filter(|(index, target)| {
            target.attempts < self.options.per_candidate
                && target.is_mine(self.options.shard)
                && !self.is_settled(target)
                && (taken.is_empty() || !taken.contains(&self.concern_of(*index)))
        });
        let ready = open.filter_map(|(index, target)| {
            let lead = target.leads.front()?;
            let doubt = lead.order.doubt();
            Some(((doubt > 1, target.attempts, doubt, target.rank(), index), index))
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

    /// The run that follows the best lead of a target; `None` if the lead was good for nothing.
    fn directed(&mut self, index: usize) -> Option<Request> {
        let lead = self.targets[index].leads.pop_front()?;
        let run = self.kept[lead.run].as_ref()?;
        let plan = match &lead.order {
            Order::Precise(outline) => steer::plan(run, &lead, &outline.plan(&run.history)),
            Order::Simulated(schedule) | Order::Locks(schedule) => {
                steer::plan(run, &lead, &schedule.plan())
            }
            Order::Guess => match Feasibility::guess(&run.history, &lead.goal) {
                Verdict::Feasible(schedule) => steer::plan(run, &lead, &schedule.plan()),
                Verdict::Undecided(_) => steer::bare_plan(run, &lead.goal.events),
                Verdict::Infeasible => {
                    self.targets[index].last.get_or_insert(Unreached::Infeasible);
                    return None;
                }
            },
        };
        let Some(plan) = plan else {
            self.targets[index].last = Some(Unreached::NoPlaces);
            return None;
        };
        self.targets[index].attempts += 1;
        self.outcome.directed += 1;
        Some(Request { spec: RunSpec::plan(plan), target: Some(index) })
    }

    /// Makes runs, as many at once as the front end can, and looks at each in turn.
    fn make_runs(&mut self, requests: Vec<Request>) -> Result<(), ExploreError> {
        let open = self.targets.iter().filter(|target| !target.done).count();
        let mut calls = Vec::with_capacity(requests.len());
        for (request, number) in requests.iter().zip(self.outcome.runs + 1..) {
            let key = request.target.map(|index| &self.targets[index].key);
            (self.watch)(Progress::Running { number, target: key, open });
            calls.push((request.spec.clone(), self.trace_of(number)));
        }
        let ran = self.front_end.run_all(&calls);
        for ((request, (_, trace)), ran) in requests.into_iter().zip(calls).zip(ran) {
            let ran = match ran {
                Ok(ran) => ran,
                // Ctrl-C ends the program as well: that is no error.
                Err(_) if self.stop.load(Ordering::Relaxed) && self.outcome.runs > 0 => break,
                Err(error) => return Err(error.into()),
            };
            self.outcome.runs += 1;
            self.process_run(request, ran, &trace)?;
        }
        Ok(())
    }

    fn trace_of(&self, number: u32) -> PathBuf {
        self.folder.join(format!("run-{number}.utr"))
    }

    fn load(&self, spec: RunSpec, ran: RunResult, trace: &Path) -> Result<Run, ExploreError> {
        let left = LoadOptions {
            most: self.options.max_events,
            entries: self.options.all_methods,
            blocks: &self.outcome.refuted,
            compositions: &self.options.compositions,
        };
        Ok(Run::load(self.outcome.runs, spec, ran, trace, left)?)
    }

    /// Looks at a run from every side.
    fn process_run(
        &mut self,
        request: Request,
        ran: RunResult,
        trace: &Path,
    ) -> Result<(), ExploreError> {
        let target = request.target;
        let lasting = ran.unseen.iter().filter(|unseen| unseen.is_of_the_program());
        self.outcome.unseen.extend(lasting.map(ToString::to_string));
        self.outcome.timed_out += u32::from(ran.exit == ExitKind::TimedOut);
        if let (Some(index), Some(followed)) = (target, &ran.followed) {
            let why = followed.released.clone().unwrap_or_else(|| "the program ended".to_owned());
            self.targets[index].last = Some(Unreached::NotFollowed(why));
        }
        // Without a single run that was looked at there is nothing to say.
        let is_late = self.outcome.runs > 1 && self.deadline().is_over();
        self.outcome.unsearched.runs += u32::from(is_late);
        if is_late && target.is_none() && ran.exit != ExitKind::Deadlock {
            candidates::forget(trace);
            return Ok(());
        }
        let run = self.load(request.spec, ran, trace)?;
        self.outcome.events += run.history.len() as u64 + run.left_out;
        self.outcome.left_out += run.left_out;
        self.outcome.threads = self.outcome.threads.max(run.history.thread_count());
        self.outcome.is_seen |= self.is_about(&run);
        self.resolve_control_run(&run);
        let new = if is_late { 0 } else { self.add_candidates(&run, target) };
        (self.watch)(Progress::RunEnded { run: &run, new });
        for inversion in inversion::find(&run).into_iter().filter(|_| self.options.only.is_none()) {
            if self.inverted.insert(inversion.places.clone()) {
                self.inversions.push(inversion);
            }
        }
        let refuted = self.outcome.refuted.len();
        let is_evidence = self.judge_targets(&run, target) | self.note_deadlock(&run);
        // What is inside of a refuted method, or around it, shows only now.
        self.is_stale |= self.outcome.refuted.len() > refuted;
        self.keep(run, is_evidence);
        Ok(())
    }

    /// Whether the block that alone is chased occurs in the run.
    fn is_about(&self, run: &Run) -> bool {
        let Some(only) = &self.options.only else { return true };
        let labels = (0..run.tables.labels.len()).map(LabelId::from_index);
        labels.into_iter().any(|label| only.is_method(&run.method_of(label)))
    }

    fn finish(mut self) -> Outcome {
        let tried_all = |target: &Target| {
            let is_empty = target.leads.is_empty() && !target.is_cut;
            is_empty || target.attempts >= self.options.per_candidate
        };
        let shard = self.options.shard;
        let mine = |target: &&Target| target.is_mine(shard);
        self.outcome.candidates = self.targets.iter().filter(mine).count() as u64;
        for target in self.targets.iter().filter(mine) {
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
