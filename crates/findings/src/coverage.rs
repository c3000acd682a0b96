//! Whether a check that found nothing has looked at enough to call the program clean.
//!
//! A program is *clean* only if at least one run was analysed and searched for candidates from its beginning to its end,
//! some run ended by itself, two threads ran, and most candidates were tried. Whoever wants no gap at all asks for
//! [`Demand::Complete`].

use untorn_explore::{AtomicityViolation, NoFinding, Outcome, SearchGaps, Significance};
use untorn_report::coverage::Gap;

/// How much must have been looked at for a program to be clean.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Demand {
    /// Enough that a violation would probably have been found.
    #[default]
    Most,
    /// Everything.
    Complete,
}

/// One part in so many may be left out without a word in the verdict.
const NEGLIGIBLE: u64 = 10;

/// What speaks against calling a program clean, if nothing was found in it.
pub fn gaps(outcome: &Outcome, demand: Demand) -> Vec<Gap> {
    let runs = u64::from(outcome.runs);
    let is_complete = demand == Demand::Complete;
    let mut gaps = Vec::new();
    let mut add = |is_gap: bool, gap: Gap| {
        if is_gap {
            gaps.push(gap);
        }
    };
    add(outcome.interrupted, Gap::Interrupted);
    add(outcome.threads < 2, Gap::OneThread);
    let stopped = outcome.timed_out > 0 && (is_complete || outcome.timed_out >= outcome.runs);
    add(stopped, Gap::NoRunEnded { runs: outcome.timed_out.into() });
    let failed = u64::from(outcome.failed_runs);
    let only_recorded =
        !outcome.recorded_failures.is_empty() || !outcome.recorded_deadlocks.is_empty();
    add(only_recorded, Gap::OnlyRecorded { runs });
    add(
        !only_recorded && failed > 0 && (is_complete || failed >= runs),
        Gap::EveryRunFailed { runs: failed },
    );
    let is_unsearched = outcome.unsearched != SearchGaps::default();
    let none_searched = outcome.searched_runs == 0 || (is_complete && is_unsearched);
    add(none_searched, Gap::NoRunSearched { runs });
    let events = outcome.events;
    let is_cut = outcome.whole_runs == 0 && outcome.left_out.saturating_mul(NEGLIGIBLE) > events;
    add(
        is_cut || (is_complete && outcome.left_out > 0),
        Gap::NotAnalysed { events: outcome.left_out, of: events },
    );
    let feasible = outcome.candidates.saturating_sub(outcome.infeasible);
    let is_untried = |why: &NoFinding| *why == NoFinding::OutOfBudget;
    let untried = outcome.unreached.iter().filter(|(_, why)| is_untried(why)).count() as u64;
    add(
        untried > 0 && (is_complete || 2 * untried > feasible),
        Gap::Untried { candidates: untried, of: feasible },
    );
    let unreached = outcome.unreached.len() as u64 - untried;
    add(is_complete && unreached > 0, Gap::NoFinding { candidates: unreached, of: feasible });
    let is_untested = |found: &&AtomicityViolation| found.significance == Significance::Untested;
    let untested = outcome.folded.iter().filter(is_untested).count() as u64;
    add(untested > 0, Gap::Untested { blocks: untested });
    let kinds = outcome.unseen.len() as u64 + u64::from(outcome.unresolved > 0);
    add(is_complete && kinds > 0, Gap::NotSeen { kinds });
    gaps
}

#[cfg(test)]
mod tests {
    use untorn_explore::{Key, Shape};
    use untorn_predict::{Origin, Pattern};

    use super::*;

    /// Ten runs that ended well, of which everything was looked at.
    fn complete() -> Outcome {
        Outcome {
            runs: 10,
            good_runs: 10,
            whole_runs: 10,
            searched_runs: 10,
            threads: 2,
            events: 1000,
            candidates: 4,
            ..Outcome::default()
        }
    }

    fn key(field: &str) -> Key {
        Key {
            places: Vec::new(),
            shape: Shape::One(Pattern::ReadWriteWrite),
            origin: Origin::Declared,
            block: "A.b".to_owned(),
            method: "A.b".to_owned(),
            field: field.to_owned(),
            members: Vec::new(),
            facts: untorn_explore::KeyFacts::default(),
        }
    }

    fn unreached(untried: usize, tried: usize) -> Vec<(Key, NoFinding)> {
        let of = |why: NoFinding, many| {
            (0..many).map(move |at: usize| (key(&at.to_string()), why.clone()))
        };
        of(NoFinding::OutOfBudget, untried).chain(of(NoFinding::Undecided, tried)).collect()
    }

    #[test]
    fn a_complete_check_is_clean_whatever_is_demanded() {
        assert_eq!(gaps(&complete(), Demand::Most), []);
        assert_eq!(gaps(&complete(), Demand::Complete), []);
    }

    #[test]
    fn each_gap_is_named_by_itself() {
        let one = |outcome: Outcome, gap: Gap| {
            assert_eq!(gaps(&outcome, Demand::Most), [gap]);
        };
        one(Outcome { interrupted: true, ..complete() }, Gap::Interrupted);
        one(Outcome { threads: 1, ..complete() }, Gap::OneThread);
        one(Outcome { timed_out: 10, ..complete() }, Gap::NoRunEnded { runs: 10 });
        one(Outcome { failed_runs: 10, ..complete() }, Gap::EveryRunFailed { runs: 10 });
        one(Outcome { searched_runs: 0, ..complete() }, Gap::NoRunSearched { runs: 10 });
        one(
            Outcome { whole_runs: 0, left_out: 500, ..complete() },
            Gap::NotAnalysed { events: 500, of: 1000 },
        );
        one(
            Outcome { unreached: unreached(3, 1), ..complete() },
            Gap::Untried { candidates: 3, of: 4 },
        );
    }

    /// Some runs that were stopped, failed or were too long do not spoil the others; only who demands everything minds.
    #[test]
    fn what_is_missing_in_some_runs_counts_if_everything_is_demanded() {
        let some = Outcome {
            timed_out: 2,
            failed_runs: 1,
            whole_runs: 9,
            left_out: 50,
            unreached: unreached(1, 1),
            unsearched: SearchGaps { variables: 7, ..SearchGaps::default() },
            unseen: ["something".to_owned()].into(),
            ..complete()
        };
        assert_eq!(gaps(&some, Demand::Most), []);
        assert_eq!(
            gaps(&some, Demand::Complete),
            [
                Gap::NoRunEnded { runs: 2 },
                Gap::EveryRunFailed { runs: 1 },
                Gap::NoRunSearched { runs: 10 },
                Gap::NotAnalysed { events: 50, of: 1000 },
                Gap::Untried { candidates: 1, of: 4 },
                Gap::NoFinding { candidates: 1, of: 4 },
                Gap::NotSeen { kinds: 1 },
            ]
        );
    }

    /// Candidates that were tried in vain, or that no order leads to, are no reason to doubt.
    #[test]
    fn candidates_that_were_tried_count_as_looked_at() {
        let tried = Outcome { unreached: unreached(0, 4), ..complete() };
        assert_eq!(gaps(&tried, Demand::Most), []);
        let few = Outcome { unreached: unreached(2, 0), ..complete() };
        assert_eq!(gaps(&few, Demand::Most), []);
        let feasible = Outcome { infeasible: 1, ..few };
        assert_eq!(gaps(&feasible, Demand::Most), [Gap::Untried { candidates: 2, of: 3 }]);
    }
}
