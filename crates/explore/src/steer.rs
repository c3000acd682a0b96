//! From a reordering of a run to a plan that the scheduler can follow.
//!
//! A reordering is a sequence of all events up to the last of the goal. The scheduler wants places:
//! "this thread, when it comes here for the n-th time". Of each stretch in which one thread runs, the first
//! and the last event that have a place are steps: the first holds the thread until the stretch begins,
//! often before it takes a lock that others still need; what is between them follows by itself. The events
//! of the goal are steps always.

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_predict::{At, Reordering};
use untorn_schedule::{Plan, PlanPoint, PlanStep, PlanThread};
use untorn_trace::{LockId, Op, SiteId, ThreadId, VarId};

use crate::instance::Instance;
use crate::places;
use crate::run::Run;
use crate::target::Key;

/// Steps of a plan. Each makes the program ask at its place; a long plan is a slow run.
const MAX_STEPS: usize = 4_000;

/// Places at which threads without steps are held.
const MAX_HOLDS: usize = 64;

/// The plan of a reordering that reaches a goal; after that an event may be pending. `None` if the events of the goal
/// have no places.
pub(crate) fn plan(
    run: &Run,
    reordering: &Reordering,
    goal: &[At],
    pending: Option<At>,
) -> Option<Plan> {
    let mut named: FxHashMap<(SiteId, usize), bool> = FxHashMap::default();
    // Events, and how often their threads had come to their places.
    let mut steps: Vec<(At, u32)> = Vec::new();
    // Behind the first event of the stretch: the last one so far that has a place.
    let mut open: Option<(At, u32)> = None;
    let mut stretch = None;
    for &at in &reordering.steps {
        let event = run.history.event(at);
        // A release needs no step: who waits for the lock lets its owner run that far. And a method that holds
        // one has several places that release it.
        if !matches!(event.op, Op::Read { .. } | Op::Write { .. } | Op::Acquire { .. }) {
            continue;
        }
        let Some(occurrence) = run.arrival(at).occurrence() else { continue };
        // Nobody can be stopped between the halves of an update: its read stands for both.
        if run.history.first_half(at).is_some() {
            continue;
        }
        let second = run.history.second_half(at);
        let is_goal = goal.iter().any(|&event| event == at || Some(event) == second);
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
    let last = pending.and_then(|at| single(run, at));
    let first = (steps.len() + usize::from(last.is_some())).saturating_sub(MAX_STEPS);
    let named = steps[first..].iter().filter_map(|&(at, occurrence)| {
        let event = run.history.event(at);
        Some(step(event.thread, places::planned(&run.tables, event)?, occurrence))
    });
    Some(Plan::new(named.chain(last).collect()))
}

/// These events alone, for a run in which nothing else matters. An event inside of a critical section is preceded by
/// its entry: a thread that is held inside would keep the lock from the others.
pub(crate) fn bare_plan(run: &Run, events: &[At]) -> Option<Plan> {
    let mut steps = Vec::with_capacity(events.len());
    for (nth, &at) in events.iter().enumerate() {
        let thread = run.history.event(at).thread;
        let earlier = events[..nth].iter().rev().copied();
        let before = earlier.into_iter().find(|&other| run.history.event(other).thread == thread);
        let enters = sections_around(run, at).into_iter();
        let outermost =
            enters.into_iter().find(|&enter| before.is_none_or(|before| enter > before));
        // An entry without a place that a plan can name is left out.
        steps.extend(
            outermost.filter(|&enter| is_nameable(run, enter)).and_then(|at| single(run, at)),
        );
        steps.push(single(run, at)?);
    }
    Some(Plan::new(steps))
}

/// Where the thread of an event entered the critical sections around it, the outermost first.
fn sections_around(run: &Run, at: At) -> Vec<At> {
    let history = &run.history;
    let own = history.of_thread(history.event(at).thread);
    let mut open: Vec<(LockId, At)> = Vec::new();
    for &earlier in &own[..history.nth(at) as usize] {
        enter_or_leave(&mut open, history.event(earlier).op, earlier);
    }
    open.into_iter().map(|(_, enter)| enter).collect()
}

fn enter_or_leave(open: &mut Vec<(LockId, At)>, op: Op, at: At) {
    match op {
        Op::Acquire { lock, .. } => open.push((lock, at)),
        Op::Release { lock, .. } => {
            if let Some(last) = open.iter().rposition(|&(held, _)| held == lock) {
                open.remove(last);
            }
        }
        _ => {}
    }
}

fn is_nameable(run: &Run, at: At) -> bool {
    let event = run.history.event(at);
    places::planned(&run.tables, event).is_some() && run.is_recorded(event.site)
}

/// Where other threads are held so that they do not touch the variables of these events: before they access one, or
/// before they enter the critical section in which they do.
pub(crate) fn holds(run: &Run, goal: &[At]) -> Vec<PlanPoint> {
    let history = &run.history;
    let variable = |at: At| match history.event(at).op {
        Op::Read { var, .. } | Op::Write { var, .. } => Some(var),
        _ => None,
    };
    let vars: Vec<VarId> = goal.iter().filter_map(|&at| variable(at)).collect();
    let mut open: Vec<Vec<(LockId, At)>> = vec![Vec::new(); history.thread_count()];
    let mut known = FxHashSet::default();
    let mut places = Vec::new();
    for at in history.all() {
        let event = history.event(at);
        let sections = &mut open[event.thread.index()];
        enter_or_leave(sections, event.op, at);
        if variable(at).is_none_or(|var| !vars.contains(&var)) {
            continue;
        }
        let hold = sections.first().map_or(at, |&(_, enter)| enter);
        let held = history.event(hold);
        if known.insert((held.site, held.op.code())) && is_nameable(run, hold) {
            places.extend(places::planned(&run.tables, held));
            if places.len() == MAX_HOLDS {
                break;
            }
        }
    }
    places
}

/// Whether, in this reordering, a thread without a part in the goal writes one of its variables between its events.
pub(crate) fn interferes(run: &Run, goal: &[At], reordering: &Reordering) -> bool {
    let history = &run.history;
    let threads: Vec<ThreadId> = goal.iter().map(|&at| history.event(at).thread).collect();
    let vars: Vec<u32> = goal.iter().map(|&at| history.event(at).op.target()).collect();
    let first = reordering.steps.iter().position(|at| goal.contains(at)).unwrap_or(0);
    reordering.steps[first..].iter().any(|&at| {
        let event = history.event(at);
        let writes = matches!(event.op, Op::Write { var, .. } if vars.contains(&var.0));
        writes && !threads.contains(&event.thread)
    })
}

/// The events of a run that the steps of a plan name.
pub(crate) fn events_of(run: &Run, plan: &Plan) -> Vec<Option<At>> {
    let mut found: FxHashMap<(ThreadId, &PlanPoint, u32), At> = FxHashMap::default();
    let wanted: FxHashSet<&PlanPoint> = plan.steps.iter().map(|step| &step.point).collect();
    for at in run.history.all() {
        let event = run.history.event(at);
        let Some(occurrence) = run.arrival(at).occurrence() else { continue };
        let Some(place) = places::planned(&run.tables, event) else { continue };
        if let Some(&place) = wanted.get(&place) {
            found.insert((event.thread, place, occurrence), at);
        }
    }
    let event = |step: &PlanStep| match step.thread {
        PlanThread::Id(thread) => found.get(&(thread, &step.point, step.occurrence)).copied(),
        PlanThread::Name(_) => None,
    };
    plan.steps.iter().map(event).collect()
}

/// The order of a whole run, as a plan.
pub(crate) fn whole(run: &Run) -> Option<Plan> {
    let observed = Reordering { steps: run.history.all().collect() };
    plan(run, &observed, &[], None).filter(|plan| !plan.steps.is_empty())
}

/// Plans that may show an instance of a run again: its accesses alone, then the order of the whole run up to there.
pub(crate) fn reproducing_plans(run: &Run, instance: &Instance) -> Vec<Plan> {
    let mut events = instance.all().to_vec();
    events.sort_unstable();
    events.dedup();
    let bare = bare_plan(run, &events);
    let end = events.last().map_or(0, |at| at.0 + 1);
    let observed = Reordering { steps: (0..end).map(At).collect() };
    bare.into_iter().chain(plan(run, &observed, &events, None)).collect()
}

/// The order of a run up to the first access of an instance; then its thread goes on to the second.
pub(crate) fn undisturbed(run: &Run, instance: &Instance) -> Option<Plan> {
    let [first, last] = instance.own;
    let own = run.history.of_thread(run.history.event(first).thread);
    let rest = own.iter().copied().filter(|&at| first < at && at <= last);
    let reordering = Reordering { steps: (0..=first.0).map(At).chain(rest).collect() };
    plan(run, &reordering, &[first, last], None)
}

/// The order of a run up to the end of an instance.
pub(crate) fn interrupted(run: &Run, instance: &Instance) -> Option<Plan> {
    let end = instance.all().into_iter().max().map_or(0, |at| at.0 + 1);
    let observed = Reordering { steps: (0..end).map(At).collect() };
    plan(run, &observed, &instance.all(), None)
}

/// What of the other thread runs undivided when an interruption is undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UndoScope {
    /// What it does in the instance.
    Accesses,
    /// The outermost call around that: it may have begun before the block, and then the block interrupts it.
    Call,
}

