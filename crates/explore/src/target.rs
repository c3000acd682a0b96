//! A candidate that runs are directed at, the same in every run that shows it.

use std::collections::VecDeque;

use untorn_predict::{At, Goal, Origin, Outline, Pattern, SuffixReordering};

use crate::exploration::Shard;
use crate::feasibility::Feasibility;
use crate::provenance::Provenance;

/// How a block may be torn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Shape {
    /// Two accesses of one variable, and one of another thread between them.
    One(Pattern),
    /// An access of one variable and one of another; another thread accesses both.
    Two {
        /// Which of the four places write.
        writes: [bool; 4],
        /// Whether the other thread accesses the variables in the same order.
        same_order: bool,
        /// Whether the variables are parts of one object. That two objects belong together is a bolder guess.
        is_one_object: bool,
    },
}

impl Shape {
    /// Which of the places write.
    pub(crate) fn writes(self) -> Vec<bool> {
        match self {
            Self::One(pattern) => pattern.letters().chars().map(|letter| letter == 'W').collect(),
            Self::Two { writes, .. } => writes.to_vec(),
        }
    }

    /// A letter for each place, as in the literature.
    pub fn letters(self) -> String {
        self.writes().into_iter().map(|writes| if writes { 'W' } else { 'R' }).collect()
    }
}

/// What makes two candidates of two runs the same.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key {
    /// The first and the last access of the block, and between them one or two of the other thread.
    pub places: Vec<String>,
    pub shape: Shape,
    pub origin: Origin,
    /// The name of the block.
    pub block: String,
    /// The method that the block is, or is in.
    pub method: String,
    /// The variable, whatever the object; of two, both.
    pub field: String,
    /// The same, each by itself.
    pub members: Vec<String>,
    pub facts: KeyFacts,
}

/// What the trace says of the places and variables of a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct KeyFacts {
    /// All places are in code of a library: then it does not matter to the user which field it is.
    pub is_library: bool,
    /// It is about the state of a latch, a semaphore or a future, which orders threads and holds no data.
    pub is_sync_state: bool,
    /// It is about what a collection holds. Its values are versions: they say that something changed, and
    /// not whether that matters.
    pub is_collection: bool,
}

impl Key {
    /// The block and what of it: a variable, or the insides of the JDK's objects, which have no name that means anything
    /// to who calls them.
    pub fn block_and_variable(&self) -> (Origin, &str, &str) {
        let field = if self.facts.is_library { "" } else { &self.field };
        (self.origin, &self.block, field)
    }

    /// What makes two violations one finding: the block, the variable and the pattern. Of the insides of the JDK's objects
    /// the pattern means as little as the variable.
    pub fn identity(&self) -> Identity {
        let (origin, block, field) = self.block_and_variable();
        let pattern = if self.facts.is_library { String::new() } else { self.shape.letters() };
        Identity { origin, block: block.to_owned(), field: field.to_owned(), pattern }
    }

    /// Whether it is about two objects.
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.shape, Shape::Two { is_one_object: false, .. })
    }

    /// Smaller is more likely to matter.
    pub(crate) fn rank(&self) -> u8 {
        match (self.origin, self.shape) {
            (Origin::Declared, Shape::One(Pattern::ReadWriteWrite)) => 0,
            (Origin::Declared, Shape::One(_)) => 1,
            (Origin::Inferred, Shape::One(Pattern::ReadWriteWrite)) => 2,
            (Origin::Declared, Shape::Two { is_one_object: true, .. }) => 3,
            (Origin::Inferred, Shape::One(Pattern::ReadWriteRead)) => 6,
            (Origin::Inferred, Shape::One(_)) => 4,
            (Origin::Inferred, Shape::Two { is_one_object: true, .. }) => 5,
            (Origin::Declared, Shape::Two { is_one_object: false, .. }) => 7,
            (Origin::Inferred, Shape::Two { is_one_object: false, .. }) => 8,
        }
    }

    /// Whether a finding leaves nothing to look for here. Whoever fixes a block because of one variable fixes it
    /// for that variable and another one as well.
    pub(crate) fn is_covered_by(&self, found: &Key) -> bool {
        let is_block = (self.origin, &self.block) == (found.origin, &found.block);
        let shares = || self.members.iter().any(|own| found.members.contains(own));
        match self.shape {
            Shape::One(_) => is_block && self.identity() == found.identity(),
            Shape::Two { .. } => is_block && (self.facts.is_library || shares()),
        }
    }
}

/// The identity of a finding: see [`Key::identity`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Identity {
    pub origin: Origin,
    pub block: String,
    /// Empty if it is about the insides of the JDK's objects.
    pub field: String,
    /// Letters, as [`Shape::letters`] gives them; empty if `field` is.
    pub pattern: String,
}

/// That a target can happen: events of a run that match it, and a reordering of the run that reaches them.
#[derive(Clone, Debug)]
pub(crate) struct Prediction {
    /// Index of the run.
    pub run: usize,
    pub goal: Goal,
    pub reordering: PredictedReordering,
    /// An event that follows when the goal is reached.
    pub pending: Option<At>,
    /// How it is tried next; `None` before it was ever tried.
    pub variant: Option<Variant>,
}

/// In which of several ways a prediction is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    /// The reordering, while threads without steps are held before they touch what the goal is about.
    Held,
    /// Nothing but the events of the goal, while all others are held in the same way.
    Bare,
    /// The reordering alone: the other threads may be needed.
    Free,
}

