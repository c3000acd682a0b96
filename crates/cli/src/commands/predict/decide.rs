//! Decides all candidates, on as many threads as wanted. The outcome does not depend on how many.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use untorn_predict::avfilter::AvFilter;
use untorn_predict::candidates::TwoVariableCandidate;
use untorn_predict::closure::{self, Closure};
use untorn_predict::lock_valid::{LockValid, LockValidAnswer};
use untorn_predict::planner::{Planner, PlannerBudget};
use untorn_predict::precise::{Decision, Precise};
use untorn_predict::sat::Budget;
use untorn_predict::simulation::{Knowledge, Simulation};
use untorn_predict::{
    Answer, At, Engine, Goal, History, HistoryIndex, Outline, Strength, SuffixReordering,
    UndecidedCause,
};
use untorn_report::phrasing::number;
use untorn_trace::reordering::{self, OutlineChecker, ReorderingFacts};
use untorn_trace::{EventIdx, Tables, VarId};

use super::args::EngineName;

use super::config::{Certainty, Method, Predict};
use super::question::Question;
use crate::console::{StatusLine, Volume};
use crate::exit::{CliError, Result};

/// What all deciders share.
pub struct Setting<'a, 'h> {
    pub config: &'a Predict,
    pub facts: &'a HistoryIndex<'h>,
    pub knowledge: &'a Knowledge,
}

/// The result for a candidate.
pub enum Decided {
    Feasible {
        goal: Goal,
        /// An event that follows: see [`TwoVariableCandidate::early`].
        pending: Option<At>,
        draft: Draft,
        sure: Certainty,
    },
    /// None of the instances tried has a reordering, not even a lock-valid one.
    Infeasible,
    /// At least one instance is open.
    Undecided,
}

/// A reordering that is not written down yet.
pub enum Draft {
    Suffix(SuffixReordering),
    Outline(Outline),
}

impl Draft {
    fn outline(&self, history: &History) -> Outline {
        match self {
            Self::Suffix(suffix) => suffix.outline(history),
            Self::Outline(outline) => outline.clone(),
        }
    }
}

/// An engine of any kind, and what its yes means.
struct Decider<'a, 'h> {
    history: &'h History,
    sure: Certainty,
    engine: EngineOf<'a, 'h>,
}

