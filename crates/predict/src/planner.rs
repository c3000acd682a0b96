//! Decides goals by planning: a forward search guided by relaxed plans.
//!
//! The scheme of FF (Hoffmann and Nebel, *The FF planning system: fast plan generation through heuristic
//! search*, JAIR 2001): the distance to the goal is the length of a plan that ignores deletions;
//! enforced hill climbing with the actions that such a plan begins with; if that finds no progress, a
//! best-first search through everything. The problem is [`Task`], the same
//! that PDDL export writes down.
//!
//! Deviations. Ties are broken by the order of the history, which is a good plan for most of it. A
//! dead end (no relaxed plan) is never entered.
//!
//! Promise: the same meaning as [`Sat`](crate::sat::Sat). Every `Feasible` is a reordering; `Infeasible` is returned
//! only if everything a reordering could need was in the problem and every state was tried; otherwise
//! `Undecided` with the reason.

mod relaxed;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::answer::{Answer, Engine, Strength, UndecidedCause};
use crate::goal::Goal;
use crate::history::{At, History};
use crate::index::Index;
use crate::nodes::{Node, spell_out};
use crate::outline::Outline;
use crate::strips::Task;
use crate::validate::is_reordering_in;
use crate::zone::Zone;

use relaxed::Relaxed;

/// How much work one goal is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlannerBudget {
    /// The most states that are expanded.
    pub states: usize,
    /// Events of a problem that shall be complete.
    pub whole: u32,
    /// Events of the window in which a reordering is searched otherwise.
    pub window: u32,
}

impl Default for PlannerBudget {
    fn default() -> Self {
        Self { states: 50_000, whole: 400, window: 200 }
    }
}

/// The engine.
#[derive(Debug)]
pub struct Planner<'a> {
    index: Index<'a>,
    budget: PlannerBudget,
}

impl<'a> Planner<'a> {
    pub fn new(history: &'a History, strength: Strength, budget: PlannerBudget) -> Self {
        Self { index: Index::new(history, strength), budget }
    }

    fn zone(&self, goal: &Goal) -> Option<Zone> {
        let whole = Zone::whole(&self.index, goal, self.budget.whole);
        whole.or_else(|| Zone::late(&self.index, goal, 32, self.budget.window))
    }

    fn steps(&self, goal: &Goal, task: &Task, zone: &Zone, actions: &[u32]) -> Vec<At> {
        let node = |&a: &u32| task.nodes.list[task.actions[a as usize].node as usize];
        let order: Vec<Node> = actions.iter().map(node).collect();
        let mut steps = spell_out(&self.index, &zone.base, &order);
        // An update is one action; the goal may be its first half.
        if let Some(end) = goal.events.last().and_then(|l| steps.iter().position(|s| s == l)) {
            steps.truncate(end + 1);
        }
        steps
    }
}

impl Engine for Planner<'_> {
    fn decide(&mut self, goal: &Goal) -> Answer {
        if goal.events.is_empty() {
            return Answer::Infeasible;
        }
        let Some(zone) = self.zone(goal) else { return Answer::Undecided(UndecidedCause::Budget) };
        let task = Task::new(&self.index, goal, &zone);
        match Search::new(&task, self.budget.states).run() {
            SearchEnd::Plan(actions) => {
                let tail = self.steps(goal, &task, &zone, &actions);
                let reordering = Outline::new(zone.base, tail).reordering(self.index.history);
                debug_assert!(
                    is_reordering_in(&self.index, goal, &reordering),
                    "{goal:?}: {reordering:?}"
                );
                Answer::Feasible(reordering)
            }
            SearchEnd::Exhausted if zone.is_whole => Answer::Infeasible,
            SearchEnd::Exhausted => Answer::Undecided(UndecidedCause::Incomplete),
            SearchEnd::Budget => Answer::Undecided(UndecidedCause::Budget),
        }
    }
}

/// A set of facts.
type State = Box<[u64]>;

fn has(state: &State, fact: u32) -> bool {
    state[fact as usize / 64] >> (fact % 64) & 1 == 1
}

enum SearchEnd {
    Plan(Vec<u32>),
    Exhausted,
    Budget,
}

