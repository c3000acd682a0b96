//! What an exploration does with its budget: the loop, or one of the methods it is compared with.

use untorn_schedule::PolicyKind;

/// Which plans are made when each candidate has one try.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Planning {
    /// Locks, forks and joins allow them. As PENELOPE: Sorrentino, Farzan, Madhusudan, FSE 2010.
    Locks,
    /// Every thread sees what it saw.
    Precise,
}

/// Which instances count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Judge {
    /// All that are found and judged to be violations.
    #[default]
    Instances,
    /// Those of declared blocks that Velodrome refutes in the same run.
    Velodrome,
    /// The same, by DoubleChecker's two passes.
    TwoPass,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// Candidates, plans, directed runs, and again.
    #[default]
    Loop,
    /// The candidates of the first run, a plan and a directed run for each, and nothing learned from it.
    PlansOnce(Planning),
    /// Runs that nobody directs, by these policies in turn, until the budget ends.
    Undirected { policies: Vec<PolicyKind>, judge: Judge },
}

impl Strategy {
    /// Whether plans are made from a run.
    pub(crate) fn plans_from(&self, number: u32) -> bool {
        match self {
            Self::Loop => true,
            Self::PlansOnce(_) => number == 1,
            Self::Undirected { .. } => false,
        }
    }

    pub(crate) fn judge(&self) -> Judge {
        match self {
            Self::Undirected { judge, .. } => *judge,
            Self::Loop | Self::PlansOnce(_) => Judge::Instances,
        }
    }
}
