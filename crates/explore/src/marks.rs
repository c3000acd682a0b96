//! Where the policies that hold threads are to hold them, judging by a run that was made before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};
use untorn_predict::candidates::BlockScope;
use untorn_predict::{At, BlockId, Deadline, History, HistoryIndex};
use untorn_schedule::{ExpectedEvents, Marks, Role};
use untorn_serializability::atomizer::Atomizer;
use untorn_serializability::{Checker, Warning};
use untorn_trace::{EventIdx, LockId, Op, SiteId, ThreadId, VarId};

use crate::loading::LoadOptions;
use crate::places;
use crate::run::{Run, RunError};
use untorn_frontend::{ExitKind, RunResult};
use untorn_schedule::RunSpec;

/// Events of a trace that are all looked at; of a longer one only those that threads share are.
const MAX_WHOLE: usize = 8_000_000;

/// Finds marks in a trace.
///
/// # Errors
/// If the trace cannot be read.
pub fn of_trace(trace: &Path, find: fn(&Run) -> Marks) -> Result<Marks, RunError> {
    let options = LoadOptions { max_whole: MAX_WHOLE, ..LoadOptions::default() };
    Ok(find(&Run::load(1, RunSpec::default(), no_result(), trace, options)?))
}

/// For a trace of which nothing else is known.
pub(crate) fn no_result() -> RunResult {
    RunResult::new(ExitKind::Exit(0))
}

/// For AtomFuzzer: where a thread takes a lock that it has released in the same block, declared or inferred
/// (to hold), and where anybody takes such a lock (to watch).
pub fn second_acquisitions(run: &Run) -> Marks {
    let history = &run.history;
    let mut depths: FxHashMap<(ThreadId, LockId), u32> = FxHashMap::default();
    let mut released: FxHashMap<(ThreadId, LockId), At> = FxHashMap::default();
    let (mut seconds, mut takes) = (BTreeSet::new(), Vec::new());
    let mut locks = FxHashSet::default();
    for at in history.all() {
        let event = history.event(at);
        match event.op {
            Op::Acquire { lock, .. } => {
                let own = (event.thread, lock);
                let depth = depths.entry(own).or_default();
                *depth += 1;
                if *depth > 1 {
                    continue;
                }
                takes.push((lock, at));
                let again =
                    released.get(&own).is_some_and(|&before| is_around(history, at, before));
                if again {
                    seconds.insert(event.site);
                    locks.insert(lock);
                }
            }
            Op::Release { lock, .. } => {
                let own = (event.thread, lock);
                let depth = depths.entry(own).or_default();
                *depth = depth.saturating_sub(1);
                if *depth == 0 {
                    released.insert(own, at);
                }
            }
            _ => {}
        }
    }
    let holds = takes.iter().filter(|(_, at)| seconds.contains(&history.event(*at).site));
    let watches = takes.iter().filter(|(lock, _)| locks.contains(lock));
    let holds = holds.map(|&(_, at)| (Role::Hold, at));
    marks(run, holds.chain(watches.map(|&(_, at)| (Role::Watch, at))))
}

/// Whether a block around the later event has begun before the earlier one.
fn is_around(history: &History, later: At, earlier: At) -> bool {
    let outward =
        std::iter::successors(history.block_of(later), |&id: &BlockId| history.block(id).outer);
    outward.into_iter().any(|id| history.block(id).begin < earlier)
}

/// For the adversarial policy: operations that come too late for their block, says Atomizer, and accesses
/// that would complete a candidate.
pub fn suspicious(run: &Run) -> Marks {
    let history = &run.history;
    let facts = HistoryIndex::new(history);
    let (suspects, _) = run.suspects(&facts, BlockScope::All, Deadline::NEVER);
    let lasts = suspects.iter().filter_map(|suspect| run.site(suspect.key.places.last()?));
    let mut sites: BTreeSet<SiteId> = lasts.collect();
    let mut atomizer = Atomizer::new();
    let _ = atomizer.events(EventIdx(0), history.events());
    sites.extend(atomizer.finish().warnings.iter().filter_map(|warning| match warning {
        Warning::NotReducible { at, .. } => Some(at.event.site),
        Warning::Unprotected { .. } => None,
    }));
    let is_suspicious = |at: &At| sites.contains(&history.event(*at).site);
    marks(run, history.all().filter(is_suspicious).map(|at| (Role::Hold, at)))
}

/// Sets of events, each of which is interesting by itself, that are kept for SURW.
const MAX_SETS: usize = 64;

/// What an event accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Object {
    Lock(LockId),
    Var(VarId),
}

/// For SURW: the acquisitions of one lock, or the accesses of one variable, for each that several threads use, with how
/// many of them each thread has. One whose accesses stand at the same places as those of another is left out.
pub fn interesting(run: &Run) -> Vec<Marks> {
    let history = &run.history;
    let mut objects: BTreeMap<Object, (Use, BTreeSet<(SiteId, usize)>)> = BTreeMap::new();
    for event in history.all().map(|at| history.event(at)) {
        let (object, writes) = match event.op {
            Op::Acquire { lock, .. } => (Object::Lock(lock), true),
            Op::Read { var, .. } => (Object::Var(var), false),
            Op::Write { var, .. } => (Object::Var(var), true),
            _ => continue,
        };
        let (used, places) = objects.entry(object).or_default();
        used.add(event.thread, writes);
        places.insert((event.site, event.op.code()));
    }
    let shared =
        objects.into_values().filter(|(used, _)| used.is_shared()).map(|(_, places)| places);
    let mut seen = BTreeSet::new();
    let sets = shared.filter(|places| seen.insert(places.clone())).take(MAX_SETS);
    sets.map(|places| counted(run, &places)).collect()
}

/// Who uses an object.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    first: Option<ThreadId>,
    by_several: bool,
    written: bool,
}

impl Use {
    fn add(&mut self, thread: ThreadId, writes: bool) {
        self.by_several |= *self.first.get_or_insert(thread) != thread;
        self.written |= writes;
    }

    const fn is_shared(self) -> bool {
        self.by_several && self.written
    }
}

/// The events of these kinds at these sites, and how many of them each thread has.
fn counted(run: &Run, places: &BTreeSet<(SiteId, usize)>) -> Marks {
    let history = &run.history;
    let mut expected = vec![ExpectedEvents::default(); run.tables.threads.len()];
    let mut own = Vec::new();
    for at in history.all() {
        let event = history.event(at);
        if let Op::Fork { child } = event.op
            && let Some(started) = expected.get_mut(child.index())
        {
            started.parent = Some(event.thread);
        }
        if places.contains(&(event.site, event.op.code())) {
            own.push((Role::Hold, at));
            if let Some(expected) = expected.get_mut(event.thread.index()) {
                expected.events += 1;
            }
        }
    }
    Marks { expected, ..marks(run, own.into_iter()) }
}

/// All of them, each once.
pub(crate) fn union(all: impl Iterator<Item = Marks>) -> Marks {
    let mut union = Marks::default();
    for mark in all.flat_map(|marks| marks.marks) {
        if !union.marks.contains(&mark) {
            union.marks.push(mark);
        }
    }
    union
}

/// The places of these events, each once.
fn marks(run: &Run, events: impl Iterator<Item = (Role, At)>) -> Marks {
    let mut seen = FxHashSet::default();
    let mut marks = Vec::new();
    for (role, at) in events {
        let event = run.history.event(at);
        if seen.insert((role, event.site, event.op.code())) {
            marks.extend(places::planned(&run.tables, event).map(|place| (role, place)));
        }
    }
    Marks { marks, expected: Vec::new() }
}