enum EngineOf<'a, 'h> {
    /// The closure answers most goals in no time, however far apart the events are.
    Locks(Box<(Closure<'h>, LockValid<'a, 'h>)>),
    AvFilter(Box<AvFilter<'a, 'h>>),
    Simulation(Box<(LockValid<'a, 'h>, Simulation<'a, 'h>)>),
    Precise(Box<Precise<'h>>),
    Planner(Box<Planner<'h>>),
}

impl<'a, 'h> Decider<'a, 'h> {
    fn new(setting: &Setting<'a, 'h>, sure: Certainty) -> Self {
        let facts = setting.facts;
        let planner = setting.config.engine == EngineName::Planner;
        let precise = |strength| {
            if planner {
                let planner = Planner::new(facts.history, strength, PlannerBudget::default());
                return EngineOf::Planner(Box::new(planner));
            }
            let budget = Budget { decisions: setting.config.budget, ..Budget::default() };
            EngineOf::Precise(Box::new(Precise::new(facts.history, strength, budget)))
        };
        let engine = match sure {
            Certainty::Locks => {
                let closure = Closure::new(facts.history, Strength::Lock);
                EngineOf::Locks(Box::new((closure, LockValid::new(facts))))
            }
            Certainty::AvFilter(reading) => {
                EngineOf::AvFilter(Box::new(AvFilter::new(facts, reading)))
            }
            Certainty::Simulated => {
                let simulation = Simulation::new(facts, setting.knowledge);
                EngineOf::Simulation(Box::new((LockValid::new(facts), simulation)))
            }
            Certainty::Source => precise(Strength::Under),
            Certainty::Value => precise(Strength::Precise),
        };
        Self { history: facts.history, sure, engine }
    }

    fn goal(&mut self, goal: &Goal) -> std::result::Result<Draft, Option<UndecidedCause>> {
        let verdict = match &mut self.engine {
            EngineOf::Locks(engines) => match engines.0.verdict(goal) {
                closure::ClosureAnswer::Feasible(outline) => return Ok(Draft::Outline(outline)),
                closure::ClosureAnswer::Infeasible => LockValidAnswer::Infeasible,
                closure::ClosureAnswer::Unknown => engines.1.verdict(goal),
            },
            EngineOf::AvFilter(engine) => engine.verdict(goal),
            EngineOf::Simulation(engines) => match engines.1.reordering(goal) {
                Some(suffix) => LockValidAnswer::Feasible(suffix),
                None if engines.0.is_infeasible(goal) => LockValidAnswer::Infeasible,
                None => LockValidAnswer::Undecided(UndecidedCause::Incomplete),
            },
            EngineOf::Planner(engine) => {
                return match engine.decide(goal) {
                    Answer::Feasible(reordering) => {
                        Ok(Draft::Outline(Outline::of(self.history, reordering)))
                    }
                    Answer::Infeasible => Err(None),
                    Answer::Undecided(why) => Err(Some(why)),
                };
            }
            EngineOf::Precise(engine) => {
                return match engine.judge(goal) {
                    Decision::Feasible(outline) => Ok(Draft::Outline(outline)),
                    Decision::Infeasible => Err(None),
                    Decision::Undecided(why) => Err(Some(why)),
                };
            }
        };
        match verdict {
            LockValidAnswer::Feasible(suffix) => Ok(Draft::Suffix(suffix)),
            LockValidAnswer::Infeasible => Err(None),
            LockValidAnswer::Undecided(why) => Err(Some(why)),
        }
    }

    /// Tries the instances of a candidate until one can happen.
    fn question(&mut self, question: &Question) -> Decided {
        let mut open = false;
        for goal in question.goals() {
            match self.goal(goal) {
                Ok(draft) => {
                    let (goal, pending, sure) = (goal.clone(), None, self.sure);
                    return Decided::Feasible { goal, pending, draft, sure };
                }
                Err(why) => open |= why.is_some(),
            }
        }
        if let Question::Pair(pair) = question
            && self.is_about_values()
            && let Some(found) = pair.goals.iter().find_map(|goal| self.early(goal))
        {
            return found;
        }
        if open { Decided::Undecided } else { Decided::Infeasible }
    }

    /// Whether a yes means that threads see what they saw.
    fn is_about_values(&self) -> bool {
        matches!(self.sure, Certainty::Value | Certainty::Source)
    }

    fn early(&mut self, goal: &Goal) -> Option<Decided> {
        let (goal, pending) = TwoVariableCandidate::early(goal)?;
        let draft = self.goal(&goal).ok()?;
        let (outline, sure) = (draft.outline(self.history), self.sure);
        TwoVariableCandidate::is_pending(self.history, &outline, pending).then(|| {
            let (pending, draft) = (Some(pending), Draft::Outline(outline));
            Decided::Feasible { goal, pending, draft, sure }
        })
    }
}

/// Asks one after the other until one answers yes. The last is the most permissive, so its no, and its
/// doubt, is that of all.
fn ask(deciders: &mut [Decider<'_, '_>], method: Method, question: &Question) -> Decided {
    let mut last = Decided::Undecided;
    for decider in deciders {
        if method == Method::Surest && !question.ways().contains(&decider.sure) {
            continue;
        }
        last = decider.question(question);
        if matches!(last, Decided::Feasible { .. }) {
            break;
        }
    }
    last
}

/// How many candidates a thread takes at a time.
const SHARE: usize = 16;

/// Decides all candidates; the answers are in their order.
pub fn all(setting: &Setting<'_, '_>, questions: &[Question]) -> Vec<Decided> {
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<(usize, Vec<Decided>)>> = Mutex::new(Vec::new());
    let work = || {
        let sures: &[Certainty] = match &setting.config.method {
            Method::Surest => &[Certainty::Value, Certainty::Simulated, Certainty::Locks],
            Method::Only(sure) => std::slice::from_ref(sure),
        };
        let mut deciders: Vec<_> = sures.iter().map(|&sure| Decider::new(setting, sure)).collect();
        loop {
            let from = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(share) = questions.get(from..) else { return };
            if share.is_empty() {
                return;
            }
            let share = &share[..share.len().min(SHARE)];
            let method = setting.config.method;
            let decided = share.iter().map(|one| ask(&mut deciders, method, one)).collect();
            answers.lock().unwrap_or_else(|poison| poison.into_inner()).push((from, decided));
        }
    };
    let jobs = setting.config.jobs.min(questions.len().div_ceil(SHARE)).max(1);
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..jobs).map(|_| scope.spawn(work)).collect();
        let own = scope.spawn(work);
        let mut status = StatusLine::new(setting.config.volume == Volume::Quiet);
        while !own.is_finished() || helpers.iter().any(|helper| !helper.is_finished()) {
            if status.is_due() {
                let done = next.load(Ordering::Relaxed).min(questions.len());
                let (done, all) = (number(done as u64), number(questions.len() as u64));
                status.show(&format!("deciding: {done} of {all} candidates"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        status.clear();
    });
    let mut answers = answers.into_inner().unwrap_or_else(|poison| poison.into_inner());
    answers.sort_by_key(|(from, _)| *from);
    answers.into_iter().flat_map(|(_, decided)| decided).collect()
}

/// A candidate that can happen, how, and how sure that is.
pub struct Chosen<'a> {
    pub question: &'a Question,
    pub goal: &'a Goal,
    pub pending: Option<At>,
    pub draft: &'a Draft,
    pub sure: Certainty,
}

/// The reorderings, each shown to the validator, which shares nothing with the engines. Most of a reordering is the run
/// itself, which is checked once for all.
pub fn checked_outlines(
    setting: &Setting<'_, '_>,
    chosen: &[Chosen<'_>],
    tables: &Tables,
) -> Result<Vec<Outline>> {
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let history = setting.facts.history;
    let initial = |var: VarId| tables.var_facts(var).initial();
    let facts = ReorderingFacts::new(history.events(), &initial);
    let mut checker = OutlineChecker::new(&facts);
    let mut outlines = Vec::with_capacity(chosen.len());
    for Chosen { goal, draft, sure, .. } in chosen {
        let outline = draft.outline(history);
        let tail: Vec<EventIdx> = outline.tail().iter().map(|&at| at.into()).collect();
        let wanted: Vec<EventIdx> = goal.events.iter().map(|&at| at.into()).collect();
        let shown = reordering::Outline { base: outline.base(), tail: &tail };
        checker.check(&wanted, shown, sure.rule()).map_err(|fault| {
            let what = format!("a reordering for events {wanted:?} is none: {fault:?}");
            CliError::run(what)
                .way_out("this is a bug in Untorn: please report it together with the trace")
        })?;
        outlines.push(outline);
    }
    Ok(outlines)
}
