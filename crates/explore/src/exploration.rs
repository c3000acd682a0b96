//! The loop.
//!
//! **Paper:** Eslamimehr, Lesani, *AtomChase: Directed Search Towards Atomicity Violations*, ISSRE
//! 2015, Algorithm 1: candidates, a plan, a directed run, and the new trace feeds the next plan.
//!
//! **What we changed, and why.**
//! * Every run, whatever it was made for, is searched for instances of every target and for new
//!   candidates: runs are what costs time, looking at them does not.
//! * Candidates of one block, one variable and one pattern are one finding. When one of them is proved by values,
//!   the others are left alone; when it is proved less, they go on. Other variables and patterns of the block go on.
//! * Targets take turns: one that was tried less often comes first, then the likelier one.
//! * Reorderings are as sure as they can be had: precise first, then simulated; guesses only when nothing else is
//!   left to do. No plan is followed twice.
//! * Directed and undirected runs alternate until the budget is used, or until the runs themselves say that nothing
//!   new is to be expected ([`Novelty`]).
//! * A run that fails is a finding, whatever was torn in it ([`failures`]).
//!
//! **Promise:** what is called a violation or a failure happened in a run whose trace is kept. What was not reached
//! is listed with its reason. May miss; never invents.

mod baselines;
mod budget;
mod candidates;
mod cause;
mod control_runs;
mod counterfactual;
mod evidence;
mod explore;
mod failures;
mod focus;
mod inputs;
mod judging;
mod minimise;
mod options;
mod outcome;
mod process_run;
mod repetitions;
mod replays;
pub(crate) mod run_store;
mod sweep;
mod target_set;
mod triples;
mod undirected;
mod with_inputs;

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use untorn_frontend::{FrontEnd, FrontEndError, FrontEndErrorKind, OwnCode, PlainRun, RunResult};
use untorn_predict::lock_valid::LockValidAnswer;
use untorn_schedule::{Plan, RunSpec};

use crate::conflict_order::Novelty;
use crate::effects::NormalBehaviour;
use crate::failure::FailureSignature;
use crate::feasibility::Feasibility;
use crate::inversion::LockOrders;
use crate::judge::Values;
use crate::steer;
use crate::strategy::Strategy;
use crate::target::{Identity, Key, NoFinding, PredictedReordering, Prediction, Target, Variant};

use budget::Budget;
use candidates::KnownAnswers;
use control_runs::ControlRun;
pub use evidence::{Evidence, PrematureSleep};
pub use explore::explore;
pub use failures::{Cause, CauseStep, Dependence, Failure};
pub use focus::FocusActivity;
pub use inputs::InputSearchSummary;
pub use options::{EarlierExplorations, Focus, Options, Shard};
pub use outcome::{AtomicityViolation, Deadlock, ExploreError, Outcome, Progress, SearchGaps};
pub use replays::ReplayResult;
use run_store::{RunStore, forget};
use sweep::Sweep;
use target_set::TargetSet;
pub use triples::{TripleResult, Triples};
use undirected::{Arm, HoldMarks, Undirected};

/// Of so many runs one is undirected, as long as there are plans to follow: what it shows feeds the plans.
const UNDIRECTED_EVERY: u32 = 4;

/// If so many runs failed and none ended well, it is time to see what the program does alone.
const ENOUGH_FAILURES: u32 = 3;

/// The part of the time in which the first runs have to begin, once there are targets.
const INITIAL_SHARE: u32 = 4;

/// Targets that were not reached may be tried so many times as often when nothing else is left to do.
const MAX_GROWTH: u32 = 4;

/// The exploration of one program.
pub struct Exploration<'a> {
    front_end: &'a mut dyn FrontEnd,
    options: Options,
    /// Candidates in it are tried first.
    own_code: OwnCode,
    watch: &'a mut dyn FnMut(Progress<'_>),
    budget: Budget<'a>,
    runs: RunStore,
    targets: TargetSet,
    normal: NormalBehaviour,
    novelty: Novelty,
    undirected: Undirected,
    marks: Option<HoldMarks>,
    answers: KnownAnswers,
    /// Violations that rest on what calls returned, until a run shows what they return otherwise.
    control_runs: Vec<ControlRun>,
    lock_orders: LockOrders,
    /// Preemptions that are tried one by one.
    sweep: Sweep,
    /// Hashes of the plans that were followed.
    followed: FxHashSet<u64>,
    /// Directed runs that each target may have; grows while time is left.
    attempts: u32,
    /// Methods were refuted since the last undirected run.
    refuted_since_initial_run: bool,
    /// By candidate: how often its effects showed without it as well.
    shown_without_interruption: FxHashMap<Key, u32>,
    /// Runs that were made to undo interruptions.
    undo_runs: u32,
    /// By trace: what came of the one replay of it.
    replays: FxHashMap<PathBuf, ReplayResult>,
    /// What came of the program as it is, once that was tried.
    plain: Option<Option<PlainRun>>,
    /// Exceptions that end threads whenever a test runs, and that it expects.
    expected_exceptions: BTreeSet<FailureSignature>,
    /// Deadlocks while no run had ended well, though the program does if nobody records it.
    unconfirmed_deadlocks: Vec<Deadlock>,
    /// The trace that was replayed last, and what came of that.
    last_replay: Option<(PathBuf, RunResult)>,
    outcome: Outcome,
}

