//! What calls give when they are made one after the other: the same class, and nothing runs at the same time.

use rustc_hash::FxHashMap;

use crate::history::{CallId, HistoryError, Observation, Outcome};
use crate::scenario::Scenario;

/// Orders that are made twice before results are said to be wrong.
const MAX_REPEATED: usize = 500;

/// Why it is not known what an order of calls gives.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SequentialError {
    /// The same calls in the same order gave something else before.
    #[error("the same calls in the same order do not always give the same")]
    NotDeterministic,
    #[error(transparent)]
    Malformed(#[from] HistoryError),
    #[error("{0}")]
    CouldNotRun(String),
}

/// Makes calls one after the other.
pub trait SequentialRuns {
    /// Makes the calls of a scenario on a new object. `order` names the section of each call; calls of a section are made
    /// in the order in which they stand there. A call that waits does not keep those of other sections from being made.
    /// Ends early where a section would have to make a call while it waits in another one.
    ///
    /// # Errors
    /// If the calls cannot be made.
    fn run(
        &mut self,
        scenario: &Scenario,
        order: &[usize],
    ) -> Result<Vec<Observation>, SequentialError>;
}

/// What a call brought about: the outcomes of the calls that ended before the next one was made. It may be one that
/// waited before; if the call itself is not among them, it waits.
type Completions = Vec<(CallId, Outcome)>;

/// The results of sequential orders, remembered.
#[derive(Clone, Debug, Default)]
pub struct SequentialTable {
    /// By the sections of the calls so far.
    steps: FxHashMap<Vec<usize>, Completions>,
    /// Orders that were asked for.
    runs: u64,
    /// Different ones, which were made once.
    once: Vec<Vec<usize>>,
}

impl SequentialTable {
    /// What the last call of `order` brings about. `rest` are the sections of the other calls, which are made as well: if
    /// they are asked for later, the answer is known.
    pub(crate) fn step(
        &mut self,
        runs: &mut dyn SequentialRuns,
        scenario: &Scenario,
        order: &[usize],
        rest: &[usize],
    ) -> Result<&Completions, SequentialError> {
        if !self.steps.contains_key(order) {
            let whole = [order, rest].concat();
            self.once.push(whole.clone());
            self.learn(runs, scenario, &whole)?;
        }
        let missing =
            || SequentialError::CouldNotRun("an order ended before its last call".to_owned());
        self.steps.get(order).ok_or_else(missing)
    }

    /// Makes the calls in that order. What is known already must be so again.
    pub(crate) fn learn(
        &mut self,
        runs: &mut dyn SequentialRuns,
        scenario: &Scenario,
        order: &[usize],
    ) -> Result<(), SequentialError> {
        self.runs += 1;
        let mut steps: Vec<Completions> = Vec::new();
        for one in runs.run(scenario, order)? {
            match (one, steps.last_mut()) {
                (Observation::Began(_), _) => steps.push(Vec::new()),
                (Observation::Ended(id, outcome), Some(last)) => last.push((id, outcome)),
                (Observation::Ended(id, _), None) => {
                    return Err(HistoryError::OutOfOrder(id).into());
                }
            }
        }
        for (made, mut ended) in steps.into_iter().enumerate() {
            ended.sort_by_key(|(id, _)| *id);
            let known = self.steps.entry(order[..=made].to_vec()).or_insert_with(|| ended.clone());
            if *known != ended {
                return Err(SequentialError::NotDeterministic);
            }
        }
        Ok(())
    }

    /// Makes all orders again that were made once, up to a limit.
    pub(crate) fn repeat(
        &mut self,
        runs: &mut dyn SequentialRuns,
        scenario: &Scenario,
    ) -> Result<(), SequentialError> {
        let once = std::mem::take(&mut self.once);
        once.iter().take(MAX_REPEATED).try_for_each(|order| self.learn(runs, scenario, order))
    }

    /// Orders that were made so far.
    pub fn runs(&self) -> u64 {
        self.runs
    }
}

impl SequentialTable {
    /// Makes all calls section by section, twice. Gives those that wait to the end.
    ///
    /// # Errors
    /// If they cannot be made, or give something else the second time.
    pub fn probe(
        &mut self,
        runs: &mut dyn SequentialRuns,
        scenario: &Scenario,
    ) -> Result<Vec<CallId>, SequentialError> {
        let sections = scenario.sections.iter().enumerate();
        let order: Vec<usize> =
            sections.flat_map(|(section, calls)| calls.iter().map(move |_| section)).collect();
        self.learn(runs, scenario, &order)?;
        self.learn(runs, scenario, &order)?;
        let prefixes = (1..=order.len()).filter_map(|length| self.steps.get(&order[..length]));
        let ended: Vec<CallId> = prefixes.flatten().map(|(id, _)| *id).collect();
        let calls = scenario.sections.iter().enumerate().flat_map(|(section, calls)| {
            (0..calls.len()).map(move |index| CallId { section, index })
        });
        Ok(calls.filter(|id| !ended.contains(id)).collect())
    }
}
