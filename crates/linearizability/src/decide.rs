//! Whether a history is linearizable.
//!
//! **Papers:** Herlihy, Wing, *Linearizability: A Correctness Condition for Concurrent Objects*, ACM TOPLAS 12(3), 1990
//! (the definition); Wing, Gong, *Testing and Verifying Concurrent Objects*, JPDC 17, 1993 (the search: a call that no
//! other call precedes comes first, and so on, back where results differ); Burckhardt, Dern, Musuvathi, Tan, *Line-Up: A
//! Complete and Automatic Linearizability Checker*, PLDI 2010 (the class itself, run sequentially, is its specification;
//! a call that never returns must wait in the sequential order as well).
//!
//! **What we changed, and why.**
//! * Results of sequential orders are asked for as the search needs them, and remembered for all histories of a scenario:
//!   an object cannot be copied, so every order is made from its first call on.
//! * A call that waits may be followed by calls of other threads, one of which lets it go on: two threads that hand
//!   something over are right, though neither can return before the other has begun. Line-Up would have no sequential
//!   order for them. Still, a call that must come after another one waits for its return.
//! * Objects without a value of their own are compared by which one they are: objects of the history and of the order
//!   must correspond one to one.
//!
//! **Promise:** "linearizable" has an order, and "not linearizable" means that each order which keeps the real-time order
//! gave another result at some call. If the class gives different results for the same calls in the same order, nothing
//! is said. `testkit::linearizable` decides by trying all permutations.

use std::collections::BTreeSet;

use crate::history::{CallId, CallRecord, History, Outcome};
use crate::scenario::Scenario;
use crate::sequential::{SequentialError, SequentialRuns, SequentialTable};
use crate::value::Correspondence;

/// Sequential orders that are made for one history.
const MAX_RUNS: u64 = 20_000;

/// Orders that are counted.
const MAX_COUNT: u64 = 1_000_000;

/// Calls one after the other, with what each gives in this order; `None` if it waits to the end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Order(pub Vec<(CallId, Option<Outcome>)>);

impl Order {
    /// What a call gives in this order.
    pub fn outcome(&self, id: CallId) -> Option<&Outcome> {
        self.0.iter().find(|(own, _)| *own == id)?.1.as_ref()
    }
}

/// Why a history is not linearizable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// Orders that keep the real-time order. None of them gives the results.
    pub orders: u64,
    /// The one that differs latest.
    pub nearest: Order,
    /// The first call that gives something else there.
    pub differs: Option<CallId>,
}

/// Why nothing is known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unknown {
    #[error(transparent)]
    Sequential(#[from] SequentialError),
    #[error("there are too many sequential orders")]
    TooMany,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Linearizability {
    Linearizable(Order),
    NotLinearizable(Refutation),
    Unknown(Unknown),
}

/// Decides whether some sequential order of the calls gives the results of the history. Calls that never returned must
/// wait to the end in that order.
pub fn decide(
    scenario: &Scenario,
    history: &History,
    table: &mut SequentialTable,
    runs: &mut dyn SequentialRuns,
) -> Linearizability {
    let most = table.runs() + MAX_RUNS;
    let mut search = Search {
        scenario,
        history,
        table,
        runs,
        most,
        order: Vec::new(),
        deepest: (0, Vec::new(), None),
    };
    let mut state = State::new(scenario.sections.len());
    match search.extend(&mut state) {
        Ok(true) => {
            let order = search.order.clone();
            search
                .describe(&order)
                .map_or_else(Linearizability::Unknown, Linearizability::Linearizable)
        }
        Ok(false) => {
            search.refute().map_or_else(Linearizability::Unknown, Linearizability::NotLinearizable)
        }
        Err(unknown) => Linearizability::Unknown(unknown),
    }
}

/// How far a sequential order is.
#[derive(Clone, Debug)]
struct State {
    /// Calls made, by section.
    next: Vec<usize>,
    /// The section waits in its last call.
    waits: Vec<bool>,
    objects: Correspondence,
}

impl State {
    fn new(sections: usize) -> Self {
        Self {
            next: vec![0; sections],
            waits: vec![false; sections],
            objects: Correspondence::default(),
        }
    }

    fn has_ended(&self, id: CallId) -> bool {
        let is_last = id.index + 1 == self.next[id.section];
        id.index < self.next[id.section] && !(is_last && self.waits[id.section])
    }
}

struct Search<'a> {
    scenario: &'a Scenario,
    history: &'a History,
    table: &'a mut SequentialTable,
    runs: &'a mut dyn SequentialRuns,
    /// Orders that may have been made at the end.
    most: u64,
    /// The sections of the calls so far.
    order: Vec<usize>,
    /// The calls whose results agreed at most, in which order, and the first that differed.
    deepest: (usize, Vec<usize>, Option<CallId>),
}

