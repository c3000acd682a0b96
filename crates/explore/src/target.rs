//! What is chased: a candidate, the same in every run that shows it.

use std::collections::VecDeque;

use untorn_predict::closure::Outline;
use untorn_predict::{At, Goal, Origin, Pattern, Schedule};

use crate::exploration::Shard;
use crate::feasibility::Feasibility;

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
    /// What is one violation to who has to mend it: a block that was declared to be atomic and is not; of
    /// other code, what it does to one field, or to the insides of the JDK's objects.
    pub fn concern(&self) -> (Origin, &str, &str) {
        let field = match self.origin {
            Origin::Inferred if !self.facts.is_library => &self.field,
            _ => "",
        };
        (self.origin, &self.block, field)
    }

    /// Smaller is more likely to matter.
    pub(crate) fn rank(&self) -> u8 {
        match (self.origin, self.shape) {
            (Origin::Declared, Shape::One(Pattern::ReadWriteWrite)) => 0,
            (Origin::Declared, Shape::One(_)) => 1,
            (Origin::Inferred, Shape::One(Pattern::ReadWriteWrite)) => 2,
            (Origin::Declared, Shape::Two { .. }) => 3,
            (Origin::Inferred, Shape::One(Pattern::ReadWriteRead)) => 6,
            (Origin::Inferred, Shape::One(_)) => 4,
            (Origin::Inferred, Shape::Two { .. }) => 5,
        }
    }

    /// Whether a finding leaves nothing to look for here. Who mends a block because of one variable
    /// mends it for two as well.
    pub(crate) fn is_covered_by(&self, found: &Key) -> bool {
        match self.shape {
            Shape::One(_) => self.concern() == found.concern(),
            Shape::Two { .. } => (self.origin, &self.block) == (found.origin, &found.block),
        }
    }
}

/// A way to try: events of a run, and an order of events that leads there.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    /// Index of the run.
    pub run: usize,
    pub goal: Goal,
    pub order: Order,
    /// An event that follows when the goal is reached.
    pub pending: Option<At>,
    /// How it is tried next; `None` before it was ever tried.
    pub variant: Option<Variant>,
}

/// In which of several ways a lead is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    /// The order, while threads without steps are held before they touch what the goal is about.
    Held,
    /// Nothing but the events of the goal, while all others are held in the same way.
    Bare,
    /// The order alone: the other threads may be needed.
    Free,
}

impl Variant {
    /// What to try when this one led nowhere. An order in which other threads write what the goal is about hides the
    /// harm: then the goal alone comes first.
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

/// How sure an order is.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// Every thread sees what it saw: it can happen.
    Precise(Outline),
    /// A simulation of the recorded events gets there.
    Simulated(Schedule),
    /// Locks and threads allow it. Some thread will see another value than it saw, and nobody knows
    /// what it does then.
    Locks(Schedule),
    /// Locks and threads do not rule it out. The order, which is as long as the run, is looked for when it is its turn.
    Guess,
}

impl Order {
    /// Smaller is surer.
    pub(crate) fn doubt(&self) -> u8 {
        match self {
            Self::Precise(_) => 0,
            Self::Simulated(_) => 1,
            Self::Locks(_) | Self::Guess => 2,
        }
    }
}

/// Why a target was given up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreached {
    /// No order of the events seen leads there: proved for every instance tried.
    Infeasible,
    /// No plan was found, and it was not proved that there is none.
    Undecided,
    /// A plan cannot name its places.
    NoPlaces,
    /// Plans were followed as far as they went; the last one stopped because of this.
    NotFollowed(String),
    /// It happened, and did no harm that anybody can see: some serial order gives the same values.
    Harmless,
    /// The budget ended first.
    OutOfBudget,
}

/// A candidate being chased.
#[derive(Clone, Debug)]
pub struct Target {
    pub key: Key,
    /// Seen in the runs that every part of the work makes.
    pub(crate) is_common: bool,
    /// Its accesses are made by calls that look meant to be one step.
    pub(crate) is_composed: bool,
    /// Matching triples of events, over all runs.
    pub instances: u64,
    /// Directed runs made for it.
    pub attempts: u32,
    /// How often it happened and did no harm.
    pub(crate) harmless: u32,
    /// What to try next, the most promising first.
    pub(crate) leads: VecDeque<Lead>,
    /// What came of the last try, or of looking for one.
    pub(crate) last: Option<Unreached>,
    pub(crate) done: bool,
    /// Time was over before all was asked or judged that could be.
    pub(crate) is_cut: bool,
}

/// Leads kept of one target.
const MAX_LEADS: usize = 24;

/// With so many sure ones nobody looks for more.
const ENOUGH_LEADS: usize = 8;

impl Target {
    pub(crate) fn new(key: Key, is_common: bool) -> Self {
        let leads = VecDeque::new();
        Self {
            key,
            is_common,
            is_composed: false,
            instances: 0,
            attempts: 0,
            harmless: 0,
            leads,
            last: None,
            done: false,
            is_cut: false,
        }
    }

    /// Smaller is more likely to matter.
    pub(crate) fn rank(&self) -> u8 {
        if self.is_composed { 0 } else { self.key.rank() }
    }

    /// Whether it is chased here and not by another part of the work. What only this part has seen is its own.
    pub(crate) fn is_mine(&self, shard: Shard) -> bool {
        !self.is_common || shard.has(&self.key)
    }

    /// Looks for orders that lead to these goals of a run.
    pub(crate) fn find_leads(
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
            let order = feasibility.order(&goal);
            if order.as_ref().is_none_or(|order| order.doubt() > 0)
                && let Some((goal, order, pending)) = feasibility.early(&goal)
            {
                let pending = Some(pending);
                self.add(Lead { run, goal, order, pending, variant: None }, is_own);
            }
            match order {
                Some(order) => {
                    let pending = None;
                    self.add(Lead { run, goal, order, pending, variant: None }, is_own);
                }
                None => drop(self.last.get_or_insert(Unreached::Infeasible)),
            }
        }
    }

    fn has_enough(&self) -> bool {
        let sure = |lead: &&Lead| lead.order.doubt() == 0;
        self.leads.iter().filter(sure).count() >= ENOUGH_LEADS
    }

    /// Adds a lead: surer ones first, and among equals those of a run that was made for this target.
    pub(crate) fn add(&mut self, lead: Lead, is_own: bool) {
        let doubt = lead.order.doubt();
        let before = |other: &Lead| other.order.doubt() < doubt + u8::from(!is_own);
        let place = self.leads.iter().take_while(|other| before(other)).count();
        self.leads.insert(place, lead);
        self.leads.truncate(MAX_LEADS);
    }
}