impl std::fmt::Debug for Exploration<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exploration").field("targets", &self.targets.len()).finish_non_exhaustive()
    }
}

/// A run to be made: for a target, by an arm of the undirected runs, or for neither (control runs, lock orders).
struct NextRun {
    spec: RunSpec,
    target: Option<usize>,
    arm: Option<Arm>,
}

impl NextRun {
    fn without_target(spec: RunSpec) -> Self {
        Self { spec, target: None, arm: None }
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
        let own_code = front_end.own_code();
        Self {
            front_end,
            own_code,
            watch,
            budget: Budget::new(options.time, options.runs, stop),
            runs: RunStore::new(folder, options.initial.len(), options.earlier.runs),
            targets: TargetSet::default(),
            normal: NormalBehaviour::default(),
            novelty: Novelty::default(),
            undirected: Undirected::default(),
            marks: None,
            answers: KnownAnswers::default(),
            control_runs: Vec::new(),
            lock_orders: LockOrders::default(),
            sweep: Sweep::default(),
            followed: FxHashSet::default(),
            attempts: options.per_candidate,
            refuted_since_initial_run: false,
            shown_without_interruption: FxHashMap::default(),
            undo_runs: 0,
            replays: FxHashMap::default(),
            plain: None,
            expected_exceptions: BTreeSet::new(),
            unconfirmed_deadlocks: Vec::new(),
            last_replay: None,
            outcome: Outcome { earlier: options.earlier.findings, ..Outcome::default() },
            options,
        }
    }

