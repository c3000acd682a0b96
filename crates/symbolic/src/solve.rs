//! Finds values of variables for which terms hold: every bit becomes a variable of an embedded SAT solver.
//!
//! **Promise:** a solution satisfies all terms, which is checked by evaluating them. "None" is final; a question that is
//! too hard is [`Answer::Unknown`].

mod blast;

use rustc_hash::FxHashMap;

use crate::term::{TermId, Terms, VarId};
use blast::Blaster;

/// What came of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Values of the variables that the terms depend on.
    Values(FxHashMap<VarId, u64>),
    None,
    /// Not within the budget.
    Unknown,
}

/// How much a question may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    pub decisions: u32,
    pub clauses: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { decisions: 200_000, clauses: 400_000 }
    }
}

/// Values for which all of `must` hold and, of the lists of `wishes`, the first that can. The empty list is one of them.
pub fn solve(terms: &Terms, must: &[TermId], wishes: &[Vec<TermId>], budget: Budget) -> Answer {
    let mut blaster = Blaster::new(terms, budget);
    for &term in must {
        blaster.require(term);
    }
    for wish in wishes.iter().map(Vec::as_slice).chain([&[][..]]) {
        let found = blaster.solve(wish);
        let Answer::Values(values) = &found else {
            if wish.is_empty() || found == Answer::Unknown {
                return found;
            }
            continue;
        };
        let holds = |&term: &TermId| {
            terms.evaluate(term, &|var| values.get(&var).copied().unwrap_or_default()) == 1
        };
        // It never happens; if it does, no harm comes of it.
        debug_assert!(must.iter().chain(wish).all(holds), "a solution that is none");
        return if must.iter().all(holds) { found } else { Answer::Unknown };
    }
    Answer::None
}