/// The order of a run up to an instance, and then its block as a whole: before what the other thread does, and after it.
pub(crate) fn uninterrupted(
    run: &Run,
    key: &Key,
    instance: &Instance,
    intruder: UndoScope,
) -> [Option<Plan>; 2] {
    let history = &run.history;
    let ([first, last], [one, other]) = (instance.own, instance.other);
    let block = run.block_of_origin(instance.own, key.origin).map(|id| history.block(id));
    let begin = block.map_or(first, |block| block.begin.min(first)).min(one).min(other);
    let end = block.and_then(|block| block.end).unwrap_or(last).max(last);
    let call = (intruder == UndoScope::Call).then(|| run.outermost_call(instance.other)).flatten();
    let call = call.map(|id| history.block(id));
    let begin = call.map_or(begin, |call| call.begin.min(begin));
    let foreign_end = one.max(other).max(call.and_then(|call| call.end).unwrap_or_default());
    let part = |at: At, until: At| {
        let thread = history.of_thread(history.event(at).thread);
        thread.iter().copied().filter(move |at| (begin..=until).contains(at))
    };
    let planned = |steps: Vec<At>| {
        let before = (0..begin.0).map(At);
        let reordering = Reordering { steps: before.chain(steps).collect() };
        plan(run, &reordering, &instance.all(), None)
    };
    let foreign = || part(one, foreign_end);
    [
        planned(part(first, end).chain(foreign()).collect()),
        planned(foreign().chain(part(first, last)).collect()),
    ]
}

pub(crate) fn single(run: &Run, wanted: At) -> Option<PlanStep> {
    // Nobody can be stopped between the halves of an update: its read stands for both.
    let wanted = run.history.first_half(wanted).unwrap_or(wanted);
    let event = run.history.event(wanted);
    let place = places::planned(&run.tables, event)?;
    Some(step(event.thread, place, run.arrival(wanted).count))
}

fn step(thread: ThreadId, place: PlanPoint, occurrence: u32) -> PlanStep {
    PlanStep { thread: PlanThread::Id(thread), point: place, occurrence }
}
