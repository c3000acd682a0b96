//! From a predicted order of events to a plan that the scheduler can follow.
//!
//! A predicted plan is a sequence of all events up to the last of the goal. The scheduler wants places:
//! "this thread, when it comes here for the n-th time". Of each stretch in which one thread runs, the first
//! and the last event that have a place are steps: the first holds the thread until the stretch begins,
//! often before it takes a lock that others still need; what is between them follows by itself. The events
//! of the goal are steps always.

use rustc_hash::FxHashMap;
use untorn_predict::{At, Goal, Plan as Order};
use untorn_schedule::{Plan, PlanPoint, PlanStep, PlanThread};
use untorn_trace::{Access, Op, SiteId, ThreadId, VarRole};

use crate::instance::Instance;
use crate::places;
use crate::run::Run;
use crate::target::Lead;

/// Steps of a plan. Each makes the program ask at its place; a long plan is a slow run.
const MAX_STEPS: usize = 4_000;

/// How often each thread has come to each place, up to some event.
#[derive(Debug, Default)]
struct Arrivals(FxHashMap<(ThreadId, SiteId, usize), u32>);

impl Arrivals {
    fn come(&mut self, run: &Run, at: At) -> u32 {
        let event = run.history.event(at);
        let count = self.0.entry((event.thread, event.site, event.op.code())).or_default();
        *count += 1;
        *count
    }
}

/// The plan; `None` if the events of the goal have no places.
pub(crate) fn plan(run: &Run, lead: &Lead, order: &Order) -> Option<Plan> {
    let mut arrivals = Arrivals::default();
    let mut named: FxHashMap<(SiteId, usize), bool> = FxHashMap::default();
    // Events, and how often their threads had come to their places.
    let mut steps: Vec<(At, u32)> = Vec::new();
    // Behind the first event of the stretch: the last one so far that has a place.
    let mut open: Option<(At, u32)> = None;
    let mut stretch = None;
    for &at in &order.steps {
        let event = run.history.event(at);
        // A release needs no step: who waits for the lock lets its owner run that far. And a method that holds
        // one has several places that release it.
        if !matches!(event.op, Op::Read { .. } | Op::Write { .. } | Op::Acquire { .. }) {
            continue;
        }
        if is_same_arrival(run, at) {
            continue;
        }
        let occurrence = arrivals.come(run, at);
        // Nobody can be stopped between the halves of an update: its read stands for both.
        if run.history.first_half(at).is_some() {
            continue;
        }
        let second = run.history.second_half(at);
        let is_goal = lead.goal.events.iter().any(|&event| event == at || Some(event) == second);
        let is_named = *named.entry((event.site, event.op.code())).or_insert_with(|| {
            places::planned(&run.tables, event).is_some() && run.is_recorded(event.site)
        });
        if !is_named {
            if is_goal {
                return None;
            }
            continue;
        }
        let step = (at, occurrence);
        if stretch != Some(event.thread) {
            steps.extend(open.take());
            stretch = Some(event.thread);
            steps.push(step);
        } else if is_goal {
            open = None;
            steps.push(step);
        } else {
            open = Some(step);
        }
    }
    steps.extend(open);
    let last = lead.pending.and_then(|at| single(run, at));
    let first = (steps.len() + usize::from(last.is_some())).saturating_sub(MAX_STEPS);
    let named = steps[first..].iter().filter_map(|&(at, occurrence)| {
        let event = run.history.event(at);
        Some(step(event.thread, places::planned(&run.tables, event)?, occurrence))
    });
    Some(Plan { steps: named.chain(last).collect() })
}

/// These events alone, for a run in which nothing else matters.
pub(crate) fn bare_plan(run: &Run, events: &[At]) -> Option<Plan> {
    let steps: Option<Vec<PlanStep>> = events.iter().map(|&at| single(run, at)).collect();
    Some(Plan { steps: steps? })
}

/// Plans that may show an instance of a run again: its accesses alone, then the order of the whole run up to there.
pub(crate) fn recipes(run: &Run, instance: &Instance) -> Vec<Plan> {
    let mut events = instance.all().to_vec();
    events.sort_unstable();
    events.dedup();
    let bare = bare_plan(run, &events);
    let end = events.last().map_or(0, |at| at.0 + 1);
    let order = Order { steps: (0..end).map(At).collect() };
    let goal = Goal::new(&events);
    let lead = Lead { run: 0, goal, order: crate::target::Order::Guess, pending: None };
    bare.into_iter().chain(plan(run, &lead, &order)).collect()
}

/// The order of a run up to the first access of an instance; then its thread goes on to the second.
pub(crate) fn undisturbed(run: &Run, instance: &Instance) -> Option<Plan> {
    let [first, last] = instance.own;
    let own = run.history.of_thread(run.history.event(first).thread);
    let rest = own.iter().copied().filter(|&at| first < at && at <= last);
    let order = Order { steps: (0..=first.0).map(At).chain(rest).collect() };
    let goal = Goal::new(&[first, last]);
    let lead = Lead { run: 0, goal, order: crate::target::Order::Guess, pending: None };
    plan(run, &lead, &order)
}

/// A call that changes what a map holds for a key changes what it holds at all: two updates, and the thread came
/// there once.
fn is_same_arrival(run: &Run, at: At) -> bool {
    let event = run.history.event(at);
    let (Op::Read { var, .. } | Op::Write { var, .. }) = event.op else { return false };
    let before = |at: At| run.history.previous(at).map(|before| run.history.event(before));
    let first = run.history.first_half(at).unwrap_or(at);
    let Some(previous) = before(first).filter(|previous| previous.site == event.site) else {
        return false;
    };
    let Op::Write { var: other, access: Access::Update, .. } = previous.op else { return false };
    other != var && run.tables.var_facts(var).role == VarRole::Contents
}

fn single(run: &Run, wanted: At) -> Option<PlanStep> {
    // Nobody can be stopped between the halves of an update: its read stands for both.
    let wanted = run.history.first_half(wanted).unwrap_or(wanted);
    let event = run.history.event(wanted);
    let place = places::planned(&run.tables, event)?;
    let own = run.history.of_thread(event.thread);
    let same = own[..=run.history.nth(wanted) as usize].iter().filter(|&&at| {
        let other = run.history.event(at);
        let is_alike = other.site == event.site && other.op.code() == event.op.code();
        is_alike && !is_same_arrival(run, at)
    });
    Some(step(event.thread, place, same.count() as u32))
}

fn step(thread: ThreadId, place: PlanPoint, occurrence: u32) -> PlanStep {
    PlanStep { thread: PlanThread::Id(thread), point: place, occurrence }
}