impl Variant {
    /// What to try when this one led nowhere. A reordering in which other threads write what the goal is about
    /// hides the harm: then the goal alone comes first.
    pub(crate) fn next(self, interferes: bool) -> Option<Self> {
        match (self, interferes) {
            (Self::Held, false) | (Self::Bare, true) => {
                Some(if interferes { Self::Held } else { Self::Bare })
            }
            (Self::Bare, false) | (Self::Held, true) => Some(Self::Free),
            (Self::Free, _) => None,
        }
    }

    /// The variant to begin with.
    pub(crate) fn first(interferes: bool) -> Self {
        if interferes { Self::Bare } else { Self::Held }
    }
}

/// A reordering, by how sure it is that the program can do it.
#[derive(Clone, Debug)]
pub(crate) enum PredictedReordering {
    /// Every thread sees what it saw: it can happen.
    Precise(Outline),
    /// A simulation of the recorded events gets there.
    Simulated(SuffixReordering),
    /// Locks and threads allow it. Some thread will see another value than it saw, and nobody knows
    /// what it does then.
    Locks(SuffixReordering),
    /// Locks and threads do not rule it out. The reordering, which is as long as the run, is looked for when it is
    /// tried.
    NotRuledOut,
}

impl PredictedReordering {
    /// Smaller is surer.
    pub(crate) fn uncertainty(&self) -> u8 {
        match self {
            Self::Precise(_) => 0,
            Self::Simulated(_) => 1,
            Self::Locks(_) | Self::NotRuledOut => 2,
        }
    }
}

/// Why a target is no finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoFinding {
    /// No reordering of a run reaches it: proved for every instance tried.
    Infeasible,
    /// No reordering was found, and it was not proved that there is none.
    Undecided,
    /// A plan cannot name its places.
    NoPlaces,
    /// Plans were followed as far as they went; the last one stopped because of this.
    NotFollowed(String),
    /// It happened, and nothing speaks against the block.
    Harmless,
    /// The budget ended first.
    OutOfBudget,
}

/// A candidate that runs are directed at.
#[derive(Clone, Debug)]
pub struct Target {
    pub key: Key,
    /// Seen in the runs that every part of the work makes.
    pub(crate) is_common: bool,
    /// Its accesses are made by calls that look meant to be one step.
    pub(crate) is_composed: bool,
    pub(crate) provenance: Provenance,
    /// Matching triples of events, over all runs.
    pub instances: u64,
    /// Directed runs made for it.
    pub attempts: u32,
    /// How often it happened and did no harm.
    pub(crate) harmless: u32,
    /// What to try next, the most promising first.
    pub(crate) predictions: VecDeque<Prediction>,
    /// What came of the last try, or of looking for one.
    pub(crate) last: Option<NoFinding>,
    pub(crate) done: bool,
    /// Time was over before all was asked or judged that could be.
    pub(crate) is_cut: bool,
}

/// Predictions kept of one target.
const MAX_PREDICTIONS: usize = 24;

/// With so many sure ones nobody looks for more.
const ENOUGH_PREDICTIONS: usize = 8;

impl Target {
    pub(crate) fn new(key: Key, is_common: bool) -> Self {
        let predictions = VecDeque::new();
        Self {
            key,
            is_common,
            is_composed: false,
            provenance: Provenance::Platform,
            instances: 0,
            attempts: 0,
            harmless: 0,
            predictions,
            last: None,
            done: false,
            is_cut: false,
        }
    }

    /// Smaller is more likely to matter.
    pub(crate) fn rank(&self) -> u8 {
        if self.is_composed { 0 } else { self.key.rank() }
    }

    /// Whether it is tried here and not by another part of the work. What only this part has seen is its own.
    pub(crate) fn is_mine(&self, shard: Shard) -> bool {
        !self.is_common || shard.has(&self.key)
    }

    /// Looks for reorderings of a run that reach these goals of it.
    pub(crate) fn find_predictions(
        &mut self,
        feasibility: &mut Feasibility<'_, '_>,
        run: usize,
        goals: Vec<Goal>,
        is_own: bool,
    ) {
        for goal in goals {
            if self.has_enough() {
                return;
            }
            if feasibility.is_over() {
                self.is_cut = true;
                return;
            }
            let reordering = feasibility.reordering(&goal);
            if reordering.as_ref().is_none_or(|reordering| reordering.uncertainty() > 0)
                && let Some((goal, reordering, pending)) = feasibility.early(&goal)
            {
                let pending = Some(pending);
                self.add(Prediction { run, goal, reordering, pending, variant: None }, is_own);
            }
            match reordering {
                Some(reordering) => {
                    let pending = None;
                    self.add(Prediction { run, goal, reordering, pending, variant: None }, is_own);
                }
                None => drop(self.last.get_or_insert(NoFinding::Infeasible)),
            }
        }
    }

    fn has_enough(&self) -> bool {
        let sure = |prediction: &&Prediction| prediction.reordering.uncertainty() == 0;
        self.predictions.iter().filter(sure).count() >= ENOUGH_PREDICTIONS
    }

    /// Adds a prediction: surer ones first, and among equals those of a run that was made for this target.
    pub(crate) fn add(&mut self, prediction: Prediction, is_own: bool) {
        let uncertainty = prediction.reordering.uncertainty();
        let before =
            |other: &Prediction| other.reordering.uncertainty() < uncertainty + u8::from(!is_own);
        let place = self.predictions.iter().take_while(|other| before(other)).count();
        self.predictions.insert(place, prediction);
        self.predictions.truncate(MAX_PREDICTIONS);
    }
}
