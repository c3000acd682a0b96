//! The correct answer of a prediction: a search through all plans of a trace. The validator of a plan is
//! [`untorn_trace::reordering`].

use std::collections::HashSet;

pub use untorn_trace::reordering::{PlanFault, PlanRule, check_plan};
use untorn_trace::reordering::{Question, ReorderingFacts, State};
use untorn_trace::{Event, EventIdx, Value, VarId};

/// A plan, if there is any. Tries everything, so keep traces small.
pub fn exists_plan(
    events: &[Event],
    initial: &dyn Fn(VarId) -> Option<Value>,
    goal: &[EventIdx],
    rule: PlanRule,
) -> Option<Vec<EventIdx>> {
    PlanOracle::new(events, initial).exists_plan(goal, rule)
}

/// As [`exists_plan`], for several questions about the same trace.
#[derive(Debug)]
pub struct PlanOracle<'a> {
    facts: ReorderingFacts<'a>,
}

impl<'a> PlanOracle<'a> {
    pub fn new(events: &'a [Event], initial: &dyn Fn(VarId) -> Option<Value>) -> Self {
        Self { facts: ReorderingFacts::new(events, initial) }
    }

    pub fn exists_plan(&self, goal: &[EventIdx], rule: PlanRule) -> Option<Vec<EventIdx>> {
        let question = Question::new(&self.facts, goal, rule).ok()?;
        let mut search = Search { question: &question, seen: HashSet::new(), plan: Vec::new() };
        let found = !goal.is_empty() && search.run(&question.start());
        found.then_some(search.plan)
    }
}

struct Search<'a> {
    question: &'a Question<'a>,
    seen: HashSet<State>,
    plan: Vec<EventIdx>,
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
            self.plan.push(at);
            if self.run(&next) {
                return true;
            }
            self.plan.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests;