impl Search<'_> {
    /// Extends the order to one that gives the results of the history; false if there is none.
    fn extend(&mut self, state: &mut State) -> Result<bool, Unknown> {
        if self.is_explained(state) {
            return Ok(true);
        }
        for section in 0..state.next.len() {
            let Some(call) = self.candidate(state, section) else { continue };
            let id = call.id;
            self.order.push(section);
            let mut after = state.clone();
            after.next[section] += 1;
            after.waits[section] = true;
            if self.agrees(&mut after, id)? && self.extend(&mut after)? {
                return Ok(true);
            }
            self.order.pop();
        }
        Ok(false)
    }

    /// The next call of a section, if it may be made now: all that returned before it began have returned.
    fn candidate(&self, state: &State, section: usize) -> Option<&CallRecord> {
        let call = self.history.get(CallId { section, index: state.next[section] })?;
        let precedes =
            |other: &&CallRecord| other.ended.as_ref().is_some_and(|(at, _)| *at < call.began);
        let mut before = self.history.calls.iter().filter(precedes);
        (!state.waits[section] && before.all(|other| state.has_ended(other.id))).then_some(call)
    }

    /// Whether what the last call of the order brings about is what the history shows.
    fn agrees(&mut self, state: &mut State, made: CallId) -> Result<bool, Unknown> {
        if self.table.runs() >= self.most {
            return Err(Unknown::TooMany);
        }
        let rest = self.rest(state);
        let ended = self.table.step(self.runs, self.scenario, &self.order, &rest)?;
        let mut differs = None;
        for (id, outcome) in ended {
            state.waits[id.section] = false;
            let own = self.history.outcome(*id);
            if differs.is_none()
                && !own.is_some_and(|own| is_same(own, outcome, &mut state.objects))
            {
                differs = Some(*id);
            }
        }
        let depth = self.order.len() - usize::from(differs.is_some());
        if depth >= self.deepest.0 {
            // A call that waits where it should have returned differs as well, unless another one lets it go on.
            self.deepest = (depth, self.order.clone(), differs.or(Some(made)));
        }
        Ok(differs.is_none())
    }

    /// The sections of the calls that are left, in the order of the history.
    fn rest(&self, state: &State) -> Vec<usize> {
        let left =
            self.history.calls.iter().filter(|call| call.id.index >= state.next[call.id.section]);
        left.map(|call| call.id.section).collect()
    }

    /// Whether all calls were made, and those that never returned, and only they, wait.
    fn is_explained(&self, state: &State) -> bool {
        let is_made = |call: &CallRecord| call.id.index < state.next[call.id.section];
        self.history
            .calls
            .iter()
            .all(|call| is_made(call) && state.has_ended(call.id) == call.ended.is_some())
    }

    /// What each call gives in an order; calls that are left follow as they can.
    fn describe(&mut self, order: &[usize]) -> Result<Order, Unknown> {
        let sections = self.scenario.sections.len();
        let (mut state, mut described) = (State::new(sections), Order::default());
        let mut whole = Vec::new();
        loop {
            let planned = order.get(whole.len()).copied();
            let free = (0..sections).find(|&section| self.candidate(&state, section).is_some());
            let Some(section) = planned.or(free) else { return Ok(described) };
            let id = CallId { section, index: state.next[section] };
            whole.push(section);
            state.next[section] += 1;
            state.waits[section] = true;
            described.0.push((id, None));
            let rest = self.rest(&state);
            for (ended, outcome) in self.table.step(self.runs, self.scenario, &whole, &rest)? {
                state.waits[ended.section] = false;
                let own = described.0.iter_mut().find(|(own, _)| own == ended);
                if let Some(own) = own {
                    own.1 = Some(outcome.clone());
                }
            }
        }
    }

    fn refute(&mut self) -> Result<Refutation, Unknown> {
        let (_, deepest, differs) = self.deepest.clone();
        let nearest = self.describe(&deepest)?;
        // An object whose results depend on something else would be wrong in every history.
        self.table.repeat(self.runs, self.scenario)?;
        Ok(Refutation { orders: count_orders(self.history), nearest, differs })
    }
}

fn is_same(own: &Outcome, other: &Outcome, objects: &mut Correspondence) -> bool {
    match (own, other) {
        (Outcome::Returned(own), Outcome::Returned(other)) => own.matches(other, objects),
        (Outcome::Threw(own), Outcome::Threw(other)) => own == other,
        _ => false,
    }
}

/// The number of orders that keep the real-time order and that of each thread, up to a limit.
fn count_orders(history: &History) -> u64 {
    fn count(calls: &[CallRecord], made: &mut BTreeSet<CallId>, total: &mut u64) {
        if made.len() == calls.len() {
            *total += 1;
            return;
        }
        for call in calls {
            let comes_first = |other: &CallRecord| {
                other.ended.as_ref().is_some_and(|(at, _)| *at < call.began)
                    && !made.contains(&other.id)
            };
            if *total < MAX_COUNT && !made.contains(&call.id) && !calls.iter().any(comes_first) {
                made.insert(call.id);
                count(calls, made, total);
                made.remove(&call.id);
            }
        }
    }
    let mut total = 0;
    count(&history.calls, &mut BTreeSet::new(), &mut total);
    total
}