struct Search<'t> {
    task: &'t Task,
    relaxed: Relaxed<'t>,
    left: usize,
}

impl<'t> Search<'t> {
    fn new(task: &'t Task, states: usize) -> Self {
        Self { task, relaxed: Relaxed::new(task), left: states }
    }

    fn run(mut self) -> SearchEnd {
        let Some(goal) = self.task.goal else { return SearchEnd::Exhausted };
        let mut start: State = vec![0; self.task.facts.len().div_ceil(64).max(1)].into();
        for &fact in &self.task.start {
            start[fact as usize / 64] |= 1 << (fact % 64);
        }
        match self.climb(start.clone(), goal) {
            Some(plan) => SearchEnd::Plan(plan),
            None => self.best_first(start, goal),
        }
    }

    fn apply(&self, state: &State, action: u32) -> State {
        let mut next = state.clone();
        let action = &self.task.actions[action as usize];
        for &fact in &action.deletes {
            next[fact as usize / 64] &= !(1 << (fact % 64));
        }
        for &fact in &action.adds {
            next[fact as usize / 64] |= 1 << (fact % 64);
        }
        next
    }

    /// Enforced hill climbing: from each state, breadth first over helpful actions to a better one.
    fn climb(&mut self, mut state: State, goal: u32) -> Option<Vec<u32>> {
        let mut plan = Vec::new();
        let (mut best, mut helpful) = self.relaxed.distance(&state, goal)?;
        while !has(&state, goal) {
            let mut layer = vec![(state, helpful, Vec::new())];
            let mut seen: FxHashMap<State, ()> = FxHashMap::default();
            let better = 'search: loop {
                let mut deeper = Vec::new();
                for (state, helpful, way) in layer {
                    for action in helpful {
                        let next = self.apply(&state, action);
                        if seen.insert(next.clone(), ()).is_some() {
                            continue;
                        }
                        self.left = self.left.checked_sub(1)?;
                        let mut way = way.clone();
                        way.push(action);
                        let Some((distance, helpful)) = self.relaxed.distance(&next, goal) else {
                            continue;
                        };
                        if distance < best {
                            break 'search (next, distance, helpful, way);
                        }
                        deeper.push((next, helpful, way));
                    }
                }
                if deeper.is_empty() {
                    return None;
                }
                layer = deeper;
            };
            let way;
            (state, best, helpful, way) = better;
            plan.extend(way);
        }
        Some(plan)
    }

    /// Complete: every state that is no dead end is reached, the promising ones first.
    fn best_first(&mut self, start: State, goal: u32) -> SearchEnd {
        let Some((distance, _)) = self.relaxed.distance(&start, goal) else {
            return SearchEnd::Exhausted;
        };
        let mut states: Vec<(State, Option<(usize, u32)>)> = vec![(start.clone(), None)];
        let mut seen = FxHashMap::from_iter([(start, ())]);
        let mut queue = BinaryHeap::from([Reverse((distance, 0))]);
        while let Some(Reverse((_, number))) = queue.pop() {
            let state = states[number].0.clone();
            if has(&state, goal) {
                return SearchEnd::Plan(way_to(&states, number));
            }
            for action in 0..self.task.actions.len() as u32 {
                if !self.task.actions[action as usize].needs.iter().all(|&f| has(&state, f)) {
                    continue;
                }
                let next = self.apply(&state, action);
                if seen.insert(next.clone(), ()).is_some() {
                    continue;
                }
                let Some(left) = self.left.checked_sub(1) else { return SearchEnd::Budget };
                self.left = left;
                if let Some((distance, _)) = self.relaxed.distance(&next, goal) {
                    queue.push(Reverse((distance, states.len())));
                    states.push((next, Some((number, action))));
                }
            }
        }
        SearchEnd::Exhausted
    }
}

fn way_to(states: &[(State, Option<(usize, u32)>)], mut number: usize) -> Vec<u32> {
    let mut way = Vec::new();
    while let Some((previous, action)) = states[number].1 {
        way.push(action);
        number = previous;
    }
    way.reverse();
    way
}
