//! Which branch to turn next, and the inputs that do.
//!
//! **Papers:** Eslamimehr, Lesani, *AtomChase*, ISSRE 2015, §II.A: branches of a recorded path are negated, those towards
//! target statements first. Godefroid, Levin, Molnar, *Automated Whitebox Fuzz Testing*, NDSS 2008: every branch of a path
//! is a way to a new one.
//!
//! **What we changed, and why.**
//! * The first to be turned are branches behind which accesses lie that no run has made, the nearest first; then ways that
//!   no run went; then ways that no run went in that thread; then new combinations. Within each, what was tried less
//!   often comes first: no branch that cannot be turned keeps the others waiting.
//! * If the branches before cannot stay as they are, only those stay without which the place would not be reached:
//!   branches of the methods under way whose other side does not lead there.
//! * Solutions that a person might have typed come first: small numbers, and other inputs as they are.
//!
//! **Promise:** no inputs are proposed twice. May propose inputs that lead elsewhere: the next run tells.

use std::cmp::Reverse;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use untorn_schedule::Inputs;

use crate::path::{Aspect, Interest, Path, Step, Way};
use crate::solve::{Answer, Budget, solve};
use crate::term::{TermId, VarId};

/// What a call costs beyond an access at the same distance.
const CALL: u32 = 20;

/// How often one way of a branch is tried.
const MAX_TRIES: u32 = 6;

/// Questions for one proposal.
const MAX_QUESTIONS: u32 = 64;

/// Branches of a path that are looked at.
const MAX_STEPS: usize = 20_000;

/// A way of a branch, whatever run it is of.
type Side = (u64, u32, u32);

/// The inputs of a next run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    pub inputs: Inputs,
    /// The branch that it is to turn: where it is.
    pub towards: String,
}

/// How the search went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub questions: u64,
    pub unsatisfiable: u64,
    /// Answered only after branches were left out.
    pub relaxed: u64,
    pub unknown: u64,
}

#[derive(Debug)]
struct Recorded {
    path: Path,
    /// By flow: a name that is the same in all runs.
    names: Vec<u64>,
    /// By step: a hash of all before it.
    prefixes: Vec<u64>,
    tried: FxHashSet<(usize, usize)>,
}

/// What is known of all runs so far.
#[derive(Debug, Default)]
pub struct Search {
    recorded: Vec<Recorded>,
    covered: FxHashSet<(u64, u32)>,
    sides: FxHashSet<Side>,
    sides_of_threads: FxHashSet<(Side, u32)>,
    prefixes: FxHashSet<u64>,
    tries: FxHashMap<(Side, u32), u32>,
    known: FxHashSet<Inputs>,
    /// New combinations that were proposed.
    combinations: u32,
    tally: Tally,
}

/// The lower, the sooner.
type Rank = (u8, u32, u32, Reverse<usize>, usize);

/// Combinations that are tried when everything that is new by itself was.
const MAX_COMBINATIONS: u32 = 24;

impl Search {
    /// Adds what a run with these inputs did. Whether one of its threads went any way that it went in no run before.
    pub fn add(&mut self, inputs: Inputs, mut path: Path) -> bool {
        self.known.insert(inputs);
        path.steps.truncate(MAX_STEPS);
        let names: Vec<u64> = path.flows.iter().map(|flow| hash_of(&flow.name)).collect();
        let before = self.covered.len() + self.sides_of_threads.len();
        self.covered.extend(path.covered.iter().map(|&(flow, at)| (names[flow as usize], at)));
        let mut prefixes = Vec::with_capacity(path.steps.len());
        let mut prefix = 0;
        for step in &path.steps {
            prefixes.push(prefix);
            let side = side_of(&names, step, step.outcome);
            prefix = hash_of(&(prefix, side, step.thread));
            self.prefixes.insert(prefix);
            self.sides.insert(side);
            self.sides_of_threads.insert((side, step.thread));
        }
        self.recorded.push(Recorded { path, names, prefixes, tried: FxHashSet::default() });
        self.covered.len() + self.sides_of_threads.len() > before
    }

    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Inputs that no run had; `None` if no branch is left to negate.
    pub fn propose(&mut self) -> Option<Proposal> {
        for _ in 0..MAX_QUESTIONS {
            let (rank, run, step, way) = self.best()?;
            self.recorded[run].tried.insert((step, way));
            let recorded = &self.recorded[run];
            let own = &recorded.path.steps[step];
            let side = side_of(&recorded.names, own, own.others[way].outcome);
            *self.tries.entry((side, own.thread)).or_default() += 1;
            self.combinations += u32::from(rank.0 == 3);
            if let Some(proposal) = self.turned(run, step, way) {
                return Some(proposal);
            }
        }
        None
    }

    /// The way that is most worth trying.
    fn best(&self) -> Option<(Rank, usize, usize, usize)> {
        let mut best: Option<(Rank, usize, usize, usize)> = None;
        let mut distances = FxHashMap::default();
        for (run, recorded) in self.recorded.iter().enumerate() {
            for (at, step) in recorded.path.steps.iter().enumerate() {
                for (number, way) in step.others.iter().enumerate() {
                    if recorded.tried.contains(&(at, number)) {
                        continue;
                    }
                    let Some(rank) = self.rank(run, at, step, way, &mut distances) else {
                        continue;
                    };
                    if best.as_ref().is_none_or(|(known, ..)| rank < *known) {
                        best = Some((rank, run, at, number));
                    }
                }
            }
        }
        best
    }

