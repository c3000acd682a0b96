//! The correct answer of a prediction: a search through all reorderings of a trace. The validator of a reordering is
//! [`untorn_trace::reordering`].

use std::collections::HashSet;

use untorn_trace::reordering::{Question, ReorderingFacts, State};
pub use untorn_trace::reordering::{ReorderingFault, ReorderingRule, check_reordering};
use untorn_trace::{Event, EventIdx, Value, VarId};

/// A reordering, if there is any. Tries everything, so keep traces small.
pub fn exists_reordering(
    events: &[Event],
    initial: &dyn Fn(VarId) -> Option<Value>,
    goal: &[EventIdx],
    rule: ReorderingRule,
) -> Option<Vec<EventIdx>> {
    ReorderingOracle::new(events, initial).exists_reordering(goal, rule)
}

/// As [`exists_reordering`], for several questions about the same trace.
#[derive(Debug)]
pub struct ReorderingOracle<'a> {
    facts: ReorderingFacts<'a>,
}

impl<'a> ReorderingOracle<'a> {
    pub fn new(events: &'a [Event], initial: &dyn Fn(VarId) -> Option<Value>) -> Self {
        Self { facts: ReorderingFacts::new(events, initial) }
    }

    pub fn exists_reordering(
        &self,
        goal: &[EventIdx],
        rule: ReorderingRule,
    ) -> Option<Vec<EventIdx>> {
        let question = Question::new(&self.facts, goal, rule).ok()?;
        let mut search =
            Search { question: &question, seen: HashSet::new(), reordering: Vec::new() };
        let found = !goal.is_empty() && search.run(&question.start());
        found.then_some(search.reordering)
    }
}

struct Search<'a> {
    question: &'a Question<'a>,
    seen: HashSet<State>,
    reordering: Vec<EventIdx>,
}

impl Search<'_> {
    fn run(&mut self, state: &State) -> bool {
        if self.question.is_reached(state) {
            return true;
        }
        if !self.seen.insert(state.clone()) {
            return false;
        }
        for at in self.question.next_events(state) {
            let mut next = state.clone();
            if self.question.step(&mut next, at).is_err() {
                continue;
            }
            self.reordering.push(at);
            if self.run(&next) {
                return true;
            }
            self.reordering.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests;
