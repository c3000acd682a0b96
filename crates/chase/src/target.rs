//! What is chased: a candidate, the same in every run that shows it.

use std::collections::VecDeque;

use untorn_predict::closure::Outline;
use untorn_predict::{Goal, Origin, Pattern, Schedule};

/// What makes two candidates of two runs the same.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key {
    /// The first and the third access of the block, and between them that of the other thread.
    pub places: [String; 3],
    pub pattern: Pattern,
    pub origin: Origin,
    /// The name of the block.
    pub block: String,
    /// The variable, whatever the object.
    pub field: String,
}

impl Key {
    /// Candidates of one block and one field are one violation to who has to mend it.
    pub fn concern(&self) -> (Origin, &str, &str) {
        (self.origin, &self.block, &self.field)
    }

    /// Smaller is more likely to matter.
    pub(crate) fn rank(&self) -> u8 {
        match (self.origin, self.pattern) {
            (Origin::Declared, Pattern::ReadWriteWrite) => 0,
            (Origin::Declared, _) => 1,
            (Origin::Inferred, Pattern::ReadWriteWrite) => 2,
            (Origin::Inferred, Pattern::ReadWriteRead) => 4,
            (Origin::Inferred, _) => 3,
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
    /// Nobody knows.
    None,
}

impl Order {
    /// Smaller is surer.
    pub(crate) fn doubt(&self) -> u8 {
        match self {
            Self::Precise(_) => 0,
            Self::Simulated(_) => 1,
            Self::Locks(_) => 2,
            Self::None => 3,
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
    /// Matching triples of events, over all runs.
    pub instances: u64,
    /// Directed runs made for it.
    pub attempts: u32,
    /// What to try next, the most promising first.
    pub(crate) leads: VecDeque<Lead>,
    /// What came of the last try, or of looking for one.
    pub(crate) last: Option<Unreached>,
    pub(crate) done: bool,
}

/// Leads kept of one target.
const MOST_LEADS: usize = 24;

impl Target {
    pub(crate) fn new(key: Key) -> Self {
        let leads = VecDeque::new();
        Self { key, instances: 0, attempts: 0, leads, last: None, done: false }
    }

    /// Adds a lead: surer ones first, and among equals those of a run that was made for this target.
    pub(crate) fn add(&mut self, lead: Lead, is_own: bool) {
        let doubt = lead.order.doubt();
        let before = |other: &Lead| other.order.doubt() < doubt + u8::from(!is_own);
        let place = self.leads.iter().take_while(|other| before(other)).count();
        self.leads.insert(place, lead);
        self.leads.truncate(MOST_LEADS);
    }
}