    fn rank(
        &self,
        run: usize,
        at: usize,
        step: &Step,
        way: &Way,
        distances: &mut FxHashMap<(u64, u32), Option<u32>>,
    ) -> Option<Rank> {
        let recorded = &self.recorded[run];
        let side = side_of(&recorded.names, step, way.outcome);
        let tries = self.tries.get(&(side, step.thread)).copied().unwrap_or(0);
        let rank = |tier, distance| Some((tier, tries, distance, Reverse(run), at));
        let is_new = !self.sides.contains(&side);
        if tries < MAX_TRIES {
            let distance = way.target.and_then(|target| {
                let key = (recorded.names[step.at.flow as usize], target);
                *distances
                    .entry(key)
                    .or_insert_with(|| self.distance(recorded, step.at.flow, target))
            });
            if let Some(distance) = distance.filter(|_| is_new) {
                return rank(0, distance);
            }
            if is_new {
                return rank(1, 0);
            }
            if !self.sides_of_threads.contains(&(side, step.thread)) {
                return rank(2, 0);
            }
        }
        let prefix = hash_of(&(recorded.prefixes[at], side, step.thread));
        let is_combination =
            self.combinations < MAX_COMBINATIONS && !self.prefixes.contains(&prefix);
        if is_combination { rank(3, 0) } else { None }
    }

    /// How far it is to an access that no run made.
    fn distance(&self, recorded: &Recorded, flow: u32, from: u32) -> Option<u32> {
        let (code, name) = (&recorded.path.flows[flow as usize], recorded.names[flow as usize]);
        code.distance(from, |at| {
            if self.covered.contains(&(name, at)) {
                return None;
            }
            match code.interest.get(at as usize)? {
                Interest::Access => Some(0),
                Interest::Call => Some(CALL),
                Interest::None => None,
            }
        })
    }

    /// Inputs with which a branch goes another way.
    fn turned(&mut self, run: usize, at: usize, way: usize) -> Option<Proposal> {
        let path = &mut self.recorded[run].path;
        let goal = path.steps[at].others[way].condition;
        let mut conditions: Vec<TermId> = vec![goal];
        conditions.extend(&path.limits);
        let limits = conditions.len();
        conditions.extend(path.steps[..at].iter().map(|step| step.condition));
        self.tally.questions += 1;
        let wishes = wishes(path, goal);
        let mut answer = solve(&path.terms, &conditions, &wishes, Budget::default());
        if answer == Answer::None {
            conditions.truncate(limits);
            let needed = path.steps[..at]
                .iter()
                .enumerate()
                .filter(|&(before, _)| is_needed(path, before, at));
            conditions.extend(needed.map(|(_, step)| step.condition));
            answer = solve(&path.terms, &conditions, &wishes, Budget::default());
            self.tally.relaxed += u64::from(matches!(answer, Answer::Values(_)));
        }
        let values = match answer {
            Answer::Values(values) => values,
            Answer::None => {
                self.tally.unsatisfiable += 1;
                return None;
            }
            Answer::Unknown => {
                self.tally.unknown += 1;
                return None;
            }
        };
        let inputs = path.inputs_of(&|var| values.get(&var).copied());
        let step = &path.steps[at];
        let towards = format!("{}:{}", path.flows[step.at.flow as usize].name, step.at.index);
        self.known.insert(inputs.clone()).then_some(Proposal { inputs, towards })
    }
}

/// Whether a step has to stay as it is for a later one to be reached: its method is under way there, and its other sides
/// do not lead to where that method is then.
fn is_needed(path: &Path, before: usize, at: usize) -> bool {
    let (early, late) = (&path.steps[before], &path.steps[at]);
    let mut place = Some((late.activation, late.at.index));
    let mut steps = 0;
    while let Some((activation, index)) = place {
        let own = path.activations[activation as usize];
        if activation == early.activation {
            let flow = &path.flows[own.flow as usize];
            let may_lead = |way: &Way| way.target.is_some_and(|target| flow.reaches(target, index));
            return !early.others.iter().any(may_lead);
        }
        place = own.caller;
        steps += 1;
        if steps > path.activations.len() {
            break;
        }
    }
    false
}

/// What a person might have typed, the most natural first.
fn wishes(path: &mut Path, goal: TermId) -> Vec<Vec<TermId>> {
    let concerned: FxHashSet<VarId> = path.terms.vars([goal]).into_iter().collect();
    let all = path.terms.vars(path.steps.iter().map(|step| step.condition).chain([goal]));
    let (mut kept, mut small, mut positive) = (Vec::new(), Vec::new(), Vec::new());
    for var in all {
        let aspect = path.vars[var.0 as usize].aspect;
        let Some(term) = path.terms.find_var(var) else { continue };
        if !concerned.contains(&var) {
            kept.push(path.terms.equals(term, path.terms.value(term)));
        } else if aspect == Aspect::Number {
            small.push(path.within(term, 1..100));
            positive.push(path.within(term, 0..1_000_000));
        }
    }
    let both = |own: &[TermId]| kept.iter().chain(own).copied().collect::<Vec<_>>();
    let mut wishes = vec![both(&small), both(&positive), small, kept, positive];
    wishes.retain(|wish| !wish.is_empty());
    wishes
}

fn side_of(names: &[u64], step: &Step, outcome: u32) -> Side {
    (names[step.at.flow as usize], step.at.index, outcome)
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