    /// Explores until the budget is used, or nothing new is to be expected.
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
        self.resolve_deadlocks();
        self.minimise()?;
        self.resolve_failures()?;
        self.try_replays()?;
        Ok(self.finish())
    }

    fn run_loop(&mut self) -> Result<(), ExploreError> {
        let mut initial = self.options.initial.clone().into_iter().map(NextRun::without_target);
        while !self.is_over() && !self.is_time_for_targets() {
            let requests: Vec<NextRun> = initial.by_ref().take(self.options.jobs.max(1)).collect();
            if requests.is_empty() {
                break;
            }
            self.make_runs(requests)?;
        }
        while !self.is_over() && !self.has_only() {
            let requests = self.next_runs();
            if requests.is_empty() {
                self.outcome.saturation = self.novelty.saturation();
                break;
            }
            self.make_runs(requests)?;
        }
        Ok(())
    }

    /// Whether runs are so long that those that were to come first would leave no time for targets. The policies of the
    /// others have their turn later. Parts of one work all make the same first runs.
    fn is_time_for_targets(&self) -> bool {
        let is_long = self.budget.elapsed() > self.budget.time() / INITIAL_SHARE;
        is_long && self.options.shard.count <= 1 && self.has_predictions()
    }

    /// Whether one violation alone was looked for, and was found.
    fn has_only(&self) -> bool {
        self.options.only.is_some() && !self.outcome.violations.is_empty()
    }

    /// What to run next, at once: control runs; plans for different targets and for locks that are taken in
    /// different orders; undirected runs, from time to time and when there are no plans.
    fn next_runs(&mut self) -> Vec<NextRun> {
        let room = self.options.jobs.max(1);
        let mut requests: Vec<NextRun> = Vec::new();
        requests.extend(std::iter::from_fn(|| self.next_control_run()).take(room));
        let is_undirected = self.outcome.runs - self.undirected.last_at >= UNDIRECTED_EVERY;
        if requests.is_empty() && is_undirected {
            requests.extend(self.next_undirected());
        }
        while requests.len() < room
            && let Some(plan) = self.sweep.next()
        {
            self.outcome.directed += 1;
            requests.push(NextRun::without_target(RunSpec::plan(plan)));
        }
        self.fill_with_directed(&mut requests, room);
        if requests.is_empty()
            && let Some(plan) = self.lock_orders.next_plan()
        {
            self.outcome.directed += 1;
            requests.push(NextRun::without_target(RunSpec::plan(plan)));
        }
        if requests.is_empty() && self.refuted_since_initial_run {
            self.refuted_since_initial_run = false;
            requests.extend(self.options.initial.first().cloned().map(NextRun::without_target));
        }
        while requests.len() < room {
            let Some(request) = self.next_undirected() else { break };
            requests.push(request);
        }
        let may_grow = self.attempts < self.options.per_candidate.saturating_mul(MAX_GROWTH);
        if requests.is_empty() && may_grow && self.has_predictions() {
            // Time is left: every target may be tried more often.
            self.attempts = self.attempts.saturating_mul(2);
            self.fill_with_directed(&mut requests, room);
        }
        requests
    }

    /// Whether some target could be tried again.
    fn has_predictions(&self) -> bool {
        let shard = self.options.shard;
        self.targets.iter().any(|target| {
            !target.predictions.is_empty() && target.is_mine(shard) && !self.is_settled(target)
        })
    }

    fn fill_with_directed(&mut self, requests: &mut Vec<NextRun>, room: usize) {
        let mut taken = BTreeSet::new();
        while requests.len() < room {
            let Some(target) = self.next_target(&taken) else { break };
            if let Some(request) = self.directed(target) {
                taken.insert(self.targets.identity(target));
                requests.push(request);
            }
        }
    }

    /// The next undirected run of this part of the work; `None` if there is nothing new to expect of any.
    fn next_undirected(&mut self) -> Option<NextRun> {
        if self.novelty.saturation().is_some() {
            return None;
        }
        while self.options.explore.is_none_or(|most| self.undirected.made < most) {
            let n = self.undirected.made;
            self.undirected.made += 1;
            self.undirected.last_at = self.outcome.runs;
            if self.options.shard.has_nth(n) {
                // Seeds that the initial runs do not have.
                let seed =
                    self.options.seed.wrapping_mul(1_000_003).wrapping_add(1_001 + u64::from(n));
                let marks = self.hold_marks();
                let (arm, policy) = self.undirected.choose(|policy| marks.is_usable(policy));
                let length = self.runs.loaded().next_back().map(|run| run.event_count());
                let spec = marks.spec(policy, seed, length);
                return Some(NextRun { spec, target: None, arm: Some(arm) });
            }
        }
        None
    }

    fn is_over(&self) -> bool {
        let is_judged = self.options.judged_by_results && self.outcome.finding_count() > 0;
        // A run that was ended half way was the last one.
        is_judged
            || self.outcome.cut_off > 0
            || self.budget.is_over(self.outcome.runs, self.could_be_simpler())
    }

    /// A run under way ends when its time is over. One is always made: without any there is nothing to report.
    fn limit_run(&mut self, is_exploring: bool) {
        let keeps_reserve = is_exploring && self.could_be_simpler();
        let end = self.budget.end(keeps_reserve).filter(|_| self.outcome.runs > 0);
        self.front_end.end_by(end);
    }

    /// Counts a run that was ended because time was over.
    fn note_cut_off(&mut self, error: &FrontEndError) -> bool {
        let is_cut_off = error.kind == FrontEndErrorKind::OutOfTime;
        self.outcome.cut_off += u32::from(is_cut_off);
        is_cut_off
    }

    /// The target of the user's code that was tried least, the likeliest of them first, one with nothing but guesses last;
    /// then those of libraries, in the same order.
    fn next_target(&self, taken: &BTreeSet<Identity>) -> Option<usize> {
        let open = self.targets.iter().enumerate().filter(|(index, target)| {
            target.attempts < self.attempts
                && target.is_mine(self.options.shard)
                && !self.is_settled(target)
                && (taken.is_empty() || !taken.contains(&self.targets.identity(*index)))
        });
        let ready = open.filter_map(|(index, target)| {
            let prediction = target.predictions.front()?;
            let uncertainty = prediction.reordering.uncertainty();
            let turn = (target.provenance, uncertainty > 1, target.attempts);
            Some(((turn, uncertainty, target.rank(), index), index))
        });
        ready.min_by_key(|(rank, _)| *rank).map(|(_, index)| index)
    }

    /// Whether nothing more has to be proved.
    fn is_settled(&self, target: &Target) -> bool {
        let proves = |found: &AtomicityViolation| {
            let by_values = matches!(found.judged.values, Values::NotAtomic { .. });
            by_values && target.key.is_covered_by(&found.key)
        };
        let is_proved = self.outcome.violations.iter().any(proves);
        target.done || is_proved && !self.is_to_be_counted(target)
    }

    /// The run that follows the best prediction of a target; `None` if no plan comes of it, or its plan was
    /// followed before.
    fn directed(&mut self, index: usize) -> Option<NextRun> {
        let prediction = self.targets[index].predictions.pop_front()?;
        let (plan, next) = match self.plan_of(&prediction) {
            Ok(plan) => plan,
            Err(why) => {
                self.targets[index].last = why.or(self.targets[index].last.take());
                return None;
            }
        };
        if let Some(variant) = next {
            self.targets[index]
                .predictions
                .push_front(Prediction { variant: Some(variant), ..prediction });
        }
        let plan = plan.filter(|plan| self.followed.insert(hash_of(plan)))?;
        self.targets[index].attempts += 1;
        self.outcome.directed += 1;
        Some(NextRun { spec: RunSpec::plan(plan), target: Some(index), arm: None })
    }

    /// The plan of a prediction, if this variant of it has one, and the variant to try next; or why there is no
    /// reordering.
    fn plan_of(
        &self,
        prediction: &Prediction,
    ) -> Result<(Option<Plan>, Option<Variant>), Option<NoFinding>> {
        let run = self.runs.get(prediction.run).ok_or(None)?;
        let goal = &prediction.goal.events;
        let reordering = match &prediction.reordering {
            PredictedReordering::Precise(outline) => Some(outline.reordering(&run.history)),
            PredictedReordering::Simulated(suffix) | PredictedReordering::Locks(suffix) => {
                Some(suffix.reordering())
            }
            PredictedReordering::NotRuledOut => {
                match Feasibility::guess(&run.history, &prediction.goal) {
                    LockValidAnswer::Feasible(suffix) => Some(suffix.reordering()),
                    LockValidAnswer::Undecided(_) => None,
                    LockValidAnswer::Infeasible => return Err(Some(NoFinding::Infeasible)),
                }
            }
        };
        let interferes =
            reordering.as_ref().is_none_or(|reordering| steer::interferes(run, goal, reordering));
        let variant = prediction.variant.unwrap_or(Variant::first(interferes));
        let mut plan = match (&reordering, variant) {
            (Some(reordering), Variant::Held | Variant::Free) => {
                steer::plan(run, reordering, goal, prediction.pending)
            }
            (None, _) | (_, Variant::Bare) => steer::bare_plan(run, goal),
        };
        if variant == Variant::Free && plan.is_none() {
            return Err(Some(NoFinding::NoPlaces));
        }
        if let Some(plan) = plan.as_mut().filter(|_| variant != Variant::Free) {
            plan.holds = steer::holds(run, goal);
        }
        Ok((plan, variant.next(interferes)))
    }

    /// Makes runs, as many at once as the front end can, and looks at each in turn.
    fn make_runs(&mut self, requests: Vec<NextRun>) -> Result<(), ExploreError> {
        let open = self.targets.open_count();
        let mut calls = Vec::with_capacity(requests.len());
        let mut numbers = Vec::with_capacity(requests.len());
        for request in &requests {
            let number = self.runs.next_number();
            numbers.push(number);
            let key = request.target.map(|index| &self.targets[index].key);
            (self.watch)(Progress::Running { number, target: key, open });
            calls.push((request.spec.clone(), self.runs.trace_of(number)));
        }
        self.limit_run(true);
        let result = self.front_end.run_all(&calls);
        let made = requests.into_iter().zip(numbers).zip(calls).zip(result);
        for (((request, number), (_, trace)), result) in made {
            let result = match result {
                Ok(result) => result,
                // Ctrl-C ends the program as well: that is no error.
                Err(_) if self.budget.is_interrupted() && self.outcome.runs > 0 => break,
                Err(error) if self.note_cut_off(&error) => {
                    forget(&trace);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            self.outcome.runs += 1;
            self.process_run(number, request, result, &trace)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Outcome {
        let tried_all = |target: &Target| {
            let is_empty = target.predictions.is_empty() && !target.is_cut;
            is_empty || target.attempts >= self.options.per_candidate
        };
        let shard = self.options.shard;
        let mine = |target: &&Target| target.is_mine(shard);
        self.outcome.candidates = self.targets.iter().filter(mine).count() as u64;
        for target in self.targets.iter().filter(mine) {
            let mut known = self.outcome.violations.iter();
            if target.done || known.any(|found| target.key.is_covered_by(&found.key)) {
                continue;
            }
            let why = match &target.last {
                Some(why) if tried_all(target) => why.clone(),
                _ if tried_all(target) => NoFinding::Undecided,
                _ => NoFinding::OutOfBudget,
            };
            match why {
                NoFinding::Harmless => self.outcome.harmless += 1,
                NoFinding::Infeasible => self.outcome.infeasible += 1,
                why => self.outcome.unreached.push((target.key.clone(), why)),
            }
        }
        self.outcome.last_run = self.runs.last_number();
        self.outcome.bodies = self.targets.body_count() as u64;
        self.outcome.outside = self.targets.outside_count() as u64;
        self.outcome.conflict_orders = self.novelty.orders() as u64;
        self.outcome.interrupted = self.budget.is_interrupted();
        self.outcome.time = self.budget.elapsed();
        self.outcome
    }
}

fn hash_of(plan: &Plan) -> u64 {
    let mut hasher = FxHasher::default();
    plan.steps.hash(&mut hasher);
    plan.holds.hash(&mut hasher);
    hasher.finish()
}
